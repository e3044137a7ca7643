package breaker_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/breaker"
	"liza/pkg/board/transition"
)

var start = time.Date(2026, 1, 19, 14, 0, 0, 0, time.UTC)

// board is a state of a sprint with anomalies anom-1, anom-2 … of task-1, task-2 …
func board(list ...*blackboard.Anomaly) *blackboard.State {
	s := &blackboard.State{
		Goal:   &blackboard.Goal{ID: "goal-1", SpecRef: "specs/vision.md", Status: blackboard.InProgress},
		Sprint: &blackboard.Sprint{ID: "sprint-1", Status: blackboard.InProgress, Timeline: &blackboard.Timeline{Started: blackboard.TimeOf(start)}},
	}
	add(s, list...)
	return s
}

func add(s *blackboard.State, list ...*blackboard.Anomaly) {
	for _, a := range list {
		n := len(s.Anomalies) + 1
		a.ID, a.Timestamp = fmt.Sprintf("anom-%d", n), blackboard.TimeOf(start.Add(time.Duration(n)*time.Minute))
		if a.Task == "" {
			a.Task = fmt.Sprintf("task-%d", n)
		}
		s.Anomalies = append(s.Anomalies, a)
	}
}

// anomaly has details given as "key=value"; true and false are not texts.
func anomaly(kind blackboard.AnomalyKind, details ...string) *blackboard.Anomaly {
	a := &blackboard.Anomaly{Type: kind, Reporter: "coder-1", Details: blackboard.Settings{}}
	for _, d := range details {
		k, v, _ := strings.Cut(d, "=")
		switch v {
		case "true", "false":
			a.Details[k] = v == "true"
		default:
			a.Details[k] = v
		}
	}
	return a
}

func of(task string, a *blackboard.Anomaly) *blackboard.Anomaly {
	a.Task = task
	return a
}

func names(v breaker.Verdict) []string {
	var out []string
	for _, m := range v.Matches {
		out = append(out, m.Pattern.Name)
	}
	return out
}

func wantNames(t *testing.T, s *blackboard.State, want ...string) {
	t.Helper()
	if got := names(breaker.Analyze(s)); !slices.Equal(got, want) {
		t.Errorf("found %v, want %v", got, want)
	}
}

func TestEachPatternMatchesFromItsNumberOn(t *testing.T) {
	t.Parallel()
	ambiguous := func(ref string) *blackboard.Anomaly {
		return anomaly("spec_ambiguity", "question=which?", "spec_ref="+ref)
	}
	for _, c := range []struct {
		name    string
		list    []*blackboard.Anomaly // the last one completes the pattern
		pattern string
	}{
		{"P-166 errors that differ in name and place", []*blackboard.Anomaly{anomaly("retry_loop", "error_pattern=undefined: Foo at lib/a.go:12"),
			anomaly("retry_loop", "error_pattern=undefined: Foo at lib/b.go:99"), anomaly("retry_loop", "error_pattern=undefined: Foo at c/d.go:7")}, "retry_cluster"},
		{"P-165 the same place of the spec", []*blackboard.Anomaly{ambiguous("specs/cli.md#flags"), anomaly("spec_gap", "gap=order", "spec_ref=specs/cli.md#flags")}, "spec_gap_cluster"},
		{"two tasks that get nowhere", []*blackboard.Anomaly{anomaly("hypothesis_exhaustion", "failed_by=coder-1, coder-2"), anomaly("review_deadlock", "cycles=5")}, "exhaustion_cluster"},
		{"causes, else what was done", []*blackboard.Anomaly{anomaly("workaround", "what=sleeps", "root_cause=the client has no retry option"),
			anomaly("trade_off", "what=The client has  no retry option", "why=time", "debt_created=false")}, "workaround_pattern"},
		{"the same place in two ways", []*blackboard.Anomaly{anomaly("assumption_violated", "assumption=names are short", "spec_ref=specs/vision.md#name"),
			anomaly("spec_changed", "spec_ref=./specs/vision.md#name", "change=names are long")}, "spec_gap_cluster"},
		{"a service", []*blackboard.Anomaly{anomaly("external_blocker", "blocker_service=Mail server 1"), anomaly("external_blocker", "blocker_service=mail  server 2")}, "external_service_outage"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			less := c.list[:len(c.list)-1]
			if got := names(breaker.Analyze(board(less...))); len(got) > 0 {
				t.Errorf("%d anomalies show %v, want nothing", len(less), got)
			}
			v := breaker.Analyze(board(c.list...))
			if got := names(v); !slices.Equal(got, []string{c.pattern}) {
				t.Fatalf("found %v, want %s", got, c.pattern)
			}
			if m := v.Matches[0]; m.Count() != len(c.list) || len(m.Tasks()) != len(c.list) {
				t.Errorf("the evidence is %d anomalies of %v, want all %d", m.Count(), m.Tasks(), len(c.list))
			}
		})
	}
}

func TestP165AmbiguitiesWithoutAPlaceMatchNothing(t *testing.T) {
	t.Parallel()
	wantNames(t, board(anomaly("spec_ambiguity", "question=which?"), anomaly("spec_ambiguity", "question=which?")))
	wantNames(t, board(anomaly("spec_ambiguity", "spec_ref= "), anomaly("spec_gap", "spec_ref=#flags"), anomaly("spec_gap", "spec_ref=#flags")))
	wantNames(t, board(anomaly("spec_ambiguity", "spec_ref=specs/cli.md#a"), anomaly("spec_ambiguity", "spec_ref=specs/cli.md#b")))
	s := board(anomaly("spec_ambiguity", "spec_ref=specs/cli.md#a"), anomaly("spec_ambiguity", "spec_ref=specs/cli.md#a"))
	if v := breaker.Analyze(s); len(v.Matches) != 1 || v.Matches[0].Pattern.Severity != "SPEC_FLAW" {
		t.Errorf("found %v, want one SPEC_FLAW", names(v))
	}
}

func TestWhatIsNotTheSameDoesNotMatch(t *testing.T) {
	t.Parallel()
	for name, list := range map[string][]*blackboard.Anomaly{
		"other errors": {anomaly("retry_loop", "error_pattern=undefined: Foo"), anomaly("retry_loop", "error_pattern=connection refused by peer"),
			anomaly("retry_loop", "error_pattern=permission denied")},
		"empty errors":       {anomaly("retry_loop"), anomaly("retry_loop", "error_pattern= "), anomaly("retry_loop")},
		"one task only":      {of("x", anomaly("hypothesis_exhaustion")), of("x", anomaly("review_deadlock"))},
		"another file":       {anomaly("spec_changed", "spec_ref=specs/other.md"), anomaly("spec_changed", "spec_ref=specs/another.md")},
		"other services":     {anomaly("external_blocker", "blocker_service=mail"), anomaly("external_blocker", "blocker_service=chat")},
		"types of their own": {anomaly("x-odd", "error_pattern=a"), anomaly("x-odd", "error_pattern=a"), anomaly("x-odd", "error_pattern=a")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantNames(t, board(list...))
		})
	}
}

func TestP167AllPatternsAreReportedTheWorstFirst(t *testing.T) {
	t.Parallel()
	s := board(anomaly("external_blocker", "blocker_service=mail"), anomaly("external_blocker", "blocker_service=mail"),
		anomaly("spec_gap", "spec_ref=specs/a.md", "gap=x"), anomaly("spec_gap", "spec_ref=specs/a.md", "gap=y"),
		anomaly("workaround", "what=a"), anomaly("workaround", "what=a"))
	wantNames(t, s, "workaround_pattern", "spec_gap_cluster", "external_service_outage")
	for i, p := range breaker.Patterns {
		if rank := slices.Index(transition.BreakerSeverities, p.Severity); rank < 0 || i > 0 && rank < slices.Index(transition.BreakerSeverities, breaker.Patterns[i-1].Severity) {
			t.Errorf("the table is not in the order of severities at %s", p.Name)
		}
		for _, kind := range p.Types {
			if _, ok := blackboard.AnomalyTypeOf(kind); !ok {
				t.Errorf("%s looks for %s, which does not exist", p.Name, kind)
			}
		}
	}
}

func TestP167AcknowledgedAnomaliesMatchOnlyWithANewOne(t *testing.T) {
	t.Parallel()
	loop := func() *blackboard.Anomaly { return anomaly("retry_loop", "error_pattern=undefined: Foo") }
	s := board(loop(), loop(), loop())
	s.CircuitBreaker = &blackboard.CircuitBreaker{Status: blackboard.BreakerOK, Watermark: "anom-3"}
	wantNames(t, s)
	add(s, anomaly("retry_loop", "error_pattern=permission denied"))
	wantNames(t, s)
	add(s, loop())
	v := breaker.Analyze(s)
	if len(v.Matches) != 1 || v.Matches[0].Count() != 4 || v.Matches[0].Groups[0].Anomalies[3].ID != "anom-5" {
		t.Errorf("found %v, want one match of four with anom-5", names(v))
	}
}

func TestOnlyTheSprintCounts(t *testing.T) {
	t.Parallel()
	loop := func() *blackboard.Anomaly { return anomaly("retry_loop", "error_pattern=undefined: Foo") }
	s := board(loop(), loop(), loop())
	s.Anomalies[0].Timestamp = blackboard.TimeOf(start.Add(-time.Second))
	wantNames(t, s)
	if v := breaker.Analyze(s); v.Looked != 2 {
		t.Errorf("looked at %d anomalies, want 2", v.Looked)
	}
	for _, unreadable := range []blackboard.Time{"", "yesterday"} {
		s.Anomalies[0].Timestamp = unreadable
		wantNames(t, s, "retry_cluster")
	}
	s.Anomalies[0].Timestamp = blackboard.TimeOf(start)
	wantNames(t, s, "retry_cluster")
}
