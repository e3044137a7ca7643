package blackboard

// FirstIntent is when the task's coder first recorded an intent in the current attempt, and
// whether it has (specs/protocol.md#13.11). Later ones add to it.
func (t *Task) FirstIntent() (at Time, given bool) {
	for h := range t.Backwards() {
		if IsClaimEvent(h.Event) {
			break
		}
		if h.Event == HistoryCheckpoint && h.Agent == t.AssignedTo {
			at, given = h.Time, true
		}
	}
	return at, given
}

// EarlierCommits are the commits that the task tells of from before its current attempt:
// what they contain was not made in it.
func (t *Task) EarlierCommits() List {
	var list List
	add := func(commit string) {
		if commit != "" && !list.Has(commit) {
			list = append(list, commit)
		}
	}
	before := false
	for h := range t.Backwards() {
		if before {
			add(h.Commit)
		}
		before = before || IsClaimEvent(h.Event)
	}
	for _, a := range t.Attempts {
		if a.ClaimSeq < t.ClaimSeq {
			add(a.Commit)
		}
	}
	return list
}
