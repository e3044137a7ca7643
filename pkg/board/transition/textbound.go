package transition

import (
	"reflect"
	"time"

	"liza/pkg/board/blackboard"
)

// The most text that the agents of one task may put on the board, in bytes. A board above 200 MB is refused (specs/protocol.md#14, B08), so an agent
// that writes without end would stop all others. Where that much is there, a supervisor's own words about a run still come, up to a size each time.
const (
	mostText       = 1 << 20
	mostAfterwards = 64 << 10
)

// A TextBound compares the text of a task before and after what an agent changes.
type TextBound struct {
	actor   Actor
	task    string
	began   blackboard.Time // of the agent's run
	allowed int             // growth beyond mostText
	before  int
}

// BoundText begins the comparison for the task that an agent works on. People and the system have no bound.
func BoundText(s *blackboard.State, a Actor, now time.Time) *TextBound {
	by, err := identify(s, a, now)
	if err != nil || by.entry == nil || by.party&ByAny == 0 || a.Via {
		return nil
	}
	b := &TextBound{actor: a, task: by.entry.CurrentTask}
	if by.party&SAny != 0 {
		b.allowed = mostAfterwards
	}
	if child := by.entry.Child; child != nil {
		b.began = child.Started
		if child.Task != "" {
			b.task = child.Task
		}
	}
	b.before = b.size(s)
	return b
}

// Check refuses a change by which the text of the task grows above the bound.
func (b *TextBound) Check(s *blackboard.State) error {
	if b == nil {
		return nil
	}
	if now := b.size(s); now > mostText && now-b.before > b.allowed {
		return refuse("G03", ExitRefused, "liza show "+b.task, "the agents of a task may put 1 MiB of text on the board, and %s would have %d bytes", b.task, now)
	}
	return nil
}

// size is the text that agents have put on the board about the task, with what the run has said about others.
func (b *TextBound) size(s *blackboard.State) (n int) {
	if t := s.Find(b.task); t != nil {
		own := *t // without what it was made with
		own.Title, own.Description, own.DoneWhen, own.Scope, own.SpecRef, own.Command, own.LegacyTests = "", "", "", "", "", "", ""
		own.Files, own.AcceptanceCriteria, own.Args, own.History = nil, nil, nil, nil
		n = textIn(reflect.ValueOf(own))
		for _, e := range t.History {
			if e.Agent != blackboard.Human {
				n += textIn(reflect.ValueOf(*e))
			}
		}
	}
	ofRun := func(by string, at blackboard.Time) bool {
		began, known := b.began.At()
		made, _ := at.At()
		return by == b.actor.ID && known && !made.Before(began)
	}
	for _, d := range s.Discovered {
		if d.During == b.task || ofRun(d.By, d.Created) {
			n += textIn(reflect.ValueOf(*d))
		}
	}
	for _, a := range s.Anomalies {
		if a.Task == b.task || ofRun(a.Reporter, a.Timestamp) {
			n += textIn(reflect.ValueOf(*a))
		}
	}
	return n
}

// textIn is the length of all texts in a value.
func textIn(v reflect.Value) (n int) {
	switch v.Kind() {
	case reflect.String:
		return v.Len()
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			n = textIn(v.Elem())
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			n += textIn(v.Index(i))
		}
	case reflect.Map:
		for key, value := range v.Seq2() {
			n += textIn(key) + textIn(value)
		}
	case reflect.Struct:
		for _, field := range v.Fields() {
			n += textIn(field)
		}
	}
	return n
}
