package yamldoc

import (
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// Merge3 puts what mine changed since base into theirs, another version that came from
// base. The result keeps the bytes of theirs except where mine changed something, and
// what it takes from mine it takes as it stands there, with comments and quoting.
//
// Sections that the reader splits are merged entry by entry, in a list by the ids of the
// entries, and maps key by key. Any other list is one value: both sides changing it is a
// conflict. An entry that one side removed and the other changed is one too, and so is an
// entry that both added with different content. For all other values empty and absent are
// the same.
func Merge3(base, mine, theirs *Document, opt MergeOptions) (*Merged, error) {
	p := pieceMerger{treeMerger{split: theirs.reader.split(), ours: map[string]bool{}}}
	for _, key := range opt.Theirs {
		p.ours[key] = true
	}
	text, ok := p.sections(base, mine, theirs)
	if !ok {
		p.conflicts, p.notes = nil, nil
		var err error
		if text, _, err = p.piece("", wholes(base, mine, theirs)); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(p.notes, func(a, b Note) int { return a.Line - b.Line })
	merged := &Merged{Data: theirs.Bytes(), Conflicts: p.conflicts, Notes: p.notes}
	if text != theirs.text() {
		merged.Data = theirs.marks.put(text)
	}
	return merged, nil
}

// sections merges files that can be cut; ok is false if one of them cannot, or if the
// pieces would not stay what they are beside one another.
func (p *pieceMerger) sections(base, mine, theirs *Document) (text string, ok bool) {
	if base.whole != "" || mine.whole != "" || theirs.whole != "" {
		return "", false
	}
	b, _ := base.chunks()
	m, end := mine.chunks()
	t, _ := theirs.chunks()
	order, lost := arrange(base.Keys(), mine.Keys(), theirs.Keys())
	if lost {
		p.note("", 1, "both changed the order of the sections; it is theirs")
	}
	var parts [][]string // of each section
	for _, key := range order {
		c := chunks{b[key], m[key], t[key]}
		texts, ok := p.apart(key, c)
		if !ok {
			text, gone, err := p.piece(key, c)
			if err != nil {
				return "", false
			}
			if gone {
				continue
			}
			texts = []string{text}
		}
		parts = append(parts, texts)
		text += strings.Join(texts, "")
	}
	tail := p.lines("", end, base.tail, mine.tail, theirs.tail)
	return text + tail, p.staysCut(text+tail, parts, tail)
}

// staysCut reports whether a reader cuts the text at the same places.
func (p *pieceMerger) staysCut(text string, parts [][]string, tail string) bool {
	sections, rest, ok := layout(text, p.split)
	if !ok || rest != tail || len(sections) != len(parts) {
		return false
	}
	for i, s := range sections {
		if len(parts[i]) > 1 && !slices.Equal(parts[i], slices.Collect(s.texts)) || strings.Join(parts[i], "") != s.whole() {
			return false
		}
	}
	return true
}

// MergeOptions tell Merge3 what it cannot see.
type MergeOptions struct {
	Theirs []string // top-level keys whose value is always theirs, as a counter of versions
}

// Merged is what came of a merge.
type Merged struct {
	// Data is the file. Where there are conflicts it says what theirs says, so that it
	// must not take the place of mine as long as there is one.
	Data      []byte
	Conflicts []Conflict
	Notes     []Note
}

// A Conflict is a value that both sides changed, each in another way.
type Conflict struct {
	Path               string // tasks[task-3].priority
	Base, Mine, Theirs Side
}

// A Side is what one version of a file says at a path.
type Side struct {
	Value        string // on one line, cut when it is long; "" when it is absent
	Absent       bool
	Line, Column int // in that version; of what is around it, when it is absent; 0: nowhere
}

// A Note is something that mine changed, has no meaning to YAML, and could not be kept.
type Note struct {
	Path string // of the entry
	Line int    // in mine
	Text string
}

// pieceMerger merges piece by piece, and looks into those that both sides changed.
type pieceMerger struct{ treeMerger }

// spot is what one version says at a path.
type spot struct {
	place *yaml.Node // its key, or the value itself in a list; what is around it, when it is absent
	value *yaml.Node // nil when it is absent
}

// spots are the three versions of one place.
type spots struct{ base, mine, theirs spot }

// treeMerger merges the trees of three versions. What it returns shares nodes with them,
// and must not be changed.
type treeMerger struct {
	split     map[string]bool // sections whose entries are there or not, as elements of lists are
	ours      map[string]bool // top-level keys whose value is always theirs
	conflicts []Conflict
	notes     []Note
}

// A chunk is a piece of one version: a file, a section, or an entry.
type chunk struct {
	text    string
	line    int      // lines before it in its file
	absent  bool     // it is not there; line is that of what is around it
	entry   bool     // it is an element of a section
	item    bool     // ... that is a list
	key     string   // of a section, or an entry of a map
	section *section // nil unless it is one
}

// chunks are the three versions of a piece; nil is absent.
type chunks struct{ base, mine, theirs *chunk }

func (c *chunk) missing() bool { return c == nil || c.absent }

func (c *chunk) source() string {
	if c.missing() {
		return ""
	}
	return c.text
}

// read parses a text that may stand for the chunk: without aliases, and with one element
// if the chunk has but one.
func (c *chunk) read(text string) (root *yaml.Node, s spot, err error) {
	if root, err = parseTree(text); err != nil {
		return nil, spot{}, err
	}
	aliases, broken := check(root)
	if broken != nil {
		return nil, spot{}, broken
	}
	if aliases {
		flatten(root)
	}
	switch whole := !c.entry && c.section == nil; {
	case c.item && root.Kind == yaml.SequenceNode && len(root.Content) == 1:
		return root, spot{root.Content[0], root.Content[0]}, nil
	case whole && root.Kind == yaml.MappingNode:
		return root, spot{value: root}, nil
	case !whole && !c.item && root.Kind == yaml.MappingNode && len(root.Content) == 2 && root.Content[0].Value == c.key:
		return root, spot{root.Content[0], root.Content[1]}, nil
	}
	return nil, spot{}, errNotFaithful
}

// in is the spot of a key of the map, or of an element of the list, at s.
func (s spot) in(place, value *yaml.Node) spot {
	if value == nil || place.Line == 0 {
		place = s.place // of what an alias brought there is no other place either
	}
	return spot{place: place, value: value}
}

func (s spot) key(name string) spot { return s.in(pairOf(s.value, name)) }

// elements are those of the list at s.
func (s spot) elements() []*yaml.Node {
	if s.value == nil || s.value.Kind != yaml.SequenceNode {
		return nil
	}
	return s.value.Content
}

// at is the spot of an element, absent if i is not an index.
func (s spot) at(i int) spot {
	if i < 0 {
		return s.in(nil, nil)
	}
	return s.in(s.value.Content[i], s.value.Content[i])
}

// called is the spot of the element whose place is known under a name.
func (s spot) called(name string, known map[string]int) spot {
	if i, there := known[name]; there {
		return s.at(i)
	}
	return s.at(-1)
}

// side is what a report shows of s.
func (s spot) side() Side {
	side := Side{Value: show(s.value), Absent: s.value == nil}
	if s.place != nil {
		side.Line, side.Column = s.place.Line, s.place.Column
	}
	return side
}

func (s spots) key(name string) spots {
	return spots{base: s.base.key(name), mine: s.mine.key(name), theirs: s.theirs.key(name)}
}

// conflict reports that both sides changed a place. Theirs stays.
func (g *treeMerger) conflict(path string, s spots) *yaml.Node {
	g.conflicts = append(g.conflicts, Conflict{Path: path, Base: s.base.side(), Mine: s.mine.side(), Theirs: s.theirs.side()})
	return s.theirs.value
}

// field merges a value for which being absent is the same as being empty. In a section
// that is split it matters all the same which entries are there.
func (g *treeMerger) field(path string, s spots) *yaml.Node {
	base, mine, theirs := s.base.value, s.mine.value, s.theirs.value
	dict, list := all(s, yaml.MappingNode), all(s, yaml.SequenceNode)
	switch split := g.split[path] && s.filled(); {
	case g.ours[path]:
		return uncommented(theirs)
	case split && dict:
		return kept(g.dict(path, s), theirs)
	case split && list && s.haveIDs():
		return kept(g.byID(path, s), theirs)
	case sameValue(mine, base), sameValue(mine, theirs):
		return theirs
	case sameValue(theirs, base):
		return mine
	case dict && (emptyNode(base) || !emptyNode(mine) && !emptyNode(theirs)):
		return g.dict(path, s)
	}
	return g.conflict(path, s)
}

// uncommented is a scalar without the comment behind it, so that mine's can stay.
func uncommented(n *yaml.Node) *yaml.Node {
	if n == nil || n.Kind != yaml.ScalarNode {
		return n
	}
	bare := *n
	bare.LineComment = ""
	return &bare
}

// kept is what was merged, or nothing if nothing is left and theirs has not even the key.
func kept(merged, theirs *yaml.Node) *yaml.Node {
	if len(merged.Content) == 0 && theirs == nil {
		return nil
	}
	return merged
}

// filled reports whether one of the three is a collection with something in it.
func (s spots) filled() bool {
	for _, spot := range []spot{s.base, s.mine, s.theirs} {
		if spot.value != nil && len(spot.value.Content) > 0 {
			return true
		}
	}
	return false
}

// all reports whether the three are collections of one kind, or empty.
func all(s spots, kind yaml.Kind) bool {
	for _, n := range []*yaml.Node{s.base.value, s.mine.value, s.theirs.value} {
		if !emptyNode(n) && n.Kind != kind {
			return false
		}
	}
	return true
}

// entry merges an element that is there or not, whatever is in it.
func (g *treeMerger) entry(path string, s spots) *yaml.Node {
	base, mine, theirs := s.base.value, s.mine.value, s.theirs.value
	switch {
	case mine == nil && theirs == nil:
		return nil
	case base == nil && theirs == nil:
		return mine
	case base == nil && mine == nil:
		return theirs
	case theirs == nil && sameValue(mine, base), mine == nil && sameValue(theirs, base):
		return nil
	case mine == nil || theirs == nil, base == nil && !sameValue(mine, theirs):
		return g.conflict(path, s)
	}
	return g.field(path, s)
}

func (g *treeMerger) dict(path string, s spots) *yaml.Node {
	merged := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	order, _ := arrange(names(s.base.value), names(s.mine.value), names(s.theirs.value))
	for _, name := range order {
		child := s.key(name)
		var value *yaml.Node
		if g.split[path] {
			value = g.entry(path+"["+name+"]", child)
		} else {
			value = g.field(join(path, name), child)
		}
		if value == nil {
			continue
		}
		key, _ := pairOf(s.theirs.value, name)
		if key == nil {
			key, _ = pairOf(s.mine.value, name)
		}
		merged.Content = append(merged.Content, key, value)
	}
	return merged
}

// haveIDs reports whether the elements of all three lists have ids, none of them twice.
func (s spots) haveIDs() bool {
	for _, spot := range []spot{s.base, s.mine, s.theirs} {
		if ids := idsOf(spot.elements()); len(places(ids)) != len(spot.elements()) {
			return false
		}
	}
	return true
}

func idsOf(elements []*yaml.Node) []string {
	var ids []string
	for _, n := range elements {
		if id := idOf(n); id != "" {
			ids = append(ids, id)
		}
	}
	return ids
}

func (g *treeMerger) byID(path string, s spots) *yaml.Node {
	ids := [][]string{idsOf(s.base.elements()), idsOf(s.mine.elements()), idsOf(s.theirs.elements())}
	merged := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	order, lost := arrange(ids[0], ids[1], ids[2])
	if lost {
		g.note(path, s.mine.side().Line, "both changed the order; it is theirs")
	}
	base, mine, theirs := places(ids[0]), places(ids[1]), places(ids[2])
	for _, id := range order {
		element := spots{s.base.called(id, base), s.mine.called(id, mine), s.theirs.called(id, theirs)}
		if value := g.entry(path+"["+id+"]", element); value != nil {
			merged.Content = append(merged.Content, value)
		}
	}
	return merged
}

// chunk is a whole file.
func (d *Document) chunk() *chunk { return &chunk{text: d.text()} }

// wholes are the files as one piece each. They get the line ends of theirs.
func wholes(base, mine, theirs *Document) chunks {
	c := chunks{base.chunk(), mine.chunk(), theirs.chunk()}
	if !strings.Contains(c.theirs.text, "\r") {
		ends := strings.NewReplacer("\r\n", "\n", "\r", "\n")
		c.base.text, c.mine.text = ends.Replace(c.base.text), ends.Replace(c.mine.text)
	}
	return c
}

// chunks are the sections of a file, and the number of lines that they have.
func (d *Document) chunks() (sections map[string]*chunk, lines int) {
	sections = map[string]*chunk{}
	for _, s := range d.sections {
		c := &chunk{text: s.whole(), line: lines, key: s.key, section: s}
		sections[s.key] = c
		lines += strings.Count(c.text, "\n")
	}
	return sections, lines
}

// entries are the entries of a section that is apart.
func (c *chunk) entries() []*chunk {
	if c == nil {
		return nil
	}
	line := c.line + strings.Count(c.section.head, "\n")
	entries := make([]*chunk, len(c.section.entries))
	for i, e := range c.section.entries {
		entries[i] = &chunk{text: e.text, line: line, entry: true, item: c.section.list, key: e.name}
		line += strings.Count(e.text, "\n")
	}
	return entries
}

// same reports whether two chunks have the same bytes, or both are missing.
func (c *chunk) same(other *chunk) bool {
	if c.missing() || other.missing() {
		return c.missing() && other.missing()
	}
	return c.text == other.text
}

// parse is the chunk's value with the lines of its file.
func (c *chunk) parse() (spot, error) {
	if c == nil {
		return spot{}, nil
	}
	if c.absent {
		return spot{place: &yaml.Node{Line: c.line + 1, Column: 1}}, nil
	}
	root, s, err := c.read(c.text)
	if err == nil {
		shift(root, c.line)
	}
	return s, err
}

// piece merges the three versions of a piece; gone tells that nothing is left of it.
func (p *pieceMerger) piece(path string, c chunks) (text string, gone bool, err error) {
	switch {
	case c.mine.same(c.base), c.mine.same(c.theirs):
		return c.theirs.source(), c.theirs.missing(), nil
	case c.theirs.same(c.base) && !p.ours[path] && (path != "" || len(p.ours) == 0):
		return c.mine.source(), c.mine.missing(), nil
	}
	var s spots
	for i, to := range []*spot{&s.base, &s.mine, &s.theirs} {
		if *to, err = c.all()[i].parse(); err != nil {
			return "", false, err
		}
	}
	var value *yaml.Node
	switch {
	case path == "":
		value = p.dict(path, s)
	case c.any().entry:
		value = p.entry(path, s)
	default:
		value = p.field(path, s)
	}
	if value != nil {
		if text, err = c.compose(value); err != nil {
			return "", false, fmt.Errorf("cannot merge %s: %w", path, err)
		}
	}
	p.lost(path, c, text)
	return text, value == nil, nil
}

func (c chunks) all() [3]*chunk { return [3]*chunk{c.base, c.mine, c.theirs} }

// any is a version that is there.
func (c chunks) any() *chunk {
	for _, version := range []*chunk{c.theirs, c.mine, c.base} {
		if !version.missing() {
			return version
		}
	}
	return nil
}

// compose finds a text that says value: the lines of both sides if they do not get in
// each other's way, else those of one with the values of the other written into them,
// and only if that cannot be, a text that is rewritten.
func (c chunks) compose(value *yaml.Node) (string, error) {
	var starts []string
	if !c.base.missing() && !c.mine.missing() && !c.theirs.missing() {
		starts = append(starts, mergeLines(c.base.text, c.mine.text, c.theirs.text))
	}
	starts = append(starts, c.theirs.source(), c.mine.source(), c.base.source())
	for _, splice := range []func(string, *yaml.Node, *yaml.Node) (string, error){spliceLines, splice} {
		for _, start := range starts {
			if text, err := c.any().write(start, value, splice); err == nil {
				return text, nil
			}
		}
	}
	return "", errNotFaithful
}

// spliceLines is splice, but it writes no more lines again than those that differ.
func spliceLines(text string, before, after *yaml.Node) (string, error) {
	s := splicer{lines: splitLines(text)}
	if s.root(before, after) {
		if out := s.b.String(); says(out, after, false) {
			return out, nil
		}
	}
	return "", errNotFaithful
}

// write changes the lines of text in which it does not say value.
func (c *chunk) write(text string, value *yaml.Node, splice func(string, *yaml.Node, *yaml.Node) (string, error)) (string, error) {
	after, s, err := c.read(text)
	if err != nil {
		return "", err
	}
	if sameValue(s.value, value) {
		return text, nil
	}
	before, err := parseTree(text)
	if err != nil {
		return "", err
	}
	fit(s.value, value)
	if text, err = splice(text, before, after); err != nil {
		return "", err
	}
	if _, s, err = c.read(text); err != nil || !sameValue(s.value, value) {
		return "", errNotFaithful
	}
	return text, nil
}
