package store

import (
	"reflect"
	"unsafe"

	"liza/pkg/blackboard"
	"liza/pkg/yamldoc"
)

// Every write compares all entries of the state with what they were, to find those that
// were changed. Nearly all are equal, and reflection takes ten times as long to see it as
// this file does, longer than writing the file to disk. So fields are compared in memory,
// by a plan that is made of the types once. Only a difference is looked at closely.

// unchanged tells quickly that two entries of one type say the same; if not, Same decides.
func unchanged(a, b reflect.Value) bool {
	if a.Kind() == reflect.Pointer && !a.IsNil() && !b.IsNil() {
		if p := plans[a.Type().Elem()]; p != nil && p.equal(a.UnsafePointer(), b.UnsafePointer()) {
			return true
		}
	}
	return yamldoc.Same(a.Interface(), b.Interface())
}

// plan is how values of a type are compared.
type plan struct {
	strings []uintptr // offsets
	flat    []span    // memory without pointers
	refs    []ref
}

type span struct{ offset, size uintptr }

// ref is a field that refers to something else.
type ref struct {
	offset uintptr
	kind   reflect.Kind
	typ    reflect.Type
	elem   *plan   // of what a pointer, or the elements of a slice, refer to
	size   uintptr // of an element of a slice
}

// plans has the plans of all struct types of a state.
var plans = plansOf(reflect.TypeFor[blackboard.State]())

func plansOf(t reflect.Type) map[reflect.Type]*plan {
	all := map[reflect.Type]*plan{}
	planOf(t, all)
	return all
}

func planOf(t reflect.Type, all map[reflect.Type]*plan) *plan {
	if p := all[t]; p != nil {
		return p
	}
	p := &plan{}
	all[t] = p
	p.add(t, 0, all)
	return p
}

// add adds a value of type t at an offset.
func (p *plan) add(t reflect.Type, offset uintptr, all map[reflect.Type]*plan) {
	switch t.Kind() {
	case reflect.String:
		p.strings = append(p.strings, offset)
	case reflect.Struct:
		for i := range t.NumField() {
			p.add(t.Field(i).Type, offset+t.Field(i).Offset, all)
		}
	case reflect.Pointer:
		p.refs = append(p.refs, ref{offset: offset, kind: t.Kind(), typ: t, elem: planOf(t.Elem(), all)})
	case reflect.Slice:
		p.refs = append(p.refs, ref{offset: offset, kind: t.Kind(), typ: t, elem: planOf(t.Elem(), all), size: t.Elem().Size()})
	case reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		if n := len(p.flat); n > 0 && p.flat[n-1].offset+p.flat[n-1].size == offset {
			p.flat[n-1].size += t.Size()
			return
		}
		p.flat = append(p.flat, span{offset, t.Size()})
	default: // maps, open values, floats: left to Same
		p.refs = append(p.refs, ref{offset: offset, kind: t.Kind(), typ: t})
	}
}

// equal tells whether two values say the same. a and b point to values of the plan's type.
func (p *plan) equal(a, b unsafe.Pointer) bool {
	for _, at := range p.strings {
		if *(*string)(unsafe.Add(a, at)) != *(*string)(unsafe.Add(b, at)) {
			return false
		}
	}
	for _, s := range p.flat {
		if unsafe.String((*byte)(unsafe.Add(a, s.offset)), s.size) != unsafe.String((*byte)(unsafe.Add(b, s.offset)), s.size) {
			return false
		}
	}
	for i := range p.refs {
		if !p.refs[i].equal(unsafe.Add(a, p.refs[i].offset), unsafe.Add(b, p.refs[i].offset)) {
			return false
		}
	}
	return true
}

func (r *ref) equal(a, b unsafe.Pointer) bool {
	switch r.kind {
	case reflect.Pointer:
		x, y := *(*unsafe.Pointer)(a), *(*unsafe.Pointer)(b)
		return x == y || x != nil && y != nil && r.elem.equal(x, y)
	case reflect.Slice: // any slice begins like one of bytes
		x, y := *(*[]byte)(a), *(*[]byte)(b)
		if len(x) != len(y) {
			return false
		}
		for i := range len(x) {
			at := uintptr(i) * r.size
			if !r.elem.equal(unsafe.Add(unsafe.Pointer(unsafe.SliceData(x)), at), unsafe.Add(unsafe.Pointer(unsafe.SliceData(y)), at)) {
				return false
			}
		}
		return true
	case reflect.Map:
		if *(*unsafe.Pointer)(a) == nil && *(*unsafe.Pointer)(b) == nil {
			return true
		}
	}
	return yamldoc.Same(reflect.NewAt(r.typ, a).Elem().Interface(), reflect.NewAt(r.typ, b).Elem().Interface())
}
