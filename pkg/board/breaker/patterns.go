package breaker

import (
	"path"
	"strings"

	"liza/pkg/board/blackboard"
)

// Pattern is one line of the table of specs/protocol.md#11.4.
type Pattern struct {
	Name     string
	Severity string // one of transition.BreakerSeverities
	Rule     string // the condition in one sentence
	Types    []blackboard.AnomalyKind
	Least    int  // number of anomalies that it requires
	Tasks    bool // Least counts different tasks

	// about returns the subject of an anomaly; "" does not count. Anomalies with the same subject belong together.
	about func(a *blackboard.Anomaly) string
}

// Patterns is the table, the worst first.
var Patterns = []Pattern{
	{Name: "retry_cluster", Severity: "ARCHITECTURE_FLAW", Types: []blackboard.AnomalyKind{blackboard.AnomalyRetryLoop}, Least: 3, about: textIn("error_pattern"),
		Rule: "Three or more retry loops end in the same error."},
	{Name: "workaround_pattern", Severity: "ARCHITECTURE_FLAW", Types: []blackboard.AnomalyKind{blackboard.AnomalyWorkaround, blackboard.AnomalyTradeOff}, Least: 2, about: textIn("root_cause", "what"),
		Rule: "Two or more workarounds or trade-offs have the same cause."},
	{Name: "spec_gap_cluster", Severity: "SPEC_FLAW", Types: []blackboard.AnomalyKind{blackboard.AnomalySpecAmbiguity, blackboard.AnomalySpecGap, blackboard.AnomalyAssumptionViolated, blackboard.AnomalySpecChanged}, Least: 2, about: specRef,
		Rule: "Two or more ambiguities, gaps, changes or violated assumptions are at the same place of a spec."},
	{Name: "exhaustion_cluster", Severity: "SPEC_FLAW", Types: []blackboard.AnomalyKind{blackboard.AnomalyExhaustion, blackboard.AnomalyReviewDeadlock}, Least: 2, Tasks: true, about: anyTask,
		Rule: "Two or more tasks are exhausted or in a review deadlock."},
	{Name: "external_service_outage", Severity: "EXTERNAL_DEPENDENCY", Types: []blackboard.AnomalyKind{blackboard.AnomalyExternalBlocker}, Least: 2, about: textIn("blocker_service"),
		Rule: "Two or more blockers are one external service."},
}

// together is the subject of all anomalies of a pattern that counts tasks.
const together = "*"

// textIn returns the first detail that is not empty, normalised.
func textIn(keys ...string) func(*blackboard.Anomaly) string {
	return func(a *blackboard.Anomaly) string {
		for _, key := range keys {
			if text := Normalise(detail(a, key)); text != "" {
				return text
			}
		}
		return ""
	}
}

func anyTask(a *blackboard.Anomaly) string {
	if a.Task == "" {
		return ""
	}
	return together
}

// specRef is the file of a spec and its anchor.
func specRef(a *blackboard.Anomaly) string {
	file, anchor, _ := strings.Cut(detail(a, "spec_ref"), "#")
	if file == "" {
		return ""
	}
	if file = path.Clean(file); anchor != "" {
		file += "#" + anchor
	}
	return file
}
