package store

import (
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"liza/pkg/base/yamldoc"
	"liza/pkg/board/blackboard"
)

// bothWays reads a text with the fast reader and without it, which must agree, and returns
// the pieces that only the library could read.
func bothWays(t testing.TB, text string) (slow []string) {
	t.Helper()
	reader := yamldoc.Reader{Split: splitKeys(), Decode: decode}
	want, errWant := reader.Parse([]byte(text))
	seen := make(chan string, strings.Count(text, "\n")+1)
	reader = yamldoc.Reader{Split: splitKeys(), Decode: decode, Fast: func(key string, entry *yamldoc.Entry, text string, list bool, indent int) (any, bool) {
		value, ok := decodeFast(key, entry, text, list, indent)
		if !ok {
			seen <- text
		}
		return value, ok
	}}
	got, errGot := reader.Parse([]byte(text))
	close(seen)
	for piece := range seen {
		slow = append(slow, piece)
	}
	if errWant != nil || errGot != nil {
		if fmt.Sprint(errGot) != fmt.Sprint(errWant) {
			t.Fatalf("fast: %v\nlibrary: %v\n%s", errGot, errWant, text)
		}
		return slow
	}
	for _, key := range want.Keys() {
		wantEntries, split := want.Entries(key)
		gotEntries, gotSplit := got.Entries(key)
		if split != gotSplit || len(wantEntries) != len(gotEntries) {
			t.Fatalf("section %s is cut in another way:\n%s", key, text)
		}
		if !split {
			samePieces(t, key, pieceOf(got, key), pieceOf(want, key))
		}
		for i, e := range wantEntries {
			samePieces(t, fmt.Sprintf("%s %d", key, i), gotEntries[i].Value().(*piece), e.Value().(*piece))
		}
	}
	return slow
}

func samePieces(t testing.TB, place string, got, want *piece) {
	t.Helper()
	if (got == nil) != (want == nil) {
		t.Fatalf("%s: fast: %v, library: %v", place, got, want)
	}
	if want == nil {
		return
	}
	if !reflect.DeepEqual(got.problems, want.problems) {
		t.Fatalf("%s: the fast reader finds %v, the library %v", place, got.problems, want.problems)
	}
	for _, v := range [][2]reflect.Value{{got.raw, want.raw}, {got.norm, want.norm}} {
		if v[0].IsValid() != v[1].IsValid() || v[0].IsValid() && !reflect.DeepEqual(v[0].Interface(), v[1].Interface()) {
			t.Fatalf("%s: the fast reader reads\n%+v\nthe library reads\n%+v", place, v[0], v[1])
		}
	}
}

func exampleText(t testing.TB) string {
	t.Helper()
	data, err := os.ReadFile("../../../state.example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestTheExampleIsReadFastAndExactly(t *testing.T) {
	t.Parallel()
	for _, piece := range bothWays(t, exampleText(t)) {
		t.Errorf("this is not read fast:\n%s", piece)
	}
}

// texts are values that are hard to write.
var texts = []string{"x", "", "two words", "two\nlines\n", "two\nlines", "more\n\n\n", "\nabove", "it's", `"q"`, `\`, `it's "q"`, "null", "~", "5", "0x5", "yes", "true", "1.5",
	"2026-01-19T14:00:00Z", "2026-01-19", " before", "behind ", "a: b", "a:", "- a", "-", "--x", "#", "a #b", "a#b", "{", "[x]", "{x: y}", "&a", "*a", "!t", "|", ">", "%", "@", "`", "?", "? a",
	"ünï – 漢字 😀", "tab\tx", "\t", "\r\n", "\x01", "\u0085", "\u2028", "\ufeff", "<<", "=", "...", "---", "x\n---\ny", "- id: task-9\n  status: DRAFT\n", strings.Repeat("long ", 100), strings.Repeat("long\n", 100), "a\n  b\n c\n", "src/**/*.go", "C:\\x", "1e3", ".5", ".inf", "12:30"}

// fill gives every field one of the texts, numbers and truth values.
func fill(v reflect.Value, rng *rand.Rand) {
	text := texts[rng.IntN(len(texts))]
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Int, reflect.Int64:
		v.SetInt(rng.Int64N(1<<40) - 1<<20)
	case reflect.Float64:
		v.SetFloat(float64(rng.Int64N(1<<40)-1<<20) / 1e4)
	case reflect.Bool:
		v.SetBool(rng.IntN(2) == 0)
	case reflect.Pointer:
		if rng.IntN(5) > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(v.Elem(), rng)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), rng.IntN(4), 4))
		for i := range v.Len() {
			fill(v.Index(i), rng)
			if e := v.Index(i); e.Kind() == reflect.Pointer && e.IsNil() {
				e.Set(reflect.New(e.Type().Elem()))
			}
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for i := range rng.IntN(4) {
			value := reflect.New(v.Type().Elem()).Elem()
			for fill(value, rng); value.Kind() == reflect.Pointer && value.IsNil(); {
				fill(value, rng)
			}
			v.SetMapIndex(reflect.ValueOf(fmt.Sprintf("key-%d", i)), value)
		}
	case reflect.Interface:
		open := []any{text, 5, true, nil, 1.5, []any{text, 1}, blackboard.Settings{"a": text, "b": []any{}}}
		if value := open[rng.IntN(len(open))]; value != nil {
			v.Set(reflect.ValueOf(value))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && f.Tag.Get("yaml") != "-" && rng.IntN(4) > 0 {
				fill(v.Field(i), rng)
			}
		}
	}
}

// put sets the section's value in a state.
func (s section) put(state *blackboard.State, value reflect.Value) {
	if s.key == "tasks" {
		state.SetTasks(value.Interface().([]*blackboard.Task), nil)
		return
	}
	s.of(state).Set(value)
}

// fillState fills every section.
func fillState(s *blackboard.State, random *rand.Rand) {
	for _, sec := range sections() {
		value := reflect.New(sec.typ).Elem()
		fill(value, random)
		sec.put(s, value)
	}
}

// What Liza writes, it reads fast.
func TestWhatIsWrittenIsReadFastAndExactly(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		s := new(blackboard.State)
		fillState(s, rand.New(rand.NewPCG(seed, 0)))
		s.Version, s.Revision = "1", 1
		text := render(s, nil)
		for _, piece := range bothWays(t, text) {
			// A control character is an escape that Go reads in another way; a time that is none may be in a list.
			if !regexp.MustCompile(`\\x[0-9a-f]|crashes:( \[.*|\n\s+(- [^\n]*\n\s+)*- )null`).MatchString(piece) {
				t.Errorf("this is not read fast:\n%s", piece)
			}
		}
	}
}

// FuzzFast: a state reads the same with the fast reader and without it.
func FuzzFast(f *testing.F) {
	example := exampleText(f)
	f.Add(example)
	for section := range strings.SplitSeq(example, "\n\n") {
		f.Add(section + "\n")
	}
	for seed := range uint64(4) {
		s := new(blackboard.State)
		fillState(s, rand.New(rand.NewPCG(seed, 1)))
		f.Add(render(s, nil))
	}
	f.Add("version: 1.0\ngoal:\n  status: PLANNING\nagents:\n  coder-1:\n    role: Code Reviewer\n    task: task-1\nanomalies:\n  - task_id: task-1\n    logged_by: coder-1\n")
	f.Add("tasks:\n- id: task-1\n  rejection_reason: no\n  depends_on: task-2\n  blocked_questions: why\n- id: task-2\n  odd: 5\n  priority: high\n")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) < 1<<15 {
			bothWays(t, text)
		}
	})
}
