package transition

import "strings"

// Event names what happens to a task; it is the verb of specs/protocol.md#4.3.
type Event string

// The events of specs/protocol.md#4.3.
const (
	EvDraft             Event = "draft"
	EvCreate            Event = "create"
	EvFinalize          Event = "finalize"
	EvReserve           Event = "reserve"
	EvClaim             Event = "claim"
	EvIntent            Event = "intent"
	EvSubmit            Event = "submit"
	EvPass              Event = "pass"
	EvClaimReview       Event = "claim_review"
	EvApprove           Event = "approve"
	EvReject            Event = "reject"
	EvReplan            Event = "replan"
	EvReviewRelease     Event = "review_release"
	EvVoidApproval      Event = "void_approval"
	EvApproveMerge      Event = "approve_merge"
	EvAskAgain          Event = "ask_again"
	EvRejectMerge       Event = "reject_merge"
	EvMergeIntent       Event = "merge_intent"
	EvMerge             Event = "merge"
	EvIntegrationFailed Event = "integration_failed"
	EvBlock             Event = "block"
	EvLimit             Event = "limit"
	EvHalt              Event = "halt"
	EvDependencyLost    Event = "dependency_lost"
	EvUnblock           Event = "unblock"
	EvResubmit          Event = "resubmit"
	EvRetarget          Event = "retarget"
	EvSupersede         Event = "supersede"
	EvAbandon           Event = "abandon"
	EvHold              Event = "hold"
	EvUnhold            Event = "unhold"
	EvRelease           Event = "release"
	EvHandoff           Event = "handoff"
	EvRetry             Event = "retry"
	EvRunFailed         Event = "run_failed"
	EvRerun             Event = "rerun"
	EvRestep            Event = "restep"
)

func verbOf(event Event) string {
	if event == EvMergeIntent { // a step of the verb
		event = EvMerge
	}
	return strings.ReplaceAll(string(event), "_", " ")
}

// commandOf is the command of `liza` that causes the event, or that explains it.
func commandOf(event Event) string {
	switch event {
	case EvDraft, EvCreate:
		return "add-task"
	case EvReserve:
		return "claim"
	case EvClaimReview:
		return "claim-review"
	case EvApprove, EvReject, EvReplan, EvVoidApproval:
		return "verdict"
	case EvReviewRelease:
		return "release"
	case EvApproveMerge:
		return "approve-merge"
	case EvRejectMerge:
		return "reject-merge"
	case EvMergeIntent, EvIntegrationFailed, EvPass, EvAskAgain:
		return "merge"
	case EvLimit, EvHalt:
		return "resubmit"
	case EvDependencyLost:
		return "unblock"
	case EvRetarget:
		return "supersede"
	case EvRetry, EvRunFailed:
		return "run"
	}
	return string(event)
}
