package blackboard

// An AnomalyKind says what went differently than it should (specs/protocol.md#13.9, where these comments are part of the table).
// Agents and people may have words of their own, which begin with "x-".
type AnomalyKind string

// What agents record.
const (
	AnomalyRetryLoop          AnomalyKind = "retry_loop"            // more than 2 iterations on the same error; by a reviewer, the first one of a task
	AnomalyTradeOff           AnomalyKind = "trade_off"             // one thing was given up for another, on purpose
	AnomalySpecAmbiguity      AnomalyKind = "spec_ambiguity"        // the specification can be read in several ways (spec_ref is recommended)
	AnomalyExternalBlocker    AnomalyKind = "external_blocker"      // a service that is not the project's own does not work
	AnomalyAssumptionViolated AnomalyKind = "assumption_violated"   // what was taken for true is not
	AnomalyScopeDeviation     AnomalyKind = "scope_deviation"       // the change does something else than the task says
	AnomalyWorkaround         AnomalyKind = "workaround"            // the change avoids a cause instead of mending it (root_cause is recommended)
	AnomalyDebtCreated        AnomalyKind = "debt_created"          // the change leaves work for later
	AnomalySpecChanged        AnomalyKind = "spec_changed"          // the specification is another than the one that was worked from
	AnomalyExhaustion         AnomalyKind = "hypothesis_exhaustion" // a task is exhausted: coders failed at it too often
	AnomalySpecGap            AnomalyKind = "spec_gap"              // the specification does not say what is needed
	AnomalyReviewDeadlock     AnomalyKind = "review_deadlock"       // a task was rejected as often as it may be
	AnomalySystemAmbiguity    AnomalyKind = "system_ambiguity"      // the protocol does not say what to do
)

// What Liza records.
const (
	AnomalyExitMismatch    AnomalyKind = "exit_mismatch"             // a run's exit command says something else than its verbs
	AnomalyExitInvalid     AnomalyKind = "exit_invalid"              // a run's exit command cannot be read, and its verbs had done the work
	AnomalyReviewStuck     AnomalyKind = "review_stuck"              // no reviewer could come to a verdict
	AnomalyLateWork        AnomalyKind = "late_work"                 // a worktree has work from after the submission
	AnomalyUnpushedWork    AnomalyKind = "unpushed_work"             // work of an earlier claim on another host had not been pushed
	AnomalyFlakyCheck      AnomalyKind = "flaky_check"               // a check failed and then passed, on the same commit
	AnomalyReviewerChanges AnomalyKind = "reviewer_changes"          // a reviewer changed files
	AnomalyEvidenceOutside AnomalyKind = "evidence_outside_worktree" // an exit command names files outside of the worktree
	AnomalyPlanningFailed  AnomalyKind = "planning_failed"           // no answer of the planner was a valid plan
	AnomalyReplanLoop      AnomalyKind = "replan_loop"               // the same was planned again and again, and the planner was stopped
	AnomalyNotifyFailed    AnomalyKind = "notify_failed"             // a notification could not be sent
	AnomalyPolicyDenied    AnomalyKind = "policy_denied"             // a command was not started because of the deny list
	AnomalyHostRefused     AnomalyKind = "host_refused"              // a run could not reach a host
)
