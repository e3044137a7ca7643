package supervisor

import (
	"context"
	"errors"
	"time"

	"liza/pkg/agent"
	"liza/pkg/blackboard"
	"liza/pkg/outcome"
	"liza/pkg/sprint"
	"liza/pkg/transition"
	"liza/pkg/verb"
)

// work runs the agent on its claim until the claim ends.
func (s *Supervisor) work(soft, hard context.Context, task string) (err error) {
	guarded, release := s.lease.guard(hard)
	defer release()
	u := &unit{task: task}
	ended := func(err error) error {
		switch {
		case errors.Is(context.Cause(guarded), errLost):
			return &transition.Refusal{Exit: transition.ExitLeaseLost, Message: "the lease was lost while the agent worked", Next: "liza status"}
		case hard.Err() != nil:
			return ErrAborted
		case errors.Is(context.Cause(guarded), errStopped):
			return errStopped
		}
		return err
	}
	defer func() {
		if errors.Is(err, errStopped) {
			err = s.releaseAll(hard, "a person stopped "+s.ID)
		}
	}()
	if again, err := s.submitAgain(guarded, task); again || err != nil {
		return ended(err)
	}
	if s.Role == blackboard.RoleReviewer {
		judge, err := s.check(guarded, u)
		if err := ended(err); err != nil || !judge {
			return err
		}
		if soft.Err() != nil {
			return s.letGo(hard, u, "stopped by the person")
		}
	}
	for {
		n, err := s.runOnce(guarded, u)
		if err := ended(err); err != nil {
			return err
		}
		if n.again && s.OneRun {
			return s.letGo(hard, u, "one run was asked for")
		}
		waited := n.wait == 0 || rest(soft, guarded, n.wait)
		if !n.again {
			return nil
		}
		if !waited {
			continue // the next round sees why
		}
		if soft.Err() != nil && (u.reask == nil || n.wait > 0) {
			return s.letGo(hard, u, "stopped by the person")
		}
		if why := s.Service.Control(); why != "" && u.reask == nil {
			if err := s.waitOpen(guarded); err != nil {
				return err
			}
		}
	}
}

// waitOpen waits between two runs of one claim while PAUSE or CHECKPOINT is set.
func (s *Supervisor) waitOpen(ctx context.Context) error {
	for s.Service.Control() != "" {
		if !sleep(ctx, 200*time.Millisecond) {
			return nil
		}
	}
	return sprint.FollowControl(ctx, s.Service)
}

// runOnce starts the agent program once and applies what came of it.
func (s *Supervisor) runOnce(ctx context.Context, u *unit) (next, error) {
	free, ok := s.Slots.take(ctx)
	if !ok {
		return next{}, nil
	}
	defer free()
	st, err := s.Service.View(ctx)
	if err != nil {
		return next{}, err
	}
	t := st.Task(u.task)
	if t == nil {
		return next{}, nil
	}
	if stopped, wait, err := s.mayRun(ctx, u, st, t); stopped || err != nil {
		return next{again: wait > 0, wait: wait}, err
	}
	if err := s.Service.EnsureWorktree(ctx, st, t); err != nil {
		return next{}, s.cannotStart(ctx, u, err)
	}
	if s.Role == blackboard.RoleCoder && t.KindOf() != blackboard.CodeTask {
		return s.runKind(ctx, u, st, t)
	}
	if st, t, err = s.runFixesOnce(ctx, u, st, t); err != nil || t == nil {
		return next{}, err
	}
	r, err := s.spawn(ctx, u, st, t)
	free()
	defer s.closeRun(ctx, r, err)
	if err != nil {
		return next{}, s.cannotStart(ctx, u, err)
	}
	if errors.Is(context.Cause(ctx), errLost) {
		return next{}, nil
	}
	return s.judge(context.WithoutCancel(ctx), ctx, u, r)
}

// mayRun looks at everything that can forbid the next run of a claim: limits of the task,
// the sprint and the day, and a pause of the agent program. With a wait it is to be asked again.
func (s *Supervisor) mayRun(ctx context.Context, u *unit, st *blackboard.State, t *blackboard.Task) (stopped bool, wait time.Duration, err error) {
	if stopped, err := s.overLimit(ctx, st, t); stopped || err != nil {
		return true, 0, err
	}
	if w := s.chosen(st, t).wait; w.why != "" {
		return true, 0, s.letGo(ctx, u, w.why)
	}
	if _, needed := s.kindOf(t); !needed {
		return false, 0, nil
	}
	over, wait, err := s.reserve(ctx, st, t)
	if over != nil {
		err = s.stopForLimit(ctx, u, over)
	}
	return over != nil || wait > 0, wait, err
}

// overLimit blocks a task that has reached a limit before its next run (T26, T27).
func (s *Supervisor) overLimit(ctx context.Context, st *blackboard.State, t *blackboard.Task) (bool, error) {
	if s.Role == blackboard.RoleCoder && transition.IterationsPast(st, t) {
		err := s.Service.Update(ctx, "limit", func(st *blackboard.State, a transition.Actor) error {
			return transition.LimitIterations(st, t.ID, a, transition.Input{Reason: lastError(t)}, s.Service.Now())
		})
		s.warn(t.ID, "blocked: the iterations are used up")
		return true, err
	}
	h := transition.Reached(st, t, s.Service.Now())
	if h == nil {
		return false, nil
	}
	_, err := s.Service.Halt(ctx, t.ID, h)
	s.warn(t.ID, "blocked: %s limit %s of %d", h.Kind, h.Value, h.Limit)
	return true, err
}

// judge turns the end of a run into what happens next (specs/protocol.md#13.3, run-end table).
func (s *Supervisor) judge(ctx, life context.Context, u *unit, r *run) (next, error) {
	st, err := s.Service.View(ctx)
	if err != nil {
		return next{}, err
	}
	held := s.holds(st, u, r.before)
	outcome := r.result.Outcome
	if outcome == agent.Killed && life.Err() != nil && held {
		return next{}, nil // the caller sees why and releases
	}
	if r.stopped() && held {
		return next{}, s.stopForLimit(ctx, u, r.over)
	}
	if r.answered() {
		s.failed.reviews.end()
	}
	if !held || r.answered() {
		return s.apply(ctx, life, u, r)
	}
	if s.Interactive != nil && outcome == agent.Crashed { // a person closes a program as they can
		return next{}, s.left(ctx, life, u, r)
	}
	if mayRestart(r.result, u.restarts) {
		u.restarts++
		s.say(u.task, "asks to be restarted")
		return next{again: true}, nil
	}
	if !r.result.Restart {
		u.restarts = 0
	}
	if r.lostTalk() {
		return s.restartTalk(u, r), nil
	}
	if n, handled, err := s.setBack(ctx, u, r); handled {
		return n, err
	}
	u.reask, u.talk, u.fresh = nil, nil, true
	switch outcome {
	case agent.Asked, agent.Refused:
		_, err := s.asked(ctx, u.task, r)
		return next{}, err
	case agent.ContextFull:
		return s.contextFull(ctx, u, st.Task(u.task), r)
	case agent.TimedOut, agent.Stalled, agent.Killed:
		return s.timedOut(ctx, u, r)
	}
	return s.crashed(ctx, u, r)
}

// holds reports whether the claim of this unit is still this agent's, as it was when the run began.
func (s *Supervisor) holds(st *blackboard.State, u *unit, m verb.Mark) bool {
	t := st.Task(u.task)
	if t == nil {
		return false
	}
	if s.Role == blackboard.RoleReviewer {
		return t.Status == blackboard.ReadyForReview && t.ReviewingBy == s.ID
	}
	return t.Status == blackboard.Claimed && t.AssignedTo == s.ID && t.ClaimSeq == m.ClaimSeq
}

func (s *Supervisor) apply(ctx, life context.Context, u *unit, r *run) (next, error) {
	out, err := s.applied(ctx, life, u.task, outcome.Run{Kind: string(s.Role), Task: u.task, Before: r.before, Answer: r.answer, Changed: r.changed})
	if err != nil {
		return next{}, err
	}
	r.outcome(out)
	switch out.Effect {
	case outcome.Reask:
		if s.Interactive != nil {
			return next{}, s.left(ctx, life, u, r)
		}
		return s.askAgain(ctx, u, r, out.Problem)
	case outcome.Continue:
		u.reask, u.talk, u.fresh = nil, nil, true
		s.say(u.task, "%s", out.Note)
		return next{again: true}, nil
	}
	s.say(u.task, "%s (%s)", out.Note, cost(r.result))
	return next{}, nil
}
