// Package activity keeps what the runs of agent programs do, in the same words for every program:
// one line of JSON for each thing, appended while the run goes on, and bounded. People follow it
// with `liza output`, and every view takes from it what an agent does now.
package activity

import (
	"io/fs"
	"os"
	"time"
)

// Kind says what an Event tells.
type Kind string

const (
	Run    Kind = "run"    // a run begins: Agent, Task, Role, Program, Model, Number
	Text   Kind = "text"   // what the model said
	Tool   Kind = "tool"   // a tool is called: Tool is its name, Text what it was given (a command, a path)
	Result Kind = "result" // what the tool answered, where the program tells it, shortened
	Output Kind = "output" // a line of a program that prints no events
	Usage  Kind = "usage"  // In, Out, Cents so far
	Wait   Kind = "wait"   // it waits for its provider: Text why, Until when
	Error  Kind = "error"  // the provider or the program refused
	Note   Kind = "note"   // a person's note has reached the run
	End    Kind = "end"    // the run is over: Text is its outcome in words
)

// MaxText is the most bytes of a Text that are kept.
const MaxText = 4 << 10

// Event is one line of an activity file. At is always there, the other fields where their kind has them.
type Event struct {
	At   time.Time `json:"at"`
	Kind Kind      `json:"kind"`
	Text string    `json:"text,omitempty"` // masked, at most MaxText bytes
	Tool string    `json:"tool,omitempty"`

	In    int        `json:"in,omitempty"`  // tokens so far, cached ones included
	Out   int        `json:"out,omitempty"` // tokens so far
	Cents *float64   `json:"cents,omitempty"`
	Until *time.Time `json:"until,omitempty"`

	Agent   string `json:"agent,omitempty"`
	Task    string `json:"task,omitempty"`
	Role    string `json:"role,omitempty"`
	Program string `json:"program,omitempty"`
	Model   string `json:"model,omitempty"`
	Number  int    `json:"run,omitempty"` // of the run, for its registration
	ID      string `json:"id,omitempty"`  // correlation id of the run, as in the journal
}

// Now is what a run does at a moment: the end of its events in one value.
type Now struct {
	Run   Event // that of kind Run
	Last  Event // the last one that a person would want to read: text, tool, output, wait or error
	In    int
	Out   int
	Cents *float64
	Ended bool
}

// maxLine is the longest line that is read; others are passed over.
const maxLine = 64 << 10

// tail is how much of the end of a run is read to know what it does.
const tail = 64 << 10

// A Tail follows what the newest run of a file does: a look costs what was written since the one before.
type Tail struct {
	now  Now
	next int64
	seen fs.FileInfo
}

// Look returns what the run does now.
func (t *Tail) Look(path string) (Now, error) {
	info, err := os.Stat(path)
	if err != nil {
		*t = Tail{}
		if os.IsNotExist(err) {
			err = nil
		}
		return Now{}, err
	}
	if t.seen != nil && os.SameFile(t.seen, info) && t.seen.Size() == info.Size() {
		return t.now, nil
	}
	if t.seen == nil || t.seen.Size() > info.Size() && os.SameFile(t.seen, info) {
		*t = Tail{}
		t.begin(path)
	}
	t.seen = info
	events, next, err := Read(path, t.next)
	for _, e := range events {
		t.now.add(e)
	}
	t.next = next
	return t.now, err
}

// begin reads the run itself, and skips what lies between it and the end.
func (t *Tail) begin(path string) {
	at, _ := Newest(path)
	_ = scan(path, at, func(e Event, next int64) bool {
		t.now.add(e)
		t.next = next
		return false
	})
	if f, h, size, err := openPart(path); err == nil {
		f.Close()
		t.next = max(t.next, h.Base+size-tail)
	}
}

// add goes on with the next event of the file.
func (n *Now) add(e Event) {
	switch e.Kind {
	case Run:
		*n = Now{Run: e}
	case Usage:
		n.In, n.Out, n.Cents = e.In, e.Out, e.Cents
	case Text, Tool, Output, Wait, Error:
		n.Last = e
	case End:
		n.Ended = true
	}
}
