package transition

import (
	"testing"

	"liza/pkg/board/blackboard"
)

func TestATaskIsThereToBeClaimedWhenNothingOnTheBoardIsInItsWay(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		tasks []*blackboard.Task
		want  bool
	}{
		"nothing is there":            {},
		"a task for anybody":          {[]*blackboard.Task{{ID: "a", Status: blackboard.Unclaimed}}, true},
		"somebody has it":             {[]*blackboard.Task{{ID: "a", Status: blackboard.Claimed}}, false},
		"it is on hold":               {[]*blackboard.Task{{ID: "a", Status: blackboard.Unclaimed, Hold: &blackboard.Hold{}}}, false},
		"its dependency is open":      {[]*blackboard.Task{{ID: "a", Status: blackboard.Claimed}, {ID: "b", Status: blackboard.Unclaimed, DependsOn: blackboard.List{"a"}}}, false},
		"its dependency is merged":    {[]*blackboard.Task{{ID: "a", Status: blackboard.Merged}, {ID: "b", Status: blackboard.Rejected, DependsOn: blackboard.List{"a"}}}, true},
		"its dependency was archived": {[]*blackboard.Task{{ID: "b", Status: blackboard.IntegrationFailed, DependsOn: blackboard.List{"old"}}}, true},
	} {
		s := (&blackboard.State{}).With(tt.tasks...)
		s.UseArchive(taskArchive{"old": blackboard.Merged})
		if HasWork(s) != tt.want {
			t.Errorf("%s: got %v", name, !tt.want)
		}
	}
}
