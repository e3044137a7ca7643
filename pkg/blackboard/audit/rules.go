package audit

import "liza/pkg/blackboard"

const (
	asError   = blackboard.SeverityError
	asWarning = blackboard.SeverityWarning
	onWrite   = true
	onDemand  = false
	fixable   = true
)

// Rules are the rules of specs/protocol.md#9 in their order; documents and tests read them.
var Rules = []Rule{
	{"V01", asError, onWrite, !fixable, "the file does not parse, has several documents, duplicate keys, or aliases that expand beyond 10 MB", nil},
	{"V02", asError, onWrite, !fixable, "version missing or not 1", checkVersion},
	{"V03", asError, onWrite, !fixable, "one of goal, tasks, agents, config, sprint missing, or not of its type", checkSections},
	{"V04", asError, onWrite, !fixable, "a field has the wrong type", perTask(checkTypes)},
	{"V05", asError, onWrite, !fixable, "task without id, id not allowed, or id twice (without regard to case, archive included)", checkTaskIDs},
	{"V06", asError, onWrite, !fixable, "status of a task is not one of the eleven", perTask(checkStatus)},
	{"V07", asError, onWrite, !fixable, "DRAFT with assigned_to, worktree or claim_generation", perTask(checkDraft)},
	{"V08", asError, onWrite, !fixable, "CLAIMED without assigned_to", perTask(checkClaimHolder)},
	{"V09", asError, onWrite, !fixable, "CLAIMED, kind other than msg, without worktree", perTask(checkClaimWorktree)},
	{"V10", asError, onWrite, !fixable, "CLAIMED, kind other than msg, without base_commit and without integration_fix", perTask(checkClaimBase)},
	{"V11", asError, onWrite, !fixable, "CLAIMED without lease_expires", perTask(checkClaimLease)},
	{"V12", asError, onDemand, !fixable, "CLAIMED, kind other than msg: the worktree folder does not exist", perTask(checkClaimFolder)},
	{"V13", asError, onWrite, !fixable, "READY_FOR_REVIEW, kind code, without review_commit", perTask(checkSubmission)},
	{"V14", asError, onWrite, !fixable, "APPROVED without approved_by, or kind code without review_commit", perTask(checkApproval)},
	{"V15", asError, onWrite, fixable, "MERGED with worktree", perTask(checkMergedWorktree)},
	{"V16", asError, onWrite, !fixable, "MERGED, kind code, without merge_commit (a warning if the task has no claim_seq)", perTask(checkMergeCommit)},
	{"V17", asError, onWrite, !fixable, "INTEGRATION_FAILED, kind code, without worktree", perTask(checkFailedWorktree)},
	{"V18", asError, onWrite, !fixable, "BLOCKED without blocked_reason, or without 1 to 3 blocked_questions (kind halt: questions optional)", perTask(checkBlocked)},
	{"V19", asError, onWrite, !fixable, "REJECTED without rejection_reason", perTask(checkRejected)},
	{"V20", asError, onWrite, !fixable, "SUPERSEDED without superseded_by or rescope_reason", perTask(checkSuperseded)},
	{"V21", asError, onWrite, !fixable, "superseded_by or supersedes names no task, or a task names itself", perTask(checkReplacements)},
	{"V22", asError, onWrite, !fixable, "depends_on names no task", perTask(checkDependencies)},
	{"V23", asError, onWrite, !fixable, "dependency cycle", checkCycles},
	{"V24", asError, onWrite, !fixable, "CLAIMED, READY_FOR_REVIEW, APPROVED or MERGED with a dependency that is not MERGED", perTask(checkUnmet)},
	{"V25", asWarning, onDemand, !fixable, "UNCLAIMED or DRAFT with an ABANDONED or SUPERSEDED dependency", perTask(checkLostDependency)},
	{"V26", asError, onWrite, !fixable, "an agent is assigned_to more than one CLAIMED task", checkOneClaim},
	{"V27", asError, onWrite, !fixable, "two live agents with the same current_task in the same role, or a task whose holder works on another task", checkOneHolder},
	{"V28", asError, onWrite, !fixable, "integration_fix without a history event integration_failed (a warning where Liza v1 had the task)", perTask(checkIntegrationFix)},
	{"V29", asError, onWrite, !fixable, "DRAFT, SUPERSEDED, ABANDONED excepted: missing done_when, spec_ref or description (scope missing: a warning)", perTask(checkGates)},
	{"V30", asError, onDemand, !fixable, "the file of a spec_ref does not exist (MERGED: a warning)", perTask(checkSpecFile)},
	{"V31", asError, onDemand, !fixable, "the file of goal.spec_ref does not exist", checkGoalSpec},
	{"V32", asError, onWrite, fixable, "failed_by has duplicates or a malformed id", perTask(checkFailedBy)},
	{"V33", asError, onWrite, !fixable, "reviewing_by without review_lease_expires or the reverse; reviewing_by in another status than READY_FOR_REVIEW", perTask(checkReviewClaim)},
	{"V34", asError, onWrite, !fixable, "reviewing_by or approved_by equals assigned_to; approved_by auto on kind code", perTask(checkAuthor)},
	{"V35", asError, onWrite, !fixable, "halt on a task that is not BLOCKED, or of unknown kind", perTask(checkHalt)},
	{"V36", asError, onWrite, !fixable, "hold without by, at or reason; hold on a terminal task", perTask(checkHold)},
	{"V37", asError, onWrite, fixable, "merge_intent on a task that is not APPROVED", perTask(checkMergeIntent)},
	{"V38", asError, onWrite, !fixable, "a counter is negative; review_cycles_current above review_cycles_total; iteration 0 on CLAIMED", checkCounters},
	{"V39", asError, onWrite, !fixable, "a time is not RFC 3339", checkTimes},
	{"V40", asError, onWrite, fixable, "a commit field is not 40 or 64 hex digits (7 or more: a warning)", perTask(checkCommits)},
	{"V41", asError, onWrite, !fixable, "worktree is not .worktrees/<id>", perTask(checkWorktreePath)},
	{"V42", asError, onWrite, !fixable, "agent id malformed, role unknown, or id and role disagree", checkAgentIDs},
	{"V43", asError, onWrite, !fixable, "status of an agent unknown; WORKING or REVIEWING without current_task or lease", checkAgentStatus},
	{"V44", asWarning, onDemand, !fixable, "agent WORKING, REVIEWING or PLANNING whose lease has expired", checkAgentLease},
	{"V45", asError, onWrite, fixable, "current_task names no task", checkCurrentTask},
	{"V46", asError, onWrite, !fixable, "status of goal, sprint, circuit breaker, plan or question unknown", checkStatuses},
	{"V47", asError, onWrite, !fixable, "config: a value not of its type or negative, lease_duration below 3 × heartbeat_interval, integration_branch no valid ref name", checkConfig},
	{"V48", asWarning, onDemand, !fixable, "unknown key in config", checkConfigKeys},
	{"V49", asError, onWrite, !fixable, "sprint.goal_ref is not goal.id; timeline.started missing", checkSprint},
	{"V50", asError, onWrite, !fixable, "sprint.scope.planned or stretch names no task (archive counts)", checkSprintScope},
	{"V51", asError, onWrite, !fixable, "handoff entry for no task, or without summary or next_action", checkHandoffs},
	{"V52", asError, onWrite, !fixable, "discovered: urgency or severity unknown; converted_to_task names no task; id twice", checkDiscoveries},
	{"V53", asError, onWrite, !fixable, "anomaly: unknown type (unless x-…), required detail missing, reporter whose role may not report it", checkAnomalies},
	{"V54", asError, onWrite, !fixable, "history of a task shortened or reordered against the last revision", perTask(checkHistoryKept)},
	{"V55", asWarning, onDemand, !fixable, "the last status-setting history event does not lead to the status (tasks with claim_seq)", perTask(checkLastEvent)},
	{"V56", asWarning, onDemand, !fixable, "REJECTED or BLOCKED task whose branch is missing; branch or worktree without task", checkBranches},
	{"V57", asError, onDemand, fixable, "journal: entry with rev above revision, or an entry that does not parse; a warning where a killed writer leaves it, at the end and of the next revision", nil},
	{"V58", asError, onWrite, !fixable, "revision is lower than the committed one and the content differs", checkRevision},
	{"V59", asError, onDemand, !fixable, "MERGED, kind code, with claim_seq: merge_commit is not reachable from the integration branch", perTask(checkMergeReachable)},
	{"V60", asWarning, onDemand, !fixable, "goal COMPLETED with a non-terminal task", checkGoalDone},
	{"V61", asWarning, onDemand, !fixable, "unknown key in a task, agent or section", nil},
	{"V62", asError, onWrite, !fixable, "a registered secret's value occurs in what is written", checkSecrets},
	{"V63", asError, onDemand, !fixable, "integration branch missing, or not where Liza left it", checkIntegrationBranch},
	{"V64", asWarning, onDemand, !fixable, "approval rate of the sprint is above 95 % with at least 5 verdicts", checkApprovalRate},
	{"V65", asError, onWrite, !fixable, "claim_seq, iteration or review_cycles_total lower than in the last revision (iteration: except rerun, unblock and a claim by another coder)", perTask(checkCountersGrow)},
	{"V66", asError, onWrite, !fixable, "APPROVED or MERGED, or who approved what, changed by hand: no seal fits (MERGED when it came onto the board: history)", nil},
	{"V67", asError, onDemand, !fixable, "the status was changed by hand in a way that no verb of a person does on the board alone: the next write puts the task back", nil},
	{"V68", asError, onDemand, !fixable, "journal: an entry was changed, cut, moved or put in since Liza wrote it", nil},
	{"V69", asError, onDemand, !fixable, "UNCLAIMED, claimed by nobody yet, and the gates refuse it (G12): nobody can claim it", perTask(checkClaimable)},
}

// perTask makes the check of a rule from the check of one task.
func perTask(check func(*validation, *blackboard.Task)) func(*validation) {
	return func(v *validation) {
		for _, t := range v.tasks {
			check(v, t)
		}
	}
}

func ruleOf(id string) *Rule {
	for i := range Rules {
		if Rules[i].ID == id {
			return &Rules[i]
		}
	}
	return nil
}
