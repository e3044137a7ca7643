package transition

import (
	"slices"
	"strconv"
	"strings"

	"liza/pkg/blackboard"
)

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

// article names the actor in a refusal.
func article(a Actor, p Party) string {
	role, _, ok := blackboard.ParseAgentID(a.ID)
	switch {
	case !ok:
		return a.ID
	case p&supervisorParty(role) == 0 || a.Via:
		return "a " + string(role)
	}
	return "the supervisor of a " + string(role)
}

// words names the kinds of actors for people: a role stands for its supervisor too.
func (p Party) words() []string {
	var out []string
	for _, x := range partyNames {
		name := x.name
		if role, ok := strings.CutPrefix(name, "S("); ok {
			role = strings.TrimSuffix(role, ")")
			if p&agentParty(blackboard.Role(role)) != 0 {
				continue
			}
			name = "the supervisor of a " + role
		}
		if p&x.party != 0 {
			out = append(out, name)
		}
	}
	return out
}

// plural is "1 warning", "2 warnings".
func plural(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.Itoa(n) + " " + noun
}

func blank(text string) bool { return strings.TrimSpace(text) == "" }
