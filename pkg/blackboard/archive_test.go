package blackboard

// taskArchive is an archive for tests, with what the tasks were.
type taskArchive map[string]Status

func (x taskArchive) Archived() map[string]Archived {
	all := map[string]Archived{}
	for id, st := range x {
		sprint := "sprint-1"
		if id == "of-another-sprint" {
			sprint = "sprint-0"
		}
		all[id] = Archived{Status: st, Sprint: sprint}
	}
	return all
}
