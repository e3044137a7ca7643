package yamldoc

import (
	"reflect"
	"strings"
	"time"
)

var durationType = reflect.TypeFor[time.Duration]()

// A Fast decodes the block style that Liza writes straight into Go values, without a tree. A
// board of 300 tasks of 1 kB takes 3 ms of processor, where the YAML library takes 47 ms, and
// one of 1,000 tasks 10 ms instead of 139 ms. The result equals that of the library. A Fast
// leaves all other YAML (anchors, tags, folded texts, keys in quotes, unknown keys, values of a
// wrong type …) to the library by returning ok = false. Most texts in the values are parts of
// the text that was read. A Fast may be used by several goroutines at once.
type Fast struct{ plans map[reflect.Type]*fastPlan }

// NewFast makes a reader for values of type t and of all types within it. It leaves types with
// an UnmarshalYAML method to the library, except the types in plain: a slice type that decodes
// a list of texts, or a struct type that decodes a map, as if it had no such method.
func NewFast(t reflect.Type, plain ...reflect.Type) *Fast {
	p := fastPlanner{plans: map[reflect.Type]*fastPlan{}, plain: map[reflect.Type]bool{}}
	for _, t := range plain {
		p.plain[t] = true
	}
	p.plan(t, openMapType)
	return &Fast{plans: p.plans}
}

// Entry decodes text, one entry of a section, into the zero struct that into points to. The entry
// is an item of a list, or the key name and its value in a map, and begins in the column indent,
// from 0. If ok is false, the content of into is undefined and the library has to read text.
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
	} else if key, ok := r.key(); !ok || key != name {
		return false
	}
	return r.value(plan, into.Elem(), indent, !list) && !r.null && r.column < 0
}

// Section decodes text, a section with the given key in column 0, into the zero value that into
// points to. If ok is false, the content of into is undefined and the library has to read text.
func (f *Fast) Section(text string, key string, into reflect.Value) (ok bool) {
	plan := f.plans[into.Type().Elem()]
	if plan == nil || !vouched(text) {
		return false
	}
	r := fastReader{text: text}
	if !r.next() || r.column != 0 {
		return false
	}
	if name, ok := r.key(); !ok || name != key {
		return false
	}
	return r.value(plan, into.Elem(), 0, true) && r.column < 0
}

// fastKind is the kind of values that a fastPlan reads.
type fastKind uint8

const (
	fastNothing fastKind = iota // null only
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
	kind fastKind
	typ  reflect.Type
	elem *fastPlan    // plan of a pointer's target, and of the elements of a slice or map
	maps reflect.Type // in open values: type of the maps within

	fields []fastField // fields of a struct, in their usual order in the file
	index  map[string]int
	inline *fastField // the map of the keys without a field
}

type fastField struct {
	name string
	at   int // index in the struct
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

// plan makes the plan of a type. maps is the type of maps within open values: the library gives them the type of the map
// around them.
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

// find returns the index of a field, or -1. Keys are mostly in the order of the fields.
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

// target makes the targets of the pointers at to, and returns the last one.
func (p *fastPlan) target(to reflect.Value) (*fastPlan, reflect.Value) {
	for p.kind == fastPointer {
		to.Set(reflect.New(p.elem.typ))
		p, to = p.elem, to.Elem()
	}
	return p, to
}

// A fastReader reads one text. Its methods return false for text that the library must read; then the reader must not be used
// any more. Methods that read a value end at the first text of the next line, in the given column.
type fastReader struct {
	text   string
	at     int // offset of the next byte
	start  int // offset of the line that next found
	column int // column of its text; -1 at the end
	depth  int
	null   bool // the last value was empty
}

// maxDepth is how deep collections may lie in each other.
const maxDepth = 40

// value reads the value behind a key, if inMap, or behind the dash of an item. column is that of the key or the dash.
func (r *fastReader) value(p *fastPlan, to reflect.Value, column int, inMap bool) bool {
	for r.text[r.at] == ' ' {
		r.at++
	}
	r.null = false
	switch c := r.text[r.at]; {
	case c == '\n' || c == '#' && inMap:
		return r.endLine() && r.next() && r.below(p, to, column, inMap)
	case c == '|':
		text, ok := r.blockText(column)
		return ok && r.next() && r.scalar(p, to, text, false)
	case c == '[' || c == '{':
		return r.flow(p, to) && r.endLine() && r.next()
	case !inMap && r.isMap(p):
		return r.mapping(p, to, r.at-r.start)
	}
	text, plain, ok := r.lineText(&plainStops)
	return ok && r.scalar(p, to, text, plain) && r.endLine() && r.next()
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
		_, ok := ahead.key()
		return ok
	}
	return false
}

// items reads a list in block style whose dashes are in a column. A bare one is in
// the column of its key.
func (r *fastReader) items(p *fastPlan, to reflect.Value, column int, bare bool) bool {
	if r.depth++; r.depth > maxDepth {
		return false
	}
	l, ok := p.lister(to)
	for ok && r.column == column && r.dash() {
		r.at++
		ok = r.value(l.plan, l.element(), column, false) && l.takes(r)
	}
	if !ok {
		return false
	}
	l.end()
	r.depth--
	r.null = false
	return r.column < column || bare && r.column == column
}

// A lister fills a slice element by element.
type lister struct {
	plan *fastPlan // plan of an element
	to   reflect.Value
	list reflect.Value // addressable
}

// lister begins a list at to, whose plan is p.
func (p *fastPlan) lister(to reflect.Value) (l lister, ok bool) {
	p, to = p.target(to)
	switch p.kind {
	case fastSlice:
		to.Set(reflect.MakeSlice(p.typ, 0, 0)) // an empty list is not an absent one
		return lister{plan: p.elem, to: to, list: to}, true
	case fastOpen:
		return lister{plan: p, to: to, list: reflect.ValueOf(&[]any{}).Elem()}, true
	}
	return l, false
}

// element makes room for one more element.
func (l *lister) element() reflect.Value {
	n := l.list.Len()
	if n == l.list.Cap() {
		l.list.Grow(max(4, n))
	}
	l.list.SetLen(n + 1)
	return l.list.Index(n)
}

// takes reports whether the element that r has read may stay: the library drops some that are
// null, and reports others.
func (l *lister) takes(r *fastReader) bool {
	return !r.null || l.plan.mayBeNull() && l.plan.kind != fastPointer
}

func (l *lister) end() {
	if l.plan.kind == fastOpen {
		l.to.Set(l.list)
	}
}

// mayBeNull reports whether the library keeps an element that is null.
func (p *fastPlan) mayBeNull() bool {
	switch p.kind {
	case fastPointer, fastSlice, fastMap, fastOpenMap, fastOpen:
		return true
	}
	return false
}

// mapping reads a map in block style whose keys are in a column.
func (r *fastReader) mapping(p *fastPlan, to reflect.Value, column int) bool {
	p, to = p.target(to)
	m, ok := p.filler(to)
	if r.depth++; !ok || r.depth > maxDepth {
		return false
	}
	for {
		key, ok := r.key()
		if !ok || !m.begin(key) || !r.value(m.plan, m.to, column, true) || r.null && m.entries() {
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

// A filler fills a struct or a map with one key after the other. Between begin and end the value is read into the target of
// to, by the plan.
type filler struct {
	plan *fastPlan
	to   reflect.Value

	of     *fastPlan
	base   reflect.Value
	seen   [maxFastFields / 64]uint64 // fields that had a key
	last   int                        // index of the last field
	open   map[string]any
	inOpen bool          // the value is for open, not for a field
	slot   reflect.Value // target of a value for open
	dict   reflect.Value // a map of another type
	held   reflect.Value // target of a value for dict
}

// filler begins a map at to, whose plan is p.
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

func (m *filler) begin(key string) bool {
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
	if isNull(key) {
		return false
	}
	if m.open != nil {
		if _, twice := m.open[key]; twice || m.of.kind != fastStruct && plainScalar(key).Tag != "!!str" {
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

// entries reports whether the map has pointers, whose empty entries are reported with their line.
func (m *filler) entries() bool { return m.of.kind == fastMap && m.plan.kind == fastPointer }

func (m *filler) end(key string) {
	switch {
	case m.inOpen:
		m.open[key] = m.slot.Interface()
	case m.of.kind == fastMap:
		m.dict.SetMapIndex(reflect.ValueOf(key).Convert(m.of.typ.Key()), m.held.Elem())
	}
}

// blockText reads a text under a "|", whose lines are to the right of column.
func (r *fastReader) blockText(column int) (string, bool) {
	chomp := byte(0)
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
	indent := leading(text[first:])
	if first == len(text) || indent <= column || text[first+indent] == '\n' || text[first+indent] == '\t' {
		return "", false
	}
	end, stop, ok := blockEnd(text, first, indent)
	if !ok {
		return "", false
	}
	var b strings.Builder
	b.Grow(end - r.at)
	for line := range strings.Lines(text[r.at:end]) {
		b.WriteString(line[min(indent, len(line)-1):])
	}
	r.at = stop
	value := b.String()
	switch chomp {
	case '+':
		value += strings.Repeat("\n", strings.Count(text[end:stop], "\n"))
	case '-':
		value = value[:len(value)-1]
	}
	return value, true
}

// blockEnd finds the end of the last line of a block text that is not blank, and the end of the
// blank lines behind it.
func blockEnd(text string, at, indent int) (end, stop int, ok bool) {
	for at < len(text) {
		i := at
		for text[i] == ' ' && i-at < indent {
			i++
		}
		switch {
		case text[i] == '\n':
			at = i + 1
			continue
		case i-at < indent:
			return end, at, text[i] != '\t'
		}
		at = lineEnd(text, at)
		end = at
	}
	return end, at, true
}

// flow reads a list or map in flow style that ends on its line.
func (r *fastReader) flow(p *fastPlan, to reflect.Value) bool {
	if r.depth++; r.depth > maxDepth {
		return false
	}
	ok := false
	if r.text[r.at] == '{' {
		ok = r.flowMap(p, to)
	} else {
		ok = r.flowList(p, to)
	}
	r.depth--
	r.null = false
	return ok
}

// more goes to the next element of a collection in flow style, or behind its end. The
// first time at is where it opens.
func (r *fastReader) more(first bool, end byte) (more, ok bool) {
	if first {
		r.at++
	}
	r.blanks()
	switch c := r.text[r.at]; {
	case c == end:
		r.at++
		return false, true
	case first:
		return true, true
	case c == ',':
		r.at++
		r.blanks()
		return true, true
	}
	return false, false
}

func (r *fastReader) blanks() {
	for r.text[r.at] == ' ' {
		r.at++
	}
}

func (r *fastReader) flowList(p *fastPlan, to reflect.Value) bool {
	l, ok := p.lister(to)
	for first := true; ok; first = false {
		var more bool
		if more, ok = r.more(first, ']'); !more {
			break
		}
		ok = ok && r.flowValue(l.plan, l.element()) && l.takes(r)
	}
	if ok {
		l.end()
	}
	return ok
}

func (r *fastReader) flowMap(p *fastPlan, to reflect.Value) bool {
	p, to = p.target(to)
	m, ok := p.filler(to)
	if !ok {
		return false
	}
	for first := true; ; first = false {
		more, ok := r.more(first, '}')
		if !ok || !more {
			return ok
		}
		key, ok := r.key()
		if !ok || !m.begin(key) {
			return false
		}
		r.blanks()
		if !r.flowValue(m.plan, m.to) || r.null && m.entries() {
			return false
		}
		m.end(key)
	}
}

func (r *fastReader) flowValue(p *fastPlan, to reflect.Value) bool {
	if c := r.text[r.at]; c == '[' || c == '{' {
		return r.flow(p, to)
	}
	text, plain, ok := r.lineText(&flowStops)
	return ok && r.scalar(p, to, text, plain)
}
