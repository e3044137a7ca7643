package verb

import (
	"context"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
)

// Checked is what the checks found before a review.
type Checked struct {
	Done
	Checks   []*blackboard.Check
	Findings []*blackboard.Finding
	Rejected string // why there is nothing left to judge: the task was rejected without a reviewer
}

// Check does the checks of a submission for the reviewer who has claimed it, on the exact
// commit, and stores what they found (specs/roles-and-knowledge.md#5.5). What came into the worktree
// after the submission is put aside first; work with errors is rejected when
// review.skip_agent_on_error says so.
func (d *Service) Check(ctx context.Context, id string) (Checked, error) {
	out := Checked{Done: Done{Task: id}}
	s, err := d.View(ctx)
	if err != nil {
		return out, err
	}
	t := s.Task(id)
	if t == nil || t.Status != blackboard.ReadyForReview || !t.ChangesFiles() || d.Config().Review.Disabled() {
		return out, nil
	}
	out.Status = t.Status
	if _, err := d.PutBack(ctx, id, ""); err != nil {
		return out, err
	}
	if out.Checks, out.Findings, err = d.RunChecks(ctx, s, t, false); err != nil {
		return out, err
	}
	err = d.Later(ctx, "checks", func(s *blackboard.State, a transition.Actor) error {
		return transition.RecordChecks(s, id, a, &blackboard.Review{Commit: t.ReviewCommit, At: blackboard.TimeOf(d.Now()), Checks: out.Checks, Findings: out.Findings})
	})
	if err != nil || !d.Config().Review.SkipAgentOnError {
		return out, err
	}
	errs := ErrorsFound(out.Findings)
	if errs == "" {
		return out, nil
	}
	done, err := d.Verdict(ctx, VerdictInput{Task: id, Verdict: Reject, Reason: errs, Supervisor: true, Checks: true})
	out.Done, out.Rejected = done.Done, errs
	return out, err
}
