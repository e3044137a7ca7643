package transition

import (
	"fmt"

	"liza/pkg/board/blackboard"
)

// The effects of specs/protocol.md#4.1 and specs/protocol.md#4.3. What an event is given is copied: the state shares
// nothing with its input, so that an Update may run again.

var enterScope = Effect{"the fields given, created; sprint.scope.planned gets the task, unless it replaces others or is stretch", func(m *move) {
	t := m.task
	t.Created = blackboard.TimeOf(m.now)
	m.state.AddTasks(t)
	m.detail = t.TitleText()
	scope := m.state.Sprint.EnsureScope()
	if !scope.Stretch.Has(t.ID) && !scope.Planned.Has(t.ID) && len(t.Supersedes) == 0 {
		scope.Planned = append(scope.Planned, t.ID)
	}
}}

var nameTitle = Effect{"goal.alignment_history gets planning, one entry for all tasks of a call", func(m *move) { m.detail = m.task.TitleText() }}

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

var lapseReviewer = Effect{"a reviewer whose process is gone lapses (A13)", func(m *move) {
	m.lapse(m.task.ReviewingBy, m.task.ReviewingGeneration)
}}

func (m *move) lapse(id, generation string) {
	if blackboard.RegistrationOf(m.state.Agents[id], generation) {
		Lapse(m.state, id, m.actor.Facts, m.now)
	}
}

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

var forgetOtherCoder = Effect{"another coder than the last claimant: review_cycles_current 0", func(m *move) {
	if m.task.LastClaimant() != m.actor.ID {
		m.task.ReviewCyclesCurrent = 0
	}
}}

var countIteration = Effect{"iteration 1 for another coder than the last claimant, else + 1, but not after a quota window", func(m *move) {
	switch t := m.task; {
	case t.LastClaimant() != m.actor.ID:
		t.Iteration = 1
	case !cutShort(t):
		t.Iteration++
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

var storeIntent = Effect{"the intent goes into the history", func(m *move) {
	if in := m.in.Intent; in != nil {
		intent := *in
		intent.Assumptions, intent.Risks, intent.FilesToModify = clone(in.Assumptions), clone(in.Risks), clone(in.FilesToModify)
		m.h.Checkpoint = &intent
		m.detail = intent.Intent
	}
}}

var storeSubmission = Effect{"review_commit, no_tests; fixes done; review, approvals, quorum null; handoff_pending false", func(m *move) {
	t := m.task
	t.ReviewCommit = t.BaseCommit
	if t.ChangesFiles() {
		t.ReviewCommit = m.submission().Commit
	}
	t.NoTests, t.Review = nil, nil
	dropApprovals(t)
	if !blank(m.in.NoTests) {
		t.NoTests = &blackboard.NoTests{Reason: m.in.NoTests, By: m.actor.ID, At: blackboard.TimeOf(m.now)}
		m.h.NoTests = m.in.NoTests
	}
	for _, f := range t.Fixes {
		f.Done = true
	}
	t.HandoffPending = false
	m.h.Commit = t.ReviewCommit
	m.detail = "commit " + blackboard.ShortCommit(t.ReviewCommit)
	if m.in.Summary != "" {
		m.detail += ": " + m.in.Summary
	}
}}

var endClaim = Effect{"E-END-CLAIM", func(m *move) {
	t := m.task
	t.ClaimGeneration, t.LeaseExpires, t.Claiming = "", "", nil
	blackboard.FreeAgent(m.state, t.AssignedTo, t.ID)
}}

var endReview = Effect{"E-END-REVIEW", func(m *move) {
	t := m.task
	blackboard.FreeAgent(m.state, t.ReviewingBy, t.ID)
	t.ReviewingBy, t.ReviewingGeneration, t.ReviewLeaseExpires = "", "", ""
}}

var unassign = Effect{"assigned_to null", func(m *move) { m.task.AssignedTo = "" }}

var releaseClaim = Effect{"worktree kept; handoff_pending true when it holds work", func(m *move) {
	t := m.task
	m.h.What, m.h.Reason, m.h.Holder, m.h.Attic = "claim", oneLine(m.in.Reason), t.AssignedTo, m.in.Attic
	m.detail = t.AssignedTo + ": " + m.in.Reason
	if t.AssignedTo != m.actor.ID { // else the end of the run has told of it
		addAttempt(t, &blackboard.Attempt{ClaimSeq: t.ClaimSeq, Agent: t.AssignedTo, Kind: string(blackboard.RoleCoder), Outcome: "released", Summary: oneLine(m.in.Reason), Attic: m.in.Attic, Ended: blackboard.TimeOf(m.now)})
	}
	t.HandoffPending = m.in.HasWork
}}

var storeHandoff = Effect{"handoff.ID; handoff_pending true; agent HANDOFF; one more than max_handoffs in an attempt counts as an iteration", func(m *move) {
	h := *m.in.Handoff
	h.Agent, h.Timestamp, h.ConsumedBy, h.ConsumedAt = m.actor.ID, blackboard.TimeOf(m.now), "", ""
	h.FilesModified, h.NextSteps = clone(h.FilesModified), clone(h.NextSteps)
	if m.state.Handoff == nil {
		m.state.Handoff = map[string]*blackboard.Handoff{}
	}
	m.state.Handoff[m.task.ID] = &h
	m.task.HandoffPending = true
	m.me().Status = blackboard.AgentHandoff
	if m.task.Status == blackboard.Claimed && handoffsSinceClaim(m.task) >= m.state.Int("max_handoffs") {
		m.task.Iteration++
	}
	m.detail = h.Summary
}}

var nextIteration = Effect{"iteration + 1", func(m *move) {
	m.task.Iteration++
	metrics(m.state).IterationsTotal++
	m.detail = fmt.Sprintf("iteration %d", m.task.Iteration)
}}

var countFailedRun = Effect{"timeout and stalled: iteration + 1 (at the limit T26 follows)", func(m *move) {
	m.detail = m.in.Outcome
	if m.in.Reason != "" {
		m.detail += ": " + m.in.Reason
	}
	if m.runCounts() {
		metrics(m.state).IterationsTotal++
		if !IterationsOver(m.state, m.task) {
			m.task.Iteration++
		}
	}
}}

// runCounts reports whether the failed run counts as an iteration.
func (m *move) runCounts() bool { return hung(m.in.Outcome) }

// hung reports whether a run had to be stopped because it was silent or took too long.
func hung(outcome string) bool { return outcome == "timeout" || outcome == "stalled" }

var hold = Effect{"hold", func(m *move) {
	m.task.Hold = &blackboard.Hold{By: m.actor.name(), At: blackboard.TimeOf(m.now), Reason: m.in.Reason}
	m.h.Reason = oneLine(m.in.Reason)
	m.detail = m.in.Reason
}}

var unhold = Effect{"hold null; after a hold by system: review_failures 0", func(m *move) {
	if m.task.Hold.By == blackboard.System {
		m.task.ReviewFailures = 0
	}
	m.task.Hold = nil
}}
