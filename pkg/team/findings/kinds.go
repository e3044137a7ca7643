package findings

import "liza/pkg/board/blackboard"

// Kinds lists every kind of alert in the order of specs/protocol.md#10.2, and the role_unusable of
// specs/roles-and-knowledge.md#1.7. A kind without a function is a one-time notice: a program reports it when it happens.
var Kinds = []Kind{
	{blackboard.AlertInvalidState, Error, "validation reports errors, or the file does not parse", "", invalidState, alerted},
	{blackboard.AlertForgedApproval, Error, "an approval or a merge is on the board that no verb made (V66)", "", forgedApproval, alerted},
	{blackboard.AlertJournalBroken, Error, "an entry of the journal was changed, cut, moved or put in (V68)", "", journalBroken, alerted},
	{blackboard.AlertStateWentBack, Error, "the state is older than the one that was written last, or journal entries were kept aside", "", stateWentBack, alerted},
	{blackboard.AlertLeaseExpired, Warning, "a task is CLAIMED and its holder's lease is over", "60 s", leaseExpired, form{alert | exam, "", "claim"}},
	{blackboard.AlertReviewLeaseExpired, Warning, "a task is under review and its reviewer's lease is over", "60 s", reviewLeaseExpired, form{alert | exam, "", "claim"}},
	{blackboard.AlertLivenessUnknown, Warning, "whether a holder lives is unknown", "", livenessUnknown, form{alert | exam, "", "claim"}},
	{blackboard.AlertOrphanProcess, Error, "a program of a dead registration runs and could not be stopped", "", orphanProcess, alerted},
	{blackboard.AlertBlocked, Warning, "a task is BLOCKED", "", blocked, form{alert | wait, "blocked", ""}},
	{blackboard.AlertQuestionOpen, Warning, "a question is open that belongs to no BLOCKED task", "", questionOpen, form{alert | wait, "question", ""}},
	{blackboard.AlertMergeApproval, Info, "a task is APPROVED and waits for a person's decision", "", mergeApproval, form{alert | wait, "merge_approval", ""}},
	{blackboard.AlertQuorumOpen, Warning, "a task has approvals, review.quorum asks for more, and no registered reviewer can give them", "", quorumOpen, form{alert | wait, "merge_approval", ""}},
	{blackboard.AlertOrphanedRejected, Warning, "a task is REJECTED, and no coder is live or nobody claimed it for", "30 min", orphanedRejected, alerted},
	{blackboard.AlertReviewLoop, Warning, "one more rejection blocks the task", "max_review_cycles", reviewLoop, alerted},
	{blackboard.AlertApproachingLimit, Warning, "80 % of the iterations, or 75 % of cost, time or tokens are used", "max_coder_iterations, cost_cents, time_minutes, tokens", approachingLimit, alerted},
	{blackboard.AlertHypothesisExhausted, Error, "the task is exhausted and not terminal", "2 coders", hypothesisExhausted, alerted},
	{blackboard.AlertIntegrationFailed, Warning, "a task is INTEGRATION_FAILED", "", integrationFailed, alerted},
	{blackboard.AlertIntegrationCheckedOut, Error, "an APPROVED task cannot be merged because the integration branch is checked out", "", integrationCheckedOut, form{alert | wait, "integration", ""}},
	{blackboard.AlertIntegrationMoved, Error, "the integration branch is where Liza did not put it; merges wait", "", integrationMoved, form{alert | wait | exam, "integration", "integration"}},
	{blackboard.AlertSettingsHeld, Error, "git has exchanged or removed config.yaml, and the team keeps stronger settings that it had", "", settingsHeld, form{alert | warn | exam, "", "settings"}},
	{blackboard.AlertFiltersOff, Error, "a filter of .gitattributes is not in force, because git.filters does not allow it", "", filtersOff, form{alert | warn | exam, "", "filters"}},
	{blackboard.AlertBaselineRed, Warning, "a check fails on the base of the work, so it does not count against a change", "", baselineRed, alerted},
	{blackboard.AlertIntegrationStale, Info, "base_ref has more commits that the integration branch lacks than", "50", integrationStale, form{alert, "", ""}},
	{blackboard.AlertReassigned, Info, "a CLAIMED task was another agent's before", "", reassigned, alerted},
	{blackboard.AlertStalled, Error, "the sprint is IN_PROGRESS without a control file, but no log entry and no output came for", "30 min", stalled, alerted},
	{blackboard.AlertStaleDraft, Warning, "a task is DRAFT for", "30 min", staleDraft, alerted},
	{blackboard.AlertImmediateDiscovery, Warning, "an immediate discovery is neither converted nor deferred", "", immediateDiscovery, form{alert | warn, "", ""}},
	{blackboard.AlertSystemAmbiguity, Warning, "an agent reported that the rules are unclear, and no person has written a note since", "", systemAmbiguity, form{alert | warn, "", ""}},
	{blackboard.AlertSpecChanged, Warning, "the spec of a task changed after its claim", "", specChanged, alerted},
	{blackboard.AlertOverlap, Warning, "a running task changes files that earlier work changes, too, which is not merged", "", overlap, form{alert | warn, "", ""}},
	{blackboard.AlertPlannerStuck, Error, "a trigger does not wake the planner any more", "2 launches", plannerStuck, form{alert | warn, "", ""}},
	{blackboard.AlertNoAgent, Warning, "there is work for a role, but no live agent of it for", "120", noAgent, alerted},
	{blackboard.AlertRoleUnusable, Error, "a task that is not over, or the planner or reviewer, has a role that cannot be used", "", roleUnusable, alerted},
	{blackboard.AlertGaveUp, Error, "a supervisor gave up", "3 crashes in 5 min", gaveUp, alerted},
	{blackboard.AlertHeldBySystem, Warning, "a task is on hold by system", "", heldBySystem, form{alert | wait, "hold", ""}},
	{blackboard.AlertBreaker, Error, "the circuit breaker is TRIGGERED", "", breakerTriggered, form{alert | wait, "breaker", ""}},
	{blackboard.AlertCheckpointOpen, Warning, "the sprint waits at a checkpoint for a person", "", checkpointOpen, alerted},
	{blackboard.AlertCheckpointStale, Warning, "the CHECKPOINT file is as old as", "30 min", checkpointStale, alerted},
	{blackboard.AlertCheckpointStuck, Error, "the CHECKPOINT file is as old as", "2 h", checkpointStuck, alerted},
	{blackboard.AlertCheckpointAbandoned, Error, "the CHECKPOINT file is as old as", "8 h", checkpointAbandoned, alerted},
	{blackboard.AlertPauseStale, Info, "the PAUSE file is as old as", "30 min", pauseStale, alerted},
	{blackboard.AlertPauseForgotten, Warning, "the PAUSE file is as old as", "2 h", pauseForgotten, alerted},
	{blackboard.AlertSprintDeadlineNear, Info, "less than 10 % of the sprint's time is left", "timeline.deadline", deadlineNear, alerted},
	{blackboard.AlertSprintDeadline, Warning, "the deadline has passed and the sprint is IN_PROGRESS", "timeline.deadline", deadlinePassed, form{alert | warn, "", ""}},
	{blackboard.AlertRubberStamp, Warning, "more than 95 % of at least 5 verdicts are approvals", "95 %, 5 verdicts", rubberStamp, form{alert | warn, "", ""}},
	{blackboard.AlertNothingMerged, Warning, "all tasks are terminal and none is MERGED", "", nothingMerged, alerted},
	{blackboard.AlertCost, Warning, "75 % of a limit of the sprint or of the day are used; at 100 % an error", "sprint_cost_cents, sprint_time_minutes, sprint_tokens, day_cost_cents", cost, alerted},
	{blackboard.AlertDiskLow, Error, "the free space on the project's file system is below", "policy.min_free_mb", diskLow, alerted},
	{blackboard.AlertClockJump, Warning, "the clock of this machine jumped by more than", "30 s", clockJump, alerted},
	{blackboard.AlertClockOff, Warning, "the clock of a host is further from that of the board than", "60 s", clockOff, form{alert | warn, "", ""}},
	{blackboard.AlertLockBusy, Warning, "one process holds the lock of the state for more than", "5 s", lockBusy, alerted},
	{blackboard.AlertSettingsChanged, Warning, "config.yaml, a role, a skill, instructions.md or the section config changed while an agent program ran", "", nil, alerted},
	{blackboard.AlertWorkNotSaved, Error, "work could not be let go because it is saved nowhere else", "", nil, alerted},
	{blackboard.AlertCheckoutChanged, Warning, "something outside of its worktree changed during a run", "", nil, alerted},
	{blackboard.AlertRemoteTrouble, Error, "the git remote over which work travels refuses, or does not answer", "", nil, alerted},
	{blackboard.AlertGitLockRemoved, Info, "a stale lock file of git was removed", "", nil, alerted},
	{blackboard.AlertJournalRepaired, Info, "the end of the journal was cut", "", nil, alerted},
	{blackboard.AlertHandEdit, Info, "a person edited the state", "", nil, alerted},
	{blackboard.AlertMirror, Warning, "the copy of a board in a database, .liza/state.yaml, could not be written", "", nil, alerted},
	{blackboard.AlertNoEvents, Warning, "the system tells of no changes (limit of inotify instances), so files are looked at every second", "", nil, alerted},
}

// boardKinds are the kinds that no alert is raised for: views of the board and the doctor show them.
var boardKinds = []Kind{
	{find: stopped, form: form{wait, "control", ""}},
	{find: unverified, form: form{wait | exam, "integration", "checks"}},
	{find: goalComplete, form: form{wait, "goal", ""}},
	{find: held, form: form{wait, "hold", ""}},
	{find: drafts, form: form{wait, "draft", ""}},
	{find: registrations, form: form{warn | exam, "", "registration"}},
	{find: programs, form: form{exam, "", "process"}},
	{find: heartbeats, form: form{exam, "", "clock"}},
	{find: reservations, form: form{exam, "", "claim"}},
	{find: pausedPrograms, form: form{faces: warn}},
	{find: noTeam, form: form{faces: warn}},
	{find: keptRuns, form: form{faces: warn}},
	{find: mergedUnverified, form: form{faces: warn}},
	{find: crashed, form: form{faces: warn}},
	{find: stoppedAgents, form: form{faces: warn}},
}

// A Kind is one line of the table of specs/protocol.md#10.2.
type Kind struct {
	Name     blackboard.AlertKind
	Severity string
	When     string      // the condition
	Key      string      // what the threshold is called in the configuration, or the threshold itself
	find     func(*look) // nil for a one-time notice
	form
}

// A form says where the findings of a kind are shown, and what views and the doctor call them.
type form struct {
	faces       face
	wait, check string
}

var alerted = form{faces: alert}

// Notice reports whether kind is a one-time notice: something that happened, rather than something that lasts.
func Notice(kind blackboard.AlertKind) bool {
	k, known := kindOf(kind)
	return known && k.find == nil
}

// SeverityOf is the severity of a kind of alert.
func SeverityOf(kind blackboard.AlertKind) string {
	if k, known := kindOf(kind); known {
		return k.Severity
	}
	return Warning
}

func kindOf(kind blackboard.AlertKind) (Kind, bool) {
	for _, k := range Kinds {
		if k.Name == kind {
			return k, true
		}
	}
	return Kind{}, false
}
