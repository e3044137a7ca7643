package supervisor_test

import (
	"errors"
	"slices"
	"testing"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
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

// An approval by verb that the exit command of the same run contradicts is merged by nobody, also
// not by another supervisor while the run goes on, and the reviewer judges again.
func TestAnApprovalThatItsRunContradictsIsNotMerged(t *testing.T) {
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
				var refused *transition.Refusal
				if _, err := p.Service("").Merges.Merge(t.Context(), "task-1"); !errors.As(err, &refused) || refused.Guard != "G67" {
					t.Errorf("a merge during the run gives %v, want a refusal by G67", err)
				}
			}, finished(answer), finished(needsFix))
			wantPrompt(t, prompts, 2, "you approved with `verdict`, and your exit command said "+says)
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

// A rejection by verb counts, whatever the exit command says: nothing is merged.
func TestARejectionByVerbStands(t *testing.T) {
	t.Parallel()
	p := submittedGreeter(t, verb.SubmitInput{}, polite)
	prompts, _ := reviewedInRuns(t, p, "task-1", func(_ int, token string) {
		byVerb(t, p, token, verb.VerdictInput{Verdict: "reject", Reason: "greet.py:2 has the wrong word"})
	}, finished(approves))
	if s := p.State(); len(prompts) != 1 || s.Task("task-1").Status != blackboard.Rejected || !slices.Equal(typesOf(s), []string{"exit_mismatch"}) {
		t.Errorf("%d runs, task-1 is %s, anomalies %q", len(prompts), s.Task("task-1").Status, typesOf(s))
	}
}

// What a reviewer changes after its approval by verb is put back before anybody merges; the
// approval of what was submitted is.
func TestChangesAfterAnApprovalByVerbAreNotMerged(t *testing.T) {
	t.Parallel()
	p := submittedGreeter(t, verb.SubmitInput{}, polite)
	commit := p.State().Task("task-1").ReviewCommit
	prompts, _ := reviewedInRuns(t, p, "task-1", func(_ int, token string) {
		byVerb(t, p, token, verb.VerdictInput{Verdict: "approve"})
		p.Shell(p.Repo.WorktreePath("task-1"), "echo x >>greet.py && git commit -qam more && echo y >left")
	}, finished(approves))
	s := p.State()
	if len(prompts) != 1 || s.Task("task-1").Status != blackboard.Approved || !slices.Equal(typesOf(s), []string{"reviewer_changes"}) {
		t.Fatalf("%d runs, task-1 is %s, anomalies %q", len(prompts), s.Task("task-1").Status, typesOf(s))
	}
	atCommit(t, p, commit)
	if _, err := p.Service("").Merges.Merge(t.Context(), "task-1"); err != nil {
		t.Fatal(err)
	}
	if got := p.Git(p.Dir, "rev-parse", "integration^2"); got != commit {
		t.Errorf("%s was merged, want %s", got, commit)
	}
}

// An approval is merged when its reviewer's supervisor has died: nothing is left to contradict it.
func TestAnApprovalOfADeadSupervisorIsMerged(t *testing.T) {
	t.Parallel()
	p := submittedGreeter(t, verb.SubmitInput{}, polite)
	var board *blackboard.State
	reviewedInRuns(t, p, "task-1", func(_ int, token string) {
		byVerb(t, p, token, verb.VerdictInput{Verdict: "approve"})
		board = p.State()
	}, finished(approves))
	now, facts := p.Service("").Board.Now(), p.Service("").Board.Facts()
	task := board.Task("task-1")
	if by := transition.ApprovingRun(board, task, now, facts); by != "code-reviewer-1" {
		t.Errorf("while the run goes on: %q", by)
	}
	facts.Running = func(int, int64) (bool, bool) { return false, true }
	if by := transition.ApprovingRun(board, task, now, facts); by != "" {
		t.Errorf("with its process gone: %q", by)
	}
	facts.Running = nil
	if by := transition.ApprovingRun(board, task, now.Add(board.Duration("lease_duration")*2), facts); by != "" {
		t.Errorf("with its lease expired: %q", by)
	}
}
