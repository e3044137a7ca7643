package yamldoc

import (
	"encoding"
	"fmt"
	"math"
	"reflect"
	"strings"

	"gopkg.in/yaml.v3"

	"liza/pkg/base/prose"
)

// A Problem is a value in a file that its Go type cannot hold.
type Problem struct {
	Path         string // within the checked value: "history[2].time"; "" is the value itself
	Line, Column int
	Key          string   // key with the problem
	Known        []string // for an unknown key: the keys of the type
	Message      string   // for a value of a wrong type: "'priority' must be an integer, is "high""
	Empty        bool     // an entry of a list or map without content; see DropEmpty
}

// Unknown reports whether the problem is an unknown key, not a value of a wrong type.
func (p Problem) Unknown() bool { return p.Message == "" }

// A Schema holds the fields of the Go types of a file. It does not change.
type Schema map[reflect.Type]shapeOf

// shapeOf has the keys that a struct type allows.
type shapeOf struct {
	fields map[string]reflect.Type
	names  []string
	open   bool // other keys are allowed
}

// NewSchema returns the schema of t and of all types within it.
func NewSchema(t reflect.Type) Schema {
	s := Schema{}
	s.add(t)
	return s
}

func (s Schema) add(t reflect.Type) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		s.add(t.Elem())
		return
	case reflect.Struct:
	default:
		return
	}
	if _, known := s[t]; known || t == timeType {
		return
	}
	shape := shapeOf{fields: map[string]reflect.Type{}}
	for _, f := range fieldsOf(t) {
		shape.open = shape.open || f.inline
		shape.fields[f.name] = t.Field(f.index).Type
		shape.names = append(shape.names, f.name)
	}
	s[t] = shape
	for _, f := range shape.fields {
		s.add(f)
	}
}

// Problems lists the keys and values in node that do not fit the type that value points to. It
// decodes nothing.
func (s Schema) Problems(node *yaml.Node, value any) []Problem {
	f := fitter{schema: s}
	f.fit(node, reflect.TypeOf(value), "", "")
	return f.problems
}

type fitter struct {
	schema   Schema
	problems []Problem
}

type obsoleteUnmarshaler interface{ UnmarshalYAML(func(any) error) error }

var (
	unmarshalerType = reflect.TypeFor[yaml.Unmarshaler]()
	obsoleteType    = reflect.TypeFor[obsoleteUnmarshaler]()
	textType        = reflect.TypeFor[encoding.TextUnmarshaler]()
)

func (f *fitter) fit(node *yaml.Node, t reflect.Type, path, key string) {
	node = resolve(node)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if node.ShortTag() == "!!null" || t.Kind() == reflect.Interface { // empty entries: see fitEntry
		return
	}
	p := reflect.PointerTo(t)
	if p.Implements(unmarshalerType) || p.Implements(obsoleteType) {
		if node.Decode(reflect.New(t).Interface()) != nil {
			f.wrong(node, t, path, key)
			return
		}
		if t.Kind() != reflect.Struct || node.Kind != yaml.MappingNode {
			return
		}
	}
	switch t.Kind() {
	case reflect.Struct:
		f.fitStruct(node, t, path, key)
	case reflect.Map:
		if node.Kind != yaml.MappingNode {
			f.wrong(node, t, path, key)
			return
		}
		for i := 0; i+1 < len(node.Content); i += 2 {
			name := node.Content[i].Value
			f.fitEntry(node.Content[i+1], t.Elem(), join(path, name), name)
		}
	case reflect.Slice:
		if node.Kind != yaml.SequenceNode {
			f.wrong(node, t, path, key)
			return
		}
		for i, item := range node.Content {
			f.fitEntry(item, t.Elem(), fmt.Sprintf("%s[%d]", path, i), key)
		}
	default:
		if node.Kind != yaml.ScalarNode || !p.Implements(textType) && !fitsScalar(node, t) {
			f.wrong(node, t, path, key)
		}
	}
}

// fitEntry is fit for an entry of a list or map, where nothing at all is a mistake: a dash without text.
func (f *fitter) fitEntry(node *yaml.Node, t reflect.Type, path, key string) {
	if n := resolve(node); t.Kind() == reflect.Pointer && n.ShortTag() == "!!null" {
		f.problems = append(f.problems, Problem{Path: path, Line: n.Line, Column: n.Column, Key: key, Empty: true,
			Message: "the entry is empty and counts as none; the next change removes it"})
		return
	}
	f.fit(node, t, path, key)
}

// DropEmpty removes the empty entries from all lists and maps in the value that v points to.
func DropEmpty(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			DropEmpty(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				DropEmpty(v.Field(i))
			}
		}
	case reflect.Slice:
		if !holds(v.Type().Elem()) {
			return
		}
		n := 0
		for i := range v.Len() {
			if e := v.Index(i); e.Kind() != reflect.Pointer || !e.IsNil() {
				DropEmpty(e)
				v.Index(n).Set(e)
				n++
			}
		}
		v.SetLen(n)
	case reflect.Map:
		if !holds(v.Type().Elem()) {
			return
		}
		for _, key := range v.MapKeys() {
			e := v.MapIndex(key)
			if e.Kind() == reflect.Pointer && e.IsNil() {
				v.SetMapIndex(key, reflect.Value{})
				continue
			}
			DropEmpty(e)
		}
	}
}

// holds reports whether entries of a type, or entries within them, may be empty.
func holds(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Struct, reflect.Slice, reflect.Map:
		return true
	}
	return false
}

func (f *fitter) fitStruct(node *yaml.Node, t reflect.Type, path, key string) {
	if node.Kind != yaml.MappingNode {
		f.wrong(node, t, path, key)
		return
	}
	shape := f.schema[t]
	for i := 0; i+1 < len(node.Content); i += 2 {
		k := node.Content[i]
		if ft, ok := shape.fields[k.Value]; ok {
			f.fit(node.Content[i+1], ft, join(path, k.Value), k.Value)
		} else if !shape.open && k.Value != "<<" {
			f.problems = append(f.problems, Problem{Path: join(path, k.Value), Line: k.Line, Column: k.Column, Key: k.Value, Known: shape.names})
		}
	}
}

func join(path, name string) string {
	if strings.ContainsAny(name, ".[]") {
		return path + "[" + name + "]"
	}
	if path == "" {
		return name
	}
	return path + "." + name
}

func fitsScalar(node *yaml.Node, t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		var x float64
		return (node.ShortTag() == "!!int" || node.ShortTag() == "!!float") && node.Decode(reflect.New(t).Interface()) == nil &&
			node.Decode(&x) == nil && x == math.Trunc(x)
	case reflect.Float64:
		var x float64 // what is not finite is not a figure: no limit would ever compare with it
		return (node.ShortTag() == "!!int" || node.ShortTag() == "!!float") && node.Decode(&x) == nil && !math.IsNaN(x) && !math.IsInf(x, 0)
	case reflect.String:
		return true
	}
	return node.Decode(reflect.New(t).Interface()) == nil
}

func (f *fitter) wrong(node *yaml.Node, t reflect.Type, path, key string) {
	name := key
	if name == "" {
		name = "it"
	} else {
		name = "'" + name + "'"
	}
	f.problems = append(f.problems, Problem{
		Path: path, Line: node.Line, Column: node.Column, Key: key,
		Message: fmt.Sprintf("%s must be %s, is %s", name, wanted(t), shape(node)),
	})
}

func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		return "a map"
	case reflect.Slice:
		return "a list"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return "an integer"
	case reflect.Float32, reflect.Float64:
		return "a number"
	}
	return "a text"
}

func shape(node *yaml.Node) string {
	switch {
	case node.Kind == yaml.MappingNode:
		return "a map"
	case node.Kind == yaml.SequenceNode:
		return "a list"
	case node.ShortTag() != "!!str":
		return prose.OneLine(node.Value, 60)
	}
	return quoted(prose.OneLine(node.Value, 60))
}
