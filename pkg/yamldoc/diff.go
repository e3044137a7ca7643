package yamldoc

import (
	"fmt"

	"gopkg.in/yaml.v3"
)

// A Change is a value that differs between two versions of a file.
type Change struct {
	Path     string // as in a Conflict; an index is that of the new version, if it is there
	Old, New Side
}

// Diff lists the values that differ between two versions, in the order of the new one.
// Elements of lists are found as in Merge3. What was added or removed as a whole is one
// change, and so is a list of scalars.
func Diff(old, new *Document) []Change {
	var d differ
	split := new.reader.split()
	if old.whole != "" || new.whole != "" {
		before, errOld := old.chunk().parse()
		after, errNew := new.chunk().parse()
		if errOld == nil && errNew == nil {
			d.dict("", before, after, split)
		}
		return d.changes
	}
	before, _ := old.chunks()
	after, _ := new.chunks()
	order, _ := arrange(old.Keys(), new.Keys(), new.Keys())
	for _, key := range append(order, without(old.Keys(), after)...) {
		if !before[key].same(after[key]) && !d.entries(key, before[key], after[key]) {
			d.piece(key, before[key], after[key], split)
		}
	}
	return d.changes
}

// without are the keys that are not in a map.
func without[V any](keys []string, known map[string]V) []string {
	var rest []string
	for _, key := range keys {
		if _, there := known[key]; !there {
			rest = append(rest, key)
		}
	}
	return rest
}

type differ struct{ changes []Change }

// entries compares a section entry by entry, if that can be done.
func (d *differ) entries(key string, old, new *chunk) bool {
	if old == nil || !(chunks{old, new, new}).alike() {
		return false
	}
	before, after := old.entries(), new.entries()
	names, ok := entryNames([3][]*chunk{before, after, after})
	if !ok {
		return false
	}
	inOld, inNew := places(names[0]), places(names[1])
	for _, name := range append(names[1], without(names[0], inNew)...) {
		was, is := old.without(), new.without()
		if i, there := inOld[name]; there {
			was = before[i]
		}
		if i, there := inNew[name]; there {
			is = after[i]
		}
		if !was.same(is) {
			d.piece(entryPath(key, name), was, is, nil)
		}
	}
	return true
}

// piece compares two versions of a section, or of an entry if split is nil.
func (d *differ) piece(path string, old, new *chunk, split map[string]bool) {
	before, errOld := old.parse()
	after, errNew := new.parse()
	switch {
	case errOld != nil || errNew != nil:
	case split == nil:
		d.element(path, before, after)
	default:
		d.value(path, before, after, split)
	}
}

// value compares what stands at a path. In the sections of split it matters whether an
// entry is there, whatever is in it.
func (d *differ) value(path string, old, new spot, split map[string]bool) {
	both := func(kind yaml.Kind) bool {
		return old.value != nil && new.value != nil && old.value.Kind == kind && new.value.Kind == kind
	}
	switch {
	case sameValue(old.value, new.value) && !split[path]:
	case both(yaml.MappingNode):
		d.dict(path, old, new, split)
	case both(yaml.SequenceNode):
		d.list(path, old, new)
	case !sameValue(old.value, new.value):
		d.add(path, old, new)
	}
}

func (d *differ) add(path string, old, new spot) {
	d.changes = append(d.changes, Change{Path: path, Old: old.side(), New: new.side()})
}

func (d *differ) dict(path string, old, new spot, split map[string]bool) {
	keys := names(new.value)
	for _, key := range append(keys, without(names(old.value), places(keys))...) {
		was, is := old.key(key), new.key(key)
		if split[path] {
			d.element(path+"["+key+"]", was, is)
		} else {
			d.value(join(path, key), was, is, split)
		}
	}
}

func (d *differ) list(path string, old, new spot) {
	before, after := old.elements(), new.elements()
	if ids := idsOf(after); distinct(ids, after) && distinct(idsOf(before), before) {
		was, is := places(idsOf(before)), places(ids)
		for _, id := range append(ids, without(idsOf(before), is)...) {
			d.element(path+"["+id+"]", old.called(id, was), new.called(id, is))
		}
		return
	}
	if len(textsOf(before)) == len(before) && len(textsOf(after)) == len(after) {
		d.add(path, old, new)
		return
	}
	to := alignNodes(before, after)
	from := inserted(to, len(after))
	for gap := range from {
		for _, j := range from[gap] {
			d.element(fmt.Sprintf("%s[%d]", path, j), old.at(-1), new.at(j))
		}
		if gap < len(to) {
			d.element(fmt.Sprintf("%s[%d]", path, max(to[gap], gap)), old.at(gap), new.at(to[gap]))
		}
	}
}

func (d *differ) element(path string, old, new spot) {
	if (old.value == nil) != (new.value == nil) {
		d.add(path, old, new)
	} else {
		d.value(path, old, new, nil)
	}
}
