package history

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"liza/pkg/base/safefile"
	"liza/pkg/board/blackboard"
)

// Repaired counts the entries that Repair removed.
type Repaired struct {
	Cut       int    // entries of a write that was killed before its state was written, incomplete ones included
	Ahead     int    // entries ahead of the state, and an incomplete entry of a person
	AheadFile string // file that has the entries in Ahead
}

// Any reports whether Repair removed entries.
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

// Repair makes the journal fit a state of the given revision (specs/protocol.md#1.2 W3, specs/decisions.md#D2). From its end
// it cuts an incomplete entry and the entries of revision + 1, whose writer was killed before the state was written. Entries
// further ahead mean that an old state was restored by hand; Repair moves them, and an incomplete entry of a person, to
// log.ahead-<time>.yaml beside the journal. Entries without a revision stay.
// Only the end of the file is read: the search stops at the first entry of a revision that the state has.
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

// tail is the end of a journal, with its entries sorted by what Repair does with them.
type tail struct {
	offset int64  // offset of the tail in the file
	head   string // all of a file without entries
	kept   []string
	ahead  []string
	prefix int64 // bytes from the beginning that stay in one piece
	dirty  bool  // an entry is removed, or a line end is missing
	moved  bool  // an entry behind a removed one stays
	done   Repaired
}

func readTail(f io.ReaderAt, size int64, revision int) (t tail, err error) {
	err = safefile.ReadEnd(f, size, func(end []byte, from int64) bool {
		head, entries := chunks(string(end))
		if len(entries) == 0 {
			t = tail{head: head}
			return false
		}
		var settled bool
		t, settled = sortTail(entries, revision)
		t.offset = from + int64(len(head))
		return settled || len(end) > farEnough
	})
	return t, err
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

// settle applies the result of sortTail to the files.
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

const (
	// maxJournal is the size in bytes from which entries older than the sprint are rotated (specs/protocol.md#3.1).
	maxJournal = 20 << 20
	// lookEvery is how often a journal that is too large is searched for such entries: each
	// time that it has grown by so much.
	lookEvery  = 1 << 20
	nextSprint = blackboard.ActionSprintStarted
)

// Rotate moves the entries from before the current sprint to archive/log-<first
// rev>-<last rev>.yaml beside the journal, when the journal is larger than maxJournal.
// appended is what was written to it last: a large journal of one long sprint is not
// searched at each write. The caller holds the lock of the state.
//
// The archive's file is durable before the entries leave the journal. A crash between
// leaves them in both; Read takes them once, and the next Rotate rewrites the file.
func (j Journal) Rotate(appended []blackboard.Entry) error { return j.rotate(appended, maxJournal) }

func (j Journal) rotate(appended []blackboard.Entry, limit int64) error {
	if info, err := os.Stat(j.Path); err != nil || info.Size() <= limit || !worthALook(appended, info.Size()) {
		return nil // whether it can be read is a question for Append
	}
	text, err := j.text()
	if err != nil {
		return err
	}
	old, rest := beforeSprint(text)
	first, last := span(old)
	if last == 0 {
		return nil
	}
	if err := safefile.MakeFolder(j.archive(), 0o755); err != nil {
		return fmt.Errorf("cannot rotate the journal: %w", err)
	}
	info, err := os.Stat(j.Path)
	if err != nil {
		return fmt.Errorf("cannot rotate the journal: %w", err)
	}
	if err := safefile.Replace(filepath.Join(j.archive(), fmt.Sprintf("log-%d-%d.yaml", first, last)), []byte(old), info.Mode()); err != nil {
		return fmt.Errorf("cannot rotate the journal: %w", err)
	}
	if err := safefile.Replace(j.Path, []byte(rest), info.Mode()); err != nil {
		return fmt.Errorf("cannot rotate the journal: %w", err)
	}
	return nil
}

// worthALook reports whether the journal came past a multiple of lookEvery, or a sprint
// began. An entry is a few hundred bytes; a rough length does.
func worthALook(appended []blackboard.Entry, size int64) bool {
	grown := int64(0)
	for _, e := range appended {
		if e.Action == nextSprint {
			return true
		}
		grown += int64(200 + len(e.Detail))
	}
	return size/lookEvery != (size-grown)/lookEvery
}

// beforeSprint cuts a journal before the entry that began the current sprint. old is empty
// when there was no sprint before.
func beforeSprint(text string) (old, rest string) {
	const sign = "action: " + string(nextSprint)
	for end := len(text); ; {
		at := strings.LastIndex(text[:end], sign)
		if at < 0 {
			return "", text
		}
		from := strings.LastIndexByte(text[:at], '\n') + 1
		row, _, _ := strings.Cut(text[from:], "\n")
		if e, err := (chunk{text: row}).entry(); err == nil && e.Action == nextSprint { // it may be a word in a detail
			return text[:from], text[from:]
		}
		end = from
	}
}

// Scrubbed is a journal with masked secrets and a new chain, before it is written.
type Scrubbed struct {
	End   Link // link of the last entry
	files []scrubbedFile
}

type scrubbedFile struct{ path, text string }

// Scrub masks secrets in the journal and its rotated files, and adds the entry e, chained to the entry head. Breaks of the
// chain stay breaks. It returns nil if there is nothing to mask. The caller holds the lock of the state.
func (j Journal) Scrub(rev int, head Link, e blackboard.Entry) (*Scrubbed, error) {
	text, err := j.text()
	if err != nil || j.Mask == nil {
		return nil, err
	}
	files, err := j.allRotated()
	if err != nil {
		return nil, err
	}
	s, done := newScrubber(j.Mask), &Scrubbed{}
	first, _ := span(text)
	for _, older := range files {
		text, err := older.text()
		if err != nil {
			return nil, err
		}
		in := s
		if older.notBefore(first) {
			in = newScrubber(j.Mask)
		}
		if masked := in.file(text); masked != text {
			done.files = append(done.files, scrubbedFile{older.Path, masked})
		}
	}
	masked := s.file(text)
	if masked == text && len(done.files) == 0 {
		return nil, nil
	}
	if head == "" {
		if head, err = j.End(); err != nil {
			return nil, err
		}
	}
	lines, end, err := j.Lines(rev, s.of(head), []blackboard.Entry{e})
	if err != nil {
		return nil, err
	}
	if masked != "" {
		masked = ended(masked)
	}
	done.End, done.files = end, append(done.files, scrubbedFile{j.Path, masked + string(lines)})
	return done, nil
}

// Text returns the masked journal, without rotated files.
func (s *Scrubbed) Text() string { return s.files[len(s.files)-1].text }

// Write replaces the journal with the masked one. It writes the newest file first: after a kill the next run masks the older
// files, and the entries that follow them have the right link already.
func (s *Scrubbed) Write() error {
	for _, f := range slices.Backward(s.files) {
		if err := safefile.Replace(f.path, []byte(f.text), 0o644); err != nil {
			return fmt.Errorf("cannot mask secrets in the journal: %w", err)
		}
	}
	return nil
}

// scrubber masks entries in their order.
type scrubber struct {
	mask     func(string) string
	now      map[Link]Link // new links by old ones
	old, new digest
}

func newScrubber(mask func(string) string) *scrubber {
	return &scrubber{mask: mask, now: map[Link]Link{}, old: newDigest(), new: newDigest()}
}

func (s *scrubber) of(l Link) Link {
	if now, ok := s.now[l]; ok {
		return now
	}
	return l
}

func (s *scrubber) file(text string) string {
	head, entries := chunks(text)
	var b strings.Builder
	b.WriteString(s.mask(head))
	for _, c := range entries {
		b.WriteString(s.entry(c))
	}
	return b.String()
}

func (s *scrubber) entry(c chunk) string {
	was := c.link()
	text := strings.TrimRight(c.text, " \r\n")
	space := c.text[len(text):]
	if p := c.prev(); p == "" {
		text = s.mask(text)
	} else {
		body := strings.TrimSuffix(text, fmt.Sprintf(", prev: %q}", p))
		accepts := c.accepts()
		if accepts != "" && accepts == s.old.String() {
			body = strings.Replace(body, fmt.Sprintf(", accepts: %q", accepts), fmt.Sprintf(", accepts: %q", s.new), 1)
		}
		text = s.mask(body) + fmt.Sprintf(", prev: %q}", s.of(p))
	}
	is := chunk{text: text}.link()
	s.now[was] = is
	s.old.add(was)
	s.new.add(is)
	return text + space
}

// A Link identifies an entry: "41-" and 32 hex digits. "" is unknown.
type Link string

// logName is the name of the journal's own file in messages.
const logName = "log.yaml"

// Begins is the link that the first entry of a journal follows.
const Begins = Link("0-00000000000000000000000000000000")

func linkOf(number int, text string) Link {
	sum := sha256.Sum256([]byte(strings.TrimRight(text, " \r\n")))
	return Link(strconv.Itoa(number) + "-" + hex.EncodeToString(sum[:16]))
}

// number is that of the entry; entries before the chain have 0.
func (l Link) number() int {
	n, _, _ := strings.Cut(string(l), "-")
	number, _ := strconv.Atoi(n)
	return number
}

// Chained reports whether the entry of the link is chained.
func (l Link) Chained() bool { return l.number() > 0 }
