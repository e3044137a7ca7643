package transition

import (
	"fmt"
	"time"

	"liza/pkg/board/blackboard"
)

// unblockRules are the rows of unblock and resubmit.
var unblockRules = []Rule{
	{ID: "T29", Event: evUnblock, From: from(blackboard.Blocked), To: blackboard.Unclaimed, Who: ByPlanner | ByHuman,
		Needs:   needs(textsGiven, gatesPass, specExists, unblockable, workSaved, dependenciesLeft, notHalted),
		Does:    does(clearBlock, unassign, startOver),
		History: records(blackboard.HistoryUnblocked), Log: names(blackboard.ActionUnblocked)},
	{ID: "T30", Event: evResubmit, From: from(blackboard.Blocked), To: blackboard.Unclaimed, Who: ByHuman,
		Needs:   needs(haltResolved),
		Does:    does(clearBlock, unassign, goOn),
		History: records(blackboard.HistoryUnblocked), Log: names(blackboard.ActionResubmitted)},
}

// Unblock lets a BLOCKED task start over (T29).
func Unblock(s *blackboard.State, id string, a Actor, in Input, now time.Time) error {
	in = in.reasoned()
	return run(s, evUnblock, id, a, in, now)
}

// Resubmit lets a halted task continue (T30).
func Resubmit(s *blackboard.State, id string, a Actor, in Input, now time.Time) error {
	return run(s, evResubmit, id, a, in, now)
}

var unblockable = Guard{"G71", "the task is not exhausted", func(m *move) error {
	if m.task.Exhausted() {
		return m.refuseNext(rescopeCommand(m.task.ID), "G71", ExitRefused, "task %s is exhausted: failed by %s; supersede or abandon it with --root-cause", m.task.ID, failures(m.task))
	}
	return nil
}}

var notHalted = Guard{"G80", "the task is not halted, or only by its iterations", func(m *move) error {
	if h := m.task.Halt; h != nil && m.task.BlockedKind != blackboard.BlockedByIterations {
		return m.refuseNext("liza retry "+m.task.ID+" --limit KEY=VALUE", "G80", ExitRefused, "task %s is halted: %s", m.task.ID, limitOfHalt(m.state, m.task, h))
	}
	return nil
}}

var haltResolved = Guard{"G78", "the task is halted, and with the limits given no limit is reached", func(m *move) error {
	t := m.task
	if t.Halt == nil {
		return m.refuseNext("liza retry "+t.ID+" --reason T", "G78", ExitRefused, "task %s is not halted by a limit", t.ID)
	}
	with := *t
	applyLimits(&with, m.in.Limits)
	l := reached(m.state, &with, Spent{}, NextCost(&with))
	if l == nil && IterationsOver(m.state, &with) {
		n := maxIterations(m.state, &with)
		l = &limitReached{key: "max_iterations", value: blackboard.Amount(with.Iteration), limit: n, enough: 2 * n}
	}
	if l != nil {
		return m.refuseNext(fmt.Sprintf("liza retry %s --limit %s=%d", t.ID, l.key, l.enough), "G78", ExitRefused, "%s; --limit %s=%d lets it go on", l, l.key, l.enough)
	}
	return nil
}}

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

// lastRecordedCommit returns the review commit, else that of the newest attempt with one, else "".
func lastRecordedCommit(t *blackboard.Task) string {
	if t.ReviewCommit != "" {
		return t.ReviewCommit
	}
	for i := len(t.Attempts) - 1; i >= 0; i-- {
		if a := t.Attempts[i]; a.Commit != "" {
			return a.Commit
		}
	}
	return ""
}
