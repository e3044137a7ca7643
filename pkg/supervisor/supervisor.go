package supervisor

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"liza/pkg/blackboard"
	"liza/pkg/project"
	"liza/pkg/sprint"
	"liza/pkg/transition"
	"liza/pkg/verb"
)

// Run registers the agent, works until its role is complete, and unregisters. soft ends
// when no new work is to be begun (first Ctrl-C), hard when the running program is to be
// stopped too (second Ctrl-C, ABORT).
func (s *Supervisor) Run(soft, hard context.Context) error {
	return s.registered(soft, hard, func(hard context.Context) error { return s.loop(soft, hard) })
}

// registered does work as a registered agent, with a heartbeat; ABORT ends the context that work gets.
func (s *Supervisor) registered(soft, hard context.Context, work func(hard context.Context) error) (err error) {
	hard, abort := context.WithCancelCause(hard)
	defer abort(nil)
	if err := s.enter(soft, hard); err != nil {
		return err
	}
	if !s.Team {
		s.Service.ClearStrays()
	}
	if !s.Team && !s.mergesItself() {
		defer s.merger(*s.Service, s.Role).beside(hard)()
	}
	var watchers sync.WaitGroup
	life, stop := context.WithCancel(hard)
	watchers.Go(func() { s.watchOrders(life, abort) })
	watchers.Go(func() { s.beatContained(life) })
	defer watchers.Wait()
	defer stop()
	defer func() { err = errors.Join(err, s.leave(err)) }()
	return work(hard)
}

func (s *Supervisor) loop(soft, hard context.Context) error {
	changes := s.Service.Store.Watch(hard)
	s.idleSince = s.Service.Now()
	for {
		if cause := context.Cause(hard); cause != nil {
			return ErrAborted
		}
		if soft.Err() != nil {
			return nil
		}
		var did bool
		var wait waiting
		err := s.contained(func() (err error) {
			did, wait, err = s.Step(soft, hard)
			return err
		})
		switch {
		case errors.Is(err, errComplete):
			return nil
		case errors.Is(err, ErrGaveUp) && !boardWaits(err):
			s.tellGaveUp(err)
			return err
		case errors.Is(err, ErrAborted):
			return err
		case err != nil:
			if wait, err = s.survive(soft, hard, err); err != nil {
				return err
			}
		case !s.outage.IsZero():
			s.outage = time.Time{}
			s.say("", "goes on")
		}
		if did {
			s.worked = true
			s.idleSince = s.Service.Now()
			if s.Once || s.shut { // opened again at once, it would leave the person no way out
				return nil
			}
			continue
		}
		if err := s.idle(soft, hard, changes, wait); errors.Is(err, errComplete) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// Step is one pass: recover, obey, complete, claim, work. wait says what the agent
// waits for and for how long at most, when it did nothing.
func (s *Supervisor) Step(soft, hard context.Context) (did bool, wait waiting, err error) {
	if err := s.recover(hard); err != nil {
		return false, waiting{}, err
	}
	st, err := s.Service.View(hard)
	if err != nil {
		return false, waiting{}, err
	}
	rest := s.has(st)
	if err := s.releaseRest(hard, st); err != nil {
		return false, waiting{}, err
	}
	changed, err := sprint.Follow(hard, s.Service, st)
	if err == nil && (changed || rest) {
		st, err = s.Service.View(hard)
	}
	if err != nil {
		return false, waiting{}, err
	}
	if o := s.Service.Orders(st); len(o) > 0 {
		if o[0].Control == project.Abort {
			return false, waiting{}, ErrAborted
		}
		return false, waiting{why: o[0].String()}, nil
	}
	if st, wait, err = s.obeyStop(hard, st); err != nil || wait.why != "" {
		return false, wait, err
	}
	if err := s.followRemote(hard, st); err != nil {
		return false, waiting{}, err
	}
	if err := s.seeIntegration(hard, st); err != nil {
		return false, waiting{}, err
	}
	merged := false
	s.forgetEnded(hard, st)
	if s.mergesItself() { // else that goes on beside this
		merged = s.merge(hard, st)
	}
	if merged { // what others left is not the one unit of work that was asked for
		if st, err = s.Service.View(hard); err != nil {
			return false, waiting{}, err
		}
	}
	if done, err := s.complete(hard, st); err != nil || done {
		return false, waiting{}, err
	}
	if did, wait, err = s.turn(soft, hard, st); err == nil && !did && soft.Err() == nil {
		did, err = s.summarize(hard, st)
	}
	wait.board = st
	return did || merged, wait, err
}

// turn is the work of the role.
func (s *Supervisor) turn(soft, hard context.Context, st *blackboard.State) (bool, waiting, error) {
	switch s.Role {
	case blackboard.RolePlanner:
		return s.plan(soft, hard, st)
	case blackboard.RoleReviewer:
		return s.review(soft, hard, st)
	}
	return s.code(soft, hard, st)
}

// complete ends goal and sprint when everything is done, and the supervisor with them.
func (s *Supervisor) complete(ctx context.Context, st *blackboard.State) (bool, error) {
	facts := s.completionFacts(st)
	if c := transition.CompletionOf(st, facts, s.Service.Now()); c != transition.CompletionOpen {
		c, err := sprint.Complete(ctx, s.Service, facts)
		if err != nil {
			return false, err
		}
		if c == transition.CompletionMissing {
			missing, _ := s.Service.MissingWork(ctx)
			return true, fmt.Errorf("%w: the goal is not complete: %s", ErrGaveUp, missing)
		}
		if st, err = s.Service.View(ctx); err != nil {
			return false, err
		}
	}
	switch {
	case st.Goal != nil && st.Goal.Status == blackboard.Completed:
		s.say("", "goal completed")
		return true, errComplete
	case st.Goal != nil && st.Goal.Status == blackboard.Aborted:
		s.say("", "goal aborted")
		return true, errComplete
	case st.Sprint != nil && st.Sprint.Status == blackboard.Completed:
		return true, fmt.Errorf("%w: every task is terminal and none was merged; next: liza status", ErrGaveUp)
	}
	return false, nil
}

func (s *Supervisor) completionFacts(st *blackboard.State) transition.CompletionFacts {
	return transition.CompletionFacts{Control: len(s.Service.Orders(st)) > 0, Triggers: triggerFacts(s.Service, st)}
}

// seeIntegration tells of a branch that somebody moved. Nothing is merged until a person has decided.
func (s *Supervisor) seeIntegration(ctx context.Context, st *blackboard.State) error {
	b, err := s.Service.SeeIntegration(ctx, st)
	if s.moved = b.Moved; !b.Moved || err != nil {
		s.movedTold = ""
		return err
	}
	if s.movedTold != b.Text {
		s.movedTold = b.Text
		s.warn("", "%s; merges wait; next: %s", b.Text, b.Next)
	}
	return nil
}

// recover takes back what dead supervisors left, at the start and every 30 s.
func (s *Supervisor) recover(ctx context.Context) error {
	now := s.Service.Now()
	if now.Sub(s.recovered) < 30*time.Second {
		return nil
	}
	first := s.recovered.IsZero()
	s.recovered = now
	s.recoverHistory(ctx)
	did, err := s.Service.Recover(ctx)
	for _, d := range did {
		s.warn("", "%s", d)
	}
	if err != nil && ctx.Err() == nil && !isLost(err) {
		s.warn("", "cannot clean up: %v", err)
		return nil
	}
	if err == nil && !first { // coders that start with this one have registered by then
		s.releaseAbandoned(ctx)
	}
	return err
}

// releaseAbandoned gives claims of dead coders back where no coder is left to take them over: a
// coder reclaims by itself, and has the better look at what there is. Only a lease that has run
// out, of a process that is gone, is proof.
func (s *Supervisor) releaseAbandoned(ctx context.Context) {
	st, err := s.Service.View(ctx)
	if err != nil || s.Role == blackboard.RoleCoder {
		return
	}
	facts, now := s.Service.Facts(), s.Service.Now()
	for id, e := range st.Agents {
		if live, _ := st.Liveness(id, now, facts); e != nil && e.Role == blackboard.RoleCoder && (live == blackboard.Alive || live == blackboard.Unknown) {
			return
		}
	}
	for t := range st.Tasks() {
		if t == nil || t.Status != blackboard.Claimed {
			continue
		}
		lease, known := t.LeaseExpires.At()
		live, _ := st.ClaimLiveness(t, now, facts)
		holder, _ := st.Liveness(t.AssignedTo, now, facts)
		if !known || now.Before(lease) || live != blackboard.Dead && live != blackboard.Expired || st.Agents[t.AssignedTo] != nil && holder != blackboard.Dead {
			continue
		}
		why := t.AssignedTo + " is gone, its lease has run out, and no coder is at work"
		if _, err := s.Service.Release(ctx, verb.ReleaseInput{Task: t.ID, Coder: true, Reason: why}); err != nil {
			s.warn(t.ID, "cannot give the claim of %s back: %v", t.AssignedTo, err)
			continue
		}
		s.warn(t.ID, "released: %s; next: liza-agent coder", why)
	}
}
