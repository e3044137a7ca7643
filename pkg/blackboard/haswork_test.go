package blackboard

import "testing"

func TestATaskIsThereToBeClaimedWhenNothingOnTheBoardIsInItsWay(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		tasks []*Task
		want  bool
	}{
		"nothing is there":            {},
		"a task for anybody":          {[]*Task{{ID: "a", Status: Unclaimed}}, true},
		"somebody has it":             {[]*Task{{ID: "a", Status: Claimed}}, false},
		"it is on hold":               {[]*Task{{ID: "a", Status: Unclaimed, Hold: &Hold{}}}, false},
		"its dependency is open":      {[]*Task{{ID: "a", Status: Claimed}, {ID: "b", Status: Unclaimed, DependsOn: List{"a"}}}, false},
		"its dependency is merged":    {[]*Task{{ID: "a", Status: Merged}, {ID: "b", Status: Rejected, DependsOn: List{"a"}}}, true},
		"its dependency was archived": {[]*Task{{ID: "b", Status: IntegrationFailed, DependsOn: List{"old"}}}, true},
	} {
		s := (&State{}).With(tt.tasks...)
		s.UseArchive(taskArchive{"old": Merged})
		if s.HasWork() != tt.want {
			t.Errorf("%s: got %v", name, !tt.want)
		}
	}
}
