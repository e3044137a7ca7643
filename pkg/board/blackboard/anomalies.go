package blackboard

import "strings"

// anomalyType is one line of the table of specs/protocol.md#13.9.
type anomalyType struct {
	Name AnomalyKind

	// Reporters are the roles that may record the type; System stands for Liza itself. A person may record all. Empty:
	// everyone may.
	Reporters []string

	// Details are the keys that an entry needs.
	Details []string

	// Strict makes a missing detail an error in the validation of a state; otherwise it is a warning.
	Strict bool
}

var (
	planners         = []string{string(RolePlanner)}
	coders           = []string{string(RoleCoder)}
	reviewers        = []string{string(RoleReviewer)}
	coderOrReviewer  = []string{string(RoleCoder), string(RoleReviewer)}
	reviewerOrSystem = []string{string(RoleReviewer), System}
	plannerOrSystem  = []string{string(RolePlanner), System}
	systemOnly       = []string{System}
)

// AnomalyTypes are the known types; any other has to begin with "x-".
var AnomalyTypes = []anomalyType{
	{AnomalyRetryLoop, coderOrReviewer, []string{"count", "error_pattern"}, true},
	{AnomalyTradeOff, coders, []string{"what", "why", "debt_created"}, true},
	{AnomalySpecAmbiguity, coders, []string{"question"}, false},
	{AnomalyExternalBlocker, coders, []string{"blocker_service"}, true},
	{AnomalyAssumptionViolated, coderOrReviewer, []string{"assumption", "reality"}, true},
	{AnomalyScopeDeviation, reviewers, []string{"expected", "actual"}, false},
	{AnomalyWorkaround, reviewers, []string{"what"}, false},
	{AnomalyDebtCreated, reviewers, []string{"what"}, false},
	{AnomalySpecChanged, reviewerOrSystem, []string{"spec_ref", "change"}, false},
	{AnomalyExhaustion, plannerOrSystem, []string{"failed_by"}, false},
	{AnomalySpecGap, planners, []string{"spec_ref", "gap"}, false},
	{AnomalyReviewDeadlock, plannerOrSystem, []string{"cycles"}, false},
	{AnomalySystemAmbiguity, nil, []string{"protocol_section", "question"}, true},
	{AnomalyExitMismatch, systemOnly, []string{"what"}, false},
	{AnomalyExitInvalid, systemOnly, []string{"what"}, false},
	{AnomalyReviewStuck, systemOnly, []string{"what"}, false},
	{AnomalyLateWork, systemOnly, []string{"what"}, false},
	{AnomalyUnpushedWork, systemOnly, []string{"what"}, false},
	{AnomalyFlakyCheck, systemOnly, []string{"what"}, false},
	{AnomalyReviewerChanges, systemOnly, []string{"agent", "what"}, false},
	{AnomalyEvidenceOutside, systemOnly, []string{"what"}, false},
	{AnomalyPlanningFailed, systemOnly, []string{"what"}, false},
	{AnomalyReplanLoop, systemOnly, []string{"what"}, false},
	{AnomalyNotifyFailed, systemOnly, []string{"what"}, false},
	{AnomalyPolicyDenied, systemOnly, []string{"what"}, false},
	{AnomalyHostRefused, systemOnly, []string{"what"}, false},
}

// AnomalyTypeOf returns the type with that name. Everyone may record a type whose name begins with "x-", with any details.
func AnomalyTypeOf(name AnomalyKind) (anomalyType, bool) {
	for _, known := range AnomalyTypes {
		if known.Name == name {
			return known, true
		}
	}
	return anomalyType{Name: name}, len(name) > 2 && strings.HasPrefix(string(name), "x-")
}

// MayReport reports whether a reporter, an agent id or Human or System, may record
// anomalies of the type.
func (a anomalyType) MayReport(reporter string) bool {
	if reporter == Human || len(a.Reporters) == 0 {
		return true
	}
	if role, _, ok := ParseAgentID(reporter); ok {
		reporter = string(role)
	}
	return List(a.Reporters).Has(reporter)
}

// Missing returns the required details that are not given.
func (a anomalyType) Missing(details Settings) []string {
	var missing []string
	for _, key := range a.Details {
		if empty(details[key]) {
			missing = append(missing, key)
		}
	}
	return missing
}

// empty reports whether a value of an open map counts as absent (specs/protocol.md#0.2).
func empty(value any) bool {
	switch x := value.(type) {
	case nil:
		return true
	case string:
		return strings.TrimSpace(x) == ""
	case []any:
		return len(x) == 0
	case []string:
		return len(x) == 0
	case List:
		return len(x) == 0
	}
	return false
}

// An AnomalyKind is the type of an anomaly, a deviation from the expected course of work (specs/protocol.md#13.9, where these
// comments are part of the table). Agents and people may use words of their own, which begin with "x-".
type AnomalyKind string

// What agents record.
const (
	AnomalyRetryLoop          AnomalyKind = "retry_loop"            // more than 2 iterations on the same error; by a reviewer, the first one of a task
	AnomalyTradeOff           AnomalyKind = "trade_off"             // one quality was given up for another, on purpose
	AnomalySpecAmbiguity      AnomalyKind = "spec_ambiguity"        // the specification can be read in several ways (spec_ref is recommended)
	AnomalyExternalBlocker    AnomalyKind = "external_blocker"      // a service that is not the project's own does not work
	AnomalyAssumptionViolated AnomalyKind = "assumption_violated"   // an assumption turned out to be false
	AnomalyScopeDeviation     AnomalyKind = "scope_deviation"       // the change differs from the scope of the task
	AnomalyWorkaround         AnomalyKind = "workaround"            // the change avoids a cause instead of removing it (root_cause is recommended)
	AnomalyDebtCreated        AnomalyKind = "debt_created"          // the change leaves work for later
	AnomalySpecChanged        AnomalyKind = "spec_changed"          // the specification differs from the one that the work was based on
	AnomalyExhaustion         AnomalyKind = "hypothesis_exhaustion" // a task is exhausted: coders failed at it too often
	AnomalySpecGap            AnomalyKind = "spec_gap"              // the specification lacks something that the work needs
	AnomalyReviewDeadlock     AnomalyKind = "review_deadlock"       // a task reached its limit of rejections
	AnomalySystemAmbiguity    AnomalyKind = "system_ambiguity"      // the protocol does not say what to do
)

// What Liza records.
const (
	AnomalyExitMismatch    AnomalyKind = "exit_mismatch"             // a run's exit command contradicts its verbs
	AnomalyExitInvalid     AnomalyKind = "exit_invalid"              // a run's exit command cannot be read, and its verbs had done the work
	AnomalyReviewStuck     AnomalyKind = "review_stuck"              // no reviewer could come to a verdict
	AnomalyLateWork        AnomalyKind = "late_work"                 // a worktree has work from after the submission
	AnomalyUnpushedWork    AnomalyKind = "unpushed_work"             // work of an earlier claim on another host had not been pushed
	AnomalyFlakyCheck      AnomalyKind = "flaky_check"               // a check failed and then passed, on the same commit
	AnomalyReviewerChanges AnomalyKind = "reviewer_changes"          // a reviewer changed files
	AnomalyEvidenceOutside AnomalyKind = "evidence_outside_worktree" // an exit command names files outside of the worktree
	AnomalyPlanningFailed  AnomalyKind = "planning_failed"           // no answer of the planner was a valid plan
	AnomalyReplanLoop      AnomalyKind = "replan_loop"               // the planner made the same plan again and again, and was stopped
	AnomalyNotifyFailed    AnomalyKind = "notify_failed"             // a notification could not be sent
	AnomalyPolicyDenied    AnomalyKind = "policy_denied"             // a command was not started because of the deny list
	AnomalyHostRefused     AnomalyKind = "host_refused"              // a run could not reach a host
)
