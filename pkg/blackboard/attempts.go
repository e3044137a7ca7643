package blackboard

// attemptOutcomes is what an event of the task means for the run that led to it (
// specs/protocol.md#2.3, attempts).
var attemptOutcomes = map[HistoryEvent]string{
	HistoryReadyForReview: "submitted", HistoryApproved: "approved", HistoryRejected: "rejected", HistoryMerged: "merged", HistoryBlocked: "blocked", HistoryRetried: "retry",
	HistoryApprovalVoided: "submitted",
}

// finishedRun is the outcome of a run of which nothing is known yet but that it ended well.
const finishedRun = "finished"

// crashedRun is the outcome of a run whose program failed by itself.
const crashedRun = "crashed"

// judgeAttempt writes what came of the work into the newest run of the coder, and, for a
// verdict, of the reviewer. Runs that ended badly keep how they ended.
func (t *Task) judgeAttempt(event HistoryEvent) {
	outcome, ok := attemptOutcomes[event]
	more := event == HistoryApprovalRecorded // other reviewers judge the work yet
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
		reviewer := a.Kind == string(RoleReviewer)
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
func (t *Task) outcomeSoFar() string {
	for h := range t.backwards() {
		if outcome, ok := attemptOutcomes[h.Event]; ok {
			return outcome
		}
		if IsClaimEvent(h.Event) {
			break
		}
	}
	return finishedRun
}
