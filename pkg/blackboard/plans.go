package blackboard

import "time"

// EnterPlan records a plan whose tasks are on the board: it becomes the plan in force,
// and the goal's alignment history says so (roles-and-knowledge 3.5).
func (s *State) EnterPlan(p *Plan, summary string, a Actor, now time.Time) {
	s.Plans = append(s.Plans, p)
	if s.Goal != nil {
		s.Goal.PlanID = p.ID
	}
	s.align("planning", oneLine(p.Goal), now)
	s.Record(Entry{Timestamp: TimeOf(now), Agent: a.ID, Action: "plan_applied", Detail: oneLine(summary), Extra: via(a)})
}
