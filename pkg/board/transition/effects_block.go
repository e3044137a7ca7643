package transition

import (
	"cmp"
	"fmt"
	"strings"

	"liza/pkg/board/blackboard"
)

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

var blockByCoder = Effect{"E-BLOCK kind question, or stuck when something was attempted (then E-FAIL(assigned_to)); by human: kind human", func(m *move) {
	kind := blackboard.BlockedByQuestion
	switch {
	case m.party&ByHuman != 0:
		kind = blackboard.BlockedByHuman
	case len(m.in.Attempted) > 0:
		kind = blackboard.BlockedStuck
	}
	m.block(kind, m.in.Reason, m.in.Questions, m.in.Attempted)
	if kind == blackboard.BlockedStuck {
		m.fail(m.task.AssignedTo)
	}
}}

var blockByIterations = Effect{"halt iteration; E-BLOCK kind max_iterations with one question; E-FAIL(assigned_to, else the last coder)", func(m *move) {
	t := m.task
	limit := maxIterations(m.state, t)
	last := oneLine(m.in.Reason)
	if last == "" {
		last = "no error was recorded"
	}
	m.block(blackboard.BlockedByIterations, fmt.Sprintf("%d of %d iterations used without approval", t.Iteration, limit),
		blackboard.List{fmt.Sprintf("What makes %d iterations fail: %s?", t.Iteration, strings.TrimRight(last, "?. "))}, nil)
	m.halted(blackboard.Halt{Kind: "iteration", Value: blackboard.Amount(t.Iteration), Limit: limit, At: blackboard.TimeOf(m.now)})
	m.fail(cmp.Or(t.AssignedTo, t.LastClaimant()))
}}

var blockByHalt = Effect{"halt; E-BLOCK kind halt with one question; handoff_pending true if a worktree exists", func(m *move) {
	t, h := m.task, *m.in.Halt
	h.At = blackboard.TimeOf(m.now)
	m.block(blackboard.BlockedByHalt, fmt.Sprintf("%s limit reached: %s", h.Kind, limitOfHalt(m.state, t, &h).figures()), blackboard.List{"Raise the limit, change the task, or drop it?"}, nil)
	m.halted(h)
	t.HandoffPending = t.Worktree != ""
}}

var blockByDependency = Effect{"E-BLOCK kind dependency with one question", func(m *move) {
	m.block(blackboard.BlockedByDependency, "its dependency "+m.in.What+" was dropped", blackboard.List{fmt.Sprintf("Is %s still wanted without %s?", m.task.ID, m.in.What)}, nil)
}}

var clearBlock = Effect{"E-UNBLOCK", func(m *move) {
	t := m.task
	if m.rule.Event != EvSupersede && m.rule.Event != EvAbandon {
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

// forgetApproval ends what only holds for work that is on its way to the merge.
func forgetApproval(t *blackboard.Task) {
	t.ApprovedBy, t.MergeApproval, t.MergeIntent, t.IntegrationFix, t.FixOnto = "", nil, nil, false, ""
}

var startOver = Effect{"E-DROP-WT; review_commit null; review_cycles_current 0, iteration 0; failed_by, failures, review_cycles_total kept; depends_on if given; by an answer: restart_from = the branch's tip", func(m *move) {
	t := m.task
	m.dropWorktree()
	forgetApproval(t)
	t.ReviewCommit, t.ReviewCyclesCurrent, t.Iteration = "", 0, 0
	if m.in.DependsOn != nil {
		t.DependsOn = clone(m.in.DependsOn)
	}
	if m.in.Answered {
		t.RestartFrom = m.in.Tip
	}
}}

var goOn = Effect{"the limits given; worktree kept with handoff_pending true, else restart_from = the last recorded commit; iteration and counters kept", func(m *move) {
	t := m.task
	applyLimits(t, m.in.Limits)
	t.HandoffPending = t.Worktree != ""
	if t.Worktree == "" {
		t.RestartFrom = m.in.Tip
		if m.in.Tip == "" {
			t.RestartFrom = lastRecordedCommit(t)
		}
	}
}}

// lastRecordedCommit is the newest commit that the task tells of, "" for none.
func lastRecordedCommit(t *blackboard.Task) string {
	if t.ReviewCommit != "" {
		return t.ReviewCommit
	}
	for i := len(t.Attempts) - 1; i >= 0; i-- {
		if a := t.Attempts[i]; a != nil && a.Commit != "" {
			return a.Commit
		}
	}
	return ""
}

var retarget = Effect{"depends_on: the superseded id is replaced in its place by its replacements", func(m *move) {
	m.task.DependsOn = replaceAll(m.task.DependsOn, func(d string) []string {
		if d == m.in.What {
			return m.in.By
		}
		return []string{d}
	})
	m.detail = m.in.What + " → " + strings.Join(m.in.By, ", ")
}}

var closeTask = Effect{"E-DROP-WT; rescope_reason, root_cause; hold, integration_fix, approved_by, merge_approval null; goal.alignment_history gets rescope_ID", func(m *move) {
	t := m.task
	m.dropWorktree()
	forgetApproval(t)
	t.RescopeReason, t.RootCause, t.Hold, t.RestartFrom = m.in.Reason, m.in.RootCause, nil, ""
	summary := t.ID + " abandoned: " + oneLine(m.in.Reason)
	if m.rule.Event == EvSupersede {
		summary = t.ID + " superseded by " + strings.Join(m.in.By, ", ") + ": " + oneLine(m.in.Reason)
		m.detail = "by " + strings.Join(m.in.By, ", ") + ": " + m.detail
	}
	if !blank(m.in.RootCause) {
		cause := "; root cause: " + oneLine(m.in.RootCause)
		summary += cause
		m.detail += cause
	}
	align(m.state, "rescope_"+t.ID, summary, m.now)
}}

var nameReplacements = Effect{"superseded_by; the replacements' supersedes gets the task; then T31 for its dependents", func(m *move) {
	t := m.task
	t.SupersededBy, m.h.By = nil, nil
	for _, id := range m.in.By {
		if !t.SupersededBy.Has(id) {
			t.SupersededBy = append(t.SupersededBy, id)
		}
		if r := m.state.Task(id); r != nil && !r.Supersedes.Has(t.ID) {
			r.Supersedes = append(r.Supersedes, t.ID)
		}
	}
	m.h.By = clone(t.SupersededBy)
}}

var rerun = Effect{"with --clean-git E-DROP-WT, else handoff_pending true if a worktree exists; iteration, review_cycles_current, failures, failed_by, attempts, fixes, rejection_reason, usage zero or empty; epoch + 1", func(m *move) {
	t := m.task
	if m.in.CleanGit {
		m.dropWorktree()
	}
	t.HandoffPending = t.Worktree != ""
	forgetApproval(t)
	t.ReviewCommit, t.RestartFrom = "", ""
	t.Iteration, t.ReviewCyclesCurrent, t.Failures, t.FailedBy = 0, 0, 0, nil
	t.Attempts, t.Fixes, t.RejectionReason, t.Usage = nil, nil, nil, nil
	t.Epoch = max(t.Epoch, 1) + 1
	m.h.What = "rerun"
}}

var restep = Effect{"the branch is reset to the recorded commit, without a worktree restart_from; handoff_pending true; counters kept", func(m *move) {
	t := m.task
	forgetApproval(t)
	t.HandoffPending = true
	if t.Worktree == "" {
		t.RestartFrom = m.in.Tip
	}
	m.h.What = "restep"
}}
