package transition

import (
	"liza/pkg/blackboard"
)

// LimitOf is a limit of the task: its own value, else the configuration's.
func LimitOf(s *blackboard.State, t *blackboard.Task, key string) int {
	if n, ok := blackboard.IntegerOf(t.Limits[key]); ok {
		return n
	}
	return s.Int(key)
}

func maxIterations(s *blackboard.State, t *blackboard.Task) int {
	if t.MaxIterations > 0 {
		return t.MaxIterations
	}
	return s.Int("max_coder_iterations")
}

func maxReviewCycles(s *blackboard.State, t *blackboard.Task) int {
	if t.MaxReviewCycles > 0 {
		return t.MaxReviewCycles
	}
	return s.Int("max_review_cycles")
}

var unitOf = map[string]string{"cost_cents": "cents", "time_minutes": "minutes", "tokens": "tokens", "max_agent_runs": "runs", "max_iterations": "iterations",
	"max_review_cycles": "review cycles"}
