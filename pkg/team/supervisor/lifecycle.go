package supervisor

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"syscall"
	"time"

	"liza/pkg/base/safefile"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/config"
	"liza/pkg/board/store"
	"liza/pkg/board/transition"
	"liza/pkg/code/project"
	"liza/pkg/verb/board"
	"liza/pkg/verb/verb"
)

// register enters the agent on the board, with the program that it is going to run, and says so.
func (s *Supervisor) register(ctx context.Context) error {
	s.Service.Board.May, s.Service.Board.Run = s.programs.may, s.lease.runID
	program := ""
	ready := func(st *blackboard.State, _ string) (string, string) {
		c := s.programs.chosen(st, nil)
		program = c.name
		return c.name, c.model
	}
	if s.Attach {
		started := s.Service.Board.Now()
		r, err := s.Service.Agents.Attach(ctx, verb.RegisterInput{ID: s.ID, PID: s.PID, PIDStart: s.PIDStart, Terminal: s.Terminal, Settings: config.Handed(s.Environ)})
		if err != nil {
			return gaveUp(s.Task, err)
		}
		s.entered(ctx, s.ID, r.Token, started)
		return nil
	}
	if s.Service.Board.Caller.Token == "" {
		if done, err := s.adopt(ctx); done || err != nil {
			return err
		}
		started := s.Service.Board.Now()
		r, err := s.Service.Agents.Register(ctx, verb.RegisterInput{ID: s.ID, Role: s.Role, PID: s.PID, PIDStart: s.PIDStart, Terminal: s.Terminal, Settings: config.Handed(s.Environ), Ready: ready})
		if err != nil {
			return err
		}
		s.entered(ctx, r.Agent, r.Token, started)
	} else if err := s.Service.Board.Update(ctx, "ready", func(st *blackboard.State, a transition.Actor) error {
		name, model := ready(st, a.ID)
		return transition.SetReady(st, a, name, model, s.Service.Board.Now())
	}); err != nil {
		return err
	}
	s.member.tell(Ready, "", "ready, runs %s", program)
	s.programs.tellLadder()
	return nil
}

// entered notes the registration that was made, or taken over, at a time.
func (s *Supervisor) entered(ctx context.Context, id, token string, at time.Time) {
	s.ID, s.member.ID = id, id
	s.Service.Board.Caller.AgentID, s.Service.Board.Caller.Token = id, token
	s.beats.enter(id, board.HashToken(token))
	_, lease, margin := s.member.intervals(ctx)
	s.lease.renewed(at.Add(lease - margin))
}

// leave releases what the agent still holds and removes its registration.
func (s *Supervisor) leave(cause error) error {
	// Not the context of the work, which has ended by now.
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	s.offer.withdraw() // what was claimed with it is released below
	if s.lease.lost() || s.Service.Board.Caller.Token == "" {
		return nil // the registration is another's now, or none was made
	}
	reason := "its supervisor ended"
	switch {
	case errors.Is(cause, ErrAborted):
		reason = "abort"
	case cause != nil:
		reason = cause.Error()
	}
	if err := s.member.releaseAll(ctx, reason); err != nil {
		return err
	}
	s.beats.leave(s.ID)
	err := s.Service.Agents.Unregister(ctx, s.ID, false)
	if err == nil || isLost(err) {
		return nil
	}
	return err
}

// beat extends the leases of the agent and its work with each heartbeat. A lease that
// was lost, or that could not be renewed for too long, ends the work under it: it is
// trusted for less time than it lasts, counted from the start of the renewal.
func (s *Supervisor) beat(ctx context.Context) {
	var failed bool
	for {
		if s.lease.lost() { // until the loop has registered again
			if !sleep(ctx, time.Second) {
				return
			}
			continue
		}
		interval, lease, margin := s.member.intervals(ctx)
		if left := s.lease.left(s.Service.Board.Now()); failed && left > 0 { // the last look is when the trust ends, not a heartbeat later
			interval = min(interval, left)
		}
		if !sleep(ctx, interval) {
			return
		}
		started, err := s.beats.beat(ctx, s.Service, s.Service.Board.Caller.AgentID, interval)
		failed = err != nil
		switch {
		case err == nil:
			s.lease.renewed(started.Add(lease - margin))
		case ctx.Err() != nil:
			return
		case isLost(err) || isRefused(err):
			s.member.warn("", "the registration is lost: %v", err)
			s.lease.end()
		case unreadable(err): // nobody else can claim the task either
		case s.lease.left(s.Service.Board.Now()) == 0:
			s.member.warn("", "the lease could not be renewed in time: %v", err)
			s.lease.end()
		}
	}
}

// beatContained goes on with the heartbeat after a mistake in Liza.
func (s *Supervisor) beatContained(ctx context.Context) {
	for ctx.Err() == nil {
		err := s.member.contained(func() error { s.beat(ctx); return nil })
		if err == nil {
			return
		}
		s.member.warn("", "the heartbeat: %v", err)
		if !sleep(ctx, time.Second) {
			return
		}
	}
}

// watchOrders stops everything within a second of ABORT, whatever the supervisor is at, and the work of this agent
// when a person stops it.
func (s *Supervisor) watchOrders(ctx context.Context, abort context.CancelCauseFunc) {
	changes := s.Service.Board.Store.Watch(ctx)
	for sleep(ctx, 500*time.Millisecond) {
		var st *blackboard.State
		select {
		case <-changes:
			st, _ = s.Service.Board.View(ctx) // a lost connection is the lease's business
		default:
		}
		if o := s.Service.Board.Orders(st); len(o) > 0 && o[0].Control == project.Abort {
			abort(ErrAborted)
			return
		}
		if st != nil {
			s.lease.ordered(st.Revision, st.Stopped[s.ID])
		}
	}
}

// obeyStop reports whether a person keeps this agent from work. A restart is over now: no run is under way.
func (s *Supervisor) obeyStop(ctx context.Context, st *blackboard.State) (*blackboard.State, waiting, error) {
	stop := st.Stopped[s.ID]
	if stop != nil && stop.Restart {
		err := s.Service.Board.Update(ctx, "restart", func(st *blackboard.State, a transition.Actor) error {
			return transition.TakeRestart(st, a, s.Service.Board.Now())
		})
		if err == nil {
			st, err = s.Service.Board.View(ctx)
		}
		if err != nil {
			return st, waiting{}, err
		}
		s.member.say("", "begins again")
		stop = st.Stopped[s.ID]
	}
	s.lease.ordered(st.Revision, stop)
	if stop == nil {
		return st, waiting{}, nil
	}
	return st, waiting{why: stop.String(), next: "liza resume " + s.ID, paused: true}, nil
}

// idle waits for a change, the poll interval, or the end. A supervisor that was idle for
// too long is complete when it has worked, and ErrIdle otherwise.
func (s *Supervisor) idle(soft, hard context.Context, changes <-chan struct{}, w waiting) error {
	var shown time.Duration
	if w.paused {
		s.idleSince = s.Service.Board.Now() // it is not for lack of work
	}
	st := w.board
	if st == nil {
		st, _ = s.Service.Board.View(hard)
	}
	if st != nil {
		if max := st.Duration("max_wait"); max > 0 && !s.Team && s.Service.Board.Now().Sub(s.idleSince) >= max {
			if s.worked {
				s.member.say("", "nothing to do for %s: %s", max, w.text())
				return errComplete
			}
			return &idleError{waiting: w, lasted: fmt.Sprintf(" for %s", max)}
		}
		if s.Once && s.Task == "" && !s.Team && w.why != "" && !s.worked {
			return &idleError{waiting: w}
		}
		shown = s.showWaiting(hard, st, w)
	} else {
		st = &blackboard.State{}
	}
	wait := st.Duration("poll_interval")
	if shown > 0 {
		wait = min(wait, shown)
	}
	if !w.until.IsZero() {
		wait = min(wait, max(w.until.Sub(s.Service.Board.Now()), 10*time.Millisecond))
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-changes:
	case <-timer.C:
	case <-soft.Done():
	case <-hard.Done():
	}
	return nil
}

// waitShown is how long a reason to wait is on the board before another one takes its
// place: the reasons of a large team change with every step of everybody.
const waitShown = 5 * time.Second

// waitTold is how long an agent has nothing to do before the board says so: in a team at work most find
// something a moment later, and each of these writes would wake all others.
const waitTold = time.Second

// showWaiting writes what the agent waits for, when that is new: a wait is not a transition
// and must not wake everybody else again and again. It returns in what time the reason may
// be written, 0 when there is nothing left to write.
func (s *Supervisor) showWaiting(ctx context.Context, st *blackboard.State, w waiting) time.Duration {
	e, why := st.Agents[s.ID], w.text()
	if e == nil || why == "" || e.Status == blackboard.AgentWaiting && e.WaitingFor == why {
		return 0
	}
	if left := waitShown - s.Service.Board.Now().Sub(s.waitSince); e.Status == blackboard.AgentWaiting && left > 0 && left <= waitShown {
		return left
	}
	if left := waitTold - s.Service.Board.Now().Sub(s.idleSince); e.Status != blackboard.AgentWaiting && !w.paused && left > 0 && left <= waitTold {
		return left
	}
	s.waitSince = s.Service.Board.Now()
	if e.Status != blackboard.AgentWaiting {
		s.member.tell(Waits, "", "waits: %s", why)
	}
	err := s.Service.Board.Update(ctx, "wait", func(st *blackboard.State, a transition.Actor) error {
		return transition.SetWaiting(st, a, why, s.Service.Board.Now())
	})
	if err != nil && ctx.Err() == nil && !isLost(err) {
		s.member.warn("", "cannot say what it waits for: %v", err)
	}
	return 0
}

// survive decides what an error of a step means: a lost registration is made again, a state
// that is invalid or locked is looked at again later, anything else ends the supervisor.
func (s *Supervisor) survive(soft, ctx context.Context, err error) (waiting, error) {
	var invalid *store.InvalidError
	var wentBack *store.WentBackError
	var failed *panicError
	switch w, trouble := s.remote.trouble("", err); {
	case ctx.Err() != nil:
		return waiting{}, ErrAborted
	case trouble:
		return w, nil
	case errors.As(err, &failed):
		return s.panicked(ctx, failed)
	case isLost(err) || s.lease.lost():
		s.member.warn("", "registers again: %v", err)
		s.forgetRegistration()
		return waiting{}, s.enter(soft, ctx)
	case unreachable(err):
		return s.cutOff(err), nil
	case errors.As(err, &invalid):
		s.member.warn("", "%v", err)
		return waiting{why: "the state is invalid", next: "liza validate"}, nil
	case errors.As(err, &wentBack):
		s.member.warn("", "%v", err)
		return waiting{why: "an old copy of the state was put over a newer one", next: "liza restore"}, nil
	case boardWaits(err):
		// By chance, or a whole team would come back in the same moment and wait for each other again.
		return waiting{why: err.Error(), until: s.Service.Board.Now().Add(time.Second + rand.N(4*time.Second))}, nil
	case mayPass(err):
		return s.waitOut(err)
	}
	return waiting{}, err
}

// boardWaits reports whether an error of the board is over when it is tried again: its lock or that of its copy was not free in
// time, or its database does not answer.
func boardWaits(err error) bool {
	_, held := errors.AsType[*safefile.HeldError](err)
	return held || unreachable(err)
}

// unreadable reports whether the board waits for a person: somebody has mistyped a line of it, or has put an old copy over it.
func unreadable(err error) bool {
	invalid, _ := errors.AsType[*store.InvalidError](err) // without a cause it is a write that was refused
	_, wentBack := errors.AsType[*store.WentBackError](err)
	return invalid != nil && invalid.Err != nil || wentBack
}

// unreachable reports whether the board is in a database that does not answer: nothing is lost by waiting.
func unreachable(err error) bool {
	var gone interface{ Unreachable() bool }
	return errors.As(err, &gone) && gone.Unreachable()
}

// cutOff waits for the board, for however long it takes; what was begun is given back then.
func (s *Supervisor) cutOff(err error) waiting {
	if !s.wasCutOff {
		s.wasCutOff = true
		s.member.warn("", "waits for the board: %v", err)
	}
	return waiting{why: "the board cannot be reached", until: s.Service.Board.Now().Add(time.Second + rand.N(2*time.Second))}
}

// releaseRest releases what this agent still has when it looks for work: the run that it belonged to is over, and its end could not
// be applied. It could claim nothing else, and its heartbeats would keep others away. The work is in the worktree, where the next
// claim goes on.
func (s *Supervisor) releaseRest(ctx context.Context, st *blackboard.State) error {
	if !s.wasCutOff && !s.member.has(st) {
		return nil
	}
	reason := "its run ended and could not be applied"
	if s.wasCutOff {
		reason = "the board could not be reached"
	}
	if err := s.member.releaseAll(ctx, reason); err != nil {
		return err
	}
	if s.wasCutOff {
		s.wasCutOff = false
		s.member.say("", "the board is back; goes on")
	}
	return nil
}

func (s *Supervisor) forgetRegistration() {
	s.beats.leave(s.ID)
	s.Service.Board.Caller.AgentID, s.Service.Board.Caller.Token = "", ""
	s.ID, s.member.ID = "", ""
}

// enter registers the agent as soon as the board lets it, unless nothing new is to be begun any more.
func (s *Supervisor) enter(soft, hard context.Context) error {
	for {
		err := s.register(hard)
		switch {
		case isLost(err): // of a registration that was made while it was not yet known whether it was
			s.forgetRegistration()
		case !boardWaits(err):
			return err
		}
		if w := s.cutOff(err); !rest(soft, hard, w.until.Sub(s.Service.Board.Now())) {
			return ErrAborted
		}
		if soft.Err() != nil {
			return nil
		}
	}
}

// outageLimit is how long a member waits for what may pass by itself.
const outageLimit = 5 * time.Minute

// mayPass reports whether an error of the machine may be over in a moment: no room, no right to read, too many open files.
func mayPass(err error) bool {
	return slices.ContainsFunc([]error{syscall.ENOSPC, syscall.EDQUOT, syscall.EACCES, syscall.EPERM, syscall.EROFS, syscall.EIO,
		syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.EAGAIN}, func(e error) bool { return errors.Is(err, e) })
}

// waitOut waits for the end of an outage, tells of it once, and gives up after a while.
func (s *Supervisor) waitOut(err error) (waiting, error) {
	now := s.Service.Board.Now()
	if s.outage.IsZero() {
		s.outage = now
		s.member.warn("", "waits for up to %s: %v", outageLimit, err)
	}
	if now.Sub(s.outage) >= outageLimit {
		return waiting{}, fmt.Errorf("it lasted for %s: %w", outageLimit, err)
	}
	return waiting{until: now.Add(time.Second)}, nil
}

// leaseKeeper knows whether this registration still holds, and ends the work under it
// when it does not.
type leaseKeeper struct {
	mu      sync.Mutex
	lose    context.CancelCauseFunc // of the running work; nil when none runs
	trust   time.Time               // until then the lease is trusted without another renewal
	isLost  bool
	run     string // correlation id of the run that is under way
	seen    int    // revision of the board that stopped is from
	stopped error  // why a person stopped this agent; nil: nobody did
}

// runID and setRun are about the run that is under way.
func (l *leaseKeeper) runID() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.run
}

func (l *leaseKeeper) setRun(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.run = id
}

// errLost is the cause with which work under a lost lease ends.
var errLost = errors.New("the lease was lost")

// errAttached is the cause with which work ends that a person goes on with in a terminal.
var errAttached = errors.New("a person attaches to the agent")

// errStopped is the cause with which work ends when a person stops the agent.
var errStopped = errors.New("a person stopped the agent")

// ordered notes whether a person has stopped the agent at a revision of the board; work under way ends then. An
// older revision than the last one says nothing: who reads the board does so beside each other.
func (l *leaseKeeper) ordered(revision int, stop *blackboard.Stop) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if revision < l.seen {
		return
	}
	l.seen, l.stopped = revision, nil
	if stop != nil {
		l.stopped = errStopped
		if stop.Attach {
			l.stopped = errAttached
		}
	}
	if l.stopped != nil && l.lose != nil {
		l.lose(l.stopped)
	}
}

// guard makes a context for work under the lease.
func (l *leaseKeeper) guard(ctx context.Context) (context.Context, context.CancelFunc) {
	work, lose := context.WithCancelCause(ctx)
	l.mu.Lock()
	l.lose = lose
	switch {
	case l.isLost:
		lose(errLost)
	case l.stopped != nil:
		lose(l.stopped)
	}
	l.mu.Unlock()
	return work, func() {
		l.mu.Lock()
		l.lose = nil
		l.mu.Unlock()
		lose(nil)
	}
}

func (l *leaseKeeper) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.isLost = true
	if l.lose != nil {
		l.lose(errLost)
	}
}

func (l *leaseKeeper) lost() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.isLost
}

func (l *leaseKeeper) renewed(trust time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.trust, l.isLost = trust, false
}

// left is how long the lease is still trusted without another renewal.
func (l *leaseKeeper) left(now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return max(l.trust.Sub(now), 0)
}
