package breaker_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/breaker"
	"liza/pkg/board/transition"
)

// odd are values that a person or another program may have left in details.
var odd = []any{nil, "", " ", "text", "specs/vision.md", 0, 7, int64(-1), 3.5, true, false, []any{}, []any{"a", 1, nil, []any{"deep"}},
	[]string{"coder-1"}, blackboard.List{"x"}, map[string]any{"a": map[string]any{}}, time.Time{}, struct{}{}, "\xff\xfe", strings.Repeat("long ", 300)}

var keys = []string{"error_pattern", "spec_ref", "root_cause", "what", "assumption", "blocker_service", "tool", "dependency", "debt_created", "count", "file"}

// oddState is a state as nobody should write it.
func oddState(r *rand.Rand) *blackboard.State {
	pick := func(n int) int { return r.IntN(n) }
	s := (&blackboard.State{}).With([]*blackboard.Task{{ID: "task-1", SpecRef: "specs/a|b.md", Files: blackboard.List{"a.go"}}}...)
	if pick(4) > 0 {
		s.Goal = &blackboard.Goal{SpecRef: []string{"", "specs/vision.md", "#"}[pick(3)]}
		s.Sprint = &blackboard.Sprint{}
		if pick(2) > 0 {
			s.Sprint.Timeline = &blackboard.Timeline{Started: []blackboard.Time{"", "soon", blackboard.TimeOf(start)}[pick(3)]}
		}
	}
	if pick(2) > 0 {
		s.CircuitBreaker = &blackboard.CircuitBreaker{Status: []string{"", "OK", "TRIGGERED", "odd"}[pick(4)], Watermark: []string{"", "anom-2", "anom-99", "x"}[pick(4)],
			LastCheck: []blackboard.Time{"", "x", blackboard.TimeOf(start)}[pick(3)], History: []*blackboard.BreakerRecord{{Result: "TRIGGERED"}}}
	}
	for n := range pick(30) {
		if pick(10) == 0 {
			continue
		}
		a := &blackboard.Anomaly{ID: []string{"", "anom-2", fmt.Sprintf("anom-%d", n)}[pick(3)], Task: []string{"", "task-1", fmt.Sprintf("task-%d", pick(4))}[pick(3)],
			Timestamp: []blackboard.Time{"", "x", blackboard.TimeOf(start), blackboard.TimeOf(start.Add(-time.Hour))}[pick(4)],
			Type:      blackboard.AnomalyTypes[pick(len(blackboard.AnomalyTypes))].Name}
		if pick(5) > 0 {
			a.Details = blackboard.Settings{}
			for range pick(4) {
				a.Details[keys[pick(len(keys))]] = odd[pick(len(odd))]
			}
		}
		s.Anomalies = append(s.Anomalies, a)
	}
	return s
}

func TestNothingThatStandsInAStateMakesTheBreakerFail(t *testing.T) {
	t.Parallel()
	breaker.Analyze(nil)
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 1))
	matched := 0
	for n := range 1000 {
		s := oddState(r)
		v := breaker.Analyze(s)
		report := breaker.Report(s, v, start)
		matched += len(v.Matches)
		for _, line := range strings.Split(report, "\n") {
			if strings.HasPrefix(line, "| anom-") && strings.Count(strings.ReplaceAll(line, `\|`, ""), "|") != 6 {
				t.Fatalf("seed %d, state %d: a row of the report is broken: %s", seed, n, line)
			}
		}
		for _, m := range v.Matches {
			for _, g := range m.Groups {
				if len(g.Anomalies) < m.Pattern.Least {
					t.Fatalf("seed %d, state %d: %s rests on %d anomalies", seed, n, m.Pattern.Name, len(g.Anomalies))
				}
			}
		}
		transition.CheckBreaker(s, transition.BreakerLook{Found: v.Found()}, blackboard.ProcessFacts{}, start)
		transition.BreakerBehind(s, start)
		_ = transition.AcknowledgeBreaker(s, "seen", transition.Actor{ID: blackboard.Human}, start)
	}
	if matched == 0 {
		t.Errorf("seed %d: no state showed a pattern", seed)
	}
}

func TestPatternsAreFoundInAnyOrder(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 2))
	texts := []string{"connection refused", "permission denied by the host", "undefined: Foo"}
	for range 300 {
		var list []*blackboard.Anomaly
		for range 2 + r.IntN(12) {
			kind := blackboard.AnomalyTypes[r.IntN(12)].Name
			a := anomaly(kind, "debt_created=true")
			for _, key := range []string{"error_pattern", "assumption", "what", "spec_ref", "blocker_service", "tool"} {
				a.Details[key] = texts[r.IntN(len(texts))]
			}
			list = append(list, of(fmt.Sprintf("task-%d", r.IntN(4)), a))
		}
		want := names(breaker.Analyze(board(list...)))
		r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		if got := names(breaker.Analyze(board(list...))); !slices.Equal(got, want) {
			t.Fatalf("seed %d: found %v in one order and %v in another", seed, want, got)
		}
	}
}
