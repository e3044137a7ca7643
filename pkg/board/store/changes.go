package store

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"liza/pkg/base/yamldoc"
	"liza/pkg/board/blackboard"
)

// changes are the differences that a change function made in a state, section by section.
type changes struct {
	touched map[string]bool // ids of tasks and agents, sections, and section[entry] of the others
	edited  map[string]bool // sections with a difference
	edits   []func(*yamldoc.Edit)
	checks  []check
}

// check is a place of the new document that must say want.
type check struct {
	sec  section
	name string // key of a map's entry
	pos  int    // position of a list's entry
	want reflect.Value
}

func (c *changes) none() bool { return len(c.edits) == 0 }

func (c *changes) touch(sec section, entry string) {
	switch sec.key {
	case "tasks", "agents":
		c.touched[entry] = true
	default:
		c.touched[sec.key+"["+entry+"]"] = true
	}
}

// compare returns the differences between a state and the document that it was read from. It ignores the revision, which the
// writer sets.
func compare(doc *yamldoc.Document, before, after *blackboard.State) *changes {
	c := &changes{touched: map[string]bool{}, edited: map[string]bool{}}
	for _, sec := range sections() {
		if sec.key == "revision" {
			continue
		}
		b, a := sec.of(before), sec.of(after)
		entries, split := doc.Entries(sec.key)
		switch {
		case sec.key == "tasks" && slices.Equal(b.Interface().([]*blackboard.Task), a.Interface().([]*blackboard.Task)):
			// no fork has touched any
		case sec.kind == list && (split || pieceIsEmpty(doc, sec.key)):
			c.compareList(sec, entries, b, a)
		case sec.kind == dict && (split || pieceIsEmpty(doc, sec.key)):
			c.compareDict(sec, entries, b, a)
		case !yamldoc.Same(b.Interface(), a.Interface()):
			c.compareWhole(sec, doc, a)
		}
	}
	return c
}

// pieceIsEmpty reports whether a section with entries has none, or is missing, so that
// entries may be added; a section of another type is left alone.
func pieceIsEmpty(doc *yamldoc.Document, key string) bool {
	p := pieceOf(doc, key)
	return p == nil || len(p.problems) == 0
}

func (c *changes) compareWhole(sec section, doc *yamldoc.Document, after reflect.Value) {
	c.touched[sec.key], c.edited[sec.key] = true, true
	before := reflect.Zero(after.Type())
	if p := pieceOf(doc, sec.key); p != nil {
		before = p.raw
	}
	c.edits = append(c.edits, func(e *yamldoc.Edit) { e.Patch(sec.key, before.Interface(), after.Interface()) })
	c.checks = append(c.checks, check{sec: sec, want: after})
}

func (c *changes) compareList(sec section, entries []*yamldoc.Entry, before, after reflect.Value) {
	var (
		known  []int // of each element of before, its position among the entries
		strays []int // entries that are none; they stay where they are
		items  = make([]yamldoc.Item, 0, after.Len())
		idOf   = idField(after.Type().Elem().Elem())
	)
	for i, e := range entries {
		if e.Value().(*piece).norm.IsValid() {
			known = append(known, i)
		} else {
			strays = append(strays, i)
		}
	}
	origins, gone, moved := pair(before, after, idOf)
	for i, from := range origins {
		elem := after.Index(i)
		if from < 0 {
			c.touch(sec, name(idOf(elem), i))
			c.checks = append(c.checks, check{sec: sec, pos: len(items), want: elem})
			items = append(items, yamldoc.Item{From: -1, After: elem.Interface(), Block: sec.key == "tasks"})
			continue
		}
		for len(strays) > 0 && strays[0] < known[from] {
			items, strays = append(items, yamldoc.Item{From: strays[0]}), strays[1:]
		}
		next := known[from] + 1
		item := yamldoc.Item{From: known[from]}
		if !unchanged(before.Index(from), elem) {
			c.touch(sec, name(idOf(elem), i))
			item.Before, item.After = entries[item.From].Value().(*piece).raw.Interface(), elem.Interface()
			c.checks = append(c.checks, check{sec: sec, pos: len(items), want: elem})
		}
		items = append(items, item)
		for ; len(strays) > 0 && strays[0] == next; next++ {
			items, strays = append(items, yamldoc.Item{From: strays[0]}), strays[1:]
		}
	}
	for _, stray := range strays {
		items = append(items, yamldoc.Item{From: stray})
	}
	for _, i := range gone {
		c.touch(sec, name(idOf(before.Index(i)), i))
	}
	c.entries(sec, items, len(gone) > 0 || moved)
}

// pair finds for each element of a list which one of before has its id, or -1; gone are
// those of before that are left, moved reports whether the others changed places.
func pair(before, after reflect.Value, idOf func(reflect.Value) string) (origins, gone []int, moved bool) {
	n, m := before.Len(), after.Len()
	origins = make([]int, m)
	head := 0
	for head < n && head < m && (shared(before.Index(head), after.Index(head)) || idOf(before.Index(head)) == idOf(after.Index(head))) {
		origins[head] = head
		head++
	}
	byID := map[string][]int{}
	for i := head; i < n; i++ {
		id := idOf(before.Index(i))
		byID[id] = append(byID[id], i)
	}
	last := head - 1
	for i := head; i < m; i++ {
		id := idOf(after.Index(i))
		if len(byID[id]) == 0 {
			origins[i] = -1
			continue
		}
		from := byID[id][0]
		byID[id] = byID[id][1:]
		origins[i], moved, last = from, moved || from < last, max(last, from)
	}
	for _, left := range byID {
		gone = append(gone, left...)
	}
	slices.Sort(gone)
	return origins, gone, moved
}

// shared reports whether two entries are one.
func shared(a, b reflect.Value) bool { return a.Pointer() == b.Pointer() }

func unchanged(a, b reflect.Value) bool {
	return shared(a, b) || yamldoc.Same(a.Interface(), b.Interface())
}

// name is how violations name an entry of a list: by its id, else by its position from 1.
func name(id string, i int) string {
	if id == "" {
		return fmt.Sprintf("#%d", i+1)
	}
	return id
}

// entries notes the new entries of a section if any differs from its former value.
func (c *changes) entries(sec section, items []yamldoc.Item, changed bool) {
	changed = changed || slices.ContainsFunc(items, func(i yamldoc.Item) bool { return i.From < 0 || i.After != nil })
	if changed {
		c.edited[sec.key] = true
		c.edits = append(c.edits, func(e *yamldoc.Edit) { e.Entries(sec.key, items) })
	}
}

func (c *changes) compareDict(sec section, entries []*yamldoc.Entry, before, after reflect.Value) {
	var items []yamldoc.Item
	gone := false
	there := map[string]bool{}
	for i, e := range entries {
		there[e.Name()] = true
		key := reflect.ValueOf(e.Name())
		a := after.MapIndex(key)
		p := e.Value().(*piece)
		switch {
		case !p.norm.IsValid():
			items = append(items, yamldoc.Item{From: i})
		case !a.IsValid():
			gone = true
			c.touch(sec, e.Name())
		case unchanged(before.MapIndex(key), a):
			items = append(items, yamldoc.Item{From: i})
		default:
			c.touch(sec, e.Name())
			items = append(items, yamldoc.Item{From: i, Before: p.raw.Interface(), After: a.Interface()})
			c.checks = append(c.checks, check{sec: sec, name: e.Name(), want: a})
		}
	}
	var added []string
	for _, key := range after.MapKeys() {
		if !there[key.String()] {
			added = append(added, key.String())
		}
	}
	slices.Sort(added)
	for _, key := range added {
		a := after.MapIndex(reflect.ValueOf(key))
		c.touch(sec, key)
		items = append(items, yamldoc.Item{From: -1, Name: key, After: a.Interface(), Block: sec.key == "agents"})
		c.checks = append(c.checks, check{sec: sec, name: key, want: a})
	}
	c.entries(sec, items, gone)
}

// idField returns a function that returns the field ID of an entry of type t, or "" if t has none.
func idField(t reflect.Type) func(reflect.Value) string {
	f, ok := t.FieldByName("ID")
	return func(entry reflect.Value) string {
		if !ok || entry.IsNil() {
			return ""
		}
		return entry.Elem().FieldByIndex(f.Index).String()
	}
}

// apply returns the next document, with the next revision, and verifies that it contains the changes.
func (c *changes) apply(doc *yamldoc.Document, revision int) (*yamldoc.Document, error) {
	edit := doc.Edit()
	edit.Patch("revision", revision, revision+1)
	for _, change := range c.edits {
		change(edit)
	}
	next, err := edit.Apply()
	if err != nil {
		return nil, err
	}
	for _, check := range c.checks {
		if got := check.find(next); !got.IsValid() || !yamldoc.Alike(got.Interface(), check.want.Interface()) {
			return nil, fmt.Errorf("cannot write section %s: the new text would lack the change", check.sec.key)
		}
	}
	return next, nil
}

// find returns the value in the document at the place of the check.
func (k check) find(doc *yamldoc.Document) reflect.Value {
	entries, split := doc.Entries(k.sec.key)
	if !split {
		if p := pieceOf(doc, k.sec.key); p != nil {
			return p.norm
		}
		return reflect.Value{}
	}
	for i, e := range entries {
		if k.sec.kind == dict && e.Name() == k.name || k.sec.kind == list && i == k.pos {
			return e.Value().(*piece).norm
		}
	}
	return reflect.Value{}
}

// concerns reports whether a violation is in a part that was touched.
func (c *changes) concerns(v blackboard.Violation) bool {
	for _, subject := range v.Subjects {
		if c.touched[subject] {
			return true
		}
	}
	entry, _, found := strings.Cut(v.Path, "]")
	return found && c.touched[entry+"]"]
}
