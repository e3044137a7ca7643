package yamldoc

import (
	"reflect"
	"strings"
)

// A fastReader reads one text. Its methods return false for what the library must read;
// then the reader is of no more use. Each that reads a value ends at the first text of
// the line behind it, in the given column.
type fastReader struct {
	text   string
	at     int // where reading goes on
	start  int // of the line that next found
	column int // of its text; -1 at the end
	depth  int
	null   bool // the value that was read last says nothing
}

// maxDepth is how deep collections may lie in each other.
const maxDepth = 40

// value reads what is behind a key, inMap, or behind the dash of an item. column is
// where the key or the dash is.
func (r *fastReader) value(p *fastPlan, to reflect.Value, column int, inMap bool) bool {
	for r.text[r.at] == ' ' {
		r.at++
	}
	r.null = false
	switch c := r.text[r.at]; {
	case c == '\n' || c == '#' && inMap:
		return r.endLine() && r.next() && r.below(p, to, column, inMap)
	case c == '|' || c == '>':
		text, ok := r.blockText(column)
		return ok && r.next() && r.scalar(p, to, text, false)
	case c == '[' || c == '{':
		return r.flow(p, to) && r.endLine() && r.next()
	case !inMap && r.isMap(p):
		return r.mapping(p, to, r.at-r.start)
	case c == '"' || c == '\'':
		text, ok := r.quoted()
		return ok && r.scalar(p, to, text, false) && r.endLine() && r.next()
	}
	text, ok := r.plain(&plainStops)
	return ok && r.scalar(p, to, text, true) && r.endLine() && r.next()
}

// below reads a value that does not begin on the line of its key or dash: a list, a map,
// or nothing.
func (r *fastReader) below(p *fastPlan, to reflect.Value, column int, inMap bool) bool {
	switch {
	case r.column > column && r.dash():
		return r.items(p, to, r.column, false)
	case r.column > column:
		return r.mapping(p, to, r.column)
	case inMap && r.column == column && r.dash():
		return r.items(p, to, column, true)
	}
	r.null = true
	return true
}

// isMap reports whether the text behind a dash is the first key of a map.
func (r *fastReader) isMap(p *fastPlan) bool {
	for p.kind == fastPointer {
		p = p.elem
	}
	switch p.kind {
	case fastStruct, fastMap, fastOpenMap:
		return true
	case fastOpen:
		ahead := *r
		_, _, ok := ahead.key()
		return ok
	}
	return false
}

// items reads a list in block style whose dashes are in a column. A bare one is in
// the column of its key.
func (r *fastReader) items(p *fastPlan, to reflect.Value, column int, bare bool) bool {
	n := r.count(column)
	p, to = p.target(to)
	if r.depth++; r.depth > maxDepth {
		return false
	}
	switch p.kind {
	case fastSlice:
		block := p.list(to, n)
		for i := range n {
			if !r.item(p, to.Index(i), block, i, column) {
				return false
			}
		}
	case fastOpen:
		list := make([]any, n)
		for i := range n {
			if !r.dash() || r.column != column {
				return false
			}
			if r.at++; !r.value(p, reflect.ValueOf(&list[i]).Elem(), column, false) {
				return false
			}
		}
		to.Set(reflect.ValueOf(list))
	default:
		return false
	}
	r.depth--
	r.null = false
	return r.column < column || bare && r.column == column && !r.dash()
}

// item reads the item i of a slice into the element at to. A pointer is made to point to
// the element of block.
func (r *fastReader) item(p *fastPlan, to, block reflect.Value, i, column int) bool {
	if r.column != column || !r.dash() {
		return false
	}
	r.at++
	if !block.IsValid() {
		return r.value(p.elem, to, column, false) && (!r.null || p.elem.mayBeNull())
	}
	twin := block.Index(i)
	if !r.value(p.elem.elem, twin, column, false) || r.null { // empty entries are told with their line
		return false
	}
	to.Set(twin.Addr())
	return true
}

// mayBeNull reports whether the library keeps an element that is null.
func (p *fastPlan) mayBeNull() bool {
	switch p.kind {
	case fastPointer, fastSlice, fastMap, fastOpenMap, fastOpen:
		return true
	}
	return false
}

// count tells how many items the list has that begins here.
func (r *fastReader) count(column int) int {
	n, text := 1, r.text
	for at := lineEnd(text, r.at); at < len(text); at = lineEnd(text, at) {
		start := at
		for text[at] == ' ' && at-start <= column {
			at++
		}
		switch c := text[at]; {
		case at-start > column || c == '\n' || c == '#':
		case at-start == column && c == '-' && (text[at+1] == ' ' || text[at+1] == '\n'):
			n++
		default:
			return n
		}
	}
	return n
}

// mapping reads a map in block style whose keys are in a column.
func (r *fastReader) mapping(p *fastPlan, to reflect.Value, column int) bool {
	p, to = p.target(to)
	m, ok := p.filler(to)
	if r.depth++; !ok || r.depth > maxDepth {
		return false
	}
	for {
		key, plain, ok := r.key()
		if !ok || !m.begin(key, plain) || !r.value(m.plan, m.to, column, true) || r.null && m.entries() {
			return false
		}
		m.end(key)
		if r.column != column {
			break
		}
	}
	r.depth--
	r.null = false
	return r.column < column
}

// A filler fills a struct or a map with one key after the other. Between begin and end
// the value is read into what to points to, by the plan.
type filler struct {
	plan *fastPlan
	to   reflect.Value

	of     *fastPlan
	base   reflect.Value
	seen   [maxFastFields / 64]uint64 // fields
	last   int                        // field
	open   map[string]any
	inOpen bool          // the value is for open, not for a field
	slot   reflect.Value // where a value for open is read to
	dict   reflect.Value // a map of another type
	held   reflect.Value // where a value for dict is read to
}

// filler begins a map at to, which the plan is for.
func (p *fastPlan) filler(to reflect.Value) (m filler, ok bool) {
	m = filler{of: p, base: to, last: -1}
	switch p.kind {
	case fastStruct:
	case fastOpenMap:
		m.open = map[string]any{}
		to.Set(reflect.ValueOf(m.open).Convert(p.typ))
	case fastOpen:
		m.open = map[string]any{}
		to.Set(reflect.ValueOf(m.open).Convert(p.maps))
	case fastMap:
		m.dict = reflect.MakeMap(p.typ)
		to.Set(m.dict)
	default:
		return m, false
	}
	return m, true
}

func (m *filler) begin(key string, plain bool) bool {
	p := m.of
	m.inOpen = false
	if p.kind == fastStruct {
		if i := p.find(key, m.last); i >= 0 {
			if m.seen[i/64]&(1<<(i%64)) != 0 {
				return false
			}
			m.seen[i/64] |= 1 << (i % 64)
			m.last, m.plan, m.to = i, p.fields[i].plan, m.base.Field(p.fields[i].at)
			return true
		}
		if p.inline == nil {
			return false
		}
		p = p.inline.plan
		if m.open == nil {
			m.open = map[string]any{}
			m.base.Field(m.of.inline.at).Set(reflect.ValueOf(m.open))
		}
	}
	if plain && isNull(key) {
		return false
	}
	if m.open != nil {
		if _, twice := m.open[key]; twice || m.of.kind != fastStruct && plain && tagOf(key) != "!!str" {
			return false
		}
		if p.kind == fastOpenMap {
			p = p.elem
		}
		if !m.slot.IsValid() {
			m.slot = reflect.New(openType).Elem()
		}
		m.slot.SetZero()
		m.plan, m.to, m.inOpen = p, m.slot, true
		return true
	}
	m.held = reflect.New(p.elem.typ)
	m.plan, m.to = p.elem, m.held.Elem()
	return !m.dict.MapIndex(reflect.ValueOf(key).Convert(p.typ.Key())).IsValid()
}

// entries tells of a map of pointers, whose empty entries are told with their line.
func (m *filler) entries() bool { return m.of.kind == fastMap && m.plan.kind == fastPointer }

func (m *filler) end(key string) {
	switch {
	case m.inOpen:
		m.open[key] = m.slot.Interface()
	case m.of.kind == fastMap:
		m.dict.SetMapIndex(reflect.ValueOf(key).Convert(m.of.typ.Key()), m.held.Elem())
	}
}

// blockText reads a text under a "|" or ">", whose lines are to the right of column.
func (r *fastReader) blockText(column int) (string, bool) {
	folded, chomp := r.text[r.at] == '>', byte(0)
	r.at++
	if c := r.text[r.at]; c == '-' || c == '+' {
		chomp = c
		r.at++
	}
	if !r.endLine() {
		return "", false
	}
	text, first := r.text, r.at // with the blank lines above
	for first < len(text) && text[first] == '\n' {
		first++
	}
	indent := 0
	for first+indent < len(text) && text[first+indent] == ' ' {
		indent++
	}
	if first == len(text) || indent <= column || text[first+indent] == '\n' || text[first+indent] == '\t' {
		return "", false
	}
	end, stop, lines, size, ok := blockEnd(text, first, indent)
	if !ok {
		return "", false
	}
	start := r.at
	r.at = stop
	switch {
	case !folded && lines == 1 && first == start && chomp == 0:
		return text[first+indent : end], true
	case !folded && lines == 1 && first == start && chomp == '-':
		return text[first+indent : end-1], true
	}
	var b strings.Builder
	b.Grow(size + first - start)
	if folded {
		fold(&b, text[start:end], indent)
	} else {
		for line := range strings.Lines(text[start:end]) {
			b.WriteString(line[min(indent, len(line)-1):])
		}
	}
	if chomp == '+' {
		b.WriteString(strings.Repeat("\n", strings.Count(text[end:stop], "\n")))
	}
	value := b.String()
	if chomp == '-' {
		value = value[:len(value)-1]
	}
	return value, true
}

// blockEnd finds where the last line of a block text ends that has text, and where the
// blank lines behind it end. size is what all of them take without indentation.
func blockEnd(text string, at, indent int) (end, stop, lines, size int, ok bool) {
	for at < len(text) {
		i := at
		for text[i] == ' ' && i-at < indent {
			i++
		}
		switch {
		case text[i] == '\n':
			at = i + 1
			size++
			lines++
			continue
		case i-at < indent:
			return end, at, lines, size, text[i] != '\t'
		}
		at = lineEnd(text, at)
		end = at
		size += at - i
		lines++
	}
	return end, at, lines, size, true
}
