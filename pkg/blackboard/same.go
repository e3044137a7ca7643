package blackboard

import (
	"reflect"
	"slices"
)

// Same compares two entries; empty lists and maps are the same as none. It is
// written out because every writer compares every entry.
func Same(a *HistoryEntry, b *HistoryEntry) bool {
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
		a.DriftCommits == b.DriftCommits && SamePointed(a.Recovered, b.Recovered) &&
		a.Auto == b.Auto && a.Merge == b.Merge && a.NoTests == b.NoTests &&
		SamePointed(a.Halt, b.Halt) && SameIntent(a.Checkpoint, b.Checkpoint) &&
		(len(a.Extra) == 0 && len(b.Extra) == 0 || reflect.DeepEqual(a.Extra, b.Extra))
}

// SamePointed compares what two pointers lead to; nil is the same as nil alone.
func SamePointed[T comparable](a, b *T) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// SameIntent compares two intents; empty lists are the same as none.
func SameIntent(a, b *Intent) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Intent == b.Intent && a.Validation == b.Validation && slices.Equal(a.Assumptions, b.Assumptions) &&
		slices.Equal(a.Risks, b.Risks) && slices.Equal(a.FilesToModify, b.FilesToModify)
}
