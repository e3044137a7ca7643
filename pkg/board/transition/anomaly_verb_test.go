package transition

import (
	"strings"
	"testing"

	"liza/pkg/board/blackboard"
)

func TestAnAnomalyIsRecordedByWhomItConcerns(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.add("x")
	b.TakeEntries(0)
	for _, c := range []struct {
		actor   Actor
		kind    blackboard.AnomalyKind
		details blackboard.Settings
	}{
		{programOf("coder-1"), "retry_loop", blackboard.Settings{"count": 3, "error_pattern": "undefined: Foo"}},
		{supervisorOf("code-reviewer-1"), "scope_deviation", blackboard.Settings{"expected": "a", "actual": "b"}},
		{programOf("planner-1"), "spec_gap", blackboard.Settings{"spec_ref": "specs/vision.md", "gap": "names"}},
		{programOf("coder-2"), "system_ambiguity", blackboard.Settings{"protocol_section": "4.3", "question": "who?"}},
		{personAs("coder-7"), "x-odd", nil},
		{person, "late_work", blackboard.Settings{"what": "a branch"}},
	} {
		a, err := ReportAnomaly(b.State, "x", c.kind, c.details, c.actor, b.now)
		b.must(err)
		want(t, "the reporter", a.Reporter, c.actor.ID)
		want(t, "the task", a.Task, "x")
	}
	want(t, "the last id", b.Anomalies[5].ID, "anom-6")
	b.valid()
	entries := b.Entries()
	want(t, "the first entry", string(entries[0].Action)+" "+entries[0].Agent+" "+entries[0].Task, "anomaly coder-1 x")
	if b.Agents["coder-7"] == nil || entries[5].Extra["via"] != blackboard.Human {
		t.Errorf("a person who acts for coder-7 is not registered, or not named: %+v", entries[5])
	}
}

func TestAnAnomalyThatIsRefusedLeavesNothing(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.add("x")
	AddAnomaly(b.State, "x", "coder-1", "retry_loop", blackboard.Settings{"count": 3, "error_pattern": "undefined: Foo"}, b.now)
	full := blackboard.Settings{"what": "a", "why": "b", "debt_created": false}
	for _, c := range []struct {
		name, task, kind string
		details          blackboard.Settings
		actor            Actor
		guard            string
		exit             Exit
		says             string
	}{
		{"no type", "x", " ", full, programOf("coder-1"), "G09", ExitUsage, "--type is empty"},
		{"unknown type", "x", "tradeoff", full, programOf("coder-1"), "G09", ExitUsage, "unknown type 'tradeoff'; nearest: trade_off"},
		{"missing details", "x", "trade_off", blackboard.Settings{"what": "a", "why": ""}, programOf("coder-1"), "G09", ExitUsage, "trade_off needs --detail why=… --detail debt_created=…"},
		{"another role", "x", "trade_off", full, programOf("planner-1"), "G03", ExitRefused, "a planner may not report trade_off; human or coder may"},
		{"another role through --as", "x", "trade_off", full, personAs("planner-7"), "G03", ExitRefused, "may not report trade_off"},
		{"the system's type", "x", "review_stuck", blackboard.Settings{"what": "a"}, programOf("coder-1"), "G03", ExitRefused, "human or system may"},
		{"no task", "", "trade_off", full, programOf("coder-1"), "G09", ExitUsage, "--task is empty"},
		{"unknown task", "y", "trade_off", full, programOf("coder-1"), "G05", ExitRefused, "no task 'y'"},
		{"a second loop by a reviewer", "x", "retry_loop", blackboard.Settings{"count": 3, "error_pattern": "y"}, programOf("code-reviewer-1"), "G03", ExitRefused, "recorded already, as anom-1"},
		{"not registered", "x", "trade_off", full, programOf("coder-9"), "G01", ExitRefused, "not registered"},
		{"another's token", "x", "trade_off", full, Actor{ID: "coder-1", TokenHash: "sha256:other"}, "G02", ExitLeaseLost, "coder-1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b.t = t
			r := b.refused(c.guard, c.exit, c.says, func() error {
				_, err := ReportAnomaly(b.State, c.task, blackboard.AnomalyKind(c.kind), c.details, c.actor, b.now)
				return err
			})
			if r.Next == "" || strings.HasPrefix(r.Next, "next:") {
				t.Errorf("next is %q, want a command", r.Next)
			}
		})
	}
}

// Protocol 13.12: the same finding STILL_PRESENT twice is a retry loop.
func TestAFindingThatStaysTwiceIsARetryLoop(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		findings []*blackboard.Finding
		rounds   [][]*blackboard.Prior // the lists of the second and later verdicts
		loops    []string              // what is recorded
	}{
		{"twice", []*blackboard.Finding{{Severity: "error", Message: "lacks the name"}}, [][]*blackboard.Prior{{{N: 1, State: "STILL_PRESENT"}}, {{N: 1, State: "STILL_PRESENT"}}}, []string{"lacks the name"}},
		{"three times is recorded once", []*blackboard.Finding{{Severity: "warning", Message: "lacks the name"}},
			[][]*blackboard.Prior{{{N: 1, State: "STILL_PRESENT"}}, {{N: 1, State: "STILL_PRESENT"}}, {{N: 1, State: "STILL_PRESENT"}}}, []string{"lacks the name"}},
		{"no finding but the reason", nil, [][]*blackboard.Prior{{{N: 1, State: "STILL_PRESENT"}}, {{N: 1, State: "STILL_PRESENT"}}}, []string{"greeting.go:1 is wrong"}},
		{"not in a row", []*blackboard.Finding{{Message: "lacks the name"}}, [][]*blackboard.Prior{{{N: 1, State: "STILL_PRESENT"}}, {{N: 1, State: "PARTIAL"}}, {{N: 1, State: "STILL_PRESENT"}}}, nil},
		{"another point", []*blackboard.Finding{{Message: "a"}, {Message: "b"}}, [][]*blackboard.Prior{{{N: 1, State: "STILL_PRESENT"}, {N: 2, State: "RESOLVED"}}, {{N: 1, State: "PARTIAL"}, {N: 2, State: "STILL_PRESENT"}}}, nil},
		{"a point that does not exist", []*blackboard.Finding{{Message: "a"}}, [][]*blackboard.Prior{{{N: 7, State: "STILL_PRESENT"}, {N: 0, State: "STILL_PRESENT"}}, {{N: 7, State: "STILL_PRESENT"}, {N: 0, State: "STILL_PRESENT"}}}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := team(t)
			b.ready("x", 10)
			for round := range len(c.rounds) + 1 {
				in := Input{Reason: "greeting.go:1 is wrong", Verdict: &VerdictInput{Findings: c.findings}}
				if round > 0 {
					in.Verdict.Prior = c.rounds[round-1]
					b.must(Claim(b.State, "x", supervisorOf("coder-1"), kept("x"), b.now))
					b.submit("x", 10+round)
				}
				b.claimReview("x", "code-reviewer-1")
				b.must(Reject(b.State, "x", programOf("code-reviewer-1"), in, b.now))
			}
			var got []string
			for _, a := range b.Anomalies {
				want(t, "type and reporter", string(a.Type)+" "+a.Reporter, "retry_loop code-reviewer-1")
				got = append(got, a.Details["error_pattern"].(string))
			}
			wantList(t, "the retry loops", got, c.loops)
			if last := b.Task("x").RejectionReason; len(c.loops) > 0 && !last.Anomalies.Has("anom-1") {
				t.Errorf("the rejection names the anomalies %v, want anom-1", last.Anomalies)
			}
			b.valid()
		})
	}
}
