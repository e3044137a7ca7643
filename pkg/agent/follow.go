package agent

import (
	"bytes"
	"strings"
)

// follower is the reader of every program that prints events: it follows what they say and
// judges the run by them at the end (see judge.go).
type follower struct {
	rules   *rules
	format  format
	loose   bool
	options readerOptions

	line     int
	unknown  int
	session  string
	text     strings.Builder // what the model said last
	fresh    bool            // the next text starts over
	tools    int
	worked   bool // the model has said or done something
	usage    Usage
	pending  *Event // the last refusal, unless the work went on after it
	limit    *Event
	final    *Event
	ended    bool
	plain    [plainLines]string // the last lines that are not events: a program in trouble may print words
	plainEnd int                // how many there were
}

// plainLines is how many lines that are not events are kept.
const plainLines = 20

func (f *follower) Line(line []byte) bool {
	f.line++
	line = bytes.TrimSpace(line)
	switch {
	case len(line) == 0:
	case line[0] != '{':
		f.plain[f.plainEnd%plainLines] = clean(string(line[:min(len(line), maxMessage)]))
		f.plainEnd++
		f.hear(Event{Kind: EventOutput, Line: f.line, Text: f.plain[(f.plainEnd-1)%plainLines]})
	case !f.format.decode(line, f.take):
		f.unknown++
		f.hear(Event{Kind: EventOther, Line: f.line})
	}
	return f.ended
}

// take follows one event.
func (f *follower) take(e Event) {
	e.Line = f.line
	switch e.Kind {
	case EventSession:
		f.session = e.Session
	case EventText:
		f.goOn()
		f.say(e)
	case EventTool:
		f.goOn()
		f.tools++
		f.fresh = true
		e.Input = withoutDir(e.Input, f.options.dir)
	case EventTurn:
		f.ended = false
	case EventUsage:
		e.Usage.WholeSession = f.options.wholeSession
		f.usage = e.Usage
	case EventLimit:
		f.limit = &e
	case EventError:
		f.pending, f.ended = &e, false
		if f.final != nil && !f.final.Failed && !e.Retry {
			f.final = nil // what it said before was not the last word
		}
	case EventFinal:
		f.final, f.ended = &e, true
	}
	f.hear(e)
}

func (f *follower) goOn() { f.ended, f.worked, f.pending = false, true, nil }

func (f *follower) say(e Event) {
	if !e.More || f.fresh {
		f.text.Reset()
	}
	f.fresh = false
	if f.text.Len()+len(e.Text) > 2*MaxFinal {
		kept := f.text.String()
		f.text.Reset()
		f.text.WriteString(kept[max(0, len(kept)-MaxFinal):])
		e.Text = e.Text[max(0, len(e.Text)-MaxFinal):]
	}
	f.text.WriteString(e.Text)
}

func (f *follower) hear(e Event) {
	if f.options.listen != nil {
		f.options.listen(e)
	}
}

// plainText returns the last lines that are not events, oldest first.
func (f *follower) plainText() []string {
	var lines []string
	for i := max(0, f.plainEnd-plainLines); i < f.plainEnd; i++ {
		lines = append(lines, f.plain[i%plainLines])
	}
	return lines
}
