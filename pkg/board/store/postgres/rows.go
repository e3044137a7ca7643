package postgres

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"liza/pkg/base/yamldoc"
	"liza/pkg/board/store"
)

// The shapes of a row of liza.entries.
const (
	shapeSection int16 = iota // the text of a section
	shapeList                 // the text before the first entry of a list
	shapeMap                  // the text before the first entry of a map
	shapeEntry
	shapeTail  // comments after the last section
	shapeWhole // a text that cannot be split
)

// row is one row of liza.entries.
type row struct {
	section  string
	place    int64
	revision int
	shape    int16
	indent   int16
	position int32
	key      string
	body     string
}

// kept is a board as it was read last. It never changes.
type kept struct {
	board    string // id of its row
	table    string // id of the table: a restored backup has another one
	content  *store.Content
	thinned  int
	journal  string
	sections map[string]*group // by key; "" has the rest
}

// group is a section with its rows.
type group struct {
	head    row
	entries []*yamldoc.Entry
	places  []int64 // places of the entries, ascending
}

func (k *kept) revision() int {
	if k == nil {
		return 0
	}
	return k.content.Revision()
}

// delta has the rows that were written or ended since a revision.
type delta struct {
	board, table      string
	revision, thinned int
	journal           string
	rows              []row // written rows
	ended             []row // ended rows; section and place are set
}

// apply makes the board after a delta. before is nil for a whole board.
func (k *kept) apply(e *store.Engine, d *delta) (*kept, error) {
	next := &kept{board: d.board, table: d.table, thinned: d.thinned, journal: d.journal, sections: map[string]*group{}}
	var like *store.Content
	if k != nil {
		if len(d.rows)+len(d.ended) == 0 && d.revision == k.revision() {
			next.content, next.sections = k.content, k.sections
			return next, nil
		}
		like, next.sections = k.content, maps.Clone(k.sections)
	}
	own := map[string]*group{} // those that may be changed
	sectionOf := func(section string) *group {
		s := own[section]
		if s == nil {
			s = &group{}
			if old := next.sections[section]; old != nil {
				*s = group{head: old.head, entries: slices.Clone(old.entries), places: slices.Clone(old.places)}
			}
			own[section], next.sections[section] = s, s
		}
		return s
	}
	for _, r := range d.ended {
		s := sectionOf(r.section)
		if r.place == 0 {
			s.head = row{position: -1}
		} else if i, ok := slices.BinarySearch(s.places, r.place); ok {
			s.places, s.entries = slices.Delete(s.places, i, i+1), slices.Delete(s.entries, i, i+1)
		}
	}
	slices.SortFunc(d.rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(a.section, b.section), cmp.Compare(a.place, b.place))
	})
	for _, r := range d.rows {
		s := sectionOf(r.section)
		if r.shape != shapeEntry {
			s.head = r
			continue
		}
		name := r.key
		if s.head.shape == shapeList {
			name = ""
		}
		i, _ := slices.BinarySearch(s.places, r.place)
		s.places, s.entries = slices.Insert(s.places, i, r.place), slices.Insert(s.entries, i, yamldoc.NewEntry(name, r.body))
	}
	for key, s := range own {
		if s.head.position < 0 {
			delete(next.sections, key)
		}
	}
	var err error
	if whole := next.sections[""]; whole != nil && whole.head.shape == shapeWhole {
		next.content, err = e.Parse([]byte(whole.head.body))
	} else {
		parts, tail := next.parts(d.revision)
		next.content, err = e.Join(parts, tail, like)
	}
	if err != nil {
		return nil, err
	}
	if next.content.Revision() != d.revision {
		return nil, fmt.Errorf("the rows of revision %d say that they are of revision %d", d.revision, next.content.Revision())
	}
	return next, nil
}

// parts are the sections in their order, as yamldoc knows them.
func (k *kept) parts(revision int) (parts []yamldoc.Part, tail string) {
	for _, s := range slices.SortedFunc(maps.Values(k.sections), func(a, b *group) int { return cmp.Compare(a.head.position, b.head.position) }) {
		h := s.head
		switch h.shape {
		case shapeTail:
			tail = h.body
			continue
		case shapeList, shapeMap:
			parts = append(parts, yamldoc.Part{Key: h.section, Text: h.body, Apart: true, List: h.shape == shapeList, Indent: int(h.indent), Entries: s.entries})
			continue
		}
		text := h.body
		if h.section == revisionKey {
			text, _ = numbered(text, h.revision, revision)
		}
		parts = append(parts, yamldoc.Part{Key: h.section, Text: text})
	}
	return parts, tail
}

// revisionKey is the section that has the revision. Its row is written when more than the number changes.
const revisionKey = "revision"

// numbered is the text of that section with another number; ok is false when it is not found.
func numbered(text string, from, to int) (string, bool) {
	line := strings.Index("\n"+text, "\n"+revisionKey+":")
	if line < 0 {
		return text, false
	}
	at := line + len(revisionKey) + 1
	was := fmt.Sprint(from)
	rest := strings.TrimLeft(text[at:], " ")
	if !strings.HasPrefix(rest, was) || len(rest) > len(was) && rest[len(was)] >= '0' && rest[len(was)] <= '9' {
		return text, false
	}
	return text[:len(text)-len(rest)] + fmt.Sprint(to) + rest[len(was):], true
}

// diff returns the rows to add and to end so that a board has the content c. k is nil for a new board.
func (k *kept) diff(c *store.Content) (next *kept, added, ended []row) {
	next = &kept{content: c, sections: map[string]*group{}}
	was := map[string]*group{}
	if k != nil {
		was, next.board, next.table, next.thinned = k.sections, k.board, k.table, k.thinned
	}
	parts, tail, ok := c.Doc().Parts()
	rest := row{shape: shapeTail, position: int32(len(parts)), body: tail, revision: c.Revision()}
	if !ok {
		parts, rest.shape, rest.body = nil, shapeWhole, string(c.Doc().Bytes())
	}
	write := func(section string, r row) *group {
		s := &group{head: r}
		next.sections[section] = s
		old := was[section]
		switch {
		case old == nil:
		case old.head.same(r):
			s.head = old.head
			return s
		default:
			ended = append(ended, row{section: section})
		}
		added = append(added, r)
		return s
	}
	for i, p := range parts {
		r := row{section: p.Key, revision: c.Revision(), position: int32(i), body: p.Text}
		if p.Apart {
			r.indent, r.shape = int16(p.Indent), shapeMap
			if p.List {
				r.shape = shapeList
			}
		}
		s := write(p.Key, r)
		var old group
		if o := was[p.Key]; o != nil {
			old = *o
		}
		more, over := s.fill(p, old, c.Revision())
		added, ended = append(added, more...), append(ended, over...)
	}
	if rest.body != "" || rest.shape == shapeWhole || k != nil && was[""] != nil {
		write("", rest)
	}
	for section, s := range was {
		if next.sections[section] == nil {
			ended = append(ended, row{section: section})
			for _, place := range s.places {
				ended = append(ended, row{section: section, place: place})
			}
		}
	}
	return next, added, ended
}

// same reports whether a section's row need not be written.
func (r row) same(now row) bool {
	if r.shape != now.shape || r.indent != now.indent || r.position != now.position {
		return false
	}
	if r.section == revisionKey {
		text, _ := numbered(r.body, r.revision, now.revision)
		return text == now.body
	}
	return r.body == now.body
}

// fill gives the entries of a section their places: an unchanged entry keeps its own, a changed one takes that of its
// predecessor, others follow at the end. After a change of order all further entries are written again.
func (s *group) fill(p yamldoc.Part, old group, revision int) (added, ended []row) {
	s.entries, s.places = p.Entries, make([]int64, 0, len(p.Entries))
	if s.head.shape != old.head.shape { // entries of a list are none of a map
		for _, place := range old.places {
			ended = append(ended, row{section: p.Key, place: place})
		}
		old = group{}
	}
	last := int64(0)
	if n := len(old.places); n > 0 {
		last = old.places[n-1]
	}
	write := func(e *yamldoc.Entry, place int64) {
		added = append(added, row{section: p.Key, place: place, revision: revision, shape: shapeEntry, position: s.head.position, key: keyOf(e), body: e.Text()})
		s.places = append(s.places, place)
	}
	end := func(i int) { ended = append(ended, row{section: p.Key, place: old.places[i]}) }
	is := func(e, o *yamldoc.Entry) bool { return e == o || e.Name() == o.Name() && e.Text() == o.Text() }
	o := 0
	for i, e := range p.Entries {
		switch left := len(old.entries) - o; {
		case left == 0:
			last++
			write(e, last)
		case is(e, old.entries[o]):
			s.places = append(s.places, old.places[o])
			o++
		case left > 1 && is(e, old.entries[o+1]): // one is gone
			end(o)
			s.places = append(s.places, old.places[o+1])
			o += 2
		case len(p.Entries)-i < left && keyOf(e) != keyOf(old.entries[o]): // more than one may be gone
			for len(old.entries) > o && len(p.Entries)-i < len(old.entries)-o && keyOf(e) != keyOf(old.entries[o]) {
				end(o)
				o++
			}
			if is(e, old.entries[o]) {
				s.places = append(s.places, old.places[o])
			} else {
				end(o)
				write(e, old.places[o])
			}
			o++
		default: // changed, or something else in its place
			end(o)
			write(e, old.places[o])
			o++
		}
	}
	for ; o < len(old.entries); o++ {
		end(o)
	}
	return added, ended
}

// keyOf is the name of an entry of a map, or the id of one of a list.
func keyOf(e *yamldoc.Entry) string {
	if e.Name() != "" {
		return e.Name()
	}
	return store.ID(e.Value())
}

// valueOf returns a row as JSON, or nil if it has no JSON.
func (k *kept) valueOf(r row) []byte {
	var read any
	switch r.shape {
	case shapeSection:
		read, _ = k.content.Doc().Section(r.section)
	case shapeEntry:
		s := k.sections[r.section]
		i, _ := slices.BinarySearch(s.places, r.place)
		read = s.entries[i].Value()
	default:
		return nil
	}
	value, err := store.JSON(read)
	if err != nil || strings.Contains(string(value), `\u0000`) { // which jsonb cannot have
		return nil
	}
	return value
}
