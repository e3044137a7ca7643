package blackboard

import (
	"fmt"
	"reflect"
	"testing"
)

// fill gives every field of v a value that is not zero.
func fill(v reflect.Value, depth int) {
	switch v.Kind() {
	case reflect.String:
		v.SetString("x")
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), depth)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			fill(v.Index(i), depth)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		value := reflect.New(v.Type().Elem()).Elem()
		fill(value, depth)
		v.SetMapIndex(reflect.ValueOf("key"), value)
	case reflect.Float64:
		v.SetFloat(7.5)
	case reflect.Interface:
		if depth < 2 {
			v.Set(reflect.ValueOf(map[string]any{"list": []any{"a", map[string]any{"b": []string{"c"}}}}))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i), depth+1)
			}
		}
	default:
		panic("fill: " + v.Type().String())
	}
}

// memory notes the address of everything that v refers to.
func memory(v reflect.Value, path string, at map[uintptr]string) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice:
		if v.IsNil() || v.Kind() == reflect.Slice && v.Len() == 0 {
			return
		}
		at[v.Pointer()] = path
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			memory(v.Elem(), path, at)
		}
	case reflect.Slice:
		for i := range v.Len() {
			memory(v.Index(i), fmt.Sprintf("%s[%d]", path, i), at)
		}
	case reflect.Map:
		for keys := v.MapRange(); keys.Next(); {
			memory(keys.Value(), path+"["+keys.Key().String()+"]", at)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			memory(v.Field(i), path+"."+v.Type().Field(i).Name, at)
		}
	}
}

func TestACloneIsEqualAndSharesNothing(t *testing.T) {
	t.Parallel()
	s := new(State)
	fill(reflect.ValueOf(s).Elem(), 0)
	s.AddTasks(&Task{})
	fill(reflect.ValueOf(s.tasks[0]).Elem(), 0)
	for range 100 { // more than what is copied in one block
		s.AddTasks(&Task{ID: "task", History: []*HistoryEntry{{Event: "created"}}})
	}
	s.Record(Entry{Action: "note", Extra: map[string]any{"files": []any{"a"}}})
	c := s.Clone()
	if !reflect.DeepEqual(s, c) {
		t.Fatal("the clone is not equal")
	}
	ours, theirs := map[uintptr]string{}, map[uintptr]string{}
	memory(reflect.ValueOf(s), "s", ours)
	memory(reflect.ValueOf(c), "s", theirs)
	if len(ours) < 200 || len(ours) != len(theirs) {
		t.Fatalf("the state refers to %d things, the clone to %d", len(ours), len(theirs))
	}
	for at, path := range ours {
		if shared, ok := theirs[at]; ok {
			t.Errorf("%s is shared with %s of the clone", path, shared)
		}
	}
	if (*State)(nil).Clone() != nil {
		t.Error("the clone of no state is a state")
	}
	if empty := new(State).Clone(); !reflect.DeepEqual(empty, new(State)) {
		t.Errorf("the clone of an empty state is %+v", empty)
	}
}

func TestRecordedEntriesAreKeptUntilTheyAreCleared(t *testing.T) {
	t.Parallel()
	s := new(State)
	s.Record(Entry{Action: "one"})
	s.Record(Entry{Action: "two"})
	if e := s.Entries(); len(e) != 2 || e[1].Action != "two" {
		t.Errorf("the entries are %+v", e)
	}
	s.TakeEntries(0)
	if len(s.Entries()) != 0 {
		t.Error("there are entries after clearing them")
	}
}

func TestOldSpellingsAreReadAsThePresentOnes(t *testing.T) {
	t.Parallel()
	s := &State{
		Version: "1.0",
		Goal:    &Goal{Status: "PLANNING"},
		Agents: map[string]*Agent{
			"coder-1": {Task: "task-1"}, "coder-2": {Task: "task-1", CurrentTask: "task-2"}, "coder-3": nil,
		},
		Anomalies: []*Anomaly{{TaskID: "task-1", LoggedBy: "coder-1"}, {Task: "task-2", TaskID: "task-1", Reporter: "coder-2"}},
	}
	s.Normalize()
	want := &State{
		Version:   "1",
		Goal:      &Goal{Status: InProgress},
		Agents:    map[string]*Agent{"coder-1": {CurrentTask: "task-1"}, "coder-2": {CurrentTask: "task-2"}, "coder-3": nil},
		Anomalies: []*Anomaly{{Task: "task-1", Reporter: "coder-1"}, {Task: "task-2", Reporter: "coder-2"}},
	}
	if !reflect.DeepEqual(s, want) {
		t.Errorf("got %+v", s)
	}
	new(State).Normalize()
}
