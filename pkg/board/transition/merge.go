package transition

import (
	"strings"
	"time"

	"liza/pkg/board/blackboard"
)

// mergeRules are the rows of merge_intent, merge and integration_failed.
var mergeRules = []Rule{
	{ID: "T21", Event: evMergeIntent, From: from(blackboard.Approved), To: blackboard.Approved, Who: SReviewer | BySystem | ByHuman,
		Needs: needs(controlsOpen, notHeld, mergeApproved, mergerAllowed, commitThere, integrationThere, integrationFree, approvingRunOver),
		Does:  does(storeMergeIntent)},
	{ID: "T22", Event: evMerge, From: from(blackboard.Approved), To: blackboard.Merged, Who: SReviewer | BySystem | ByHuman,
		Needs:   needs(containedInIntegration),
		Does:    does(storeMerge),
		History: records(blackboard.HistoryMerged), Log: names(blackboard.ActionMerged)},
	{ID: "T23", Event: evIntegrationFailed, From: from(blackboard.Approved), To: blackboard.IntegrationFailed, Who: SReviewer | BySystem | ByHuman,
		Needs:   needs(integrationReason),
		Does:    does(storeIntegrationFailure),
		History: records(blackboard.HistoryIntegrationFailed), Log: names(blackboard.ActionIntegrationFailed)},
}

// MergeFacts are the facts that a merge needs (specs/protocol.md#8.2).
type MergeFacts struct {
	CheckedOutAt   string // where the integration branch is checked out
	CommitGone     bool   // review_commit is not in the object store (G62)
	Candidate, Old string
	By             string
	Contained      bool
	Tip            string // tip of the integration branch, after the merge if it is finished; "" if there is no branch
	Commit         string
	Unverified     blackboard.List // checks that fail on the candidate and on its base alike
	Drift          int
	Reason         string
	Files          blackboard.List
	Log            string
	Checks         string // sum of the commands that failed the work
	Override       bool
}

// merge has the facts of a merge, none when the caller gave none.
func (m *move) merge() MergeFacts {
	if m.in.Merge == nil {
		return MergeFacts{}
	}
	return *m.in.Merge
}

// IntendMerge records the candidate before the integration branch moves (T21).
func IntendMerge(s *blackboard.State, id string, a Actor, in Input, now time.Time) error {
	return run(s, evMergeIntent, id, a, in, now)
}

// FinishMerge records that the integration branch contains the work (T22).
func FinishMerge(s *blackboard.State, id string, a Actor, in Input, now time.Time) error {
	return run(s, evMerge, id, a, in, now)
}

// FailIntegration records a conflict or a failed integration check (T23).
func FailIntegration(s *blackboard.State, id string, a Actor, in Input, now time.Time) error {
	return run(s, evIntegrationFailed, id, a, in, now)
}

var mergeApproved = Guard{"G60", "no merge approval is required, or a person has given it", func(m *move) error {
	if a := m.task.MergeApproval; a != nil && a.Required && a.Decision != blackboard.GateApproved {
		return m.refuseNext("liza approve "+m.task.ID, "G60", ExitRefused, "task %s waits for a person's merge approval", m.task.ID)
	}
	return nil
}}

// mergerAllowed never refuses; it words the column "who", which does.
var mergerAllowed = Guard{"G61", "the merger is human, a code_reviewer's supervisor or system", func(*move) error { return nil }}

var commitThere = Guard{"G62", "the approved commit is in the object store", onlyCode(func(m *move) error {
	if m.merge().CommitGone {
		return m.no("G62", ExitFailure, "commit %s of task %s is gone", blackboard.ShortCommit(m.task.ReviewCommit), m.task.ID)
	}
	return nil
})}

var integrationThere = Guard{"G63", "the integration branch exists, and is where Liza left it", onlyCode(func(m *move) error {
	tip := m.merge().Tip
	if m.state.ForeignTip(tip) {
		return m.refuseNext(blackboard.DecideTip(tip), "G63", ExitRefused, "%s; merges wait", blackboard.MovedText(m.state, tip))
	}
	if branch := m.state.IntegrationBranch(); tip == "" {
		return m.refuseNext("git branch "+branch+" COMMIT", "G63", ExitRefused, "the branch %s does not exist", branch)
	}
	return nil
})}

var integrationFree = Guard{"G64", "no worktree has the integration branch checked out", onlyCode(func(m *move) error {
	if at := m.merge().CheckedOutAt; at != "" {
		return m.refuseNext("git -C "+at+" switch OTHER", "G64", ExitRefused, "%s is checked out in %s; switch it to another branch", m.state.IntegrationBranch(), at)
	}
	return nil
})}

var approvingRunOver = Guard{"G67", "the run of the reviewer's program that approved has ended", func(m *move) error {
	if by := ApprovingRun(m.state, m.task, m.now, m.actor.Facts); by != "" {
		return m.refuseNext("liza status", "G67", ExitRefused, "%s approved %s in a run that has not ended yet; what that says last has to agree", by, m.task.ID)
	}
	return nil
}}

// ApprovingRun returns the reviewer who approved the task and whose program still runs, or "": the end of that run can
// contradict the approval. The run of a dead supervisor does not count.
func ApprovingRun(s *blackboard.State, t *blackboard.Task, now time.Time, facts blackboard.ProcessFacts) string {
	if t.Status != blackboard.Approved {
		return ""
	}
	by := []string{t.ApprovedBy}
	for _, a := range t.Standing() {
		by = append(by, a.Reviewer)
	}
	for _, id := range by {
		e := s.Agents[id]
		if e == nil || e.Role != blackboard.RoleReviewer || e.Child == nil || e.Child.Task != t.ID {
			continue
		}
		if live, _ := s.Liveness(id, now, facts); live != blackboard.Expired && live != blackboard.Dead {
			return id
		}
	}
	return ""
}

var containedInIntegration = Guard{"", "git shows that the integration branch contains the work", onlyCode(func(m *move) error {
	if f := m.merge(); !f.Contained || f.Commit == "" {
		return m.refuseNext("liza merge "+m.task.ID, "", ExitFailure, "the integration branch does not contain the work of %s", m.task.ID)
	}
	return nil
})}

var integrationReason = Guard{"", "git shows a conflict, or a check's exit code a failure", func(m *move) error {
	if m.merge().Reason == "" {
		return m.refuseNext("liza merge "+m.task.ID, "", ExitFailure, "no failure of the integration of %s is shown", m.task.ID)
	}
	return nil
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
	m.h.Reason, m.h.Files, m.h.Log, m.h.Commit, m.h.Checks = f.Reason, clone(f.Files), f.Log, t.ReviewCommit, f.Checks
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
