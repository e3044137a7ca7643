package blackboard

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"
)

// KindOf is the task's kind; none given means code.
func (t *Task) KindOf() TaskKind { return cmp.Or(t.Kind, CodeTask) }

// BlockedFor is what a BLOCKED task waits for; an answer when it does not say.
func (t *Task) BlockedFor() BlockedKind { return cmp.Or(t.BlockedKind, BlockedByQuestion) }

// Bases lists the commits other than the integration branch on which the work of a task may be based. Some may be "".
func (t *Task) Bases() []string { return []string{t.BaseCommit, t.FixOnto, t.Merges} }

// ChangesFiles reports whether the task's work is commits: kind code and everything with
// writes (specs/protocol.md#4.5). A command that may write and was handed in without a change is
// treated as one without writes.
func (t *Task) ChangesFiles() bool {
	if t.KindOf() == CodeTask {
		return true
	}
	return t.Writes && !t.wroteNothing()
}

func (t *Task) wroteNothing() bool {
	switch t.Status {
	case ReadyForReview, Approved, Merged:
		return t.ReviewCommit != "" && t.ReviewCommit == t.BaseCommit
	}
	return false
}

// PriorityOf is the task's priority; none given means 1.
func (t *Task) PriorityOf() int {
	if t.Priority == nil {
		return 1
	}
	return *t.Priority
}

// TitleText is the short name: title, else the first line of the description, 72 bytes.
func (t *Task) TitleText() string {
	title := t.Title
	if title == "" {
		title, _, _ = strings.Cut(strings.TrimSpace(t.Description), "\n")
	}
	if len(title) > 72 {
		title = strings.ToValidUTF8(title[:69], "") + "…"
	}
	return title
}

// Exhausted reports whether the hypothesis behind the task is used up (specs/protocol.md#4.4):
// two coders failed it, or it failed three times.
func (t *Task) Exhausted() bool { return len(t.FailedBy) >= 2 || t.Failures >= 3 }

// IntegrationBranch is the branch that approved work is merged into.
func (s *State) IntegrationBranch() string { return s.Text("integration_branch") }

// Backwards yields the history from the newest entry to the oldest.
func (t *Task) Backwards() iter.Seq[*HistoryEntry] {
	return func(yield func(*HistoryEntry) bool) {
		for i := len(t.History) - 1; i >= 0; i-- {
			if !yield(t.History[i]) {
				return
			}
		}
	}
}

// Last is the newest history entry, or nil.
func (t *Task) Last() *HistoryEntry {
	for h := range t.Backwards() {
		return h
	}
	return nil
}

// LastEntry is the newest history entry of an event, nil when there is none.
func (t *Task) LastEntry(event HistoryEvent) *HistoryEntry {
	for h := range t.Backwards() {
		if h.Event == event {
			return h
		}
	}
	return nil
}

// TimeOfLast is the time of the newest history entry with one of the names.
func (t *Task) TimeOfLast(events ...HistoryEvent) Time {
	for h := range t.Backwards() {
		if slices.Contains(events, h.Event) {
			return h.Time
		}
	}
	return ""
}

// IsClaimEvent reports whether a task has a new claim from that entry on.
func IsClaimEvent(e HistoryEvent) bool {
	switch e {
	case HistoryClaimed, HistoryReclaimed, HistoryReassigned, HistoryClaimedForFix:
		return true
	}
	return false
}

// FinishedRun returns the run that said, in the claim of that number, that the task is done, and whose work
// was not handed in; nil: there is none.
func (t *Task) FinishedRun(claim int) *Attempt {
	for _, a := range slices.Backward(t.Attempts) {
		switch {
		case a.ClaimSeq == claim && a.Outcome == "lapsed":
		case a.ClaimSeq == claim && a.Kind == string(RoleCoder) && a.Outcome == "finished" && a.Action == "COMPLETED" && a.Commit != "":
			return a
		default:
			return nil
		}
	}
	return nil
}

// LastClaimant is the coder of the last claim entry, "" when nobody ever claimed.
func (t *Task) LastClaimant() string {
	for h := range t.Backwards() {
		if IsClaimEvent(h.Event) {
			return h.Agent
		}
	}
	return t.AssignedTo
}

// LastIntent returns the intent that the task's coder recorded in the current attempt, and
// whether there is one.
func (t *Task) LastIntent() (*HistoryEntry, bool) {
	h := t.IntentSinceClaim(t.AssignedTo)
	return h, h != nil
}

// AgentIDs lists the registered agents by role and number.
func (s *State) AgentIDs() []string {
	return slices.SortedFunc(maps.Keys(s.Agents), CompareAgentIDs)
}

// IntentSinceClaim returns the agent's latest intent of the current attempt, or nil.
func (t *Task) IntentSinceClaim(agent string) *HistoryEntry {
	for h := range t.Backwards() {
		if h.Event == HistoryCheckpoint && h.Agent == agent {
			return h
		}
		if IsClaimEvent(h.Event) {
			return nil
		}
	}
	return nil
}

// Unplanned reports whether nobody but the gates has looked at the task yet.
func Unplanned(t *Task) bool { return t.Status == Unclaimed && t.ClaimSeq == 0 }

// FreeAgent sets the agent IDLE when it works on that task.
func FreeAgent(s *State, agent, task string) {
	if a := s.Agents[agent]; a != nil && a.CurrentTask == task {
		a.CurrentTask, a.Status = "", AgentIdle
	}
}
