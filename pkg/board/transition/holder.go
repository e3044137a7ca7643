package transition

import (
	"liza/pkg/board/blackboard"
)

// A person who does not act for an agent counts as the coder of every task.
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

var callerIsReviewer = Guard{"G53", "the caller is the task's reviewer", func(m *move) error {
	switch m.task.ReviewingBy {
	case m.actor.ID:
		return nil
	case "":
		return refuse("G53", ExitRefused, "liza claim-review "+m.task.ID, "task %s has no reviewer; claim the review first", m.task.ID)
	}
	return m.no("G53", ExitRefused, "task %s is under review by %s", m.task.ID, m.task.ReviewingBy)
}}

var holdsReview = Guard{"G54", "the review claim is that of the caller's registration", func(m *move) error {
	if a := m.me(); a != nil && m.task.ReviewingGeneration != "" && m.task.ReviewingGeneration != a.Generation {
		return m.no("G54", ExitLeaseLost, "the review claim on %s belongs to an earlier registration of %s", m.task.ID, m.actor.ID)
	}
	return nil
}}

var childGone = Guard{"G28", "the former holder's process is gone or was stopped", func(m *move) error {
	if why := m.claim().ChildError; why != "" {
		return m.refuseNext("liza doctor", "G28", ExitFailure, "%s", why)
	}
	return nil
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

func (m *move) lapse(id, generation string) {
	if blackboard.RegistrationOf(m.state.Agents[id], generation) {
		Lapse(m.state, id, m.actor.Facts, m.now)
	}
}

// block is E-BLOCK of specs/protocol.md#4.1, without the ends of claim and review, which are in
// the rules. The history entry blocked says kind and reason of the block only.
func (m *move) block(kind blackboard.BlockedKind, reason string, questions, attempted blackboard.List) {
	t := m.task
	t.BlockedKind, t.BlockedReason, t.BlockedQuestions, t.Attempted = kind, reason, clone(questions), clone(attempted)
	for _, q := range questions {
		ask(m.state, &blackboard.Question{Task: t.ID, Agent: m.actor.ID, Kind: "blocked", Type: "input", Text: q, Status: blackboard.QuestionOpen, Asked: blackboard.TimeOf(m.now)})
	}
	m.says(blackboard.HistoryBlocked, blackboard.HistoryEntry{Kind: kind, Reason: oneLine(reason), Attic: m.in.Attic})
	m.tells(blackboard.ActionBlocked, reason)
	if m.detail == "" {
		m.detail = reason
	}
}

// askPerson makes the questions of a block Liza's own: they go to people, and wake no planner.
func (m *move) askPerson() {
	for _, q := range m.state.Questions {
		if q.Task == m.task.ID && q.Status == blackboard.QuestionOpen {
			q.Agent, q.Synthetic = blackboard.System, true
		}
	}
}

// halted adds the halt to the task and to its history entry.
func (m *move) halted(h blackboard.Halt) {
	m.task.Halt = &h
	e, told := m.own[blackboard.HistoryBlocked], h
	e.Halt = &told
	m.says(blackboard.HistoryBlocked, e)
}

// fail is E-FAIL of specs/protocol.md#4.1; exhaustion is recorded in the same write (13.8).
func (m *move) fail(agent string) {
	t := m.task
	was := t.Exhausted()
	if agent != "" && !t.FailedBy.Has(agent) {
		t.FailedBy = append(t.FailedBy, agent)
	}
	t.Failures++
	if t.Exhausted() && !was {
		addAnomaly(m.state, &blackboard.Anomaly{Timestamp: blackboard.TimeOf(m.now), Task: t.ID, Reporter: anyPlanner(m.state), Type: blackboard.AnomalyExhaustion,
			Details: blackboard.Settings{"failed_by": append([]string(nil), t.FailedBy...), "failures": t.Failures}})
	}
}

var clearBlock = Effect{"E-UNBLOCK", func(m *move) {
	t := m.task
	if m.rule.Event != evSupersede && m.rule.Event != evAbandon && m.rule.Event != evPick {
		t.BlockedReason = ""
	}
	t.BlockedKind, t.BlockedQuestions, t.Attempted, t.Halt = "", nil, nil, nil
	t.Crashes = 0
	withdrawQuestions(m.state, t.ID)
	m.h.Reason, m.h.Attic = oneLine(m.in.Reason), m.in.Attic
	m.detail = m.in.Reason
}}

// dropWorktree is the part of E-DROP-WT that concerns the state.
func (m *move) dropWorktree() {
	t := m.task
	t.Worktree, t.BaseCommit, t.FixOnto, t.HandoffPending = "", "", "", false
}

// forgetApproval clears the fields that only approved work has.
func forgetApproval(t *blackboard.Task) {
	t.ApprovedBy, t.MergeApproval, t.MergeIntent, t.IntegrationFix, t.FixOnto = "", nil, nil, false, ""
}
