package blackboard

import (
	"strings"
)

// A HistoryEvent names what an entry of a task's history records (specs/protocol.md#4.6). Boards of
// other versions may have words that are not here.
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
	HistorySubmittedForReview  HistoryEvent = "submitted_for_review" // by version 1
	HistoryReviewClaimed       HistoryEvent = "review_claimed"
	HistoryReviewClaimReleased HistoryEvent = "review_claim_released" // by version 1
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
	HistoryClaimReleased       HistoryEvent = "coder_claim_released" // by version 1
	HistoryReleased            HistoryEvent = "released"
	HistoryRetargeted          HistoryEvent = "retargeted"
	HistorySuperseded          HistoryEvent = "superseded"
	HistoryAbandoned           HistoryEvent = "abandoned"
	HistoryHeld                HistoryEvent = "held"
	HistoryUnheld              HistoryEvent = "unheld"
)

// Words is the event as people read it.
func (e HistoryEvent) Words() string { return strings.ReplaceAll(string(e), "_", " ") }

// LeadsTo returns the statuses that a history entry leaves a task in; none for an
// entry that sets no status.
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
		case "rerun", "restep":
			return []Status{Unclaimed}
		}
	}
	return nil
}

// A TaskKind says what does a task's work (specs/protocol.md#4.5).
type TaskKind string

// Kinds of tasks.
const (
	CodeTask    TaskKind = "code"
	ExecTask    TaskKind = "exec"
	MessageTask TaskKind = "msg"
	SkillTask   TaskKind = "skill"
)

// A BlockedKind says what a BLOCKED task waits for (specs/protocol.md#4.4).
type BlockedKind string

// What tasks wait for.
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

// Words is the kind as people read it.
func (k BlockedKind) Words() string { return strings.ReplaceAll(string(k), "_", " ") }

// A QuestionStatus says how far a question of an agent is.
type QuestionStatus string

// What becomes of a question.
const (
	QuestionOpen      QuestionStatus = "open"
	QuestionAnswered  QuestionStatus = "answered"
	QuestionDelivered QuestionStatus = "delivered"
	QuestionExpired   QuestionStatus = "expired"
)

// Kinds and answers of the question whether work may be merged that a check has not verified.
const (
	QuestionUnverified = "unverified"
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
	CheckExempt  CheckStatus = "exempt"
)

var (
	Urgencies  = []string{"deferred", "immediate"}
	Severities = []string{"critical", "high", "medium", "low"}
)

// Kinds are the known kinds of tasks.
var Kinds = []string{string(CodeTask), string(ExecTask), string(MessageTask), string(SkillTask)}

// A PriorState says what became of a point of the last rejection.
type PriorState string

// What can have become of it.
const (
	PriorResolved     PriorState = "RESOLVED"
	PriorPartial      PriorState = "PARTIAL"
	PriorStillPresent PriorState = "STILL_PRESENT"
)

// A ReviewMode says who releases what a reviewer has approved (review.mode); empty: the approval does.
type ReviewMode string

// The modes besides that.
const (
	ReviewStrict   ReviewMode = "strict"   // a person, whatever the task says
	ReviewNormal   ReviewMode = "normal"   // a person, unless the task may be merged by itself
	ReviewYolo     ReviewMode = "yolo"     // nobody has to
	ReviewDisabled ReviewMode = "disabled" // there is no reviewer: a person decides
)

// A GateDecision is what a person has decided about an approved task that waits for one; empty: nothing yet.
type GateDecision string

// The decisions.
const (
	GateApproved GateDecision = "approved"
	GateRejected GateDecision = "rejected"
)

// An AlertKind says what people are alerted to (specs/protocol.md#10.2). What raises each, and how severe it is, is in
// watch.Kinds.
type AlertKind string

// What lasts as long as its cause does.
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
	AlertIntegrationMoved      AlertKind = "INTEGRATION_MOVED"
	AlertBaselineRed           AlertKind = "BASELINE_RED"
	AlertIntegrationStale      AlertKind = "INTEGRATION_STALE"
	AlertReassigned            AlertKind = "REASSIGNED"
	AlertStalled               AlertKind = "STALLED"
	AlertStaleDraft            AlertKind = "STALE_DRAFT"
	AlertImmediateDiscovery    AlertKind = "IMMEDIATE_DISCOVERY"
	AlertSystemAmbiguity       AlertKind = "SYSTEM_AMBIGUITY"
	AlertSpecChanged           AlertKind = "SPEC_CHANGED"
	AlertPlannerStuck          AlertKind = "PLANNER_STUCK"
	AlertNoAgent               AlertKind = "NO_AGENT"
	AlertRoleUnusable          AlertKind = "ROLE_UNUSABLE"
	AlertCrashLoop             AlertKind = "CRASH_LOOP"
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

// What happened once.
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
