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
	"liza/pkg/board/transition"
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

// Facts is everything that alerts depend on. A zero value means that the fact is not
// known; what needs it is then not raised.
type Facts struct {
	Now        time.Time
	State      *blackboard.State // with the configuration's defaults; the last valid one when the file is damaged
	Violations []blackboard.Violation

	Process  blackboard.ProcessFacts
	Triggers transition.TriggerFacts
	Input    transition.Input // what the guards of claims need

	Checkpoint, Pause *Order // the control files that are there
	Abort             bool

	LastActivity time.Time                     // of the journal, and of the output of agent programs
	Left         map[blackboard.Role]time.Time // when the last agent of a role that is not registered any more left
	GaveUp       []GaveUp
	Unusable     []Unusable                  // roles that work waits for
	SpecHash     func(specRef string) string // "" when the file cannot be read
	Red          []Red                       // checks that fail on the base of the work
	CheckedOutAt string                      // where the integration branch is checked out
	Behind       int                         // commits of base_ref that the integration branch lacks
	Moved        *Moved                      // the integration branch is where Liza did not put it
	FreeMB       int
	MinFreeMB    int
	Lock         *Lock         // of the state
	ClockJump    time.Duration // of this machine's clock, while Process.ClockJumped holds
}

// Order is a control file. Its age counts from its last change (specs/protocol.md#1.1).
type Order struct {
	Modified time.Time
	Reason   string
}

// Lock is who holds the lock of the state, and since when.
type Lock struct {
	Holder string
	Since  time.Time
}

// Moved says where the integration branch is, and what decides about it.
type Moved struct{ Text, Next string }

// Red is a check that fails without any change of an agent.
type Red struct{ Check, Command, Commit, Tail, Log string }

// Unusable is a role that cannot be used, and why.
type Unusable struct{ Role, Why string }

// GaveUp is a supervisor that ended after too many crashes, and has not come back.
type GaveUp struct {
	Agent, Detail string
	At            time.Time
}

// check is one call of Check.
type check struct {
	Facts
	kind   Kind
	tasks  map[string]*blackboard.Task
	found  []Alert
	raised map[identity]bool
}

// raise adds an alert of the kind that is being looked for.
func (c *check) raise(subject, format string, args ...any) {
	c.raiseAs(c.kind.Severity, subject, format, args...)
}

func (c *check) raiseAs(severity, subject, format string, args ...any) {
	a := Alert{Kind: c.kind.Name, Subject: word(subject), Severity: severity, Message: line(fmt.Sprintf(format, args...))}
	if !c.raised[a.id()] {
		c.raised[a.id()] = true
		c.found = append(c.found, a)
	}
}

// each yields the tasks; a file that people edit may have empty entries.
func (c *check) each() func(yield func(*blackboard.Task) bool) {
	return func(yield func(*blackboard.Task) bool) {
		for t := range c.State.Tasks() {
			if !yield(t) {
				return
			}
		}
	}
}

// agents are the ids of the registrations, sorted.
func (c *check) agents() []string {
	var ids []string
	for id, a := range c.State.Agents {
		if a != nil {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// live reports whether an agent of the role may be alive: unknown is not dead.
func (c *check) live(role blackboard.Role) bool {
	for _, id := range c.agents() {
		if c.State.Agents[id].Role != role {
			continue
		}
		if v, _ := c.State.Liveness(id, c.Now, c.Process); v == blackboard.Alive || v == blackboard.Unknown {
			return true
		}
	}
	return false
}

// age is the time since at; it is negative when at is not known.
func (c *check) age(at time.Time) time.Duration {
	if at.IsZero() {
		return -1
	}
	return c.Now.Sub(at)
}

// lastChange is the time of the task's newest history entry, else of its creation.
func lastChange(t *blackboard.Task) time.Time {
	for _, h := range slices.Backward(t.History) {
		if h == nil {
			continue
		}
		if at, ok := h.Time.At(); ok {
			return at
		}
	}
	at, _ := t.Created.At()
	return at
}

// short is a duration for people: 31m, 2h5m, 8h.
func short(d time.Duration) string {
	d = d.Round(time.Second)
	switch h, m := int(d.Hours()), int(d.Minutes())%60; {
	case d < time.Minute:
		return d.String()
	case h == 0:
		return fmt.Sprintf("%dm", m)
	case m == 0:
		return fmt.Sprintf("%dh", h)
	default:
		return fmt.Sprintf("%dh%dm", h, m)
	}
}

// Kind is one line of the table of specs/protocol.md#10.2.
type Kind struct {
	Name     blackboard.AlertKind
	Severity string
	When     string       // the condition
	Key      string       // what the threshold is called in the configuration, or the threshold itself
	find     func(*check) // nil for a one-time notice: nothing is looked for, somebody reports it
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

// Open are the alerts that are open, as the last watcher has left them.
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
		a := Alert{Kind: kind, Subject: m[3], Severity: severityOf(kind), Since: at}
		open = slices.DeleteFunc(open, func(o Alert) bool { return o.id() == a.id() })
		if !raised {
			continue
		}
		if a.Message = m[4]; isNotice(a.Kind) {
			a.Until = at.Add(noticeLife)
		}
		open = append(open, a)
	}
	return open
}

func isNotice(kind blackboard.AlertKind) bool {
	for _, k := range Kinds {
		if k.Name == kind {
			return k.find == nil
		}
	}
	return false
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
