package blackboard

import (
	"strconv"
	"strings"
	"time"
)

// OpenTasks are the tasks that are not terminal.
func (s *State) OpenTasks() []*Task {
	var open []*Task
	for t := range s.Tasks() {
		if !t.Status.Terminal() {
			open = append(open, t)
		}
	}
	return open
}

// NextGoal puts a new goal in the place of one that is over, with a sprint of its own. Terminal tasks are taken
// off the board, and their ids returned: the caller keeps them, with the goal and the sprint as they were
// Facts, discoveries, notes and anomalies stay. A goal without open tasks that nobody has called complete is
// complete if something of it was merged, and given up if not.
func (s *State) NextGoal(g *Goal, a Actor, now time.Time) (was Ended, archived []string, err error) {
	if err := s.mayEndGoal(a, now); err != nil {
		return was, nil, err
	}
	at := TimeOf(now)
	if s.goalOpen() {
		s.Goal.Status, s.Goal.CompletedAt = Aborted, ""
		if s.mergedSomething() {
			s.Goal.Status, s.Goal.CompletedAt = Completed, at
		}
		s.align(strings.ToLower(s.Goal.Status), "the next goal was made", now)
	}
	if st := s.sprintStatus(); st != Completed && st != Aborted {
		s.Sprint.Status, s.SprintTimes().Ended = s.Goal.Status, at
	}
	was = Ended{s.Goal, s.Sprint, s.Usage}
	archived = s.Archive(time.Time{}, a, now)
	for _, q := range s.Questions {
		if q.Task == "" && q.Status == QuestionOpen {
			q.Status = QuestionExpired
		}
	}
	s.Goal = g
	s.startSprint(g.ID, &SprintScope{}, now)
	s.Record(Entry{Timestamp: at, Agent: a.ID, Action: ActionGoalStarted, Detail: oneLine(g.ID + " after " + was.Goal.ID + " (" + was.Goal.Status + "): " + g.Description), Extra: via(a)})
	s.Record(Entry{Timestamp: at, Agent: a.ID, Action: ActionSprintStarted, Detail: s.Sprint.ID + " after " + was.Sprint.ID + ", for " + g.ID, Extra: via(a)})
	return was, archived, nil
}

// Ended is a goal that is over, with its last sprint.
type Ended struct {
	Goal   *Goal
	Sprint *Sprint
	Usage  *Usage
}

func (s *State) mergedSomething() bool {
	for t := range s.Tasks() {
		if t.Status == Merged && !t.AfterPlan {
			return true
		}
	}
	for id, st := range s.ArchivedNow() {
		if st == Merged && !s.ArchivedTasks()[id].AfterPlan {
			return true
		}
	}
	return false
}

// mayEndGoal refuses while the present goal is worked on.
func (s *State) mayEndGoal(a Actor, now time.Time) error {
	switch {
	case s.Sprint == nil || s.Goal == nil:
		return refuse("G06", ExitInvalid, "liza validate", "the state has no goal or no sprint")
	case s.Sprint.Status == AtCheckpoint:
		return refuse("G06", ExitRefused, "liza resume", "%s is CHECKPOINT; decide about it first", s.Sprint.ID)
	case s.CircuitBreaker != nil && s.CircuitBreaker.Status == BreakerTripped:
		return refuse("G07", ExitRefused, "liza ack", "the circuit breaker is TRIGGERED; acknowledge it first")
	}
	if open := s.OpenTasks(); len(open) > 0 {
		var ids []string
		for _, t := range open[:min(len(open), 5)] {
			ids = append(ids, t.ID+" ("+string(t.Status)+")")
		}
		if len(open) > len(ids) {
			ids = append(ids, strconv.Itoa(len(open)-len(ids))+" more")
		}
		return refuse("G06", ExitRefused, `liza goal "TEXT" --abandon-open --reason T, or liza run`, "%s of the present goal: %s", plural(len(open), "open task"), strings.Join(ids, ", "))
	}
	if planner := s.planning("", a.Facts, now); planner != "" {
		return refuse("G21", ExitRefused, "liza status", "%s is planning", planner)
	}
	return nil
}

// MayAbandonOpen refuses to give up the open tasks while somebody works on one, or while approved work waits to be merged.
func (s *State) MayAbandonOpen(a Actor, now time.Time) error {
	for _, t := range s.OpenTasks() {
		if who := s.heldBy(t, a.Facts, now); who != "" {
			return refuse("G27", ExitRefused, "liza release "+t.ID+" --force --reason T", "task %s is held by %s", t.ID, who)
		}
		if t.Status == Approved {
			return refuse("G06", ExitRefused, "liza merge "+t.ID, "task %s is APPROVED: merge it first", t.ID)
		}
	}
	return nil
}
