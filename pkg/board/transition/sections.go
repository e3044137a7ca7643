package transition

import (
	"strconv"
	"strings"
	"time"

	"liza/pkg/board/blackboard"
)

// Plan returns the plan with that id, or nil.
func Plan(s *blackboard.State, id string) *blackboard.Plan {
	for _, p := range s.Plans {
		if p.ID == id && id != "" {
			return p
		}
	}
	return nil
}

// settle follows a task that is terminal now: its open questions are withdrawn, and its
// plan is done when it was the last one.
func settle(s *blackboard.State, of *blackboard.Task) {
	withdrawQuestions(s, of.ID)
	p := Plan(s, of.Plan)
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

// Ask adds a question of an agent that belongs to no task.
func Ask(s *blackboard.State, q *blackboard.Question) { ask(s, q) }

// AddNote stores a note of a person, unless one with that id exists (0.7).
func AddNote(s *blackboard.State, n *blackboard.Note, a Actor, now time.Time) error {
	by, err := identify(s, a, now)
	switch {
	case err != nil:
		return err
	case by.party&(ByHuman|BySystem) == 0:
		return refuse("G03", ExitRefused, "liza discover TEXT --task ID", "notes are for people; %s may use discover or anomaly", a.ID)
	case blank(n.Message):
		return refuse("G09", ExitUsage, "liza help tell", "the note is empty")
	case n.For != "" && s.Task(n.For) == nil:
		return unknownTask(s, n.For)
	}
	for _, old := range s.HumanNotes {
		if n.ID != "" && old.ID == n.ID {
			return ErrAlreadyDone
		}
	}
	if !n.IsComment() {
		addNote(s, n, a, now)
		return nil
	}
	t := s.Task(n.For)
	if err := mayComment(t); err != nil {
		return err
	}
	addNote(s, n, a, now)
	if t.Status == blackboard.Approved {
		t.MergeApproval = &blackboard.MergeApproval{Required: true} // else it could be merged before anybody reads it
	}
	return nil
}

func addNote(s *blackboard.State, n *blackboard.Note, a Actor, now time.Time) {
	if n.ID == "" {
		n.ID = nextID("note-", s.HumanNotes, func(n *blackboard.Note) string { return n.ID })
	}
	n.Timestamp = blackboard.TimeOf(now)
	if n.By == "" {
		n.By = a.name()
	}
	s.HumanNotes = append(s.HumanNotes, n)
	if n.For == "" {
		liftSuppression(s)
	}
	action := blackboard.ActionNote
	if n.IsComment() {
		action = blackboard.ActionCommented
	}
	s.Record(blackboard.Entry{Timestamp: n.Timestamp, Agent: a.ID, Action: action, Task: n.For, Detail: n.ID, Extra: via(a)}) // never the text: it may hold a secret that nobody knows yet
}

// DeliverAnswers marks the answers to a task's questions as delivered to its coder. Questions of a planner are left to it.
func DeliverAnswers(s *blackboard.State, task string) {
	for _, q := range s.Questions {
		if task != "" && q.Task == task && q.Status == blackboard.QuestionAnswered && !isPlanner(q.Agent) {
			q.Status = blackboard.QuestionDelivered
		}
	}
}

// AnswerQuestion stores an answer. unblock reports that it was the last open question of a task that is blocked for answers
// only; the caller applies Unblock in the same write (specs/protocol.md#2.6).
func AnswerQuestion(s *blackboard.State, id, text string, a Actor, now time.Time) (task string, unblock bool, err error) {
	by, err := identify(s, a, now)
	switch {
	case err != nil:
		return "", false, err
	case by.party&(ByHuman|ByPlanner) == 0:
		return "", false, refuse("G03", ExitRefused, "liza status", "%s may not answer; human or planner may", article(a, by.party))
	case blank(text):
		return "", false, refuse("G09", ExitUsage, "liza answer", "the answer is empty")
	}
	q := question(s, id)
	if q == nil {
		return "", false, refuse("G05", ExitRefused, "liza answer", "no question '%s'", id)
	}
	check := q.OfCheck()
	if q.Status != blackboard.QuestionOpen && !(check && q.Status == blackboard.QuestionAnswered) { // a person may think again
		return "", false, refuse("G06", ExitRefused, "liza answer", "question %s is %s", id, q.Status)
	}
	if check {
		if by.party&ByHuman == 0 {
			return "", false, refuse("G03", ExitRefused, "liza status", "%s may not answer question %s; a person decides what is merged unchecked", article(a, by.party), id)
		}
		if text = strings.ToLower(strings.TrimSpace(text)); !q.Options.Has(text) {
			return "", false, refuse("G09", ExitUsage, "liza answer "+id+" '"+blackboard.AnswerGoOn+"'", "the answer to %s is one of: %s", id, strings.Join(q.Options, ", "))
		}
	}
	admit(s, a, by, now)
	q.Status, q.Answer, q.By, q.AnsweredAt = blackboard.QuestionAnswered, text, a.name(), blackboard.TimeOf(now)
	s.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(now), Agent: a.ID, Action: blackboard.ActionAnswered, Task: q.Task, Detail: oneLine(id + ": " + text), Extra: via(a)})
	return q.Task, answersUnblock(s, q.Task), nil
}

// AskAboutCheck asks a person, once for each command, whether to merge work that the command has not verified (QuestionUnverified),
// or could not run on (QuestionUnable).
func AskAboutCheck(s *blackboard.State, kind, command, text string, now time.Time) *blackboard.Question {
	if q := s.CheckQuestion(kind, command); q != nil {
		return q
	}
	q := &blackboard.Question{Agent: blackboard.System, Kind: kind, Type: "choice", Check: command, Text: text,
		Options: blackboard.List{blackboard.AnswerGoOn, blackboard.AnswerStop}, Status: blackboard.QuestionOpen, Asked: blackboard.TimeOf(now)}
	ask(s, q)
	s.Record(blackboard.Entry{Timestamp: q.Asked, Agent: blackboard.System, Action: blackboard.ActionAsked, Detail: oneLine(q.ID + ": " + text)})
	return q
}

// SettleCheck closes a question about a command that has passed, or can run again.
func SettleCheck(s *blackboard.State, kind, command string) {
	if q := s.CheckQuestion(kind, command); q != nil {
		q.Status = blackboard.QuestionExpired
	}
}

func question(s *blackboard.State, id string) *blackboard.Question {
	for _, q := range s.Questions {
		if q.ID == id {
			return q
		}
	}
	return nil
}

// answersUnblock reports whether the task waited for answers only, and has them all.
func answersUnblock(s *blackboard.State, task string) bool {
	t := s.Task(task)
	if t == nil || t.Status != blackboard.Blocked || t.BlockedKind != blackboard.BlockedByQuestion && t.BlockedKind != blackboard.BlockedStuck && t.BlockedKind != "" {
		return false
	}
	for _, q := range s.Questions {
		if q.Task == task && q.Status == blackboard.QuestionOpen {
			return false
		}
	}
	return true
}

// withdrawQuestions ends the open questions of a task that left BLOCKED or is terminal.
func withdrawQuestions(s *blackboard.State, task string) {
	for _, q := range s.Questions {
		if q.Task == task && q.Status == blackboard.QuestionOpen {
			q.Status = blackboard.QuestionExpired
		}
	}
}

// ask adds a question under the next free id.
func ask(s *blackboard.State, q *blackboard.Question) {
	q.ID = nextID("q-", s.Questions, func(q *blackboard.Question) string { return q.ID })
	s.Questions = append(s.Questions, q)
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
