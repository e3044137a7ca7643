package blackboard

import (
	"strconv"
	"time"
)

// NextSprint closes the sprint and starts the next one (S05). Open tasks go on in it:
// those of planned, or without planned all that were not stretch, are its plan, the others
// its stretch. Terminal tasks are taken off the board, and their ids returned: the caller
// keeps them, with the sprint as it was. Facts, discoveries, notes and anomalies stay.
func (s *State) NextSprint(planned []string, a Actor, now time.Time) (archived []string, err error) {
	if err := s.mayEndSprint(a, now); err != nil {
		return nil, err
	}
	scope, err := s.nextScope(planned)
	if err != nil {
		return nil, err
	}
	archived = s.Archive(time.Time{}, a, now)
	was := s.Sprint
	s.startSprint(was.GoalRef, scope, now)
	open := plural(len(scope.Planned)+len(scope.Stretch), "open task")
	s.Record(Entry{Timestamp: TimeOf(now), Agent: a.ID, Action: ActionSprintStarted, Detail: s.Sprint.ID + " after " + was.ID + ", " + open, Extra: via(a)})
	s.reopen(s.Sprint.ID, a, now)
	return archived, nil
}

// startSprint puts the next sprint in the place of the present one: figures and costs begin at zero, but for those of the day.
func (s *State) startSprint(goal string, scope *SprintScope, now time.Time) {
	n, _ := sprintNumber(s.Sprint.ID)
	next := &Sprint{ID: "sprint-" + strconv.Itoa(max(n, 1)+1), GoalRef: goal, Status: InProgress, Scope: scope, Timeline: &Timeline{Started: TimeOf(now)}, Paused: s.Sprint.Paused}
	s.Sprint = next
	next.Metrics = s.openFigures()
	usage := &Usage{}
	if s.Usage != nil {
		usage.Day = s.Usage.Day
	}
	s.Usage = usage
	if s.Planner != nil {
		s.Planner.Triggers = nil // what was tried in vain may be tried again
	}
}

// mayEndSprint holds the guards of S05.
func (s *State) mayEndSprint(a Actor, now time.Time) error {
	switch {
	case s.Sprint == nil:
		return refuse("G06", ExitInvalid, "liza validate", "the state has no sprint")
	case s.goalStatus() == Aborted:
		return refuse("G06", ExitRefused, "liza status", "the goal is ABORTED; it has no next sprint")
	case s.Sprint.Status == AtCheckpoint:
		return refuse("G06", ExitRefused, "liza resume", "%s is CHECKPOINT; the next sprint needs it COMPLETED or ABORTED", s.Sprint.ID)
	case s.Sprint.Status != Completed && s.Sprint.Status != Aborted:
		return refuse("G06", ExitRefused, "liza status", "%s is %s; the next sprint needs it COMPLETED or ABORTED", s.Sprint.ID, s.sprintStatus())
	case s.CircuitBreaker != nil && s.CircuitBreaker.Status == BreakerTripped:
		return refuse("G07", ExitRefused, "liza ack", "the circuit breaker is TRIGGERED; acknowledge it first")
	}
	for t := range s.Tasks() {
		if who := s.heldBy(t, a.Facts, now); who != "" {
			return refuse("G27", ExitRefused, "liza release "+t.ID+" --reason T", "task %s is held by %s; the next sprint needs that nobody works", t.ID, who)
		}
	}
	return nil
}

// heldBy names who works on a task, reviews it or prepares to, and is not verifiably gone.
func (s *State) heldBy(t *Task, facts ProcessFacts, now time.Time) string {
	holds := func(live Liveness, _ string) bool { return live == Alive || live == Unknown }
	switch {
	case t.Status == Claimed && holds(s.ClaimLiveness(t, now, facts)):
		return t.AssignedTo
	case t.Status == ReadyForReview && t.ReviewingBy != "" && holds(s.ReviewLiveness(t, now, facts)):
		return t.ReviewingBy
	case !t.Status.Terminal() && t.Claiming != nil && !s.reservationOver(t.Claiming, facts, now):
		return t.Claiming.By
	}
	return ""
}

// nextScope sorts the open tasks into plan and stretch of the next sprint.
func (s *State) nextScope(planned []string) (*SprintScope, error) {
	scope := &SprintScope{}
	for _, id := range planned {
		t := s.Find(id)
		switch {
		case t == nil:
			return nil, s.unknownTask(id)
		case t.Status.Terminal():
			return nil, refuse("G06", ExitRefused, "liza show "+id, "task %s is %s and cannot be planned", id, t.Status)
		case !scope.Planned.Has(id):
			scope.Planned = append(scope.Planned, id)
		}
	}
	stretch := s.Sprint.scope().Stretch
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
func (s *State) openFigures() *Metrics {
	m := &Metrics{}
	for t := range s.Tasks() {
		if t.Status.Terminal() {
			continue
		}
		c := t.contribution()
		m.TasksInProgress += c.inProgress
		m.TasksBlocked += c.blocked
	}
	return m
}
