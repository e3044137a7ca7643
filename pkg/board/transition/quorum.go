package transition

import (
	"fmt"
	"time"

	"liza/pkg/board/blackboard"
)

// quorumRules is the row of ask_again.
var quorumRules = []Rule{
	{ID: "T43", Event: evAskAgain, From: from(blackboard.Approved), To: blackboard.ReadyForReview, Who: SReviewer | BySystem | ByHuman,
		Needs:   needs(quorumShort),
		Does:    does(askAgain),
		History: records(blackboard.HistoryReviewAskedAgain), Log: names(blackboard.ActionReviewAskedAgain)},
}

// AskAgain returns approved work to review, because review.quorum asks for more approvals than it has (T43).
func AskAgain(s *blackboard.State, id string, a Actor, in Input, now time.Time) error {
	return run(s, evAskAgain, id, a, in, now)
}

var quorumMet = &Condition{Text: "with it the approvals are as many as review.quorum asks for", Holds: func(m *move) bool {
	return m.in.Quorum.Missing(append(m.task.Standing(), m.approvalNow())) == 0
}}

var quorumOpen = &Condition{Text: "review.quorum asks for more approvals", Holds: func(m *move) bool { return !quorumMet.Holds(m) }}

// personDecides: with a quorum that has begun a person is one of the reviewers.
func (m *move) personDecides() bool {
	return m.in.ReviewMode == blackboard.ReviewDisabled || m.task.Quorum != nil && len(m.task.Standing()) > 0
}

var quorumShort = Guard{"", "review.quorum asks for more approvals than there are", func(m *move) error {
	if m.in.Quorum.Missing(m.task.Given(m.state, m.reviewed().Tree)) == 0 {
		return m.refuseNext("liza merge "+m.task.ID, "", ExitFailure, "the approvals of %s are enough", m.task.ID)
	}
	return nil
}}

var notApprovedBefore = Guard{"G68", "the reviewer has not approved this commit already: each approval of a quorum is another reviewer's", func(m *move) error {
	if m.task.HasApprovalBy(m.actor.name()) {
		return m.refuseNext("liza show "+m.task.ID, "G68", ExitRefused, "%s has approved %s already; another reviewer has to judge it: %s", m.actor.name(), m.task.ID, orSome(m.task.Quorum))
	}
	return nil
}}

func orSome(q *blackboard.Quorum) string {
	if q == nil {
		return "it needs several"
	}
	return "it needs " + q.Describe()
}

// approvalNow is the approval that the event gives.
func (m *move) approvalNow() *blackboard.Approval {
	a := &blackboard.Approval{Reviewer: m.actor.name(), Person: m.party&ByHuman != 0 || m.actor.Via, Commit: m.task.ReviewCommit, Tree: m.reviewed().Tree, At: blackboard.TimeOf(m.now)}
	if !a.Person {
		a.Program = m.state.ProgramOf(m.task, m.actor.ID)
	}
	if v := m.in.Verdict; v != nil {
		a.Findings = copies(v.Findings)
	}
	return a
}

// recordApproval adds the event's approval to the approvals of a change with a quorum.
func (m *move) recordApproval() {
	t := m.task
	given := t.Standing()
	if t.Quorum = cloneQuorum(m.in.Quorum); t.Quorum != nil || len(given) > 0 {
		t.Approvals = append(given, m.approvalNow())
	}
}

func cloneQuorum(q *blackboard.Quorum) *blackboard.Quorum {
	if q == nil {
		return nil
	}
	c := *q
	c.Paths = clone(q.Paths)
	return &c
}

func dropApprovals(t *blackboard.Task) { t.Approvals, t.Quorum = nil, nil }

var countApproval = Effect{"approvals and quorum; review_failures 0", func(m *move) {
	t := m.task
	m.recordApproval()
	t.ReviewFailures = 0
	missing := t.Quorum.Missing(t.Approvals)
	m.h.Commit, m.h.Merge = t.ReviewCommit, m.party&ByHuman != 0
	m.h.Reason = fmt.Sprintf("%d of %s", len(t.Approvals), t.Quorum.Describe())
	m.detail = fmt.Sprintf("commit %s: %s more; it needs %s", blackboard.ShortCommit(t.ReviewCommit), plural(missing, "approval"), t.Quorum.Describe())
}}

var askAgain = Effect{"quorum; approvals, with what approved_by and merge_approval say; approved_by, approved_commit, merge_approval, merge_intent null; review.status null", func(m *move) {
	t := m.task
	given := t.Given(m.state, m.reviewed().Tree)
	t.Approvals, t.Quorum = given, cloneQuorum(m.in.Quorum)
	t.ApprovedBy, t.ApprovedCommit, t.MergeApproval, t.MergeIntent = "", "", nil, nil
	reviewOpen(t)
	m.h.Commit = t.ReviewCommit
	m.h.Reason = fmt.Sprintf("%s more: it needs %s", plural(t.Quorum.Missing(given), "approval"), t.Quorum.Describe())
	m.detail = m.h.Reason
}}

// reviewOpen reduces the review to the results of the checks.
func reviewOpen(t *blackboard.Task) {
	if t.Review != nil {
		t.Review = &blackboard.Review{Commit: t.Review.Commit, At: t.Review.At, Checks: t.Review.Checks, Findings: t.Review.Findings}
	}
}
