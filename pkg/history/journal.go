package history

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"

	"liza/pkg/blackboard"
	"liza/pkg/safefile"
)

// maxDetail is how many characters of an entry's detail are kept (specs/protocol.md#3.1).
const maxDetail = 500

// Journal is the file log.yaml.
type Journal struct {
	Path string
	Kept func() (string, error) // all lines, for readers, where no file has them; else nil
	Mask func(string) string    // hides secrets in details; may be nil
}

func (j Journal) mask(s string) string {
	if j.Mask == nil {
		return s
	}
	return j.Mask(s)
}

// oneLine makes one line of at most maxDetail characters.
func oneLine(s string) string {
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool {
		return r < ' ' || r == 0x7f || r == 0x85 || r == 0x2028 || r == 0x2029
	}), " ")
	if runes := []rune(s); len(runes) > maxDetail {
		s = string(runes[:maxDetail-1]) + "…"
	}
	return s
}

// plain matches what needs no quotes: words, ids and times.
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

// quote writes a text in double quotes; YAML knows the escapes of Go, for Go writes what
// is not valid UTF-8 no other way than as \x… .
func quote(s string) string { return strconv.Quote(strings.ToValidUTF8(s, "\ufffd")) }

// A chunk is the text of one entry with what follows it up to the next.
type chunk struct {
	text string
	line int // from 1
}

// chunks cuts a journal at the lines that begin an entry. What is before the first
// one is head.
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

// Line is an entry as it stands in a journal.
type Line struct {
	Text  string // with its line end, and what follows it up to the next entry
	Link  Link
	Entry blackboard.Entry // empty when the text does not parse
}

// Split cuts a journal into its entries. What is before the first one goes with that.
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

func begins(row string) bool {
	return strings.HasPrefix(row, "- ") || strings.TrimRight(row, "\r\n") == "-"
}

// entry reads a chunk.
func (c chunk) entry() (blackboard.Entry, error) {
	var list []*blackboard.Entry
	if err := parse(c.text, &list); err != nil {
		return blackboard.Entry{}, err
	}
	if len(list) != 1 || list[0] == nil {
		return blackboard.Entry{}, fmt.Errorf("it is not one map")
	}
	e := *list[0]
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

// archive is the folder of what was rotated.
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

// rotatedFiles are those that hold entries from before text, the journal's own, the oldest
// first.
func (j Journal) rotatedFiles(text string) ([]rotated, error) {
	files, err := j.allRotated()
	if err != nil || len(files) == 0 {
		return nil, err
	}
	now, _ := span(text)
	return slices.DeleteFunc(files, func(r rotated) bool { return r.notBefore(now) }), nil
}

// ours reports whether half an entry is one that Append wrote: it is all on one line and
// begins as those do. What a power loss left of it may be zeros.
func ours(text string) bool {
	const begin = "- {timestamp: "
	n := min(len(begin), len(text))
	row := strings.TrimRight(text, "\n"+zeroFilled)
	return strings.Contains(text, zeroFilled) || text[:n] == begin[:n] && !strings.Contains(row, "\n")
}

const (
	window     = 64 << 10
	farEnough  = 1 << 20 // so far back go entries without a revision that are behind a damaged end
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
