package yamldoc

import (
	"reflect"
	"strings"
)

// A Fast reads the plain YAML that people and programs write most of the time straight
// into Go values, without a tree. What it reads is exactly what the YAML library makes of
// the same text; where it cannot vouch for that (anchors, tags, texts over several lines
// without a "|", keys that the type does not know, values of a wrong type …) it says so,
// and the library reads. Most texts in the values are parts of the text that was read. A
// Fast does not change and may be used by several goroutines at once.
type Fast struct{ plans map[reflect.Type]*fastPlan }

// NewFast makes a reader for values of type t and of all types within it. Of types that
// have an UnmarshalYAML of their own it reads only those named in plain, which read a
// list of texts (slice types) or a map (struct types) as if they had none.
func NewFast(t reflect.Type, plain ...reflect.Type) *Fast {
	p := fastPlanner{plans: map[reflect.Type]*fastPlan{}, plain: map[reflect.Type]bool{}}
	for _, t := range plain {
		p.plain[t] = true
	}
	p.plan(t, openMapType)
	return &Fast{plans: p.plans}
}

// Entry reads the text of one entry of a section: an item of a list, or a key and its
// value in a map, that is in the column indent, from 0. The value must be a map; it
// goes where into points to, which must be empty. When ok is false nobody knows what is
// there, and what is wrong with the text, if anything.
func (f *Fast) Entry(text string, list bool, indent int, name string, into reflect.Value) (ok bool) {
	plan := f.plans[into.Type().Elem()]
	if plan == nil || !vouched(text) {
		return false
	}
	r := fastReader{text: text}
	if !r.next() || r.column != indent {
		return false
	}
	if list {
		if !r.dash() {
			return false
		}
		r.at++
	} else if key, _, ok := r.key(); !ok || key != name {
		return false
	}
	return r.value(plan, into.Elem(), indent, !list) && !r.null && r.column < 0
}

// Section reads the text of a section: a key in column 0 and its value, which goes where
// into points to. See Entry.
func (f *Fast) Section(text string, key string, into reflect.Value) (ok bool) {
	plan := f.plans[into.Type().Elem()]
	if plan == nil || !vouched(text) {
		return false
	}
	r := fastReader{text: text}
	if !r.next() || r.column != 0 {
		return false
	}
	if name, _, ok := r.key(); !ok || name != key {
		return false
	}
	return r.value(plan, into.Elem(), 0, true) && r.column < 0
}

// fastKind is what a fastPlan can read.
type fastKind uint8

const (
	fastNothing fastKind = iota // but null
	fastString
	fastText // through UnmarshalText
	fastInt
	fastFloat
	fastBool
	fastOpen // any
	fastPointer
	fastSlice
	fastOpenMap // map[string]any
	fastMap
	fastStruct
)

// A fastPlan says how values of one type are read.
type fastPlan struct {
	kind  fastKind
	typ   reflect.Type
	elem  *fastPlan    // of what a pointer points to, and of the elements of a slice or map
	block reflect.Type // of a slice of pointers: the slice of what they point to
	maps  reflect.Type // of open values: the type of the maps within

	fields []fastField // of a struct, in the order in which they are usually written
	index  map[string]int
	inline *fastField // the map of the keys that have no field
}

type fastField struct {
	name string
	at   int // in the struct
	plan *fastPlan
}

// maxFastFields is how many fields a struct may have.
const maxFastFields = 128

type fastPlanner struct {
	plans map[reflect.Type]*fastPlan
	plain map[reflect.Type]bool
}

var (
	openType    = reflect.TypeFor[any]()
	openMapType = reflect.TypeFor[map[string]any]()
)

// plan makes the plan of a type. The library gives the maps in a map of open values the
// type of the map around them, which is what maps is for.
func (p *fastPlanner) plan(t, maps reflect.Type) *fastPlan {
	if t == openType {
		return &fastPlan{kind: fastOpen, typ: t, maps: maps}
	}
	if known := p.plans[t]; known != nil {
		return known
	}
	plan := &fastPlan{typ: t}
	p.plans[t] = plan
	pointer := reflect.PointerTo(t)
	custom := pointer.Implements(unmarshalerType) || pointer.Implements(obsoleteType)
	if custom && !p.plain[t] || t == timeType || t == durationType {
		return plan
	}
	if pointer.Implements(textType) {
		if !custom && t.Kind() == reflect.String {
			plan.kind = fastText
		}
		return plan
	}
	switch t.Kind() {
	case reflect.String:
		plan.kind = fastString
	case reflect.Int, reflect.Int64:
		if t.Size() == 8 {
			plan.kind = fastInt
		}
	case reflect.Float64:
		plan.kind = fastFloat
	case reflect.Bool:
		plan.kind = fastBool
	case reflect.Pointer:
		plan.kind, plan.elem = fastPointer, p.plan(t.Elem(), openMapType)
	case reflect.Slice:
		plan.kind, plan.elem = fastSlice, p.plan(t.Elem(), openMapType)
		if t.Elem().Kind() == reflect.Pointer {
			plan.block = reflect.SliceOf(t.Elem().Elem())
		}
		if custom && plan.elem.kind != fastString {
			plan.kind = fastNothing
		}
	case reflect.Map:
		if t.Key().Kind() != reflect.String || reflect.PointerTo(t.Key()).Implements(textType) {
			return plan
		}
		plan.kind, plan.elem = fastMap, p.plan(t.Elem(), t)
		if t.Elem() == openType && t.ConvertibleTo(openMapType) && t.Key() == reflect.TypeFor[string]() {
			plan.kind, plan.maps = fastOpenMap, t
		}
	case reflect.Struct:
		p.fields(plan)
	}
	return plan
}

func (p *fastPlanner) fields(plan *fastPlan) {
	plan.index = map[string]int{}
	for _, f := range fieldsOf(plan.typ) {
		sf := plan.typ.Field(f.index)
		field := fastField{name: f.name, at: f.index, plan: p.plan(sf.Type, openMapType)}
		if f.inline {
			if plan.inline != nil || field.plan.kind != fastOpenMap || sf.Type != openMapType {
				return
			}
			plan.inline = &field
			continue
		}
		if _, twice := plan.index[f.name]; twice || len(plan.fields) == maxFastFields {
			return
		}
		plan.index[f.name] = len(plan.fields)
		plan.fields = append(plan.fields, field)
	}
	plan.kind = fastStruct
}

// find is the place of a field, -1 if there is none. It is likely to be near behind last.
func (p *fastPlan) find(name string, last int) int {
	for i := last + 1; i < len(p.fields) && i < last+8; i++ {
		if p.fields[i].name == name {
			return i
		}
	}
	if i, ok := p.index[name]; ok {
		return i
	}
	return -1
}

// target makes what pointers at to point to, and returns the last of it.
func (p *fastPlan) target(to reflect.Value) (*fastPlan, reflect.Value) {
	for p.kind == fastPointer {
		to.Set(reflect.New(p.elem.typ))
		p, to = p.elem, to.Elem()
	}
	return p, to
}

// list makes the elements of the slice at to. Those that are pointers may point to the
// elements of block, which is invalid for others.
func (p *fastPlan) list(to reflect.Value, n int) (block reflect.Value) {
	to.SetZero()
	to.Grow(n)
	to.SetLen(n)
	if n == 0 {
		to.Set(reflect.MakeSlice(p.typ, 0, 0)) // an empty list is not an absent one
	}
	if p.block != nil && p.elem.elem.kind == fastStruct {
		block = reflect.MakeSlice(p.block, n, n)
	}
	return block
}

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
