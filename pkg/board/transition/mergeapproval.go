package transition

import (
	"time"

	"liza/pkg/board/blackboard"
)

// mergeApprovalRules are the rows of approve_merge and reject_merge.
var mergeApprovalRules = []Rule{
	{ID: "T19", Event: evApproveMerge, From: from(blackboard.Approved), To: blackboard.Approved, Who: ByHuman,
		Needs:   needs(approvalAwaited),
		Does:    does(decideMerge),
		History: records(blackboard.HistoryApproved), Log: names(blackboard.ActionMergeApproved)},
	{ID: "T20", Event: evRejectMerge, From: from(blackboard.Approved, blackboard.ReadyForReview), To: blackboard.Rejected, Who: ByHuman, When: cyclesLeft,
		Needs:   needs(textsGiven, approvalAwaited, picked),
		Does:    does(refuseMerge, endReview),
		History: records(blackboard.HistoryRejected), Log: names(blackboard.ActionMergeRejected)},
	{ID: "T20", Event: evRejectMerge, From: from(blackboard.Approved, blackboard.ReadyForReview), To: blackboard.Blocked, Who: ByHuman, When: lastCycle,
		Needs:   needs(textsGiven, approvalAwaited, picked),
		Does:    does(refuseMerge, endReview, endClaim, deadlock),
		History: records(blackboard.HistoryRejected, blackboard.HistoryBlocked), Log: names(blackboard.ActionMergeRejected, blackboard.ActionBlocked)},
	{ID: "T41", Event: evApproveMerge, From: from(blackboard.ReadyForReview), To: blackboard.Approved, Who: ByHuman, When: personIsLast,
		Needs:   needs(notHeld, headUnmoved, cleanForApproval, warningsAccepted, notApprovedBefore, picked),
		Does:    does(approveByPerson, endReview),
		History: records(blackboard.HistoryApproved), Log: names(blackboard.ActionMergeApproved)},
	{ID: "T41", Event: evApproveMerge, From: from(blackboard.ReadyForReview), Who: ByHuman, When: personIsNotLast,
		Needs:   needs(notHeld, headUnmoved, cleanForApproval, warningsAccepted, notApprovedBefore, picked),
		Does:    does(countApproval, endReview),
		History: records(blackboard.HistoryApprovalRecorded), Log: names(blackboard.ActionApprovalRecorded)},
}

// ApproveMerge records a person's release of the merge (T19, T41).
func ApproveMerge(s *blackboard.State, id string, a Actor, in Input, now time.Time) error {
	return run(s, evApproveMerge, id, a, in, now)
}

// RejectMerge records a person's refusal of the merge (T20). Open comments serve as the reason.
func RejectMerge(s *blackboard.State, id string, a Actor, in Input, now time.Time) error {
	if t := s.Find(id); t != nil && blank(in.Reason) && len(s.OpenComments(t)) > 0 {
		in.Reason = seeComments
	}
	in = in.reasoned()
	return run(s, evRejectMerge, id, a, in, now)
}

var personIsLast = &Condition{Text: "review.mode is disabled, or reviewers have approved and more approvals are needed; with it they are as many as review.quorum asks for",
	Holds: func(m *move) bool { return m.personDecides() && quorumMet.Holds(m) }, Else: &reviewDisabled}

var personIsNotLast = &Condition{Text: "the same, and review.quorum asks for more approvals",
	Holds: func(m *move) bool { return m.personDecides() && quorumOpen.Holds(m) }, Else: &reviewDisabled}

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
	if m.rule.Event == evApproveMerge && t.Review != nil && t.Review.Mode == blackboard.ReviewStrict {
		return m.acceptWarnings(warnings(t))
	}
	return nil
}}

var reviewDisabled = Guard{"G65", "review.mode is disabled", func(m *move) error {
	if m.in.ReviewMode != blackboard.ReviewDisabled {
		return m.refuseNext("liza claim-review "+m.task.ID, "G65", ExitRefused, "no merge approval is waiting for %s, which is %s: a reviewer judges it first", m.task.ID, m.task.Status)
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
		return m.refuseNext("liza approve "+m.task.ID+" --override --reason T", "G65", ExitRefused, "%s against %s; --override --reason T accepts them", plural(n, "warning"), m.task.ID)
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

// severityOf returns the severity of a finding, by default warning (specs/roles-and-knowledge.md#5.3).
func severityOf(f *blackboard.Finding) string {
	if f.Severity == "" {
		return "warning"
	}
	return f.Severity
}

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
