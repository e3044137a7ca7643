// Package transition has the rules by which a state changes: who may do what, when, and what
// follows from it.
//
// Rules is the transition table as data (specs/protocol.md#4.3): each event has one function
// (Claim, Submit, Approve, …) that picks the rule, checks who asks and every guard, applies the
// effects, and records the history and journal entries. There is no other way to change a
// task's status. NextTask and NextReview choose what an agent should do next; Triggers says
// what wakes the planner.
//
// Everything here is pure: no file, no process, no clock, no random number. Time,
// facts about git and facts about processes are arguments, so a function may run
// twice on copies of a state and give the same result.
package transition

import (
	"slices"
	"strings"

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
	All     []Guard    // checked when Needs hold; a refusal names all that do not
	Does    []Effect
	History []blackboard.HistoryEvent // history entries
	Log     []blackboard.Action       // journal actions
	ByHand  bool                      // an edit of the status by hand that leads the same way is taken as the event
}

// A Condition chooses between rules that share event and status.
type Condition struct {
	Text  string
	Holds func(*move) bool
	Else  *Guard // the refusal when no rule of the event holds; nil: G06 with Text
}

// A Guard is one condition of specs/protocol.md#4.2, or, without a number, one that the table of specs/protocol.md#4.3 states
// in words.
type Guard struct {
	ID    string
	Text  string
	Check func(*move) error
}

// An Effect changes fields of the task or of sections that belong to it.
type Effect struct {
	Text  string
	Apply func(*move)
}

// ruleGuards are the guards that every event on a task has, whatever its rule says.
var ruleGuards = []Guard{
	{ID: "G01", Text: "the caller is human, system, or an agent id of valid form with a registration"},
	{ID: "G02", Text: "the token is that of the registration or, for an agent's own events, of its current run"},
	{ID: "G03", Text: "the caller's role may cause the event (column who)"},
	{ID: "G04", Text: "a process inside the process tree of an agent's run acts as that agent only"},
	{ID: "G05", Text: "the task exists"},
	{ID: "G06", Text: "the task's status is in column from"},
}

// Event is something that happens to a task, named by the verb of specs/protocol.md#4.3.
type Event string

// The events of specs/protocol.md#4.3.
const (
	evDraft             Event = "draft"
	evCreate            Event = "create"
	evFinalize          Event = "finalize"
	evReserve           Event = "reserve"
	evClaim             Event = "claim"
	evIntent            Event = "intent"
	evSubmit            Event = "submit"
	evPass              Event = "pass"
	evClaimReview       Event = "claim_review"
	evApprove           Event = "approve"
	evReject            Event = "reject"
	evReplan            Event = "replan"
	evReviewRelease     Event = "review_release"
	evVoidApproval      Event = "void_approval"
	evApproveMerge      Event = "approve_merge"
	evAskAgain          Event = "ask_again"
	evRejectMerge       Event = "reject_merge"
	evMergeIntent       Event = "merge_intent"
	evMerge             Event = "merge"
	evIntegrationFailed Event = "integration_failed"
	evBlock             Event = "block"
	evLimit             Event = "limit"
	evHalt              Event = "halt"
	evDependencyLost    Event = "dependency_lost"
	evUnblock           Event = "unblock"
	evResubmit          Event = "resubmit"
	evRetarget          Event = "retarget"
	evSupersede         Event = "supersede"
	evAbandon           Event = "abandon"
	evPick              Event = "pick"
	evHold              Event = "hold"
	evUnhold            Event = "unhold"
	evRelease           Event = "release"
	evHandoff           Event = "handoff"
	evRetry             Event = "retry"
	evRunFailed         Event = "run_failed"
)

// Rules is the transition table of specs/protocol.md#4.3, in the order of its numbers. It is the only place that says which
// event leads where, who may cause it, what has to hold and what changes. Each event has its rows in its own file.
var Rules = slices.SortedStableFunc(slices.Values(slices.Concat(
	createRules, claimRules, runRules, submitRules, reviewRules, verdictRules, quorumRules, mergeApprovalRules, mergeRules,
	blockRules, unblockRules, supersedeRules, holdRules, releaseRules,
)), func(a, b Rule) int { return strings.Compare(a.ID, b.ID) })

// guards lists the guards of the rule in the order in which they are checked.
func (r *Rule) guards() []Guard { return slices.Concat(r.Needs, r.All) }

func needs(g ...Guard) []Guard { return g }

func does(e ...Effect) []Effect { return e }

func from(s ...blackboard.Status) []blackboard.Status { return s }

// open is every status that is not terminal, but those given.
func open(but ...blackboard.Status) []blackboard.Status {
	return slices.Clip(slices.DeleteFunc(slices.Clone(blackboard.Statuses), func(s blackboard.Status) bool { return s.Terminal() || slices.Contains(but, s) }))
}

func names(n ...blackboard.Action) []blackboard.Action { return n }

func records(h ...blackboard.HistoryEvent) []blackboard.HistoryEvent { return h }

// ruleOf is the first rule of an event.
func ruleOf(event Event) *Rule {
	for i := range Rules {
		if Rules[i].Event == event {
			return &Rules[i]
		}
	}
	return nil
}

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

func verbOf(event Event) string {
	if event == evMergeIntent { // a step of the verb
		event = evMerge
	}
	return strings.ReplaceAll(string(event), "_", " ")
}

// commandOf is the command of `liza` that causes the event, or that explains it.
func commandOf(event Event) string {
	switch event {
	case evDraft, evCreate:
		return "add-task"
	case evReserve:
		return "claim"
	case evClaimReview:
		return "claim-review"
	case evApprove, evReject, evReplan, evVoidApproval:
		return "verdict"
	case evReviewRelease, evRelease, evResubmit:
		return "retry"
	case evApproveMerge, evPick:
		return "approve"
	case evRejectMerge:
		return "reject"
	case evHold:
		return "pause"
	case evUnhold:
		return "resume"
	case evMergeIntent, evIntegrationFailed, evPass, evAskAgain:
		return "merge"
	case evLimit, evHalt:
		return "retry"
	case evDependencyLost:
		return "unblock"
	case evRetarget:
		return "supersede"
	case evRetry, evRunFailed:
		return "run"
	}
	return string(event)
}
