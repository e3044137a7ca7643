package watch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"liza/pkg/blackboard"
)

// poll is how often a Watcher looks without being told that something changed.
const poll = 30 * time.Second

// A Watcher looks at a project again and again. It is not for concurrent use.
type Watcher struct {
	Files Files
	// Look gathers the facts. It is called under alerts.lock, so that what one watcher saw
	// never undoes what another one, which looked later, wrote.
	Look  func(ctx context.Context) Facts
	Sinks []Sink
	// Deadline stops the sprint with the message that it is given, when DeadlineDue; nil:
	// others do.
	Deadline func(ctx context.Context, message string) error
	// Problem is told of what kept a pass from being written down; nil: nobody.
	Problem func(error)

	began    bool
	known    []Alert
	deadline time.Duration // until the sprint's; 0: none ahead
}

// Run looks at once, at every change, at the sprint's deadline, and at least every 30 s,
// until ctx ends. A pass that
// takes long is followed by a longer pause, so that watching stays a small part of the
// work of the machine.
func (w *Watcher) Run(ctx context.Context, changes <-chan struct{}) {
	for ctx.Err() == nil {
		began := time.Now()
		if _, err := w.Pass(ctx); err != nil && w.Problem != nil && ctx.Err() == nil {
			w.Problem(err)
		}
		if !wait(ctx, max(200*time.Millisecond, min(20*time.Since(began), 5*time.Second)), nil) {
			return
		}
		pause := poll
		if w.deadline > 0 {
			pause = min(pause, w.deadline)
		}
		if !wait(ctx, pause, changes) {
			return
		}
	}
}

// wait ends with the time, a change, or ctx; then it is false.
func wait(ctx context.Context, d time.Duration, changes <-chan struct{}) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case _, ok := <-changes:
		if !ok { // anyone who sent them has ended
			<-ctx.Done()
		}
		return ok
	case <-ctx.Done():
		return false
	}
}

// Pass looks once: it writes down what changed, tells the sinks, keeps ESCALATION, and
// stops the sprint at its deadline. It returns the open alerts, the worst first; also
// with an error, which says what could not be written.
func (w *Watcher) Pass(ctx context.Context) ([]Alert, error) {
	unlock, locked := w.Files.Lock(ctx)
	if locked != nil {
		unlock = func() error { return nil }
	}
	unlock = sync.OnceValue(unlock) // sinks are told without the lock
	defer func() { _ = unlock() }()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	open, err := w.Files.read()
	if locked != nil || err != nil {
		open = w.known // nothing can be shared: this watcher goes on alone
	}
	facts, failed := w.look(ctx)
	if failed != nil {
		return bySeverity(open), failed
	}
	if ctx.Err() != nil { // what was not looked at to the end proves nothing
		return nil, ctx.Err()
	}
	next, changes := advance(open, Check(facts), facts.Now)
	if locked == nil {
		err = errors.Join(err, w.Files.write(next, changes, len(changes) > 0), w.escalate(facts, changes), unlock())
	}
	w.tell(open, next, facts.Now)
	w.deadline = 0
	if end, ok := facts.deadline(); ok {
		w.deadline = end.Sub(facts.Now)
	}
	if w.Deadline != nil && DeadlineDue(facts) {
		if failed := w.Deadline(ctx, DeadlineMessage); failed != nil {
			err = errors.Join(err, fmt.Errorf("cannot stop the sprint at its deadline: %w", failed))
		}
	}
	return bySeverity(next), errors.Join(locked, err)
}

// look is Look. A mistake in Liza ends this look, not the team that is watched.
func (w *Watcher) look(ctx context.Context) (facts Facts, err error) {
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("cannot look for alerts: a mistake in Liza: %v\n%s", value, debug.Stack())
		}
	}()
	return w.Look(ctx), nil
}

// tell shows the sinks what is new to this watcher, no matter which watcher wrote it.
// before is what was open when it began.
func (w *Watcher) tell(before, now []Alert, at time.Time) {
	if !w.began {
		w.began, w.known = true, before
		for _, a := range before {
			w.each(Change{Alert: a, At: at, Old: true})
		}
	}
	is := map[identity]Alert{}
	for _, a := range now {
		is[a.id()] = a
	}
	was := map[identity]Alert{}
	for _, a := range w.known {
		was[a.id()] = a
		if _, still := is[a.id()]; !still {
			w.each(Change{Alert: a, At: at, Cleared: true})
		}
	}
	for _, a := range now {
		if old, known := was[a.id()]; !known || !old.Since.Equal(a.Since) {
			w.each(Change{Alert: a, At: a.Since})
		}
	}
	w.known = now
}

func (w *Watcher) each(c Change) {
	for _, s := range w.Sinks {
		s.Tell(c)
	}
}

// escalate writes ESCALATION at the second and third step of the ladder, and removes it
// when the checkpoint ends (specs/protocol.md#10.4).
func (w *Watcher) escalate(f Facts, changes []Change) error {
	path := w.Files.escalation()
	_, missing := os.Lstat(path)
	text := Escalation(f)
	if text == "" {
		if missing == nil {
			if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("cannot remove the escalation: %v", err)
			}
		}
		return nil
	}
	step := missing != nil
	for _, c := range changes {
		step = step || !c.Cleared && (c.Kind == blackboard.AlertCheckpointStuck || c.Kind == blackboard.AlertCheckpointAbandoned)
	}
	if !step {
		return nil
	}
	if err := w.Files.Replace(path, []byte(text)); err != nil {
		return fmt.Errorf("cannot write the escalation: %w", err)
	}
	return nil
}

// Check gives the alerts that hold now, in the order of Kinds. It has no effects.
func Check(f Facts) []Alert {
	if f.State == nil {
		f.State = &blackboard.State{}
	}
	c := &check{Facts: f, raised: map[identity]bool{}, tasks: map[string]*blackboard.Task{}}
	for t := range c.each() {
		c.tasks[t.ID] = t
	}
	for _, k := range Kinds {
		if k.find != nil {
			c.kind = k
			k.find(c)
		}
	}
	return c.found
}
