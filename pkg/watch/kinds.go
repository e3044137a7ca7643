package watch

import "time"

// Kinds lists every kind of alert in the order of specs/protocol.md#10.2, and the role_unusable of
// specs/roles-and-knowledge.md#1.7.
var Kinds = []Kind{
	{"INVALID_STATE", Error, "validation reports errors, or the file does not parse", "", invalidState},
	{"FORGED_APPROVAL", Error, "an approval or a merge is on the board that no verb made (V66)", "", forgedApproval},
	{"JOURNAL_BROKEN", Error, "an entry of the journal was changed, cut, moved or put in (V68)", "", journalBroken},
	{"STATE_WENT_BACK", Error, "the state is older than the one that was written last, or journal entries were kept aside", "", stateWentBack},
	{"LEASE_EXPIRED", Warning, "a task is CLAIMED and its holder's lease is over", "lease_grace", leaseExpired},
	{"REVIEW_LEASE_EXPIRED", Warning, "a task is under review and its reviewer's lease is over", "lease_grace", reviewLeaseExpired},
	{"LIVENESS_UNKNOWN", Warning, "whether a holder lives is unknown", "", livenessUnknown},
	{"ORPHAN_PROCESS", Error, "a program of a dead registration runs and could not be stopped", "", orphanProcess},
	{"BLOCKED", Warning, "a task is BLOCKED", "", blocked},
	{"QUESTION_OPEN", Warning, "a question is open that belongs to no BLOCKED task", "", questionOpen},
	{"MERGE_APPROVAL", Info, "a task is APPROVED and waits for a person's decision", "", mergeApproval},
	{"QUORUM_OPEN", Warning, "a task has approvals, review.quorum asks for more, and no registered reviewer can give them", "", quorumOpen},
	{"ORPHANED_REJECTED", Warning, "a task is REJECTED, and no coder is live or nobody claimed it for", "alert_orphaned_rejected", orphanedRejected},
	{"REVIEW_LOOP", Warning, "one more rejection blocks the task", "max_review_cycles", reviewLoop},
	{"APPROACHING_LIMIT", Warning, "80 % of the iterations, or 75 % of cost, time or tokens are used", "max_coder_iterations, cost_cents, time_minutes, tokens", approachingLimit},
	{"HYPOTHESIS_EXHAUSTED", Error, "the task is exhausted and not terminal", "2 coders", hypothesisExhausted},
	{"INTEGRATION_FAILED", Warning, "a task is INTEGRATION_FAILED", "", integrationFailed},
	{"INTEGRATION_CHECKED_OUT", Error, "an APPROVED task cannot be merged because the integration branch is checked out", "", integrationCheckedOut},
	{"INTEGRATION_MOVED", Error, "the integration branch is where Liza did not put it; merges wait", "", integrationMoved},
	{"BASELINE_RED", Warning, "a check fails on the base of the work, so it does not count against a change", "", baselineRed},
	{"INTEGRATION_STALE", Info, "base_ref has more commits that the integration branch lacks than", "50", integrationStale},
	{"REASSIGNED", Info, "a CLAIMED task was another agent's before", "", reassigned},
	{"STALLED", Error, "the sprint is IN_PROGRESS without a control file, but no log entry and no output came for", "alert_stalled", stalled},
	{"STALE_DRAFT", Warning, "a task is DRAFT for", "alert_stale_draft", staleDraft},
	{"IMMEDIATE_DISCOVERY", Warning, "an immediate discovery is neither converted nor deferred", "", immediateDiscovery},
	{"SYSTEM_AMBIGUITY", Warning, "an agent reported that the rules are unclear, and no person has written a note since", "", systemAmbiguity},
	{"SPEC_CHANGED", Warning, "the spec of a task changed after its claim", "", specChanged},
	{"PLANNER_STUCK", Error, "a trigger does not wake the planner any more", "planner_retries", plannerStuck},
	{"NO_AGENT", Warning, "there is work for a role, but no live agent of it for", "120", noAgent},
	{"ROLE_UNUSABLE", Error, "a task that is not over, or the planner or reviewer, has a role that cannot be used", "", roleUnusable},
	{"CRASH_LOOP", Error, "a supervisor gave up", "crash_limit", crashLoop},
	{"HELD_BY_SYSTEM", Warning, "a task is on hold by system", "", heldBySystem},
	{"BREAKER", Error, "the circuit breaker is TRIGGERED", "", breakerTriggered},
	{"CHECKPOINT_STALE", Warning, "the CHECKPOINT file is as old as", "alert_checkpoint_stale", checkpointStale},
	{"CHECKPOINT_STUCK", Error, "the CHECKPOINT file is as old as", "alert_checkpoint_stuck", checkpointStuck},
	{"CHECKPOINT_ABANDONED", Error, "the CHECKPOINT file is as old as", "alert_checkpoint_abandoned", checkpointAbandoned},
	{"PAUSE_STALE", Info, "the PAUSE file is as old as", "alert_pause_stale", pauseStale},
	{"PAUSE_FORGOTTEN", Warning, "the PAUSE file is as old as", "alert_pause_forgotten", pauseForgotten},
	{"SPRINT_DEADLINE_NEAR", Info, "less than 10 % of the sprint's time is left", "timeline.deadline", deadlineNear},
	{"SPRINT_DEADLINE", Warning, "the deadline has passed and the sprint is IN_PROGRESS", "timeline.deadline", deadlinePassed},
	{"RUBBER_STAMP", Warning, "more than 95 % of at least 5 verdicts are approvals", "95 %, 5 verdicts", rubberStamp},
	{"NOTHING_MERGED", Warning, "all tasks are terminal and none is MERGED", "", nothingMerged},
	{"COST", Warning, "75 % of a limit of the sprint or of the day are used; at 100 % an error", "sprint_cost_cents, sprint_time_minutes, sprint_tokens, day_cost_cents", cost},
	{"DISK_LOW", Error, "the free space on the project's file system is below", "policy.min_free_mb", diskLow},
	{"CLOCK_JUMP", Warning, "the clock of this machine jumped by more than", "30 s", clockJump},
	{"CLOCK_OFF", Warning, "the clock of a host is further from that of the board than", "lease_grace", clockOff},
	{"LOCK_BUSY", Warning, "one process holds the lock of the state for more than", "5 s", lockBusy},
	{"SETTINGS_CHANGED", Warning, "config.yaml, a role, a skill, instructions.md or the section config changed while an agent program ran", "", nil},
	{"WORK_NOT_SAVED", Error, "work could not be let go because it is saved nowhere else", "", nil},
	{"CHECKOUT_CHANGED", Warning, "something outside of its worktree changed during a run", "", nil},
	{"REMOTE_TROUBLE", Error, "the git remote over which work travels refuses, or does not answer", "", nil},
	{"GIT_LOCK_REMOVED", Info, "a stale lock file of git was removed", "", nil},
	{"JOURNAL_REPAIRED", Info, "the end of the journal was cut", "", nil},
	{"HAND_EDIT", Info, "a person edited the state", "", nil},
	{"MIRROR", Warning, "the copy of a board in a database, .liza/state.yaml, could not be written", "", nil},
	{"NO_EVENTS", Warning, "the system tells of no changes (limit of inotify instances), so files are looked at every second", "", nil},
}

func severityOf(kind string) string {
	for _, k := range Kinds {
		if k.Name == kind {
			return k.Severity
		}
	}
	return Warning
}

// Notice is a one-time notice: something that happened, rather than something that lasts.
// It is cleared after one day.
func Notice(kind, subject, message string, now time.Time) Alert {
	at := now.UTC().Truncate(time.Second)
	return Alert{Kind: kind, Subject: word(subject), Severity: severityOf(kind), Message: line(message), Since: at, Until: at.Add(noticeLife)}
}
