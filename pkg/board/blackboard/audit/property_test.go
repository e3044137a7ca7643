package audit

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"liza/pkg/board/blackboard"
)

// places calls visit with every value below v that can be set.
func places(v reflect.Value, visit func(reflect.Value)) {
	if v.CanSet() {
		visit(v)
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			places(v.Elem(), visit)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				places(v.Field(i), visit)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			if e := v.Index(i); e.Kind() == reflect.Pointer {
				places(e.Elem(), visit) // no list has an empty entry
			} else {
				places(e, visit)
			}
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			places(v.MapIndex(key), visit)
		}
	}
}

func TestADamagedStateIsReportedAndNeverPanics(t *testing.T) {
	t.Parallel()
	texts := []string{"", "null", "\x00", "../..", "coder-1", "CLAIMED", "x-", "claimed", "draft", "%d"}
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 7))
		s, prev, f := validState(), validState(), validFacts()
		damage(random, s, texts)
		damage(random, prev, texts)
		s.AddTasks(&blackboard.Task{}, validTask("draft"))
		f.Secrets = findsHunter2
		first := Validate(s, prev, f)
		if again := Validate(s, prev, f); !reflect.DeepEqual(first, again) {
			t.Fatalf("seed %d: two calls differ:\n%s\n%s", seed, lines(first), lines(again))
		}
		for _, v := range first {
			if ruleOf(v.Rule) == nil || v.Message == "" || v.Severity != blackboard.SeverityError && v.Severity != blackboard.SeverityWarning {
				t.Fatalf("seed %d: %+v", seed, v)
			}
		}
		Repair(s, f)
		Validate(s, nil, Evidence{})
		Validate(nil, prev, Evidence{Now: validNow})
	}
}

// damage sets some places of the state to their zero value, or to another text or number.
func damage(random *rand.Rand, s *blackboard.State, texts []string) {
	var all []reflect.Value
	places(reflect.ValueOf(s).Elem(), func(v reflect.Value) { all = append(all, v) })
	for t := range s.Tasks() {
		places(reflect.ValueOf(t).Elem(), func(v reflect.Value) { all = append(all, v) })
	}
	for range 1 + random.IntN(12) {
		v := all[1+random.IntN(len(all)-1)] // not the state itself
		switch {
		case v.Kind() == reflect.String && random.IntN(2) == 0:
			v.SetString(texts[random.IntN(len(texts))])
		case v.Kind() == reflect.Int && random.IntN(2) == 0:
			v.SetInt(int64(random.IntN(2000) - 1000))
		default:
			v.SetZero()
		}
	}
}

func TestEveryTimeOfTheModelIsLookedAt(t *testing.T) {
	t.Parallel()
	s := validState()
	s.Sprint.Timeline.Ended = ago(1)
	s.Goal.CompletedAt = ago(1)
	s.Sprint.Paused = &blackboard.Pause{Since: ago(1), By: "ada"}
	s.Integration.Turn = &blackboard.MergeTurn{Term: 1, Host: "one", Until: ago(1)} // of a team on several hosts
	s.Hosts = map[string]*blackboard.Host{"one": {ID: "ab12", Seen: ago(1)}}
	s.HumanNotes = append(s.HumanNotes, &blackboard.Note{ID: "note-77", Timestamp: ago(1), Message: "m", When: "now", Receipt: &blackboard.Receipt{State: "queued", At: ago(1)}})
	s.Stopped = map[string]*blackboard.Stop{"coder-1": {By: "ada", At: ago(1)}}
	timeType := reflect.TypeFor[blackboard.Time]()
	seen := 0
	look := func(v reflect.Value) {
		if v.Type() != timeType {
			return
		}
		seen++
		was := v.String()
		v.SetString("tomorrow")
		if !slices.Contains(rulesOf(Validate(s, nil, Evidence{Write: true})), "V39") {
			t.Errorf("a time that was %q is not looked at", was)
		}
		v.SetString(was)
	}
	places(reflect.ValueOf(s).Elem(), look)
	for t := range s.Tasks() {
		places(reflect.ValueOf(t).Elem(), look)
	}
	// The fixture has to give every field of the model that is a time.
	given := map[string]bool{}
	collectTimes(reflect.ValueOf(s), given)
	collectTimes(reflect.ValueOf(s.TaskList()), given)
	fields := map[string]bool{}
	timeFields(reflect.TypeFor[blackboard.State](), fields)
	timeFields(reflect.TypeFor[blackboard.Task](), fields)
	for field := range fields {
		if !given[field] {
			t.Errorf("the valid state gives no %s", field)
		}
	}
	if seen < len(fields) {
		t.Errorf("%d times seen, %d fields", seen, len(fields))
	}
}

// timeFields collects "Type.Field" of all fields below typ that are times.
func timeFields(typ reflect.Type, fields map[string]bool) {
	switch typ.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		timeFields(typ.Elem(), fields)
	case reflect.Struct:
		for i := range typ.NumField() {
			f := typ.Field(i)
			switch {
			case !f.IsExported() || typ == reflect.TypeFor[blackboard.Entry]():
			case f.Type == reflect.TypeFor[blackboard.Time]() || f.Type == reflect.TypeFor[[]blackboard.Time]():
				fields[typ.Name()+"."+f.Name] = true
			default:
				timeFields(f.Type, fields)
			}
		}
	}
}

func collectTimes(v reflect.Value, given map[string]bool) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			collectTimes(v.Elem(), given)
		}
	case reflect.Slice:
		for i := range v.Len() {
			collectTimes(v.Index(i), given)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			collectTimes(v.MapIndex(key), given)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if !f.IsExported() {
				continue
			}
			if !v.Field(i).IsZero() {
				given[v.Type().Name()+"."+f.Name] = true
			}
			collectTimes(v.Field(i), given)
		}
	}
}
