package store

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"liza/pkg/base/yamldoc"
	"liza/pkg/board/blackboard"
)

func TestSnapshotsAreThinnedOut(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 19, 15, 0, 0, 0, time.UTC)
	var kept []Snapshot
	for minute := range 5 * 24 * 60 { // one write each minute for five days
		now = now.Add(time.Minute)
		kept = append([]Snapshot{{Revision: minute, At: now}}, kept...)
		gone := map[int]bool{}
		for _, s := range surplus(kept, now) {
			gone[s.Revision] = true
		}
		var left []Snapshot
		for _, s := range kept {
			if !gone[s.Revision] {
				left = append(left, s)
			}
		}
		kept = left
		if len(kept) > 20 || kept[0].Revision != minute {
			t.Fatalf("after %d minutes %d are kept, the newest is %d", minute, len(kept), kept[0].Revision)
		}
		if minute > 20 && kept[9].Revision != minute-9 {
			t.Fatalf("after %d minutes the tenth is %d", minute, kept[9].Revision)
		}
	}
	if oldest := now.Sub(kept[len(kept)-1].At); len(kept) < 14 || oldest < 36*time.Hour {
		t.Errorf("%d are kept, the oldest of them is %s old", len(kept), oldest)
	}
}

// variants calls f for each field of the struct that p points to, and within what it
// refers to, while the field has another value.
func variants(v reflect.Value, path string, f func(path string)) {
	old := reflect.New(v.Type()).Elem()
	old.Set(v)
	with := func(what string, value reflect.Value) {
		v.Set(value)
		f(path + " " + what)
		v.Set(old)
	}
	switch v.Kind() {
	case reflect.String:
		with("changed", reflect.ValueOf(v.String()+"y").Convert(v.Type()))
	case reflect.Int, reflect.Int64:
		with("changed", reflect.ValueOf(v.Int()+1).Convert(v.Type()))
	case reflect.Float64:
		with("changed", reflect.ValueOf(v.Float()+0.1).Convert(v.Type()))
	case reflect.Bool:
		with("changed", reflect.ValueOf(!v.Bool()).Convert(v.Type()))
	case reflect.Pointer:
		if !v.IsNil() {
			with("removed", reflect.Zero(v.Type()))
			variants(v.Elem(), path, f)
		}
	case reflect.Slice:
		if v.Len() > 0 {
			with("shortened", v.Slice(0, v.Len()-1))
			variants(v.Index(0), path+"[0]", f)
		}
	case reflect.Map:
		with("emptied", reflect.Zero(v.Type()))
	case reflect.Interface:
		with("changed", reflect.ValueOf("other"))
	case reflect.Struct:
		for i := range v.NumField() {
			variants(v.Field(i), path+"."+v.Type().Field(i).Name, f)
		}
	}
}

// populate gives every field a value that is not zero.
func populate(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString("x")
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Float64:
		v.SetFloat(7.5)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		populate(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			populate(v.Index(i))
		}
	case reflect.Map:
		value := reflect.New(v.Type().Elem()).Elem()
		populate(value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("key"), value)
	case reflect.Interface:
		v.Set(reflect.ValueOf("open"))
	case reflect.Struct:
		for i := range v.NumField() {
			populate(v.Field(i))
		}
	}
}

func TestEveryChangeOfAnEntryIsSeen(t *testing.T) {
	t.Parallel()
	for _, sec := range sections() {
		if sec.kind == whole {
			continue
		}
		s := new(blackboard.State)
		field := sec.of(s)
		entry := reflect.New(field.Type().Elem().Elem())
		populate(entry.Elem())
		holder := &blackboard.State{}
		if sec.kind == list {
			sec.put(holder, reflect.Append(sec.of(holder), entry))
		} else {
			sec.put(holder, reflect.MakeMap(field.Type()))
			sec.of(holder).SetMapIndex(reflect.ValueOf("key"), entry)
		}
		clone := sec.of(holder.Clone())
		twin := clone
		if sec.kind == list {
			twin = clone.Index(0)
		} else {
			twin = clone.MapIndex(reflect.ValueOf("key"))
		}
		if !unchanged(entry, twin) {
			t.Fatalf("%s: a copy is said to be changed", sec.key)
		}
		seen := 0
		variants(entry.Elem(), sec.key, func(path string) {
			seen++
			if unchanged(entry, twin) || unchanged(twin, entry) || yamldoc.Same(entry.Interface(), twin.Interface()) {
				t.Errorf("%s is not seen", path)
			}
		})
		if seen < entry.Elem().NumField() {
			t.Errorf("%s: only %d variants", sec.key, seen)
		}
	}
}

// Every field of the model must come back from the file as it was put in.
func TestEveryFieldOfTheStateSurvivesAWrite(t *testing.T) {
	t.Parallel()
	for _, sec := range sections() {
		s := new(blackboard.State)
		value := reflect.New(sec.typ).Elem()
		populate(value)
		sec.put(s, value)
		reader := newReader()
		s.Normalize()
		s.Version, s.Revision = "1", 1
		doc, err := reader.Parse([]byte(render(s, nil)))
		if err != nil {
			t.Fatal(err)
		}
		if !yamldoc.Alike(sec.of(state(doc, nil)).Interface(), sec.of(s).Interface()) {
			t.Errorf("%s is written as\n%s", sec.key, doc.Bytes())
		}
		if found := decoding(doc, true); len(found) != 0 {
			t.Errorf("%s: what was written has %v", sec.key, found)
		}
		// The same, patched into a state that has nothing yet, and taken out again.
		empty := &blackboard.State{Version: "1", Revision: 1}
		bare, err := reader.Parse([]byte("version: 1\nrevision: 1\n"))
		if err != nil {
			t.Fatal(err)
		}
		full, err := compare(bare, empty, s).apply(bare, 1)
		if err != nil {
			t.Fatalf("%s: %v", sec.key, err)
		}
		s.Revision = 2
		back, err := compare(full, state(full, nil), empty).apply(full, 2)
		if err != nil {
			t.Fatalf("%s: %v", sec.key, err)
		}
		if got := fmt.Sprint(compare(back, state(back, nil), empty).names()); got != "[]" {
			t.Errorf("%s: left over %s in\n%s", sec.key, got, back.Bytes())
		}
	}
}
