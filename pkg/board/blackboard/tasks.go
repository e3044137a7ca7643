package blackboard

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"
)

// KindOf returns the task's kind, by default code.
func (t *Task) KindOf() TaskKind { return cmp.Or(t.Kind, CodeTask) }

// BlockedFor returns the reason why a task is BLOCKED, by default a question.
func (t *Task) BlockedFor() BlockedKind { return cmp.Or(t.BlockedKind, BlockedByQuestion) }

// Bases returns the commits, other than the integration branch, that the work of a task may be based on. Some may be "".
func (t *Task) Bases() []string { return []string{t.BaseCommit, t.FixOnto, t.Merges} }

// ChangesFiles reports whether the task's work is commits: kind code and everything with writes (specs/protocol.md#4.5),
// except for a command that may write but was submitted without a change.
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

// PriorityOf returns the task's priority, by default 1.
func (t *Task) PriorityOf() int {
	if t.Priority == nil {
		return 1
	}
	return *t.Priority
}

// TitleText returns the title, else the first line of the description, in 72 bytes.
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

// IntegrationBranch returns the name of the branch that approved work is merged into.
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

// Last returns the newest history entry, or nil.
func (t *Task) Last() *HistoryEntry {
	for h := range t.Backwards() {
		return h
	}
	return nil
}

// LastEntry returns the newest history entry of an event, or nil.
func (t *Task) LastEntry(event HistoryEvent) *HistoryEntry {
	for h := range t.Backwards() {
		if h.Event == event {
			return h
		}
	}
	return nil
}

// TimeOfLast returns the time of the newest history entry of one of the events.
func (t *Task) TimeOfLast(events ...HistoryEvent) Time {
	for h := range t.Backwards() {
		if slices.Contains(events, h.Event) {
			return h.Time
		}
	}
	return ""
}

// IsClaimEvent reports whether a history entry of e begins a new claim.
func IsClaimEvent(e HistoryEvent) bool {
	switch e {
	case HistoryClaimed, HistoryReclaimed, HistoryReassigned, HistoryClaimedForFix:
		return true
	}
	return false
}

// FinishedRun returns the run that completed the task in that claim, but whose work was not submitted, or nil.
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

// LastClaimant returns the coder of the last claim entry, or "".
func (t *Task) LastClaimant() string {
	for h := range t.Backwards() {
		if IsClaimEvent(h.Event) {
			return h.Agent
		}
	}
	return t.AssignedTo
}

// LastIntent returns the latest intent of the task's coder in the current attempt, if there is one.
func (t *Task) LastIntent() (*HistoryEntry, bool) {
	h := t.IntentSinceClaim(t.AssignedTo)
	return h, h != nil
}

// AgentIDs returns the registered agents, by role and number.
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

// Unplanned reports whether a task is UNCLAIMED and was never claimed.
func Unplanned(t *Task) bool { return t.Status == Unclaimed && t.ClaimSeq == 0 }

// FreeAgent sets the agent IDLE if it works on task.
func FreeAgent(s *State, agent, task string) {
	if a := s.Agents[agent]; a != nil && a.CurrentTask == task {
		a.CurrentTask, a.Status = "", AgentIdle
	}
}
