// Package watch tells people what is wrong with a project: each thing once when it
// begins, and once when it is over (specs/protocol.md#10).
//
// Package findings says what is wrong now. A Watcher looks again and again, compares what is found with what is open, writes the
// difference to alerts.log and tells its sinks. What is open is in alerts.json, under
// alerts.lock, so that several watchers write each change once, and one that is started
// again repeats nothing:
//
//	w := &watch.Watcher{Files: files, Look: facts, Sinks: []watch.Sink{screen}}
//	err := w.Run(ctx, st.Watch(ctx))
//
// The package looks and tells. It never changes the board: the checkpoint at a sprint's
// deadline is written by a function that the caller gives.
package watch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"liza/pkg/base/safefile"
	"liza/pkg/board/blackboard"
	"liza/pkg/team/findings"
)

// poll is how often a Watcher looks without being told that something changed.
const poll = 30 * time.Second

// A Watcher looks at a project again and again. It is not for concurrent use.
type Watcher struct {
	Files Files
	// Look gathers the facts. It is called under alerts.lock, so that what one watcher saw
	// never undoes what another one, which looked later, wrote.
	Look  func(ctx context.Context) findings.Observation
	Sinks []Sink
	// Deadline stops the sprint when DeadlineDue; nil: others do.
	Deadline func(ctx context.Context) error
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
	next, changes := advance(open, findings.Alerts(facts), facts.Now)
	if locked == nil {
		err = errors.Join(err, w.Files.write(next, changes, len(changes) > 0), w.escalate(facts, changes), unlock())
	}
	w.tell(open, next, facts.Now)
	w.deadline = 0
	if end, ok := facts.Deadline(); ok {
		w.deadline = end.Sub(facts.Now)
	}
	if w.Deadline != nil && findings.DeadlineDue(facts) {
		if failed := w.Deadline(ctx); failed != nil {
			err = errors.Join(err, fmt.Errorf("cannot stop the sprint at its deadline: %w", failed))
		}
	}
	return bySeverity(next), errors.Join(locked, err)
}

// look is Look. A mistake in Liza ends this look, not the team that is watched.
func (w *Watcher) look(ctx context.Context) (facts findings.Observation, err error) {
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
func (w *Watcher) escalate(f findings.Observation, changes []Change) error {
	path := w.Files.escalation()
	_, missing := os.Lstat(path)
	text := findings.Escalation(f)
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

// Files is the folder .liza with alerts.json, alerts.log and ESCALATION (specs/protocol.md#1.1), and
// how its files are changed: who knows safe files gives the functions.
type Files struct {
	Dir     string
	Lock    func(ctx context.Context) (unlock func() error, err error) // alerts.lock
	Replace func(path string, data []byte) error
	Append  func(path string, data []byte) error
}

func (f Files) open() string       { return filepath.Join(f.Dir, "alerts.json") }
func (f Files) log() string        { return filepath.Join(f.Dir, "alerts.log") }
func (f Files) escalation() string { return filepath.Join(f.Dir, "ESCALATION") }

// kept is the content of alerts.json.
type kept struct {
	Open []Alert `json:"open"`
}

// Open returns the open alerts, as the last watcher wrote them.
func (f Files) Open() ([]Alert, error) { return f.read() }

// read reads alerts.json. That is a cache: when it is missing or broken, alerts.log says
// what is open.
func (f Files) read() ([]Alert, error) {
	data, err := safefile.Read(f.open())
	var k kept
	if err == nil && json.Unmarshal(data, &k) == nil {
		return k.Open, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("cannot read the open alerts: %v", err)
	}
	data, err = safefile.Read(f.log())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("cannot read the log of alerts: %v", err)
	}
	return replay(string(data)), nil
}

var (
	raisedLine  = regexp.MustCompile(`^(\S+) RAISED (\S+) (\S+): (.*)$`)
	clearedLine = regexp.MustCompile(`^(\S+) CLEARED (\S+) (\S+) after `)
)

// replay gives what is open by the lines of alerts.log; what is no such line is passed over.
func replay(log string) []Alert {
	var open []Alert
	for text := range strings.Lines(log) {
		text = strings.TrimRight(text, "\r\n")
		m := raisedLine.FindStringSubmatch(text)
		raised := m != nil
		if !raised {
			m = clearedLine.FindStringSubmatch(text)
		}
		if m == nil {
			continue
		}
		at, err := time.Parse(time.RFC3339, m[1])
		if err != nil {
			continue
		}
		kind := blackboard.AlertKind(m[2])
		a := Alert{Kind: kind, Subject: m[3], Severity: findings.SeverityOf(kind), Since: at}
		open = slices.DeleteFunc(open, func(o Alert) bool { return o.id() == a.id() })
		if !raised {
			continue
		}
		if a.Message = m[4]; findings.Notice(a.Kind) {
			a.Until = at.Add(noticeLife)
		}
		open = append(open, a)
	}
	return open
}

// write notes what changed in alerts.log, then what is open: killed between the two, a line
// comes twice rather than never.
func (f Files) write(open []Alert, changes []Change, touched bool) error {
	if len(changes) > 0 {
		var b strings.Builder
		for _, c := range changes {
			b.WriteString(c.String() + "\n")
		}
		if err := f.Append(f.log(), []byte(b.String())); err != nil {
			return fmt.Errorf("cannot write the log of alerts: %w", err)
		}
	}
	if !touched {
		return nil
	}
	if open == nil {
		open = []Alert{}
	}
	data, err := json.MarshalIndent(kept{Open: open}, "", "  ")
	if err != nil {
		return err
	}
	if err := f.Replace(f.open(), append(data, '\n')); err != nil {
		return fmt.Errorf("cannot write the open alerts: %w", err)
	}
	return nil
}

// Report raises a one-time notice, or keeps it open for another day.
func (f Files) Report(ctx context.Context, n Alert) error {
	unlock, err := f.Lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	open, err := f.read()
	if err != nil {
		return err
	}
	for i, a := range open {
		if a.id() == n.id() {
			open[i].Message, open[i].Until = n.Message, n.Until
			return f.write(open, nil, true)
		}
	}
	return f.write(append(open, n), []Change{{Alert: n, At: n.Since}}, true)
}
