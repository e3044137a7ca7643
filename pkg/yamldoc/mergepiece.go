package yamldoc

import (
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"
)

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
