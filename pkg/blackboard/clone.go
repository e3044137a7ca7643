package blackboard

import (
	"reflect"
	"slices"
	"sync"
)

// Clone makes a copy that shares nothing with s.
func (s *State) Clone() *State {
	if s == nil {
		return nil
	}
	c := *s
	c.owned, c.index = nil, nil
	c.entries = slices.Clone(s.entries)
	for i := range c.entries {
		entryCopier().own(reflect.ValueOf(&c.entries[i]).Elem())
	}
	stateCopier().own(reflect.ValueOf(&c).Elem())
	c.tasks = slices.Clone(s.tasks)
	for i, t := range s.tasks {
		c.tasks[i] = t.Clone()
	}
	return &c
}

// Clone makes a copy that shares nothing with t.
func (t *Task) Clone() *Task {
	c := *t
	taskCopier().own(reflect.ValueOf(&c).Elem())
	return &c
}

// Fork makes a copy for one change at the cost of what is changed: it shares the tasks
// with s until Task is asked for one of them. Nobody may change s from then on.
func (s *State) Fork() *State {
	if s == nil {
		return nil
	}
	c := *s
	c.entries = nil
	stateCopier().own(reflect.ValueOf(&c).Elem())
	c.tasks = slices.Clone(s.tasks)
	c.owned = map[*Task]bool{}
	return &c
}

// Made when the first copy is: most commands only read.
var (
	stateCopier = sync.OnceValue(func() *copier { return newCopiers().of(reflect.TypeFor[State]()) })
	taskCopier  = sync.OnceValue(func() *copier { return newCopiers().of(reflect.TypeFor[Task]()) })
	entryCopier = sync.OnceValue(func() *copier { return newCopiers().of(reflect.TypeFor[Entry]()) })
)

// A copier makes values of one type own all that they refer to. It is made once, for a
// state is copied at each write and most fields refer to nothing.
type copier struct {
	kind   reflect.Kind
	elem   *copier // of a pointer, slice or map; nil when its elements refer to nothing
	fields []fieldCopier
	block  reflect.Type // of a slice of pointers: the slice of what they point to
}

// maxBlock is how many elements of a list are copied into one piece of memory. Who keeps
// one of them keeps them all, so the tasks of a large state are copied one by one.
const maxBlock = 64

type fieldCopier struct {
	index  int
	copier *copier
}

type copiers map[reflect.Type]*copier

func newCopiers() copiers { return copiers{} }

// of returns the copier of a type, nil when its values refer to nothing.
func (m copiers) of(t reflect.Type) *copier {
	if c, known := m[t]; known {
		return c
	}
	c := &copier{kind: t.Kind()}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		m[t] = c
		c.elem = m.of(t.Elem())
		if t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Pointer {
			c.block = reflect.SliceOf(t.Elem().Elem())
		}
	case reflect.Interface:
	case reflect.Struct:
		m[t] = c
		for i := range t.NumField() {
			if f := m.of(t.Field(i).Type); f != nil && t.Field(i).IsExported() {
				c.fields = append(c.fields, fieldCopier{i, f})
			}
		}
	default:
		return nil
	}
	return c
}

// own puts copies in the place of everything that v refers to.
func (c *copier) own(v reflect.Value) {
	if c == nil {
		return
	}
	switch c.kind {
	case reflect.Struct:
		for _, f := range c.fields {
			f.copier.own(v.Field(f.index))
		}
		return
	}
	if v.IsNil() {
		return
	}
	switch c.kind {
	case reflect.Pointer:
		twin := reflect.New(v.Type().Elem())
		twin.Elem().Set(v.Elem())
		c.elem.own(twin.Elem())
		v.Set(twin)
	case reflect.Slice:
		twin := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(twin, v)
		if c.block != nil && v.Len() <= maxBlock {
			c.ownBlock(twin)
		} else if c.elem != nil {
			for i := range twin.Len() {
				c.elem.own(twin.Index(i))
			}
		}
		v.Set(twin)
	case reflect.Map:
		twin := reflect.MakeMapWithSize(v.Type(), v.Len())
		for keys := v.MapRange(); keys.Next(); {
			value := reflect.New(v.Type().Elem()).Elem()
			value.Set(keys.Value())
			c.elem.own(value)
			twin.SetMapIndex(keys.Key(), value)
		}
		v.Set(twin)
	case reflect.Interface:
		// What an open value holds is known only now: maps and lists of scalars, as YAML has.
		value := reflect.New(v.Elem().Type()).Elem()
		value.Set(v.Elem())
		newCopiers().of(value.Type()).own(value)
		v.Set(value)
	}
}

// ownBlock copies what the pointers of a slice point to.
func (c *copier) ownBlock(twin reflect.Value) {
	block := reflect.MakeSlice(c.block, twin.Len(), twin.Len())
	for i := range twin.Len() {
		if p := twin.Index(i); !p.IsNil() {
			copied := block.Index(i)
			copied.Set(p.Elem())
			c.elem.elem.own(copied)
			p.Set(copied.Addr())
		}
	}
}

// Record notes a journal entry of the change that is being made. The store writes the
// entries with the change; the revision is the store's to fill in.
func (s *State) Record(entries ...Entry) { s.entries = append(s.entries, entries...) }

// Entries are the journal entries recorded since the state was read.
func (s *State) Entries() []Entry { return s.entries }

// TakeEntries removes the recorded entries from the given place on, and returns them.
func (s *State) TakeEntries(from int) []Entry {
	taken := slices.Clone(s.entries[from:])
	s.entries = s.entries[:from:from]
	return taken
}

// ClearEntries forgets the recorded entries.
func (s *State) ClearEntries() { s.entries = nil }
