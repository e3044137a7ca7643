// Package supervisor is the loop of one agent terminal (Supervisor) and of the team that
// `liza run` drives (Team): look at the board, decide, run the agent program, apply what
// came of it, look again (specs/protocol.md#13.3, specs/decisions.md#D16).
//
// A Supervisor keeps no authoritative copy of anything: each step begins with a snapshot,
// and a change of a file only says "look again". Whether to wait and how long is decided
// by pure functions (supervisor.go). Everything that may not be left to an agent happens here,
// outside of it: leases, time, stalls, limits, the end of its processes.
package supervisor

import (
	"context"
	"errors"
	"sync"
	"time"

	"liza/pkg/base/prose"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/code/project"
	"liza/pkg/run/agent"
	"liza/pkg/run/broker"
	"liza/pkg/run/sandbox"
	"liza/pkg/team/wall"
	"liza/pkg/verb/sprint"
	"liza/pkg/verb/verb"
)

// mergesItself reports whether merges are part of its own steps: it ends after one, or a person has its terminal, where
// nothing else may write.
func (s *Supervisor) mergesItself() bool { return !s.Team && (s.Once || s.Interactive != nil) }

// Supervisor drives one registered agent. Make it with its exported fields and call Run
// once; it is not for concurrent use.
type Supervisor struct {
	Service  *verb.Service // of this agent alone; Run fills in its Caller
	Role     blackboard.Role
	ID       string // "" takes the lowest free number
	CLI      string // --cli; "" as configured
	Model    string // --model; "" as configured
	Scenario string // of the scripted agent
	Task     string // the one task that it may work on; "" any
	Once     bool   // end after one unit of work
	Attach   bool   // go on with the claim of ID, whose supervisor leaves it to this one; with Interactive and Task
	Team     bool   // part of `liza run`: it does not end for idleness
	Terminal string
	PID      int
	PIDStart int64

	// Interactive is the terminal in which a person works with the program; nil: nobody does.
	Interactive *agent.Terminal
	// Start runs an agent program; agent.Run but in tests.
	Start func(context.Context, agent.Adapter, agent.Spec) agent.Result
	// Adapter finds an agent program by name.
	Adapter func(name string) (agent.Adapter, error)
	// Version is that of an agent program, "" when it does not tell; nil: nobody is asked.
	Version func(context.Context, agent.Adapter) string
	// Liza is the absolute path of the running liza (specs/decisions.md#D26).
	Liza string
	// Schema is what `liza help schema` prints, for programs that enforce one.
	Schema func() ([]byte, error)
	// Commands carries out what comes out of a run over its broker; nil: nothing does.
	Commands func(InRun) broker.Handler
	Walls    *wall.Maker // of runs and commands; nil: nothing is contained
	// RunBase is where the folders of runs are made (broker.Base).
	RunBase string
	// Environ is the environment that agent programs inherit from.
	Environ []string
	// Print shows one line per step. Heartbeats and the work call it side by side.
	Print func(Line)
	// Slots bounds how many programs run at a time; nil: no bound.
	Slots *Slots
	// Running counts what the programs of this process use while they run; nil: this one's only.
	Running *Running
	// Jitter gives numbers from -1 to 1, by which waits differ; nil: they do not.
	Jitter func() float64

	reserved *verb.Reservation // the next task of a coder, with the end of the one before
	reviews  *verb.Claimed     // the next review of a reviewer, likewise
	offer    *offer            // of a reviewer of a team; nil: it has not been idle

	adopted *adopted // the run that it goes on with, with its registration; nil: it has none

	worked bool
	shut   bool // the person closed the program before the work was handed in

	lease     leaseKeeper
	beats     *heartbeat // of the team; nil: its own
	recovered time.Time
	failed    struct{ reviews, claims streak } // each makes the next wait of its kind longer
	panics    []time.Time
	outage    time.Time // since when the machine keeps it from working; zero: it does not
	idleSince time.Time
	wasCutOff bool      // the board could not be reached
	waitSince time.Time // since when the board says what it waits for

	// The parts, as assemble makes them.
	member     *member
	remote     *remote
	merging    *merging
	programs   *programs
	spending   *spending
	prompts    *prompts
	records    *records
	launcher   *launcher
	errands    *errands
	planner    *planner
	summarizer *summarizer
}

// assemble makes the parts of a supervisor from its exported fields, once.
func (s *Supervisor) assemble() {
	if s.member != nil {
		return
	}
	m := &member{Service: s.Service, Role: s.Role, ID: s.ID, Print: s.Print}
	s.member, s.remote = m, &remote{member: m}
	s.merging = &merging{member: m, remote: s.remote}
	s.programs = &programs{member: m, Adapter: s.Adapter, CLI: s.CLI, Model: s.Model, Jitter: s.Jitter, Interactive: s.Interactive}
	s.spending = &spending{member: m, Start: s.Start, Running: s.Running}
	s.prompts = &prompts{member: m, programs: s.programs, Running: s.Running, Interactive: s.Interactive}
	s.records = &records{member: m, lease: &s.lease, runBase: s.RunBase, PID: s.PID, PIDStart: s.PIDStart}
	s.launcher = &launcher{member: m, records: s.records, surroundings: &surroundings{m}, spending: s.spending, lease: &s.lease,
		enclosure: &enclosure{member: m, Walls: s.Walls, Commands: s.Commands, RunBase: s.RunBase},
		Adapter:   s.Adapter, Version: s.Version, Schema: s.Schema, Interactive: s.Interactive, Environ: s.Environ, Liza: s.Liza}
	s.errands = &errands{member: m, jobs: &jobs{member: m, launcher: s.launcher, records: s.records, Environ: s.Environ},
		prompts: s.prompts, launcher: s.launcher, programs: s.programs, spending: s.spending, Adapter: s.Adapter}
	s.planner = &planner{member: m, programs: s.programs, spending: s.spending, prompts: s.prompts, launcher: s.launcher, lease: &s.lease,
		Adapter: s.Adapter, Slots: s.Slots, Interactive: s.Interactive}
	s.summarizer = &summarizer{member: m, prompts: s.prompts, launcher: s.launcher, lease: &s.lease, Slots: s.Slots, Task: s.Task, PID: s.PID}
}

// Line is one line of what a supervisor shows.
type Line struct {
	Time    time.Time
	Agent   string
	Task    string
	Kind    Kind
	Text    string
	Warning bool
}

// A Kind is what a line is about, where lines of that kind are shown in another way than the rest.
type Kind int

// The kinds of lines.
const (
	Plain     Kind = iota // of everything else
	Ready                 // the agent is registered
	Waits                 // what the agent waits for
	Reviews               // a review begins
	Clean                 // the checks of a submission found nothing
	Completed             // the goal is completed
)

// Errors that end a supervisor; cli turns them into exit codes.
var (
	// ErrAborted: ABORT, or the second Ctrl-C (exit 130).
	ErrAborted = errors.New("aborted")
	// ErrIdle: nothing to do for as long as a role waits (exit 7).
	ErrIdle = errors.New("nothing to do")
	// ErrGaveUp: the supervisor cannot go on (exit 1).
	ErrGaveUp = errors.New("gave up")
	// errComplete: the role is complete; exit 0.
	errComplete = errors.New("complete")
)

// waiting says why a supervisor is idle and when to look again without an event.
type waiting struct {
	why   string
	next  string    // the command that ends it, if one does
	until time.Time // zero: the poll interval

	paused bool              // there is work, but its agent program is paused until then
	board  *blackboard.State // that was looked at; nil: none could be
}

// text is the reason in one line.
func (w waiting) text() string { return w.why + prose.After("; next: ", w.next) }

// An idleError is ErrIdle with what is waited for.
type idleError struct {
	waiting
	lasted string
}

func (e *idleError) Error() string { return ErrIdle.Error() + e.lasted + ": " + e.why }
func (e *idleError) Unwrap() error { return ErrIdle }

// Next returns the command that ends the wait, "" if none does.
func (e *idleError) Next() string { return e.next }

// InRun is a run of an agent program as the commands are told that come out of it. The token stays in the
// memory of the supervisor: nothing in the run has it.
type InRun struct {
	Agent, Token string
	Mark         string        // LIZA_RUN
	Task         string        // "" for a planner
	Root         string        // of the project
	Place        sandbox.Place // where the run has the files of the machine
}

// Run registers the agent, works until its role is complete, and unregisters. soft ends
// when no new work is to be begun (first Ctrl-C), hard when the running program is to be
// stopped too (second Ctrl-C, ABORT).
func (s *Supervisor) Run(soft, hard context.Context) error {
	return s.registered(soft, hard, func(hard context.Context) error { return s.loop(soft, hard) })
}

// registered does work as a registered agent, with a heartbeat; ABORT ends the context that work gets.
func (s *Supervisor) registered(soft, hard context.Context, work func(hard context.Context) error) (err error) {
	s.assemble()
	hard, abort := context.WithCancelCause(hard)
	defer abort(nil)
	if err := s.enter(soft, hard); err != nil {
		return err
	}
	if !s.Team {
		s.Service.Agents.ClearStrays()
	}
	if !s.Team && !s.mergesItself() {
		defer newMerging(s.Service, s.Role, s.Print).beside(hard)()
	}
	var watchers sync.WaitGroup
	life, stop := context.WithCancel(hard)
	watchers.Go(func() { s.watchOrders(life, abort) })
	watchers.Go(func() { s.beatContained(life) })
	left := false
	defer func() {
		if left { // only now: the heartbeat, which has ended, reads it
			s.Service.Board.Caller.Token = ""
		}
	}()
	defer watchers.Wait()
	defer stop()
	defer func() {
		gone := s.leave(err)
		left, err = gone == nil, errors.Join(err, gone)
	}()
	return work(hard)
}

func (s *Supervisor) loop(soft, hard context.Context) error {
	changes := s.Service.Board.Store.Watch(hard)
	s.idleSince = s.Service.Board.Now()
	for {
		if cause := context.Cause(hard); cause != nil {
			return ErrAborted
		}
		if soft.Err() != nil {
			return nil
		}
		var did bool
		var wait waiting
		err := s.member.contained(func() (err error) {
			if s.lease.lost() { // a step that finds nothing to do would never come upon it
				return errLost
			}
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
			s.member.say("", "goes on")
		}
		if did {
			s.worked = true
			s.idleSince = s.Service.Board.Now()
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
	if a := s.adopted; a != nil {
		s.adopted = nil
		return true, waiting{}, s.goOn(soft, hard, a)
	}
	if c := s.offer.withdraw(); c != nil {
		s.Service.ReviewClaimed(hard, c)
		return true, waiting{}, s.reviewAll(soft, hard, *c)
	}
	if s.Attach {
		return true, waiting{}, s.work(soft, hard, s.Task)
	}
	if err := s.recover(hard); err != nil {
		return false, waiting{}, err
	}
	st, err := s.Service.Board.View(hard)
	if err != nil {
		return false, waiting{}, err
	}
	rest := s.member.has(st)
	if err := s.releaseRest(hard, st); err != nil {
		return false, waiting{}, err
	}
	changed, err := sprint.Follow(hard, s.Service, st)
	if err == nil && (changed || rest) {
		st, err = s.Service.Board.View(hard)
	}
	if err != nil {
		return false, waiting{}, err
	}
	if o := s.Service.Board.Orders(st); len(o) > 0 {
		if o[0].Control == project.Abort {
			return false, waiting{}, ErrAborted
		}
		return false, waiting{why: o[0].String(), next: "liza resume"}, nil
	}
	if st, wait, err = s.obeyStop(hard, st); err != nil || wait.why != "" {
		return false, wait, err
	}
	if err := s.remote.follow(hard, st); err != nil {
		return false, waiting{}, err
	}
	if err := s.merging.seeIntegration(hard, st); err != nil {
		return false, waiting{}, err
	}
	merged := false
	s.merging.forgetEnded(hard, st)
	if s.mergesItself() { // else that goes on beside this
		merged = s.merging.merge(hard, st)
	}
	if merged { // what others left is not the one unit of work that was asked for
		if st, err = s.Service.Board.View(hard); err != nil {
			return false, waiting{}, err
		}
	}
	if done, err := s.complete(hard, st); err != nil || done {
		return false, waiting{}, err
	}
	if did, wait, err = s.turn(soft, hard, st); err == nil && !did && soft.Err() == nil {
		did, err = s.summarizer.summarize(hard, st)
	}
	wait.board = st
	return did || merged, wait, err
}

// turn is the work of the role.
func (s *Supervisor) turn(soft, hard context.Context, st *blackboard.State) (bool, waiting, error) {
	switch s.Role {
	case blackboard.RolePlanner:
		return s.planner.plan(soft, hard, st)
	case blackboard.RoleReviewer:
		return s.review(soft, hard, st)
	}
	return s.code(soft, hard, st)
}

// complete ends goal and sprint when everything is done, and the supervisor with them.
func (s *Supervisor) complete(ctx context.Context, st *blackboard.State) (bool, error) {
	facts := s.completionFacts(st)
	if c := transition.CompletionOf(st, facts, s.Service.Board.Now()); c != transition.CompletionOpen {
		c, err := sprint.Complete(ctx, s.Service, facts)
		if err != nil {
			return false, err
		}
		if c == transition.CompletionMissing {
			missing, next, _ := s.Service.Integration.FindMissingWork(ctx)
			return true, &GaveUp{Why: "the goal is not complete: " + missing, Next: next}
		}
		if st, err = s.Service.Board.View(ctx); err != nil {
			return false, err
		}
	}
	switch {
	case st.Goal != nil && st.Goal.Status == blackboard.Completed:
		s.member.tell(Completed, "", "goal completed")
		return true, errComplete
	case st.Goal != nil && st.Goal.Status == blackboard.Aborted:
		s.member.say("", "goal aborted")
		return true, errComplete
	case st.Sprint != nil && st.Sprint.Status == blackboard.Completed:
		return true, &GaveUp{Why: "every task is terminal and none was merged", Next: "liza status"}
	}
	return false, nil
}

func (s *Supervisor) completionFacts(st *blackboard.State) transition.CompletionFacts {
	return transition.CompletionFacts{Control: len(s.Service.Board.Orders(st)) > 0, Triggers: triggerFacts(s.Service, st)}
}

// recoverEvery is how often a member looks for what dead supervisors left.
const recoverEvery = 30 * time.Second

// recover takes back what dead supervisors left, at the start and every 30 s.
func (s *Supervisor) recover(ctx context.Context) error {
	now := s.Service.Board.Now()
	if now.Sub(s.recovered) < recoverEvery {
		return nil
	}
	first := s.recovered.IsZero()
	s.recovered = now
	if !s.beats.recovers(s.Role, now) {
		return nil
	}
	s.records.recoverHistory(ctx)
	did, err := s.Service.Agents.Recover(ctx)
	for _, d := range did {
		s.member.warn("", "%s", d)
	}
	if err != nil && ctx.Err() == nil && !isLost(err) {
		s.member.warn("", "cannot clean up: %v", err)
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
	st, err := s.Service.Board.View(ctx)
	if err != nil || s.Role == blackboard.RoleCoder {
		return
	}
	facts, now := s.Service.Board.Facts(), s.Service.Board.Now()
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
			s.member.warn(t.ID, "cannot give the claim of %s back: %v", t.AssignedTo, err)
			continue
		}
		s.member.warn(t.ID, "released: %s; next: liza-agent coder", why)
	}
}

// How long to wait after runs that ended badly, and after what was refused (specs/protocol.md#13.3).
var (
	crashWaits     = backoff{5 * time.Second, 300 * time.Second}
	transientWaits = backoff{10 * time.Second, 300 * time.Second}
	quotaWaits     = backoff{5 * time.Minute, time.Hour}
	claimWaits     = backoff{time.Second, time.Minute}
	remoteWaits    = backoff{2 * time.Second, 2 * time.Minute}
)

const (
	afterTimeout = 5 * time.Second
	maxRestarts  = 5 // in a row: of a program that ends with exit code 42, and of a member of a team
)

// A backoff is a wait that is first after one failure, twice as long after each more in a row, and at most longest.
type backoff struct{ first, longest time.Duration }

// after is the wait after n failures in a row; n counts from 1.
func (b backoff) after(n int) time.Duration {
	wait := b.first
	for ; n > 1 && wait < b.longest; n-- {
		wait *= 2
	}
	return min(wait, b.longest)
}

// A streak counts failures in a row.
type streak int

// next counts one more, and returns the wait after it.
func (k *streak) next(b backoff) time.Duration {
	*k++
	return b.after(int(*k))
}

func (k *streak) end() { *k = 0 }

// mayRestart reports whether the program asks to be started again and has not asked so too often
// in a row: from then on it is a crash (specs/protocol.md#13.3.1).
func mayRestart(r agent.Result, before int) bool { return r.Restart && before < maxRestarts }

// quotaUntil is when a program whose quota is used up may be started again: the provider's reset time, else after a wait.
func quotaUntil(wait time.Duration, r agent.Result, now time.Time) time.Time {
	switch {
	case r.ResetAt.After(now):
		return r.ResetAt
	case r.RetryAfter > 0:
		return now.Add(r.RetryAfter)
	}
	return now.Add(wait)
}

// tooMany reports whether the crashes are too many: limit of them within the window.
func tooMany(crashes []time.Time, limit int, window time.Duration, now time.Time) bool {
	n := 0
	for _, c := range crashes {
		if now.Sub(c) <= window {
			n++
		}
	}
	return limit > 0 && n >= limit
}

// sleep waits, and reports whether it was not interrupted.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// rest waits between two runs of one unit of work. The first Ctrl-C ends the wait, not the
// work; rest reports whether that may go on.
func rest(soft, hard context.Context, d time.Duration) bool {
	wait, end := context.WithCancel(hard)
	defer end()
	defer context.AfterFunc(soft, end)()
	return sleep(wait, d) || hard.Err() == nil
}
