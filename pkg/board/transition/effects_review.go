package transition

import (
	"fmt"
	"slices"

	"liza/pkg/board/blackboard"
)

var approveByItself = Effect{"approved_by auto, approved_commit", func(m *move) {
	t := m.task
	t.ApprovedBy, t.ApprovedCommit, t.RejectionReason, t.Fixes = "auto", t.ReviewCommit, nil, nil
	m.h.Auto, m.h.Commit = true, t.ReviewCommit
	m.detail = "auto: no review is asked for"
	if m.unreviewed() {
		m.detail = "auto: accepted after the last review"
		m.state.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(m.now), Agent: blackboard.System, Action: blackboard.ActionAcceptedUnreviewed, Task: t.ID, Extra: map[string]any{"level": "warning"},
			Detail: fmt.Sprintf("accepted without another review after %d rejections (limits.on_review_depth)", t.ReviewCyclesCurrent)})
	}
}}

var endLapsedReview = Effect{"the lapsed reviewer: review_failures + 1, current_task null, status IDLE", func(m *move) {
	t := m.task
	_, why := m.state.ReviewLiveness(t, m.now, m.actor.Facts)
	m.says(blackboard.HistoryLeaseExpired, blackboard.HistoryEntry{Holder: t.ReviewingBy, Lease: t.ReviewLeaseExpires, Cause: why, What: "review"})
	m.detail = ", after the lapsed review of " + t.ReviewingBy
	t.ReviewFailures++
	blackboard.FreeAgent(m.state, t.ReviewingBy, t.ID)
}}

var grantReview = Effect{"reviewing_by, reviewing_generation, review_lease_expires, review_spec_hash; agent REVIEWING with current_task and lease", func(m *move) {
	t, a := m.task, m.me()
	t.ReviewingBy, t.ReviewingGeneration = m.actor.ID, a.Generation
	t.ReviewLeaseExpires = lease(m.state, m.now)
	if m.in.SpecHash != "" {
		t.ReviewSpecHash = m.in.SpecHash
	}
	a.Status, a.CurrentTask, a.LeaseExpires, a.WaitingFor = blackboard.AgentReviewing, t.ID, t.ReviewLeaseExpires, ""
	m.h.Commit = t.ReviewCommit
	m.detail = "commit " + blackboard.ShortCommit(t.ReviewCommit) + m.detail
}}

// storeReview replaces the review by the verdict; what the checks found stays in it.
func (m *move) storeReview(status string) *blackboard.Review {
	t := m.task
	r := &blackboard.Review{Status: status, Mode: m.in.ReviewMode, By: m.actor.name(), Commit: t.ReviewCommit, At: blackboard.TimeOf(m.now), Reason: m.in.Reason}
	if t.Review != nil {
		r.Checks = t.Review.Checks
		r.Findings = t.Review.Findings
	}
	if v := m.in.Verdict; v != nil {
		findings := append([]*blackboard.Finding(nil), r.Findings...)
		if status == "ok" { // with a quorum the reviewers before this one have said theirs
			for _, a := range t.Standing() {
				findings = append(findings, a.Findings...)
			}
		}
		for _, f := range v.Findings {
			own := *f
			findings = append(findings, &own)
		}
		r.Findings, r.Suggestions = findings, clone(v.Suggestions)
	}
	t.Review = r
	t.ReviewFailures = 0
	m.h.Commit = t.ReviewCommit
	return r
}

var storeApproval = Effect{"approved_by, approved_commit = review_commit; approvals, with review.quorum; rejection_reason, fixes null; review.status ok; review_failures 0; merge_approval by review.mode, required with open comments of people", func(m *move) {
	t := m.task
	r := m.storeReview("ok")
	m.recordApproval()
	t.ApprovedBy, t.ApprovedCommit = m.actor.ID, t.ReviewCommit
	t.RejectionReason, t.Fixes = nil, nil
	t.MergeApproval = nil
	if m.in.ReviewMode == blackboard.ReviewStrict || m.in.ReviewMode == blackboard.ReviewNormal && !m.in.AutoMerge || len(m.state.OpenComments(t)) > 0 {
		t.MergeApproval = &blackboard.MergeApproval{Required: true}
	}
	m.detail = "commit " + blackboard.ShortCommit(t.ReviewCommit)
	if m.in.ReviewMode == blackboard.ReviewYolo {
		m.journalWarnings(r)
	}
}}

var takeApprovalBack = Effect{"approved_by, approved_commit, merge_approval null; its own of approvals removed; review.status null; the review claim again, when the reviewer has no other and nobody else has it", func(m *move) {
	t, a := m.task, m.me()
	t.ApprovedBy, t.ApprovedCommit, t.MergeApproval = "", "", nil
	t.Approvals = slices.DeleteFunc(t.Approvals, func(x *blackboard.Approval) bool { return x == nil || x.Reviewer == m.actor.ID })
	reviewOpen(t)
	if a.CurrentTask == "" && t.ReviewingBy == "" {
		t.ReviewingBy, t.ReviewingGeneration, t.ReviewLeaseExpires = m.actor.ID, a.Generation, lease(m.state, m.now)
		a.Status, a.CurrentTask, a.LeaseExpires, a.WaitingFor = blackboard.AgentReviewing, t.ID, t.ReviewLeaseExpires, ""
	}
	m.h.Commit, m.h.Reason = t.ReviewCommit, oneLine(m.in.Reason)
	m.detail = m.in.Reason
}}

// journalWarnings moves the warnings of an approved review into the journal: in mode yolo
// they are nowhere else (specs/roles-and-knowledge.md#5.6).
func (m *move) journalWarnings(r *blackboard.Review) {
	kept := []*blackboard.Finding{}
	for _, f := range r.Findings {
		if severityOf(f) == "warning" {
			m.detail += "; warning: " + oneLine(describeFinding(f))
		} else {
			kept = append(kept, f)
		}
	}
	r.Findings = kept
}

var storeRejection = Effect{"rejection_reason, fixes, with the open comments of people; approvals, quorum null; review.status needs_fix; review_cycles_current + 1, review_cycles_total + 1; review_failures 0", func(m *move) {
	t := m.task
	m.noteStillPresent()
	r := m.storeReview("needs_fix")
	r.Findings = commented(m.state, t, r.Findings)
	dropApprovals(t)
	t.RejectionReason = &blackboard.Rejection{Summary: m.in.Reason, Findings: r.Findings, Checks: failedChecks(r.Checks), Anomalies: anomaliesBy(m.state, m.actor.ID, t.ID)}
	t.Fixes = nil
	if v := m.in.Verdict; v != nil {
		for _, p := range v.Prior {
			own := *p
			t.RejectionReason.Prior = append(t.RejectionReason.Prior, &own)
		}
		for _, f := range v.Inject {
			own := *f
			t.Fixes = append(t.Fixes, &own)
		}
	}
	if len(t.Fixes) == 0 {
		for _, f := range r.Findings {
			if f.Severity == "error" {
				t.Fixes = append(t.Fixes, &blackboard.Fix{Kind: blackboard.CodeTask, Detail: f.Message, Expect: f.Fix})
			}
		}
	}
	for i, f := range t.Fixes {
		f.N = i + 1
	}
	m.countCycle()
}}

func (m *move) countCycle() {
	m.task.ReviewCyclesCurrent++
	m.task.ReviewCyclesTotal++
	m.h.Reason = oneLine(m.in.Reason)
	m.detail = m.in.Reason
}

var deadlock = Effect{"E-BLOCK kind review_deadlock with three questions; E-FAIL(assigned_to); anomaly review_deadlock", func(m *move) {
	t := m.task
	reason := fmt.Sprintf("review_deadlock: %d rejections", t.ReviewCyclesCurrent)
	m.block(blackboard.BlockedByDeadlock, reason, blackboard.List{"Is the criterion right?", "Should another coder or a smaller task be tried?", "Should it be dropped?"}, nil)
	m.fail(t.AssignedTo)
	addAnomaly(m.state, &blackboard.Anomaly{Timestamp: blackboard.TimeOf(m.now), Task: t.ID, Reporter: blackboard.System, Type: blackboard.AnomalyReviewDeadlock, Details: blackboard.Settings{"cycles": t.ReviewCyclesCurrent}})
}}

var storeReplan = Effect{"review.status replan; approvals, quorum null; E-BLOCK kind replan with the reason and one question; plans[].failure", func(m *move) {
	t := m.task
	m.storeReview("replan")
	dropApprovals(t)
	m.block(blackboard.BlockedForReplan, m.in.Reason, blackboard.List{"What other approach meets the goal?"}, nil)
	if p := Plan(m.state, t.Plan); p != nil {
		p.Failure = &blackboard.PlanFailure{Task: t.ID, Reason: m.in.Reason}
	}
}}

var releaseReview = Effect{"E-END-REVIEW; after a failed or lapsed review or a RETRY: review_failures + 1", func(m *move) {
	t := m.task
	m.h.What, m.h.Reason, m.h.Holder = "review", oneLine(m.in.Reason), t.ReviewingBy
	m.detail = t.ReviewingBy + ": " + m.in.Reason
	endReview.Apply(m)
	if m.reviewFailed() {
		t.ReviewFailures++
	}
}}

var holdStuck = Effect{"review.status stuck; hold by system; anomaly review_stuck", func(m *move) {
	t, reason := m.task, oneLine(m.in.Reason)
	if t.Review == nil {
		t.Review = &blackboard.Review{Mode: m.in.ReviewMode}
	}
	t.Review.Status, t.Review.By, t.Review.At, t.Review.Commit, t.Review.Reason = "stuck", m.actor.name(), blackboard.TimeOf(m.now), t.ReviewCommit, m.in.Reason
	t.Hold = &blackboard.Hold{By: blackboard.System, At: blackboard.TimeOf(m.now), Reason: "review stuck: " + reason}
	m.says(blackboard.HistoryHeld, blackboard.HistoryEntry{Reason: t.Hold.Reason})
	addAnomaly(m.state, &blackboard.Anomaly{Timestamp: blackboard.TimeOf(m.now), Task: t.ID, Reporter: blackboard.System, Type: blackboard.AnomalyReviewStuck, Details: blackboard.Settings{"what": reason}})
}}

func failedChecks(checks []*blackboard.Check) []*blackboard.Check {
	var out []*blackboard.Check
	for _, c := range checks {
		if c.Status == blackboard.CheckFailed {
			out = append(out, c)
		}
	}
	return out
}

// anomaliesBy lists the anomalies that an agent recorded for a task.
func anomaliesBy(s *blackboard.State, agent, task string) blackboard.List {
	var ids blackboard.List
	for _, a := range s.Anomalies {
		if a.Task == task && a.Reporter == agent {
			ids = append(ids, a.ID)
		}
	}
	return ids
}

// RecordChecks stores what the checks of a submission found, before anybody judges it. The
// caller has the review claim, and the commit is the one under review (G53, G54).
func RecordChecks(s *blackboard.State, id string, a Actor, r *blackboard.Review) error {
	t, e := s.Task(id), s.Agents[a.ID]
	if t == nil || t.Status != blackboard.ReadyForReview || t.ReviewingBy != a.ID || !blackboard.RegistrationOf(e, t.ReviewingGeneration) || t.ReviewCommit != r.Commit {
		return refuse("G53", ExitLeaseLost, "liza show "+id, "the review claim on %s ended while it was checked", id)
	}
	t.Review = r
	return nil
}
