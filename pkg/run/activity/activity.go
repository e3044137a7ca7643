// Package activity records the events of the runs of agent programs, in the same words for every program: one line of JSON
// for each event, appended during the run, and bounded. People follow it with `liza output`, and every view gets the present
// action of an agent from it.
package activity

import (
	"io/fs"
	"os"
	"time"
)

// Kind is the kind of an Event.
type Kind string

const (
	Run    Kind = "run"    // a run begins: Agent, Task, Role, Program, Model, Number
	Text   Kind = "text"   // text of the model
	Tool   Kind = "tool"   // a tool is called: Tool is its name, Text its input (a command, a path)
	Result Kind = "result" // answer of the tool, if the program reports it, shortened
	Output Kind = "output" // a line of a program without events
	Usage  Kind = "usage"  // In, Out, Cents so far
	Wait   Kind = "wait"   // it waits for its provider: Text why, Until when
	Error  Kind = "error"  // the provider or the program refused
	Note   Kind = "note"   // a person's note has reached the run
	End    Kind = "end"    // the run is over: Text is its outcome in words
)

// MaxText is the most bytes of a Text.
const MaxText = 4 << 10

// Event is one line of an activity file. At is always set, the other fields depend on the kind.
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
	Number  int    `json:"run,omitempty"` // number of the run of its registration
	ID      string `json:"id,omitempty"`  // correlation id of the run, as in the journal
}

// Now is the present state of a run: the end of its events in one value.
type Now struct {
	Run   Event // its event of kind Run
	Last  Event // the last event of interest to a person: text, tool, output, wait or error
	In    int
	Out   int
	Cents *float64
	Ended bool
}

// maxLine is the longest line that is read; others are passed over.
const maxLine = 64 << 10

// tail is the number of bytes at the end of a run that are read for its present state.
const tail = 64 << 10

// A Tail follows the newest run of a file: a look reads only the events since the one before.
type Tail struct {
	now  Now
	next int64
	seen fs.FileInfo
}

// Look returns the present state of the run.
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

// begin reads the event of kind Run, and skips the events between it and the end.
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
