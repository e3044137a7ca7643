package yamldoc

import (
	"slices"
	"strings"
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
