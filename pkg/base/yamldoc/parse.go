package yamldoc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// Limits of a file (specs/protocol.md#14, B08).
const (
	MaxSize      = 200 << 20 // bytes of a file
	maxExpansion = 10 << 20  // bytes that all aliases of a file expand to
)

// A SyntaxError is the reason why, and the place where, a file is not one YAML map.
type SyntaxError struct {
	Line, Column int // 0: unknown
	Reason       string
}

func (e *SyntaxError) Error() string {
	switch {
	case e.Line == 0:
		return "cannot parse: " + e.Reason
	case e.Column == 0:
		return fmt.Sprintf("cannot parse: %s at line %d", e.Reason, e.Line)
	}
	return fmt.Sprintf("cannot parse: %s at line %d, column %d", e.Reason, e.Line, e.Column)
}

var (
	errEmpty   = errors.New("the file is empty")
	errSeveral = errors.New("several documents in one file")
)

// parseTree parses text, which must hold exactly one document, and returns its root. A
// damaged file must not stop a supervisor, so a panic of the library is an error too.
func parseTree(text string) (root *yaml.Node, err error) {
	defer func() {
		if r := recover(); r != nil {
			root, err = nil, fmt.Errorf("the YAML library gave up: %v", r)
		}
	}()
	dec := yaml.NewDecoder(strings.NewReader(text))
	var doc yaml.Node
	if err := dec.Decode(&doc); err == io.EOF {
		return nil, errEmpty
	} else if err != nil {
		return nil, err
	}
	if err := dec.Decode(new(yaml.Node)); err == nil {
		return nil, errSeveral
	} else if err != io.EOF {
		return nil, err
	}
	if len(doc.Content) != 1 {
		return nil, errEmpty
	}
	return doc.Content[0], nil
}

var yamlError = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^yaml: (?:line (\d+): )?`) })

// reasonOf is the library's sentence without its "yaml: line N: ", and N.
func reasonOf(err error) (reason string, line int) {
	text := err.Error()
	if m := yamlError().FindStringSubmatch(text); m != nil {
		line, _ = strconv.Atoi(m[1])
		text = text[len(m[0]):]
	}
	return text, line
}

// check refuses duplicate keys, aliases in a circle and aliases that expand beyond all
// measure. It reports whether there are anchors, aliases or merge keys at all.
func check(root *yaml.Node) (aliases bool, err *SyntaxError) {
	c := checker{size: map[*yaml.Node]int{}}
	c.walk(root)
	if c.err == nil && c.expanded > maxExpansion {
		c.err = &SyntaxError{Line: root.Line, Column: root.Column, Reason: "aliases expand beyond 10 MB"}
	}
	return c.aliases, c.err
}

type checker struct {
	aliases  bool
	expanded int
	size     map[*yaml.Node]int // sizes of the targets of aliases; -1 during the count
	err      *SyntaxError
}

func (c *checker) walk(n *yaml.Node) {
	if c.err != nil {
		return
	}
	c.aliases = c.aliases || n.Anchor != "" || n.Kind == yaml.ScalarNode && n.ShortTag() == "!!merge"
	switch n.Kind {
	case yaml.AliasNode:
		c.aliases = true
		c.expanded += c.sizeOf(n.Alias)
		return
	case yaml.MappingNode:
		c.keys(n)
	}
	for _, child := range n.Content {
		c.walk(child)
	}
}

func (c *checker) keys(n *yaml.Node) {
	seen := make(map[string]*yaml.Node, len(n.Content)/2)
	for i := 0; i < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Kind != yaml.ScalarNode {
			c.fail(key, "a key is not a plain text")
			return
		}
		if first := seen[key.Value]; first != nil {
			c.fail(key, fmt.Sprintf("key %q is there twice, first in line %d", key.Value, first.Line))
			return
		}
		seen[key.Value] = key
	}
}

// sizeOf is the size of n with all its aliases expanded.
func (c *checker) sizeOf(n *yaml.Node) int {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if known, ok := c.size[n]; ok {
		if known < 0 {
			c.fail(n, "an alias contains itself")
		}
		return max(known, 0)
	}
	c.size[n] = -1
	sum := len(n.Value) + 8 // about what it takes in a file
	for _, child := range n.Content {
		sum = min(sum+c.sizeOf(child), 2*maxExpansion)
	}
	c.size[n] = sum
	return sum
}

func (c *checker) fail(n *yaml.Node, reason string) {
	if c.err == nil {
		c.err = &SyntaxError{Line: n.Line, Column: n.Column, Reason: reason}
	}
}

// Parse parses a file. The error is a *SyntaxError. The document may keep data, so that the caller
// must not change it afterwards.
func (r *Reader) Parse(data []byte) (*Document, error) {
	r.mu.Lock()
	last := r.last
	r.mu.Unlock()
	if last != nil && last.Is(data) {
		return last, nil
	}
	doc, err := r.parse(data, last)
	if err != nil {
		return nil, err
	}
	r.keep(doc)
	return doc, nil
}

// inUTF8 refuses a file in UTF-16, as some editors and shells write it. The library would read it, but no line of it could be
// changed.
func inUTF8(data []byte) error {
	if bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) {
		return &SyntaxError{Line: 1, Column: 1, Reason: "the file is in UTF-16; write it in UTF-8 with iconv -f UTF-16 -t UTF-8"}
	}
	return nil
}

func (r *Reader) keep(doc *Document) {
	r.mu.Lock()
	r.last = doc
	r.mu.Unlock()
}

func (r *Reader) parse(data []byte, last *Document) (*Document, error) {
	if len(data) > MaxSize {
		return nil, &SyntaxError{Reason: fmt.Sprintf("the file has %d MB, more than %d", len(data)>>20, MaxSize>>20)}
	}
	if err := inUTF8(data); err != nil {
		return nil, err
	}
	text, marks := unmark(string(data))
	if doc := r.parsePieces(text, last); doc != nil && (!marks.open || doc.endsPlainly()) {
		doc.marks = marks
		if marks.crlf || marks.open {
			doc.data = data // which the pieces do not add up to
		}
		return doc, nil
	}
	if marks.open {
		text = strings.TrimSuffix(text, "\n")
		marks.open = false
	}
	doc, err := r.parseWhole(text)
	if err != nil {
		return nil, err
	}
	doc.data, doc.marks = data, marks
	return doc, nil
}

func (r *Reader) split() map[string]bool {
	split := make(map[string]bool, len(r.Split))
	for _, key := range r.Split {
		split[key] = true
	}
	return split
}

func (r *Reader) splits(key string) bool { return slices.Contains(r.Split, key) }

// parsePieces reads a file that can be cut, else it returns nil. The errors of such a file are found by reading it as a
// whole.
func (r *Reader) parsePieces(text string, last *Document) *Document {
	sections, tail, ok := layout(text, r.split())
	if !ok || !harmless(tail) {
		return nil
	}
	for _, s := range sections {
		if !harmless(s.head) {
			return nil
		}
	}
	doc := &Document{reader: r, sections: sections, tail: tail}
	if !doc.unique() {
		return nil
	}
	doc.takeOver(last)
	if !r.readAll(doc.fresh()) {
		return nil
	}
	return doc
}

// readAll reads pieces side by side and reports whether all are good.
func (r *Reader) readAll(pieces []piece) bool {
	const some = 16 // pieces that one takes at a time
	var (
		wait sync.WaitGroup
		next atomic.Int64
		bad  atomic.Bool
	)
	work := func() {
		for !bad.Load() {
			from := int(next.Add(some)) - some
			if from >= len(pieces) {
				return
			}
			for i := range pieces[from:min(from+some, len(pieces))] {
				if p := &pieces[from+i]; !r.read(p) {
					bad.Store(true)
				}
			}
		}
	}
	for range min(runtime.GOMAXPROCS(0), (len(pieces)+some-1)/some) - 1 {
		wait.Go(work)
	}
	work()
	wait.Wait()
	return !bad.Load()
}

// harmless reports whether comments that no piece contains have nothing in them that a
// YAML file must not have.
func harmless(comments string) bool { return utf8.ValidString(comments) && printable(comments, true) }

// A piece is a section or an entry that has a text of its own.
type piece struct {
	section *section
	entry   *Entry // nil: the whole section
}

func (p *piece) text() string {
	if p.entry != nil {
		return p.entry.text
	}
	return p.section.text
}

// fresh lists the pieces that were not taken over from the last version.
func (d *Document) fresh() []piece {
	n := 0
	for _, s := range d.sections {
		n += 1 + len(s.entries)
	}
	pieces := make([]piece, 0, n)
	for _, s := range d.sections {
		if !s.apart {
			if s.value == nil && !s.split {
				pieces = append(pieces, piece{section: s})
			}
			continue
		}
		for _, e := range s.entries {
			if e.value == nil {
				pieces = append(pieces, piece{section: s, entry: e})
			}
		}
	}
	return pieces
}

// read parses and decodes one piece. It reports whether the piece has the structure that layout assumed.
func (r *Reader) read(p *piece) (good bool) {
	if r.readFast(p) {
		return true
	}
	value, ok := p.parse()
	if !ok {
		return false
	}
	if p.entry != nil {
		p.entry.value = r.decode(p.section.key, p.entry, value)
	} else {
		p.section.fill(r, value)
	}
	return true
}

// readFast decodes a piece without a tree, if it can.
func (r *Reader) readFast(p *piece) bool {
	s := p.section
	if r.Fast == nil || p.entry == nil && r.splits(s.key) {
		return false
	}
	value, ok := r.Fast(s.key, p.entry, p.text(), s.list, s.indent)
	switch {
	case !ok:
	case p.entry != nil:
		p.entry.value = value
	default:
		s.value = value
	}
	return ok
}

// parse returns the value of a piece. ok is false when it is not the one entry or
// section that it should be.
func (p *piece) parse() (value *yaml.Node, ok bool) {
	root, err := parseTree(p.text())
	if err != nil {
		return nil, false
	}
	s, list := p.section, p.entry != nil && p.section.list
	if aliases, err := check(root); err != nil || aliases {
		return nil, false
	}
	switch {
	case list && (root.Kind != yaml.SequenceNode || len(root.Content) != 1 || root.Column != s.indent+1),
		!list && (root.Kind != yaml.MappingNode || len(root.Content) != 2),
		root.Style&yaml.FlowStyle != 0:
		return nil, false
	}
	place, value := single(root, list)
	if !list && (p.entry == nil && place.Value != s.key || p.entry != nil && (place.Value != p.entry.name || place.Column != s.indent+1)) {
		return nil, false
	}
	return value, true
}

// fill decodes a section whose entries have no text of their own.
func (s *section) fill(r *Reader, value *yaml.Node) {
	value = resolve(value)
	collection := value.Kind == yaml.SequenceNode || value.Kind == yaml.MappingNode
	if !collection || !r.splits(s.key) || len(value.Content) == 0 {
		s.value = r.decode(s.key, nil, value)
		return
	}
	s.split, s.list, s.entries = true, value.Kind == yaml.SequenceNode, nil
	step := 2
	if s.list {
		step = 1
	}
	for i := 0; i+step <= len(value.Content); i += step {
		e := &Entry{}
		if !s.list {
			e.name = value.Content[i].Value
		}
		e.value = r.decode(s.key, e, resolve(value.Content[i+step-1]))
		s.entries = append(s.entries, e)
	}
}

// decode never returns nil, so that a value marks a piece that was read.
func (r *Reader) decode(section string, entry *Entry, node *yaml.Node) any {
	if r.Decode != nil {
		if v := r.Decode(section, entry, node); v != nil {
			return v
		}
	}
	return struct{}{}
}

// parseWhole reads a file as one piece.
func (r *Reader) parseWhole(text string) (*Document, error) {
	root, err := parseTree(text)
	if err != nil {
		return nil, locate(text, err, r.split())
	}
	aliases, broken := check(root)
	if broken != nil {
		return nil, broken
	}
	if root.Kind != yaml.MappingNode {
		return nil, &SyntaxError{Line: root.Line, Column: root.Column, Reason: "the file is not a map of sections"}
	}
	if aliases {
		flatten(root)
	}
	doc := &Document{reader: r, whole: text, aliases: aliases}
	for i := 0; i+1 < len(root.Content); i += 2 {
		s := &section{key: root.Content[i].Value}
		s.fill(r, root.Content[i+1])
		doc.sections = append(doc.sections, s)
	}
	return doc, nil
}
