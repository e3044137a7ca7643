package blackboard

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"
)

// KindOf is the task's kind; none given means code.
func (t *Task) KindOf() TaskKind { return cmp.Or(t.Kind, CodeTask) }

// BlockedFor is what a BLOCKED task waits for; an answer when it does not say.
func (t *Task) BlockedFor() BlockedKind { return cmp.Or(t.BlockedKind, BlockedByQuestion) }

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

// backwards yields the history from the newest entry to the oldest.
func (t *Task) backwards() iter.Seq[*HistoryEntry] {
	return func(yield func(*HistoryEntry) bool) {
		for i := len(t.History) - 1; i >= 0; i-- {
			if !yield(t.History[i]) {
				return
			}
		}
	}
}

// last is the newest history entry, or nil.
func (t *Task) last() *HistoryEntry {
	for h := range t.backwards() {
		return h
	}
	return nil
}

// LastEntry is the newest history entry of an event, nil when there is none.
func (t *Task) LastEntry(event HistoryEvent) *HistoryEntry {
	for h := range t.backwards() {
		if h.Event == event {
			return h
		}
	}
	return nil
}

// timeOf is the time of the newest history entry with one of the names.
func (t *Task) timeOf(events ...HistoryEvent) Time {
	for h := range t.backwards() {
		if slices.Contains(events, h.Event) {
			return h.Time
		}
	}
	return ""
}

// reviewsItself reports whether the task is APPROVED without a reviewer (specs/protocol.md#4.5).
func (t *Task) reviewsItself() bool { return !t.ChangesFiles() && !t.ReviewRequired }

func IsClaimEvent(e HistoryEvent) bool {
	switch e {
	case HistoryClaimed, HistoryReclaimed, HistoryReassigned, HistoryClaimedForFix:
		return true
	}
	return false
}

// lastClaimant is the coder of the last claim entry, "" when nobody ever claimed.
func (t *Task) lastClaimant() string {
	for h := range t.backwards() {
		if IsClaimEvent(h.Event) {
			return h.Agent
		}
	}
	return t.AssignedTo
}

// lastReviewer is who claimed the review of what is submitted now, "" for nobody yet.
func (t *Task) lastReviewer() string {
	for h := range t.backwards() {
		switch h.Event {
		case HistoryReviewClaimed:
			return h.Agent
		case HistoryReadyForReview, HistorySubmittedForReview:
			return ""
		}
	}
	return ""
}

// lostBy reports whether agent held the claim or the review claim and lost it to an
// expiry, a forced release or another agent (specs/decisions.md#D24), and how.
func (t *Task) lostBy(agent string) (at Time, how string, lost bool) {
	role, _, _ := ParseAgentID(agent)
	var takeover *HistoryEntry
	for h := range t.backwards() {
		switch {
		case h.Event == HistoryLeaseExpired && h.Holder == agent:
			return h.Time, "its lease expired", true
		case h.Event == HistoryReassigned && h.PreviousAssignee == agent:
			return h.Time, "reclaimed by " + h.Agent, true
		case h.Event == HistoryReleased && h.Holder == agent && h.Agent != agent:
			return h.Time, "released by " + h.Agent + ": " + h.Reason, true
		case h.Agent == agent:
			holds := IsClaimEvent(h.Event) || h.Event == HistoryReviewClaimed || h.Event == HistoryCheckpoint || h.Event == HistoryHandoff
			if holds && takeover != nil {
				return takeover.Time, "reclaimed by " + takeover.Agent, true
			}
			return "", "", false
		case role == RoleCoder && IsClaimEvent(h.Event), role == RoleReviewer && h.Event == HistoryReviewClaimed:
			takeover = h
		}
	}
	return "", "", false
}

// lastRejectedCommit is the commit of the newest rejection that still counts: an unblock
// or a rerun starts the task again.
func (t *Task) lastRejectedCommit() string {
	for h := range t.backwards() {
		switch {
		case h.Event == HistoryRejected:
			return h.Commit
		case h.Event == HistoryUnblocked, h.Event == HistoryReleased && h.What == "rerun":
			return ""
		}
	}
	return ""
}

// intentSinceClaim returns the agent's latest intent of the current attempt, or nil.
func (t *Task) intentSinceClaim(agent string) *HistoryEntry {
	for h := range t.backwards() {
		if h.Event == HistoryCheckpoint && h.Agent == agent {
			return h
		}
		if IsClaimEvent(h.Event) {
			return nil
		}
	}
	return nil
}

// LastIntent returns the intent that the task's coder recorded in the current attempt, and
// whether there is one.
func (t *Task) LastIntent() (*HistoryEntry, bool) {
	h := t.intentSinceClaim(t.AssignedTo)
	return h, h != nil
}

func (t *Task) handoffsSinceClaim() int {
	n := 0
	for h := range t.backwards() {
		if IsClaimEvent(h.Event) {
			break
		}
		if h.Event == HistoryHandoff && h.Agent == t.AssignedTo {
			n++
		}
	}
	return n
}

// addAttempt appends to attempts and keeps the newest ten.
func (t *Task) addAttempt(a *Attempt) {
	a.Seq = 1
	for _, old := range t.Attempts {
		a.Seq = max(a.Seq, old.Seq+1)
	}
	t.Attempts = append(t.Attempts, a)
	if n := len(t.Attempts); n > 10 {
		t.Attempts = append([]*Attempt(nil), t.Attempts[n-10:]...)
	}
}

// statusOf is the status of a task on the board or in the archive.
func (s *State) statusOf(id string, in Input) (Status, bool) {
	if t := in.index.find(id); t != nil {
		return t.Status, true
	}
	return s.StatusOf(id)
}

// indexed is the input for looking at many tasks.
func (s *State) indexed(in Input) Input {
	in.index = &taskIndex{state: s}
	return in
}

// taskIndex has the tasks of a state by id. It is made when the first one is asked for: most tasks depend on nothing.
type taskIndex struct {
	state *State
	byID  map[string]*Task
}

// find returns nil for a task that is not there, or without an index.
func (x *taskIndex) find(id string) *Task {
	if x == nil {
		return nil
	}
	if x.byID == nil {
		x.byID = make(map[string]*Task, x.state.TaskCount())
		for t := range x.state.Tasks() {
			if x.byID[t.ID] == nil {
				x.byID[t.ID] = t
			}
		}
	}
	return x.byID[id]
}

// waitsFor lists what keeps the task from being claimable: "a (CLAIMED)".
func (s *State) waitsFor(t *Task, in Input) []string {
	var waits []string
	for _, d := range t.DependsOn {
		switch st, ok := s.statusOf(d, in); {
		case !ok:
			waits = append(waits, d+" (missing)")
		case st != Merged:
			waits = append(waits, fmt.Sprintf("%s (%s)", d, st))
		}
	}
	if !t.AfterPlan || len(waits) > 0 {
		return waits
	}
	for o := range s.Tasks() {
		if o != t && t.Plan != "" && o.Plan == t.Plan && !o.Status.Terminal() {
			waits = append(waits, fmt.Sprintf("%s (%s)", o.ID, o.Status))
		}
	}
	return waits
}

// holds names the task that keeps the agent from claiming another, or "". entry is its
// registration, or nil.
func (s *State) holds(agent string, entry *Agent, except string) string {
	for t := range s.Tasks() {
		if t.Status == Claimed && t.AssignedTo == agent && t.ID != except {
			return t.ID
		}
	}
	if entry != nil && entry.CurrentTask != "" && entry.CurrentTask != except {
		return entry.CurrentTask
	}
	return ""
}

// FreeAgent sets the agent IDLE when it works on that task.
func (s *State) FreeAgent(agent, task string) {
	if a := s.Agents[agent]; a != nil && a.CurrentTask == task {
		a.CurrentTask, a.Status = "", AgentIdle
	}
}

func (s *State) reservationOver(c *Claiming, facts ProcessFacts, now time.Time) bool {
	if past(c.Expires, now) {
		return true
	}
	a := s.Agents[c.By]
	if a == nil || a.Generation != c.Generation {
		return true
	}
	live, _ := s.Liveness(c.By, now, facts)
	return live == Dead
}

// keptUntil applies G24: a REJECTED task waits reassign_after for its own live coder.
func (s *State) keptUntil(t *Task, agent string, facts ProcessFacts, now time.Time) (Time, bool) {
	if t.AssignedTo == "" || t.AssignedTo == agent || s.Agents[t.AssignedTo] == nil {
		return "", false
	}
	if live, _ := s.Liveness(t.AssignedTo, now, facts); live == Expired || live == Dead {
		return "", false
	}
	at, ok := t.timeOf(HistoryRejected).At()
	until := at.Add(s.Duration("reassign_after"))
	return TimeOf(until), ok && now.Before(until)
}

// otherCoder applies G25: the first live coder that has not failed the task, when agent has.
func (s *State) otherCoder(t *Task, agent string, facts ProcessFacts, now time.Time) string {
	if !t.FailedBy.Has(agent) {
		return ""
	}
	for _, id := range s.agentIDs() {
		if role, _, _ := ParseAgentID(id); role != RoleCoder || t.FailedBy.Has(id) {
			continue
		}
		if live, _ := s.Liveness(id, now, facts); live == Alive {
			return id
		}
	}
	return ""
}

// agentIDs lists the registered agents by role and number.
func (s *State) agentIDs() []string {
	ids := make([]string, 0, len(s.Agents))
	for id, a := range s.Agents {
		if a != nil {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, CompareAgentIDs)
	return ids
}

// past reports whether a time is over. One that is missing or cannot be read counts as over.
func past(t Time, now time.Time) bool {
	at, ok := t.At()
	return !ok || now.After(at)
}

// LeadsTo returns the statuses that a history entry leaves a task in; none for an
// entry that sets no status.
func (e *HistoryEntry) LeadsTo() []Status {
	if e == nil {
		return nil
	}
	if IsClaimEvent(e.Event) {
		return []Status{Claimed}
	}
	switch e.Event {
	case HistoryCreated:
		return []Status{Draft, Unclaimed}
	case HistoryFinalized, HistoryUnblocked:
		return []Status{Unclaimed}
	case HistoryReadyForReview, HistorySubmittedForReview, HistoryApprovalRecorded, HistoryApprovalVoided, HistoryReviewAskedAgain:
		return []Status{ReadyForReview}
	case HistoryApproved:
		return []Status{Approved}
	case HistoryRejected:
		return []Status{Rejected}
	case HistoryBlocked:
		return []Status{Blocked}
	case HistorySuperseded:
		return []Status{Superseded}
	case HistoryAbandoned:
		return []Status{Abandoned}
	case HistoryMerged:
		return []Status{Merged}
	case HistoryIntegrationFailed:
		return []Status{IntegrationFailed}
	case HistoryClaimReleased:
		return []Status{Unclaimed, IntegrationFailed}
	case HistoryReleased:
		switch e.What {
		case "claim":
			return []Status{Unclaimed, IntegrationFailed}
		case "rerun", "restep":
			return []Status{Unclaimed}
		}
	}
	return nil
}
