package supervisor

import (
	"context"
	"strings"

	"liza/pkg/review"
	"liza/pkg/verb"
)

// check does the checks of a submission before its reviewer is started (
// specs/roles-and-knowledge.md#5.5). judge: there is something left to judge. Checks that cannot be done are a review
// that failed: it is counted, given back, and tried again.
func (s *Supervisor) check(ctx context.Context, u *unit) (judge bool, err error) {
	c, err := s.Service.Check(ctx, u.task)
	switch {
	case ctx.Err() != nil:
		return false, err
	case isLost(err) || isRefused(err):
		return false, err
	case err != nil:
		s.warn(u.task, "%v", err)
		_, err = s.Service.Verdict(ctx, verb.VerdictInput{Task: u.task, Verdict: verb.StuckReview, What: "failed", Reason: err.Error()})
		return false, err
	case c.Rejected != "":
		s.say(u.task, "rejected: %s", c.Rejected)
		return false, nil
	}
	var failed []string
	for _, x := range c.Checks {
		if x.Status == review.Failed {
			failed = append(failed, x.Name+" ("+x.Severity+")")
		}
	}
	if len(failed) > 0 {
		s.warn(u.task, "checks failed: %s", strings.Join(failed, ", "))
	} else if len(c.Checks) > 0 {
		s.say(u.task, "checks: nothing found")
	}
	return true, nil
}
