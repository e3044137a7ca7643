package transition

import (
	"fmt"

	"liza/pkg/base/prose"
	"liza/pkg/board/blackboard"
)

// incomplete are the outcomes of runs that failed to complete. A rejection is none of them, nor is an end that says nothing
// about the model: a quota, a provider out of reach, a person who stops the run.
var incomplete = blackboard.List{"crashed", "timeout", "stalled", "stopped", "context_full", "refused", "stuck", "invalid"}

// Incomplete reports whether that outcome of a run is a failure to complete, after which the next rung of a ladder is taken.
func Incomplete(outcome string) bool { return incomplete.Has(outcome) }

// NextRung returns the rung of the ladder of models for the next run of that kind on the task, from 1 to rungs, and why it is higher
// than that of the run before. It is read from the task's attempts and from nothing else, so no crash forgets it.
func NextRung(t *blackboard.Task, kind string, rungs, afterRejections int) (rung int, why string) {
	last, rejected := onLadder(t.Attempts, kind), 0
	if last == nil {
		return 1, ""
	}
	for _, a := range t.Attempts {
		if a.Kind == kind && a.Rung == last.Rung && a.Outcome == "rejected" && kind == string(blackboard.RoleCoder) {
			rejected++
		}
	}
	switch {
	case last.Rung >= rungs:
		return rungs, ""
	case Incomplete(last.Outcome):
		return last.Rung + 1, prose.FirstLine(last.Outcome + prose.After(": ", last.Summary))
	case afterRejections > 0 && rejected >= afterRejections:
		return last.Rung + 1, fmt.Sprintf("rejected %d times", rejected)
	}
	return last.Rung, ""
}

// LastRung returns the rung of the task's newest run of that kind that has one, or 0.
func LastRung(t *blackboard.Task, kind string) int {
	if last := onLadder(t.Attempts, kind); last != nil {
		return last.Rung
	}
	return 0
}

// Climbed returns the outcome of the run for which attempt i of the task ran on a higher rung; "" when it did not.
func Climbed(t *blackboard.Task, i int) string {
	before := onLadder(t.Attempts[:i], t.Attempts[i].Kind)
	if before == nil || before.Rung >= t.Attempts[i].Rung {
		return ""
	}
	return before.Outcome
}

// onLadder returns the newest run of that kind that was on a ladder, or nil.
func onLadder(attempts []*blackboard.Attempt, kind string) *blackboard.Attempt {
	for i := len(attempts) - 1; i >= 0; i-- {
		if a := attempts[i]; a.Kind == kind && a.Rung > 0 {
			return a
		}
	}
	return nil
}
