package blackboard

import (
	"reflect"
	"slices"
)

// The rules V54, V55, V58 and V65: what must not go back, and what the history says.

func checkHistoryKept(v *validation, t *Task) {
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
		if !sameEntry(was, t.History[i]) {
			v.task(t, "history"+within("", i, ""), "history entry %d is not what it was (%s)", i+1, eventOf(was))
			return
		}
	}
}

func eventOf(e *HistoryEntry) string {
	if e == nil {
		return "empty"
	}
	return e.Event
}

// sameEntry compares two entries; empty lists and maps are the same as none. It is
// written out because every writer compares every entry.
func sameEntry(a, b *HistoryEntry) bool {
	if a == nil || b == nil || a == b {
		return a == b
	}
	return a.Time == b.Time && a.Event == b.Event && a.Agent == b.Agent && a.Via == b.Via &&
		a.Iteration == b.Iteration && a.ClaimSeq == b.ClaimSeq &&
		a.BaseCommit == b.BaseCommit && a.Commit == b.Commit && a.MergeCommit == b.MergeCommit &&
		a.PreviousAssignee == b.PreviousAssignee && a.Attic == b.Attic &&
		a.Holder == b.Holder && a.Lease == b.Lease && a.Cause == b.Cause &&
		a.Kind == b.Kind && a.What == b.What && a.Reason == b.Reason &&
		slices.Equal(a.By, b.By) && slices.Equal(a.Files, b.Files) && a.Log == b.Log &&
		a.DriftCommits == b.DriftCommits && samePointed(a.Recovered, b.Recovered) &&
		a.Auto == b.Auto && a.Merge == b.Merge && a.NoTests == b.NoTests &&
		samePointed(a.Halt, b.Halt) && sameIntent(a.Checkpoint, b.Checkpoint) &&
		(len(a.Extra) == 0 && len(b.Extra) == 0 || reflect.DeepEqual(a.Extra, b.Extra))
}

func samePointed[T comparable](a, b *T) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

func sameIntent(a, b *Intent) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Intent == b.Intent && a.Validation == b.Validation && slices.Equal(a.Assumptions, b.Assumptions) &&
		slices.Equal(a.Risks, b.Risks) && slices.Equal(a.FilesToModify, b.FilesToModify)
}

// leadsTo returns the statuses that a history entry leaves a task in; none for an
// entry that sets no status.
func leadsTo(e *HistoryEntry) []Status {
	if e == nil {
		return nil
	}
	if isClaimEvent(e.Event) {
		return []Status{Claimed}
	}
	switch e.Event {
	case "created":
		return []Status{Draft, Unclaimed}
	case "finalized", "unblocked":
		return []Status{Unclaimed}
	case "ready_for_review", "submitted_for_review", "approval_voided":
		return []Status{ReadyForReview}
	case "approved":
		return []Status{Approved}
	case "rejected":
		return []Status{Rejected}
	case "blocked":
		return []Status{Blocked}
	case "superseded":
		return []Status{Superseded}
	case "abandoned":
		return []Status{Abandoned}
	case "merged":
		return []Status{Merged}
	case "integration_failed":
		return []Status{IntegrationFailed}
	case "coder_claim_released":
		return []Status{Unclaimed, IntegrationFailed}
	case "released":
		switch e.What {
		case "claim":
			return []Status{Unclaimed, IntegrationFailed}
		case "rerun", "restep":
			return []Status{Unclaimed}
		}
	}
	return nil
}

func checkLastEvent(v *validation, t *Task) {
	if t.ClaimSeq == 0 {
		return
	}
	for i := len(t.History) - 1; i >= 0; i-- {
		if statuses := leadsTo(t.History[i]); statuses != nil {
			if !hasStatus(statuses, t.Status) {
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

func checkCountersGrow(v *validation, t *Task) {
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

// iterationRestarted tells whether something happened since old that sets iteration
// back: rerun, unblock, or a claim by another coder than before.
func iterationRestarted(old, t *Task) bool {
	if t.Epoch > max(old.Epoch, 1) {
		return true
	}
	claimant := old.AssignedTo
	for i, e := range t.History {
		switch {
		case e == nil:
		case i < len(old.History):
			if isClaimEvent(e.Event) {
				claimant = e.Agent
			}
		case e.Event == "unblocked", e.Event == "released" && e.What == "rerun", isClaimEvent(e.Event) && e.Agent != claimant:
			return true
		}
	}
	return false
}
