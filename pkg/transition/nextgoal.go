package transition

import (
	"strconv"
	"strings"
	"time"

	"liza/pkg/blackboard"
)

// OpenTasks are the tasks that are not terminal.
func OpenTasks(s *blackboard.State) []*blackboard.Task {
	var open []*blackboard.Task
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
func NextGoal(s *blackboard.State, g *blackboard.Goal, a Actor, now time.Time) (was Ended, archived []string, err error) {
	if err := mayEndGoal(s, a, now); err != nil {
		return was, nil, err
	}
	at := blackboard.TimeOf(now)
	if goalOpen(s) {
		s.Goal.Status, s.Goal.CompletedAt = blackboard.Aborted, ""
		if mergedSomething(s) {
			s.Goal.Status, s.Goal.CompletedAt = blackboard.Completed, at
		}
		align(s, strings.ToLower(s.Goal.Status), "the next goal was made", now)
	}
	if st := sprintStatus(s); st != blackboard.Completed && st != blackboard.Aborted {
		s.Sprint.Status, s.SprintTimes().Ended = s.Goal.Status, at
	}
	was = Ended{s.Goal, s.Sprint, s.Usage}
	archived = Archive(s, time.Time{}, a, now)
	for _, q := range s.Questions {
		if q.Task == "" && q.Status == blackboard.QuestionOpen {
			q.Status = blackboard.QuestionExpired
		}
	}
	s.Goal = g
	startSprint(s, g.ID, &blackboard.SprintScope{}, now)
	s.Record(blackboard.Entry{Timestamp: at, Agent: a.ID, Action: blackboard.ActionGoalStarted, Detail: oneLine(g.ID + " after " + was.Goal.ID + " (" + was.Goal.Status + "): " + g.Description), Extra: via(a)})
	s.Record(blackboard.Entry{Timestamp: at, Agent: a.ID, Action: blackboard.ActionSprintStarted, Detail: s.Sprint.ID + " after " + was.Sprint.ID + ", for " + g.ID, Extra: via(a)})
	return was, archived, nil
}

// Ended is a goal that is over, with its last sprint.
type Ended struct {
	Goal   *blackboard.Goal
	Sprint *blackboard.Sprint
	Usage  *blackboard.Usage
}

func mergedSomething(s *blackboard.State) bool {
	for t := range s.Tasks() {
		if t.Status == blackboard.Merged && !t.AfterPlan {
			return true
		}
	}
	for id, st := range s.ArchivedNow() {
		if st == blackboard.Merged && !s.ArchivedTasks()[id].AfterPlan {
			return true
		}
	}
	return false
}

// mayEndGoal refuses while the present goal is worked on.
func mayEndGoal(s *blackboard.State, a Actor, now time.Time) error {
	switch {
	case s.Sprint == nil || s.Goal == nil:
		return refuse("G06", ExitInvalid, "liza validate", "the state has no goal or no sprint")
	case s.Sprint.Status == blackboard.AtCheckpoint:
		return refuse("G06", ExitRefused, "liza resume", "%s is CHECKPOINT; decide about it first", s.Sprint.ID)
	case s.CircuitBreaker != nil && s.CircuitBreaker.Status == blackboard.BreakerTripped:
		return refuse("G07", ExitRefused, "liza ack", "the circuit breaker is TRIGGERED; acknowledge it first")
	}
	if open := OpenTasks(s); len(open) > 0 {
		var ids []string
		for _, t := range open[:min(len(open), 5)] {
			ids = append(ids, t.ID+" ("+string(t.Status)+")")
		}
		if len(open) > len(ids) {
			ids = append(ids, strconv.Itoa(len(open)-len(ids))+" more")
		}
		return refuse("G06", ExitRefused, `liza goal "TEXT" --abandon-open --reason T, or liza run`, "%s of the present goal: %s", plural(len(open), "open task"), strings.Join(ids, ", "))
	}
	if planner := planning(s, "", a.Facts, now); planner != "" {
		return refuse("G21", ExitRefused, "liza status", "%s is planning", planner)
	}
	return nil
}

// MayAbandonOpen refuses to give up the open tasks while somebody works on one, or while approved work waits to be merged.
func MayAbandonOpen(s *blackboard.State, a Actor, now time.Time) error {
	for _, t := range OpenTasks(s) {
		if who := heldBy(s, t, a.Facts, now); who != "" {
			return refuse("G27", ExitRefused, "liza release "+t.ID+" --force --reason T", "task %s is held by %s", t.ID, who)
		}
		if t.Status == blackboard.Approved {
			return refuse("G06", ExitRefused, "liza merge "+t.ID, "task %s is APPROVED: merge it first", t.ID)
		}
	}
	return nil
}
