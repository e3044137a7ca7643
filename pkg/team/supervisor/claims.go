package supervisor

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/store"
	"liza/pkg/board/transition"
	"liza/pkg/code/git"
	"liza/pkg/verb/verb"
	"liza/pkg/verb/worktree"
)

// maxClaimFailures is how often in a row a claim may fail before a person has to look.
const maxClaimFailures = 3

// claimFailed tells of a claim that may succeed when it is tried again: the worktree could
// not be made, by whatever git or the disk had to say. What the store says is waited for elsewhere.
func claimFailed(err error) bool {
	var invalid *store.InvalidError
	var wentBack *store.WentBackError
	if errors.As(err, &invalid) || errors.As(err, &wentBack) || boardWaits(err) {
		return false
	}
	if _, remote := errors.AsType[*git.RemoteError](err); remote {
		return false
	}
	return err != nil && (exitOf(err) == 0 || exitOf(err) == transition.ExitFailure)
}

// code claims the best task and works on it until the claim ends, then on the one that was reserved with its end.
func (s *Supervisor) code(soft, hard context.Context, st *blackboard.State) (bool, waiting, error) {
	if done, err := s.applyLimits(hard, st); err != nil || done {
		return done, waiting{}, err
	}
	w, err := s.closed(hard, st)
	if err != nil || w.why != "" {
		return false, w, err
	}
	if w, idle := s.nothingTo(st, s.look(hard, st)); idle {
		return false, w, nil
	}
	for {
		did, w, err := s.codeOne(soft, hard, st)
		if s.reserved == nil {
			return did, w, err
		}
		if err != nil || soft.Err() != nil {
			dropped := s.reserved
			s.reserved = nil
			return did, w, errors.Join(err, s.Service.DropReserved(context.WithoutCancel(hard), dropped))
		}
	}
}

// claim claims what was reserved, else the best task.
func (s *Supervisor) claim(ctx context.Context) (verb.Claimed, error) {
	if r := s.reserved; r != nil {
		s.reserved = nil
		return s.Service.ClaimReserved(ctx, r)
	}
	return s.Service.Claim(ctx, s.Task)
}

func (s *Supervisor) codeOne(soft, hard context.Context, st *blackboard.State) (bool, waiting, error) {
	var c verb.Claimed
	var err error
	for failures := 0; ; failures++ {
		c, err = s.claim(hard)
		if !claimFailed(err) {
			break
		}
		bad, isSetup := errors.AsType[*worktree.SetupError](err)
		about := s.Task
		if isSetup {
			about = bad.Task
		}
		s.member.warn(about, "claim failed: %v", err)
		if isSetup && bad.Times > 0 { // counted with the task: others may be claimed
			if bad.Blocked {
				s.member.warn(bad.Task, "blocked: its worktree could not be set up %d times in a row", bad.Times)
				return true, waiting{}, nil
			}
			if !rest(soft, hard, crashWaits.after(bad.Times)) {
				return false, waiting{}, ErrAborted
			}
			return true, waiting{}, nil
		}
		if failures == maxClaimFailures {
			return false, waiting{}, gaveUp(fmt.Sprintf("%d claims failed in a row", failures+1), err)
		}
		if !sleep(hard, time.Second+rand.N(4*time.Second)) {
			return false, waiting{}, ErrAborted
		}
	}
	if w, idle := s.nothingTo(st, err); idle {
		return false, w, s.onlyTask(err)
	}
	if err != nil {
		return false, waiting{}, s.claimRefused(soft, hard, err)
	}
	s.failed.claims.end()
	s.member.say(c.Task, "claimed, iteration %d", c.Iteration)
	for _, w := range c.Warnings {
		s.member.warn(c.Task, "%s", w)
	}
	return true, waiting{}, s.work(soft, hard, c.Task)
}

// claimRefused waits longer after each claim in a row that fails, whatever the reason: a claim
// that fails leaves entries behind, which wake everybody, who would try again at once.
func (s *Supervisor) claimRefused(soft, hard context.Context, err error) error {
	if isLost(err) {
		return err
	}
	if !rest(soft, hard, s.failed.claims.next(claimWaits)) {
		return ErrAborted
	}
	return err
}

// review claims the next review and works on it until the verdict, then on the one that was claimed with the verdict.
func (s *Supervisor) review(soft, hard context.Context, st *blackboard.State) (bool, waiting, error) {
	if w, err := s.closed(hard, st); err != nil || w.why != "" {
		return false, w, err
	}
	if w, idle := s.nothingTo(st, s.look(hard, st)); idle {
		return false, w, nil
	}
	c, err := s.Service.Reviews.ClaimReview(hard, s.Task)
	if w, idle := s.nothingTo(st, err); idle {
		return false, w, s.onlyTask(err)
	}
	if err != nil {
		return false, waiting{}, s.claimRefused(soft, hard, err)
	}
	s.failed.claims.end()
	for {
		s.member.tell(Reviews, c.Task, "reviews %s", blackboard.ShortCommit(c.Commit))
		err := s.work(soft, hard, c.Task)
		if s.reviews == nil || err != nil || soft.Err() != nil { // what was claimed besides is given back by the next step, or the end
			s.reviews = nil
			return true, waiting{}, err
		}
		c, s.reviews = *s.reviews, nil
		s.Service.ReviewClaimed(hard, &c)
	}
}

// look says why there is nothing to claim, nil when there may be something. Who works on one task only is told by the claim.
func (s *Supervisor) look(ctx context.Context, st *blackboard.State) error {
	if s.Task != "" {
		return nil
	}
	return s.Service.Look(ctx, st)
}

// closed says why the limits of sprint and day let nothing new start, when there is work.
func (s *Supervisor) closed(ctx context.Context, st *blackboard.State) (waiting, error) {
	for t := range st.Tasks() {
		if t != nil && t.Hold == nil && s.programs.takes(t.Status) {
			_, w, err := s.spending.sprintSpent(ctx, st, 0)
			return w, err
		}
	}
	return waiting{}, nil
}

// nothingTo reports whether a claim found nothing, lost a race, or has to wait.
func (s *Supervisor) nothingTo(st *blackboard.State, err error) (waiting, bool) {
	if isNothing(err) || isRefused(err) {
		until := s.programs.heldBack(st)
		return waiting{why: err.Error(), until: until, paused: !until.IsZero()}, true
	}
	return waiting{}, false
}

// onlyTask ends a supervisor that was started for one task which cannot be had.
func (s *Supervisor) onlyTask(err error) error {
	if s.Task != "" && s.Once {
		return err
	}
	return nil
}

// applyLimits blocks claimable tasks that have reached a limit (T26, T27), without a claim.
func (s *Supervisor) applyLimits(ctx context.Context, st *blackboard.State) (bool, error) {
	for t := range st.Tasks() {
		if t.Hold != nil {
			continue
		}
		var op func(*blackboard.State, transition.Actor) error
		switch t.Status {
		case blackboard.Unclaimed, blackboard.Rejected, blackboard.IntegrationFailed:
			if h := transition.Reached(st, t, s.Service.Board.Now()); h != nil {
				op = func(st *blackboard.State, a transition.Actor) error {
					return transition.HaltTask(st, t.ID, transition.SystemActor(a.Facts), transition.Input{Halt: h}, s.Service.Board.Now())
				}
			}
		}
		if op == nil && (t.Status == blackboard.Rejected || t.Status == blackboard.IntegrationFailed) && transition.IterationsOver(st, t) {
			op = func(st *blackboard.State, a transition.Actor) error {
				return transition.LimitIterations(st, t.ID, transition.SystemActor(a.Facts), transition.Input{Reason: lastError(t)}, s.Service.Board.Now())
			}
		}
		if op == nil {
			continue
		}
		err := s.Service.Board.Update(ctx, "limit", op)
		if err != nil && !isRefused(err) {
			return false, err
		}
		if err == nil {
			s.member.warn(t.ID, "blocked: a limit is reached")
			return true, nil
		}
	}
	return false, nil
}
