package transition

import (
	"fmt"
	"slices"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/blackboard/audit"
)

// archiveList is an archive that was read.
type archiveList map[string]blackboard.Archived

func (l archiveList) Archived() map[string]blackboard.Archived { return l }

type invariant struct {
	name  string
	wrong func(before, after *world) string
}

// invariants are what holds after every step, whatever it was. Each says what is wrong, or "".
var invariants = []invariant{
	{"the step did what it may", func(_, w *world) string { return w.fault }},
	{"every rule of validation that needs no git", (*world).breaksARule},
	{"one holder per task and one task per holder", func(_, w *world) string { return w.heldTwice() }},
	{"claim and review claim exist in their statuses only", func(_, w *world) string { return w.danglingClaim() }},
	{"nobody approves work that he wrote", func(_, w *world) string { return w.selfApproval() }},
	{"only approved work is merged, exactly the submitted commit, and once", func(_, w *world) string { return w.wrongMerge() }},
	{"no task is merged before what it depends on", func(_, w *world) string { return w.tooEarly() }},
	{"nothing leaves a terminal status", func(before, w *world) string { return w.resurrected(before) }},
	{"counters stay within their limits", func(_, w *world) string { return w.beyondLimits() }},
	{"counters never fall, and the history only grows", func(before, w *world) string { return w.wentBack(before) }},
}

// choices needs looking at once in each world.
var choices = invariant{"what a supervisor would choose it can reserve, and it chooses something when it can", func(_, w *world) string { return w.wrongChoice() }}

func (w *world) breaksARule(after *world) string {
	// The method is called on the world before.
	facts := audit.Evidence{Now: after.now, Processes: after.facts(), SkipSpecFiles: true, Archive: archiveList(after.ArchivedTasks())}
	for _, v := range audit.Validate(after.State, w.State, facts) {
		if v.Severity == blackboard.SeverityError || v.Rule == "V55" {
			return v.Rule + ": " + v.Message
		}
	}
	return ""
}

func (w *world) heldTwice() string {
	holders := map[string]string{}
	for _, id := range w.AgentIDs() {
		a := w.Agents[id]
		if a.CurrentTask == "" || w.leaseOver(id) {
			continue
		}
		key := string(a.Role) + " " + a.CurrentTask
		if other := holders[key]; other != "" {
			return fmt.Sprintf("%s and %s both work on %s", other, id, a.CurrentTask)
		}
		holders[key] = id
	}
	claims := map[string]string{}
	for t := range w.Tasks() {
		if t.Status != blackboard.Claimed {
			continue
		}
		if other := claims[t.AssignedTo]; other != "" {
			return fmt.Sprintf("%s holds %s and %s", t.AssignedTo, other, t.ID)
		}
		claims[t.AssignedTo] = t.ID
		a := w.Agents[t.AssignedTo]
		if a != nil && a.Generation == t.ClaimGeneration && a.CurrentTask != t.ID {
			return fmt.Sprintf("%s holds %s, but works on %q", t.AssignedTo, t.ID, a.CurrentTask)
		}
	}
	return ""
}

func (w *world) danglingClaim() string {
	for t := range w.Tasks() {
		switch {
		case t.Status != blackboard.Claimed && (t.ClaimGeneration != "" || !t.LeaseExpires.None()):
			return t.ID + " is " + string(t.Status) + ", but its claim has not ended"
		case t.Status != blackboard.ReadyForReview && t.ReviewingBy != "":
			return t.ID + " is " + string(t.Status) + ", but under review"
		case t.Status != blackboard.Approved && t.MergeIntent != nil:
			return t.ID + " is " + string(t.Status) + ", but being merged"
		}
	}
	return ""
}

func (w *world) selfApproval() string {
	for t := range w.Tasks() {
		author := ""
		for _, h := range t.History {
			switch {
			case h.Event == "ready_for_review":
				author = h.Agent
			case h.Event == "approved" && h.Agent == author:
				return author + " wrote and approved " + t.ID
			}
		}
	}
	return ""
}

// wrongMerge looks at what is merged and at what the branch contains.
func (w *world) wrongMerge() string {
	for t := range w.Tasks() {
		submitted, approved, merged := "", "", 0
		for _, h := range t.History {
			switch h.Event {
			case "ready_for_review":
				submitted, approved = h.Commit, ""
			case "approved":
				if h.Commit != "" || h.Auto {
					approved = h.Commit
				}
				if h.Merge && h.Commit == "" && approved == "" {
					approved = submitted // a person approved without a reviewer
				}
			case "rejected", "integration_failed", "unblocked", "released":
				approved = ""
			case "merged":
				merged++
				if t.ChangesFiles() && (approved == "" || approved != submitted) {
					return fmt.Sprintf("%s was merged with %q approved and %q submitted", t.ID, approved, submitted)
				}
			}
		}
		inside := ""
		if i := slices.Index(w.size.tasks, t.ID); i >= 0 {
			inside = w.inside[i]
		}
		switch {
		case merged > 1 || (merged == 1) != (t.Status == blackboard.Merged):
			return fmt.Sprintf("%s is %s and was merged %d times", t.ID, t.Status, merged)
		case inside != "" && (t.Status != blackboard.Approved && t.Status != blackboard.Merged || inside != submitted || inside != approved):
			return fmt.Sprintf("the branch contains %s of %s, which is %s with %s approved", inside, t.ID, t.Status, approved)
		case t.Status == blackboard.Merged && t.ChangesFiles() && inside == "":
			return t.ID + " is MERGED, but the branch does not contain it"
		}
	}
	return ""
}

func (w *world) tooEarly() string {
	for t := range w.Tasks() {
		if t.Status != blackboard.Merged && t.Status != blackboard.Claimed && t.Status != blackboard.Approved {
			continue
		}
		for _, d := range t.DependsOn {
			if st, ok := w.StatusOf(d); !ok || st != blackboard.Merged {
				return fmt.Sprintf("%s is %s, but depends on %s, which is %s", t.ID, t.Status, d, st)
			}
		}
	}
	return ""
}

func (w *world) resurrected(before *world) string {
	for was := range before.Tasks() {
		if t := w.Find(was.ID); was.Status.Terminal() && t != nil && t.Status != was.Status {
			return fmt.Sprintf("%s was %s and is %s", t.ID, was.Status, t.Status)
		}
	}
	return ""
}

func (w *world) beyondLimits() string {
	for t := range w.Tasks() {
		// One handoff too many may count as an iteration that is then not started.
		if n := maxIterations(w.board.State, t); t.Iteration > n+1 {
			return fmt.Sprintf("%s is %s in iteration %d of %d", t.ID, t.Status, t.Iteration, n)
		}
		if n := maxReviewCycles(w.board.State, t); t.ReviewCyclesCurrent > n || t.ReviewCyclesCurrent == n && t.Status == blackboard.Rejected {
			return fmt.Sprintf("%s is %s after %d of %d review cycles", t.ID, t.Status, t.ReviewCyclesCurrent, n)
		}
		if t.Status == blackboard.Claimed && t.Exhausted() {
			return t.ID + " is exhausted, and claimed all the same"
		}
	}
	return ""
}

func (w *world) wentBack(before *world) string {
	for was := range before.Tasks() {
		t := w.Find(was.ID)
		if t == nil {
			continue
		}
		if t.ClaimSeq < was.ClaimSeq || t.ReviewCyclesTotal < was.ReviewCyclesTotal {
			return t.ID + ": a counter that only grows went back"
		}
		if len(t.History) < len(was.History) {
			return t.ID + ": its history became shorter"
		}
		for i, h := range was.History {
			if n := t.History[i]; n.Event != h.Event || n.Time != h.Time || n.Agent != h.Agent {
				return t.ID + ": its history was changed"
			}
		}
	}
	return ""
}

// wrongChoice compares what a free supervisor would choose with what it could reserve.
func (w *world) wrongChoice() string {
	for _, id := range w.size.coders {
		e := w.Agents[id]
		if e == nil || e.CurrentTask != "" || w.gone[w.nth(id)] || holds(w.board.State, id, e, "") != "" {
			continue
		}
		a := Actor{ID: id, TokenHash: w.token(id), Facts: w.facts()}
		chosen, why := NextTask(w.board.State, a, Input{}, w.now)
		var can blackboard.List
		for t := range w.Tasks() {
			if wouldRefuse(w.board.State, evClaim, SCoder|ByCoder, t, a, claimed(t.ID), w.now) == nil {
				can = append(can, t.ID)
			}
		}
		switch {
		case chosen == nil && (len(can) > 0 || why == ""):
			return fmt.Sprintf("%s chooses nothing (%s), but can claim %v", id, why, can)
		case chosen != nil && !can.Has(chosen.ID):
			return fmt.Sprintf("%s chooses %s, which it cannot claim", id, chosen.ID)
		}
	}
	return ""
}

// asleep says that nobody will ever do anything here although there is work: no agent can go
// on, the planner is not woken, and nothing waits for a person.
func (w *world) asleep() string {
	if w.waitsForPerson() || len(Triggers(w.board.State, TriggerFacts{}, w.now)) > 0 {
		return ""
	}
	return "nobody can do anything, and nobody is woken"
}

// waitsForPerson tells of a hold by a person, and of a merge that a person decides about.
func (w *world) waitsForPerson() bool {
	for t := range w.Tasks() {
		if t.Hold != nil && t.Hold.By != blackboard.System || t.MergeApproval != nil && t.MergeApproval.Required && t.MergeApproval.Decision == "" {
			return true
		}
	}
	return false
}

// everybodyAwake reports whether all supervisors run, and none waits for a time.
func (w *world) everybodyAwake() bool {
	for _, id := range w.size.agents() {
		if w.Agents[id] == nil || w.gone[w.nth(id)] || w.leaseOver(id) {
			return false
		}
	}
	for t := range w.Tasks() {
		if w.waits(t) {
			return false
		}
	}
	return true
}
