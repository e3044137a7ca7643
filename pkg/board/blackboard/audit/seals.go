package audit

import (
	"slices"

	"liza/pkg/board/blackboard"
)

// The rule V66: approvals that no verb made.

// Forgeries returns the approvals of a state that no verb made. prev is the state that Liza wrote last, or nil if unknown.
// edited means that s is a person's edit of prev; otherwise verbs may have changed it too, at since or later.
func Forgeries(s, prev *blackboard.State, k blackboard.Sealer, edited bool, since blackboard.Time) []blackboard.Violation {
	v := &validation{s: s, prev: prev, repeated: map[string]bool{}, rule: ruleOf("V66")}
	for t := range s.Tasks() {
		v.forged(t, v.old(t.ID), prev != nil, k, edited, since)
	}
	v.forgedTip(prev, k, edited)
	return v.found
}

func (v *validation) forged(t, old *blackboard.Task, known bool, k blackboard.Sealer, edited bool, since blackboard.Time) {
	if !t.Status.NeedsSeal() {
		if old != nil && edited {
			v.movedCommits(t, old)
		}
		v.forgedApprovals(t, old, known, k, edited)
		return
	}
	why := t.SealFits(k)
	came := old == nil || !t.SameApproval(old)
	switch {
	case why == "" && (!came || old == nil && !edited):
		if !known && t.Status == blackboard.Approved && t.Seal.At < since {
			v.forgery(t, "its seal is older than the state that Liza wrote last")
		}
	case why == "" && old != nil && !edited && t.Seal.At >= since:
		// written by a verb whose record was lost with the power
	case why == "" && t.Status == blackboard.Merged && old == nil: // put back as it was
	case why != "" && t.Status == blackboard.Merged && old == nil && known && (t.Seal == nil || t.Seal.Key != k.Name()): // history
	case why != "" && t.Status == blackboard.Merged && !came && t.Seal == nil: // history already before
	case why == "":
		v.forgery(t, "the board was edited by hand")
	default:
		v.forgery(t, why)
	}
}

// forgedApprovals reports approvals that no verb gave. The seal of approved work covers its approvals.
func (v *validation) forgedApprovals(t, old *blackboard.Task, known bool, k blackboard.Sealer, edited bool) {
	for _, a := range t.Approvals {
		if old.HasApproval(a) && (!edited || k == nil) {
			continue
		}
		why := a.SealFits(t.ID, k)
		if why == "" && known && edited && !old.HasApproval(a) {
			why = "the board was edited by hand"
		}
		if why != "" {
			v.task(t, "approvals", "the approval by %s was not given by a verb (%s); liza verdict %s approve as that reviewer does that; liza restore takes the edit back", a.Reviewer, why, t.ID)
		}
	}
}

// movedCommits reports a task, not yet approved, whose commits a person changed: only a submission sets the commits to review
// and merge.
func (v *validation) movedCommits(t, old *blackboard.Task) {
	for _, f := range []struct{ name, is, was string }{
		{"review_commit", t.ReviewCommit, old.ReviewCommit}, {"approved_commit", t.ApprovedCommit, old.ApprovedCommit},
		{"approved_by", t.ApprovedBy, old.ApprovedBy}, {"merge_commit", t.MergeCommit, old.MergeCommit},
	} {
		if f.is != f.was && f.is != "" {
			v.task(t, f.name, "%s was changed by hand; a submission or a verdict sets it: liza submit %s, liza verdict %s", f.name, t.ID, t.ID)
		}
	}
}

// forgery adds a violation with the verb that the edit imitates.
func (v *validation) forgery(t *blackboard.Task, why string) {
	verb := "liza verdict " + t.ID + " approve as its reviewer does that (liza --as code-reviewer-1 claim-review " + t.ID + ")"
	switch {
	case t.Status == blackboard.Merged:
		verb = "liza merge " + t.ID + " does that, after an approval"
	case t.MergeApproval != nil && t.MergeApproval.Decision != "":
		verb = "liza verdict " + t.ID + " approve and liza approve " + t.ID + " do that"
	}
	v.task(t, "status", "%s was not reached by a verb (%s); %s; liza restore takes the edit back", t.Status, why, verb)
}

// forgedTip reports a tip of the integration branch that no verb set: an agent that could write one
// by hand could move the branch as well, and nobody would notice.
func (v *validation) forgedTip(prev *blackboard.State, k blackboard.Sealer, edited bool) {
	is, why := v.s.Integration, ""
	edited = edited && prev != nil
	switch {
	case is == nil && edited && prev.Integration != nil:
		why = "the section was removed"
	case is == nil:
		if k != nil && slices.ContainsFunc(v.s.TaskList(), func(t *blackboard.Task) bool {
			return t.Seal != nil && t.Seal.Verdict == "merged" && t.SealFits(k) == ""
		}) {
			why = "the section is missing, and Liza has merged here"
		}
	case k != nil && is.SealFits(k) != "":
		why = is.SealFits(k)
	case edited && prev.Integration != nil && !is.SameTip(prev.Integration):
		why = "the board was edited by hand"
	}
	if why != "" {
		v.section("integration", ".tip", "integration.tip was not set by a verb (%s); liza sync --accept and liza sync --restore decide about the branch; liza restore takes the edit back", why)
	}
}
