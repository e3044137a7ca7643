package outcome

import (
	"testing"

	"liza/pkg/run/exitcmd"
)

// What failed is told as what it is: an answer that cannot be read is another fault than a plan that is refused.
func TestARefusedPlanIsNotToldAsUnreadable(t *testing.T) {
	t.Parallel()
	for problem, want := range map[string]string{
		"no JSON in it":                        "Planning failed: could not parse planner response after 2 attempts. no JSON in it",
		exitcmd.NotApplied + "it has 31 tasks": "Planning failed: the plan was refused after 2 attempts. the plan cannot be applied: it has 31 tasks",
	} {
		if got := PlanningFailed(2, problem); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
