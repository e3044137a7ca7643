package transition

import (
	"errors"
	"fmt"
	"time"

	"liza/pkg/board/blackboard"
)

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

	h      blackboard.HistoryEntry                             // history entry of the event
	own    map[blackboard.HistoryEvent]blackboard.HistoryEntry // history entries that differ from h, by name
	detail string                                              // line for the journal
	about  map[blackboard.Action]string                        // journal lines that differ from detail, by action
	extra  map[string]any                                      // further keys of the journal entries
}

// begin checks identity, role, existence and status (G01 to G06) and picks the rule.
func begin(s *blackboard.State, event Event, id string, a Actor, in Input, now time.Time) (*move, error) {
	by, err := identify(s, a, now)
	if err != nil {
		return nil, err
	}
	m := &move{state: s, actor: a, by: by, party: by.party, in: in, now: now}
	if err := m.mayCause(event); err != nil {
		return nil, err
	}
	if m.task = s.Task(id); m.task == nil {
		return nil, unknownTask(s, id)
	}
	if m.repeated(event) {
		return nil, ErrAlreadyDone
	}
	return m, m.pick(event)
}

// mayCause is G03; a merge says it with G61.
func (m *move) mayCause(event Event) error {
	if whoMay(event, m.party, "") {
		return nil
	}
	guard, next := "G03", "liza status"
	switch event {
	case evMergeIntent, evMerge, evIntegrationFailed:
		guard = "G61"
	case evDraft, evCreate:
		next = "liza discover TEXT --task ID"
	}
	return refuse(guard, ExitRefused, next, "%s may not %s; %s may", article(m.actor, m.party), verbOf(event), blackboard.OrList(partiesOf(event).words()))
}

// pick finds the rule for the task's status, the actor and the condition.
func (m *move) pick(event Event) error {
	var fitting []*Rule
	for i := range Rules {
		if r := &Rules[i]; r.Event == event && r.Who&m.party != 0 && hasStatus(r.From, m.task.Status) {
			fitting = append(fitting, r)
		}
	}
	if len(fitting) == 0 {
		return m.lostOr(refuse("G06", ExitRefused, "liza show "+m.task.ID, "task %s is %s; %s needs %s",
			m.task.ID, m.task.Status, verbOf(event), blackboard.OrList(fromOf(event, m.party))))
	}
	for _, r := range fitting {
		if r.When == nil || r.When.Holds(m) {
			m.rule = r
			return nil
		}
	}
	if g := fitting[0].When.Else; g != nil {
		if err := g.Check(m); err != nil {
			return err
		}
	}
	return refuse("G06", ExitRefused, "liza show "+m.task.ID, "task %s is %s; %s needs: %s",
		m.task.ID, m.task.Status, verbOf(event), fitting[0].When.Text)
}

// check evaluates the guards of the rule in order. The first of Needs that is violated is reported, or all of All.
func (m *move) check() error {
	for _, g := range m.rule.Needs {
		if err := g.Check(m); err != nil {
			return m.lostOr(err)
		}
	}
	var all *Refusal
	for _, g := range m.rule.All {
		switch r, ok := g.Check(m).(*Refusal); {
		case !ok:
		case all == nil:
			all = r
		default:
			all.Message += "; " + r.Message
		}
	}
	if all != nil {
		return all
	}
	return nil
}

// lostOr turns a refusal by G06, G31 or G53 into exit 6 when the caller held the claim
// and lost it (specs/decisions.md#D24).
func (m *move) lostOr(err error) error {
	r, ok := err.(*Refusal)
	if !ok || r.Guard != "G06" && r.Guard != "G31" && r.Guard != "G53" || m.party&ByAny == 0 {
		return err
	}
	if at, how, lost := lostBy(m.task, m.actor.ID); lost {
		return refuse(r.Guard, ExitLeaseLost, "liza show "+m.task.ID, "the claim of %s on %s ended%s (%s); %s", m.actor.ID, m.task.ID, since(at), how, r.Message)
	}
	return r
}

// lostBy reports whether agent held the claim or the review claim and lost it to an
// expiry, a forced release or another agent (specs/decisions.md#D24), and how.
func lostBy(t *blackboard.Task, agent string) (at blackboard.Time, how string, lost bool) {
	role, _, _ := blackboard.ParseAgentID(agent)
	var takeover *blackboard.HistoryEntry
	for h := range t.Backwards() {
		switch {
		case h.Event == blackboard.HistoryLeaseExpired && h.Holder == agent:
			return h.Time, "its lease expired", true
		case h.Event == blackboard.HistoryReassigned && h.PreviousAssignee == agent:
			return h.Time, "reclaimed by " + h.Agent, true
		case h.Event == blackboard.HistoryReleased && h.Holder == agent && h.Agent != agent:
			return h.Time, "released by " + h.Agent + ": " + h.Reason, true
		case h.Agent == agent:
			holds := blackboard.IsClaimEvent(h.Event) || h.Event == blackboard.HistoryReviewClaimed || h.Event == blackboard.HistoryCheckpoint || h.Event == blackboard.HistoryHandoff
			if holds && takeover != nil {
				return takeover.Time, "reclaimed by " + takeover.Agent, true
			}
			return "", "", false
		case role == blackboard.RoleCoder && blackboard.IsClaimEvent(h.Event), role == blackboard.RoleReviewer && h.Event == blackboard.HistoryReviewClaimed:
			takeover = h
		}
	}
	return "", "", false
}

// apply carries out the rule: registration, effects, status, history, metrics, journal.
func (m *move) apply() {
	admit(m.state, m.actor, m.by, m.now)
	before, meters := contributionOf(m.task), meters(m.state, m.task, Spent{})
	mark := len(m.state.Entries())
	for _, e := range m.rule.Does {
		e.Apply(m)
	}
	if m.rule.To != "" {
		m.task.Status = m.rule.To // the only assignment of a status
	}
	for _, name := range m.rule.History {
		m.note(name)
		judgeAttempt(m.task, name)
	}
	if m.rule.Event == evRetry {
		judgeAttempt(m.task, blackboard.HistoryRetried)
	}
	addMetrics(m.state, before, contributionOf(m.task))
	if m.rule.To.Terminal() {
		settle(m.state, m.task)
		proposeTexts(m.state, m.task, m.now)
	}
	if m.task.Status.Terminal() {
		m.task.Shorten()
	}
	consequences := m.state.TakeEntries(mark)
	for _, action := range m.rule.Log {
		m.log(action)
	}
	m.state.Record(consequences...)
	warnOfLimits(m.state, m.task, meters, m.now)
}

// run is the whole of an event: pick, check, apply.
func run(s *blackboard.State, event Event, id string, a Actor, in Input, now time.Time) error {
	m, err := begin(s, event, id, a, in, now)
	if err == nil {
		err = m.check()
	}
	if err != nil {
		return err
	}
	m.apply()
	return nil
}

func (m *move) note(name blackboard.HistoryEvent) {
	e, ok := m.own[name]
	if !ok {
		e = m.h
	}
	e.Time, e.Event, e.Agent = blackboard.TimeOf(m.now), name, m.authorOf(string(name))
	if m.actor.Via && e.Agent == m.actor.ID {
		e.Via = blackboard.Human
	}
	m.task.History = append(m.task.History, &e)
}

func (m *move) log(action blackboard.Action) {
	detail, ok := m.about[action]
	if !ok {
		detail = oneLine(m.detail)
	}
	e := blackboard.Entry{Timestamp: blackboard.TimeOf(m.now), Agent: m.authorOf(string(action)), Action: action, Task: m.task.ID, Detail: detail, Extra: m.extra}
	if m.actor.Via && e.Agent == m.actor.ID {
		e.Extra = withExtra(e.Extra, "via", blackboard.Human)
	}
	m.state.Record(e)
}

// authorOf is who an entry names: a lease expires by itself.
func (m *move) authorOf(entry string) string {
	switch {
	case entry == string(blackboard.ActionLeaseExpired):
		return blackboard.System
	case m.in.AsAgent != "":
		return m.in.AsAgent
	}
	return m.actor.ID
}

// me is the actor's registration, nil for human and system.
func (m *move) me() *blackboard.Agent { return m.by.entry }

// says sets the history entry of that name, in place of m.h.
func (m *move) says(name blackboard.HistoryEvent, e blackboard.HistoryEntry) {
	if m.own == nil {
		m.own = map[blackboard.HistoryEvent]blackboard.HistoryEntry{}
	}
	m.own[name] = e
}

// tells sets the journal line of one action, in place of m.detail.
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

// Exit is the class of a refusal; its value is the exit code of specs/protocol.md#0.6.
type Exit int

// The exit codes that rules refuse with.
const (
	ExitFailure   Exit = 1
	ExitUsage     Exit = 2
	ExitInvalid   Exit = 3
	ExitRefused   Exit = 4
	ExitLeaseLost Exit = 6
	ExitNothing   Exit = 7
)

// ErrAlreadyDone is returned for a repetition of the task's latest event that still holds (specs/protocol.md#0.7): nothing
// changes, and the caller reports success.
var ErrAlreadyDone = errors.New("already done")

// IsAlreadyDone reports whether err is ErrAlreadyDone.
func IsAlreadyDone(err error) bool { return errors.Is(err, ErrAlreadyDone) }

// Refusal is the reason why an event is not allowed. The state is unchanged.
type Refusal struct {
	Guard   string // the guard of specs/protocol.md#4.2 that refused, "G31"
	Exit    Exit
	Message string // one sentence
	Next    string // the next command, without "next: "
	Unsaved string // the task whose unsaved work is the reason, or ""

	cause error // the error that the message wraps, or nil
}

func (r *Refusal) Error() string { return r.Message }

func (r *Refusal) Unwrap() error { return r.cause }

// Advice returns the refusal and the next command as one text for an agent.
func (r *Refusal) Advice() string {
	if r.Next == "" {
		return r.Message
	}
	return r.Message + " (next: " + r.Next + ")"
}

// Refuse returns a refusal without a guard: for wrong arguments, or facts outside the state. With %w it wraps an error.
func Refuse(exit Exit, next, format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	return &Refusal{Exit: exit, Next: next, Message: err.Error(), cause: errors.Unwrap(err)}
}

// NextOf returns the command that helps with err, by its first error that names one, or "".
func NextOf(err error) string {
	if r, ok := errors.AsType[*Refusal](err); ok && r.Next != "" {
		return r.Next
	}
	var helps interface{ Next() string }
	if errors.As(err, &helps) {
		return helps.Next()
	}
	return ""
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
	return refuse("G05", ExitRefused, "liza status", "no task '%s'%s", id, didYouMean(id, ids))
}

// didYouMean ends a refusal with the known id that is nearest to id, "" when none is near.
func didYouMean(id string, known []string) string {
	if near := blackboard.Nearest(id, known); near != "" {
		return "; did you mean '" + near + "'?"
	}
	return ""
}
