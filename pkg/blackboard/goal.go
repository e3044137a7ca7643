package blackboard

import (
	"strconv"
	"time"
)

// reopen sets a COMPLETED goal back to IN_PROGRESS and says why (O03).
func (s *State) reopen(why string, a Actor, now time.Time) {
	g := s.Goal
	if g == nil || g.Status != Completed {
		return
	}
	g.Status, g.CompletedAt = InProgress, ""
	if s.Sprint != nil && s.Sprint.Status == Completed {
		s.Sprint.Status = InProgress
		if s.Sprint.Timeline != nil {
			s.Sprint.Timeline.Ended = ""
		}
	}
	why += " by " + a.name()
	s.align("reopened", why, now)
	s.Record(Entry{Timestamp: TimeOf(now), Agent: a.ID, Action: ActionGoalReopened, Detail: why, Extra: via(a)})
}

// CompletionFacts is what completion depends on besides the state.
type CompletionFacts struct {
	Control     bool   // a control file exists
	Integration string // what of the merged work is not on the integration branch, "" when all is; see Service.MissingWork
	Triggers    TriggerFacts
}

// Completion gives the state of the sprint (specs/protocol.md#13.4).
type Completion string

// Complete: the goal is reached. NothingMerged: everything is terminal, but no work was
// merged. Missing: merged work is not on the integration branch. Open: there is work left.
const (
	CompletionOpen          Completion = ""
	CompletionComplete      Completion = "complete"
	CompletionNothingMerged Completion = "nothing_merged"
	CompletionMissing       Completion = "missing"
)

// CompletionOf applies the conditions of specs/protocol.md#13.4 without changing anything. That
// every task is terminal leaves no DRAFT and no plan with unfinished tasks.
func (s *State) CompletionOf(f CompletionFacts, now time.Time) Completion {
	if !s.goalOpen() || s.Sprint == nil || s.sprintStatus() != InProgress || f.Control {
		return CompletionOpen
	}
	merged, found := false, false
	for t := range s.Tasks() {
		if !t.Status.Terminal() {
			return CompletionOpen
		}
		found, merged = true, merged || t.Status == Merged && !t.AfterPlan
	}
	if archived := s.ArchivedTasks(); len(archived) > 0 {
		for id, st := range s.ArchivedNow() {
			found, merged = true, merged || st == Merged && !archived[id].AfterPlan
		}
	}
	// Without facts about processes a planner counts as long as its lease holds.
	if !found || len(s.Triggers(f.Triggers, now)) > 0 || s.planning("", ProcessFacts{}, now) != "" {
		return CompletionOpen
	}
	if !merged {
		return CompletionNothingMerged
	}
	if f.Integration != "" {
		return CompletionMissing
	}
	return CompletionComplete
}

// CompleteGoal ends goal and sprint in one write (O01, S04); with nothing merged only the
// sprint. It reports whether anything changed.
func (s *State) CompleteGoal(f CompletionFacts, now time.Time) (Completion, bool) {
	c := s.CompletionOf(f, now)
	at := TimeOf(now)
	if c == CompletionOpen || c == CompletionMissing {
		return c, false
	}
	s.Sprint.Status = Completed
	s.SprintTimes().Ended = at
	if c == CompletionComplete {
		s.Goal.Status, s.Goal.CompletedAt = Completed, at
		s.align("completed", "every task is done", now)
		s.Record(Entry{Timestamp: at, Agent: System, Action: ActionGoalCompleted, Detail: s.countLine()})
	}
	s.Record(Entry{Timestamp: at, Agent: System, Action: ActionSprintCompleted, Detail: s.countLine()})
	return c, true
}

func (s *State) countLine() string {
	n := map[Status]int{}
	for t := range s.Tasks() {
		n[t.Status]++
	}
	line := ""
	for _, st := range Statuses {
		if n[st] > 0 {
			if line != "" {
				line += ", "
			}
			line += strconv.Itoa(n[st]) + " " + string(st)
		}
	}
	return line
}

// AbortGoal gives the goal up (O02) and with it the sprint (S03).
func (s *State) AbortGoal(reason string, a Actor, now time.Time) error {
	if !s.goalOpen() {
		return refuse("G06", ExitRefused, "liza status", "the goal is %s", s.goalStatus())
	}
	s.Goal.Status = Aborted
	s.align("aborted", oneLine(reason), now)
	s.Record(Entry{Timestamp: TimeOf(now), Agent: a.ID, Action: ActionGoalAborted, Detail: oneLine(reason), Extra: via(a)})
	return s.AbortSprint(reason, a, now)
}

func (s *State) goalOpen() bool {
	return s.Goal != nil && (s.Goal.Status == InProgress || s.Goal.Status == "")
}

func (s *State) goalStatus() string {
	if s.Goal == nil {
		return "missing"
	}
	return s.Goal.Status
}

// AbortSprint follows the file ABORT (S03).
func (s *State) AbortSprint(reason string, a Actor, now time.Time) error {
	if s.Sprint == nil || s.sprintStatus() != InProgress && s.Sprint.Status != AtCheckpoint {
		return nil
	}
	s.Sprint.Status = Aborted
	s.SprintTimes().Ended = TimeOf(now)
	s.Record(Entry{Timestamp: TimeOf(now), Agent: a.ID, Action: ActionAborted, Detail: oneLine(reason), Extra: via(a)})
	s.Record(Entry{Timestamp: TimeOf(now), Agent: a.ID, Action: ActionSprintAborted, Detail: oneLine(reason), Extra: via(a)})
	return nil
}

// CheckpointSprint stops the sprint for people (S01). file is the summary's path.
func (s *State) CheckpointSprint(message, file string, a Actor, now time.Time) error {
	if s.Sprint == nil {
		return refuse("G06", ExitInvalid, "liza validate", "the state has no sprint")
	}
	if st := s.sprintStatus(); st != InProgress {
		next := "liza resume"
		if st == Completed {
			next = "liza sprint next"
		}
		return refuse("G06", ExitRefused, next, "the sprint is %s; a checkpoint needs IN_PROGRESS", st)
	}
	at := TimeOf(now)
	s.Sprint.Status = AtCheckpoint
	s.SprintTimes().CheckpointAt = at
	s.Sprint.Checkpoints = append(s.Sprint.Checkpoints, &Checkpoint{N: len(s.Sprint.Checkpoints) + 1, At: at, By: a.name(), Message: message, File: file})
	s.Record(Entry{Timestamp: at, Agent: a.ID, Action: ActionSprintCheckpoint, Detail: oneLine(message), Extra: via(a)})
	return nil
}

// Decisions are the answers to a checkpoint (specs/protocol.md#13.6).
var Decisions = []string{"CONTINUE", "ADJUST_SPECS", "ADJUST_CONTRACTS", "REPLAN", "PIVOT", "STOP"}

// ResumeSprint ends a checkpoint (S02), an abort (S03) or a pause; decision "" is CONTINUE.
func (s *State) ResumeSprint(decision, note string, a Actor, now time.Time) error {
	if decision == "" {
		decision = "CONTINUE"
	}
	if !List(Decisions).Has(decision) {
		return refuse("G09", ExitUsage, "liza help resume", "decision '%s' is unknown; it must be %s", decision, OrList(Decisions))
	}
	if s.Sprint == nil {
		return refuse("G06", ExitInvalid, "liza validate", "the state has no sprint")
	}
	if cb := s.CircuitBreaker; cb != nil && cb.Status == BreakerTripped {
		return refuse("G07", ExitRefused, "liza ack", "the circuit breaker is TRIGGERED; acknowledge it first")
	}
	if decision == "STOP" && !s.goalOpen() {
		return refuse("G06", ExitRefused, "liza status", "the goal is %s and cannot be stopped", s.goalStatus())
	}
	s.decide(decision, note, a, now)
	switch decision {
	case "STOP":
		reason := "STOP"
		if note != "" {
			reason += ": " + note
		}
		return s.AbortGoal(reason, a, now)
	case "REPLAN", "PIVOT":
		s.goOn(note, a, now)
		text := decision
		if note != "" {
			text += ": " + note
		}
		s.addNote(&Note{Message: text}, a, now)
		return nil
	}
	s.goOn(note, a, now)
	if r := s.Planner.record("REPLAN"); r != nil && r.Suppressed { // a chain that was stopped
		r.Suppressed, r.Launches, r.Next = false, 0, ""
	}
	return nil
}

// decide stores the decision in the checkpoint that is open, if there is one.
func (s *State) decide(decision, note string, a Actor, now time.Time) {
	n := len(s.Sprint.Checkpoints)
	if s.Sprint.Status != AtCheckpoint || n == 0 || s.Sprint.Checkpoints[n-1] == nil {
		return
	}
	c := s.Sprint.Checkpoints[n-1]
	c.Decision, c.DecidedBy, c.DecidedAt = decision, a.name(), TimeOf(now)
	detail := decision
	if note != "" {
		detail += ": " + note
	}
	s.Record(Entry{Timestamp: TimeOf(now), Agent: a.ID, Action: ActionCheckpointDecision, Detail: oneLine(detail), Extra: via(a)})
}

// goOn sets a sprint at a checkpoint or an aborted one IN_PROGRESS; otherwise a pause ends.
func (s *State) goOn(note string, a Actor, now time.Time) {
	s.Sprint.Paused = nil
	action := ActionResumed
	if st := s.Sprint.Status; st == AtCheckpoint || st == Aborted && s.Goal != nil && s.Goal.Status != Aborted {
		action = ActionSprintResumed
		s.Sprint.Status = InProgress
		s.SprintTimes().CheckpointAt, s.SprintTimes().Ended = "", ""
	}
	s.Record(Entry{Timestamp: TimeOf(now), Agent: a.ID, Action: action, Detail: oneLine(note), Extra: via(a)})
}
