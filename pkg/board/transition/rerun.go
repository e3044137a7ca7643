package transition

import (
	"time"

	"liza/pkg/board/blackboard"
)

// rerunRules are the rows of rerun and restep.
var rerunRules = []Rule{
	{ID: "T40", Event: evRerun, From: from(blackboard.Unclaimed, blackboard.Rejected, blackboard.Blocked, blackboard.IntegrationFailed), To: blackboard.Unclaimed, Who: ByHuman,
		Needs:   needs(textsGiven, workSaved),
		Does:    does(clearBlock, endClaim, unassign, rerun),
		History: records(blackboard.HistoryReleased), Log: names(blackboard.ActionRerun)},
	{ID: "T40", Event: evRestep, From: from(blackboard.Unclaimed, blackboard.Rejected, blackboard.Blocked, blackboard.IntegrationFailed), To: blackboard.Unclaimed, Who: ByHuman,
		Needs:   needs(textsGiven, workSaved),
		Does:    does(clearBlock, endClaim, unassign, restep),
		History: records(blackboard.HistoryReleased), Log: names(blackboard.ActionRestepped)},
}

// Rerun starts the task again from nothing, Restep from a recorded commit (T40).
func Rerun(s *blackboard.State, id string, a Actor, in Input, now time.Time) error {
	return run(s, evRerun, id, a, in, now)
}

// Restep sets the task back to a recorded commit (T40).
func Restep(s *blackboard.State, id string, a Actor, in Input, now time.Time) error {
	return run(s, evRestep, id, a, in, now)
}

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
