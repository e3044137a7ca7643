package verb

import (
	"context"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/verb/board"
	"liza/pkg/verb/checks"
)

// Checked is what the checks found before a review.
type Checked struct {
	board.Done
	Checks   []*blackboard.Check
	Findings []*blackboard.Finding
	Rejected string // why there is nothing left to judge: the task was rejected without a reviewer
}

// Check does the checks of a submission for the reviewer who has claimed it, on the exact
// commit, and stores what they found (specs/roles-and-knowledge.md#5.5). What came into the worktree
// after the submission is put aside first; work with errors is rejected when
// review.skip_agent_on_error says so.
func (v Reviews) Check(ctx context.Context, id string) (Checked, error) {
	out := Checked{Done: board.Done{Task: id}}
	s, err := v.verbs.Board.View(ctx)
	if err != nil {
		return out, err
	}
	t := s.Task(id)
	if t == nil || t.Status != blackboard.ReadyForReview || !t.ChangesFiles() || v.verbs.Board.Config().Review.Disabled() {
		return out, nil
	}
	out.Status = t.Status
	if _, err := v.verbs.Worktrees.PutBack(ctx, id, ""); err != nil {
		return out, err
	}
	if out.Checks, out.Findings, err = v.verbs.Checks.RunChecks(ctx, s, t, false); err != nil {
		return out, err
	}
	err = v.verbs.Board.Later(ctx, "checks", func(s *blackboard.State, a transition.Actor) error {
		return transition.RecordChecks(s, id, a, &blackboard.Review{Commit: t.ReviewCommit, At: blackboard.TimeOf(v.verbs.Board.Now()), Checks: out.Checks, Findings: out.Findings})
	})
	if err != nil || !v.verbs.Board.Config().Review.SkipAgentOnError {
		return out, err
	}
	errs := checks.ErrorsFound(out.Findings)
	if errs == "" {
		return out, nil
	}
	done, err := v.Verdict(ctx, VerdictInput{Task: id, Verdict: Reject, Reason: errs, Supervisor: true, Checks: true})
	out.Done, out.Rejected = done.Done, errs
	return out, err
}
