package transition

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"liza/pkg/board/blackboard"
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

// Event names what happens to a task; it is the verb of specs/protocol.md#4.3.
type Event string

// The events of specs/protocol.md#4.3.
const (
	EvDraft             Event = "draft"
	EvCreate            Event = "create"
	EvFinalize          Event = "finalize"
	EvReserve           Event = "reserve"
	EvClaim             Event = "claim"
	EvIntent            Event = "intent"
	EvSubmit            Event = "submit"
	EvPass              Event = "pass"
	EvClaimReview       Event = "claim_review"
	EvApprove           Event = "approve"
	EvReject            Event = "reject"
	EvReplan            Event = "replan"
	EvReviewRelease     Event = "review_release"
	EvVoidApproval      Event = "void_approval"
	EvApproveMerge      Event = "approve_merge"
	EvAskAgain          Event = "ask_again"
	EvRejectMerge       Event = "reject_merge"
	EvMergeIntent       Event = "merge_intent"
	EvMerge             Event = "merge"
	EvIntegrationFailed Event = "integration_failed"
	EvBlock             Event = "block"
	EvLimit             Event = "limit"
	EvHalt              Event = "halt"
	EvDependencyLost    Event = "dependency_lost"
	EvUnblock           Event = "unblock"
	EvResubmit          Event = "resubmit"
	EvRetarget          Event = "retarget"
	EvSupersede         Event = "supersede"
	EvAbandon           Event = "abandon"
	EvHold              Event = "hold"
	EvUnhold            Event = "unhold"
	EvRelease           Event = "release"
	EvHandoff           Event = "handoff"
	EvRetry             Event = "retry"
	EvRunFailed         Event = "run_failed"
	EvRerun             Event = "rerun"
	EvRestep            Event = "restep"
)

func verbOf(event Event) string {
	if event == EvMergeIntent { // a step of the verb
		event = EvMerge
	}
	return strings.ReplaceAll(string(event), "_", " ")
}

// commandOf is the command of `liza` that causes the event, or that explains it.
func commandOf(event Event) string {
	switch event {
	case EvDraft, EvCreate:
		return "add-task"
	case EvReserve:
		return "claim"
	case EvClaimReview:
		return "claim-review"
	case EvApprove, EvReject, EvReplan, EvVoidApproval:
		return "verdict"
	case EvReviewRelease:
		return "release"
	case EvApproveMerge:
		return "approve-merge"
	case EvRejectMerge:
		return "reject-merge"
	case EvMergeIntent, EvIntegrationFailed, EvPass, EvAskAgain:
		return "merge"
	case EvLimit, EvHalt:
		return "resubmit"
	case EvDependencyLost:
		return "unblock"
	case EvRetarget:
		return "supersede"
	case EvRetry, EvRunFailed:
		return "run"
	}
	return string(event)
}

// What refusals and documents read from the table.

func hasStatus(list []blackboard.Status, s blackboard.Status) bool { return slices.Contains(list, s) }

// partiesOf is the union of the actors of an event.
func partiesOf(event Event) Party {
	var p Party
	for _, r := range Rules {
		if r.Event == event {
			p |= r.Who
		}
	}
	return p
}

// whoMay reports whether the actor may cause the event, from one status or, for "", at all.
func whoMay(event Event, p Party, from blackboard.Status) bool {
	for i := range Rules {
		if r := &Rules[i]; r.Event == event && r.Who&p != 0 && (from == "" || hasStatus(r.From, from)) {
			return true
		}
	}
	return false
}

// fromOf names the statuses from which the actor may cause the event.
func fromOf(event Event, p Party) []string {
	var names []string
	for _, st := range blackboard.Statuses {
		if whoMay(event, p, st) {
			names = append(names, string(st))
		}
	}
	return names
}

// Exit is the class of a refusal; its value is the exit code of specs/protocol.md#0.6.
type Exit int

// The classes that rules can refuse with.
const (
	ExitFailure   Exit = 1
	ExitUsage     Exit = 2
	ExitInvalid   Exit = 3
	ExitRefused   Exit = 4
	ExitLeaseLost Exit = 6
	ExitNothing   Exit = 7
)

// ErrAlreadyDone is returned for a repetition of the event that is the latest of its
// task and still holds (specs/protocol.md#0.7): nothing changes, and the caller reports success.
var ErrAlreadyDone = errors.New("already done")

// Refusal says why an event is not allowed. The state is unchanged.
type Refusal struct {
	Guard   string // the guard of specs/protocol.md#4.2 that refused, "G31"
	Exit    Exit
	Message string // one sentence
	Next    string // the one command that helps, without "next: "
	Unsaved string // the task whose work could not be saved, where that is why
}

func (r *Refusal) Error() string { return r.Message }

// Advice is the refusal with the command that helps, as an agent is told.
func (r *Refusal) Advice() string {
	if r.Next == "" {
		return r.Message
	}
	return r.Message + " (next: " + r.Next + ")"
}

// Refuse is a refusal by no guard of the state: of what a command was given, or of what was found elsewhere.
func Refuse(exit Exit, next, format string, args ...any) error {
	return refuse("", exit, next, format, args...)
}

func refuse(guard string, exit Exit, next, format string, args ...any) *Refusal {
	return &Refusal{Guard: guard, Exit: exit, Next: next, Message: fmt.Sprintf(format, args...)}
}

func unknownTask(s *blackboard.State, id string) error {
	if a, ok := s.ArchivedTasks()[id]; ok {
		return refuse("G05", ExitRefused, "liza show "+id, "task '%s' is archived (%s)", id, a.Status)
	}
	var ids []string
	for t := range s.Tasks() {
		ids = append(ids, t.ID)
	}
	hint := ""
	if near := blackboard.Nearest(id, ids); near != "" {
		hint = fmt.Sprintf("; did you mean '%s'?", near)
	}
	return refuse("G05", ExitRefused, "liza status", "no task '%s'%s", id, hint)
}

// withdrawQuestions ends the open questions of a task that left BLOCKED or is terminal.
func withdrawQuestions(s *blackboard.State, task string) {
	for _, q := range s.Questions {
		if q.Task == task && q.Status == blackboard.QuestionOpen {
			q.Status = blackboard.QuestionExpired
		}
	}
}

// align appends to the goal's alignment history.
func align(s *blackboard.State, event, summary string, now time.Time) {
	if s.Goal != nil {
		s.Goal.AlignmentHistory = append(s.Goal.AlignmentHistory, &blackboard.Alignment{Timestamp: blackboard.TimeOf(now), Event: event, Summary: summary})
	}
}

// ask adds a question under the next free id.
func ask(s *blackboard.State, q *blackboard.Question) {
	q.ID = nextID("q-", s.Questions, func(q *blackboard.Question) string { return q.ID })
	s.Questions = append(s.Questions, q)
}

func addAnomaly(s *blackboard.State, a *blackboard.Anomaly) {
	a.ID = nextID("anom-", s.Anomalies, func(a *blackboard.Anomaly) string { return a.ID })
	s.Anomalies = append(s.Anomalies, a)
	detail := string(a.Type)
	for _, k := range []string{"what", "reason", "cycles", "failed_by"} {
		if v, ok := a.Details[k]; ok {
			detail += ": " + describe(v)
			break
		}
	}
	s.Record(blackboard.Entry{Timestamp: a.Timestamp, Agent: a.Reporter, Action: blackboard.ActionAnomaly, Task: a.Task, Detail: detail})
}

// nextID is prefix and one more than the highest number in use.
func nextID[T any](prefix string, list []*T, id func(*T) string) string {
	highest := 0
	for _, x := range list {
		if rest, ok := strings.CutPrefix(id(x), prefix); ok {
			if n, err := strconv.Atoi(rest); err == nil {
				highest = max(highest, n)
			}
		}
	}
	return prefix + strconv.Itoa(highest+1)
}

// anyPlanner is who reports for the planner: the first one, or system when there is none.
func anyPlanner(s *blackboard.State) string {
	for _, id := range s.AgentIDs() {
		if role, _, _ := blackboard.ParseAgentID(id); role == blackboard.RolePlanner {
			return id
		}
	}
	return blackboard.System
}
