package supervisor

import (
	"context"
	"fmt"

	"liza/pkg/blackboard"
	"liza/pkg/verb"
)

// letGo gives the claim or review claim back.
func (s *Supervisor) letGo(ctx context.Context, u *unit, reason string) error {
	var err error
	if s.Role == blackboard.RoleReviewer {
		_, err = s.Service.Verdict(ctx, verb.VerdictInput{Task: u.task, Verdict: verb.StuckReview, What: "released", Reason: reason})
	} else {
		_, err = s.Service.Release(ctx, verb.ReleaseInput{Task: u.task, Reason: reason})
	}
	if err == nil {
		s.say(u.task, "released: %s", reason)
	}
	return err
}

// releaseAll gives back the claims of this agent (T36, T18).
func (s *Supervisor) releaseAll(ctx context.Context, reason string) error {
	st, err := s.Service.View(ctx)
	if err != nil {
		return err
	}
	for t := range st.Tasks() {
		coder := t.Status == blackboard.Claimed && t.AssignedTo == s.ID
		reviewer := t.Status == blackboard.ReadyForReview && t.ReviewingBy == s.ID
		if !coder && !reviewer {
			continue
		}
		if _, err := s.Service.Release(ctx, verb.ReleaseInput{Task: t.ID, Reason: reason, Reviewer: reviewer}); err != nil && !isLost(err) {
			return fmt.Errorf("cannot release %s: %w", t.ID, err)
		}
		s.say(t.ID, "released: %s", reason)
	}
	return nil
}
