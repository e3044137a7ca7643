package yamldoc

import (
	"slices"
	"strings"
)

// apart merges a section entry by entry. ok is false if its versions do not have the
// same shape, or if no entry is left.
func (p *pieceMerger) apart(key string, c chunks) (texts []string, ok bool) {
	if p.ours[key] || !c.alike() {
		return nil, false
	}
	versions := [3][]*chunk{c.base.entries(), c.mine.entries(), c.theirs.entries()}
	names, ok := entryNames(versions)
	if !ok {
		return nil, false
	}
	conflicts, notes := len(p.conflicts), len(p.notes)
	order, lost := arrange(names[0], names[1], names[2])
	if lost {
		p.note(key, c.mine.line+1, "both changed the order of the entries; it is theirs")
	}
	find := [3]map[string]int{places(names[0]), places(names[1]), places(names[2])}
	absent := chunks{c.base.without(), c.mine.without(), c.theirs.without()}
	for _, name := range order {
		entry := absent
		for i, to := range []**chunk{&entry.base, &entry.mine, &entry.theirs} {
			if at, there := find[i][name]; there {
				*to = versions[i][at]
			}
		}
		text, gone, err := p.piece(entryPath(key, name), entry)
		if err != nil {
			return nil, false
		}
		if !gone {
			texts = append(texts, text)
		}
	}
	if len(texts) == 0 {
		p.conflicts, p.notes = p.conflicts[:conflicts], p.notes[:notes]
		return nil, false
	}
	head := ""
	if c.base != nil {
		head = c.base.section.head
	}
	head = p.lines(key, c.mine.line, head, c.mine.section.head, c.theirs.section.head)
	return slices.Insert(texts, 0, head), true
}

// alike reports whether all versions of a section are cut in the same way.
func (c chunks) alike() bool {
	if c.mine == nil || c.theirs == nil {
		return false
	}
	m := c.mine.section
	for _, version := range c.all() {
		if version != nil && !(version.section.apart && version.section.list == m.list && version.section.indent == m.indent) {
			return false
		}
	}
	return true
}

// without stands for an entry that the section does not have.
func (c *chunk) without() *chunk {
	if c == nil {
		return nil
	}
	line := c.line
	for row := range strings.Lines(c.text) {
		if lineKind(row) == textLine {
			break
		}
		line++
	}
	return &chunk{absent: true, line: line}
}

// idMark is before the id of an entry that stands for its name. No entry begins so.
const idMark = "id:"

// entryNames gives each entry a name that it has in all versions: its key, in a list its
// id. Entries that did not change need not be parsed: their text is their name.
func entryNames(versions [3][]*chunk) (names [3][]string, ok bool) {
	count := map[string][3]int{}
	for i, entries := range versions {
		for _, e := range entries {
			n := count[e.text]
			n[i]++
			count[e.text] = n
		}
	}
	for i, entries := range versions {
		for _, e := range entries {
			name := e.key
			if e.item {
				if name = e.text; count[e.text] != [3]int{1, 1, 1} {
					s, err := e.parse()
					if err != nil || idOf(s.value) == "" {
						return names, false
					}
					name = idMark + idOf(s.value)
				}
			}
			names[i] = append(names[i], name)
		}
		if len(places(names[i])) != len(names[i]) {
			return names, false
		}
	}
	return names, true
}

// entryPath is the path of an entry that entryNames named.
func entryPath(section, name string) string {
	return section + "[" + strings.TrimPrefix(name, idMark) + "]"
}
