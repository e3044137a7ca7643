package yamldoc

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// An Edit collects changes of a document. Apply makes a new document with them; the old one does
// not change.
type Edit struct {
	doc      *Document
	sections []sectionEdit
}

type sectionEdit struct {
	key           string
	before, after any    // values of a section as a whole
	items         []Item // entries of a split section
	entries       bool
}

// An Item describes one entry of a section after an edit.
type Item struct {
	From          int    // index of the entry in the document, or -1 for a new one
	Name          string // the key of a new entry of a map
	Before, After any    // the change; both nil: the entry is unchanged
	Block         bool   // a new entry is in block style, however small
}

// Edit begins a change of the document.
func (d *Document) Edit() *Edit { return &Edit{doc: d} }

// Patch changes the value of the section key from before to after, two values of one type. It adds
// a missing section where Reader.Order has it, and keeps the key of a value that becomes empty.
func (e *Edit) Patch(key string, before, after any) {
	e.sections = append(e.sections, sectionEdit{key: key, before: before, after: after})
}

// Entries sets the entries of the section key, which Document.Entries returns: items lists those
// that stay, change or are new, in their order; all others are removed.
func (e *Edit) Entries(key string, items []Item) {
	e.sections = append(e.sections, sectionEdit{key: key, items: items, entries: true})
}

// Apply returns the document with the changes. It parses all rewritten text again and verifies that its value is that of the
// changes.
func (e *Edit) Apply() (*Document, error) {
	if e.doc.whole != "" {
		return e.applyWhole()
	}
	next := &Document{reader: e.doc.reader, marks: e.doc.marks, sections: slices.Clone(e.doc.sections), tail: e.doc.tail}
	next.marks.open = false
	for _, change := range e.sections {
		if err := next.apply(change); err != nil {
			return nil, fmt.Errorf("cannot write section %s: %w", change.key, err)
		}
	}
	if next.marks.crlf {
		next.data = next.marks.put(next.text())
	}
	next.reader.keep(next)
	return next, nil
}

func (d *Document) apply(change sectionEdit) error {
	at := slices.IndexFunc(d.sections, func(s *section) bool { return s.key == change.key })
	if at < 0 {
		at = d.reader.placeOf(change.key, d.Keys())
		d.sections = slices.Insert(d.sections, at, &section{key: change.key, text: d.setOff(at, newSection(change))})
		return d.recut(at)
	}
	if s := d.sections[at]; s.apart && change.entries && len(change.items) > 0 {
		return d.applyEntries(at, change.items)
	}
	text := d.sections[at].whole()
	root, err := parseTree(text)
	if err != nil {
		return err
	}
	after := copyTree(root)
	change.patch(after.Content[1])
	text, err = splice(text, root, after)
	if err != nil {
		return err
	}
	d.sections[at] = &section{key: change.key, text: text}
	if err := d.recut(at); err != nil {
		return err
	}
	if s := d.sections[at]; s.apart && change.entries && !slices.ContainsFunc(change.items, func(i Item) bool { return i.From >= 0 }) {
		for _, e := range s.entries {
			e.setOff()
		}
	}
	return nil
}

// setOff puts a blank line behind a new entry of several lines.
func (e *Entry) setOff() {
	if strings.Count(e.text, "\n") > 1 && !strings.HasSuffix(e.text, "\n\n") {
		e.text += "\n"
	}
}

// setOff is the text of a new section with a blank line, where the one before which it will stand has one above it.
func (d *Document) setOff(at int, text string) string {
	switch {
	case at == len(d.sections):
		return text
	case strings.HasPrefix(d.sections[at].whole(), "\n"):
		return "\n" + text
	case at > 0 && strings.HasSuffix(d.sections[at-1].whole(), "\n\n"):
		return text + "\n"
	}
	return text
}

// placeOf is where a section that is missing among keys is added: before the first one that comes after it in r.Order, else at the end.
func (r *Reader) placeOf(key string, keys []string) int {
	if rank := slices.Index(r.Order, key); rank >= 0 {
		for i, other := range keys {
			if slices.Index(r.Order, other) > rank {
				return i
			}
		}
	}
	return len(keys)
}

// newSection is the text of a section that was not there before.
func newSection(change sectionEdit) string {
	value := Encode(change.after)
	if change.entries {
		value = &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		for _, item := range change.items {
			if item.Name != "" {
				value.Kind, value.Tag = yaml.MappingNode, "!!map"
				value.Content = append(value.Content, stringNode(item.Name))
			}
			value.Content = append(value.Content, item.node())
		}
	}
	if len(value.Content) > 0 {
		value.Style &^= yaml.FlowStyle
	}
	return snippet(stringNode(change.key), value, 0, 2)
}

// patch applies the change to the value of its section.
func (c sectionEdit) patch(value *yaml.Node) {
	if !c.entries {
		Patch(value, c.before, c.after)
		return
	}
	if len(value.Content) == 0 && len(c.items) > 0 {
		*value = yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", HeadComment: value.HeadComment, Line: value.Line, Column: value.Column}
		if c.items[0].Name != "" {
			value.Kind, value.Tag = yaml.MappingNode, "!!map"
		}
	}
	step := 1
	if value.Kind == yaml.MappingNode {
		step = 2
	}
	old := value.Content
	value.Content = nil
	for _, item := range c.items {
		var nodes []*yaml.Node
		if item.From >= 0 {
			nodes = old[item.From*step : item.From*step+step]
			if item.changes() {
				Patch(nodes[step-1], item.Before, item.After)
			}
		} else {
			nodes = append(nodes, item.node())
			if step == 2 {
				nodes = append([]*yaml.Node{stringNode(item.Name)}, nodes...)
			}
			if value.Style&yaml.FlowStyle != 0 {
				inFlow(nodes[step-1])
			}
		}
		value.Content = append(value.Content, nodes...)
	}
	if len(value.Content) == 0 {
		value.Style |= yaml.FlowStyle
	}
}

func (i Item) changes() bool { return i.Before != nil || i.After != nil }

// node is the value of a new entry.
func (i Item) node() *yaml.Node {
	n := Encode(i.After)
	if i.Block && len(n.Content) > 0 {
		n.Style &^= yaml.FlowStyle
	}
	return n
}

// applyEntries changes a section whose entries have texts of their own: only those of
// the entries that change are parsed.
func (d *Document) applyEntries(at int, items []Item) error {
	old := d.sections[at]
	next := *old
	next.entries = make([]*Entry, 0, len(items))
	for _, item := range items {
		entry, err := d.reader.applyItem(old, item)
		if err != nil {
			return err
		}
		next.entries = append(next.entries, entry)
	}
	d.sections[at] = &next
	return nil
}

func (r *Reader) applyItem(s *section, item Item) (*Entry, error) {
	if item.From >= 0 && !item.changes() {
		return s.entries[item.From], nil
	}
	e := &Entry{name: item.Name}
	if item.From < 0 {
		e.text = strings.Repeat(" ", s.indent)
		if s.list {
			e.text += snippet(nil, item.node(), s.indent, 1)
		} else {
			e.text += snippet(stringNode(item.Name), item.node(), s.indent, 2)
		}
		e.setOff()
	} else {
		old := s.entries[item.From]
		e.name = old.name
		root, err := parseTree(old.text)
		if err != nil {
			return nil, err
		}
		after := copyTree(root)
		_, value := single(after, s.list)
		Patch(value, item.Before, item.After)
		if e.text, err = splice(old.text, root, after); err != nil {
			return nil, err
		}
	}
	p := &piece{section: s, entry: e}
	if !r.read(p) {
		return nil, errNotFaithful
	}
	return e, nil
}

// recut takes apart and decodes a section that was rewritten. If it cannot be taken
// apart it stays in one piece.
func (d *Document) recut(at int) error {
	text := d.sections[at].text
	if d.reader.split()[d.sections[at].key] && d.readSection(at, true) {
		return nil
	}
	d.sections[at] = &section{key: d.sections[at].key, text: text}
	if !d.readSection(at, false) {
		return errNotFaithful
	}
	return nil
}

func (d *Document) readSection(at int, cut bool) bool {
	if cut {
		d.sections[at].cut()
	}
	part := &Document{sections: d.sections[at : at+1]}
	for _, p := range part.fresh() {
		if !d.reader.read(&p) {
			return false
		}
	}
	return true
}

// applyWhole makes the changes in a file that cannot be cut.
func (e *Edit) applyWhole() (*Document, error) {
	root, err := parseTree(e.doc.whole)
	if err != nil {
		return nil, err
	}
	after, restore := copyTree(root), func() {}
	if e.doc.aliases {
		restore = spellOut(after) // else a change here would show at every alias
	}
	for _, change := range e.sections {
		if at := keyIndex(after, change.key); at >= 0 {
			change.patch(after.Content[at+1])
		} else {
			after.Content = e.doc.reader.insertSection(after, change)
		}
	}
	flat := copyTree(after)
	restore()
	text, err := splice(e.doc.whole, root, after)
	if e.doc.aliases && (err != nil || !saysAs(text, flat)) {
		text, err = splice(e.doc.whole, root, flat)
	}
	if err != nil {
		return nil, err
	}
	next, err := e.doc.reader.parse(e.doc.marks.put(text), nil)
	if err != nil {
		return nil, err
	}
	e.doc.reader.keep(next)
	return next, nil
}

// saysAs reports whether a text says the same as a tree without aliases.
func saysAs(text string, flat *yaml.Node) bool {
	root, err := parseTree(text)
	if err != nil {
		return false
	}
	if _, broken := check(root); broken != nil {
		return false
	}
	flatten(root)
	return sameTree(root, flat, true)
}

func (r *Reader) insertSection(root *yaml.Node, change sectionEdit) []*yaml.Node {
	holder, err := parseTree(newSection(change))
	if err != nil {
		return root.Content
	}
	forget(holder.Content)
	if root.Style&yaml.FlowStyle != 0 {
		inFlow(holder.Content[1])
	}
	var keys []string
	for i := 0; i < len(root.Content); i += 2 {
		keys = append(keys, root.Content[i].Value)
	}
	return slices.Insert(slices.Clone(root.Content), 2*r.placeOf(change.key, keys), holder.Content...)
}

// Section returns the text of a new section with the value: the comment above it, and the comments
// behind its keys. If block is true, its entries are in block style, however small.
func Section(key string, value any, above string, behind map[string]string, block bool) string {
	n := Encode(value)
	step := 1
	if n.Kind == yaml.MappingNode {
		step = 2
	}
	for i := 0; i+step <= len(n.Content); i += step {
		n.Style &^= yaml.FlowStyle
		child := n.Content[i+step-1]
		if block && len(child.Content) > 0 {
			child.Style &^= yaml.FlowStyle
		}
		if text := behind[n.Content[i].Value]; text != "" && child.Kind == yaml.ScalarNode {
			child.LineComment = "# " + text
		}
	}
	var b strings.Builder
	for row := range strings.Lines(above) {
		b.WriteString("# " + strings.TrimSuffix(row, "\n") + "\n")
	}
	return b.String() + snippet(stringNode(key), n, 0, 2)
}

// A Cut is one difference between two versions of a file.
type Cut struct {
	From    int `json:"from"`    // offset in the old bytes
	Removed int `json:"removed"` // bytes removed there
	To      int `json:"to"`      // offset in the new bytes
	Added   int `json:"added"`   // bytes added there
}

// CutsSince returns the differences to an older version, piece by piece, and the bytes that all
// of them added. ok is false if one of the two is not in pieces, or if their byte order mark or
// line ends differ.
func (d *Document) CutsSince(old *Document) (cuts []Cut, text []byte, ok bool) {
	if d.whole != "" || old.whole != "" || d.marks != old.marks || d.marks.crlf {
		return nil, nil, false
	}
	before, row := old.list(), 0
	from, to := 0, 0
	if d.marks.bom {
		from, to = len(bom), len(bom)
	}
	for _, h := range hunks(before, d.list()) {
		kept := length(before[row:h.from])
		cut := Cut{From: from + kept, To: to + kept, Removed: length(before[h.from:h.to]), Added: length(h.rows)}
		from, to, row = cut.From+cut.Removed, cut.To+cut.Added, h.to
		cuts = append(cuts, cut)
		text = append(text, strings.Join(h.rows, "")...)
	}
	return cuts, text, true
}

func length(texts []string) int {
	n := 0
	for _, t := range texts {
		n += len(t)
	}
	return n
}

// ApplyCuts applies cuts to old and returns the new bytes; added holds the added bytes of all cuts,
// one after the other. ok is false if the cuts do not fit.
func ApplyCuts(old []byte, cuts []Cut, added []byte) (data []byte, ok bool) {
	data = make([]byte, 0, len(old)+len(added))
	at := 0
	for _, c := range cuts {
		if c.From < at || c.Removed < 0 || c.From+c.Removed > len(old) || c.Added < 0 || c.Added > len(added) {
			return nil, false
		}
		data = append(append(data, old[at:c.From]...), added[:c.Added]...)
		at, added = c.From+c.Removed, added[c.Added:]
	}
	return append(data, old[at:]...), len(added) == 0
}

// locate turns an error of the library into a SyntaxError with line and column. The library names the line where the
// construct begins, or none; so locate searches for the shortest beginning of the text that has the same error.
func locate(text string, err error, split map[string]bool) *SyntaxError {
	if errors.Is(err, errEmpty) {
		return &SyntaxError{Line: 1, Column: 1, Reason: err.Error()}
	}
	if errors.Is(err, errSeveral) {
		return &SyntaxError{Line: secondDocument(text), Column: 1, Reason: err.Error()}
	}
	reason, line := reasonOf(err)
	first := 1
	if piece, at, pieceReason := brokenPiece(text, split); piece != "" {
		text, first, reason, line = piece, at, pieceReason, at
	}
	if len(text) > 256<<10 {
		return &SyntaxError{Line: max(line, 1), Reason: reason}
	}
	n := shortest(len(text), func(n int) bool {
		_, err := parseTree(text[:n])
		if err == nil {
			return false
		}
		got, _ := reasonOf(err)
		return got == reason
	})
	before := text[:max(n-1, 0)]
	return &SyntaxError{
		Line:   first + strings.Count(before, "\n"),
		Column: len([]rune(before[strings.LastIndexByte(before, '\n')+1:])) + 1,
		Reason: reason,
	}
}

// shortest finds the smallest n in 0..max for which fails(n) holds, given that fails
// goes from false to true once and fails(max) holds.
func shortest(max int, fails func(int) bool) int {
	low, high := 0, max
	for low < high {
		mid := (low + high) / 2
		if fails(mid) {
			high = mid
		} else {
			low = mid + 1
		}
	}
	return high
}

// brokenPiece is the first piece of the layout that does not parse by itself, so that
// the search for the place need not read a long file again and again.
func brokenPiece(text string, split map[string]bool) (piece string, line int, reason string) {
	sections, _, ok := layout(text, split)
	if !ok {
		return "", 0, ""
	}
	line = 1
	for _, s := range sections {
		for piece := range s.texts {
			if _, err := parseTree(piece); err != nil && !errors.Is(err, errEmpty) {
				reason, _ := reasonOf(err)
				return piece, line, reason
			}
			line += strings.Count(piece, "\n")
		}
	}
	return "", 0, ""
}

func secondDocument(text string) int {
	seen, line := false, 0
	for row := range strings.Lines(text) {
		line++
		switch {
		case strings.HasPrefix(row, "---") && seen:
			return line
		case strings.TrimSpace(row) != "" && row[0] != '#' && row[0] != '%':
			seen = true
		}
	}
	return 1
}
