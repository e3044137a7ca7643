package transition

import (
	"strconv"
	"time"

	"liza/pkg/blackboard"
)

// reopen sets a COMPLETED goal back to IN_PROGRESS and says why (O03).
func reopen(s *blackboard.State, why string, a Actor, now time.Time) {
	g := s.Goal
	if g == nil || g.Status != blackboard.Completed {
		return
	}
	g.Status, g.CompletedAt = blackboard.InProgress, ""
	if s.Sprint != nil && s.Sprint.Status == blackboard.Completed {
		s.Sprint.Status = blackboard.InProgress
		if s.Sprint.Timeline != nil {
			s.Sprint.Timeline.Ended = ""
		}
	}
	why += " by " + a.name()
	align(s, "reopened", why, now)
	s.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(now), Agent: a.ID, Action: blackboard.ActionGoalReopened, Detail: why, Extra: via(a)})
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
func CompletionOf(s *blackboard.State, f CompletionFacts, now time.Time) Completion {
	if !goalOpen(s) || s.Sprint == nil || sprintStatus(s) != blackboard.InProgress || f.Control {
		return CompletionOpen
	}
	merged, found := false, false
	for t := range s.Tasks() {
		if !t.Status.Terminal() {
			return CompletionOpen
		}
		found, merged = true, merged || t.Status == blackboard.Merged && !t.AfterPlan
	}
	if archived := s.ArchivedTasks(); len(archived) > 0 {
		for id, st := range s.ArchivedNow() {
			found, merged = true, merged || st == blackboard.Merged && !archived[id].AfterPlan
		}
	}
	// Without facts about processes a planner counts as long as its lease holds.
	if !found || len(Triggers(s, f.Triggers, now)) > 0 || planning(s, "", blackboard.ProcessFacts{}, now) != "" {
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
func CompleteGoal(s *blackboard.State, f CompletionFacts, now time.Time) (Completion, bool) {
	c := CompletionOf(s, f, now)
	at := blackboard.TimeOf(now)
	if c == CompletionOpen || c == CompletionMissing {
		return c, false
	}
	s.Sprint.Status = blackboard.Completed
	s.SprintTimes().Ended = at
	if c == CompletionComplete {
		s.Goal.Status, s.Goal.CompletedAt = blackboard.Completed, at
		align(s, "completed", "every task is done", now)
		s.Record(blackboard.Entry{Timestamp: at, Agent: blackboard.System, Action: blackboard.ActionGoalCompleted, Detail: countLine(s)})
	}
	s.Record(blackboard.Entry{Timestamp: at, Agent: blackboard.System, Action: blackboard.ActionSprintCompleted, Detail: countLine(s)})
	return c, true
}

func countLine(s *blackboard.State) string {
	n := map[blackboard.Status]int{}
	for t := range s.Tasks() {
		n[t.Status]++
	}
	line := ""
	for _, st := range blackboard.Statuses {
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
func AbortGoal(s *blackboard.State, reason string, a Actor, now time.Time) error {
	if !goalOpen(s) {
		return refuse("G06", ExitRefused, "liza status", "the goal is %s", goalStatus(s))
	}
	s.Goal.Status = blackboard.Aborted
	align(s, "aborted", oneLine(reason), now)
	s.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(now), Agent: a.ID, Action: blackboard.ActionGoalAborted, Detail: oneLine(reason), Extra: via(a)})
	return AbortSprint(s, reason, a, now)
}

// AbortSprint follows the file ABORT (S03).
func AbortSprint(s *blackboard.State, reason string, a Actor, now time.Time) error {
	if s.Sprint == nil || sprintStatus(s) != blackboard.InProgress && s.Sprint.Status != blackboard.AtCheckpoint {
		return nil
	}
	s.Sprint.Status = blackboard.Aborted
	s.SprintTimes().Ended = blackboard.TimeOf(now)
	s.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(now), Agent: a.ID, Action: blackboard.ActionAborted, Detail: oneLine(reason), Extra: via(a)})
	s.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(now), Agent: a.ID, Action: blackboard.ActionSprintAborted, Detail: oneLine(reason), Extra: via(a)})
	return nil
}

// CheckpointSprint stops the sprint for people (S01). file is the summary's path.
func CheckpointSprint(s *blackboard.State, message, file string, a Actor, now time.Time) error {
	if s.Sprint == nil {
		return refuse("G06", ExitInvalid, "liza validate", "the state has no sprint")
	}
	if st := sprintStatus(s); st != blackboard.InProgress {
		next := "liza resume"
		if st == blackboard.Completed {
			next = "liza sprint next"
		}
		return refuse("G06", ExitRefused, next, "the sprint is %s; a checkpoint needs IN_PROGRESS", st)
	}
	at := blackboard.TimeOf(now)
	s.Sprint.Status = blackboard.AtCheckpoint
	s.SprintTimes().CheckpointAt = at
	s.Sprint.Checkpoints = append(s.Sprint.Checkpoints, &blackboard.Checkpoint{N: len(s.Sprint.Checkpoints) + 1, At: at, By: a.name(), Message: message, File: file})
	s.Record(blackboard.Entry{Timestamp: at, Agent: a.ID, Action: blackboard.ActionSprintCheckpoint, Detail: oneLine(message), Extra: via(a)})
	return nil
}

// Decisions are the answers to a checkpoint (specs/protocol.md#13.6).
var Decisions = []string{"CONTINUE", "ADJUST_SPECS", "ADJUST_CONTRACTS", "REPLAN", "PIVOT", "STOP"}

// ResumeSprint ends a checkpoint (S02), an abort (S03) or a pause; decision "" is CONTINUE.
func ResumeSprint(s *blackboard.State, decision, note string, a Actor, now time.Time) error {
	if decision == "" {
		decision = "CONTINUE"
	}
	if !blackboard.List(Decisions).Has(decision) {
		return refuse("G09", ExitUsage, "liza help resume", "decision '%s' is unknown; it must be %s", decision, blackboard.OrList(Decisions))
	}
	if s.Sprint == nil {
		return refuse("G06", ExitInvalid, "liza validate", "the state has no sprint")
	}
	if cb := s.CircuitBreaker; cb != nil && cb.Status == blackboard.BreakerTripped {
		return refuse("G07", ExitRefused, "liza ack", "the circuit breaker is TRIGGERED; acknowledge it first")
	}
	if decision == "STOP" && !goalOpen(s) {
		return refuse("G06", ExitRefused, "liza status", "the goal is %s and cannot be stopped", goalStatus(s))
	}
	decide(s, decision, note, a, now)
	switch decision {
	case "STOP":
		reason := "STOP"
		if note != "" {
			reason += ": " + note
		}
		return AbortGoal(s, reason, a, now)
	case "REPLAN", "PIVOT":
		goOnWith(s, note, a, now)
		text := decision
		if note != "" {
			text += ": " + note
		}
		addNote(s, &blackboard.Note{Message: text}, a, now)
		return nil
	}
	goOnWith(s, note, a, now)
	if r := record(s.Planner, TriggerReplan); r != nil && r.Suppressed { // a chain that was stopped
		r.Suppressed, r.Launches, r.Next = false, 0, ""
	}
	return nil
}

// decide stores the decision in the checkpoint that is open, if there is one.
func decide(s *blackboard.State, decision, note string, a Actor, now time.Time) {
	n := len(s.Sprint.Checkpoints)
	if s.Sprint.Status != blackboard.AtCheckpoint || n == 0 || s.Sprint.Checkpoints[n-1] == nil {
		return
	}
	c := s.Sprint.Checkpoints[n-1]
	c.Decision, c.DecidedBy, c.DecidedAt = decision, a.name(), blackboard.TimeOf(now)
	detail := decision
	if note != "" {
		detail += ": " + note
	}
	s.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(now), Agent: a.ID, Action: blackboard.ActionCheckpointDecision, Detail: oneLine(detail), Extra: via(a)})
}

// goOn sets a sprint at a checkpoint or an aborted one IN_PROGRESS; otherwise a pause ends.
func goOnWith(s *blackboard.State, note string, a Actor, now time.Time) {
	s.Sprint.Paused = nil
	action := blackboard.ActionResumed
	if st := s.Sprint.Status; st == blackboard.AtCheckpoint || st == blackboard.Aborted && s.Goal != nil && s.Goal.Status != blackboard.Aborted {
		action = blackboard.ActionSprintResumed
		s.Sprint.Status = blackboard.InProgress
		s.SprintTimes().CheckpointAt, s.SprintTimes().Ended = "", ""
	}
	s.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(now), Agent: a.ID, Action: action, Detail: oneLine(note), Extra: via(a)})
}
