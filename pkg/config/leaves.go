package config

import (
	"reflect"
	"slices"
	"strings"
)

// leaf is one setting with a single value: a scalar or a list.
type leaf struct {
	key  string
	kind kind
	get  func() reflect.Value
	set  func(reflect.Value)
}

// leaves lists the settings of c in the order of the types; of maps, the entries
// that are there.
func leaves(c *Config) []leaf {
	return slices.DeleteFunc(allOf(c), func(l leaf) bool { return l.set == nil })
}

// allOf are the leaves and the maps without entries, which cannot be set.
func allOf(c *Config) []leaf {
	var out []leaf
	v := reflect.ValueOf(c).Elem()
	walk(v, func(reflect.Value) {}, "", &out)
	return out
}

// walk visits the fields of a struct. written is called with the struct after one
// of its leaves was set, so that an entry of a map gets back into its map.
func walk(v reflect.Value, written func(reflect.Value), prefix string, out *[]leaf) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name := f.Tag.Get("key")
		if name == "" {
			continue
		}
		key := join(prefix, name)
		if name == "*" {
			key = prefix
		}
		fv, k := v.Field(i), kindOf(f)
		switch {
		case k.typ.Kind() == reflect.Struct && k.typ != fallbackType:
			walk(fv, func(reflect.Value) { written(v) }, key, out)
		case k.typ.Kind() == reflect.Map && fv.Len() == 0 && name != "*":
			*out = append(*out, leaf{key: key, kind: k, get: func() reflect.Value { return fv }})
		case k.typ.Kind() == reflect.Map:
			walkMap(fv, k, key, out)
		default:
			*out = append(*out, leaf{key, k, func() reflect.Value { return fv }, func(x reflect.Value) { fv.Set(x); written(v) }})
		}
	}
}

func walkMap(m reflect.Value, k kind, key string, out *[]leaf) {
	elem := k.of(k.typ.Elem())
	for _, name := range mapKeys(m) {
		at := reflect.ValueOf(name)
		set := func(x reflect.Value) { m.SetMapIndex(at, x) }
		if elem.typ.Kind() == reflect.Struct {
			e := reflect.New(elem.typ).Elem()
			e.Set(m.MapIndex(at))
			walk(e, set, join(key, name), out)
			continue
		}
		*out = append(*out, leaf{join(key, name), elem, func() reflect.Value { return m.MapIndex(at) }, set})
	}
}

// Nearest is the setting or section that a key may have been meant to be, or "".
func Nearest(key string) string {
	var known []string
	for _, l := range allOf(Default()) {
		for at := l.key; at != ""; at = parent(at) {
			known = append(known, at)
		}
	}
	if near := nearest(key, known); near != "" {
		return near
	}
	return elsewhere(key[strings.LastIndex(key, ".")+1:])
}

// elsewhere finds a setting of that name in another section.
func elsewhere(name string) string {
	for _, l := range leaves(Default()) {
		if l.key[strings.LastIndexByte(l.key, '.')+1:] == name {
			return l.key
		}
	}
	return ""
}
