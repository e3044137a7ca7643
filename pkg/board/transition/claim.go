package transition

import (
	"fmt"
	"time"

	"liza/pkg/board/blackboard"
)

// claimRules are the rows of reserve and claim.
var claimRules = []Rule{
	{ID: "T04", Event: evReserve, From: from(blackboard.Unclaimed, blackboard.Claimed, blackboard.Rejected, blackboard.IntegrationFailed), Who: SCoder,
		Needs: needs(claimAllowed),
		Does:  does(lapseHolder, reserve)},
	{ID: "T05", Event: evClaim, From: from(blackboard.Unclaimed), To: blackboard.Claimed, Who: SCoder,
		Needs:   needs(sprintRuns, notHeld, gatesStillPass, specExists, dependenciesMerged, actorFree, notReservedByOther, limitsLeaveRoom, notFailedByActor, notExhausted, diskAndWorktree, roleResolves),
		Does:    does(countIteration, grantLease, takeWorktree),
		History: records(blackboard.HistoryClaimed), Log: names(blackboard.ActionClaimed)},
	{ID: "T06", Event: evClaim, From: from(blackboard.Rejected), To: blackboard.Claimed, Who: SCoder, When: sameCoder,
		Needs:   needs(sprintRuns, notHeld, specExists, actorFree, notReservedByOther, limitsLeaveRoom, notExhausted, diskAndWorktree, roleResolves),
		Does:    does(countIteration, grantLease, keepWorktree),
		History: records(blackboard.HistoryReclaimed), Log: names(blackboard.ActionClaimed)},
	{ID: "T07", Event: evClaim, From: from(blackboard.Rejected), To: blackboard.Claimed, Who: SCoder, When: otherCoder,
		Needs:   needs(sprintRuns, notHeld, specExists, actorFree, notReservedByOther, limitsLeaveRoom, keptForItsCoder, notFailedByActor, notExhausted, diskAndWorktree, roleResolves, workSaved),
		Does:    does(nameFormerCoder, countIteration, grantLease, takeWorktree),
		History: records(blackboard.HistoryReassigned), Log: names(blackboard.ActionClaimed)},
	{ID: "T08", Event: evClaim, From: from(blackboard.IntegrationFailed), To: blackboard.Claimed, Who: SCoder,
		Needs:   needs(sprintRuns, notHeld, specExists, actorFree, notReservedByOther, limitsLeaveRoom, notFailedByActor, notExhausted, diskAndWorktree, roleResolves),
		Does:    does(countIteration, grantLease, keepWorktree, startFix),
		History: records(blackboard.HistoryClaimedForFix), Log: names(blackboard.ActionClaimed)},
	{ID: "T09", Event: evClaim, From: from(blackboard.Claimed), To: blackboard.Claimed, Who: SCoder,
		Needs:   needs(sprintRuns, notHeld, specExists, actorFree, notReservedByOther, limitsLeaveRoom, notFailedByActor, notExhausted, leaseExpired, childGone, diskAndWorktree, roleResolves, workSaved),
		Does:    does(lapseHolder, nameFormerCoder, logExpiry, countIteration, grantLease, takeWorktree),
		History: records(blackboard.HistoryLeaseExpired, blackboard.HistoryClaimed), Log: names(blackboard.ActionLeaseExpired, blackboard.ActionClaimed)},
}

// ClaimFacts are the facts that a claim needs (specs/protocol.md#7.2, specs/protocol.md#7.3).
type ClaimFacts struct {
	Confirm     bool   // phase three: the reservation must still be the caller's
	Base        string // head of the integration branch
	BaseCommit  string // base of a fresh worktree, when it differs from Base (restart_from)
	Worktree    string // path relative to the project root; "" for kind msg
	Host        string // host of the worktree; "" when the board is a file of one host
	Fresh       bool   // the worktree was made from scratch from the base
	ChildError  string // why the former holder's process could not be stopped
	WorktreeErr string
	Reserve     time.Duration
	Named       bool // the caller named the task
}

// claim has the facts of a claim, none when the caller gave none.
func (m *move) claim() ClaimFacts {
	if m.in.Claim == nil {
		return ClaimFacts{}
	}
	return *m.in.Claim
}

// Reserve is phase one of a claim: the guards of the claim hold, and nobody else may
// claim the task until the reservation is over (T04, specs/protocol.md#7.2).
func Reserve(s *blackboard.State, id string, a Actor, in Input, now time.Time) error {
	m, err := begin(s, evClaim, id, a, in, now)
	if err == nil {
		err = m.check()
	}
	if err != nil {
		return err
	}
	m.rule = ruleOf(evReserve)
	m.apply()
	return nil
}

// ExtendReserve lets the caller's reservation last for another claim_reserve: its worktree is still being made. It reports
// whether the caller has one.
func ExtendReserve(s *blackboard.State, id string, a Actor, now time.Time) bool {
	t := s.Task(id)
	if t == nil || t.Claiming == nil || t.Claiming.By != a.ID || s.Agents[a.ID] == nil || s.Agents[a.ID].Generation != t.Claiming.Generation {
		return false
	}
	t.Claiming.Expires = blackboard.TimeOf(now.Add(s.Duration("claim_reserve")))
	return true
}

// CancelReserve ends the caller's reservation; all other fields stay. A reservation of a later registration with the same id
// stays too. It reports whether it ended one.
func CancelReserve(s *blackboard.State, id string, a Actor) bool {
	t, entry := s.Task(id), s.Agents[a.ID]
	if t == nil || t.Claiming == nil || t.Claiming.By != a.ID {
		return false
	}
	if entry != nil && !a.Via && a.TokenHash != entry.TokenHash {
		return false
	}
	t.Claiming = nil
	return true
}

// Claim makes the actor the holder of the task (T05 to T09). There is no other way into
// CLAIMED. in.Claim says which worktree was provided; only a task of kind msg has none.
func Claim(s *blackboard.State, id string, a Actor, in Input, now time.Time) error {
	m, err := begin(s, evClaim, id, a, in, now)
	if err == nil {
		err = m.check()
	}
	if err != nil {
		return err
	}
	if f := m.claim(); m.task.KindOf() != blackboard.MessageTask && (f.Worktree == "" || f.Base == "") {
		return m.refuseNext("liza claim "+id, "G29", ExitFailure, "no worktree was provided for task %s", id)
	}
	m.apply()
	return nil
}

var sameCoder = &Condition{Text: "the caller is the last coder", Holds: func(m *move) bool { return m.task.AssignedTo == m.actor.ID }}

// Without a last coder (a person removed it by hand) the claim counts as another coder's.
var otherCoder = &Condition{Text: "the caller is another coder", Holds: func(m *move) bool { return m.task.AssignedTo != m.actor.ID }}

// claimAllowed stands for the guards of the claim that follows; Reserve checks them.
var claimAllowed = Guard{"", "the guards of the claim that follows hold", func(*move) error { return nil }}

// gatesStillPass refuses an unclaimed task, written by hand, that would be refused in a plan.
var gatesStillPass = Guard{"G12", "nobody has claimed the task before, then the gates pass: description, spec_ref, done_when, scope", func(m *move) error {
	if !blackboard.Unplanned(m.task) {
		return nil
	}
	if missing := m.task.Gates(); len(missing) > 0 {
		return m.refuseNext("liza edit", "G12", ExitRefused, "task %s cannot be claimed: %s", m.task.ID, missing)
	}
	return nil
}}

var actorFree = Guard{"G21", "the agent has no other task", func(m *move) error {
	if other := holds(m.state, m.actor.ID, m.me(), m.task.ID); other != "" {
		return m.refuseNext("liza show "+other, "G21", ExitRefused, "%s already works on %s", m.actor.ID, other)
	}
	return nil
}}

// holds names the task that keeps the agent from claiming another, or "". entry is its
// registration, or nil.
func holds(s *blackboard.State, agent string, entry *blackboard.Agent, except string) string {
	for t := range s.Tasks() {
		if t.Status == blackboard.Claimed && t.AssignedTo == agent && t.ID != except {
			return t.ID
		}
	}
	if entry != nil && entry.CurrentTask != "" && entry.CurrentTask != except {
		return entry.CurrentTask
	}
	return ""
}

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

func reservationOver(s *blackboard.State, c *blackboard.Claiming, facts blackboard.ProcessFacts, now time.Time) bool {
	if past(c.Expires, now) {
		return true
	}
	a := s.Agents[c.By]
	if a == nil || a.Generation != c.Generation {
		return true
	}
	live, _ := s.Liveness(c.By, now, facts)
	return live == blackboard.Dead
}

var limitsLeaveRoom = Guard{"G23", "the limits leave room for another run", func(m *move) error {
	if IterationsOver(m.state, m.task) {
		return m.no("G23", ExitRefused, "%d of %d iterations of %s are used", m.task.Iteration, maxIterations(m.state, m.task), m.task.ID)
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

// keptUntil applies G24: a REJECTED task waits reassign_after for its own live coder.
func keptUntil(s *blackboard.State, t *blackboard.Task, agent string, facts blackboard.ProcessFacts, now time.Time) (blackboard.Time, bool) {
	if t.AssignedTo == "" || t.AssignedTo == agent || s.Agents[t.AssignedTo] == nil || s.Stopped[t.AssignedTo] != nil {
		return "", false
	}
	if live, _ := s.Liveness(t.AssignedTo, now, facts); live == blackboard.Expired || live == blackboard.Dead {
		return "", false
	}
	at, ok := t.TimeOfLast(blackboard.HistoryRejected).At()
	until := at.Add(s.Duration("reassign_after"))
	return blackboard.TimeOf(until), ok && now.Before(until)
}

var notFailedByActor = Guard{"G25", "the caller has not failed the task, or no other live coder is left who has not", func(m *move) error {
	if other := untriedCoder(m.state, m.task, m.actor.ID, m.actor.Facts, m.now); other != "" {
		return m.no("G25", ExitRefused, "%s failed task %s; %s takes it", m.actor.ID, m.task.ID, other)
	}
	return nil
}}

// untriedCoder applies G25: when agent has failed the task, it returns the first live coder that has not, else "".
func untriedCoder(s *blackboard.State, t *blackboard.Task, agent string, facts blackboard.ProcessFacts, now time.Time) string {
	if !t.FailedBy.Has(agent) {
		return ""
	}
	for _, id := range s.AgentIDs() {
		if role, _, _ := blackboard.ParseAgentID(id); role != blackboard.RoleCoder || t.FailedBy.Has(id) || s.Stopped[id] != nil {
			continue
		}
		if live, _ := s.Liveness(id, now, facts); live == blackboard.Alive {
			return id
		}
	}
	return ""
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
		return m.refuseNext("liza roles", "G30", ExitRefused, "%s", why)
	}
	return m.mayTake("G30")
}}

var reserve = Effect{"claiming = {by, generation, at, expires, base_commit}", func(m *move) {
	f := m.claim()
	life := f.Reserve
	if life <= 0 {
		life = m.state.Duration("claim_reserve")
	}
	m.task.Claiming = &blackboard.Claiming{By: m.actor.ID, Generation: m.me().Generation, At: blackboard.TimeOf(m.now), Expires: blackboard.TimeOf(m.now.Add(life)), BaseCommit: f.Base}
}}

// lapseHolder is A13 in the same write, for a holder whose process is gone.
var lapseHolder = Effect{"a holder whose process is gone lapses (A13)", func(m *move) {
	if m.task.Status == blackboard.Claimed {
		m.lapse(m.task.AssignedTo, m.task.ClaimGeneration)
	}
}}

var nameFormerCoder = Effect{"the entry names the former coder and the attic", func(m *move) {
	if m.task.AssignedTo != m.actor.ID {
		m.h.PreviousAssignee = m.task.AssignedTo
	}
	m.h.Attic = m.in.Attic
}}

var logExpiry = Effect{"the former holder: an attempt with outcome lapsed, current_task null, status IDLE", func(m *move) {
	t := m.task
	_, why := m.state.ClaimLiveness(t, m.now, m.actor.Facts)
	m.says(blackboard.HistoryLeaseExpired, blackboard.HistoryEntry{Holder: t.AssignedTo, Lease: t.LeaseExpires, Cause: why})
	m.tells(blackboard.ActionLeaseExpired, t.AssignedTo+": "+why)
	addAttempt(t, &blackboard.Attempt{ClaimSeq: t.ClaimSeq, Agent: t.AssignedTo, Kind: string(blackboard.RoleCoder), Outcome: "lapsed", Attic: m.in.Attic, Ended: blackboard.TimeOf(m.now)})
	blackboard.FreeAgent(m.state, t.AssignedTo, t.ID)
}}

var countIteration = Effect{"iteration + 1, with each coder, but not after a quota window", func(m *move) {
	if !cutShort(m.task) {
		m.task.Iteration++
	}
}}

var grantLease = Effect{"assigned_to, claim_generation, claim_seq + 1, lease_expires, spec_hash; claiming null; agent WORKING with current_task and lease", func(m *move) {
	t, a := m.task, m.me()
	t.AssignedTo, t.ClaimGeneration = m.actor.ID, a.Generation
	t.ClaimSeq++
	t.LeaseExpires = lease(m.state, m.now)
	if m.in.SpecHash != "" {
		t.SpecHash = m.in.SpecHash
	}
	t.Claiming = nil
	a.Status, a.CurrentTask, a.LeaseExpires, a.WaitingFor = blackboard.AgentWorking, t.ID, t.LeaseExpires, ""
	m.h.Iteration, m.h.ClaimSeq = t.Iteration, t.ClaimSeq
	if r := m.in.Recovered; r != nil {
		recovered := *r
		m.h.Recovered = &recovered
	}
	m.detail = fmt.Sprintf("attempt %d, iteration %d", t.ClaimSeq, t.Iteration)
}}

var takeWorktree = Effect{"worktree and base_commit, those kept or those made from scratch; restart_from null", func(m *move) {
	t, f := m.task, m.claim()
	t.Worktree = f.Worktree
	if f.Fresh {
		// What an integration fix rests on is in the worktree that was given up.
		t.ReviewCommit, t.IntegrationFix, t.FixOnto = "", false, ""
	}
	m.setBase(f)
}}

var keepWorktree = Effect{"worktree and base_commit kept", func(m *move) {
	t, f := m.task, m.claim()
	if t.Worktree == "" {
		t.Worktree = f.Worktree
	}
	m.setBase(f)
}}

func (m *move) setBase(f ClaimFacts) {
	t := m.task
	t.Host = f.Host
	if f.Fresh || t.BaseCommit == "" {
		t.BaseCommit = f.Base
		if f.BaseCommit != "" {
			t.BaseCommit = f.BaseCommit
		}
	}
	t.RestartFrom = ""
	m.h.BaseCommit = t.BaseCommit
	m.detail += ", base " + blackboard.ShortCommit(t.BaseCommit)
}

var startFix = Effect{"integration_fix true, fix_onto = integration head; approved_by, merge_approval null", func(m *move) {
	t := m.task
	t.IntegrationFix, t.ApprovedBy, t.MergeApproval = true, "", nil
	t.FixOnto = m.claim().Base
}}
