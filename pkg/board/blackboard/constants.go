package blackboard

import (
	"strings"
)

// A HistoryEvent is the event of an entry in a task's history (specs/protocol.md#4.6). Boards of other versions may have
// other words.
type HistoryEvent string

// The words that Liza writes or reacts to.
const (
	HistoryCreated             HistoryEvent = "created"
	HistoryFinalized           HistoryEvent = "finalized"
	HistoryClaimed             HistoryEvent = "claimed"
	HistoryReclaimed           HistoryEvent = "reclaimed_after_rejection"
	HistoryReassigned          HistoryEvent = "reassigned_after_rejection"
	HistoryClaimedForFix       HistoryEvent = "claimed_for_integration_fix"
	HistoryLeaseExpired        HistoryEvent = "lease_expired"
	HistoryCheckpoint          HistoryEvent = "checkpoint"
	HistoryHandoff             HistoryEvent = "handoff"
	HistoryRetried             HistoryEvent = "retried"
	HistoryReadyForReview      HistoryEvent = "ready_for_review"
	HistorySubmittedForReview  HistoryEvent = "submitted_for_review" // written by version 1
	HistoryReviewClaimed       HistoryEvent = "review_claimed"
	HistoryReviewClaimReleased HistoryEvent = "review_claim_released" // written by version 1
	HistoryReviewAskedAgain    HistoryEvent = "review_asked_again"
	HistoryApproved            HistoryEvent = "approved"
	HistoryApprovalRecorded    HistoryEvent = "approval_recorded"
	HistoryApprovalVoided      HistoryEvent = "approval_voided"
	HistoryRejected            HistoryEvent = "rejected"
	HistoryMerged              HistoryEvent = "merged"
	HistoryMergedAgain         HistoryEvent = "merged_again"
	HistoryIntegrationFailed   HistoryEvent = "integration_failed"
	HistoryBlocked             HistoryEvent = "blocked"
	HistoryUnblocked           HistoryEvent = "unblocked"
	HistoryClaimReleased       HistoryEvent = "coder_claim_released" // written by version 1
	HistoryReleased            HistoryEvent = "released"
	HistoryRetargeted          HistoryEvent = "retargeted"
	HistorySuperseded          HistoryEvent = "superseded"
	HistoryAbandoned           HistoryEvent = "abandoned"
	HistoryHeld                HistoryEvent = "held"
	HistoryUnheld              HistoryEvent = "unheld"
)

// Words returns the event in plain words.
func (e HistoryEvent) Words() string { return strings.ReplaceAll(string(e), "_", " ") }

// LeadsTo returns the statuses that a task may have after a history entry; none for an entry that sets no status.
func (e *HistoryEntry) LeadsTo() []Status {
	if e == nil {
		return nil
	}
	if IsClaimEvent(e.Event) {
		return []Status{Claimed}
	}
	switch e.Event {
	case HistoryCreated:
		return []Status{Draft, Unclaimed}
	case HistoryFinalized, HistoryUnblocked:
		return []Status{Unclaimed}
	case HistoryReadyForReview, HistorySubmittedForReview, HistoryApprovalRecorded, HistoryApprovalVoided, HistoryReviewAskedAgain:
		return []Status{ReadyForReview}
	case HistoryApproved:
		return []Status{Approved}
	case HistoryRejected:
		return []Status{Rejected}
	case HistoryBlocked:
		return []Status{Blocked}
	case HistorySuperseded:
		return []Status{Superseded}
	case HistoryAbandoned:
		return []Status{Abandoned}
	case HistoryMerged:
		return []Status{Merged}
	case HistoryIntegrationFailed:
		return []Status{IntegrationFailed}
	case HistoryClaimReleased:
		return []Status{Unclaimed, IntegrationFailed}
	case HistoryReleased:
		switch e.What {
		case "claim":
			return []Status{Unclaimed, IntegrationFailed}
		}
	}
	return nil
}

// A TaskKind is the kind of work of a task (specs/protocol.md#4.5).
type TaskKind string

// Kinds of tasks.
const (
	CodeTask    TaskKind = "code"
	ExecTask    TaskKind = "exec"
	MessageTask TaskKind = "msg"
	SkillTask   TaskKind = "skill"
)

// A BlockedKind is the reason why a task is BLOCKED (specs/protocol.md#4.4).
type BlockedKind string

// The reasons why tasks are BLOCKED.
const (
	BlockedByQuestion   BlockedKind = "question"
	BlockedStuck        BlockedKind = "stuck"
	BlockedByIterations BlockedKind = "max_iterations"
	BlockedByDeadlock   BlockedKind = "review_deadlock"
	BlockedForReplan    BlockedKind = "replan"
	BlockedByHalt       BlockedKind = "halt"
	BlockedByDependency BlockedKind = "dependency"
	BlockedByHuman      BlockedKind = "human"
)

// Words returns the kind in plain words.
func (k BlockedKind) Words() string { return strings.ReplaceAll(string(k), "_", " ") }

// A QuestionStatus is the status of an agent's question.
type QuestionStatus string

// The statuses of a question.
const (
	QuestionOpen      QuestionStatus = "open"
	QuestionAnswered  QuestionStatus = "answered"
	QuestionDelivered QuestionStatus = "delivered"
	QuestionExpired   QuestionStatus = "expired"
)

// The kinds of the questions whether to merge work that a check has not verified, or that a check could not run on, and their answers.
const (
	QuestionUnverified = "unverified"
	QuestionUnable     = "unable"
	QuestionPrompted   = "prompted"
	AnswerGoOn         = "go on"
	AnswerStop         = "stop"
)

// A CheckStatus is the result of one check of a review.
type CheckStatus string

// Results of checks.
const (
	CheckPassed  CheckStatus = "passed"
	CheckFailed  CheckStatus = "failed"
	CheckSkipped CheckStatus = "skipped"
	CheckUnable  CheckStatus = "unable" // it could not run, so that it says nothing of the work
	CheckExempt  CheckStatus = "exempt"
)

// CheckSettings is the check of findings about files that agent programs take as settings of a project: only a person lets their change through.
const CheckSettings = "agent_settings"

var (
	Urgencies  = []string{"deferred", "immediate"}
	Severities = []string{"critical", "high", "medium", "low"}
)

// Kinds are the known kinds of tasks.
var Kinds = []string{string(CodeTask), string(ExecTask), string(MessageTask), string(SkillTask)}

// A PriorState is the state of a point of the last rejection.
type PriorState string

// The states of such a point.
const (
	PriorResolved     PriorState = "RESOLVED"
	PriorPartial      PriorState = "PARTIAL"
	PriorStillPresent PriorState = "STILL_PRESENT"
)

// A ReviewMode determines who releases approved work for its merge (review.mode); empty: the approval does.
type ReviewMode string

// The modes besides the empty one.
const (
	ReviewStrict   ReviewMode = "strict"   // a person, for every task
	ReviewNormal   ReviewMode = "normal"   // a person, unless the task may be merged by itself
	ReviewYolo     ReviewMode = "yolo"     // the approval, for every task
	ReviewDisabled ReviewMode = "disabled" // there is no reviewer: a person decides
)

// A GateDecision is a person's decision about an approved task that waits for one; empty: none yet.
type GateDecision string

// The decisions.
const (
	GateApproved GateDecision = "approved"
	GateRejected GateDecision = "rejected"
)

// An AlertKind is the kind of an alert to people (specs/protocol.md#10.2). watch.Kinds has the cause and severity of each.
type AlertKind string

// Alerts that last as long as their cause.
const (
	AlertInvalidState          AlertKind = "INVALID_STATE"
	AlertForgedApproval        AlertKind = "FORGED_APPROVAL"
	AlertJournalBroken         AlertKind = "JOURNAL_BROKEN"
	AlertStateWentBack         AlertKind = "STATE_WENT_BACK"
	AlertLeaseExpired          AlertKind = "LEASE_EXPIRED"
	AlertReviewLeaseExpired    AlertKind = "REVIEW_LEASE_EXPIRED"
	AlertLivenessUnknown       AlertKind = "LIVENESS_UNKNOWN"
	AlertOrphanProcess         AlertKind = "ORPHAN_PROCESS"
	AlertBlocked               AlertKind = "BLOCKED"
	AlertQuestionOpen          AlertKind = "QUESTION_OPEN"
	AlertMergeApproval         AlertKind = "MERGE_APPROVAL"
	AlertQuorumOpen            AlertKind = "QUORUM_OPEN"
	AlertOrphanedRejected      AlertKind = "ORPHANED_REJECTED"
	AlertReviewLoop            AlertKind = "REVIEW_LOOP"
	AlertApproachingLimit      AlertKind = "APPROACHING_LIMIT"
	AlertHypothesisExhausted   AlertKind = "HYPOTHESIS_EXHAUSTED"
	AlertIntegrationFailed     AlertKind = "INTEGRATION_FAILED"
	AlertIntegrationCheckedOut AlertKind = "INTEGRATION_CHECKED_OUT"
	AlertSettingsHeld          AlertKind = "SETTINGS_HELD"
	AlertFiltersOff            AlertKind = "FILTERS_OFF"
	AlertIntegrationMoved      AlertKind = "INTEGRATION_MOVED"
	AlertBaselineRed           AlertKind = "BASELINE_RED"
	AlertIntegrationStale      AlertKind = "INTEGRATION_STALE"
	AlertReassigned            AlertKind = "REASSIGNED"
	AlertStalled               AlertKind = "STALLED"
	AlertStaleDraft            AlertKind = "STALE_DRAFT"
	AlertImmediateDiscovery    AlertKind = "IMMEDIATE_DISCOVERY"
	AlertSystemAmbiguity       AlertKind = "SYSTEM_AMBIGUITY"
	AlertSpecChanged           AlertKind = "SPEC_CHANGED"
	AlertOverlap               AlertKind = "OVERLAP"
	AlertPlannerStuck          AlertKind = "PLANNER_STUCK"
	AlertNoAgent               AlertKind = "NO_AGENT"
	AlertRoleUnusable          AlertKind = "ROLE_UNUSABLE"
	AlertGaveUp                AlertKind = "GAVE_UP"
	AlertHeldBySystem          AlertKind = "HELD_BY_SYSTEM"
	AlertBreaker               AlertKind = "BREAKER"
	AlertCheckpointOpen        AlertKind = "CHECKPOINT_OPEN"
	AlertCheckpointStale       AlertKind = "CHECKPOINT_STALE"
	AlertCheckpointStuck       AlertKind = "CHECKPOINT_STUCK"
	AlertCheckpointAbandoned   AlertKind = "CHECKPOINT_ABANDONED"
	AlertPauseStale            AlertKind = "PAUSE_STALE"
	AlertPauseForgotten        AlertKind = "PAUSE_FORGOTTEN"
	AlertSprintDeadlineNear    AlertKind = "SPRINT_DEADLINE_NEAR"
	AlertSprintDeadline        AlertKind = "SPRINT_DEADLINE"
	AlertRubberStamp           AlertKind = "RUBBER_STAMP"
	AlertNothingMerged         AlertKind = "NOTHING_MERGED"
	AlertCost                  AlertKind = "COST"
	AlertDiskLow               AlertKind = "DISK_LOW"
	AlertClockJump             AlertKind = "CLOCK_JUMP"
	AlertClockOff              AlertKind = "CLOCK_OFF"
	AlertLockBusy              AlertKind = "LOCK_BUSY"
)

// Alerts about one event.
const (
	AlertSettingsChanged AlertKind = "SETTINGS_CHANGED"
	AlertWorkNotSaved    AlertKind = "WORK_NOT_SAVED"
	AlertCheckoutChanged AlertKind = "CHECKOUT_CHANGED"
	AlertRemoteTrouble   AlertKind = "REMOTE_TROUBLE"
	AlertGitLockRemoved  AlertKind = "GIT_LOCK_REMOVED"
	AlertJournalRepaired AlertKind = "JOURNAL_REPAIRED"
	AlertHandEdit        AlertKind = "HAND_EDIT"
	AlertMirror          AlertKind = "MIRROR"
	AlertNoEvents        AlertKind = "NO_EVENTS"
)
