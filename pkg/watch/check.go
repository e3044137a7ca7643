package watch

import (
	"fmt"
	"slices"
	"time"

	"liza/pkg/blackboard"
	"liza/pkg/transition"
)

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
