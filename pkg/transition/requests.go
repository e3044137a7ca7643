package transition

import (
	"time"

	"liza/pkg/blackboard"
)

// PutRequest adds a request, or puts it into the place of the one with its id.
func PutRequest(s *blackboard.State, r blackboard.Request, now time.Time) {
	r.At = blackboard.TimeOf(now)
	if old := s.Request(r.ID); old != nil {
		*old = r
		return
	}
	s.Requests = append(s.Requests, &r)
}

// preferTime is how long a new task waits for its coder to register: a team that begins again registers one after the other.
const preferTime = 30 * time.Second

// awaits reports whether a task is left to the coder that it prefers: that one is registered and has no task, or may come.
func awaits(s *blackboard.State, t *blackboard.Task, now time.Time) bool {
	e := s.Agents[t.Prefer]
	if e == nil {
		created, ok := t.Created.At()
		return ok && now.Sub(created) < preferTime
	}
	if stop := s.Stopped[t.Prefer]; stop != nil {
		return stop.Restart
	}
	return (e.Status == blackboard.AgentIdle || e.Status == blackboard.AgentStarting) && e.CurrentTask == ""
}
