package transition

import (
	"slices"

	"liza/pkg/board/blackboard"
)

// repeated reports whether the event is the latest of its task, by the same actor with the
// same arguments, and still holds (specs/protocol.md#0.7). A merge is nobody's in particular:
// anyone who comes second finds it done.
func (m *move) repeated(event Event) bool {
	t, h, in := m.task, m.task.Last(), m.in
	switch {
	case event == evMerge, event == evMergeIntent:
		return t.Status == blackboard.Merged && (m.merge().Commit == "" || m.merge().Commit == t.MergeCommit)
	case h == nil || h.Agent != m.actor.ID:
		return false
	}
	switch event {
	case evSubmit:
		same := !t.ChangesFiles() || h.Commit != "" && h.Commit == m.submission().Commit
		return t.Status == blackboard.ReadyForReview && h.Event == blackboard.HistoryReadyForReview && same && h.NoTests == in.NoTests
	case evApprove:
		overruled := m.rejectedBefore() && Overruled(t)
		if t.Status == blackboard.ReadyForReview && h.Event == blackboard.HistoryApprovalRecorded {
			return m.sameApproval()
		}
		return (overruled || t.Status == blackboard.Approved && h.Event == blackboard.HistoryApproved && !h.Merge) && m.sameFindings()
	case evReject:
		return m.rejectedBefore() && t.RejectionReason.Summary == in.Reason && m.sameFindings() && m.sameAdvice()
	case evReplan:
		return t.Status == blackboard.Blocked && h.Event == blackboard.HistoryBlocked && h.Kind == blackboard.BlockedForReplan && t.BlockedReason == in.Reason && m.sameFindings()
	case evReviewRelease:
		return in.What == "stuck" && t.Status == blackboard.ReadyForReview && h.Event == blackboard.HistoryHeld && t.Hold != nil && t.Hold.By == blackboard.System &&
			t.Review != nil && t.Review.Status == "stuck" && t.Review.Reason == in.Reason
	case evBlock:
		return t.Status == blackboard.Blocked && h.Event == blackboard.HistoryBlocked && t.BlockedReason == in.Reason &&
			slices.Equal(t.BlockedQuestions, in.Questions) && slices.Equal(t.Attempted, in.Attempted)
	case evIntent:
		return t.Status == blackboard.Claimed && h.Event == blackboard.HistoryCheckpoint && in.Intent != nil && blackboard.SameIntent(h.Checkpoint, in.Intent)
	case evHandoff:
		return h.Event == blackboard.HistoryHandoff && t.HandoffPending && sameHandoff(m.state.Handoff[t.ID], in.Handoff)
	case evHold:
		return h.Event == blackboard.HistoryHeld && t.Hold != nil && t.Hold.By == m.actor.name() && t.Hold.Reason == in.Reason
	case evUnhold:
		return h.Event == blackboard.HistoryUnheld && t.Hold == nil
	}
	return false
}

// rejectedBefore reports whether the actor's rejection is the latest event, also when it
// was the last one and blocked the task (T16).
func (m *move) rejectedBefore() bool {
	t, h := m.task, m.task.Last()
	if t.RejectionReason == nil {
		return false
	}
	return t.Status == blackboard.Rejected && h.Event == blackboard.HistoryRejected && !h.Merge ||
		t.Status == blackboard.Blocked && h.Event == blackboard.HistoryBlocked && h.Kind == blackboard.BlockedByDeadlock
}

// sameFindings reports whether findings and suggestions of the verdict are those of the stored review, in which the findings
// of the checks come first.
func (m *move) sameFindings() bool {
	v, r := m.in.Verdict, m.task.Review
	if v == nil {
		return true
	}
	if r == nil || len(r.Findings) < len(v.Findings) || !slices.Equal(r.Suggestions, v.Suggestions) {
		return false
	}
	own := r.Findings[len(r.Findings)-len(v.Findings):]
	return slices.EqualFunc(own, v.Findings, blackboard.SamePointed[blackboard.Finding])
}

// sameApproval reports whether the reviewer's recorded approval of a change with a quorum has the same findings.
func (m *move) sameApproval() bool {
	for _, a := range m.task.Standing() {
		if a.Reviewer == m.actor.ID {
			return m.in.Verdict == nil || slices.EqualFunc(a.Findings, m.in.Verdict.Findings, blackboard.SamePointed[blackboard.Finding])
		}
	}
	return false
}

// sameAdvice compares the corrective steps and the list of earlier points.
func (m *move) sameAdvice() bool {
	v, t := m.in.Verdict, m.task
	if v == nil {
		return true
	}
	sameFix := func(a, b *blackboard.Fix) bool {
		return a.Kind == b.Kind && a.Detail == b.Detail && a.Expect == b.Expect && a.Skill == b.Skill
	}
	return slices.EqualFunc(t.RejectionReason.Prior, v.Prior, blackboard.SamePointed[blackboard.Prior]) &&
		(len(v.Inject) == 0 || slices.EqualFunc(t.Fixes, v.Inject, sameFix))
}

// sameHandoff reports whether two handoffs have the same texts; one that a run has continued is over.
func sameHandoff(was, is *blackboard.Handoff) bool {
	return was != nil && is != nil && was.ConsumedBy == "" &&
		was.Summary == is.Summary && was.NextAction == is.NextAction && was.ContextUsed == is.ContextUsed &&
		was.Approach == is.Approach && was.Blockers == is.Blockers &&
		slices.Equal(was.FilesModified, is.FilesModified) && slices.Equal(was.NextSteps, is.NextSteps)
}

// Overruled reports whether the gate rejected work that its reviewer approved (G58).
func Overruled(t *blackboard.Task) bool {
	return t.RejectionReason != nil && t.RejectionReason.Overruled
}
