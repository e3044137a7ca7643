package config

import (
	"reflect"
	"slices"
	"strings"
)

func join(prefix, name string) string {
	if prefix == "" {
		return name
	}
	return prefix + "." + name
}

func parent(key string) string {
	if i := strings.LastIndexByte(key, '.'); i >= 0 {
		return key[:i]
	}
	return ""
}

func fieldOf(t reflect.Type, name string) (reflect.StructField, bool) {
	for f := range t.Fields() {
		if tag := f.Tag.Get("key"); tag != "" && tag == name {
			return f, true
		}
	}
	return reflect.StructField{}, false
}

func fieldNames(t reflect.Type) []string {
	var out []string
	for f := range t.Fields() {
		if tag := f.Tag.Get("key"); tag != "" && tag != "*" {
			out = append(out, tag)
		}
	}
	return out
}

func mapKeys(v reflect.Value) []string {
	var out []string
	for _, k := range v.MapKeys() {
		out = append(out, k.String())
	}
	slices.Sort(out)
	return out
}
