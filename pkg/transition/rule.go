package transition

import (
	"time"

	"liza/pkg/blackboard"
)

// A Rule is one line of the transition table. Refusals, help texts,
// specs/state-machines.md and the exhaustive test read this table and nothing else.
// Two rules share a number where the table of the protocol describes a case in words.
type Rule struct {
	ID      string // number in specs/protocol.md#4.3
	Event   Event
	From    []blackboard.Status // nil: the task does not exist yet
	To      blackboard.Status   // "": the status stays
	Who     Party
	When    *Condition // chooses between rules of one event and status; nil: always
	Needs   []Guard    // in the order of their numbers; all are checked before anything changes
	Does    []Effect
	History []blackboard.HistoryEvent // history entries
	Log     []blackboard.Action       // journal actions
}

// A Condition chooses between rules that share event and status.
type Condition struct {
	Text  string
	Holds func(*move) bool
	Else  *Guard // what refuses when no rule of the event holds; nil: G06 with Text
}

// A Guard is one condition of specs/protocol.md#4.2. Those without a number are conditions that
// the table of specs/protocol.md#4.3 states in words.
type Guard struct {
	ID    string
	Text  string
	Check func(*move) error
}

// An Effect changes fields of the task or of what belongs to it.
type Effect struct {
	Text  string
	Apply func(*move)
}

// move is one event on its way through the table. Nothing changes before apply.
type move struct {
	state *blackboard.State
	task  *blackboard.Task
	actor Actor
	by    caller
	party Party
	now   time.Time
	in    Input
	rule  *Rule

	h      blackboard.HistoryEntry                             // what the history entries of the event say
	own    map[blackboard.HistoryEvent]blackboard.HistoryEntry // what the entry of one name says instead
	detail string                                              // one line for the journal
	about  map[blackboard.Action]string                        // the line for the entry of one action instead
	extra  map[string]any                                      // further keys of the journal entries
}

// me is the actor's registration, nil for human and system.
func (m *move) me() *blackboard.Agent { return m.by.entry }

// says keeps what the history entry of that name says, when it is not what m.h says.
func (m *move) says(name blackboard.HistoryEvent, e blackboard.HistoryEntry) {
	if m.own == nil {
		m.own = map[blackboard.HistoryEvent]blackboard.HistoryEntry{}
	}
	m.own[name] = e
}

// tells keeps the journal line of one action, when it is not m.detail.
func (m *move) tells(action blackboard.Action, detail string) {
	if m.about == nil {
		m.about = map[blackboard.Action]string{}
	}
	m.about[action] = oneLine(detail)
}

func withExtra(extra map[string]any, key string, value any) map[string]any {
	out := map[string]any{key: value}
	for k, v := range extra {
		out[k] = v
	}
	return out
}

// no refuses with the command that helps with most refusals: the help of the command
// for a mistake in its use, else a look at the task.
func (m *move) no(guard string, exit Exit, format string, args ...any) error {
	if exit == ExitUsage {
		return m.refuseNext("liza help "+commandOf(m.rule.Event), guard, exit, format, args...)
	}
	return m.refuseNext("liza show "+m.task.ID, guard, exit, format, args...)
}

// refuseNext refuses with a command of its own.
func (m *move) refuseNext(next, guard string, exit Exit, format string, args ...any) error {
	return refuse(guard, exit, next, format, args...)
}

// claim has the facts of a claim, none when the caller gave none.
func (m *move) claim() ClaimFacts {
	if m.in.Claim == nil {
		return ClaimFacts{}
	}
	return *m.in.Claim
}
