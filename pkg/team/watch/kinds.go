package watch

import (
	"time"

	"liza/pkg/board/blackboard"
)

// Kinds lists every kind of alert in the order of specs/protocol.md#10.2, and the role_unusable of
// specs/roles-and-knowledge.md#1.7.
var Kinds = []Kind{
	{blackboard.AlertInvalidState, Error, "validation reports errors, or the file does not parse", "", invalidState},
	{blackboard.AlertForgedApproval, Error, "an approval or a merge is on the board that no verb made (V66)", "", forgedApproval},
	{blackboard.AlertJournalBroken, Error, "an entry of the journal was changed, cut, moved or put in (V68)", "", journalBroken},
	{blackboard.AlertStateWentBack, Error, "the state is older than the one that was written last, or journal entries were kept aside", "", stateWentBack},
	{blackboard.AlertLeaseExpired, Warning, "a task is CLAIMED and its holder's lease is over", "lease_grace", leaseExpired},
	{blackboard.AlertReviewLeaseExpired, Warning, "a task is under review and its reviewer's lease is over", "lease_grace", reviewLeaseExpired},
	{blackboard.AlertLivenessUnknown, Warning, "whether a holder lives is unknown", "", livenessUnknown},
	{blackboard.AlertOrphanProcess, Error, "a program of a dead registration runs and could not be stopped", "", orphanProcess},
	{blackboard.AlertBlocked, Warning, "a task is BLOCKED", "", blocked},
	{blackboard.AlertQuestionOpen, Warning, "a question is open that belongs to no BLOCKED task", "", questionOpen},
	{blackboard.AlertMergeApproval, Info, "a task is APPROVED and waits for a person's decision", "", mergeApproval},
	{blackboard.AlertQuorumOpen, Warning, "a task has approvals, review.quorum asks for more, and no registered reviewer can give them", "", quorumOpen},
	{blackboard.AlertOrphanedRejected, Warning, "a task is REJECTED, and no coder is live or nobody claimed it for", "alert_orphaned_rejected", orphanedRejected},
	{blackboard.AlertReviewLoop, Warning, "one more rejection blocks the task", "max_review_cycles", reviewLoop},
	{blackboard.AlertApproachingLimit, Warning, "80 % of the iterations, or 75 % of cost, time or tokens are used", "max_coder_iterations, cost_cents, time_minutes, tokens", approachingLimit},
	{blackboard.AlertHypothesisExhausted, Error, "the task is exhausted and not terminal", "2 coders", hypothesisExhausted},
	{blackboard.AlertIntegrationFailed, Warning, "a task is INTEGRATION_FAILED", "", integrationFailed},
	{blackboard.AlertIntegrationCheckedOut, Error, "an APPROVED task cannot be merged because the integration branch is checked out", "", integrationCheckedOut},
	{blackboard.AlertIntegrationMoved, Error, "the integration branch is where Liza did not put it; merges wait", "", integrationMoved},
	{blackboard.AlertBaselineRed, Warning, "a check fails on the base of the work, so it does not count against a change", "", baselineRed},
	{blackboard.AlertIntegrationStale, Info, "base_ref has more commits that the integration branch lacks than", "50", integrationStale},
	{blackboard.AlertReassigned, Info, "a CLAIMED task was another agent's before", "", reassigned},
	{blackboard.AlertStalled, Error, "the sprint is IN_PROGRESS without a control file, but no log entry and no output came for", "alert_stalled", stalled},
	{blackboard.AlertStaleDraft, Warning, "a task is DRAFT for", "alert_stale_draft", staleDraft},
	{blackboard.AlertImmediateDiscovery, Warning, "an immediate discovery is neither converted nor deferred", "", immediateDiscovery},
	{blackboard.AlertSystemAmbiguity, Warning, "an agent reported that the rules are unclear, and no person has written a note since", "", systemAmbiguity},
	{blackboard.AlertSpecChanged, Warning, "the spec of a task changed after its claim", "", specChanged},
	{blackboard.AlertPlannerStuck, Error, "a trigger does not wake the planner any more", "planner_retries", plannerStuck},
	{blackboard.AlertNoAgent, Warning, "there is work for a role, but no live agent of it for", "120", noAgent},
	{blackboard.AlertRoleUnusable, Error, "a task that is not over, or the planner or reviewer, has a role that cannot be used", "", roleUnusable},
	{blackboard.AlertCrashLoop, Error, "a supervisor gave up", "crash_limit", crashLoop},
	{blackboard.AlertHeldBySystem, Warning, "a task is on hold by system", "", heldBySystem},
	{blackboard.AlertBreaker, Error, "the circuit breaker is TRIGGERED", "", breakerTriggered},
	{blackboard.AlertCheckpointOpen, Warning, "the sprint waits at a checkpoint for a person", "", checkpointOpen},
	{blackboard.AlertCheckpointStale, Warning, "the CHECKPOINT file is as old as", "alert_checkpoint_stale", checkpointStale},
	{blackboard.AlertCheckpointStuck, Error, "the CHECKPOINT file is as old as", "alert_checkpoint_stuck", checkpointStuck},
	{blackboard.AlertCheckpointAbandoned, Error, "the CHECKPOINT file is as old as", "alert_checkpoint_abandoned", checkpointAbandoned},
	{blackboard.AlertPauseStale, Info, "the PAUSE file is as old as", "alert_pause_stale", pauseStale},
	{blackboard.AlertPauseForgotten, Warning, "the PAUSE file is as old as", "alert_pause_forgotten", pauseForgotten},
	{blackboard.AlertSprintDeadlineNear, Info, "less than 10 % of the sprint's time is left", "timeline.deadline", deadlineNear},
	{blackboard.AlertSprintDeadline, Warning, "the deadline has passed and the sprint is IN_PROGRESS", "timeline.deadline", deadlinePassed},
	{blackboard.AlertRubberStamp, Warning, "more than 95 % of at least 5 verdicts are approvals", "95 %, 5 verdicts", rubberStamp},
	{blackboard.AlertNothingMerged, Warning, "all tasks are terminal and none is MERGED", "", nothingMerged},
	{blackboard.AlertCost, Warning, "75 % of a limit of the sprint or of the day are used; at 100 % an error", "sprint_cost_cents, sprint_time_minutes, sprint_tokens, day_cost_cents", cost},
	{blackboard.AlertDiskLow, Error, "the free space on the project's file system is below", "policy.min_free_mb", diskLow},
	{blackboard.AlertClockJump, Warning, "the clock of this machine jumped by more than", "30 s", clockJump},
	{blackboard.AlertClockOff, Warning, "the clock of a host is further from that of the board than", "lease_grace", clockOff},
	{blackboard.AlertLockBusy, Warning, "one process holds the lock of the state for more than", "5 s", lockBusy},
	{blackboard.AlertSettingsChanged, Warning, "config.yaml, a role, a skill, instructions.md or the section config changed while an agent program ran", "", nil},
	{blackboard.AlertWorkNotSaved, Error, "work could not be let go because it is saved nowhere else", "", nil},
	{blackboard.AlertCheckoutChanged, Warning, "something outside of its worktree changed during a run", "", nil},
	{blackboard.AlertRemoteTrouble, Error, "the git remote over which work travels refuses, or does not answer", "", nil},
	{blackboard.AlertGitLockRemoved, Info, "a stale lock file of git was removed", "", nil},
	{blackboard.AlertJournalRepaired, Info, "the end of the journal was cut", "", nil},
	{blackboard.AlertHandEdit, Info, "a person edited the state", "", nil},
	{blackboard.AlertMirror, Warning, "the copy of a board in a database, .liza/state.yaml, could not be written", "", nil},
	{blackboard.AlertNoEvents, Warning, "the system tells of no changes (limit of inotify instances), so files are looked at every second", "", nil},
}

func severityOf(kind blackboard.AlertKind) string {
	for _, k := range Kinds {
		if k.Name == kind {
			return k.Severity
		}
	}
	return Warning
}

// Notice is a one-time notice: something that happened, rather than something that lasts.
// It is cleared after one day.
func Notice(kind blackboard.AlertKind, subject, message string, now time.Time) Alert {
	at := now.UTC().Truncate(time.Second)
	return Alert{Kind: kind, Subject: word(subject), Severity: severityOf(kind), Message: line(message), Since: at, Until: at.Add(noticeLife)}
}
