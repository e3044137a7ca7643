package transition

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"liza/pkg/board/blackboard"
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

// CompletionFacts are the facts outside the state on which completion depends.
type CompletionFacts struct {
	Control     bool   // a control file exists
	Integration string // what of the merged work is not on the integration branch, "" when all is; see Service.MissingWork
	Triggers    TriggerFacts
}

// Completion is the state of a sprint with regard to its end (specs/protocol.md#13.4).
type Completion string

// Complete: the goal is reached. NothingMerged: everything is terminal, but no work was
// merged. Missing: merged work is not on the integration branch. Open: there is work left.
const (
	CompletionOpen          Completion = ""
	CompletionComplete      Completion = "complete"
	CompletionNothingMerged Completion = "nothing_merged"
	CompletionMissing       Completion = "missing"
)

// CompletionOf applies the conditions of specs/protocol.md#13.4 without changing anything. A DRAFT, or a plan with unfinished
// tasks, leaves the sprint open, because it is not terminal.
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

// CompleteGoal ends goal and sprint in one write (O01, S04), or only the sprint if nothing was merged. It reports whether
// anything changed.
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

// AbortSprint ends the sprint for the control file ABORT (S03).
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

// CheckpointSprint stops the sprint until people resume it (S01). cause is one of the constants of blackboard.Checkpoint, or "";
// file is the path of the summary.
func CheckpointSprint(s *blackboard.State, cause, message, file string, a Actor, now time.Time) error {
	if s.Sprint == nil {
		return refuse("G06", ExitInvalid, "liza validate", "the state has no sprint")
	}
	if st := sprintStatus(s); st != blackboard.InProgress {
		return refuse("G06", ExitRefused, "liza resume", "the sprint is %s; a checkpoint needs IN_PROGRESS", st)
	}
	at := blackboard.TimeOf(now)
	s.Sprint.Status = blackboard.AtCheckpoint
	s.SprintTimes().CheckpointAt = at
	s.Sprint.Checkpoints = append(s.Sprint.Checkpoints, &blackboard.Checkpoint{N: len(s.Sprint.Checkpoints) + 1, At: at, By: a.name(), Cause: cause, Message: message, File: file})
	s.Record(blackboard.Entry{Timestamp: at, Agent: a.ID, Action: blackboard.ActionSprintCheckpoint, Detail: oneLine(message), Extra: via(a)})
	return nil
}

// WaitForAnswers makes the present checkpoint end with the answers to the open questions. Without open questions a person
// ends it.
func WaitForAnswers(s *blackboard.State) {
	if slices.ContainsFunc(s.Questions, func(q *blackboard.Question) bool { return q.Status == blackboard.QuestionOpen }) {
		s.Sprint.Checkpoints[len(s.Sprint.Checkpoints)-1].Until = blackboard.UntilAnswered
	}
}

// PlannerIsStuck reports whether the sprint is at a checkpoint only because its planner is stuck. Approved work is merged
// meanwhile: it waits for no plan.
func PlannerIsStuck(s *blackboard.State) bool {
	if s.Sprint == nil || s.Sprint.Status != blackboard.AtCheckpoint || len(s.Sprint.Checkpoints) == 0 {
		return false
	}
	c, cb := s.Sprint.Checkpoints[len(s.Sprint.Checkpoints)-1], s.CircuitBreaker
	return c != nil && c.By == blackboard.System && c.Cause == blackboard.CausePlanner && (cb == nil || cb.Status != blackboard.BreakerTripped)
}

// EndsWithAnswer reports whether the sprint is at a checkpoint that waits for answers, and all questions that were open when
// it was made are closed.
func EndsWithAnswer(s *blackboard.State) bool {
	if s.Sprint == nil || s.Sprint.Status != blackboard.AtCheckpoint || len(s.Sprint.Checkpoints) == 0 {
		return false
	}
	c := s.Sprint.Checkpoints[len(s.Sprint.Checkpoints)-1]
	if cb := s.CircuitBreaker; c == nil || c.Until != blackboard.UntilAnswered || cb != nil && cb.Status == blackboard.BreakerTripped {
		return false
	}
	made, _ := c.At.At()
	for _, q := range s.Questions {
		if asked, ok := q.Asked.At(); q.Status == blackboard.QuestionOpen && ok && !asked.After(made) {
			return false
		}
	}
	return true
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
		return refuse("G07", ExitRefused, "liza resume", "the circuit breaker is TRIGGERED; acknowledge it first")
	}
	if decision == "STOP" && !goalOpen(s) {
		return refuse("G06", ExitRefused, "liza status", "the goal is %s and cannot be stopped", goalStatus(s))
	}
	stuck := PlannerIsStuck(s)
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
	if stuck { // it plans again, for what it was stuck at too
		liftSuppression(s)
	}
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

// goOnWith sets a sprint at a checkpoint, or an aborted one, IN_PROGRESS; otherwise it ends a pause.
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

// OpenTasks returns the tasks that are not terminal.
func OpenTasks(s *blackboard.State) []*blackboard.Task {
	var open []*blackboard.Task
	for t := range s.Tasks() {
		if !t.Status.Terminal() {
			open = append(open, t)
		}
	}
	return open
}

// NextGoal replaces a goal by g, with a new sprint. It removes the terminal tasks from the board and returns their ids and
// the former goal and sprint, which the caller archives. Facts, discoveries, notes and anomalies stay. A former goal that is
// still open becomes complete if some of its work was merged, else aborted.
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

// Ended is a finished goal with its last sprint and the usage of that sprint.
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
	case tripped(s.CircuitBreaker):
		return refuse("G07", ExitRefused, "liza resume", "the circuit breaker is TRIGGERED; acknowledge it first")
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

// MayAbandonOpen refuses to abandon the open tasks while an agent works on one, or while approved work waits for its merge.
func MayAbandonOpen(s *blackboard.State, a Actor, now time.Time) error {
	for _, t := range OpenTasks(s) {
		if who := heldBy(s, t, a.Facts, now); who != "" {
			return refuse("G27", ExitRefused, "liza retry "+t.ID+" --force --reason T", "task %s is held by %s", t.ID, who)
		}
		if t.Status == blackboard.Approved {
			return refuse("G06", ExitRefused, "liza merge "+t.ID, "task %s is APPROVED: merge it first", t.ID)
		}
	}
	return nil
}

// NextSprint closes the sprint and starts the next one (S05). Its plan are the tasks planned, or, without planned, all open
// tasks that were not stretch; the other open tasks are its stretch. It removes the terminal tasks from the board and returns
// their ids; the caller archives them with the former sprint. Facts, discoveries, notes and anomalies stay.
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
	case tripped(s.CircuitBreaker):
		return refuse("G07", ExitRefused, "liza resume", "the circuit breaker is TRIGGERED; acknowledge it first")
	}
	for t := range s.Tasks() {
		if who := heldBy(s, t, a.Facts, now); who != "" {
			return refuse("G27", ExitRefused, "liza retry "+t.ID+" --reason T", "task %s is held by %s; the next sprint cannot begin while agents work", t.ID, who)
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

// openFigures returns the figures of a new sprint: the present state of its tasks. Their earlier events count for the sprint
// before.
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

// align appends to the goal's alignment history.
func align(s *blackboard.State, event, summary string, now time.Time) {
	if s.Goal != nil {
		s.Goal.AlignmentHistory = append(s.Goal.AlignmentHistory, &blackboard.Alignment{Timestamp: blackboard.TimeOf(now), Event: event, Summary: summary})
	}
}
