package transition

import (
	"strings"

	"liza/pkg/board/blackboard"
)

// byPerson marks the entry of a person's decision about the merge.
func (m *move) byPerson() {
	m.h.Merge, m.h.By, m.h.Reason = true, blackboard.List{m.actor.name()}, oneLine(m.in.Reason)
	m.detail = m.in.Reason
}

func (m *move) decision(decided blackboard.GateDecision) *blackboard.MergeApproval {
	return &blackboard.MergeApproval{Required: true, Decision: decided, By: m.actor.name(), At: blackboard.TimeOf(m.now), Reason: m.in.Reason}
}

var decideMerge = Effect{"merge_approval approved, by, at, reason", func(m *move) {
	m.task.MergeApproval = m.decision(blackboard.GateApproved)
	m.byPerson()
}}

var approveByPerson = Effect{"approved_by human, approved_commit = review_commit; approvals, with review.quorum; rejection_reason, fixes null; merge_approval approved; review.status ok, mode", func(m *move) {
	t := m.task
	m.storeReview("ok")
	m.recordApproval()
	t.ApprovedBy, t.ApprovedCommit, t.RejectionReason, t.Fixes = blackboard.Human, t.ReviewCommit, nil, nil
	t.MergeApproval = m.decision(blackboard.GateApproved)
	m.byPerson()
}}

var refuseMerge = Effect{"merge_approval rejected; rejection_reason, one fix for it and for each open comment; approved_by, merge_intent, approvals, quorum null; review_cycles_current + 1, review_cycles_total + 1", func(m *move) {
	t := m.task
	t.MergeApproval = m.decision(blackboard.GateRejected)
	t.ApprovedBy, t.MergeIntent = "", nil
	dropApprovals(t)
	t.RejectionReason = &blackboard.Rejection{Summary: m.in.Reason, Findings: commented(m.state, t, nil)}
	t.Fixes = nil
	if m.in.Reason != seeComments {
		t.Fixes = []*blackboard.Fix{{N: 1, Kind: blackboard.CodeTask, Detail: m.in.Reason}}
	}
	for _, f := range t.RejectionReason.Findings {
		t.Fixes = append(t.Fixes, &blackboard.Fix{N: len(t.Fixes) + 1, Kind: blackboard.CodeTask, Detail: f.Message})
	}
	m.countCycle()
	m.byPerson()
	m.h.Commit = t.ReviewCommit
}}

var storeMergeIntent = Effect{"merge_intent = {commit, old, at, by, unverified}", func(m *move) {
	f := m.merge()
	m.task.MergeIntent = &blackboard.MergeIntent{Commit: f.Candidate, Old: f.Old, At: blackboard.TimeOf(m.now), By: f.By, Unverified: clone(f.Unverified)}
}}

var storeMerge = Effect{"merge_commit; unverified of the intent; integration.tip; worktree, merge_intent, fix_onto, halt, hold null; integration_fix false", func(m *move) {
	t := m.task
	t.MergeCommit = t.BaseCommit
	if t.ChangesFiles() {
		t.MergeCommit = m.merge().Commit
		if tip := m.merge().Tip; tip != "" {
			setTip(m.state, tip, "merge "+t.ID, m.now)
		}
		m.h.DriftCommits = m.merge().Drift
	}
	t.Unverified = nil
	if i := t.MergeIntent; i != nil { // the merge of this commit, also after a crash
		t.Unverified = i.Unverified
	}
	t.Worktree, t.MergeIntent, t.FixOnto, t.Halt, t.IntegrationFix = "", nil, "", nil, false
	t.Hold, t.RestartFrom, t.HandoffPending = nil, "", false
	m.h.MergeCommit = t.MergeCommit
	m.detail = "merge commit " + blackboard.ShortCommit(t.MergeCommit)
	m.extra = map[string]any{"merge_commit": t.MergeCommit, "drift_commits": m.h.DriftCommits}
	if len(t.Unverified) > 0 {
		m.detail += ", not verified"
		m.extra["unverified"] = []string(t.Unverified)
	}
}}

var storeIntegrationFailure = Effect{"merge_intent, merge_approval, approved_by, approvals, quorum null; worktree, base_commit, approved_commit kept", func(m *move) {
	t, f := m.task, m.merge()
	t.MergeIntent, t.MergeApproval, t.ApprovedBy = nil, nil, ""
	dropApprovals(t)
	m.h.Reason, m.h.Files, m.h.Log = f.Reason, clone(f.Files), f.Log
	m.detail = f.Reason
	m.extra = map[string]any{"reason": f.Reason}
	if len(f.Files) > 0 {
		m.detail += ": " + strings.Join(f.Files, ", ")
		m.extra["files"] = []string(clone(f.Files))
	}
	if f.Log != "" {
		m.detail += ", see " + f.Log
		m.extra["log"] = f.Log
	}
}}
