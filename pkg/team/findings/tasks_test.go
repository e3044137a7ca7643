package findings

import (
	"testing"

	"liza/pkg/board/blackboard"
)

func TestTheCommandForABlockedTaskFitsTheCause(t *testing.T) {
	t.Parallel()
	open := []Question{{ID: "q-1", Next: `liza answer q-1 "TEXT"`}}
	for want, task := range map[string]*blackboard.Task{
		`liza answer q-1 "TEXT"`:                                     {ID: "t", BlockedKind: "stuck"},
		`liza retry t --reason "TEXT"`:                               {ID: "t", BlockedKind: "review_deadlock"},
		`liza retry u --reason "TEXT"`:                               {ID: "u", BlockedKind: "max_iterations", Halt: &blackboard.Halt{Kind: "iteration", Limit: 10, Value: 10}},
		"liza retry t --limit time_minutes=120":                      {ID: "t", BlockedKind: "halt", Halt: &blackboard.Halt{Kind: "time", Value: 60, Limit: 60}},
		`liza abandon t --by ID --reason "TEXT" --root-cause "TEXT"`: {ID: "t", BlockedKind: "stuck", FailedBy: blackboard.List{"coder-1", "coder-2"}},
	} {
		if got := unblocks(task, open); got != want {
			t.Errorf("%s: %q, want %q", task.BlockedKind, got, want)
		}
	}
}
