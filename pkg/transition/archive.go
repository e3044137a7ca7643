package transition

import (
	"strconv"
	"strings"
	"time"

	"liza/pkg/blackboard"
)

// Archive takes the tasks off the board that Archivable lists, and returns their ids. The
// caller has to keep them (specs/protocol.md#3.3).
func Archive(s *blackboard.State, before time.Time, a Actor, now time.Time) []string {
	var ids []string
	for _, t := range s.Archivable(before) {
		ids = append(ids, t.ID)
	}
	if len(ids) == 0 {
		return nil
	}
	s.Leave(ids)
	detail := strconv.Itoa(len(ids)) + " tasks: " + strings.Join(ids, ", ")
	if len(ids) == 1 {
		detail = "1 task: " + ids[0]
	}
	s.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(now), Agent: a.ID, Action: blackboard.ActionArchived, Detail: oneLine(detail), Extra: via(a)})
	return ids
}
