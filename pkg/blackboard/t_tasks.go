package blackboard

import (
	"fmt"
	"time"
)

// reviewsItself reports whether the task is APPROVED without a reviewer (specs/protocol.md#4.5).
func (t *Task) reviewsItself() bool { return !t.ChangesFiles() && !t.ReviewRequired }

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

// past reports whether a time is over. One that is missing or cannot be read counts as over.
func past(t Time, now time.Time) bool {
	at, ok := t.At()
	return !ok || now.After(at)
}
