package transition

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"liza/pkg/board/blackboard"
)

// verdictRules are the rows of approve, reject, replan and void_approval.
var verdictRules = []Rule{
	{ID: "T14", Event: evApprove, From: from(blackboard.ReadyForReview), To: blackboard.Approved, Who: ByReviewer | SReviewer, When: quorumMet,
		Needs:   needs(callerIsReviewer, holdsReview, headUnmoved, cleanForApproval, noErrorFinding, reviewersDecide, notApprovedBefore, picked),
		Does:    does(storeApproval, endReview),
		History: records(blackboard.HistoryApproved), Log: names(blackboard.ActionApproved)},
	{ID: "T14", Event: evApprove, From: from(blackboard.ReadyForReview), Who: ByReviewer | SReviewer, When: quorumOpen,
		Needs:   needs(callerIsReviewer, holdsReview, headUnmoved, cleanForApproval, noErrorFinding, reviewersDecide, notApprovedBefore, picked),
		Does:    does(countApproval, endReview),
		History: records(blackboard.HistoryApprovalRecorded), Log: names(blackboard.ActionApprovalRecorded)},
	{ID: "T15", Event: evReject, From: from(blackboard.ReadyForReview), To: blackboard.Rejected, Who: ByReviewer | SReviewer, When: cyclesLeft,
		Needs:   needs(callerIsReviewer, holdsReview, reasonGiven, reviewersDecide, picked),
		Does:    does(storeRejection, endReview),
		History: records(blackboard.HistoryRejected), Log: names(blackboard.ActionRejected)},
	{ID: "T16", Event: evReject, From: from(blackboard.ReadyForReview), To: blackboard.Blocked, Who: ByReviewer | SReviewer, When: lastCycle,
		Needs:   needs(callerIsReviewer, holdsReview, reasonGiven, reviewersDecide, picked),
		Does:    does(storeRejection, endReview, endClaim, deadlock),
		History: records(blackboard.HistoryRejected, blackboard.HistoryBlocked), Log: names(blackboard.ActionRejected, blackboard.ActionBlocked)},
	{ID: "T17", Event: evReplan, From: from(blackboard.ReadyForReview), To: blackboard.Blocked, Who: ByReviewer | SReviewer,
		Needs:   needs(callerIsReviewer, holdsReview, reasonGiven, reviewersDecide, picked),
		Does:    does(storeReplan, endReview, endClaim),
		History: records(blackboard.HistoryBlocked), Log: names(blackboard.ActionBlocked, blackboard.ActionReplanned)},
	{ID: "T42", Event: evVoidApproval, From: from(blackboard.Approved), To: blackboard.ReadyForReview, Who: SReviewer,
		Needs:   needs(approvedInThisRun),
		Does:    does(takeApprovalBack),
		History: records(blackboard.HistoryApprovalVoided), Log: names(blackboard.ActionApprovalVoided)},
	{ID: "T42", Event: evVoidApproval, From: from(blackboard.ReadyForReview), Who: SReviewer,
		Needs:   needs(approvedInThisRun),
		Does:    does(takeApprovalBack),
		History: records(blackboard.HistoryApprovalVoided), Log: names(blackboard.ActionApprovalVoided)},
}

// ReviewFacts are the facts that a verdict needs.
type ReviewFacts struct {
	BranchTip string
	Head      string
	Dirty     []string
	Tree      string // tree of the commit under review
}

func (m *move) reviewed() ReviewFacts {
	if m.in.Review == nil {
		return ReviewFacts{}
	}
	return *m.in.Review
}

// VerdictInput is a reviewer's verdict (specs/roles-and-knowledge.md#5.3).
type VerdictInput struct {
	Findings    []*blackboard.Finding
	Inject      []*blackboard.Fix
	Prior       []*blackboard.Prior
	Suggestions blackboard.List
	Checks      string // sum of the commands that can fail the work
}

// Approve records the verdict ok (T14). An error finding turns it into a rejection by the gate (G58); overruled is then the
// reason.
func Approve(s *blackboard.State, id string, a Actor, in Input, now time.Time) (overruled string, err error) {
	m, err := begin(s, evApprove, id, a, in, now)
	if err == nil {
		err = m.check()
	}
	if err != nil {
		return "", err
	}
	if in.Verdict != nil {
		for _, p := range in.Verdict.Prior {
			if p.State == blackboard.PriorStillPresent {
				return "", m.refuseNext("liza verdict "+id+" reject --reason T", "", ExitUsage, "prior point %d of %s is STILL_PRESENT; that cannot be approved", p.N, id)
			}
		}
	}
	errs := m.errorFindings()
	if len(errs) == 0 {
		m.apply()
		return "", nil
	}
	overruled = "rejected by the gate: " + strings.Join(errs, "; ")
	in.Reason = overruled
	if err := run(s, evReject, id, a, in, now); err != nil {
		return "", err
	}
	s.Task(id).RejectionReason.Overruled = true
	extra := withExtra(via(a), "level", "warning")
	s.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(now), Agent: a.ID, Action: blackboard.ActionGateOverruledOK, Task: id, Detail: oneLine(overruled), Extra: extra})
	return overruled, nil
}

// errorFindings describes the error findings of checks and reviewer, which forbid an approval.
func (m *move) errorFindings() []string {
	var all []*blackboard.Finding
	if r := m.task.Review; r != nil {
		all = append(all, r.Findings...)
	}
	if v := m.in.Verdict; v != nil {
		all = append(all, v.Findings...)
	}
	var errs []string
	for _, f := range all {
		if f.Severity == "error" && f.Check != blackboard.CheckSettings { // that one is for a person, before the merge
			errs = append(errs, describeFinding(f))
		}
	}
	return errs
}

// Reject records the verdict needs_fix; at the last cycle it blocks the task (T15, T16).
func Reject(s *blackboard.State, id string, a Actor, in Input, now time.Time) error {
	return run(s, evReject, id, a, in, now)
}

// Replan records the verdict replan (T17).
func Replan(s *blackboard.State, id string, a Actor, in Input, now time.Time) error {
	return run(s, evReplan, id, a, in, now)
}

// VoidApproval revokes the approval of a run that ends with another answer (T42): the reviewer judges again. It comes before
// EndRun, in the same write.
func VoidApproval(s *blackboard.State, id string, a Actor, in Input, now time.Time) error {
	return run(s, evVoidApproval, id, a, in, now)
}

var cyclesLeft = &Condition{Text: "a review cycle is left, or its last result is accepted with on_review_depth proceed", Holds: func(m *move) bool {
	return m.task.ReviewCyclesCurrent+1 < maxReviewCycles(m.state, m.task) || m.proceeds()
}}

var lastCycle = &Condition{Text: "it is the last review cycle", Holds: func(m *move) bool { return !cyclesLeft.Holds(m) }}

var headUnmoved = Guard{"G55", "branch and worktree are still at the review commit", onlyCode(func(m *move) error {
	f := m.reviewed()
	for _, at := range []string{f.BranchTip, f.Head} {
		if at != m.task.ReviewCommit {
			return m.refuseNext(m.lookCommand(), "G55", ExitRefused, "HEAD moved from %s to %s after the submission, and only what was submitted can be approved", blackboard.ShortCommit(m.task.ReviewCommit), orNone(blackboard.ShortCommit(at)))
		}
	}
	return nil
})}

// lookCommand returns the next command for an approval that was refused. A reviewer may have moved HEAD itself, and must not
// reject the coder's work for it.
func (m *move) lookCommand() string {
	if m.rule.Event == evApproveMerge {
		return "liza reject " + m.task.ID + " --reason 'HEAD moved'"
	}
	return "git -C " + m.task.Worktree + " status"
}

func orNone(commit string) string {
	if commit == "" {
		return "nothing"
	}
	return commit
}

var cleanForApproval = Guard{"G56", "the worktree is clean", onlyCode(func(m *move) error {
	if d := m.reviewed().Dirty; len(d) > 0 {
		return refuse("G56", ExitRefused, fmt.Sprintf("git -C %s status", m.task.Worktree),
			"the worktree was changed during the review: %s", listPaths(d))
	}
	return nil
})}

// noErrorFinding never refuses; Approve turns an approval against an error finding into T15 or T16 with the errors as reason.
var noErrorFinding = Guard{"G58", "no finding is of severity error; otherwise the gate turns the approval into T15 or T16", func(*move) error { return nil }}

var reasonGiven = Guard{"G57", "a reason is given", func(m *move) error {
	if blank(m.in.Reason) {
		return m.no("G57", ExitUsage, "--reason is empty: say file, defect and fix")
	}
	return nil
}}

// reviewersDecide: in mode disabled nothing but a person's decision moves the task (4.8).
var reviewersDecide = Guard{"G65", "review.mode is not disabled", func(m *move) error {
	if m.in.ReviewMode == blackboard.ReviewDisabled {
		return m.refuseNext(DecisionOn(m.state, m.task), "G65", ExitRefused, "review.mode is disabled: a person decides about %s", m.task.ID)
	}
	return nil
}}

var approvedInThisRun = Guard{"", "the caller approved the task, in the run that ends now", func(m *move) error {
	if a := m.me(); m.task.ApprovedBy != m.actor.ID && !m.task.HasApprovalBy(m.actor.ID) || a == nil || a.Child == nil || a.Child.Task != m.task.ID {
		return m.refuseNext("liza show "+m.task.ID, "", ExitFailure, "%s did not approve %s in this run", m.actor.ID, m.task.ID)
	}
	return nil
}}

// storeReview replaces the review by the verdict and keeps the results of the checks.
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
		r.Findings, r.Suggestions = append(findings, copies(v.Findings)...), clone(v.Suggestions)
	}
	t.Review = r
	t.ReviewFailures = 0
	m.h.Commit = t.ReviewCommit
	return r
}

var storeApproval = Effect{"approved_by, approved_commit = review_commit; approvals, with review.quorum; rejection_reason, fixes null; review.status ok; review_failures 0; merge_approval by review.mode, required with open comments of people and with changed settings of agent programs", func(m *move) {
	t := m.task
	r := m.storeReview("ok")
	m.recordApproval()
	t.ApprovedBy, t.ApprovedCommit = m.actor.ID, t.ReviewCommit
	t.RejectionReason, t.Fixes = nil, nil
	t.MergeApproval = nil
	if m.in.ReviewMode == blackboard.ReviewStrict || m.in.ReviewMode == blackboard.ReviewNormal && !m.in.AutoMerge || len(m.state.OpenComments(t)) > 0 || changesSettings(r) {
		t.MergeApproval = &blackboard.MergeApproval{Required: true}
	}
	m.detail = "commit " + blackboard.ShortCommit(t.ReviewCommit)
	if m.in.ReviewMode == blackboard.ReviewYolo {
		m.journalWarnings(r)
	}
}}

// changesSettings reports whether the work changes what agent programs take as their settings.
func changesSettings(r *blackboard.Review) bool {
	return slices.ContainsFunc(r.Findings, func(f *blackboard.Finding) bool { return f.Check == blackboard.CheckSettings })
}

var takeApprovalBack = Effect{"approved_by, approved_commit, merge_approval null; its own of approvals removed; review.status null; the review claim again, when the reviewer has no other and nobody else has it", func(m *move) {
	t, a := m.task, m.me()
	t.ApprovedBy, t.ApprovedCommit, t.MergeApproval = "", "", nil
	t.Approvals = slices.DeleteFunc(t.Approvals, func(x *blackboard.Approval) bool { return x.Reviewer == m.actor.ID })
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
		t.RejectionReason.Prior, t.Fixes = copies(v.Prior), copies(v.Inject)
		if len(t.RejectionReason.Checks) > 0 {
			m.h.Checks = v.Checks
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

func describeFinding(f *blackboard.Finding) string {
	text := f.Message
	if f.File != "" {
		text = f.File + ": " + text
	}
	if f.Check != "" {
		text = "check " + f.Check + ": " + text
	}
	return text
}
