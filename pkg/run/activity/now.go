package activity

import (
	"io/fs"
	"os"
)

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
