package breaker

import (
	"path"
	"strings"

	"liza/pkg/board/blackboard"
)

// Pattern is one line of the table of specs/protocol.md#11.4.
type Pattern struct {
	Name     string
	Severity string // one of blackboard.BreakerSeverities
	Rule     string // the condition in one sentence
	Types    []blackboard.AnomalyKind
	Least    int  // number of anomalies that it requires
	Tasks    bool // Least counts different tasks

	// about returns the subject of an anomaly; "" does not count. Anomalies with the same subject belong together; with
	// alike, those with a similar one.
	about func(a *blackboard.Anomaly, of *blackboard.State) string
	alike bool

	// shows is a further condition on anomalies that belong together; nil: none.
	shows func([]*blackboard.Anomaly) bool
}

// Patterns are the patterns of the breaker, the worst severity first.
var Patterns = []Pattern{
	{Name: "vision_conflict", Severity: "VISION_FLAW", Types: []blackboard.AnomalyKind{blackboard.AnomalyAssumptionViolated, blackboard.AnomalySpecChanged}, Least: 2, about: goalSpec,
		Rule: "Two or more violated assumptions or changes are about the goal's own spec."},
	{Name: "retry_cluster", Severity: "ARCHITECTURE_FLAW", Types: []blackboard.AnomalyKind{blackboard.AnomalyRetryLoop}, Least: 3, about: textIn("error_pattern"), alike: true,
		Rule: "Three or more retry loops end in a similar error."},
	{Name: "workaround_pattern", Severity: "ARCHITECTURE_FLAW", Types: []blackboard.AnomalyKind{blackboard.AnomalyWorkaround, blackboard.AnomalyTradeOff}, Least: 2, about: textIn("root_cause", "what"), alike: true,
		Rule: "Two or more workarounds or trade-offs have a similar cause."},
	{Name: "scope_deviation_cluster", Severity: "ARCHITECTURE_FLAW", Types: []blackboard.AnomalyKind{blackboard.AnomalyScopeDeviation}, Least: 3, Tasks: true, about: anyTask,
		Rule: "Three or more tasks were done outside their scope."},
	{Name: "tool_failure_cluster", Severity: "TECH_STACK_FLAW", Types: []blackboard.AnomalyKind{blackboard.AnomalyRetryLoop, blackboard.AnomalyExternalBlocker}, Least: 3, about: tool, shows: oneNamesTool,
		Rule: "Three or more retry loops or blockers name the same tool or dependency."},
	{Name: "assumption_cascade", Severity: "SPEC_FLAW", Types: []blackboard.AnomalyKind{blackboard.AnomalyAssumptionViolated}, Least: 2, about: textIn("assumption"), alike: true,
		Rule: "Two or more assumptions that did not hold are similar."},
	{Name: "spec_gap_cluster", Severity: "SPEC_FLAW", Types: []blackboard.AnomalyKind{blackboard.AnomalySpecAmbiguity, blackboard.AnomalySpecGap}, Least: 2, about: specRef,
		Rule: "Two or more ambiguities or gaps are at the same place of a spec."},
	{Name: "exhaustion_cluster", Severity: "SPEC_FLAW", Types: []blackboard.AnomalyKind{blackboard.AnomalyExhaustion, blackboard.AnomalyReviewDeadlock}, Least: 2, Tasks: true, about: anyTask,
		Rule: "Two or more tasks are exhausted or in a review deadlock."},
	{Name: "debt_accumulation", Severity: "SCOPE_FLAW", Types: []blackboard.AnomalyKind{blackboard.AnomalyTradeOff, blackboard.AnomalyDebtCreated}, Least: 3, about: debt,
		Rule: "Three or more decisions left debt behind."},
	{Name: "external_service_outage", Severity: "EXTERNAL_DEPENDENCY", Types: []blackboard.AnomalyKind{blackboard.AnomalyExternalBlocker}, Least: 2, about: service,
		Rule: "Two or more blockers are one external service."},
}

// together is the subject of anomalies that belong together by their type alone.
const together = "*"

// textIn is the first of the details that says something.
func textIn(keys ...string) func(*blackboard.Anomaly, *blackboard.State) string {
	return func(a *blackboard.Anomaly, _ *blackboard.State) string {
		for _, key := range keys {
			if text := Normalise(detail(a, key)); text != "" {
				return text
			}
		}
		return ""
	}
}

// anyTask counts anomalies with a task.
func anyTask(a *blackboard.Anomaly, _ *blackboard.State) string {
	if a.Task == "" {
		return ""
	}
	return together
}

// goalSpec counts anomalies about the file of the goal's spec, whatever the anchor.
func goalSpec(a *blackboard.Anomaly, of *blackboard.State) string {
	file, _, _ := strings.Cut(specRef(a, of), "#")
	if of.Goal == nil || file == "" {
		return ""
	}
	if goal, _, _ := strings.Cut(cleanRef(of.Goal.SpecRef), "#"); file != goal {
		return ""
	}
	return file
}

// specRef is file and anchor.
func specRef(a *blackboard.Anomaly, _ *blackboard.State) string {
	return cleanRef(detail(a, "spec_ref"))
}

func cleanRef(ref string) string {
	file, anchor, anchored := strings.Cut(strings.TrimSpace(ref), "#")
	if file == "" {
		return ""
	}
	file = path.Clean(file)
	if anchored && anchor != "" {
		file += "#" + anchor
	}
	return file
}

// service returns the service that blocks.
func service(a *blackboard.Anomaly, _ *blackboard.State) string {
	return Normalise(detail(a, "blocker_service"))
}

// tool is the tool or dependency that an anomaly names; a blocker names a service at least.
func tool(a *blackboard.Anomaly, of *blackboard.State) string {
	if name := textIn("tool", "dependency")(a, of); name != "" {
		return name
	}
	return service(a, of)
}

// oneNamesTool leaves blockers that name nothing but a service to external_service_outage.
func oneNamesTool(group []*blackboard.Anomaly) bool {
	for _, a := range group {
		if textIn("tool", "dependency")(a, nil) != "" {
			return true
		}
	}
	return false
}

// debt counts debts, and trade-offs that make one.
func debt(a *blackboard.Anomaly, _ *blackboard.State) string {
	if a.Type == blackboard.AnomalyTradeOff && !isTrue(a, "debt_created") {
		return ""
	}
	return together
}
