package dashboard

import (
	"maps"
	"reflect"
	"slices"
	"strings"
)

// A field is one key of an entry of state.yaml with its value, in the order of the file.
type field struct {
	key   string
	value reflect.Value
}

// fieldsOf are the fields of an entry that are set, under the names that they have in
// state.yaml. Absent, null, empty and zero are the same (specs/protocol.md#0.2).
func fieldsOf(entry any) []field {
	v := reflect.ValueOf(entry)
	for v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return nil
		}
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct {
		return nil
	}
	var list []field
	for i := range v.NumField() {
		name, options, _ := strings.Cut(v.Type().Field(i).Tag.Get("yaml"), ",")
		switch {
		case !v.Type().Field(i).IsExported() || name == "-" || blank(v.Field(i)):
		case options == "inline" && v.Field(i).Kind() == reflect.Map:
			for _, k := range slices.Sorted(maps.Keys(v.Field(i).Interface().(map[string]any))) {
				list = append(list, field{k, v.Field(i).MapIndex(reflect.ValueOf(k))})
			}
		case name != "":
			list = append(list, field{name, v.Field(i)})
		}
	}
	return list
}

func blank(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map, reflect.String:
		return v.Len() == 0
	}
	return v.IsZero()
}

// Plain is an entry of the state as maps and lists under the names of state.yaml, for
// output as JSON.
func Plain(entry any) any { return plainValue(reflect.ValueOf(entry)) }

func plainValue(v reflect.Value) any {
	switch v.Kind() {
	case reflect.Invalid:
		return nil
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return nil
		}
		return plainValue(v.Elem())
	case reflect.Struct:
		out := map[string]any{}
		for _, f := range fieldsOf(v.Interface()) {
			out[f.key] = plainValue(f.value)
		}
		return out
	case reflect.Slice:
		out := make([]any, 0, v.Len())
		for i := range v.Len() {
			out = append(out, plainValue(v.Index(i)))
		}
		return out
	case reflect.Map:
		out := map[string]any{}
		for _, k := range v.MapKeys() {
			out[k.String()] = plainValue(v.MapIndex(k))
		}
		return out
	case reflect.String:
		return v.String()
	}
	return v.Interface()
}
