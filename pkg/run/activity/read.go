package activity

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"

	"liza/pkg/base/safefile"
)

// Read returns the events after an offset, and the next offset. Offsets count all bytes ever written under that name, so they
// stay valid when the file is rotated; it skips events that are no longer kept. A missing file has no events.
func Read(path string, after int64) (events []Event, next int64, err error) {
	next = after
	err = scan(path, after, func(e Event, at int64) bool {
		if e.Kind != "" {
			events = append(events, e)
		}
		next = at
		return true
	})
	return events, next, err
}

// scan calls each with every event after an offset and the offset after it; with an empty event for lines that are none.
func scan(path string, after int64, each func(Event, int64) bool) error {
	f, h, size, err := openPart(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if end := h.Base + size; after > end && !each(Event{}, end) { // something was masked in it, or it was removed and begun again
		return nil
	}
	after = min(max(after, 0), h.Base+size)
	if after < h.Base {
		old, oldHead, oldSize, err := openPart(path + ".1")
		if err == nil {
			defer old.Close()
			if oldHead.Base+oldSize == h.Base {
				if !lines(old, oldHead, after, each) {
					return nil
				}
				h.Of, after = nil, h.Base // told already
			}
		}
	}
	lines(f, h, after, each)
	return nil
}

func openPart(path string) (*os.File, head, int64, error) {
	f, err := safefile.Open(path)
	if err != nil {
		return nil, head{}, 0, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, head{}, 0, errors.Join(err, f.Close())
	}
	return f, readHead(f), info.Size(), nil
}

// lines reads one part, from an offset on or from its beginning. Only lines that are whole count: the last one may be being written.
func lines(f *os.File, h head, after int64, each func(Event, int64) bool) bool {
	at := max(0, after-h.Base)
	torn := false // it begins within a line: something was masked in the file since
	if at > 0 {
		before := make([]byte, 1)
		_, err := f.ReadAt(before, at-1)
		torn = err == nil && before[0] != '\n'
	}
	if _, err := f.Seek(at, io.SeekStart); err != nil {
		return true
	}
	r := bufio.NewReaderSize(f, maxLine)
	for {
		line, err := r.ReadSlice('\n')
		at += int64(len(line))
		if errors.Is(err, bufio.ErrBufferFull) {
			torn = true
			continue
		}
		if err != nil {
			return true
		}
		var e Event
		if torn || json.Unmarshal(line, &e) != nil {
			e = Event{}
		}
		if at == int64(len(line)) && h.Of != nil && bytes.HasPrefix(line, []byte(`{"base":`)) {
			e = *h.Of
		}
		torn = false
		if !each(e, h.Base+at) {
			return false
		}
	}
}

// runLine is in the line of every run; inside of a text its quotes would be escaped.
var runLine = []byte(`"kind":"run"`)

// Newest returns the offset of the newest run, or of its kept part. ok is false if there is none.
func Newest(path string) (at int64, ok bool) {
	f, h, size, err := openPart(path)
	if err != nil {
		return 0, false
	}
	defer f.Close()
	if at, ok := lastRun(f, size); ok && (at > 0 || h.Of == nil) {
		return h.Base + at, true
	}
	if h.Of == nil {
		return 0, false
	}
	old, oldHead, oldSize, err := openPart(path + ".1")
	if err != nil {
		return h.Base, true
	}
	defer old.Close()
	if oldHead.Base+oldSize != h.Base {
		return h.Base, true
	}
	at, _ = lastRun(old, oldSize)
	return oldHead.Base + at, true
}

// lastRun is where the line of the last run begins in a part. It looks from the end.
func lastRun(f *os.File, size int64) (int64, bool) {
	const chunk = 64 << 10
	for end := size; end > 0; {
		begin := max(0, end-chunk)
		data := make([]byte, min(end+int64(len(runLine)), size)-begin) // a line may lie across two chunks
		if _, err := f.ReadAt(data, begin); err != nil {
			return 0, false
		}
		if i := bytes.LastIndex(data, runLine); i >= 0 {
			line := lineAt(f, begin+int64(i))
			return line, true
		}
		end = begin
	}
	return 0, false
}

// lineAt is where the line begins that has a byte.
func lineAt(f *os.File, at int64) int64 {
	begin := max(0, at-maxLine)
	data := make([]byte, at-begin)
	if _, err := f.ReadAt(data, begin); err != nil {
		return at
	}
	return begin + int64(bytes.LastIndexByte(data, '\n')) + 1
}

const (
	followPoll  = time.Second           // interval of polling: events of files get lost, and other hosts send none
	followPause = 50 * time.Millisecond // pause between two reads: a program may write a line at a time
)

// Follow yields the events after an offset, each with the offset after it, and later ones until ctx ends. The file need not
// exist yet.
func Follow(ctx context.Context, path string, after int64) iter.Seq2[Event, int64] {
	return func(yield func(Event, int64) bool) {
		changed := make(<-chan fsnotify.Event)
		// The folder is watched, because the file may be put away.
		if w, err := fsnotify.NewWatcher(); err == nil {
			defer w.Close()
			if w.Add(filepath.Dir(path)) == nil {
				changed = w.Events
			}
		}
		look := time.NewTicker(followPoll)
		defer look.Stop()
		for {
			on := true
			_ = scan(path, after, func(e Event, next int64) bool { // what cannot be read now may be readable at the next look
				after = next
				on = ctx.Err() == nil && (e.Kind == "" || yield(e, next))
				return on
			})
			if !on || !waitFor(ctx, path, changed, look.C) {
				return
			}
		}
	}
}

// waitFor reports whether it is worth looking again; false when ctx has ended.
func waitFor(ctx context.Context, path string, changed <-chan fsnotify.Event, look <-chan time.Time) bool {
	for {
		select {
		case <-ctx.Done():
			return false
		case <-look:
			return true
		case e, ok := <-changed:
			if !ok {
				changed = nil
			} else if filepath.Clean(e.Name) != filepath.Clean(path) {
				continue
			}
		}
		pause := time.NewTimer(followPause)
		select {
		case <-ctx.Done():
			pause.Stop()
			return false
		case <-pause.C:
			return true
		}
	}
}
