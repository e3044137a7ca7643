package blackboard

// shelf is an archive for tests, with what the tasks were.
type shelf map[string]Status

func (x shelf) Archived() map[string]Archived {
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
