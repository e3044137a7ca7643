package transition

import "liza/pkg/board/blackboard"

// taskArchive is an archive for tests, with what the tasks were.
type taskArchive map[string]blackboard.Status

func (x taskArchive) Archived() map[string]blackboard.Archived {
	all := map[string]blackboard.Archived{}
	for id, st := range x {
		sprint := "sprint-1"
		if id == "of-another-sprint" {
			sprint = "sprint-0"
		}
		all[id] = blackboard.Archived{Status: st, Sprint: sprint}
	}
	return all
}
