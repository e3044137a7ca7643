package blackboard

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
