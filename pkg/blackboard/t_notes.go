package blackboard

import (
	"time"
)

// TakeNotes marks them as seen, and returns copies.
func (s *State) TakeNotes(agent string, now time.Time) []*Note {
	var taken []*Note
	for _, n := range s.NewNotes(agent) {
		n.SeenBy = append(n.SeenBy, agent)
		copied := *n
		taken = append(taken, &copied)
		s.Record(Entry{Timestamp: TimeOf(now), Agent: agent, Action: ActionNoteSeen, Task: n.For, Detail: n.ID})
	}
	return taken
}
