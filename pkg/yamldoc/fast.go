package yamldoc

import "reflect"

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
