package supervisor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"liza/pkg/base/prose"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/verb/verb"
)

// Team is the supervisors of `liza run`, in one process (specs/decisions.md#D16).
type Team struct {
	Members []*Supervisor
	Service *verb.Service // looks at the board for the team
	Until   string        // goal, sprint or idle

	ended atomic.Int32 // members that will not work again
}

// Run works until the goal is complete, nothing can go on without a person, or the
// contexts end. It returns nil when goal (or sprint) completed, ErrIdle when there was
// nothing to do, ErrGaveUp, or ErrAborted.
func (t *Team) Run(soft, hard context.Context) error {
	soft, stop := context.WithCancelCause(soft)
	defer stop(nil)
	t.Service.Agents.ClearStrays()
	running, beats := &Running{}, newHeartbeat()
	ended := make(chan end, len(t.Members))
	var all sync.WaitGroup
	for _, m := range t.Members {
		m.Running, m.beats = running, beats
		all.Go(func() { ended <- end{m, m.kept(soft, hard)} })
	}
	merging := func() {}
	if len(t.Members) > 0 {
		merging = newMerging(t.Service, blackboard.RoleReviewer, t.Members[0].Print).beside(hard) // at once: it waits for no reviewer
	}
	watched := make(chan struct{})
	watching, enough := context.WithCancel(hard)
	go func() {
		defer close(watched)
		if cause := t.watch(watching); cause != nil {
			stop(cause)
		}
	}()
	err := t.collect(ended, stop)
	all.Wait()
	merging()
	enough()
	<-watched
	if cause := context.Cause(soft); err == nil && (errors.Is(cause, ErrGaveUp) || errors.Is(cause, ErrIdle)) {
		err = cause
	}
	return err
}

type end struct {
	member *Supervisor
	err    error
}

// steadyTime is how long a member has to work before the restarts ahead of that count no more.
const steadyTime = 30 * time.Minute

// kept runs a member, and starts it again after an error that did not come from a decision to end, maxRestarts times in a row.
func (s *Supervisor) kept(soft, hard context.Context) error {
	s.assemble()
	for n := 1; ; n++ {
		began := s.Service.Board.Now()
		err := s.member.contained(func() error { return s.Run(soft, hard) })
		decided := err == nil || errors.Is(err, ErrAborted) || errors.Is(err, ErrIdle) || errors.Is(err, ErrGaveUp)
		if s.Service.Board.Now().Sub(began) >= steadyTime {
			n = 1
		}
		if decided || n > maxRestarts || soft.Err() != nil {
			return err
		}
		wait := transientWaits.after(n)
		s.member.warn("", "ended: %s; it is started again in %s", withNext(err), wait)
		if !rest(soft, hard, wait) || soft.Err() != nil {
			return err
		}
		if s.Service.Board.Caller.Token == "" { // else it goes on with the registration that it could not end
			s.forgetRegistration()
		}
	}
}

// collect waits for every member. When the last of a role has given up, the others are
// asked to end.
func (t *Team) collect(ended <-chan end, stop context.CancelCauseFunc) error {
	left := map[blackboard.Role]int{}
	for _, m := range t.Members {
		left[m.Role]++
	}
	var errs []error
	aborted := false
	for range t.Members {
		e := <-ended
		left[e.member.Role]--
		t.ended.Add(1)
		switch {
		case e.err == nil:
		case errors.Is(e.err, ErrAborted):
			aborted = true
		default:
			errs = append(errs, fmt.Errorf("%s: %w", e.member.ID, e.err))
			e.member.member.warn("", "ended: %s", withNext(e.err))
			if left[e.member.Role] == 0 {
				stop(&GaveUp{Why: fmt.Sprintf("no %s is left", e.member.Role)})
			}
		}
	}
	if aborted {
		return ErrAborted
	}
	return errors.Join(errs...)
}

// watch ends the team when it cannot go on by itself.
func (t *Team) watch(ctx context.Context) error {
	changes := t.Service.Board.Store.Watch(ctx)
	var quiet quiet
	for {
		look := watchEvery
		if !quiet.since.IsZero() {
			look = quietTime
		}
		timer := time.NewTimer(look)
		select {
		case <-changes:
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil
		}
		timer.Stop()
		if s, err := t.Service.Board.View(ctx); err == nil {
			if cause := t.verdict(s); quiet.lasts(s, cause, t.Service.Board.Now()) {
				return cause
			}
		}
	}
}

// watchEvery is how often a team looks whether it should end while nothing changes.
const watchEvery = 5 * time.Second

// How long a board has to stay as it is before the team ends: those who wait may not have
// looked yet at what the last change left to do.
const (
	quietTime         = time.Second
	quietWithWork     = 10 * time.Second // a task is there to be claimed
	quietWithQuestion = 6 * time.Minute  // a person is asked, and the answer lets the team go on
)

// quiet is how long the board stays as it is, with a reason to end.
type quiet struct {
	revision int
	since    time.Time
}

// lasts reports whether there is a reason to end that has lasted long enough.
func (q *quiet) lasts(s *blackboard.State, cause error, now time.Time) bool {
	if cause == nil {
		*q = quiet{}
		return false
	}
	asks := errors.Is(cause, ErrGaveUp) && transition.AsksPeople(s)
	if q.since.IsZero() || q.revision != s.Revision && !asks || now.Before(q.since) { // heartbeats answer nothing
		*q = quiet{s.Revision, now}
	}
	most := quietTime
	switch {
	case asks:
		most = quietWithQuestion
	case transition.HasWork(s):
		most = quietWithWork
	}
	return now.Sub(q.since) >= most
}

// verdict says why the team should end, or nil. It looks at the board only.
func (t *Team) verdict(s *blackboard.State) error {
	if len(t.Members) == 0 || !t.allWait(s) || t.Service.Board.ControlOn(s) != "" {
		return nil
	}
	facts := triggerFacts(t.Service, s)
	now := t.Service.Board.Now()
	due, next := transition.DueTriggers(s, facts, now)
	if len(due) > 0 && (t.Until != "idle" || t.plans()) { // else they are for a planner of another terminal
		return nil
	}
	if t.Until == "idle" {
		return fmt.Errorf("%w", ErrIdle)
	}
	all := transition.Triggers(s, facts, now)
	if asked := transition.AskedOfPeople(s); len(all) == 0 && len(asked) > 0 && !waitsForPeople(s) {
		return &GaveUp{Why: "nothing goes on before a person answers about " + prose.Few(asked, 5), Next: "liza answer"}
	}
	if len(all) == 0 || !next.IsZero() || waitsForPeople(s) {
		return nil
	}
	return &GaveUp{Why: "the planner did not resolve " + kinds(all), Next: nextFor(s, all)}
}

// plans reports whether the team has a planner.
func (t *Team) plans() bool {
	return slices.ContainsFunc(t.Members, func(m *Supervisor) bool { return m.Role == blackboard.RolePlanner })
}

// allWait reports whether every member that is left waits, so that nothing is under way. Members are
// known by their process: what they do is on the board.
func (t *Team) allWait(s *blackboard.State) bool {
	waiting := 0
	for _, e := range s.Agents {
		if e.PID == t.Members[0].PID && e.Host == t.Service.Board.Proc.Host && e.Status == blackboard.AgentWaiting {
			waiting++
		}
	}
	if waiting < len(t.Members)-int(t.ended.Load()) {
		return false
	}
	for x := range s.Tasks() {
		if x.Status == blackboard.Claimed || x.Status == blackboard.ReadyForReview && x.Hold == nil || x.Status == blackboard.Approved {
			return false
		}
	}
	return true
}

// waitsForPeople reports whether a person's decision would let the team go on by itself.
func waitsForPeople(s *blackboard.State) bool {
	if len(s.Stopped) > 0 {
		return true
	}
	for t := range s.Tasks() {
		if t.Hold != nil && t.Hold.By != blackboard.System || t.MergeApproval != nil && t.MergeApproval.Required && t.MergeApproval.Decision == "" {
			return true
		}
	}
	return false
}

func nextFor(s *blackboard.State, all []transition.Trigger) string {
	for _, t := range all {
		for _, id := range t.IDs {
			if s.Task(id) != nil {
				return "liza show " + id
			}
		}
	}
	return "liza status"
}
