package store

import (
	"reflect"
	"strings"

	"gopkg.in/yaml.v3"

	"liza/pkg/blackboard"
	"liza/pkg/yamldoc"
)

// kind of a section of the state.
type kind int

const (
	whole kind = iota // one value
	list              // a list of entries, each with an id if it has one
	dict              // a map of entries
)

// section is a field of blackboard.State that is in the file.
type section struct {
	key   string
	index int // of the field
	kind  kind
}

// sections are the sections of the state in the order of protocol 2.1.
var sections = sectionsOf(reflect.TypeFor[blackboard.State]())

// schema knows what the sections and their entries may have.
var schema = yamldoc.NewSchema(reflect.TypeFor[blackboard.State]())

func sectionsOf(t reflect.Type) []section {
	var all []section
	for i := range t.NumField() {
		f := t.Field(i)
		key, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if !f.IsExported() || key == "-" {
			continue
		}
		s := section{key: key, index: i}
		switch {
		case f.Type.Kind() == reflect.Slice && f.Type.Elem().Kind() == reflect.Pointer:
			s.kind = list
		case f.Type.Kind() == reflect.Map && f.Type.Elem().Kind() == reflect.Pointer:
			s.kind = dict
		}
		all = append(all, s)
	}
	return all
}

func sectionOf(key string) (section, bool) {
	for _, s := range sections {
		if s.key == key {
			return s, true
		}
	}
	return section{}, false
}

// splitKeys are the sections that have entries.
func splitKeys() []string {
	var keys []string
	for _, s := range sections {
		if s.kind != whole {
			keys = append(keys, s.key)
		}
	}
	return keys
}

// of is the section's value in a state.
func (s section) of(state *blackboard.State) reflect.Value {
	return reflect.ValueOf(state).Elem().Field(s.index)
}

// piece is what was read from a section, or from one of its entries. It never changes.
type piece struct {
	raw      reflect.Value // as it stands in the file
	norm     reflect.Value // with the present spellings; an entry that cannot be one has none
	problems []yamldoc.Problem
}

// decode reads a section or an entry for the yamldoc.Reader.
func decode(key string, entry *yamldoc.Entry, node *yaml.Node) any {
	s, known := sectionOf(key)
	if !known {
		return nil
	}
	t := reflect.TypeFor[blackboard.State]().Field(s.index).Type
	if entry == nil {
		value := reflect.New(t)
		p := &piece{problems: schema.Problems(node, value.Interface())}
		_ = decodeNode(node, value) // what does not fit stays empty and is one of the problems
		p.raw = value.Elem()
		p.norm = normalized(s, p.raw)
		return p
	}
	if node.Kind != yaml.MappingNode || s.kind == whole || (s.kind == list) != (entry.Name() == "") {
		return &piece{problems: []yamldoc.Problem{{Line: node.Line, Column: node.Column, Message: "it is no entry of " + key}}}
	}
	value := reflect.New(t.Elem().Elem())
	p := &piece{problems: schema.Problems(node, value.Interface())}
	_ = decodeNode(node, value)
	p.raw = value
	holder := reflect.New(t).Elem()
	if s.kind == list {
		holder.Set(reflect.Append(holder, value))
		p.norm = normalized(s, holder).Index(0)
	} else {
		name := reflect.ValueOf(entry.Name())
		holder.Set(reflect.MakeMap(t))
		holder.SetMapIndex(name, value)
		p.norm = normalized(s, holder).MapIndex(name)
	}
	return p
}

// decodeNode decodes what fits. A text that no type can take must not end the program.
func decodeNode(node *yaml.Node, value reflect.Value) (err error) {
	defer func() {
		if recover() != nil {
			err = &yaml.TypeError{Errors: []string{"it cannot be decoded"}}
		}
	}()
	return node.Decode(value.Interface())
}

// normalized is the value of a section with the spellings that the state has today. If
// it has them already it is the value itself.
func normalized(s section, value reflect.Value) reflect.Value {
	var state blackboard.State
	s.of(&state).Set(value)
	clone := state.Clone()
	clone.Normalize()
	if norm := s.of(clone); !yamldoc.Same(norm.Interface(), value.Interface()) {
		return norm
	}
	return value
}

// state puts together what a document says. The result shares its entries with the
// document and must not be changed.
func state(doc *yamldoc.Document) *blackboard.State {
	var s blackboard.State
	for _, sec := range sections {
		field := sec.of(&s)
		entries, split := doc.Entries(sec.key)
		if !split {
			if p := pieceOf(doc, sec.key); p != nil {
				field.Set(p.norm)
			}
			continue
		}
		if sec.key == "tasks" {
			s.Tasks = tasksOf(entries)
			continue
		}
		if sec.kind == dict {
			field.Set(reflect.MakeMapWithSize(field.Type(), len(entries)))
		} else {
			field.Set(reflect.MakeSlice(field.Type(), 0, len(entries)))
		}
		for _, e := range entries {
			switch p := e.Value().(*piece); {
			case !p.norm.IsValid():
			case sec.kind == dict:
				field.SetMapIndex(reflect.ValueOf(e.Name()), p.norm)
			default:
				field.Set(reflect.Append(field, p.norm))
			}
		}
	}
	return &s
}

// tasksOf is what the other sections get by reflection, for the longest of them.
func tasksOf(entries []*yamldoc.Entry) []*blackboard.Task {
	tasks := make([]*blackboard.Task, 0, len(entries))
	for _, e := range entries {
		if p := e.Value().(*piece); p.norm.IsValid() {
			tasks = append(tasks, p.norm.Interface().(*blackboard.Task))
		}
	}
	return tasks
}

// pieceOf is what was read from a section that has no entries; nil when it is missing.
func pieceOf(doc *yamldoc.Document, key string) *piece {
	value, _ := doc.Section(key)
	p, _ := value.(*piece)
	return p
}
