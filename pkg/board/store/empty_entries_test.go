package store_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/store"
)

// place is a list or map of the model: the keys that lead to it, "[]" for an entry of a list and "{}" for one of a map.
type place struct {
	keys  []string
	isMap bool
}

// placesIn lists all lists and maps of pointers below a type.
func placesIn(t reflect.Type, keys []string) (all []place) {
	switch t.Kind() {
	case reflect.Pointer:
		return placesIn(t.Elem(), keys)
	case reflect.Slice, reflect.Map:
		if t.Elem().Kind() == reflect.Pointer {
			all = append(all, place{append([]string{}, keys...), t.Kind() == reflect.Map})
		}
		step := "[]"
		if t.Kind() == reflect.Map {
			step = "{}"
		}
		return append(all, placesIn(t.Elem(), append(keys[:len(keys):len(keys)], step))...)
	case reflect.Struct:
		for f := range t.Fields() {
			key, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
			if key != "-" && key != "" {
				all = append(all, placesIn(f.Type, append(keys[:len(keys):len(keys)], key))...)
			}
		}
	}
	return all
}

// board is a state in which the place has an empty entry.
func (p place) board(flow bool) string {
	indent, text, inList := "", "", false
	line := func(s string) {
		if inList {
			text += indent[:len(indent)-2] + "- " + s + "\n"
			inList = false
			return
		}
		text += indent + s + "\n"
	}
	for i, key := range p.keys {
		switch {
		case key == "[]":
			if i == len(p.keys)-1 {
				continue
			}
			indent, inList = indent+"  ", true
			if !strings.Contains(text, "id: ") || p.keys[0] != "tasks" {
				line("id: x-1")
			}
		case key == "{}":
			line("coder-1:")
			indent += "  "
		default:
			line(key + ":")
			indent += "  "
		}
	}
	entry := "- \n" + indent + "- ~"
	if p.isMap {
		entry = "coder-1:"
	}
	if flow {
		text = strings.TrimSuffix(text, "\n") + " [~]\n"
	} else {
		text += indent + entry + "\n"
	}
	for _, section := range []string{"goal", "tasks", "agents", "sprint", "config"} {
		if p.keys[0] != section {
			text += section + map[string]string{"tasks": ": []\n"}[section] + map[bool]string{true: "", false: ": {}\n"}[section == "tasks"]
		}
	}
	return "version: 1\nrevision: 1\n" + text
}

// An empty dash at any depth of the file counts as none, is told with its line, and never reaches the rules.
func TestEmptyEntriesCountAsNoneAtEveryDepth(t *testing.T) {
	t.Parallel()
	places := placesIn(reflect.TypeFor[blackboard.State](), nil)
	if len(places) < 20 {
		t.Fatalf("only %d lists were found in the model", len(places))
	}
	for _, p := range places {
		for _, flow := range []bool{false, true} {
			if flow && p.isMap {
				continue
			}
			t.Run(fmt.Sprint(strings.Join(p.keys, "."), " flow ", flow), func(t *testing.T) {
				pr := newProject(t)
				pr.write(pr.path(), p.board(flow))
				f := pr.open()
				s, err := f.View(t.Context())
				if err != nil {
					t.Fatalf("%v\n%s", err, p.board(flow))
				}
				if at := emptyAt(reflect.ValueOf(s), "") + emptyAt(reflect.ValueOf(s.TaskList()), "tasks"); at != "" {
					t.Errorf("%s is empty\n%s", at, p.board(flow))
				}
				i, err := f.Inspect(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				found := false
				for _, v := range i.Decode {
					found = found || v.Rule == "V04" && v.Severity == blackboard.SeverityWarning && v.Line > 2 && strings.Contains(v.Message, "is empty and counts as none")
				}
				if !found && len(p.keys) > 1 { // an entry of a section that is none is told in other words
					t.Errorf("nobody says that an entry is empty: %v\n%s", i.Decode, p.board(flow))
				}
			})
		}
	}
}

// emptyAt is the first list or map with an empty entry.
func emptyAt(v reflect.Value, path string) string {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			return emptyAt(v.Elem(), path)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				if at := emptyAt(v.Field(i), path+"."+f.Name); at != "" {
					return at
				}
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			if e := v.Index(i); e.Kind() == reflect.Pointer && e.IsNil() {
				return path
			} else if at := emptyAt(e, path); at != "" {
				return at
			}
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			if e := v.MapIndex(key); e.Kind() == reflect.Pointer && e.IsNil() {
				return path
			} else if at := emptyAt(e, path); at != "" {
				return at
			}
		}
	}
	return ""
}

func TestTheNextChangeOfATaskRemovesItsEmptyEntries(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.create(2)
	text := p.read(p.path())
	id := "task-1"
	edited := strings.Replace(text, "- id: "+id+"\n", "- id: "+id+"\n    attempts:\n      - \n      - seq: 1 # the first\n      - ~\n", 1)
	if edited == text {
		t.Fatalf("no %s in\n%s", id, text)
	}
	p.write(p.path(), edited)
	f := p.open()
	change := func(task string) {
		t.Helper()
		if err := f.Update(t.Context(), store.Op{Name: "note", Agent: "human"}, func(s *blackboard.State) error {
			s.Task(task).Title = "Changed"
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	change("task-2")
	if !strings.Contains(p.read(p.path()), "- \n") {
		t.Error("the change of another task touched it")
	}
	change(id)
	after := p.read(p.path())
	if strings.Contains(after, "- \n") || strings.Contains(after, "- ~") || !strings.Contains(after, "- seq: 1 # the first") {
		t.Errorf("after the change of the task:\n%s", after)
	}
}
