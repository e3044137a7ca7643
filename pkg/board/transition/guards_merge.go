package transition

import (
	"time"

	"liza/pkg/board/blackboard"
)

// The guards of the merge and of a person's release of it.

// merge has the facts of a merge, none when the caller gave none.
func (m *move) merge() MergeFacts {
	if m.in.Merge == nil {
		return MergeFacts{}
	}
	return *m.in.Merge
}

var mergeApproved = Guard{"G60", "no merge approval is required, or a person has given it", func(m *move) error {
	if a := m.task.MergeApproval; a != nil && a.Required && a.Decision != blackboard.GateApproved {
		return m.refuseNext("liza approve-merge "+m.task.ID, "G60", ExitRefused, "task %s waits for a person's merge approval", m.task.ID)
	}
	return nil
}}

// mergerAllowed says what column who enforces.
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

// ApprovingRun is a reviewer whose program approved a task and still runs, "" for none: how
// that run ends can contradict the approval. A supervisor that died waits for nothing.
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

var approvedInThisRun = Guard{"", "the caller approved the task, in the run that ends now", func(m *move) error {
	if a := m.me(); m.task.ApprovedBy != m.actor.ID && !m.task.HasApprovalBy(m.actor.ID) || a == nil || a.Child == nil || a.Child.Task != m.task.ID {
		return m.refuseNext("liza show "+m.task.ID, "", ExitFailure, "%s did not approve %s in this run", m.actor.ID, m.task.ID)
	}
	return nil
}}

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

var approvalAwaited = Guard{"G65", "a merge approval is waiting, or review.mode is disabled; against warnings in mode strict a person needs --override and a reason", func(m *move) error {
	t, a := m.task, m.task.MergeApproval
	if t.Status == blackboard.ReadyForReview {
		if m.personDecides() {
			return nil
		}
		return reviewDisabled.Check(m)
	}
	if a == nil || !a.Required || a.Decision != "" {
		return m.no("G65", ExitRefused, "no merge approval is waiting for %s, which is %s", t.ID, t.Status)
	}
	if m.rule.Event == EvApproveMerge && t.Review != nil && t.Review.Mode == blackboard.ReviewStrict {
		return m.acceptWarnings(warnings(t))
	}
	return nil
}}

// warningsAccepted: in mode strict a person who is one of the reviewers decides about the warnings as well.
var warningsAccepted = Guard{"G65", "against warnings in mode strict a person needs --override and a reason", func(m *move) error {
	if m.in.ReviewMode != blackboard.ReviewStrict {
		return nil
	}
	n := warnings(m.task)
	for _, a := range m.task.Standing() {
		n += countWarnings(a.Findings)
	}
	return m.acceptWarnings(n)
}}

func (m *move) acceptWarnings(n int) error {
	if n > 0 && (!m.merge().Override || blank(m.in.Reason)) {
		return m.refuseNext("liza approve-merge "+m.task.ID+" --override --reason T", "G65", ExitRefused, "%s against %s; --override --reason T accepts them", plural(n, "warning"), m.task.ID)
	}
	return nil
}

// warnings counts the findings of the review that only a person may pass over in mode strict.
func warnings(t *blackboard.Task) int {
	if t.Review == nil {
		return 0
	}
	return countWarnings(t.Review.Findings)
}

func countWarnings(findings []*blackboard.Finding) int {
	n := 0
	for _, f := range findings {
		if severityOf(f) == "warning" {
			n++
		}
	}
	return n
}

// severity of a finding; none given is a warning (specs/roles-and-knowledge.md#5.3).
func severityOf(f *blackboard.Finding) string {
	if f.Severity == "" {
		return "warning"
	}
	return f.Severity
}

// reviewersDecide: in mode disabled nothing but a person's decision moves the task (4.8).
var reviewersDecide = Guard{"G65", "review.mode is not disabled", func(m *move) error {
	if m.in.ReviewMode == blackboard.ReviewDisabled {
		return m.refuseNext("liza approve-merge "+m.task.ID, "G65", ExitRefused, "review.mode is disabled: a person decides about %s", m.task.ID)
	}
	return nil
}}
