package yamldoc

import (
	"bufio"
	"bytes"
	"io"
	"iter"
	"slices"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"
)

// A Document is one version of a file. It does not change: Edit makes the next version.
type Document struct {
	reader   *Reader
	data     []byte // bytes of the file; nil: the pieces have all of them
	marks    marks
	whole    string // the text of a file that could not be cut; else ""
	aliases  bool   // the uncut file has anchors, aliases or merge keys
	sections []*section
	tail     string // comments after the last section
	finder   finder
}

// marks are the parts of a file that are not its text: removed when it is parsed, and added when it is written.
type marks struct {
	bom, crlf bool
	open      bool // the last line has no line end
}

// section is a top-level key with its value.
type section struct {
	key     string
	text    string // "" when apart or whole
	list    bool   // the entries form a list, not a map
	apart   bool   // the entries have texts of their own
	indent  int    // column of the entries that are apart, from 0
	head    string // text before the first entry, when apart
	entries []*Entry
	split   bool // has entries, apart or not
	value   any  // result of Decode, for a section without entries
}

// Entry is one element of a section that was split.
type Entry struct {
	name  string // its key in a map
	text  string // "" unless the section is apart
	value any
}

// Name returns the entry's key in a map, or "" in a list.
func (e *Entry) Name() string { return e.name }

// Text returns the entry's lines with the comments above it, without a byte order mark and
// carriage returns, or "" if the section is not in pieces.
func (e *Entry) Text() string { return e.text }

// Value returns what the reader's Decode, or its Fast, returned for the entry.
func (e *Entry) Value() any { return e.value }

// texts are the pieces of the section, each of which must parse by itself.
func (s *section) texts(yield func(string) bool) {
	if !s.apart {
		yield(s.text)
		return
	}
	if !yield(s.head) {
		return
	}
	for _, e := range s.entries {
		if !yield(e.text) {
			return
		}
	}
}

// whole is the text of the section.
func (s *section) whole() string {
	if !s.apart {
		return s.text
	}
	return strings.Join(slices.Collect(s.texts), "")
}

// Whole reports whether the file could not be cut into segments.
func (d *Document) Whole() bool { return d.whole != "" }

// Keys returns the top-level keys in the order of the file.
func (d *Document) Keys() []string {
	keys := make([]string, len(d.sections))
	for i, s := range d.sections {
		keys[i] = s.key
	}
	return keys
}

// Section returns what Decode returned for the section key, or nil if the section has entries.
// ok reports whether the section exists.
func (d *Document) Section(key string) (value any, ok bool) {
	if s := d.find(key); s != nil {
		return s.value, true
	}
	return nil, false
}

// Entries returns the elements of the section key, which is in Reader.Split. ok is false if the
// section is missing, empty, or neither a list nor a map.
func (d *Document) Entries(key string) (entries []*Entry, ok bool) {
	if s := d.find(key); s != nil && s.split {
		return s.entries, true
	}
	return nil, false
}

func (d *Document) find(key string) *section {
	for _, s := range d.sections {
		if s.key == key {
			return s
		}
	}
	return nil
}

// text is the whole text, put together from the pieces.
func (d *Document) text() string {
	if d.whole != "" {
		return d.whole
	}
	return strings.Join(d.list(), "")
}

// LinesBefore returns the number of lines before the piece in which the section key, or its
// entry unless nil, was parsed.
func (d *Document) LinesBefore(key string, entry *Entry) int {
	if d.whole != "" {
		return 0
	}
	s := d.find(key)
	if s == nil {
		return 0
	}
	f := d.places()
	if s.apart && entry != nil {
		for i, e := range s.entries {
			if e == entry {
				return f.lines[s][i]
			}
		}
	}
	return f.first[s]
}

// unique reports whether no section is there twice, and no entry of a map.
func (d *Document) unique() bool {
	seen := map[string]bool{}
	for _, s := range d.sections {
		if seen[s.key] {
			return false
		}
		seen[s.key] = true
		if s.list {
			continue
		}
		names := make(map[string]bool, len(s.entries))
		for _, e := range s.entries {
			if names[e.name] {
				return false
			}
			names[e.name] = true
		}
	}
	return true
}

// takeOver reuses values of last for equal texts in d. It copies a new text: otherwise each entry would keep the whole file
// in memory.
func (d *Document) takeOver(last *Document) {
	if last == nil {
		return
	}
	for i, s := range d.sections {
		old := last.find(s.key)
		if !s.apart {
			if old != nil && !old.apart && last.whole == "" && old.text == s.text {
				d.sections[i] = old
			} else {
				s.text = strings.Clone(s.text)
			}
			continue
		}
		s.head = strings.Clone(s.head)
		if old != nil && old.apart && old.list == s.list && old.indent == s.indent {
			s.takeEntries(old.entries)
		} else {
			s.takeEntries(nil)
		}
	}
	d.tail = strings.Clone(d.tail)
}

func (s *section) takeEntries(old []*Entry) {
	known := make(map[string]*Entry, len(old))
	for _, o := range old {
		known[o.text] = o
	}
	for i, e := range s.entries {
		if o := known[e.text]; o != nil {
			s.entries[i] = o
		} else {
			e.text, e.name = strings.Clone(e.text), strings.Clone(e.name)
		}
	}
}

// endsPlainly reports whether a line end after the last line would change nothing: it
// would inside a block text.
func (d *Document) endsPlainly() bool {
	if d.tail != "" {
		return true
	}
	last := d.sections[len(d.sections)-1]
	text := last.text
	if last.apart {
		text = last.entries[len(last.entries)-1].text
	}
	with, err := parseTree(text)
	without, err2 := parseTree(strings.TrimSuffix(text, "\n"))
	return err == nil && err2 == nil && sameTree(with, without, false)
}

const bom = "\ufeff"

// unmark removes the byte order mark and, if all lines have them, carriage returns. It adds a missing end of the last line.
func unmark(text string) (string, marks) {
	var m marks
	text, m.bom = strings.CutPrefix(text, bom)
	if strings.IndexByte(text, '\r') >= 0 {
		n := strings.Count(text, "\r\n")
		if n == strings.Count(text, "\n") && n == strings.Count(text, "\r") {
			m.crlf, text = true, strings.ReplaceAll(text, "\r\n", "\n")
		}
	}
	if text != "" && text[len(text)-1] != '\n' {
		m.open, text = true, text+"\n"
	}
	return text, m
}

// put is the opposite of unmark, for a text that was changed: it always has a last line end.
func (m marks) put(text string) []byte {
	if m.crlf {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	if m.bom {
		text = bom + text
	}
	return []byte(text)
}

// A Reader parses one version of a file after the other and reuses unchanged parts. It keeps only the latest version. It may
// be used by several goroutines at once.
type Reader struct {
	// Split names the sections that have an entry for each element of their list or map.
	Split []string

	// Order is that of the sections of a new file. A section that is missing is added where it belongs, one that Order lacks at
	// the end. The order of a file that is there stays.
	Order []string

	// Decode returns the Value of a section (entry is nil) or of an entry. The lines of node count from the first line of its
	// piece of the file; LinesBefore returns the number of lines before it. Decode is called once for each piece, from
	// several goroutines at once, and must not change node. nil: nothing is decoded.
	Decode func(section string, entry *Entry, node *yaml.Node) any

	// Fast may return the result of Decode for an unsplit section (entry is nil) or an entry from the text of its piece; see
	// Fast.Entry. If ok is false the piece is parsed and passed to Decode. It is called like Decode. nil: all pieces are
	// passed to Decode.
	Fast func(section string, entry *Entry, text string, list bool, indent int) (value any, ok bool)

	mu   sync.Mutex
	last *Document
}

// list has the pieces in their order. It is made at each write, in one piece of memory.
func (d *Document) list() []string {
	n := 1
	for _, s := range d.sections {
		n += 1 + len(s.entries)
	}
	return slices.AppendSeq(make([]string, 0, n), d.pieces)
}

// all are the pieces of the file in their order, with its byte order mark.
func (d *Document) all() iter.Seq[string] {
	return func(yield func(string) bool) {
		if d.marks.bom && !yield(bom) {
			return
		}
		d.pieces(yield)
	}
}

// pieces are the texts of the document in their order.
func (d *Document) pieces(yield func(string) bool) {
	for _, s := range d.sections {
		for t := range s.texts {
			if !yield(t) {
				return
			}
		}
	}
	yield(d.tail)
}

// A finder has the places of a document's entries. It is made for the first line that is asked for, because a file with
// thousands of faults asks thousands of times.
type finder struct {
	once  sync.Once
	first map[*section]int            // lines before the section
	lines map[*section][]int          // lines before each of its entries
	ids   map[*section]map[string]int // apparent ids of the entries of a list; see seemingID
}

func (d *Document) places() *finder {
	f := &d.finder
	f.once.Do(func() {
		f.first, f.lines, f.ids = map[*section]int{}, map[*section][]int{}, map[*section]map[string]int{}
		line := 0
		for _, s := range d.sections {
			f.first[s] = line
			if !s.apart {
				line += strings.Count(s.text, "\n")
				continue
			}
			line += strings.Count(s.head, "\n")
			ids := map[string]int{}
			for i, e := range s.entries {
				f.lines[s] = append(f.lines[s], line)
				line += strings.Count(e.text, "\n")
				if id := seemingID(e.text, s.indent+2); s.list && id != "" {
					if _, twice := ids[id]; !twice {
						ids[id] = i
					}
				}
			}
			f.ids[s] = ids
		}
	})
	return f
}

// A Part is a section of a document, for callers that store documents in parts.
type Part struct {
	Key     string
	Text    string // text of the section or, if its entries are apart, the text before the first one
	Apart   bool   // the entries have texts of their own
	List    bool   // and form a list, not a map
	Indent  int    // column of the entries, from 0
	Entries []*Entry
}

// NewEntry returns an entry for Reader.Join that was not read yet. name is "" in a list.
func NewEntry(name, text string) *Entry { return &Entry{name: name, text: text} }

// Parts returns the sections, and the comments after the last one as tail. Their texts in this order
// are the file. ok is false if the file is not in pieces, or has a byte order mark, carriage returns
// or no line end at its end.
func (d *Document) Parts() (parts []Part, tail string, ok bool) {
	if d.whole != "" || d.marks != (marks{}) {
		return nil, "", false
	}
	parts = make([]Part, len(d.sections))
	for i, s := range d.sections {
		parts[i] = Part{Key: s.key, Text: s.text}
		if s.apart {
			parts[i] = Part{Key: s.key, Text: s.head, Apart: true, List: s.list, Indent: s.indent, Entries: s.entries}
		}
	}
	return parts, d.tail, true
}

// Join makes a document of parts, which it may keep. It reuses sections of like with the same text, unless nil, and does not
// read entries again. The error is a *SyntaxError.
func (r *Reader) Join(parts []Part, tail string, like *Document) (*Document, error) {
	doc := &Document{reader: r, tail: tail, sections: make([]*section, len(parts))}
	for i, p := range parts {
		s := &section{key: p.Key, text: p.Text}
		if p.Apart {
			s = &section{key: p.Key, head: p.Text, apart: true, list: p.List, indent: p.Indent, entries: p.Entries, split: true}
		} else if like != nil {
			if old := like.find(p.Key); old != nil && !old.apart && like.whole == "" && old.text == p.Text {
				s = old
			}
		}
		doc.sections[i] = s
	}
	if len(parts) == 0 || !doc.unique() || !r.readAll(doc.fresh()) {
		return r.Parse([]byte(strings.Join(doc.list(), ""))) // which says what is wrong
	}
	r.keep(doc)
	return doc, nil
}

// seemingID returns the text behind "id:" in the column of an entry's keys, without parsing the entry. Callers check it.
func seemingID(text string, column int) string {
	for row := range strings.Lines(text) {
		rest := strings.TrimLeft(row, " ")
		at := len(row) - len(rest)
		if after, item := strings.CutPrefix(rest, "- "); item {
			rest, at = after, at+2
		}
		if value, ok := strings.CutPrefix(rest, "id:"); ok && at == column {
			value, _, _ = strings.Cut(value, " #")
			return strings.Trim(strings.TrimSpace(value), `"'`)
		}
	}
	return ""
}

// A document of a changed file is in its pieces only: its bytes are never put together
// unless somebody asks for all of them at once.

// Bytes returns the content of the file.
func (d *Document) Bytes() []byte {
	if d.data != nil {
		return d.data
	}
	b := bytes.NewBuffer(make([]byte, 0, d.Size()))
	_, _ = d.WriteTo(b)
	return b.Bytes()
}

// Size returns the number of bytes of the file.
func (d *Document) Size() int {
	if d.data != nil {
		return len(d.data)
	}
	n := 0
	for piece := range d.all() {
		n += len(piece)
	}
	return n
}

// WriteTo writes the file, in few large writes.
func (d *Document) WriteTo(w io.Writer) (int64, error) {
	if d.data != nil {
		n, err := w.Write(d.data)
		return int64(n), err
	}
	buffer := bufio.NewWriterSize(w, min(128<<10, d.Size()))
	n := 0
	for piece := range d.all() {
		written, err := buffer.WriteString(piece)
		if n += written; err != nil {
			return int64(n), err
		}
	}
	return int64(n), buffer.Flush()
}

// Is reports whether the file consists of data.
func (d *Document) Is(data []byte) bool {
	if d.data != nil {
		return bytes.Equal(d.data, data)
	}
	for piece := range d.all() {
		if len(piece) > len(data) || piece != string(data[:len(piece)]) {
			return false
		}
		data = data[len(piece):]
	}
	return len(data) == 0
}
