package history

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
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

// Append writes the entries with revision rev at the end of the journal, in one write
// call, and flushes it to disk. They are chained to the entry that after names, or to the last
// one there is when that is "". It returns the link of the last entry. After an error the
// journal is as it was.
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

// Lines are entries as they stand in the journal, each with its line end, and the link of the last one.
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
	detail := j.mask(oneLine(j.mask(e.Detail))) // before it is cut, and what a line break was in
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
