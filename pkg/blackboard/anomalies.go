package blackboard

import "strings"

// AnomalyType is one line of the table of specs/protocol.md#13.9.
type AnomalyType struct {
	Name string

	// Reporters are the roles that may record it; System stands for Liza itself.
	// A person may record all. Empty: anybody may.
	Reporters []string

	// Details are the keys that an entry needs.
	Details []string

	// Strict makes a missing detail an error when a state is validated; it is a
	// warning otherwise.
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
var AnomalyTypes = []AnomalyType{
	{"retry_loop", coderOrReviewer, []string{"count", "error_pattern"}, true},
	{"trade_off", coders, []string{"what", "why", "debt_created"}, true},
	{"spec_ambiguity", coders, []string{"question"}, false},
	{"external_blocker", coders, []string{"blocker_service"}, true},
	{"assumption_violated", coderOrReviewer, []string{"assumption", "reality"}, true},
	{"scope_deviation", reviewers, []string{"expected", "actual"}, false},
	{"workaround", reviewers, []string{"what"}, false},
	{"debt_created", reviewers, []string{"what"}, false},
	{"spec_changed", reviewerOrSystem, []string{"spec_ref", "change"}, false},
	{"hypothesis_exhaustion", plannerOrSystem, []string{"failed_by"}, false},
	{"spec_gap", planners, []string{"spec_ref", "gap"}, false},
	{"review_deadlock", plannerOrSystem, []string{"cycles"}, false},
	{"system_ambiguity", nil, []string{"protocol_section", "question"}, true},
	{"exit_mismatch", systemOnly, []string{"what"}, false},
	{"exit_invalid", systemOnly, []string{"what"}, false},
	{"review_stuck", systemOnly, []string{"what"}, false},
	{"late_work", systemOnly, []string{"what"}, false},
	{"unpushed_work", systemOnly, []string{"what"}, false},
	{"flaky_check", systemOnly, []string{"what"}, false},
	{"reviewer_changes", systemOnly, []string{"agent", "what"}, false},
	{"evidence_outside_worktree", systemOnly, []string{"what"}, false},
	{"planning_failed", systemOnly, []string{"what"}, false},
	{"replan_loop", systemOnly, []string{"what"}, false},
	{"notify_failed", systemOnly, []string{"what"}, false},
	{"policy_denied", systemOnly, []string{"what"}, false},
	{"host_refused", systemOnly, []string{"what"}, false},
}

// AnomalyTypeOf finds a type by name. A name that begins with "x-" is a type that
// anybody may record with any details.
func AnomalyTypeOf(name string) (AnomalyType, bool) {
	for _, known := range AnomalyTypes {
		if known.Name == name {
			return known, true
		}
	}
	return AnomalyType{Name: name}, len(name) > 2 && strings.HasPrefix(name, "x-")
}

// MayReport reports whether a reporter, an agent id or Human or System, may record
// anomalies of the type.
func (a AnomalyType) MayReport(reporter string) bool {
	if reporter == Human || len(a.Reporters) == 0 {
		return true
	}
	if role, _, ok := ParseAgentID(reporter); ok {
		reporter = string(role)
	}
	return List(a.Reporters).Has(reporter)
}

// Missing returns the required details that are not given.
func (a AnomalyType) Missing(details Settings) []string {
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
