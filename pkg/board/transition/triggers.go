package transition

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"liza/pkg/board/blackboard"
)

// A TriggerKind is a reason to wake the planner (specs/protocol.md#13.1).
type TriggerKind string

// The kinds of triggers.
const (
	TriggerInitialPlanning     TriggerKind = "INITIAL_PLANNING"     // the goal has no task yet
	TriggerReplan              TriggerKind = "REPLAN"               // a reviewer says that the approach is wrong
	TriggerBlockedTasks        TriggerKind = "BLOCKED_TASKS"        // tasks are BLOCKED
	TriggerHypothesisExhausted TriggerKind = "HYPOTHESIS_EXHAUSTED" // coders failed a task
	TriggerIntegrationFailed   TriggerKind = "INTEGRATION_FAILED"   // a task is INTEGRATION_FAILED
	TriggerImmediateDiscovery  TriggerKind = "IMMEDIATE_DISCOVERY"  // a discovery cannot wait
	TriggerHumanNote           TriggerKind = "HUMAN_NOTE"           // a person wrote
	TriggerSpecChanged         TriggerKind = "SPEC_CHANGED"         // a spec changed
	TriggerSystemAmbiguity     TriggerKind = "SYSTEM_AMBIGUITY"     // an agent finds the rules unclear
	TriggerDraftsPending       TriggerKind = "DRAFTS_PENDING"       // drafts wait to be completed
	TriggerReviewStuck         TriggerKind = "REVIEW_STUCK"         // a review is on hold because it got stuck
)

// triggerKinds lists the kinds in their order.
var triggerKinds = []TriggerKind{TriggerInitialPlanning, TriggerReplan, TriggerBlockedTasks, TriggerHypothesisExhausted, TriggerIntegrationFailed, TriggerImmediateDiscovery, TriggerHumanNote, TriggerSpecChanged, TriggerSystemAmbiguity, TriggerDraftsPending, TriggerReviewStuck}

// Trigger is a reason that wakes the planner now (specs/protocol.md#13.1).
type Trigger struct {
	Kind        TriggerKind
	IDs         []string // its tasks, notes or discoveries
	Fingerprint string
}

// TriggerFacts are the facts outside the state on which triggers depend.
type TriggerFacts struct {
	SpecHash    string // hash of the goal's spec file
	HumanReview bool   // plan.human_review
}

func fingerprint(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Triggers returns every true trigger in the order of specs/protocol.md#13.1. Fingerprints leave out heartbeats, so an
// unchanged cause has an unchanged fingerprint.
func Triggers(s *blackboard.State, f TriggerFacts, now time.Time) []Trigger {
	if !goalOpen(s) {
		return nil
	}
	var out []Trigger
	add := func(kind TriggerKind, ids []string, parts []string) {
		if len(ids) > 0 {
			out = append(out, Trigger{Kind: kind, IDs: ids, Fingerprint: fingerprint(append([]string{string(kind)}, parts...)...)})
		}
	}
	if noTaskYet(s) {
		add(TriggerInitialPlanning, []string{s.Goal.ID}, []string{s.Goal.ID, f.SpecHash})
	}
	tasks := byPriority(s, wakes)
	for _, k := range taskTriggers {
		var ids, parts []string
		for _, t := range tasks {
			if k.holds(t) && !(k.kind == TriggerBlockedTasks && asksPerson(s, t)) && !(k.kind == TriggerIntegrationFailed && now.Before(leftAlone(t))) {
				ids = append(ids, t.ID)
				parts = append(parts, t.ID)
				parts = append(parts, k.print(s, t)...)
			}
		}
		add(k.kind, ids, parts)
	}
	add(TriggerImmediateDiscovery, immediateDiscoveries(s), immediateDiscoveries(s))
	notes := unseenNotes(s)
	add(TriggerHumanNote, notes, notes)
	changes := newSpecChanges(s)
	add(TriggerSpecChanged, changes, changes)
	unclear := newAmbiguities(s)
	add(TriggerSystemAmbiguity, unclear, unclear)
	if !f.HumanReview && planning(s, "", blackboard.ProcessFacts{}, now) == "" {
		var ids []string
		for t := range s.Tasks() {
			if t.Status == blackboard.Draft {
				ids = append(ids, t.ID)
			}
		}
		add(TriggerDraftsPending, ids, ids)
	}
	slices.SortStableFunc(out, func(a, b Trigger) int { return cmp.Compare(triggerOrder(a.Kind), triggerOrder(b.Kind)) })
	return out
}

func triggerOrder(kind TriggerKind) int { return slices.Index(triggerKinds, kind) }

// taskTriggers are the triggers about tasks, each with the text for its fingerprint.
var taskTriggers = []struct {
	kind  TriggerKind
	holds func(*blackboard.Task) bool
	print func(*blackboard.State, *blackboard.Task) []string
}{
	{TriggerReplan, func(t *blackboard.Task) bool {
		return t.Status == blackboard.Blocked && t.BlockedKind == blackboard.BlockedForReplan
	},
		func(_ *blackboard.State, t *blackboard.Task) []string {
			return []string{t.BlockedReason, strconv.Itoa(t.ClaimSeq)}
		}},
	{TriggerBlockedTasks, func(t *blackboard.Task) bool {
		return t.Status == blackboard.Blocked && t.BlockedKind != blackboard.BlockedForReplan
	},
		func(s *blackboard.State, t *blackboard.Task) []string {
			p := []string{string(t.BlockedKind), t.BlockedReason, string(t.TimeOfLast(blackboard.HistoryBlocked)), // what a person may edit:
				t.Title, t.Description, t.DoneWhen, t.Scope, strconv.Itoa(t.PriorityOf())}
			for _, q := range s.Questions {
				if q.Task == t.ID && q.Answer != "" {
					p = append(p, q.ID, q.Answer)
				}
			}
			return p
		}},
	{TriggerHypothesisExhausted, func(t *blackboard.Task) bool { return t.Exhausted() && !t.Status.Terminal() },
		func(_ *blackboard.State, t *blackboard.Task) []string {
			return append(clone(t.FailedBy), strconv.Itoa(t.Failures))
		}},
	{TriggerIntegrationFailed, func(t *blackboard.Task) bool { return t.Status == blackboard.IntegrationFailed },
		func(_ *blackboard.State, t *blackboard.Task) []string {
			return []string{string(t.TimeOfLast(blackboard.HistoryIntegrationFailed))}
		}},
	{TriggerReviewStuck, func(t *blackboard.Task) bool {
		return t.Status == blackboard.ReadyForReview && t.Hold != nil && t.Hold.By == blackboard.System
	},
		func(_ *blackboard.State, t *blackboard.Task) []string { return []string{string(t.Hold.At)} }},
}

// wakes reports whether one of the triggers is about the task.
func wakes(t *blackboard.Task) bool {
	for _, k := range taskTriggers {
		if k.holds(t) {
			return true
		}
	}
	return false
}

// asksPerson reports whether a person is being asked about a blocked task: Liza blocked it itself because the program crashed or
// hung, the setup failed, the model refused, nothing new came or a limit is reached; or a planner let it go on and it is blocked
// for the same reason again. A planner cannot answer that, and is not woken for it.
func asksPerson(s *blackboard.State, t *blackboard.Task) bool {
	return t.Status == blackboard.Blocked && slices.ContainsFunc(s.Questions, func(q *blackboard.Question) bool {
		return q.Task == t.ID && q.Status == blackboard.QuestionOpen &&
			(q.Synthetic && q.Agent == blackboard.System || q.Kind == blackboard.QuestionPrompted || blockedAlike(t) > mostUnblocked)
	})
}

// mostUnblocked is how often a planner may let a task go on that is blocked for the same reason each time.
const mostUnblocked = 2

// blockedAlike counts how often the task was blocked for the reason that it has now, since a person let it go on.
func blockedAlike(t *blackboard.Task) int {
	n := 0
	for h := range t.Backwards() {
		switch {
		case h.Event == blackboard.HistoryUnblocked && h.Agent == blackboard.Human:
			return n
		case h.Event == blackboard.HistoryBlocked && h.Kind == t.BlockedKind && h.Reason == oneLine(t.BlockedReason):
			n++
		}
	}
	return n
}

// takenUp is how long a failed integration is left to coders before a planner is woken for it.
const takenUp = 2 * time.Minute

// leftAlone returns until when a failed integration wakes no planner: a coder claims it, as a rule.
func leftAlone(t *blackboard.Task) time.Time {
	at, ok := t.TimeOfLast(blackboard.HistoryIntegrationFailed).At()
	if !ok {
		return time.Time{}
	}
	return at.Add(takenUp)
}

// AskedOfPeople returns the blocked tasks whose questions go to people, not to the planner.
func AskedOfPeople(s *blackboard.State) []string {
	var ids []string
	for t := range s.Tasks() {
		if asksPerson(s, t) {
			ids = append(ids, t.ID)
		}
	}
	return ids
}

// AsksPeople reports whether a question about a blocked task is open.
func AsksPeople(s *blackboard.State) bool {
	return slices.ContainsFunc(s.Questions, func(q *blackboard.Question) bool {
		t := s.Task(q.Task)
		return q.Status == blackboard.QuestionOpen && t != nil && t.Status == blackboard.Blocked
	})
}

// byPriority lists the tasks that are wanted by priority, then age.
func byPriority(s *blackboard.State, wanted func(*blackboard.Task) bool) []*blackboard.Task {
	var list []*blackboard.Task
	for t := range s.Tasks() {
		if wanted(t) {
			list = append(list, t)
		}
	}
	slices.SortStableFunc(list, func(a, b *blackboard.Task) int {
		at, _ := a.Created.At()
		bt, _ := b.Created.At()
		return cmp.Or(cmp.Compare(a.PriorityOf(), b.PriorityOf()), at.Compare(bt))
	})
	return list
}

func immediateDiscoveries(s *blackboard.State) []string {
	var ids []string
	for _, d := range s.Discovered {
		if d.Urgency == "immediate" && d.ConvertedToTask == "" && d.Deferred == nil {
			ids = append(ids, d.ID)
		}
	}
	return ids
}

// unseenNotes lists the notes for nobody, and the answers to the planner's questions,
// that no planner run has seen.
func unseenNotes(s *blackboard.State) []string {
	var ids []string
	for _, n := range s.HumanNotes {
		if unseen(n) {
			ids = append(ids, n.ID)
		}
	}
	for _, q := range s.Questions {
		if q.Status == blackboard.QuestionAnswered && !q.OfCheck() && (q.Task == "" || isPlanner(q.Agent)) {
			ids = append(ids, q.ID)
		}
	}
	return ids
}

// lastPlanning is when the planner's last run began.
func lastPlanning(s *blackboard.State) time.Time {
	var last time.Time
	if s.Planner != nil && s.Planner.LastRun != nil {
		last, _ = s.Planner.LastRun.At.At()
	}
	return last
}

func newSpecChanges(s *blackboard.State) []string {
	last := lastPlanning(s)
	var ids []string
	for _, c := range s.SpecChanges {
		if at, ok := c.Timestamp.At(); ok && at.After(last) {
			ids = append(ids, ID(c))
		}
	}
	return ids
}

// Ambiguities returns the reports of unclear rules that are newer than the last note of a person and the start of the sprint:
// `liza tell planner` answers them.
func Ambiguities(s *blackboard.State) []*blackboard.Anomaly {
	var answered time.Time
	for _, n := range s.HumanNotes {
		if at, ok := n.Timestamp.At(); ok && at.After(answered) {
			answered = at
		}
	}
	if s.Sprint != nil && s.Sprint.Timeline != nil {
		if began, ok := s.Sprint.Timeline.Started.At(); ok && began.After(answered) {
			answered = began.Add(-time.Second)
		}
	}
	var open []*blackboard.Anomaly
	for _, a := range s.Anomalies {
		if at, ok := a.Timestamp.At(); a.Type == blackboard.AnomalySystemAmbiguity && ok && at.After(answered) {
			open = append(open, a)
		}
	}
	return open
}

// newAmbiguities returns the ids of reports since the planner's last launch. The planner's own reports go to people.
func newAmbiguities(s *blackboard.State) []string {
	last := lastPlanning(s)
	var ids []string
	for _, a := range Ambiguities(s) {
		if at, _ := a.Timestamp.At(); !isPlanner(a.Reporter) && at.After(last) {
			ids = append(ids, a.ID)
		}
	}
	return ids
}

// Unclear returns section and question of a report of unclear rules, in one line.
func Unclear(a *blackboard.Anomaly) string {
	text := func(key string) string {
		if v := a.Details[key]; v != nil {
			return strings.Join(strings.Fields(fmt.Sprint(v)), " ")
		}
		return ""
	}
	section, question := text("protocol_section"), text("question")
	if section == "" || question == "" {
		return section + question
	}
	return section + ": " + question
}

// ID returns the name of a change in triggers.
func ID(c *blackboard.SpecChange) string { return c.Spec + "@" + string(c.Timestamp) }

// DueTriggers returns the true triggers that may launch the planner now, and the earliest time at which another one may, or
// the zero time.
func DueTriggers(s *blackboard.State, f TriggerFacts, now time.Time) (due []Trigger, next time.Time) {
	for _, t := range Triggers(s, f, now) {
		r := record(s.Planner, t.Kind)
		if r == nil || r.Fingerprint != t.Fingerprint {
			due = append(due, t)
			continue
		}
		if r.Suppressed || r.Outcome == leftToPerson || r.Launches >= s.Int("planner_retries") {
			continue
		}
		at, ok := r.Next.At()
		if !ok || !now.Before(at) {
			due = append(due, t)
		} else if next.IsZero() || at.Before(next) {
			next = at
		}
	}
	for t := range s.Tasks() {
		if at := leftAlone(t); t.Status == blackboard.IntegrationFailed && now.Before(at) && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	return due, next
}

// noTaskYet reports whether the sprint has no task at all, its archive included.
func noTaskYet(s *blackboard.State) bool {
	in := s.InSprint()
	for t := range s.Tasks() {
		if in(t) {
			return false
		}
	}
	return len(s.ArchivedNow()) == 0
}
