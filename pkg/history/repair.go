package history

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"liza/pkg/safefile"
)

// Repaired says what Repair did.
type Repaired struct {
	Cut       int    // entries of a write that was killed before its state was in place, half-written ones included
	Ahead     int    // entries that are ahead of the state, or half an entry that a person wrote
	AheadFile string // where those were put
}

// Any reports whether the journal was changed in a way that somebody should know of.
func (r Repaired) Any() bool { return r.Cut > 0 || r.Ahead > 0 }

func (r Repaired) String() string {
	var parts []string
	if r.Cut > 0 {
		parts = append(parts, fmt.Sprintf("cut %d journal entries of a write that was not finished", r.Cut))
	}
	if r.Ahead > 0 {
		parts = append(parts, fmt.Sprintf("moved %d journal entries that are ahead of the state to %s", r.Ahead, filepath.Base(r.AheadFile)))
	}
	return strings.Join(parts, "; ")
}

// Repair makes the journal fit a state of the given revision (specs/protocol.md#1.2 W3, specs/decisions.md#D2). From
// its end it cuts an incomplete entry and the entries of revision + 1: their writer was
// killed before the state was in place. Entries further ahead mean that an old state was
// put back; they are moved to log.ahead-<time>.yaml beside the journal, never cut, and so
// is half an entry that Liza did not write. Entries without a revision are kept.
//
// Only the end of the file is read: the search stops at the first entry of a revision
// that the state has.
func (j Journal) Repair(revision int, now time.Time) (Repaired, error) {
	f, err := safefile.Open(j.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return Repaired{}, nil
	}
	if err != nil {
		return Repaired{}, fmt.Errorf("cannot repair the journal: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return Repaired{}, fmt.Errorf("cannot repair the journal: %w", err)
	}
	end, err := readTail(f, info.Size(), revision)
	if err == nil {
		err = j.settle(&end, now)
	}
	if err != nil {
		return Repaired{}, fmt.Errorf("cannot repair the journal: %w", err)
	}
	return end.done, nil
}

// tail is the end of a journal, sorted into what stays and what does not.
type tail struct {
	offset int64  // where it begins in the file
	head   string // all of a file without entries
	kept   []string
	ahead  []string
	prefix int64 // how much of it stays in one piece from its beginning
	dirty  bool  // something of it goes, or needs a line end
	moved  bool  // something stays behind what goes
	done   Repaired
}

func readTail(f io.ReaderAt, size int64, revision int) (tail, error) {
	for n := int64(window); ; n *= 4 {
		from := max(size-n, 0)
		data := make([]byte, size-from)
		if _, err := f.ReadAt(data, from); err != nil && err != io.EOF {
			return tail{}, err
		}
		if from > 0 { // the first line is the end of one
			rest := bytes.IndexByte(data, '\n') + 1
			if rest == 0 {
				continue
			}
			data, from = data[rest:], from+int64(rest)
		}
		head, entries := chunks(string(data))
		if len(entries) == 0 {
			if from > 0 {
				continue
			}
			return tail{head: head}, nil
		}
		t, settled := sortTail(entries, revision)
		if settled || from == 0 || n >= farEnough {
			t.offset = from + int64(len(head))
			return t, nil
		}
	}
}

// sortTail looks at entries from the last to the first. settled reports whether it came to
// one that the state has, behind which nothing can be wrong.
func sortTail(entries []chunk, revision int) (t tail, settled bool) {
	const keep, cut, move = 0, 1, 2
	fate := make([]int, len(entries))
	for i := len(entries) - 1; i >= 0 && !settled; i-- {
		text := entries[i].text
		last := i == len(entries)-1
		e, err := entries[i].entry()
		switch {
		case err != nil && last && ours(text):
			fate[i] = cut
		case err != nil && last:
			fate[i] = move
		case err != nil || e.Rev == 0:
		case e.Rev <= revision:
			settled = true
		case e.Rev == revision+1:
			fate[i] = cut
		default:
			fate[i] = move
		}
	}
	whole := true
	for i, c := range entries {
		text := c.text
		switch fate[i] {
		case cut:
			t.done.Cut++
		case move:
			t.done.Ahead++
			t.ahead = append(t.ahead, ended(text))
		default:
			if !strings.HasSuffix(text, "\n") {
				text, t.dirty = ended(text), true
			}
			t.kept = append(t.kept, text)
			t.moved = t.moved || !whole
			if whole {
				t.prefix += int64(len(c.text))
			}
			continue
		}
		whole, t.dirty = false, true
	}
	return t, settled
}

func ended(text string) string {
	if strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}

// settle carries out what sortTail found.
func (j Journal) settle(t *tail, now time.Time) error {
	if t.head != "" {
		return j.clearHead(t.head)
	}
	if !t.dirty {
		return nil
	}
	if len(t.ahead) > 0 {
		file, err := j.putAside(t.ahead, now)
		if err != nil {
			return err
		}
		t.done.AheadFile = file
	}
	switch {
	case t.moved:
		return j.rewrite(t)
	case !t.done.Any():
		return safefile.Append(j.Path, []byte("\n"))
	}
	return safefile.Truncate(j.Path, t.offset+t.prefix)
}

// putAside writes entries to a file of their own.
func (j Journal) putAside(entries []string, now time.Time) (string, error) {
	base := filepath.Join(filepath.Dir(j.Path), "log.ahead-"+now.UTC().Format("20060102T150405Z"))
	file := base + ".yaml"
	for n := 2; ; n++ {
		if _, err := os.Lstat(file); errors.Is(err, fs.ErrNotExist) {
			break
		}
		file = fmt.Sprintf("%s-%d.yaml", base, n)
	}
	return file, safefile.Replace(file, []byte(strings.Join(entries, "")), 0o644)
}

// rewrite replaces the journal, for entries that stay are behind some that go.
func (j Journal) rewrite(t *tail) error {
	data, err := safefile.Read(j.Path)
	if err != nil {
		return err
	}
	info, err := os.Stat(j.Path)
	if err != nil {
		return err
	}
	return safefile.Replace(j.Path, append(data[:t.offset:t.offset], strings.Join(t.kept, "")...), info.Mode())
}

// clearHead makes room for the first entry in a journal that has none: an empty list in
// flow style has to go.
func (j Journal) clearHead(head string) error {
	var comments []string
	for row := range strings.Lines(head) {
		switch text := strings.TrimSpace(row); {
		case text == "[]" || text == "null" || text == "~":
		case text == "" || text[0] == '#' || text == "---":
			comments = append(comments, ended(row))
		default:
			return fmt.Errorf("%s is not a list whose entries begin with \"- \" at the beginning of a line", j.Path)
		}
	}
	if text := strings.Join(comments, ""); text != head {
		return safefile.Replace(j.Path, []byte(text), 0o644)
	}
	return nil
}
