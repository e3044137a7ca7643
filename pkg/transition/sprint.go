package transition

import (
	"strconv"
	"time"

	"liza/pkg/blackboard"
)

// NextSprint closes the sprint and starts the next one (S05). Open tasks go on in it:
// those of planned, or without planned all that were not stretch, are its plan, the others
// its stretch. Terminal tasks are taken off the board, and their ids returned: the caller
// keeps them, with the sprint as it was. Facts, discoveries, notes and anomalies stay.
func NextSprint(s *blackboard.State, planned []string, a Actor, now time.Time) (archived []string, err error) {
	if err := mayEndSprint(s, a, now); err != nil {
		return nil, err
	}
	scope, err := nextScope(s, planned)
	if err != nil {
		return nil, err
	}
	archived = Archive(s, time.Time{}, a, now)
	was := s.Sprint
	startSprint(s, was.GoalRef, scope, now)
	open := plural(len(scope.Planned)+len(scope.Stretch), "open task")
	s.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(now), Agent: a.ID, Action: blackboard.ActionSprintStarted, Detail: s.Sprint.ID + " after " + was.ID + ", " + open, Extra: via(a)})
	reopen(s, s.Sprint.ID, a, now)
	return archived, nil
}

// startSprint puts the next sprint in the place of the present one: figures and costs begin at zero, but for those of the day.
func startSprint(s *blackboard.State, goal string, scope *blackboard.SprintScope, now time.Time) {
	n, _ := blackboard.SprintNumber(s.Sprint.ID)
	next := &blackboard.Sprint{ID: "sprint-" + strconv.Itoa(max(n, 1)+1), GoalRef: goal, Status: blackboard.InProgress, Scope: scope, Timeline: &blackboard.Timeline{Started: blackboard.TimeOf(now)}, Paused: s.Sprint.Paused}
	s.Sprint = next
	next.Metrics = openFigures(s)
	usage := &blackboard.Usage{}
	if s.Usage != nil {
		usage.Day = s.Usage.Day
	}
	s.Usage = usage
	if s.Planner != nil {
		s.Planner.Triggers = nil // what was tried in vain may be tried again
	}
}

// mayEndSprint holds the guards of S05.
func mayEndSprint(s *blackboard.State, a Actor, now time.Time) error {
	switch {
	case s.Sprint == nil:
		return refuse("G06", ExitInvalid, "liza validate", "the state has no sprint")
	case goalStatus(s) == blackboard.Aborted:
		return refuse("G06", ExitRefused, "liza status", "the goal is ABORTED; it has no next sprint")
	case s.Sprint.Status == blackboard.AtCheckpoint:
		return refuse("G06", ExitRefused, "liza resume", "%s is CHECKPOINT; the next sprint needs it COMPLETED or ABORTED", s.Sprint.ID)
	case s.Sprint.Status != blackboard.Completed && s.Sprint.Status != blackboard.Aborted:
		return refuse("G06", ExitRefused, "liza status", "%s is %s; the next sprint needs it COMPLETED or ABORTED", s.Sprint.ID, sprintStatus(s))
	case s.CircuitBreaker != nil && s.CircuitBreaker.Status == blackboard.BreakerTripped:
		return refuse("G07", ExitRefused, "liza ack", "the circuit breaker is TRIGGERED; acknowledge it first")
	}
	for t := range s.Tasks() {
		if who := heldBy(s, t, a.Facts, now); who != "" {
			return refuse("G27", ExitRefused, "liza release "+t.ID+" --reason T", "task %s is held by %s; the next sprint needs that nobody works", t.ID, who)
		}
	}
	return nil
}

// heldBy names who works on a task, reviews it or prepares to, and is not verifiably gone.
func heldBy(s *blackboard.State, t *blackboard.Task, facts blackboard.ProcessFacts, now time.Time) string {
	holds := func(live blackboard.Liveness, _ string) bool {
		return live == blackboard.Alive || live == blackboard.Unknown
	}
	switch {
	case t.Status == blackboard.Claimed && holds(s.ClaimLiveness(t, now, facts)):
		return t.AssignedTo
	case t.Status == blackboard.ReadyForReview && t.ReviewingBy != "" && holds(s.ReviewLiveness(t, now, facts)):
		return t.ReviewingBy
	case !t.Status.Terminal() && t.Claiming != nil && !reservationOver(s, t.Claiming, facts, now):
		return t.Claiming.By
	}
	return ""
}

// nextScope sorts the open tasks into plan and stretch of the next sprint.
func nextScope(s *blackboard.State, planned []string) (*blackboard.SprintScope, error) {
	scope := &blackboard.SprintScope{}
	for _, id := range planned {
		t := s.Find(id)
		switch {
		case t == nil:
			return nil, unknownTask(s, id)
		case t.Status.Terminal():
			return nil, refuse("G06", ExitRefused, "liza show "+id, "task %s is %s and cannot be planned", id, t.Status)
		case !scope.Planned.Has(id):
			scope.Planned = append(scope.Planned, id)
		}
	}
	stretch := s.Sprint.EnsureScope().Stretch
	for t := range s.Tasks() {
		switch {
		case t.Status.Terminal() || t.ID == "" || scope.Planned.Has(t.ID):
		case len(planned) > 0 || stretch.Has(t.ID):
			scope.Stretch = append(scope.Stretch, t.ID)
		default:
			scope.Planned = append(scope.Planned, t.ID)
		}
	}
	return scope, nil
}

// openFigures are the figures with which a sprint begins: the state of the tasks that it takes
// over. What happened to them before counts for the sprint before.
func openFigures(s *blackboard.State) *blackboard.Metrics {
	m := &blackboard.Metrics{}
	for t := range s.Tasks() {
		if t.Status.Terminal() {
			continue
		}
		c := contributionOf(t)
		m.TasksInProgress += c.inProgress
		m.TasksBlocked += c.blocked
	}
	return m
}
