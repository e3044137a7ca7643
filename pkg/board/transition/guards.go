package transition

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"liza/pkg/board/blackboard"
)

// ruleGuards are the guards that every event on a task has, whatever its rule says.
var ruleGuards = []Guard{
	{ID: "G01", Text: "the caller is human, system, or an agent id of valid form with a registration"},
	{ID: "G02", Text: "the token is that of the registration or, for an agent's own events, of its current run"},
	{ID: "G03", Text: "the caller's role may cause the event (column who)"},
	{ID: "G04", Text: "a process inside the process tree of an agent's run acts as that agent only"},
	{ID: "G05", Text: "the task exists"},
	{ID: "G06", Text: "the task's status is in column from"},
}

// claimAllowed stands for the guards of the claim that follows; Reserve checks them.
var claimAllowed = Guard{"", "the guards of the claim that follows hold", func(*move) error { return nil }}

var controlsOpen = Guard{"G07", "there is no ABORT, PAUSE or CHECKPOINT", func(m *move) error {
	if why := control(m.state, m.in); why != "" {
		return m.refuseNext(resumeCommand(m.state), "G07", ExitRefused, "%s", why)
	}
	return nil
}}

var sprintRuns = Guard{"G07", "there is no ABORT, PAUSE or CHECKPOINT, the sprint is IN_PROGRESS, and the agent is not stopped", func(m *move) error {
	if err := controlsOpen.Check(m); err != nil {
		return err
	}
	if st := sprintStatus(m.state); st != blackboard.InProgress {
		next := resumeCommand(m.state)
		if st == blackboard.Completed {
			next = "liza sprint next"
		}
		return m.refuseNext(next, "G07", ExitRefused, "the sprint is %s", st)
	}
	if stop := m.state.Stopped[m.actor.ID]; stop != nil {
		return m.refuseNext("liza restart "+m.actor.ID, "G07", ExitRefused, "%s is %s", m.actor.ID, stop)
	}
	return nil
}}

var notHeld = Guard{"G08", "the task is not on hold", func(m *move) error {
	if h := m.task.Hold; h != nil {
		return m.refuseNext("liza unhold "+m.task.ID, "G08", ExitRefused, "task %s is on hold by %s: %s", m.task.ID, h.By, h.Reason)
	}
	return nil
}}

var textsGiven = Guard{"G09", "required texts are not empty", func(m *move) error {
	for _, t := range m.in.Texts {
		if blank(t.Value) {
			return m.no("G09", ExitUsage, "%s is empty", t.Option)
		}
	}
	return nil
}}

var dependenciesMerged = Guard{"G20", "all dependencies are MERGED; with after_plan, every other task of the plan is terminal", func(m *move) error {
	if waits := waitsFor(m.state, m.task, m.in); len(waits) > 0 {
		return m.no("G20", ExitRefused, "task %s waits for %s", m.task.ID, strings.Join(waits, ", "))
	}
	return nil
}}

var actorFree = Guard{"G21", "the agent has no other task", func(m *move) error {
	if other := holds(m.state, m.actor.ID, m.me(), m.task.ID); other != "" {
		return m.refuseNext("liza show "+other, "G21", ExitRefused, "%s already works on %s", m.actor.ID, other)
	}
	return nil
}}

// gatesStillPass refuses what a plan would have refused, for tasks that people write by hand.
var gatesStillPass = Guard{"G12", "nobody has claimed the task before, then the gates pass: description, spec_ref, done_when, scope", func(m *move) error {
	if !blackboard.Unplanned(m.task) {
		return nil
	}
	if missing := m.task.Gates(); len(missing) > 0 {
		return m.refuseNext("liza edit", "G12", ExitRefused, "task %s cannot be claimed: %s", m.task.ID, strings.Join(missing, "; "))
	}
	return nil
}}

var notReservedByOther = Guard{"G22", "there is no reservation by another, or it is over", func(m *move) error {
	c := m.task.Claiming
	mine := c != nil && c.By == m.actor.ID && m.me() != nil && c.Generation == m.me().Generation
	if m.claim().Confirm {
		if !mine || past(c.Expires, m.now) {
			return m.refuseNext("liza claim "+m.task.ID, "G22", ExitRefused, "the reservation of %s by %s is over", m.task.ID, m.actor.ID)
		}
		return nil
	}
	if c == nil || mine || reservationOver(m.state, c, m.actor.Facts, m.now) {
		return nil
	}
	return m.no("G22", ExitRefused, "%s is preparing task %s since %s", c.By, m.task.ID, c.At)
}}

var limitsLeaveRoom = Guard{"G23", "the limits leave room for another run", func(m *move) error {
	if used, limit, over := iterationsUsed(m.state, m.task, m.actor.ID); over {
		return m.no("G23", ExitRefused, "%d of %d iterations of %s are used", used, limit, m.task.ID)
	}
	if l := reached(m.state, m.task, Spent{}, NextCost(m.task)); l != nil {
		return m.no("G23", ExitRefused, "task %s has reached a limit: %s", m.task.ID, l)
	}
	return nil
}}

var keptForItsCoder = Guard{"G24", "the caller is the last coder, or that one is not live, or reassign_after has passed, or a person named the task", func(m *move) error {
	if m.actor.Via && m.claim().Named {
		return nil
	}
	until, kept := keptUntil(m.state, m.task, m.actor.ID, m.actor.Facts, m.now)
	if kept {
		return m.no("G24", ExitRefused, "task %s is kept for %s until %s", m.task.ID, m.task.AssignedTo, until)
	}
	return nil
}}

var notFailedByActor = Guard{"G25", "the caller has not failed the task, or no other live coder is left who has not", func(m *move) error {
	if other := untriedCoder(m.state, m.task, m.actor.ID, m.actor.Facts, m.now); other != "" {
		return m.no("G25", ExitRefused, "%s failed task %s; %s takes it", m.actor.ID, m.task.ID, other)
	}
	return nil
}}

var notExhausted = Guard{"G26", "the task is not exhausted", func(m *move) error {
	if m.task.Exhausted() {
		return m.refuseNext(rescopeCommand(m.task.ID), "G26", ExitRefused, "task %s is exhausted: failed by %s; rescope it", m.task.ID, failures(m.task))
	}
	return nil
}}

func rescopeCommand(id string) string {
	return "liza supersede " + id + " --by ID --reason T --root-cause T"
}

// failures says who failed the task, and how often.
func failures(t *blackboard.Task) string {
	if len(t.FailedBy) >= 2 {
		return strings.Join(t.FailedBy, ", ")
	}
	return strings.TrimSpace(fmt.Sprintf("%s %d times", strings.Join(t.FailedBy, ", "), t.Failures))
}

var leaseExpired = Guard{"G27", "the holder's lease has expired, or its process is gone", func(m *move) error {
	switch live, why := m.state.ClaimLiveness(m.task, m.now, m.actor.Facts); live {
	case blackboard.Expired, blackboard.Dead:
		return nil
	case blackboard.Alive:
		return m.no("G27", ExitRefused, "task %s is held by %s until %s", m.task.ID, m.task.AssignedTo, m.task.LeaseExpires)
	default:
		return m.no("G27", ExitRefused, "the liveness of %s is unknown: %s", m.task.AssignedTo, why)
	}
}}

var childGone = Guard{"G28", "the former holder's process is gone or was stopped", func(m *move) error {
	if why := m.claim().ChildError; why != "" {
		return m.refuseNext("liza doctor", "G28", ExitFailure, "%s", why)
	}
	return nil
}}

var diskAndWorktree = Guard{"G29", "there is enough disk space, and the worktree could be provided", func(m *move) error {
	if m.in.FreeMB > 0 && m.in.FreeMB < m.in.MinFreeMB {
		return m.refuseNext("liza doctor", "G29", ExitFailure, "only %d MB are free, %d are needed (policy.min_free_mb)", m.in.FreeMB, m.in.MinFreeMB)
	}
	if why := m.claim().WorktreeErr; why != "" {
		return m.refuseNext("liza doctor", "G29", ExitFailure, "%s", why)
	}
	return nil
}}

var roleResolves = Guard{"G30", "the role of the task can be used", func(m *move) error {
	why := m.in.RoleProblem
	if why == "" && m.in.RoleCheck != nil {
		why = m.in.RoleCheck(m.task)
	}
	if why != "" {
		return m.refuseNext("liza roles resolve "+m.task.ID, "G30", ExitRefused, "%s", why)
	}
	return m.mayTake("G30")
}}

// mayTake says why the caller's agent program cannot take the task (specs/protocol.md#13.3 step 5).
func (m *move) mayTake(guard string) error {
	if m.in.MayTake != nil {
		if why := m.in.MayTake(m.task); why != "" {
			return m.no(guard, ExitRefused, "%s waits: %s", m.task.ID, why)
		}
	}
	return nil
}

// A person who does not act for an agent is nobody's coder: what he may do, he may do
// to anybody's task.
var callerIsCoder = Guard{"G31", "the calling agent is the task's coder", func(m *move) error {
	if m.party&ByHuman == 0 && m.task.AssignedTo != m.actor.ID {
		return m.no("G31", ExitRefused, "task %s is assigned to %s", m.task.ID, m.task.AssignedTo)
	}
	return nil
}}

var holdsClaim = Guard{"G32", "the claim is that of the agent's registration", func(m *move) error {
	if m.me() == nil || m.task.ClaimGeneration == "" && m.task.ClaimSeq == 0 {
		return nil // a claim of Liza v1 has no generation
	}
	if m.task.ClaimGeneration != m.me().Generation {
		return m.no("G32", ExitLeaseLost, "the claim on %s belongs to an earlier registration of %s", m.task.ID, m.actor.ID)
	}
	return nil
}}

// holderOrSystem is G31 and G32 where a claim is held: S(coder) is its coder's supervisor.
var holderOrSystem = Guard{"G31", "while the task is CLAIMED, the calling agent is its coder", func(m *move) error {
	if m.task.Status != blackboard.Claimed || m.me() == nil {
		return nil
	}
	if err := callerIsCoder.Check(m); err != nil {
		return err
	}
	return holdsClaim.Check(m)
}}

var iterationsUsedUp = Guard{"", "the iterations are used up; while UNCLAIMED, also no other live coder may try", func(m *move) error {
	switch {
	case !IterationsOver(m.state, m.task):
		return m.no("G23", ExitRefused, "task %s has used %d of %d iterations", m.task.ID, m.task.Iteration, maxIterations(m.state, m.task))
	case m.task.Status == blackboard.Unclaimed && !OutOfIterations(m.state, m.task, m.actor.Facts, m.now):
		return m.no("G23", ExitRefused, "task %s can still be tried by another coder than %s", m.task.ID, m.task.LastClaimant())
	}
	return nil
}}

var iterationsLeft = Guard{"", "another iteration is allowed (else T26)", func(m *move) error {
	if IterationsOver(m.state, m.task) {
		return m.no("G23", ExitRefused, "%d of %d iterations of %s are used", m.task.Iteration, maxIterations(m.state, m.task), m.task.ID)
	}
	return nil
}}

var haltKnown = blackboard.List{"cost", "time", "iteration"}

var haltGiven = Guard{"", "a limit of cost, time, tokens or runs is reached", func(m *move) error {
	h := m.in.Halt
	if h == nil {
		return m.no("G23", ExitRefused, "no limit of task %s is reached", m.task.ID)
	}
	if !slices.Contains(haltKnown, h.Kind) || h.Limit <= 0 {
		return m.no("G23", ExitRefused, "%s %s of %d is not a limit of task %s", h.Kind, h.Value, h.Limit, m.task.ID)
	}
	return nil
}}

var noHumanReview = Guard{"G03", "with plan.human_review, only a person finalizes", func(m *move) error {
	if m.in.HumanReview && m.party&ByHuman == 0 {
		return m.no("G03", ExitRefused, "a planner may not finalize %s: with plan.human_review a person does", m.task.ID)
	}
	return nil
}}

var idAllowed = Guard{"G10", "the id may name a task", func(m *move) error {
	if !blackboard.ValidTaskID(m.task.ID) {
		return refuse("G10", ExitUsage, "liza help add-task", "task id '%s' is not allowed: it must match %s, without '..', not ending in '.' or '.lock'", m.task.ID, blackboard.TaskIDPattern())
	}
	return nil
}}

var idNew = Guard{"G11", "the id is new, without regard to case, also in the archive", func(m *move) error {
	for t := range m.state.Tasks() {
		if strings.EqualFold(t.ID, m.task.ID) {
			return refuse("G11", ExitRefused, "liza show "+t.ID, "task %s exists (%s)", t.ID, t.Status)
		}
	}
	archived := m.state.ArchivedTasks()
	for _, id := range slices.Sorted(maps.Keys(archived)) {
		if strings.EqualFold(id, m.task.ID) {
			return refuse("G11", ExitRefused, "liza show "+id, "task %s exists in the archive (%s)", id, archived[id].Status)
		}
	}
	return nil
}}

var gatesPass = Guard{"G12", "the gates pass: description, spec_ref, done_when, scope, tests included", func(m *move) error {
	missing := m.task.Gates()
	if len(missing) == 0 {
		return nil
	}
	if m.rule.Event == EvCreate {
		return refuse("G12", ExitUsage, "liza help add-task", "cannot create %s: %s", m.task.ID, strings.Join(missing, "; "))
	}
	return refuse("G12", ExitRefused, "liza show "+m.task.ID, "%s: %s", m.task.ID, strings.Join(missing, "; "))
}}

var specExists = Guard{"G13", "the spec file exists", func(m *move) error {
	path, _, _ := strings.Cut(m.task.SpecRef, "#")
	if m.in.SpecExists == nil || path == "" || m.in.SpecExists(path) {
		return nil
	}
	next := "liza help " + commandOf(m.rule.Event)
	if m.rule.Event == EvClaim || m.rule.Event == EvClaimReview {
		next = "liza edit"
	}
	return m.refuseNext(next, "G13", ExitInvalid, "the spec file %s of %s does not exist in the project", path, m.task.ID)
}}

var dependenciesExist = Guard{"G14", "every dependency exists, and they make no cycle", func(m *move) error {
	for _, d := range m.task.DependsOn {
		if _, ok := statusOf(m.state, d, m.in); !ok && d != m.task.ID {
			return refuse("G14", ExitInvalid, "liza status", "depends_on of %s: no task '%s'", m.task.ID, d)
		}
	}
	if cycle := cycleThrough(m.state, m.task.ID, m.task.DependsOn, nil); cycle != nil {
		return refuse("G14", ExitInvalid, "liza graph", "dependency cycle: %s", strings.Join(cycle, " → "))
	}
	return nil
}}

var dependenciesWanted = Guard{"G15", "no dependency is ABANDONED or SUPERSEDED", func(m *move) error {
	for _, d := range m.task.DependsOn {
		if st, _ := statusOf(m.state, d, m.in); st == blackboard.Superseded || st == blackboard.Abandoned {
			return refuse("G15", ExitInvalid, "liza graph", "%s", DependencyProblem(m.state, d))
		}
	}
	return nil
}}

// DependencyProblem says why nothing can depend on the task of that id, "" when it can.
func DependencyProblem(s *blackboard.State, id string) string {
	switch st, ok := s.StatusOf(id); {
	case !ok:
		return fmt.Sprintf("no task '%s'", id)
	case st == blackboard.Abandoned:
		return fmt.Sprintf("task %s is ABANDONED; nothing can depend on it", id)
	case st == blackboard.Superseded:
		by := "another task"
		if t := s.Find(id); t != nil && len(t.SupersededBy) > 0 {
			by = strings.Join(t.SupersededBy, ", ")
		}
		return fmt.Sprintf("task %s is SUPERSEDED by %s; depend on those", id, by)
	}
	return ""
}

var fieldsKnown = Guard{"G16", "priority is 0 or more, the kind is known, and the role can be used", func(m *move) error {
	if p := m.task.Priority; p != nil && *p < 0 {
		return refuse("G16", ExitUsage, "liza help add-task", "priority must be an integer of 0 or more, not %d", *p)
	}
	if k := m.task.Kind; k != "" && !blackboard.List(blackboard.Kinds).Has(string(k)) {
		return refuse("G16", ExitUsage, "liza help add-task", "kind '%s' is unknown: it must be %s", k, blackboard.OrList(blackboard.Kinds))
	}
	if m.in.RoleProblem != "" {
		return refuse("G16", ExitUsage, "liza roles list", "%s", m.in.RoleProblem)
	}
	return nil
}}
