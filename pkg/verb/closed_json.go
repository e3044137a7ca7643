package verb

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"liza/pkg/blackboard"
)

// shape describes which keys a decoded JSON value may have.
type shape struct {
	fields map[string]*shape // of an object; nil for an open one
	item   *shape            // of a list
}

// shapeOf derives the shape from a Go type's json tags.
func shapeOf(v any) *shape { return typeShape(reflect.TypeOf(v)) }

func typeShape(t reflect.Type) *shape {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Slice:
		return &shape{item: typeShape(t.Elem())}
	case reflect.Struct:
		s := &shape{fields: map[string]*shape{}}
		for i := range t.NumField() {
			name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
			if name != "" && name != "-" {
				s.fields[name] = typeShape(t.Field(i).Type)
			}
		}
		return s
	}
	return &shape{}
}

func unknownKeys(v any, s *shape, path string) []string {
	var out []string
	switch v := v.(type) {
	case []any:
		for i, x := range v {
			if s != nil && s.item != nil && len(out) <= mostProblems {
				out = append(out, unknownKeys(x, s.item, fmt.Sprintf("%s[%d]", path, i))...)
			}
		}
	case map[string]any:
		if s == nil || s.fields == nil {
			return nil
		}
		known := sortedKeys(s.fields)
		for _, k := range sortedKeys(v) {
			sub, ok := s.fields[k]
			switch {
			case ok:
				out = append(out, unknownKeys(v[k], sub, path+"."+k)...)
			case !strings.HasPrefix(k, "x_"):
				if len(k) > 100 {
					k = strings.ToValidUTF8(k[:100], "") + "…"
				}
				text := fmt.Sprintf("%s: unknown key '%s'", path, k)
				if near := blackboard.Nearest(k, known); near != "" {
					text += fmt.Sprintf("; nearest: %s", near)
				}
				out = append(out, text)
			}
		}
	}
	return out
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func kindName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Int:
		return "an integer"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "a list"
	case reflect.Map, reflect.Struct:
		return "an object"
	}
	return "a text"
}
