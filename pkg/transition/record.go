package transition

import (
	"strconv"
	"strings"
	"time"

	"liza/pkg/blackboard"
)

// withdrawQuestions ends the open questions of a task that left BLOCKED or is terminal.
func withdrawQuestions(s *blackboard.State, task string) {
	for _, q := range s.Questions {
		if q.Task == task && q.Status == blackboard.QuestionOpen {
			q.Status = blackboard.QuestionExpired
		}
	}
}

// align appends to the goal's alignment history.
func align(s *blackboard.State, event, summary string, now time.Time) {
	if s.Goal != nil {
		s.Goal.AlignmentHistory = append(s.Goal.AlignmentHistory, &blackboard.Alignment{Timestamp: blackboard.TimeOf(now), Event: event, Summary: summary})
	}
}

// ask adds a question under the next free id.
func ask(s *blackboard.State, q *blackboard.Question) {
	q.ID = nextID("q-", s.Questions, func(q *blackboard.Question) string { return q.ID })
	s.Questions = append(s.Questions, q)
}

func addAnomaly(s *blackboard.State, a *blackboard.Anomaly) {
	a.ID = nextID("anom-", s.Anomalies, func(a *blackboard.Anomaly) string { return a.ID })
	s.Anomalies = append(s.Anomalies, a)
	detail := string(a.Type)
	for _, k := range []string{"what", "reason", "cycles", "failed_by"} {
		if v, ok := a.Details[k]; ok {
			detail += ": " + describe(v)
			break
		}
	}
	s.Record(blackboard.Entry{Timestamp: a.Timestamp, Agent: a.Reporter, Action: blackboard.ActionAnomaly, Task: a.Task, Detail: detail})
}

// nextID is prefix and one more than the highest number in use.
func nextID[T any](prefix string, list []*T, id func(*T) string) string {
	highest := 0
	for _, x := range list {
		if rest, ok := strings.CutPrefix(id(x), prefix); ok {
			if n, err := strconv.Atoi(rest); err == nil {
				highest = max(highest, n)
			}
		}
	}
	return prefix + strconv.Itoa(highest+1)
}

// anyPlanner is who reports for the planner: the first one, or system when there is none.
func anyPlanner(s *blackboard.State) string {
	for _, id := range s.AgentIDs() {
		if role, _, _ := blackboard.ParseAgentID(id); role == blackboard.RolePlanner {
			return id
		}
	}
	return blackboard.System
}
