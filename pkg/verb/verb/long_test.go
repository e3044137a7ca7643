package verb_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/store"
	"liza/pkg/board/transition"
	"liza/pkg/verb/sprint"
	"liza/pkg/verb/verb"
	"liza/pkg/verb/verb/verbtest"
)

// What a caller says has a limit in each of its fields, and a verb looks at all before it writes.
func TestATextThatIsTooLongIsRefusedByEachVerb(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.AddTask("task-1")
	long := strings.Repeat("x", 1<<20+1)
	calls := map[string]func(ctx context.Context, d *vs) error{
		"Anomaly --detail": func(ctx context.Context, d *vs) error {
			return drop(d.Anomaly(ctx, verb.AnomalyInput{Type: "x-odd", Task: "task-1", Details: map[string]string{"what": long}}))
		},
		"Answer": func(ctx context.Context, d *vs) error { return drop(d.Answer(ctx, "q-1", long)) },
		"ApproveMerge --reason": func(ctx context.Context, d *vs) error {
			return drop(d.Reviews.ApproveMerge(ctx, verb.MergeDecision{Task: "task-1", Reason: long}))
		},
		"RejectMerge --reason": func(ctx context.Context, d *vs) error {
			return drop(d.Reviews.RejectMerge(ctx, verb.MergeDecision{Task: "task-1", Reason: long}))
		},
		"Checkpoint --reason": func(ctx context.Context, d *vs) error { return drop(sprint.Checkpoint(ctx, d, long)) },
		"Comment": func(ctx context.Context, d *vs) error {
			return drop(d.Reviews.Comment(ctx, verb.Comment{Task: "task-1", Text: long}))
		},
		"Comment, path": func(ctx context.Context, d *vs) error {
			return drop(d.Reviews.Comment(ctx, verb.Comment{Task: "task-1", Text: "x", Path: long}))
		},
		"Tell the planner": func(ctx context.Context, d *vs) error {
			return drop(d.Tell(ctx, verb.TellInput{To: verb.ThePlanner, Text: long}))
		},
		"Pause --reason": func(ctx context.Context, d *vs) error { return drop(sprint.Pause(ctx, d, long)) },
		"Abort --reason": func(ctx context.Context, d *vs) error { return drop(sprint.Abort(ctx, d, long, false)) },
		"Resume --note":  func(ctx context.Context, d *vs) error { return drop(sprint.Resume(ctx, d, "CONTINUE", long)) },
		"Discover": func(ctx context.Context, d *vs) error {
			return drop(d.Discover(ctx, blackboard.Discovery{Description: long}))
		},
		"Discover --recommend": func(ctx context.Context, d *vs) error {
			return drop(d.Discover(ctx, blackboard.Discovery{Description: "x", Recommendation: long}))
		},
		"Defer --reason":      func(ctx context.Context, d *vs) error { return drop(d.Defer(ctx, "disc-1", long)) },
		"SpecChange --change": func(ctx context.Context, d *vs) error { return drop(d.SpecChange(ctx, "specs/vision.md", long, "")) },
		"AddFact":             func(ctx context.Context, d *vs) error { return drop(d.Knowledge.AddFact(ctx, long, "")) },
		"NextGoal": func(ctx context.Context, d *vs) error {
			return drop(sprint.NextGoal(ctx, d, sprint.GoalInput{Text: long}))
		},
		"NextGoal --reason": func(ctx context.Context, d *vs) error {
			return drop(sprint.NextGoal(ctx, d, sprint.GoalInput{Text: "x", Reason: long}))
		},
		"Submit --summary": func(ctx context.Context, d *vs) error {
			return drop(d.Submit(ctx, verb.SubmitInput{Task: "task-1", Summary: long}))
		},
		"Submit --evidence": func(ctx context.Context, d *vs) error {
			return drop(d.Submit(ctx, verb.SubmitInput{Task: "task-1", Evidence: []string{"x", long}}))
		},
		"Intent": func(ctx context.Context, d *vs) error {
			return drop(d.Intent(ctx, "task-1", blackboard.Intent{Intent: long}))
		},
		"Intent --risk": func(ctx context.Context, d *vs) error {
			return drop(d.Intent(ctx, "task-1", blackboard.Intent{Risks: []string{long}}))
		},
		"Block --reason": func(ctx context.Context, d *vs) error {
			return drop(d.Block(ctx, verb.BlockInput{Task: "task-1", Reason: long}))
		},
		"Block --question": func(ctx context.Context, d *vs) error {
			return drop(d.Block(ctx, verb.BlockInput{Task: "task-1", Questions: []string{long}}))
		},
		"Handoff --summary": func(ctx context.Context, d *vs) error {
			return drop(d.Handoff(ctx, "task-1", blackboard.Handoff{Summary: long}))
		},
		"Handoff --step": func(ctx context.Context, d *vs) error {
			return drop(d.Handoff(ctx, "task-1", blackboard.Handoff{NextSteps: []string{long}}))
		},
		"Verdict --finding": func(ctx context.Context, d *vs) error {
			return drop(d.Reviews.Verdict(ctx, verb.VerdictInput{Task: "task-1", Verdict: verb.Reject, Findings: []*blackboard.Finding{{Fix: long}}}))
		},
		"Verdict --inject": func(ctx context.Context, d *vs) error {
			return drop(d.Reviews.Verdict(ctx, verb.VerdictInput{Task: "task-1", Verdict: verb.Reject, Inject: []*blackboard.Fix{{Expect: long}}}))
		},
		"Verdict --learn": func(ctx context.Context, d *vs) error {
			return drop(d.Reviews.Verdict(ctx, verb.VerdictInput{Task: "task-1", Verdict: verb.Approve, Learn: []string{long}}))
		},
		"AddTask --criteria": func(ctx context.Context, d *vs) error {
			return drop(d.AddTask(ctx, verb.NewTask{Task: blackboard.Task{AcceptanceCriteria: []string{long}}}))
		},
		"AddTask --scope": func(ctx context.Context, d *vs) error {
			return drop(d.AddTask(ctx, verb.NewTask{Task: blackboard.Task{Scope: long}}))
		},
		"Hold --reason": func(ctx context.Context, d *vs) error { return drop(d.Hold(ctx, "task-1", long)) },
		"Release --reason": func(ctx context.Context, d *vs) error {
			return drop(d.Release(ctx, verb.ReleaseInput{Task: "task-1", Reason: long}))
		},
		"Unblock --reason": func(ctx context.Context, d *vs) error {
			return drop(d.Unblock(ctx, verb.WayOut{Task: "task-1", Reason: long}))
		},
		"Abandon --root-cause": func(ctx context.Context, d *vs) error {
			return drop(d.Abandon(ctx, verb.WayOut{Task: "task-1", Reason: "x", RootCause: long}))
		},
		"Supersede --root-cause": func(ctx context.Context, d *vs) error {
			return drop(d.Supersede(ctx, verb.WayOut{Task: "task-1", Reason: "x", RootCause: long}))
		},
	}
	state := p.State()
	for name, call := range calls {
		d := p.Service("")
		board := &unreliable{Store: store.NewMemory(state)}
		d.Board.Store, d.Board.Rehearsal = board, true
		err := call(t.Context(), d)
		r, ok := errors.AsType[*transition.Refusal](err)
		if !ok || r.Exit != transition.ExitUsage || !strings.HasSuffix(r.Message, " has 1048577 bytes; 1 MiB is the limit") {
			t.Errorf("%s: %.200v", name, err)
		}
		if board.used > 0 {
			t.Errorf("%s: the board was used %d times first", name, board.used)
		}
	}
}
