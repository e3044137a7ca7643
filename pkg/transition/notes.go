package transition

import (
	"time"

	"liza/pkg/blackboard"
)

// TakeNotes marks them as seen, and returns copies.
func TakeNotes(s *blackboard.State, agent string, now time.Time) []*blackboard.Note {
	var taken []*blackboard.Note
	for _, n := range s.NewNotes(agent) {
		n.SeenBy = append(n.SeenBy, agent)
		copied := *n
		taken = append(taken, &copied)
		s.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(now), Agent: agent, Action: blackboard.ActionNoteSeen, Task: n.For, Detail: n.ID})
	}
	return taken
}
