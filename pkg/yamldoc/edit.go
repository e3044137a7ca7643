package yamldoc

import (
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// An Edit collects changes of a document. Nothing happens before Apply, and the document
// itself stays as it is.
type Edit struct {
	doc      *Document
	sections []sectionEdit
}

type sectionEdit struct {
	key           string
	before, after any    // for a section as a whole
	behind        string // where a new section goes
	items         []Item // for the entries of a split section
	entries       bool
	places        []Place // or for those of them that change
}

// An Item is one element of the entries as they shall be.
type Item struct {
	From          int    // which entry of the document it was, or -1 for a new one
	Name          string // the key of a new entry of a map
	Before, After any    // the change; both nil: the entry stays as it is
	Block         bool   // a new entry is in block style, however small
}

// Edit begins a change of the document.
func (d *Document) Edit() *Edit { return &Edit{doc: d} }

// Patch changes a section from before to after, two values of one type. A missing
// section is added at the end of the file; one whose value becomes empty stays, empty.
func (e *Edit) Patch(key string, before, after any) {
	e.sections = append(e.sections, sectionEdit{key: key, before: before, after: after})
}

// PatchBehind is Patch, but a missing section is added behind the section named.
func (e *Edit) PatchBehind(behind, key string, before, after any) {
	e.sections = append(e.sections, sectionEdit{key: key, before: before, after: after, behind: behind})
}

// Entries gives the entries of a section that Document.Entries knows: which of them stay,
// change, go, and where new ones are.
func (e *Edit) Entries(key string, items []Item) {
	e.sections = append(e.sections, sectionEdit{key: key, items: items, entries: true})
}

// A Place is one entry of a section that changes where it is.
type Place struct {
	At            int // which entry of the document it is
	Before, After any
}

// Change changes some of the entries of a section that Document.Entries knows, and adds
// others behind the last one. All others stay where they are.
func (e *Edit) Change(key string, places []Place, added []Item) {
	e.sections = append(e.sections, sectionEdit{key: key, entries: true, places: places, items: added})
}

// inFull lists all entries of a section with n entries, for who cannot go by places.
func (c *sectionEdit) inFull(n int) {
	if c.places == nil {
		return
	}
	items := make([]Item, n, n+len(c.items))
	for i := range items {
		items[i].From = i
	}
	for _, p := range c.places {
		items[p.At].Before, items[p.At].After = p.Before, p.After
	}
	c.items, c.places = append(items, c.items...), nil
}

// Apply makes the next version of the document. All of its text that was rewritten has
// been parsed again and says what the changes say.
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
		s := &section{key: change.key, text: newSection(change)}
		at = len(d.sections)
		if behind := slices.IndexFunc(d.sections, func(s *section) bool { return s.key == change.behind }); behind >= 0 {
			at = behind + 1
		}
		d.sections = slices.Insert(d.sections, at, s)
		return d.recut(at)
	}
	if s := d.sections[at]; s.apart && change.places != nil {
		return d.applyPlaces(at, change)
	}
	change.inFull(len(d.sections[at].entries))
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

func (d *Document) applyPlaces(at int, change sectionEdit) error {
	old := d.sections[at]
	next := *old
	next.entries = slices.Grow(slices.Clone(old.entries), len(change.items))
	for _, p := range change.places {
		entry, err := d.reader.applyItem(old, Item{From: p.At, Before: p.Before, After: p.After})
		if err != nil {
			return err
		}
		next.entries[p.At] = entry
	}
	for _, item := range change.items {
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
	after := copyTree(root)
	if e.doc.aliases {
		flatten(after) // else a change here would show at every alias
	}
	for _, change := range e.sections {
		if entries, ok := e.doc.Entries(change.key); ok {
			change.inFull(len(entries))
		}
		if at := keyIndex(after, change.key); at >= 0 {
			change.patch(after.Content[at+1])
		} else {
			after.Content = insertSection(after, change)
		}
	}
	text, err := splice(e.doc.whole, root, after)
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

func insertSection(root *yaml.Node, change sectionEdit) []*yaml.Node {
	holder, err := parseTree(newSection(change))
	if err != nil {
		return root.Content
	}
	forget(holder.Content)
	if root.Style&yaml.FlowStyle != 0 {
		inFlow(holder.Content[1])
	}
	at := len(root.Content)
	if behind := keyIndex(root, change.behind); behind >= 0 {
		at = behind + 2
	}
	return slices.Insert(slices.Clone(root.Content), at, holder.Content...)
}

// Section is the text of a new section: a comment above it, comments behind its keys,
// and the value, whose entries are in block style if block says so.
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
