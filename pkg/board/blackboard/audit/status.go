package audit

import (
	"fmt"
	"slices"
	"strings"

	"liza/pkg/board/blackboard"
)

// The rules V04 to V20: what a task has to have in its status.

var (
	blockedKinds = []string{"question", "stuck", "max_iterations", "review_deadlock", "replan", "halt", "dependency", "human"}
	decisions    = []string{"approved", "rejected"}
)

func checkTypes(v *validation, t *blackboard.Task) {
	oneOf := func(field, value string, known []string) {
		if value != "" && !blackboard.List(known).Has(value) {
			v.task(t, field, "'%s' must be %s, is %q", field, blackboard.OrList(known), value).Lenient(v.taskOfV1(t))
		}
	}
	if t.Priority != nil && *t.Priority < 0 {
		v.task(t, "priority", "'priority' must be an integer of 0 or more, is %d", *t.Priority).Lenient(v.taskOfV1(t))
	}
	oneOf("kind", string(t.Kind), blackboard.Kinds)
	oneOf("blocked_kind", string(t.BlockedKind), blockedKinds)
	if t.MergeApproval != nil {
		oneOf("merge_approval.decision", string(t.MergeApproval.Decision), decisions)
	}
}

func checkTaskIDs(v *validation) {
	if !v.newIDs {
		return
	}
	first := make(map[string]*blackboard.Task, v.s.TaskCount())
	for t := range v.s.Tasks() {
		switch {
		case t.ID == "":
			v.report(v.taskPath(t, ""), "task %s has no id", v.taskName(t)).Concerns("tasks")
			continue
		case !blackboard.ValidTaskID(t.ID):
			v.report(v.taskPath(t, "id"), "task id '%s' is not allowed", t.ID).Concerns(t.ID)
		}
		folded := strings.ToLower(t.ID)
		if first[folded] == nil {
			first[folded] = t
			continue
		}
		v.sameID(first[folded], t)
	}
	var again []string
	for archived := range v.archived() {
		if first[strings.ToLower(archived)] != nil {
			again = append(again, archived)
		}
	}
	slices.Sort(again)
	for _, archived := range again {
		v.archivedID(first[strings.ToLower(archived)], archived, v.archived()[archived].Status)
	}
}

// sameID reports two tasks whose ids are equal, perhaps but for case.
func (v *validation) sameID(a, b *blackboard.Task) {
	if a.ID != b.ID {
		v.report(v.taskPath(b, "id"), "task ids '%s' and '%s' differ in case only%s", a.ID, b.ID, v.lines(a, b)).Concerns(a.ID, b.ID)
		return
	}
	where := v.lines(a, b)
	if where == "" {
		where = " twice"
	}
	v.report(v.taskPath(b, "id"), "task id '%s' appears%s", a.ID, where).Concerns(a.ID)
}

// archivedID reports an id that the archive has too. The same task in both with the same status is the result of a crash
// while archiving (specs/protocol.md#3.3).
func (v *validation) archivedID(t *blackboard.Task, archived string, was blackboard.Status) {
	if t.ID == archived && t.Status == was && was.Terminal() {
		return
	}
	v.report(v.taskPath(t, "id"), "task id '%s' appears in the archive too: '%s' (%s)", t.ID, archived, was).Concerns(t.ID)
}

// lines says where two tasks are: " in lines 10 and 40", or "" when not known.
func (v *validation) lines(a, b *blackboard.Task) string {
	if v.facts.Line == nil {
		return ""
	}
	x, y := v.facts.Line(v.taskPath(a, "id")), v.facts.Line(v.taskPath(b, "id"))
	if x == 0 || y == 0 {
		return ""
	}
	return fmt.Sprintf(" in lines %d and %d", x, y)
}

func checkStatus(v *validation, t *blackboard.Task) {
	if t.Status.Known() {
		return
	}
	if t.Status == "" {
		v.task(t, "status", "there is no status")
		return
	}
	known := make([]string, len(blackboard.Statuses))
	for i, s := range blackboard.Statuses {
		known[i] = string(s)
	}
	v.task(t, "status", "unknown status '%s'%s", t.Status, blackboard.NearestHint(string(t.Status), known))
}

func checkDraft(v *validation, t *blackboard.Task) {
	if t.Status != blackboard.Draft {
		return
	}
	if t.AssignedTo != "" {
		v.task(t, "assigned_to", "DRAFT with assigned_to %s", t.AssignedTo)
	}
	if t.Worktree != "" {
		v.task(t, "worktree", "DRAFT with worktree %s", t.Worktree).Lenient(v.taskOfV1(t))
	}
	if t.ClaimGeneration != "" {
		v.task(t, "claim_generation", "DRAFT with claim_generation %s", t.ClaimGeneration).Lenient(v.taskOfV1(t))
	}
}

func checkClaimHolder(v *validation, t *blackboard.Task) {
	if t.Status == blackboard.Claimed && t.AssignedTo == "" {
		v.task(t, "assigned_to", "CLAIMED without assigned_to")
	}
}

// claimedWithFolder reports whether the task has to have a worktree now.
func claimedWithFolder(t *blackboard.Task) bool {
	return t.Status == blackboard.Claimed && t.KindOf() != blackboard.MessageTask
}

func checkClaimWorktree(v *validation, t *blackboard.Task) {
	if claimedWithFolder(t) && t.Worktree == "" {
		v.task(t, "worktree", "CLAIMED without worktree")
	}
}

func checkClaimBase(v *validation, t *blackboard.Task) {
	if claimedWithFolder(t) && t.BaseCommit == "" && !t.IntegrationFix {
		v.task(t, "base_commit", "CLAIMED without base_commit")
	}
}

func checkClaimLease(v *validation, t *blackboard.Task) {
	if t.Status == blackboard.Claimed && t.LeaseExpires.None() {
		v.task(t, "lease_expires", "CLAIMED without lease_expires")
	}
}

func checkClaimFolder(v *validation, t *blackboard.Task) {
	if !claimedWithFolder(t) || v.facts.WorktreeExists == nil || t.ElsewhereThan(v.facts.Processes.Host) || !worktreeAllowed(t) || t.Worktree == "" {
		return
	}
	if !v.facts.WorktreeExists(t.Worktree) && !v.changesHands(t) {
		v.task(t, "worktree", "worktree %s does not exist", t.Worktree).Advise("liza validate --fix")
	}
}

// changesHands reports whether the claim of a task is over, so that a take-over may be removing and making its worktree
// (specs/protocol.md#7.3), or was killed in between (7.4).
func (v *validation) changesHands(t *blackboard.Task) bool {
	holder := v.s.Agents[t.AssignedTo]
	if t.Claiming != nil || holder != nil && !blackboard.RegistrationOf(holder, t.ClaimGeneration) {
		return true
	}
	live, _ := v.s.ClaimLiveness(t, v.facts.Now, v.facts.Processes)
	return live == blackboard.Dead
}

func checkSubmission(v *validation, t *blackboard.Task) {
	if t.Status == blackboard.ReadyForReview && t.ChangesFiles() && t.ReviewCommit == "" {
		v.task(t, "review_commit", "READY_FOR_REVIEW without review_commit")
	}
}

func checkApproval(v *validation, t *blackboard.Task) {
	if t.Status != blackboard.Approved {
		return
	}
	if t.ApprovedBy == "" {
		v.task(t, "approved_by", "APPROVED without approved_by").Lenient(v.taskOfV1(t))
	}
	if t.ChangesFiles() && t.ReviewCommit == "" {
		v.task(t, "review_commit", "APPROVED without review_commit").Lenient(v.taskOfV1(t))
	}
}

func checkMergedWorktree(v *validation, t *blackboard.Task) {
	if t.Status == blackboard.Merged && t.Worktree != "" {
		v.task(t, "worktree", "MERGED but worktree is %s", t.Worktree)
	}
}

func checkMergeCommit(v *validation, t *blackboard.Task) {
	if t.Status == blackboard.Merged && t.ChangesFiles() && t.MergeCommit == "" {
		v.task(t, "merge_commit", "MERGED without merge_commit").Lenient(t.ClaimSeq == 0)
	}
}

func checkFailedWorktree(v *validation, t *blackboard.Task) {
	if t.Status == blackboard.IntegrationFailed && t.ChangesFiles() && t.Worktree == "" {
		v.task(t, "worktree", "INTEGRATION_FAILED without worktree").Lenient(v.taskOfV1(t))
	}
}

func checkBlocked(v *validation, t *blackboard.Task) {
	if t.Status != blackboard.Blocked {
		return
	}
	if blank(t.BlockedReason) {
		v.task(t, "blocked_reason", "BLOCKED without blocked_reason")
	}
	switch n := len(t.BlockedQuestions); {
	case n == 0 && t.BlockedKind != blackboard.BlockedByHalt:
		v.task(t, "blocked_questions", "BLOCKED without blocked_questions")
	case n > 3:
		v.task(t, "blocked_questions", "BLOCKED with %d blocked_questions; 1 to 3 are allowed", n).Lenient(v.taskOfV1(t) && t.BlockedKind == "")
	}
}

func checkRejected(v *validation, t *blackboard.Task) {
	if t.Status != blackboard.Rejected {
		return
	}
	if r := t.RejectionReason; r == nil || blank(r.Summary) && len(r.Findings) == 0 {
		v.task(t, "rejection_reason", "REJECTED without rejection_reason")
	}
}

func checkSuperseded(v *validation, t *blackboard.Task) {
	if t.Status != blackboard.Superseded {
		return
	}
	if len(t.SupersededBy) == 0 {
		v.task(t, "superseded_by", "SUPERSEDED without superseded_by")
	}
	if blank(t.RescopeReason) {
		v.task(t, "rescope_reason", "SUPERSEDED without rescope_reason")
	}
}

// The rules V42 to V45: the registrations.

var agentStatuses = []string{blackboard.AgentStarting, blackboard.AgentIdle, blackboard.AgentWorking, blackboard.AgentReviewing, blackboard.AgentPlanning, blackboard.AgentWaiting, blackboard.AgentHandoff}

func checkAgentIDs(v *validation) {
	for _, id := range v.agents {
		role, _, ok := blackboard.ParseAgentID(id)
		if !ok {
			v.agent(id, "", "the id is malformed; it must be coder-N, code-reviewer-N or planner-N")
		}
		a := v.s.Agents[id]
		// A state that was not decoded may spell roles as in specs/protocol.md#0.4.
		switch is, known := blackboard.ParseRole(string(a.Role)); {
		case a.Role == "":
			v.agent(id, "role", "there is no role")
		case !known:
			v.agent(id, "role", "unknown role '%s'", a.Role)
		case ok && is != role:
			v.agent(id, "role", "role is %s", a.Role)
		}
	}
}

func checkAgentStatus(v *validation) {
	for _, id := range v.agents {
		a := v.s.Agents[id]
		if !blackboard.List(agentStatuses).Has(a.Status) {
			v.agent(id, "status", "unknown status '%s'%s", a.Status, blackboard.NearestHint(a.Status, agentStatuses)).Lenient(v.agentOfV1(a))
		}
		if a.Status != blackboard.AgentWorking && a.Status != blackboard.AgentReviewing {
			continue
		}
		mild := a.Status == blackboard.AgentReviewing && v.agentOfV1(a)
		if a.CurrentTask == "" {
			v.agent(id, "current_task", "%s without current_task", a.Status).Lenient(mild)
		}
		if a.LeaseExpires.None() {
			v.agent(id, "lease_expires", "%s without lease_expires", a.Status).Lenient(mild)
		}
	}
}

func checkAgentLease(v *validation) {
	if v.facts.Now.IsZero() {
		return
	}
	for _, id := range v.agents {
		a := v.s.Agents[id]
		if a.Status != blackboard.AgentWorking && a.Status != blackboard.AgentReviewing && a.Status != blackboard.AgentPlanning {
			continue
		}
		if until, ok := a.LeaseExpires.At(); ok && v.facts.Now.After(until.Add(v.s.Duration("lease_grace"))) {
			v.agent(id, "lease_expires", "lease expired at %s", a.LeaseExpires)
		}
	}
}

func checkCurrentTask(v *validation) {
	for _, id := range v.agents {
		if a := v.s.Agents[id]; a.CurrentTask != "" && v.find(a.CurrentTask) == nil {
			v.agent(id, "current_task", "current_task '%s' does not exist", a.CurrentTask).Concerns(a.CurrentTask)
		}
	}
}

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
			v.task(t, "history"+within("", i, ""), "history entry %d is not what it was (%s)", i+1, was.Event)
			return
		}
	}
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
		v.section("revision", "", "revision %d is older than %d", v.s.Revision, v.prev.Revision).Advise("liza restore")
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

// iterationRestarted reports whether something happened since old that sets iteration back: an unblock.
func iterationRestarted(old, t *blackboard.Task) bool {
	return slices.ContainsFunc(t.History[min(len(old.History), len(t.History)):], func(e *blackboard.HistoryEntry) bool {
		return e.Event == blackboard.HistoryUnblocked
	})
}
