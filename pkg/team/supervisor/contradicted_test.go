package supervisor_test

import (
	"slices"
	"testing"

	"liza/pkg/board/blackboard"
	"liza/pkg/run/agent"
	"liza/pkg/verb/board"
	"liza/pkg/verb/verb"
	"liza/pkg/verb/verb/verbtest"
)

// byVerb gives the verdict of the run that is under way as its program does.
func byVerb(t *testing.T, p *verbtest.Place, token string, in verb.VerdictInput) {
	t.Helper()
	in.Task = "task-1"
	service := p.Service("")
	service.Board.Caller = board.Caller{AgentID: "code-reviewer-1", Token: token}
	if _, err := service.Reviews.Verdict(t.Context(), in); err != nil {
		t.Error(err)
	}
}

// An approval by verb that the exit command of the same run contradicts is not an approval at any time, and the reviewer judges again.
func TestAnApprovalThatItsRunContradictsIsNone(t *testing.T) {
	t.Parallel()
	for says, answer := range map[string]string{
		"needs_fix": needsFix,
		"replan":    `{"action":"COMPLETED","evidence_files":[],"summary_for_supervisor":"wrong way","review":{"status":"replan","reason":"the approach cannot reach the goal"}}`,
		"stuck":     givesUp,
	} {
		t.Run(says, func(t *testing.T) {
			t.Parallel()
			p := submittedGreeter(t, verb.SubmitInput{}, polite)
			prompts, _ := reviewedInRuns(t, p, "task-1", func(n int, token string) {
				if n > 1 {
					return
				}
				byVerb(t, p, token, verb.VerdictInput{Verdict: "approve"})
				if _, err := p.Service("").Merges.Merge(t.Context(), "task-1"); err == nil || p.State().Task("task-1").Status != blackboard.ReadyForReview {
					t.Errorf("a merge during the run gives %v, and task-1 is %s", err, p.State().Task("task-1").Status)
				}
			}, finished(answer), finished(needsFix))
			wantPrompt(t, prompts, 2, "you said ok with `verdict`, and your exit command said "+says)
			s := p.State()
			task := s.Task("task-1")
			if task.Status != blackboard.Rejected || task.ReviewCyclesTotal != 1 || task.Seal != nil || !slices.Equal(typesOf(s), []string{"exit_mismatch"}) {
				t.Errorf("task-1 is %s, %d rejections, seal %v, anomalies %q", task.Status, task.ReviewCyclesTotal, task.Seal, typesOf(s))
			}
			if m := s.Sprint.Metrics; m.ReviewVerdictApprovals != 0 || m.ReviewVerdictRejections != 1 {
				t.Errorf("metrics %+v", m)
			}
		})
	}
}

// A verdict by verb counts when the program has ended by itself and says the same; else the reviewer is asked.
func TestTwoVerdictsOfOneRunThatDifferAreAskedAbout(t *testing.T) {
	t.Parallel()
	reject := verb.VerdictInput{Verdict: "reject", Reason: "greet.py:2 has the wrong word"}
	for name, x := range map[string]struct {
		verbs  []verb.VerdictInput
		answer string
		asked  bool
	}{
		"rejects, and the program too":    {[]verb.VerdictInput{reject}, needsFix, false},
		"rejects, and the program agrees": {[]verb.VerdictInput{reject}, "I have rejected it.", false},
		"rejects, and the program not":    {[]verb.VerdictInput{reject}, approves, true},
		"approves, then rejects":          {[]verb.VerdictInput{{Verdict: "approve"}, reject}, "I have rejected it.", true},
		"rejects, then approves":          {[]verb.VerdictInput{reject, {Verdict: "approve"}}, needsFix, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := submittedGreeter(t, verb.SubmitInput{}, polite)
			prompts, _ := reviewedInRuns(t, p, "task-1", func(n int, token string) {
				for _, in := range x.verbs {
					if n == 1 {
						byVerb(t, p, token, in)
					}
				}
			}, finished(x.answer), finished(needsFix))
			if s := p.State(); len(prompts) == 2 != x.asked || s.Task("task-1").Status != blackboard.Rejected || s.Task("task-1").ReviewCyclesTotal != 1 {
				t.Errorf("%d runs, task-1 is %s", len(prompts), s.Task("task-1").Status)
			}
		})
	}
}

// A run that was killed or crashed decides nothing, whatever its verbs have said and its program has printed: a test that the reviewer
// runs can do both.
func TestARunThatWasKilledDecidesNothing(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]agent.Result{
		"killed":                       {Outcome: agent.Crashed, Signal: "SIGKILL", ExitCode: -1, Error: "killed by SIGKILL"},
		"killed, with an exit command": {Outcome: agent.Crashed, Signal: "SIGTERM", ExitCode: -1, Error: "killed by SIGTERM", Final: approves},
		"exit code 2":                  {Outcome: agent.Crashed, ExitCode: 2, Error: "exit code 2", Final: approves},
		"timed out":                    {Outcome: agent.TimedOut, ExitCode: -1, Error: "it took too long", Final: approves},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := submittedGreeter(t, verb.SubmitInput{}, polite)
			reviewedInRuns(t, p, "task-1", func(_ int, token string) {
				byVerb(t, p, token, verb.VerdictInput{Verdict: "approve"})
			}, end)
			s := p.State()
			if task := s.Task("task-1"); task.Status != blackboard.ReadyForReview || task.ApprovedBy != "" || task.ReviewFailures == 0 || task.ReviewingBy != "" {
				t.Errorf("task-1 is %s, approved by %q, %d failed reviews, under review by %q", task.Status, task.ApprovedBy, task.ReviewFailures, task.ReviewingBy)
			}
			if _, err := p.Service("").Merges.Merge(t.Context(), "task-1"); err == nil {
				t.Error("it was merged")
			}
		})
	}
}
