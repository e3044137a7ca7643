package activity

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"liza/pkg/base/prose"
	"liza/pkg/base/safefile"
)

const (
	// maxFile is the size at which a file is put away as NAME.1, in the place of the one before: both
	// together are bounded, and the newest is always there.
	maxFile = 2 << 20
	// maxLines is how many lines of a program that prints text are kept in a second.
	maxLines = 200
	// usageEvery is how often figures are kept while a run goes on.
	usageEvery = time.Second
)

// head is the first line of a file that is not the first of its name: how many bytes were
// written before it, and the run that goes on in it.
type head struct {
	Base int64  `json:"base"`
	Of   *Event `json:"of,omitempty"`
}

// A Writer appends the events of one run. Its methods return no errors, because a run does not depend on its record: Close
// returns the first one, and nothing is written after it.
type Writer struct {
	path string
	mask func(string) string

	mu         sync.Mutex
	file       *os.File
	base, size int64
	run        Event
	err        error

	usage     *Event    // not written yet
	usageAt   time.Time // time of the last written one
	second    time.Time // second for which lines are counted
	lines     int
	left      int // lines that were dropped in it
	lastAdded time.Time
}

// Open begins a run in a file, and creates the file if it is missing. Texts go through mask.
func Open(path string, run Event, mask func(string) string) (*Writer, error) {
	w, err := Continue(path, run, mask)
	if err == nil {
		w.write(w.run)
	}
	return w, err
}

// Continue goes on with a run that another process has begun in the file.
func Continue(path string, run Event, mask func(string) string) (*Writer, error) {
	run.Kind = Run
	w := &Writer{path: path, mask: mask}
	err := safefile.MakeFolder(filepath.Dir(path), 0o755)
	if err == nil {
		err = w.open()
	}
	if err != nil {
		return nil, fmt.Errorf("cannot keep the activity of a run: %w", err)
	}
	w.run = run
	return w, nil
}

// open goes on at the end of the file, whose last line may be torn.
func (w *Writer) open() error {
	f, err := safefile.OpenFile(w.path, os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return errors.Join(err, f.Close())
	}
	w.file, w.size, w.base = f, info.Size(), readHead(f).Base
	last := make([]byte, 1)
	if _, err := f.ReadAt(last, w.size-1); w.size > 0 && err == nil && last[0] != '\n' {
		w.append([]byte{'\n'})
	}
	return w.err
}

// Add records one event. Figures are recorded once a second, and of very many lines some are dropped; the output log has them
// all.
func (w *Writer) Add(e Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lastAdded = e.At
	switch e.Kind {
	case Usage:
		if e.At.Sub(w.usageAt) < usageEvery {
			w.usage = &e
			return
		}
		w.usage, w.usageAt = nil, e.At
	case Output:
		if e.At.Sub(w.second) >= time.Second {
			w.tellLeft()
			w.second, w.lines = e.At, 0
		}
		if w.lines++; w.lines > maxLines {
			w.left++
			return
		}
	default:
		w.tellLeft()
	}
	if w.usage != nil && (e.Kind == End || e.At.Sub(w.usageAt) >= usageEvery) {
		w.usageAt = e.At
		u := *w.usage
		w.usage = nil
		w.write(u)
	}
	w.write(e)
}

func (w *Writer) tellLeft() {
	if w.left > 0 {
		w.write(Event{At: w.lastAdded, Kind: Output, Text: fmt.Sprintf("[… %d more lines are in the output log]", w.left)})
		w.left = 0
	}
}

func (w *Writer) write(e Event) {
	e.At, e.Text, e.Tool = e.At.UTC().Truncate(time.Millisecond), prose.Cut(prose.Plain(w.mask(e.Text)), MaxText), prose.Cut(prose.Plain(w.mask(e.Tool)), MaxText)
	line, err := json.Marshal(e)
	if err != nil {
		return // a time or a number that JSON cannot say
	}
	if w.size > 0 && w.size+int64(len(line)) > maxFile {
		w.rotate()
	}
	w.append(append(line, '\n'))
}

func (w *Writer) append(line []byte) {
	if w.err != nil {
		return
	}
	n, err := w.file.Write(line)
	w.size += int64(n)
	w.err = err
}

func (w *Writer) rotate() {
	if w.err != nil {
		return
	}
	info, err := w.file.Stat() // others may have written to it: a supervisor that is about to end
	if err == nil {
		err = os.Rename(w.path, w.path+".1")
	}
	if w.err = err; err != nil {
		return
	}
	_ = w.file.Close() // all that it had was written
	base := w.base + info.Size()
	if w.err = w.open(); w.err != nil {
		return
	}
	h := head{Base: base}
	if w.run.Kind != "" {
		h.Of = &w.run
	}
	line, err := json.Marshal(h)
	if w.err = err; err == nil {
		w.append(append(line, '\n'))
		w.base = base
	}
}

// Close ends the writing, and returns its first error.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tellLeft()
	if w.usage != nil {
		w.write(*w.usage)
		w.usage = nil
	}
	return errors.Join(w.err, w.file.Close())
}

// Append adds one event to the file of a running run, from elsewhere. It does not create the file.
func Append(path string, e Event) {
	f, err := safefile.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return // nobody follows what is not kept
	}
	w := &Writer{path: path, mask: func(text string) string { return text }, file: f}
	w.write(e)
	_ = f.Close()
}

// readHead is the head of a file, empty when it has none.
func readHead(f *os.File) (h head) {
	begins := []byte(`{"base":`)
	first := make([]byte, len(begins), maxLine)
	if n, _ := f.ReadAt(first, 0); !bytes.Equal(first[:n], begins) {
		return head{}
	}
	first = first[:maxLine]
	n, _ := f.ReadAt(first, 0)
	line, _, whole := bytes.Cut(first[:n], []byte("\n"))
	if !whole || json.Unmarshal(line, &h) != nil || h.Base < 0 {
		return head{}
	}
	return h
}
