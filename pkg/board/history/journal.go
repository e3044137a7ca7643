package history

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"gopkg.in/yaml.v3"

	"liza/pkg/base/prose"
	"liza/pkg/base/safefile"
	"liza/pkg/base/yamldoc"
	"liza/pkg/board/blackboard"
)

// maxDetail is how many characters of an entry's detail are kept (specs/protocol.md#3.1).
const maxDetail = 500

// Journal is the file log.yaml.
type Journal struct {
	Path   string
	Kept   func() (string, error) // returns all lines of a journal without a file; else nil
	Stream func(io.Writer) error  // writes these lines; may be nil
	Mask   func(string) string    // masks secrets in details; may be nil
	Seen   *Seen                  // what was looked at before; may be nil
}

func (j Journal) mask(s string) string {
	if j.Mask == nil {
		return s
	}
	return j.Mask(s)
}

// plain matches texts that need no quotes: words, ids and times.
var plain = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:[A-Za-z][A-Za-z0-9_./-]*|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)$`)
})

// notText matches words that YAML takes for something else than a text.
var notText = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?i:null|true|false|yes|no|on|off|y|n)$`) })

func word(s string) string {
	if plain().MatchString(s) && !notText().MatchString(s) {
		return s
	}
	return quote(s)
}

// quote returns s in double quotes. YAML knows Go's escapes, because Go writes invalid UTF-8 only as \x… .
func quote(s string) string { return strconv.Quote(strings.ToValidUTF8(s, "\ufffd")) }

// A chunk is the text from one entry to the next.
type chunk struct {
	text string
	line int // number of its first line, from 1
}

// chunks splits a journal at the lines that begin an entry. head is the text before the first one.
func chunks(text string) (head string, entries []chunk) {
	line, start, startLine := 1, -1, 0
	for at := 0; at < len(text); line++ {
		end := len(text)
		if i := strings.IndexByte(text[at:], '\n'); i >= 0 {
			end = at + i + 1
		}
		if row := text[at:end]; begins(row) {
			if start < 0 {
				head = text[:at]
			} else {
				entries = append(entries, chunk{text: text[start:at], line: startLine})
			}
			start, startLine = at, line
		}
		at = end
	}
	if start < 0 {
		return text, nil
	}
	return head, append(entries, chunk{text: text[start:], line: startLine})
}

// Line is one entry of a journal with its text.
type Line struct {
	Text  string // with its line end, and the text up to the next entry
	Link  Link
	Entry blackboard.Entry // empty if the text does not parse
}

// Split splits a journal into its entries. The first one includes the text before it.
func Split(text string) []Line {
	head, all := chunks(text)
	lines := make([]Line, len(all))
	for i, c := range all {
		entry, _ := c.entry()
		lines[i] = Line{Text: c.text, Link: c.link(), Entry: entry}
	}
	switch {
	case head != "" && len(lines) > 0:
		lines[0].Text = head + lines[0].Text
	case head != "":
		lines = []Line{{Text: head, Link: Begins}}
	}
	return lines
}

// begins reports whether an entry begins with the row. Zeros in the place of one, which a loss of power leaves, are not part of the one before.
func begins(row string) bool {
	return strings.HasPrefix(row, "- ") || strings.TrimRight(row, "\r\n") == "-" || strings.HasPrefix(row, zeroFilled)
}

// fastEntry decodes what Liza has written, without a tree: a team looks at its whole journal again and again.
var fastEntry = sync.OnceValue(func() *yamldoc.Fast { return yamldoc.NewFast(reflect.TypeFor[blackboard.Entry]()) })

// entry reads a chunk.
func (c chunk) entry() (blackboard.Entry, error) {
	var e blackboard.Entry
	if !fastEntry().Entry(c.text, true, 0, "", reflect.ValueOf(&e)) {
		var list []*blackboard.Entry
		if err := parse(c.text, &list); err != nil {
			return blackboard.Entry{}, err
		}
		if len(list) != 1 || list[0] == nil {
			return blackboard.Entry{}, fmt.Errorf("it is not one map")
		}
		e = *list[0]
	}
	if delete(e.Extra, "prev"); len(e.Extra) == 0 { // how it is chained says nothing to readers
		e.Extra = nil
	}
	return e, nil
}

// parse decodes YAML. The library's panics on damaged text are errors.
func parse(text string, into any) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the YAML library gave up: %v", r)
		}
	}()
	return yaml.Unmarshal([]byte(text), into)
}

func (j Journal) text() (string, error) {
	if j.Kept != nil {
		return j.Kept()
	}
	data, err := safefile.Read(j.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("cannot read the journal: %w", err)
	}
	return string(data), nil
}

// readEnd reads the journal from its end, as far as the filter needs; false if all of it is needed.
func (j Journal) readEnd(f Filter) (found []blackboard.Entry, ok bool) {
	if j.Kept != nil || f.AfterRev == 0 && f.Last == 0 {
		return nil, false
	}
	file, err := safefile.Open(j.Path)
	if err != nil {
		return nil, false
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, false
	}
	err = safefile.ReadEnd(file, info.Size(), func(end []byte, from int64) bool {
		_, all := chunks(string(end))
		older := slices.ContainsFunc(all, func(c chunk) bool {
			e, err := c.entry()
			return f.AfterRev > 0 && err == nil && e.Rev > 0 && e.Rev <= f.AfterRev
		})
		found = choose(all, f)
		ok = from > 0 && (older || f.Last > 0 && len(found) == f.Last)
		return ok
	})
	return found, ok && err == nil
}

// archive returns the folder of the rotated files.
func (j Journal) archive() string { return filepath.Join(filepath.Dir(j.Path), "archive") }

// rotated is a file of older entries.
type rotated struct {
	Journal
	first, last int
}

// named reads the revisions from the name of a file; false when it is none of these.
func (r *rotated) named(name string) bool {
	_, err := fmt.Sscanf(name, "log-%d-%d.yaml", &r.first, &r.last)
	return err == nil && strings.HasSuffix(name, ".yaml")
}

func isRotated(name string) bool { return new(rotated).named(name) }

// rotatedFiles returns the rotated files with entries from before text, the journal's own, the oldest first.
func (j Journal) rotatedFiles(text string) ([]rotated, error) {
	files, err := j.allRotated()
	if err != nil || len(files) == 0 {
		return nil, err
	}
	now, _ := span(text)
	return slices.DeleteFunc(files, func(r rotated) bool { return r.notBefore(now) }), nil
}

// ours reports whether an incomplete entry is one that Append wrote: it is on one line and begins as Append's entries do.
// After a power loss its rest may be zeros.
func ours(text string) bool {
	const begin = "- {timestamp: "
	n := min(len(begin), len(text))
	row := strings.TrimRight(text, "\n"+zeroFilled)
	return strings.Contains(text, zeroFilled) || text[:n] == begin[:n] && !strings.Contains(row, "\n")
}

const (
	farEnough  = 512 << 10 // bytes before a damaged end in which entries without a revision are looked for
	zeroFilled = "\x00"
)

// span is the first and the last revision of entries; 0 when none has one.
func span(text string) (first, last int) {
	_, all := chunks(text)
	for _, c := range all {
		if e, err := c.entry(); err == nil && e.Rev > 0 {
			first = e.Rev
			break
		}
	}
	for _, c := range slices.Backward(all) {
		if e, err := c.entry(); err == nil && e.Rev > 0 {
			last = e.Rev
			break
		}
	}
	return first, last
}

// notBefore reports whether the file has entries of the journal whose first revision is first:
// of a killed Rotate, or of a project that was initialised again.
func (r rotated) notBefore(first int) bool { return first > 0 && r.last >= first }

func (j Journal) allRotated() ([]rotated, error) {
	if j.Kept != nil {
		return nil, nil
	}
	names, err := os.ReadDir(j.archive())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the older journals: %w", err)
	}
	var files []rotated
	for _, n := range names {
		if r := (rotated{Journal: Journal{Path: filepath.Join(j.archive(), n.Name())}}); r.named(n.Name()) {
			files = append(files, r)
		}
	}
	slices.SortFunc(files, func(a, b rotated) int { return a.first - b.first })
	return files, nil
}

var (
	prevKey    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`, prev: "(\d{1,15}-[0-9a-f]{32})"\}$`) })
	acceptsKey = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`, accepts: "([0-9a-f]{32})"[,}]`) })
)

// prevLength is how many bytes the end of a chained entry has at most.
const prevLength = len(`, prev: "123456789012345-00000000000000000000000000000000"}`)

// prev is the link that a chunk has to the entry before it, "" when it has none. Texts in an
// entry have no bare quotes, so that none of them looks like the key.
func (c chunk) prev() Link {
	text := strings.TrimRight(c.text, " \r\n")
	if strings.IndexByte(text, '\n') >= 0 {
		return ""
	}
	if m := prevKey().FindStringSubmatch(text[max(0, len(text)-prevLength):]); m != nil {
		return Link(m[1])
	}
	return ""
}

// link names the chunk's entry.
func (c chunk) link() Link { return c.linkAfter(c.prev()) }

func (c chunk) linkAfter(prev Link) Link {
	if prev == "" {
		return linkOf(0, c.text)
	}
	return linkOf(prev.number()+1, c.text)
}

// Append writes the entries with revision rev at the end of the journal, in one write call, and flushes it to disk. It chains
// them to the entry with the link after, or to the last entry if after is "". It returns the link of the last new entry.
// After an error the journal is unchanged.
func (j Journal) Append(rev int, after Link, entries []blackboard.Entry) (Link, error) {
	var err error
	if after == "" {
		if after, err = j.End(); err != nil {
			return "", err
		}
	}
	if len(entries) == 0 {
		return after, nil
	}
	lines, last, err := j.Lines(rev, after, entries)
	if err != nil {
		return "", err
	}
	if err := safefile.Append(j.Path, lines); err != nil {
		return "", fmt.Errorf("cannot write the journal: %w", err)
	}
	return last, nil
}

// Lines returns the lines of entries with revision rev, chained to the entry after, and the link of the last one.
func (j Journal) Lines(rev int, after Link, entries []blackboard.Entry) ([]byte, Link, error) {
	var b bytes.Buffer
	for _, e := range entries {
		e.Rev = rev
		from := b.Len()
		if err := j.line(&b, e, after); err != nil {
			return nil, "", fmt.Errorf("cannot write the journal entry %s: %w", e.Action, err)
		}
		after = linkOf(after.number()+1, string(b.Bytes()[from:]))
	}
	return b.Bytes(), after, nil
}

// line writes an entry as one line, a map in flow style.
func (j Journal) line(b *bytes.Buffer, e blackboard.Entry, prev Link) error {
	task := "null"
	if e.Task != "" {
		task = word(e.Task)
	}
	detail := j.mask(prose.OneLine(j.mask(e.Detail), maxDetail)) // before it is cut, and what a line break was in
	fmt.Fprintf(b, "- {timestamp: %s, rev: %d, agent: %s, action: %s, task: %s, detail: %s",
		word(string(e.Timestamp)), e.Rev, word(e.Agent), word(string(e.Action)), task, quote(detail))
	for _, key := range slices.Sorted(maps.Keys(e.Extra)) {
		if key == "prev" {
			continue
		}
		var value bytes.Buffer
		enc := json.NewEncoder(&value)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(e.Extra[key]); err != nil {
			return err
		}
		fmt.Fprintf(b, ", %s: %s", word(key), j.mask(strings.TrimSuffix(value.String(), "\n")))
	}
	fmt.Fprintf(b, ", prev: %q}\n", prev)
	return nil
}

// Filter selects entries of a journal. The zero Filter selects all.
type Filter struct {
	Task, Agent string
	Action      blackboard.Action
	Since       time.Time
	AfterRev    int // entries of later revisions only
	Last        int // greatest number of entries, the newest ones
}

func (f Filter) wants(e blackboard.Entry) bool {
	if f.Task != "" && e.Task != f.Task || f.Agent != "" && e.Agent != f.Agent || f.Action != "" && e.Action != f.Action {
		return false
	}
	if f.AfterRev > 0 && e.Rev <= f.AfterRev {
		return false
	}
	if !f.Since.IsZero() {
		at, ok := e.Timestamp.At()
		return ok && !at.Before(f.Since)
	}
	return true
}

// mayWant is a quick look at the text of an entry before it is parsed.
func (f Filter) mayWant(text string) bool {
	return strings.Contains(text, f.Task) && strings.Contains(text, f.Agent) && strings.Contains(text, string(f.Action))
}

// Read returns the entries that f selects, first the rotated ones, in the order of the file, also those that people or Liza
// v1 wrote in block style. It omits text that does not parse, such as an entry that is being written; Check reports it.
func (j Journal) Read(f Filter) ([]blackboard.Entry, error) {
	if found, ok := j.readEnd(f); ok {
		return found, nil
	}
	text, err := j.text()
	if err != nil {
		return nil, err
	}
	found, err := readText(text, f)
	if err != nil || f.Last > 0 && len(found) == f.Last {
		return found, err
	}
	files, err := j.rotatedFiles(text)
	if err != nil {
		return nil, err
	}
	for _, older := range slices.Backward(files) {
		if older.last <= f.AfterRev || f.Last > 0 && len(found) == f.Last {
			break
		}
		rest := f
		rest.Last = max(f.Last-len(found), 0)
		text, err := older.text()
		var before []blackboard.Entry
		if err == nil {
			before, err = readText(text, rest)
		}
		if err != nil {
			return nil, fmt.Errorf("cannot read archive/%s of the journal: %w", filepath.Base(older.Path), err)
		}
		found = append(before, found...)
	}
	return found, nil
}

func readText(text string, f Filter) ([]blackboard.Entry, error) {
	head, all := chunks(text)
	if len(all) == 0 {
		return readWhole(head, f)
	}
	return choose(all, f), nil
}

// choose returns the entries that f selects.
func choose(all []chunk, f Filter) (found []blackboard.Entry) {
	for i := len(all) - 1; i >= 0 && (f.Last == 0 || len(found) < f.Last); i-- {
		if !f.mayWant(all[i].text) || !complete(all, i) {
			continue
		}
		if e, err := all[i].entry(); err == nil && f.wants(e) {
			found = append(found, e)
		}
	}
	slices.Reverse(found)
	return found
}

// complete reports whether chunk i is complete, not an entry that Append is writing.
func complete(all []chunk, i int) bool {
	return i < len(all)-1 || strings.HasSuffix(all[i].text, "\n") || !ours(all[i].text)
}

// readWhole reads a journal that is not in the form in which Liza keeps it.
func readWhole(text string, f Filter) ([]blackboard.Entry, error) {
	var all []*blackboard.Entry
	if err := parse(text, &all); err != nil && len(all) == 0 {
		return nil, fmt.Errorf("cannot read the journal: %w", err)
	}
	var found []blackboard.Entry
	for _, e := range all {
		if e != nil && f.wants(*e) {
			found = append(found, *e)
		}
	}
	if f.Last > 0 && len(found) > f.Last {
		found = found[len(found)-f.Last:]
	}
	return found, nil
}

// A Problem is a faulty entry of the journal (rule V57).
type Problem struct {
	Line    int // from 1
	Message string
	Fixable bool // Repair repairs it
}

// Check returns the entries that do not parse or have a revision that the state does not have. The last entry may be in the
// course of being written, so an incomplete end and entries of the next revision are only problems for the next write to
// repair.
func (j Journal) Check(revision int) ([]Problem, error) {
	var at beginning
	if j.Seen != nil {
		if at = j.Seen.get(&j.Seen.checked); at.rev > revision {
			at = beginning{}
		}
	}
	text, sum, ok := j.since(at, sha256.New())
	if !ok {
		var err error
		if text, err = j.text(); err != nil {
			return nil, err
		}
		at, sum = beginning{}, sha256.New()
	}
	head, all := chunks(text)
	var problems []Problem
	if len(all) == 0 {
		if _, err := readWhole(head, Filter{}); err != nil {
			problems = append(problems, Problem{Line: 1, Message: "log.yaml: " + err.Error()})
		}
	}
	for i, c := range all {
		e, err := c.entry()
		at.rev = max(at.rev, e.Rev)
		switch {
		case err != nil:
			reason, _, _ := strings.Cut(strings.TrimPrefix(err.Error(), "yaml: "), "\n")
			problems = append(problems, Problem{Line: at.lines + c.line, Fixable: i == len(all)-1, Message: "an entry does not parse: " + reason})
		case e.Rev > revision:
			problems = append(problems, Problem{Line: at.lines + c.line, Fixable: e.Rev == revision+1, Message: fmt.Sprintf("rev %d > revision %d", e.Rev, revision)})
		}
	}
	if j.Seen != nil && len(problems) == 0 {
		at.goOn(text, all, sum)
		j.Seen.set(&j.Seen.checked, at)
	}
	return problems, nil
}
