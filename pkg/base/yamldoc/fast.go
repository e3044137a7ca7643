package yamldoc

import (
	"encoding"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
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
	kind fastKind
	typ  reflect.Type
	elem *fastPlan    // of what a pointer points to, and of the elements of a slice or map
	maps reflect.Type // of open values: the type of the maps within

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

// target makes what pointers at to point to, and returns the last of it.
func (p *fastPlan) target(to reflect.Value) (*fastPlan, reflect.Value) {
	for p.kind == fastPointer {
		to.Set(reflect.New(p.elem.typ))
		p, to = p.elem, to.Elem()
	}
	return p, to
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
	plan *fastPlan // of an element
	to   reflect.Value
	list reflect.Value // addressable
}

// lister begins a list at to, which the plan is for.
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

// scalar puts a text into the value at to. A plain one may say something else than itself.
func (r *fastReader) scalar(p *fastPlan, to reflect.Value, text string, plain bool) bool {
	if r.null = plain && isNull(text); r.null {
		return true
	}
	p, to = p.target(to)
	switch p.kind {
	case fastString:
		to.SetString(text)
		return true
	case fastText:
		return to.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(text)) == nil
	case fastOpen:
		value, ok := openScalar(text, plain)
		if value != nil {
			to.Set(reflect.ValueOf(value))
		}
		return ok
	case fastInt:
		if n, ok := plainInt(text); ok && plain {
			to.SetInt(n)
			return true
		}
		return plain && p.odd(to, text)
	case fastFloat:
		return plain && p.odd(to, text)
	case fastBool:
		if plain && (text == "true" || text == "false") {
			to.SetBool(text == "true")
			return true
		}
		return plain && p.odd(to, text)
	}
	return false
}

// odd lets the library read a number or truth value that is written in an unusual way.
func (p *fastPlan) odd(to reflect.Value, text string) bool {
	node := plainScalar(text)
	return fitsScalar(node, p.typ) && node.Decode(to.Addr().Interface()) == nil
}

// openScalar is what a text says where anything may be.
func openScalar(text string, plain bool) (value any, ok bool) {
	if !plain {
		return text, true
	}
	ok = plainScalar(text).Decode(&value) == nil
	return value, ok
}

func plainScalar(text string) *yaml.Node {
	node := &yaml.Node{Kind: yaml.ScalarNode, Value: text}
	node.Tag = node.ShortTag()
	return node
}

// isNull reports whether a plain text says nothing.
func isNull(text string) bool {
	switch text {
	case "~", "null", "Null", "NULL":
		return true
	}
	return false
}

// plainInt reads a number as it is usually written.
func plainInt(text string) (n int64, ok bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil && strconv.FormatInt(n, 10) == text
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

// lineText reads a text that ends on its line. plain tells that it has no quotes.
func (r *fastReader) lineText(stops *charSet) (text string, plain, ok bool) {
	if c := r.text[r.at]; c == '"' || c == '\'' {
		text, ok = r.quoted()
		return text, false, ok
	}
	text, ok = r.plain(stops)
	return text, true, ok
}

// vouched reports whether a text ends with a line end and has only characters that YAML
// allows anywhere and does not take for the end of a line.
func vouched(text string) bool {
	if text == "" || text[len(text)-1] != '\n' {
		return false
	}
	ascii := true
	for i := range len(text) {
		c := text[i]
		if c < 0x20 && c != '\n' && c != '\t' || c == 0x7f {
			return false
		}
		ascii = ascii && c < utf8.RuneSelf
	}
	return ascii || utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool {
		return r >= utf8.RuneSelf && r != utf8.RuneError && mustEscape(r)
	})
}

// next goes to the first text of the next line that has any. It must be called where a
// line begins. column is -1 when nothing follows.
func (r *fastReader) next() bool {
	text := r.text
	for at := r.at; at < len(text); {
		start := at
		for text[at] == ' ' {
			at++
		}
		switch text[at] {
		case '\n':
			at++
		case '#':
			at = lineEnd(text, at)
		case '\t':
			return false
		default:
			r.at, r.start, r.column = at, start, at-start
			return true
		}
	}
	r.at, r.column = len(text), -1
	return true
}

// endLine goes to the next line, provided that nothing but a comment is in the way.
func (r *fastReader) endLine() bool {
	at := r.at
	for r.text[at] == ' ' {
		at++
	}
	switch {
	case r.text[at] == '\n':
		r.at = at + 1
		return true
	case r.text[at] == '#' && at > 0 && r.text[at-1] == ' ':
		r.at = lineEnd(r.text, at)
		return true
	}
	return false
}

// dash reports whether an item of a list begins here.
func (r *fastReader) dash() bool {
	return r.text[r.at] == '-' && (r.text[r.at+1] == ' ' || r.text[r.at+1] == '\n')
}

// charSet tells of each byte whether it is in a set.
type charSet [256]bool

func chars(set string) (c charSet) {
	for i := range len(set) {
		c[set[i]] = true
	}
	return c
}

const (
	letters    = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
	indicators = "-?:,[]{}#&*!|>'\"%@` \t\n"
)

var (
	keyChars   = chars(letters + ".-/+@=#*:")
	keyFirst   = chars(letters + "./")
	plainStops = chars(":#\t\n")
	flowStops  = chars(":#\t\n,?[]{}")
	notFirst   = chars(indicators)
)

// maxKey is how long a key may be; the library has another limit, above this one.
const maxKey = 1000

// key reads a key without quotes, with its colon.
func (r *fastReader) key() (key string, ok bool) {
	start := r.at
	if !keyFirst[r.text[start]] {
		return "", false
	}
	for at := start; ; at++ {
		c := r.text[at]
		if c == ':' && r.gap(at+1) {
			r.at = at + 1
			return r.text[start:at], at-start <= maxKey
		}
		if !keyChars[c] {
			return "", false
		}
	}
}

// gap reports whether there is a blank or a line end.
func (r *fastReader) gap(at int) bool { return r.text[at] == ' ' || r.text[at] == '\n' }

// plain reads a text without quotes that ends with its line.
func (r *fastReader) plain(stops *charSet) (value string, ok bool) {
	text, start := r.text, r.at
	if notFirst[text[start]] && (text[start] != '-' || r.gap(start+1) || stops[text[start+1]]) {
		return "", false
	}
	at := start
scan:
	for ; ; at++ {
		c := text[at]
		if !stops[c] {
			continue
		}
		switch c {
		case ':':
			if next := text[at+1]; r.gap(at+1) || stops[next] && next != ':' && next != '#' {
				return "", false
			}
		case '#':
			if text[at-1] == ' ' {
				break scan
			}
		case '\n', ',', ']', '}':
			break scan
		default:
			return "", false
		}
	}
	r.at = at
	value = text[start:at]
	for value[len(value)-1] == ' ' {
		value = value[:len(value)-1]
		r.at--
	}
	return value, value != "<<"
}

// quoted reads a text in quotes that ends on its line. Escapes are those that Go has too.
func (r *fastReader) quoted() (value string, ok bool) {
	quote, start := r.text[r.at], r.at+1
	for at := start; ; at++ {
		switch c := r.text[at]; {
		case c == '\n', c == '\'' && quote == c && r.text[at+1] == c:
			return "", false
		case c == '\\' && quote == '"':
			if !strings.ContainsRune(`"\abfnrtvuU`, rune(r.text[at+1])) {
				return "", false
			}
			at++
		case c == quote:
			r.at = at + 1
			if value = r.text[start:at]; quote == '"' && strings.Contains(value, "\\") {
				value, err := strconv.Unquote(r.text[start-1 : r.at])
				return value, err == nil
			}
			return value, true
		}
	}
}
