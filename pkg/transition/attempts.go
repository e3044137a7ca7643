package transition

import "liza/pkg/blackboard"

// attemptOutcomes is what an event of the task means for the run that led to it (
// specs/protocol.md#2.3, attempts).
var attemptOutcomes = map[blackboard.HistoryEvent]string{
	blackboard.HistoryReadyForReview: "submitted", blackboard.HistoryApproved: "approved", blackboard.HistoryRejected: "rejected", blackboard.HistoryMerged: "merged", blackboard.HistoryBlocked: "blocked", blackboard.HistoryRetried: "retry",
	blackboard.HistoryApprovalVoided: "submitted",
}

// finishedRun is the outcome of a run of which nothing is known yet but that it ended well.
const finishedRun = "finished"

// crashedRun is the outcome of a run whose program failed by itself.
const crashedRun = "crashed"

// judgeAttempt writes what came of the work into the newest run of the coder, and, for a
// verdict, of the reviewer. Runs that ended badly keep how they ended.
func judgeAttempt(t *blackboard.Task, event blackboard.HistoryEvent) {
	outcome, ok := attemptOutcomes[event]
	more := event == blackboard.HistoryApprovalRecorded // other reviewers judge the work yet
	if more {
		outcome, ok = "approved", true
	}
	if !ok {
		return
	}
	judged := map[string]bool{}
	for i := len(t.Attempts) - 1; i >= 0; i-- {
		a := t.Attempts[i]
		if a == nil || judged[a.Kind] || a.ClaimSeq != t.ClaimSeq {
			continue
		}
		judged[a.Kind] = true
		reviewer := a.Kind == string(blackboard.RoleReviewer)
		if more && !reviewer {
			continue
		}
		switch a.Outcome {
		case finishedRun:
			a.Outcome = outcome
		case "submitted", "approved", "rejected":
			if !reviewer {
				a.Outcome = outcome
			}
		}
	}
}

// outcomeSoFar is what the board says of a coder's run that has just ended: its verbs may
// have come before its end.
func outcomeSoFar(t *blackboard.Task) string {
	for h := range t.Backwards() {
		if outcome, ok := attemptOutcomes[h.Event]; ok {
			return outcome
		}
		if blackboard.IsClaimEvent(h.Event) {
			break
		}
	}
	return finishedRun
}
