package landing_test

import (
	"testing"

	"liza/pkg/board/blackboard"
	"liza/pkg/verb/landing"
)

func TestAllHasLandedWhenNoRequestIsOpenAndNoMergedTaskLacksOne(t *testing.T) {
	t.Parallel()
	merged := &blackboard.Request{ID: "goal-1", Status: blackboard.RequestMerged}
	one := &blackboard.Request{ID: "task-1", Status: blackboard.RequestMerged, Picked: blackboard.List{"task-1"}}
	for name, c := range map[string]struct {
		requests []*blackboard.Request
		want     bool
	}{
		"nothing was begun":          {nil, false},
		"being opened":               {[]*blackboard.Request{merged, {Status: blackboard.RequestOpening}}, false},
		"open":                       {[]*blackboard.Request{merged, {Status: blackboard.RequestOpen}}, false},
		"merged":                     {[]*blackboard.Request{merged}, true},
		"closed by a person":         {[]*blackboard.Request{{Status: blackboard.RequestClosed}}, true},
		"one of two tasks":           {[]*blackboard.Request{one}, false},
		"two tasks, each on its own": {[]*blackboard.Request{one, {Status: blackboard.RequestMerged, Picked: blackboard.List{"task-2"}}}, true},
	} {
		s := &blackboard.State{Requests: c.requests}
		for _, id := range []string{"task-1", "task-2"} {
			s.AddTasks(&blackboard.Task{ID: id, Type: "code", Status: blackboard.Merged, MergeCommit: "abc"})
		}
		if got := landing.AllLanded(s); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
