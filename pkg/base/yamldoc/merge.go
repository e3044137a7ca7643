package yamldoc

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// MergeOptions have the facts about files that Merge3 cannot see.
type MergeOptions struct {
	Theirs []string // top-level keys whose value is always theirs, such as a version counter
}

// Merged is the result of Merge3.
type Merged struct {
	Data      []byte     // the merged file; nil if there are conflicts
	Conflicts []Conflict // values that both sides changed, in the order of the file
	Notes     []Note     // changes of mine without a meaning in YAML that were lost
}

// A Conflict is a value that both sides changed, each in another way.
type Conflict struct {
	Path               string // such as tasks[task-3].priority
	Base, Mine, Theirs Side
}

// A Side is the value of one version at a path.
type Side struct {
	Value        string // on one line, shortened to 200 characters; "" if absent
	Absent       bool
	Line, Column int // of the value, or of the collection that lacks it; 0 if unknown
}

// A Note names a comment or an order of mine that the merge lost.
type Note struct {
	Line int // in mine
	Text string
}

// Merge3 merges the changes that mine and theirs made to base, field by field. Maps merge by
// key and the sections that the Reader splits by the ids of their entries; any other list is
// one value. A field that one side changed has that side's value. A field that both changed
// in different ways, and an entry that one side changed and the other removed, are conflicts.
// An absent value equals an empty one.
//
// The text follows both sides: lines that one side changed are that side's, byte for byte.
func Merge3(base, mine, theirs *Document, opt MergeOptions) (*Merged, error) {
	docs := [3]*Document{base, mine, theirs}
	texts, shared := condense(docs)
	merged, err := mergeTexts(docs, texts, shared, opt)
	if err != nil && shared.entries != nil {
		merged, err = mergeTexts(docs, wholeTexts(docs), shared3{}, opt)
	}
	return merged, err
}

func mergeTexts(docs [3]*Document, texts [3]condensed, shared shared3, opt MergeOptions) (*Merged, error) {
	base, mine, theirs := texts[0].text, texts[1].text, texts[2].text
	if mine == base || mine == theirs {
		return &Merged{Data: docs[2].Bytes()}, nil
	}
	m := merger{split: docs[2].reader.split(), theirs: opt.Theirs, shared: shared}
	var s spots
	for i, text := range texts {
		root, err := plainTree(text.text)
		if err != nil {
			return nil, err
		}
		text.restoreLines(root)
		s[i].value = root
	}
	start := mergeLines(base, mine, theirs)
	if root, err := plainTree(start); err == nil {
		m.order = root
	}
	want := m.dict("", s)
	if len(m.conflicts) > 0 {
		return &Merged{Conflicts: m.conflicts}, nil
	}
	text, err := write(want, start, theirs, mine)
	if err != nil {
		return nil, err
	}
	m.lostComments(texts[1], base, text)
	slices.SortStableFunc(m.notes, func(a, b Note) int { return a.Line - b.Line })
	if text == theirs {
		return &Merged{Data: docs[2].Bytes(), Notes: m.notes}, nil
	}
	if text, err = shared.expand(text); err != nil {
		return nil, err
	}
	return &Merged{Data: docs[2].marks.put(text), Notes: m.notes}, nil
}

// plainTree parses text and resolves its aliases and merge keys. The root must be a map.
func plainTree(text string) (*yaml.Node, error) {
	root, err := parseTree(text)
	if err != nil {
		return nil, err
	}
	aliases, broken := check(root)
	if broken != nil {
		return nil, broken
	}
	if aliases {
		flatten(root)
	}
	if root.Kind != yaml.MappingNode {
		return nil, errNotFaithful
	}
	return root, nil
}

// write returns the first of the starting texts that can be changed, line by line, to say want.
// Only if none can, the whole text is rewritten.
func write(want *yaml.Node, starts ...string) (string, error) {
	for _, splice := range []func(string, *yaml.Node, *yaml.Node) (string, error){spliceLines, splice} {
		for _, text := range starts {
			after, err := plainTree(text)
			if err != nil {
				continue
			}
			if sameValue(after, want) {
				return text, nil
			}
			before, err := parseTree(text)
			if err != nil {
				continue
			}
			fit(after, want)
			if text, err = splice(text, before, after); err != nil {
				continue
			}
			if after, err = plainTree(text); err == nil && sameValue(after, want) {
				return text, nil
			}
		}
	}
	return "", errNotFaithful
}

// A shared3 has the entries that are equal in three versions of a file. In a condensed text a mark on one line replaces each
// of them, so that a merge costs only the differences.
type shared3 struct {
	mark    string // beginning of each mark; no text in the files has it
	entries []string
}

// A condensed is the text of a version with marks in place of shared entries.
type condensed struct {
	text  string
	lines []int // number of each line in the version, from 1; nil if nothing was replaced
}

func wholeTexts(docs [3]*Document) (texts [3]condensed) {
	for i, d := range docs {
		texts[i].text = d.text()
	}
	if !strings.Contains(texts[2].text, "\r") { // mine and base get the line ends of theirs
		ends := strings.NewReplacer("\r\n", "\n", "\r", "\n")
		texts[0].text, texts[1].text = ends.Replace(texts[0].text), ends.Replace(texts[1].text)
	}
	return texts
}

// condense replaces the entries that all three documents have with the same bytes. A
// document that is not in pieces is left whole.
func condense(docs [3]*Document) (texts [3]condensed, shared shared3) {
	const mark = "shared-entry-"
	count := map[string][3]int{}
	for i, d := range docs {
		if d.whole != "" {
			return wholeTexts(docs), shared3{}
		}
		for _, s := range d.sections {
			for _, e := range s.entries {
				n := count[s.key+"\n"+e.text]
				n[i]++
				count[s.key+"\n"+e.text] = n
				if strings.Contains(e.text, mark) {
					return wholeTexts(docs), shared3{}
				}
			}
		}
	}
	shared.mark = mark
	numbers := map[string]int{}
	for i, d := range docs {
		texts[i] = d.condensed(func(s *section, e *Entry) string {
			key := s.key + "\n" + e.text
			if count[key] != [3]int{1, 1, 1} {
				return ""
			}
			n, known := numbers[key]
			if !known {
				n = len(shared.entries)
				numbers[key], shared.entries = n, append(shared.entries, e.text)
			}
			line := strings.Repeat(" ", s.indent)
			if s.list {
				return line + "- " + mark + strconv.Itoa(n) + "\n"
			}
			return line + e.name + ": " + mark + strconv.Itoa(n) + "\n"
		})
	}
	return texts, shared
}

// condensed is the document's text, where entries for which instead returns a line are that line.
func (d *Document) condensed(instead func(s *section, e *Entry) string) condensed {
	var b strings.Builder
	var c condensed
	line := 1
	add := func(text, instead string) {
		if instead == "" {
			for row := range strings.Lines(text) {
				b.WriteString(row)
				c.lines = append(c.lines, line)
				line++
			}
			return
		}
		b.WriteString(instead)
		c.lines = append(c.lines, line)
		line += strings.Count(text, "\n")
	}
	for _, s := range d.sections {
		if !s.apart {
			add(s.text, "")
			continue
		}
		add(s.head, "")
		for _, e := range s.entries {
			add(e.text, instead(s, e))
		}
	}
	add(d.tail, "")
	c.text = b.String()
	return c
}

// line is the number in the version of line n of the condensed text, both from 1.
func (c condensed) line(n int) int {
	if n < 1 || n > len(c.lines) {
		return n
	}
	return c.lines[n-1]
}

func (c condensed) restoreLines(n *yaml.Node) {
	n.Line = c.line(n.Line)
	for _, child := range n.Content {
		c.restoreLines(child)
	}
}

// expand puts the shared entries back in place of their marks, of which each must be there once.
func (s shared3) expand(text string) (string, error) {
	if s.entries == nil {
		return text, nil
	}
	var b strings.Builder
	seen := map[int]bool{}
	for row := range strings.Lines(text) {
		_, number, marked := strings.Cut(row, s.mark)
		if !marked {
			b.WriteString(row)
			continue
		}
		n, err := strconv.Atoi(strings.TrimSuffix(number, "\n"))
		if err != nil || n >= len(s.entries) || seen[n] {
			return "", errNotFaithful
		}
		seen[n] = true
		b.WriteString(s.entries[n])
	}
	if len(seen) != len(s.entries) {
		return "", errNotFaithful
	}
	return b.String(), nil
}

// A spot is the value of one version at a path.
type spot struct {
	place *yaml.Node // the key, or the element of a list; of the collection around it, if absent
	value *yaml.Node // nil if absent
}

// spots are the values of base, mine and theirs at a path.
type spots [3]spot

// inside returns the values of a part of s that find returns for each version.
func (s spots) inside(find func(version int) (place, value *yaml.Node)) spots {
	var inner spots
	for i := range s {
		place, value := find(i)
		if value == nil || place.Line == 0 { // what an alias brings has no other place either
			place = s[i].place
		}
		inner[i] = spot{place, value}
	}
	return inner
}

func (s spots) values() (base, mine, theirs *yaml.Node) { return s[0].value, s[1].value, s[2].value }

// all reports whether each of the three is empty or a collection of the given kind.
func (s spots) all(kind yaml.Kind) bool {
	return !slices.ContainsFunc(s[:], func(x spot) bool { return !emptyNode(x.value) && x.value.Kind != kind })
}

// filled reports whether one of the three is a collection with elements.
func (s spots) filled() bool {
	return slices.ContainsFunc(s[:], func(x spot) bool { return x.value != nil && len(x.value.Content) > 0 })
}

// side describes the spot in a conflict.
func (s spot) side() Side {
	side := Side{Value: show(s.value), Absent: s.value == nil}
	if s.place != nil {
		side.Line, side.Column = s.place.Line, s.place.Column
	}
	return side
}

// A merger merges the trees of three versions. Its results share nodes with them.
type merger struct {
	split     map[string]bool // sections whose entries are not removed when empty
	theirs    []string        // top-level keys whose value is always theirs
	shared    shared3
	order     *yaml.Node // tree of the text merged by lines, for the order of entries; may be nil
	conflicts []Conflict
	notes     []Note
}

func (m *merger) conflict(path string, s spots) *yaml.Node {
	m.conflicts = append(m.conflicts, Conflict{Path: path, Base: s[0].side(), Mine: s[1].side(), Theirs: s[2].side()})
	return s[2].value
}

// field merges a value for which absent equals empty, except for the entries of a section that is split.
func (m *merger) field(path string, s spots) *yaml.Node {
	base, mine, theirs := s.values()
	dict, split := s.all(yaml.MappingNode), m.split[path] && s.filled()
	switch {
	case slices.Contains(m.theirs, path):
		return theirs
	case split && dict:
		return kept(m.dict(path, s), theirs)
	case split && s.all(yaml.SequenceNode) && m.haveIDs(s):
		return kept(m.byID(path, s), theirs)
	case sameValue(mine, base), sameValue(mine, theirs):
		return theirs
	case sameValue(theirs, base):
		return mine
	case dict && (emptyNode(base) || !emptyNode(mine) && !emptyNode(theirs)):
		return m.dict(path, s)
	}
	return m.conflict(path, s)
}

// kept is merged, or nil if it is empty and theirs has no such key.
func kept(merged, theirs *yaml.Node) *yaml.Node {
	if len(merged.Content) == 0 && theirs == nil {
		return nil
	}
	return merged
}

// entry merges an element that is there or not, whatever it says.
func (m *merger) entry(path string, s spots) *yaml.Node {
	base, mine, theirs := s.values()
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
		return m.conflict(path, s)
	}
	return m.field(path, s)
}

func (m *merger) dict(path string, s spots) *yaml.Node {
	merged := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	base, mine, theirs := s.values()
	for _, name := range union(names(theirs), names(mine), names(base)) {
		child := s.inside(func(i int) (*yaml.Node, *yaml.Node) { return pairOf(s[i].value, name) })
		var value *yaml.Node
		if m.split[path] {
			value = m.entry(path+"["+name+"]", child)
		} else {
			value = m.field(join(path, name), child)
		}
		if value == nil {
			continue
		}
		key, _ := pairOf(theirs, name)
		if key == nil {
			key, _ = pairOf(mine, name)
		}
		merged.Content = append(merged.Content, key, value)
	}
	return merged
}

// union returns the elements of all lists, each once, in the order of the first list that has it.
func union(lists ...[]string) []string {
	var all []string
	seen := map[string]bool{}
	for _, list := range lists {
		for _, x := range list {
			if !seen[x] {
				all, seen[x] = append(all, x), true
			}
		}
	}
	return all
}

// idOf is the id of an element, the mark of a shared entry, or "".
func (m *merger) idOf(n *yaml.Node) string {
	if n.Kind == yaml.ScalarNode && m.shared.mark != "" && strings.HasPrefix(n.Value, m.shared.mark) {
		return n.Value
	}
	return idOf(n)
}

// ids lists the ids of the elements of a list.
func (m *merger) ids(list *yaml.Node) []string {
	if list == nil || list.Kind != yaml.SequenceNode {
		return nil
	}
	ids := make([]string, len(list.Content))
	for i, n := range list.Content {
		ids[i] = m.idOf(n)
	}
	return ids
}

// haveIDs reports whether all elements of the three lists have ids that are unique in their list.
func (m *merger) haveIDs(s spots) bool {
	return !slices.ContainsFunc(s[:], func(x spot) bool {
		ids := m.ids(x.value)
		return slices.Contains(ids, "") || len(union(ids)) != len(ids)
	})
}

func (m *merger) byID(path string, s spots) *yaml.Node {
	var known [3]map[string]*yaml.Node
	var ids [3][]string
	for i := range s {
		ids[i], known[i] = m.ids(s[i].value), map[string]*yaml.Node{}
		for at, id := range ids[i] {
			known[i][id] = s[i].value.Content[at]
		}
	}
	_, order := pairOf(m.order, path)
	merged := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	var result []string
	for _, id := range union(m.ids(order), ids[2], ids[1], ids[0]) {
		element := s.inside(func(i int) (*yaml.Node, *yaml.Node) { return known[i][id], known[i][id] })
		if base, mine, theirs := element.values(); base == nil && mine == nil && theirs == nil {
			continue
		}
		if value := m.entry(path+"["+id+"]", element); value != nil {
			merged.Content, result = append(merged.Content, value), append(result, id)
		}
	}
	if reordered(ids[0], ids[1]) && reordered(ids[1], result) {
		m.notes = append(m.notes, Note{Line: s[1].side().Line, Text: "both changed the order of " + path + "; it is theirs"})
	}
	return merged
}

// reordered reports whether the elements that both lists have are in another order.
func reordered(before, after []string) bool {
	common := func(list, other []string) []string {
		in := map[string]bool{}
		for _, x := range other {
			in[x] = true
		}
		return slices.DeleteFunc(slices.Clone(list), func(x string) bool { return !in[x] })
	}
	return !slices.Equal(common(before, after), common(after, before))
}

// fit changes the tree node to the value of want. Nodes with the wanted value stay unchanged.
func fit(node, want *yaml.Node) {
	switch {
	case sameValue(node, want):
	case node.Kind == yaml.MappingNode && want.Kind == yaml.MappingNode && len(node.Content) > 0:
		fitMap(node, want)
	case node.Kind == yaml.SequenceNode && want.Kind == yaml.SequenceNode && len(node.Content) > 0:
		fitList(node, want)
	default:
		value, comment := foreign(want), node.LineComment
		if comment == "" {
			comment = value.LineComment
		}
		style := value.Style
		replace(node, value)
		if node.Style, node.LineComment = style, ""; node.Kind == yaml.ScalarNode {
			node.LineComment = comment
		}
	}
	if len(node.Content) == 0 && node.Kind != yaml.ScalarNode {
		node.Style |= yaml.FlowStyle
	}
}

// foreign copies a node without its place in a text.
func foreign(n *yaml.Node) *yaml.Node {
	n = copyTree(n)
	forget([]*yaml.Node{n})
	return n
}

func fitMap(node, want *yaml.Node) {
	for _, name := range names(node) {
		if at := keyIndex(node, name); keyIndex(want, name) < 0 && !emptyNode(node.Content[at+1]) {
			node.Content = slices.Delete(slices.Clone(node.Content), at, at+2)
		}
	}
	wanted := names(want)
	for i, name := range wanted {
		if _, value := pairOf(node, name); value != nil {
			fit(value, want.Content[2*i+1])
		} else {
			insertPair(node, wanted[:i], foreign(want.Content[2*i]), foreign(want.Content[2*i+1]))
		}
	}
}

func fitList(node, want *yaml.Node) {
	old := node.Content
	node.Content = make([]*yaml.Node, 0, len(want.Content))
	from := matches(len(want.Content), len(old), func(i, j int) bool { return sameValue(want.Content[i], old[j]) })
	pair(from, len(old), func(i, j int) bool {
		return want.Content[i].Kind == old[j].Kind && idOf(want.Content[i]) == idOf(old[j])
	})
	for i, j := range from {
		item := foreign(want.Content[i])
		if j >= 0 {
			item = old[j]
			fit(item, want.Content[i])
		} else if node.Style&yaml.FlowStyle != 0 {
			inFlow(item)
		}
		node.Content = append(node.Content, item)
	}
}

// lostComments notes each comment that mine added to base and text lacks.
func (m *merger) lostComments(mine condensed, base, text string) {
	has := func(text, comment string) bool { return strings.Contains(text, comment+"\n") }
	lines := rows(mine.text)
	for i, row := range lines {
		for at := range row {
			comment := strings.TrimSpace(row[at:])
			if row[at] != '#' || at > 0 && row[at-1] != ' ' && row[at-1] != '\t' || has(base, comment) || has(text, comment) {
				continue
			}
			rest := slices.Clone(lines)
			if rest[i] = row[:at] + "\n"; strings.TrimSpace(rest[i]) == "" {
				rest[i] = ""
			}
			with, err := plainTree(mine.text)
			without, err2 := plainTree(strings.Join(rest, ""))
			if err == nil && err2 == nil && sameValue(with, without) {
				m.notes = append(m.notes, Note{Line: mine.line(i + 1), Text: fmt.Sprint("not kept: ", comment)})
				break
			}
		}
	}
}
