package audit

import (
	"slices"

	"liza/pkg/blackboard"
)

// The rules V54, V55, V58 and V65: what must not go back, and what the history says.

func checkHistoryKept(v *validation, t *blackboard.Task) {
	old := v.old(t.ID)
	if old == nil || old == t {
		return
	}
	switch lost := len(old.History) - len(t.History); {
	case lost == 1:
		v.task(t, "history", "history lost 1 entry")
		return
	case lost > 1:
		v.task(t, "history", "history lost %d entries", lost)
		return
	}
	for i, was := range old.History {
		if !blackboard.Same(was, t.History[i]) {
			v.task(t, "history"+within("", i, ""), "history entry %d is not what it was (%s)", i+1, eventOf(was))
			return
		}
	}
}

func eventOf(e *blackboard.HistoryEntry) string {
	if e == nil {
		return "empty"
	}
	return string(e.Event)
}

func checkLastEvent(v *validation, t *blackboard.Task) {
	if t.ClaimSeq == 0 {
		return
	}
	for i := len(t.History) - 1; i >= 0; i-- {
		if statuses := t.History[i].LeadsTo(); statuses != nil {
			if !slices.Contains(statuses, t.Status) {
				v.task(t, "status", "status %s, but the last event is %s", t.Status, t.History[i].Event)
			}
			return
		}
	}
}

func checkRevision(v *validation) {
	if v.prev != nil && v.s.Revision < v.prev.Revision {
		v.section("revision", "", "revision %d is older than %d; next: liza restore --list", v.s.Revision, v.prev.Revision)
	}
}

func checkCountersGrow(v *validation, t *blackboard.Task) {
	old := v.old(t.ID)
	if old == nil || old == t {
		return
	}
	look := func(field string, was, is int) {
		if is < was {
			v.task(t, field, "%s went from %d to %d", field, was, is)
		}
	}
	look("claim_seq", old.ClaimSeq, t.ClaimSeq)
	look("review_cycles_total", old.ReviewCyclesTotal, t.ReviewCyclesTotal)
	if t.Iteration < old.Iteration && !iterationRestarted(old, t) {
		look("iteration", old.Iteration, t.Iteration)
	}
}

// iterationRestarted reports whether something happened since old that sets iteration
// back: rerun, unblock, or a claim by another coder than before.
func iterationRestarted(old, t *blackboard.Task) bool {
	if t.Epoch > max(old.Epoch, 1) {
		return true
	}
	claimant := old.AssignedTo
	for i, e := range t.History {
		switch {
		case e == nil:
		case i < len(old.History):
			if blackboard.IsClaimEvent(e.Event) {
				claimant = e.Agent
			}
		case e.Event == blackboard.HistoryUnblocked, e.Event == blackboard.HistoryReleased && e.What == "rerun", blackboard.IsClaimEvent(e.Event) && e.Agent != claimant:
			return true
		}
	}
	return false
}
