package cli

import (
	"liza/pkg/merge"
)

// nextOfMove is what helps after a conflict or a failing check.
func nextOfMove(x *merge.MoveError) string {
	if x.Log != "" {
		return "cat " + x.Log
	}
	return `liza note "TEXT", with which the planner makes a task of it`
}
