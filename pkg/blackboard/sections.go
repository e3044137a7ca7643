package blackboard

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Plan returns the plan with that id, or nil.
func (s *State) Plan(id string) *Plan {
	for _, p := range s.Plans {
		if p.ID == id && id != "" {
			return p
		}
	}
	return nil
}

// withdrawQuestions ends the open questions of a task that left BLOCKED or is terminal.
func (s *State) withdrawQuestions(task string) {
	for _, q := range s.Questions {
		if q.Task == task && q.Status == QuestionOpen {
			q.Status = QuestionExpired
		}
	}
}

// settle follows a task that is terminal now: its open questions are withdrawn, and its
// plan is done when it was the last one.
func (s *State) settle(of *Task) {
	s.withdrawQuestions(of.ID)
	p := s.Plan(of.Plan)
	if p == nil || p.Status != "running" {
		return
	}
	for t := range s.Tasks() {
		if t.Plan == of.Plan && !t.Status.Terminal() {
			return
		}
	}
	p.Status = "done"
}

// align appends to the goal's alignment history.
func (s *State) align(event, summary string, now time.Time) {
	if s.Goal != nil {
		s.Goal.AlignmentHistory = append(s.Goal.AlignmentHistory, &Alignment{Timestamp: TimeOf(now), Event: event, Summary: summary})
	}
}

// Ask adds a question of an agent that is about no task.
func (s *State) Ask(q *Question) { s.ask(q) }

// ask adds a question under the next free id.
func (s *State) ask(q *Question) {
	q.ID = nextID("q-", s.Questions, func(q *Question) string { return q.ID })
	s.Questions = append(s.Questions, q)
}

func (s *State) addAnomaly(a *Anomaly) {
	a.ID = nextID("anom-", s.Anomalies, func(a *Anomaly) string { return a.ID })
	s.Anomalies = append(s.Anomalies, a)
	detail := string(a.Type)
	for _, k := range []string{"what", "reason", "cycles", "failed_by"} {
		if v, ok := a.Details[k]; ok {
			detail += ": " + describe(v)
			break
		}
	}
	s.Record(Entry{Timestamp: a.Timestamp, Agent: a.Reporter, Action: ActionAnomaly, Task: a.Task, Detail: detail})
}

// AddAnomaly records something that went differently than it should (specs/protocol.md#13.9).
func (s *State) AddAnomaly(task, reporter string, kind AnomalyKind, details Settings, now time.Time) {
	s.addAnomaly(&Anomaly{Timestamp: TimeOf(now), Task: task, Reporter: reporter, Type: kind, Details: details})
}

// describe is a detail of an anomaly in one line.
func describe(v any) string {
	if list, ok := v.([]string); ok {
		return oneLine(strings.Join(list, ", "))
	}
	return oneLine(fmt.Sprint(v))
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
func (s *State) anyPlanner() string {
	for _, id := range s.agentIDs() {
		if role, _, _ := ParseAgentID(id); role == RolePlanner {
			return id
		}
	}
	return System
}

// AddNote stores a note of a person; one with an id that exists changes nothing (0.7).
func (s *State) AddNote(n *Note, a Actor, now time.Time) error {
	by, err := s.identify(a, now)
	switch {
	case err != nil:
		return err
	case by.party&(ByHuman|BySystem) == 0:
		return refuse("G03", ExitRefused, "liza discover TEXT --task ID", "notes are for people; %s may use discover or anomaly", a.ID)
	case blank(n.Message):
		return refuse("G09", ExitUsage, "liza help note", "the note is empty")
	case n.For != "" && s.Task(n.For) == nil:
		return s.unknownTask(n.For)
	}
	for _, old := range s.HumanNotes {
		if n.ID != "" && old.ID == n.ID {
			return ErrAlreadyDone
		}
	}
	if !n.IsComment() {
		s.addNote(n, a, now)
		return nil
	}
	t := s.Task(n.For)
	if err := t.mayComment(); err != nil {
		return err
	}
	s.addNote(n, a, now)
	if t.Status == Approved {
		t.MergeApproval = &MergeApproval{Required: true} // else it could be merged before anybody reads it
	}
	return nil
}

func (s *State) addNote(n *Note, a Actor, now time.Time) {
	if n.ID == "" {
		n.ID = nextID("note-", s.HumanNotes, func(n *Note) string { return n.ID })
	}
	n.Timestamp = TimeOf(now)
	if n.By == "" {
		n.By = a.name()
	}
	s.HumanNotes = append(s.HumanNotes, n)
	if n.For == "" {
		s.liftSuppression()
	}
	action := ActionNote
	if n.IsComment() {
		action = ActionCommented
	}
	s.Record(Entry{Timestamp: n.Timestamp, Agent: a.ID, Action: action, Task: n.For, Detail: n.ID, Extra: via(a)}) // never the text: it may hold a secret that nobody knows yet
}

// DeliverAnswers notes that a coder was told the answers to its task's questions. Those that
// the planner asked are for the planner.
func (s *State) DeliverAnswers(task string) {
	for _, q := range s.Questions {
		if task != "" && q.Task == task && q.Status == QuestionAnswered && !isPlanner(q.Agent) {
			q.Status = QuestionDelivered
		}
	}
}

// AnswerQuestion stores an answer. When it was the last open question of a task that is
// blocked for answers only, unblock says so: the caller applies Unblock in the same write
// (specs/protocol.md#2.6).
func (s *State) AnswerQuestion(id, text string, a Actor, now time.Time) (task string, unblock bool, err error) {
	by, err := s.identify(a, now)
	switch {
	case err != nil:
		return "", false, err
	case by.party&(ByHuman|ByPlanner) == 0:
		return "", false, refuse("G03", ExitRefused, "liza questions", "%s may not answer; human or planner may", article(a, by.party))
	case blank(text):
		return "", false, refuse("G09", ExitUsage, "liza questions", "the answer is empty")
	}
	q := s.question(id)
	if q == nil {
		return "", false, refuse("G05", ExitRefused, "liza questions", "no question '%s'", id)
	}
	if q.Status != QuestionOpen {
		return "", false, refuse("G06", ExitRefused, "liza questions", "question %s is %s", id, q.Status)
	}
	s.admit(a, by, now)
	q.Status, q.Answer, q.By, q.AnsweredAt = QuestionAnswered, text, a.name(), TimeOf(now)
	s.Record(Entry{Timestamp: TimeOf(now), Agent: a.ID, Action: ActionAnswered, Task: q.Task, Detail: oneLine(id + ": " + text), Extra: via(a)})
	return q.Task, s.answersUnblock(q.Task), nil
}

func (s *State) question(id string) *Question {
	for _, q := range s.Questions {
		if q.ID == id {
			return q
		}
	}
	return nil
}

// answersUnblock reports whether the task waited for answers only, and has them all.
func (s *State) answersUnblock(task string) bool {
	t := s.Task(task)
	if t == nil || t.Status != Blocked || t.BlockedKind != BlockedByQuestion && t.BlockedKind != BlockedStuck && t.BlockedKind != "" {
		return false
	}
	for _, q := range s.Questions {
		if q.Task == task && q.Status == QuestionOpen {
			return false
		}
	}
	return true
}
