package verb

import (
	"cmp"
	"context"
	"fmt"

	"liza/pkg/blackboard"
	"liza/pkg/git"
	"liza/pkg/prose"
	"liza/pkg/transition"
)

// PutBack brings branch and worktree of a task back to the commit that was submitted, saves
// what differs in the attic, and makes a folder that is gone again. What differs is the work of
// reviewer, who had the worktree last; with "", and as long as the coder's program still runs,
// it came late. The text says what the reviewer changed, "" for nothing.
//
// Nobody may be at work there: once a coder has claimed rejected work, the worktree is left
// alone.
func (d *Service) PutBack(ctx context.Context, id, reviewer string) (string, error) {
	s, err := d.View(ctx)
	if err != nil {
		return "", err
	}
	t := s.Task(id)
	if d.Rehearsal || !atRest(t) {
		return "", nil
	}
	if _, err := d.Repo.Relink(ctx, id); err != nil {
		return "", err
	}
	if taken, err := d.Repo.Settle(ctx, id, true); err != nil {
		return "", err
	} else if err := d.tellTaken(ctx, id, taken, true); err != nil {
		return "", err
	}
	if err := d.EnsureWorktree(ctx, s, t); err != nil {
		return "", err
	}
	reason, left := "put back before a review", ""
	if reviewer != "" {
		if left, err = d.Repo.Left(ctx, id, reviewer); err != nil {
			return "", err
		}
		reason = "made during the review of " + reviewer
	}
	back, err := d.Repo.PutBack(ctx, git.Work{ID: id, Reason: reason, Base: t.BaseCommit, Left: left}, t.ReviewCommit, func() (bool, error) {
		s, err := d.View(ctx)
		if err != nil {
			return false, err
		}
		now := s.Task(id)
		return atRest(now) && now.ReviewCommit == t.ReviewCommit, nil
	})
	if err != nil || len(back.Changes) == 0 {
		return "", err
	}
	what := prose.Few(back.Changes, 10)
	if back.Attic != "" {
		what += "; saved as " + back.Attic
	}
	coder := s.Agents[t.AssignedTo]
	if reviewer == "" || coder != nil && coder.Child != nil && coder.Child.Task == id {
		d.Progressf("%s: work after the submission: %s", id, what)
		return "", d.NoteAnomaly(ctx, id, blackboard.AnomalyLateWork, "work after the submission: "+what)
	}
	return what, d.Update(ctx, "anomaly", func(s *blackboard.State, _ transition.Actor) error {
		transition.AddAnomaly(s, id, blackboard.System, blackboard.AnomalyReviewerChanges, blackboard.Settings{"agent": reviewer, "what": what}, d.Now())
		return nil
	})
}

// judges reports whether the caller has the review claim of a task.
func (d *Service) judges(s *blackboard.State, id string) bool {
	t := s.Task(id)
	if t == nil || t.Status != blackboard.ReadyForReview || t.ReviewingBy == "" || t.ReviewingBy != d.caller() {
		return false
	}
	who, err := d.Identify()
	if err != nil {
		return false
	}
	_, err = transition.Identify(s.Clone(), who.Actor(s), d.Now())
	return err == nil
}

// caller is the agent as which the caller acts, "" for a person.
func (d *Service) caller() string { return cmp.Or(d.Caller.AgentID, d.Caller.As) }

// ChangedByReviewer is what a reviewer is told who approves work that it has changed.
func ChangedByReviewer(t *blackboard.Task, what string) string {
	return fmt.Sprintf("you changed the work that you judge, so this approval does not count: %s. The worktree is back at %.9s, what was submitted. Judge that without changing it", what, t.ReviewCommit)
}
