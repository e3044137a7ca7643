package store

import (
	"reflect"
	"slices"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"

	"liza/pkg/base/yamldoc"
	"liza/pkg/board/blackboard"
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
	field string // of the state
	kind  kind
	typ   reflect.Type // of the field
	entry reflect.Type // what the entries point to
}

// model is the type of the file's content: the fields of the state that have a key, with the list of tasks, which is private
// in a state.
var model = sync.OnceValue(func() reflect.Type { return modelOf(reflect.TypeFor[blackboard.State]()) })

func modelOf(t reflect.Type) reflect.Type {
	var fields []reflect.StructField
	for _, f := range reflect.VisibleFields(t) {
		if key := f.Tag.Get("yaml"); key == "tasks" {
			f.Name, f.PkgPath = "Tasks", ""
		}
		if f.IsExported() && f.Tag.Get("yaml") != "-" {
			fields = append(fields, f)
		}
	}
	return reflect.StructOf(fields)
}

// sections are the sections of the state in the order of specs/protocol.md#2.1.
var sections = sync.OnceValue(func() []section { return sectionsOf(model()) })

// schema has the keys that sections and their entries may have.
var schema = sync.OnceValue(func() yamldoc.Schema { return yamldoc.NewSchema(model()) })

// fast reads them as long as they have nothing unusual. It is made when it is needed, for
// many commands read no state.
var fast = sync.OnceValue(func() *yamldoc.Fast {
	return yamldoc.NewFast(model(), reflect.TypeFor[blackboard.List](), reflect.TypeFor[blackboard.Rejection]())
})

func sectionsOf(t reflect.Type) []section {
	var all []section
	for i := range t.NumField() {
		f := t.Field(i)
		key, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		s := section{key: key, field: f.Name, typ: f.Type}
		switch {
		case f.Type.Kind() == reflect.Slice && f.Type.Elem().Kind() == reflect.Pointer:
			s.kind, s.entry = list, f.Type.Elem().Elem()
		case f.Type.Kind() == reflect.Map && f.Type.Elem().Kind() == reflect.Pointer:
			s.kind, s.entry = dict, f.Type.Elem().Elem()
		}
		all = append(all, s)
	}
	return all
}

// keysInOrder are the keys of the sections in the order of a new file.
func keysInOrder() (keys []string) {
	for _, s := range sections() {
		keys = append(keys, s.key)
	}
	return keys
}

func sectionOf(key string) (section, bool) {
	for _, s := range sections() {
		if s.key == key {
			return s, true
		}
	}
	return section{}, false
}

// splitKeys are the sections that have entries.
func splitKeys() []string {
	var keys []string
	for _, s := range sections() {
		if s.kind != whole {
			keys = append(keys, s.key)
		}
	}
	return keys
}

// of is the section's value in a state; only that of another section than tasks can be set.
func (s section) of(state *blackboard.State) reflect.Value {
	if s.key == "tasks" {
		return reflect.ValueOf(state.TaskList())
	}
	return reflect.ValueOf(state).Elem().FieldByName(s.field)
}

// piece is the decoded value of a section, or of one of its entries. It is immutable.
type piece struct {
	raw      reflect.Value // with the spellings of the file
	norm     reflect.Value // with the present spellings; invalid for an entry that cannot be decoded
	problems []yamldoc.Problem
}

// newPiece is a piece in which value was read.
func newPiece(s section, value reflect.Value, problems []yamldoc.Problem) *piece {
	p := &piece{raw: value, norm: value, problems: problems}
	if !blackboard.Normal(value.Interface()) {
		p.norm = normalized(s, value)
	}
	return p
}

// decodeFast is decode without a tree. ok is false when the text needs one.
func decodeFast(key string, entry *yamldoc.Entry, text string, inList bool, indent int) (value any, ok bool) {
	s, known := sectionOf(key)
	switch {
	case !known:
		return nil, false
	case entry == nil:
		value := reflect.New(s.typ)
		if !fast().Section(text, key, value) {
			return nil, false
		}
		return newPiece(s, value.Elem(), nil), true
	case s.kind == whole || (s.kind == list) != inList:
		return nil, false
	}
	into := reflect.New(s.entry)
	if !fast().Entry(text, inList, indent, entry.Name(), into) {
		return nil, false
	}
	return newPiece(s, into, nil), true
}

// decode reads a section or an entry for the yamldoc.Reader.
func decode(key string, entry *yamldoc.Entry, node *yaml.Node) any {
	s, known := sectionOf(key)
	if !known {
		return nil
	}
	if entry == nil {
		value := reflect.New(s.typ)
		problems := schema().Problems(node, value.Interface())
		_ = decodeNode(node, value) // what does not fit stays empty and is one of the problems
		return newPiece(s, value.Elem(), problems).withoutEmpty(s, node)
	}
	if node.Kind != yaml.MappingNode || s.kind == whole || (s.kind == list) != (entry.Name() == "") {
		return &piece{problems: []yamldoc.Problem{{Line: node.Line, Column: node.Column, Message: "it is not an entry of " + key}}}
	}
	value := reflect.New(s.entry)
	problems := schema().Problems(node, value.Interface())
	_ = decodeNode(node, value)
	return newPiece(s, value, problems).withoutEmpty(s, node)
}

// withoutEmpty removes empty entries, at every depth, from the value of the piece. The text of the piece keeps them, so that
// its next change removes them.
func (p *piece) withoutEmpty(s section, node *yaml.Node) *piece {
	if !slices.ContainsFunc(p.problems, func(x yamldoc.Problem) bool { return x.Empty }) {
		return p
	}
	value := reflect.New(p.raw.Type())
	if p.raw.Kind() == reflect.Pointer {
		value = reflect.New(p.raw.Type().Elem())
	}
	_ = decodeNode(node, value)
	yamldoc.DropEmpty(value)
	if p.raw.Kind() != reflect.Pointer {
		value = value.Elem()
	}
	p.norm = newPiece(s, value, nil).norm
	return p
}

// decodeNode decodes the parts of a node that fit value. It turns a panic of the decoder into an error.
func decodeNode(node *yaml.Node, value reflect.Value) (err error) {
	defer func() {
		if recover() != nil {
			err = &yaml.TypeError{Errors: []string{"it cannot be decoded"}}
		}
	}()
	return node.Decode(value.Interface())
}

// normalized is a copy of the value of a section, or of an entry, with the spellings that
// the state has today.
func normalized(s section, value reflect.Value) reflect.Value {
	var state blackboard.State
	field := s.of(&state)
	switch {
	case value.Type() == s.typ:
		field.Set(value)
	case s.kind == list:
		field.Set(reflect.Append(field, value))
	default:
		field.Set(reflect.MakeMap(s.typ))
		field.SetMapIndex(reflect.ValueOf(""), value)
	}
	clone := state.Clone()
	clone.Normalize()
	switch field = s.of(clone); {
	case value.Type() == s.typ:
		return field
	case s.kind == list:
		return field.Index(0)
	}
	return field.MapIndex(reflect.ValueOf(""))
}

// state returns the state of a document. It shares its entries with the document and must not be changed. like is the state
// before, or nil.
func state(doc *yamldoc.Document, like *blackboard.State) *blackboard.State {
	var s blackboard.State
	for _, sec := range sections() {
		entries, split := doc.Entries(sec.key)
		if sec.key == "tasks" {
			tasks := tasksOf(entries)
			if p := pieceOf(doc, sec.key); p != nil && !split {
				tasks, _ = p.norm.Interface().([]*blackboard.Task)
			}
			s.SetTasks(tasks, like)
			continue
		}
		field := sec.of(&s)
		if !split {
			if p := pieceOf(doc, sec.key); p != nil {
				field.Set(p.norm)
			}
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

// tasksOf collects the tasks, the longest section, without the reflection that serves the others.
func tasksOf(entries []*yamldoc.Entry) []*blackboard.Task {
	tasks := make([]*blackboard.Task, 0, len(entries))
	for _, e := range entries {
		if p := e.Value().(*piece); p.norm.IsValid() {
			tasks = append(tasks, p.norm.Interface().(*blackboard.Task))
		}
	}
	return tasks
}

// pieceOf returns the decoded value of a section without entries, or nil if it is missing.
func pieceOf(doc *yamldoc.Document, key string) *piece {
	value, _ := doc.Section(key)
	p, _ := value.(*piece)
	return p
}
