package yamldoc

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// edited is what a person made of a file, with all that must survive.
const edited = `version:   1        # three blanks
revision: 7

jobs:
  - id: a                       # the first
    # keep an eye on this one
    text: |
      Line one
        indented

      # no comment
    status:    "OPEN"   # as of today
    colour: {red: 1,   green: 2}   # unknown to Liza
    count: 3
    files: [ x.go,
             y.go ]   # two
    hold: {by: ada, reason: "wait"}

    history:   # newest last
      # how it began
      - {time: 2026-01-19T14:00:00Z, event: created, note: 'kept as it is'}
      - time: 2026-01-19T14:01:00Z
        event: opened     # by hand
        mood: "good"

    # below the history
    zeal: 11
  # commented out:
  # - id: z
  - {id: b, status: DONE}
crew: {}
`

func TestAPatchChangesTheLinesOfWhatDiffersAndNoOthers(t *testing.T) {
	t.Parallel()
	doc := parse(t, newReader(), edited)
	e := doc.Edit()
	e.Patch("revision", 7, 8)
	e.Entries("jobs", change(t, doc, func(jobs map[string]*job) {
		a := jobs["a"]
		a.Status = "SHUT"
		a.Count = 0
		a.Worker = "coder-1"
		a.Due = "2026-02-01T00:00:00Z"
		a.Hold = nil
		a.History = append(append([]*event{}, a.History...), &event{Time: "2026-01-19T15:00:00Z", Event: "shut", By: "coder-1", Extra: map[string]any{"why": "it is done: really"}})
		jobs["b"].Files = []string{"a.go", "b c.go"}
	}))
	e.Patch("summary", nil, map[string]any{"open": 0, "shut": 1})
	want := strings.NewReplacer(
		"revision: 7\n", "revision: 8\n",
		`    status:    "OPEN"   # as of today`, `    status: "SHUT" # as of today`+"\n    worker: coder-1\n    due: 2026-02-01T00:00:00Z",
		"    count: 3\n", "",
		"    hold: {by: ada, reason: \"wait\"}\n", "",
		"        mood: \"good\"\n", "        mood: \"good\"\n      - {time: 2026-01-19T15:00:00Z, event: shut, by: coder-1, why: \"it is done: really\"}\n",
		"  - {id: b, status: DONE}\n", "  - {id: b, status: DONE, files: [a.go, \"b c.go\"]}\n",
		"crew: {}\n", "crew: {}\nsummary:\n  open: 0\n  shut: 1\n",
	).Replace(edited)
	if d := diff(string(apply(t, e).Bytes()), want); d != "" {
		t.Error(d)
	}
}

func TestAWholeFileIsPatchedWithTheSameCare(t *testing.T) {
	t.Parallel()
	text := "---\n" + edited + "...\n"
	doc := parse(t, newReader(), text)
	if !doc.Whole() {
		t.Fatal("the file was cut")
	}
	e := doc.Edit()
	e.Entries("jobs", change(t, doc, func(jobs map[string]*job) { jobs["a"].Status = "SHUT" }))
	e.Patch("more", nil, "text")
	want := strings.NewReplacer(`    status:    "OPEN"   # as of today`, `    status: "SHUT" # as of today`, "crew: {}\n", "crew: {}\nmore: text\n").Replace(text)
	if d := diff(string(apply(t, e).Bytes()), want); d != "" {
		t.Error(d)
	}
}

func TestEntriesAreAddedRemovedAndMoved(t *testing.T) {
	t.Parallel()
	r := newReader()
	doc := parse(t, r, edited)
	e := doc.Edit()
	e.Entries("jobs", []Item{{From: 1}, {From: -1, After: &job{ID: "c", Status: "NEW"}, Block: true}, {From: 0}})
	e.Entries("crew", []Item{{From: -1, Name: "x-2", After: map[string]any{"role": "coder"}, Block: true}, {From: -1, Name: "true", After: map[string]any{}}})
	doc = apply(t, e)
	text := string(doc.Bytes())
	a, b := strings.Index(text, "id: a "), strings.Index(text, "id: b,")
	if c := strings.Index(text, "  - id: c\n    status: NEW\n"); b < 0 || c < b || a < c {
		t.Errorf("b, c, a stand at %d, %d, %d in\n%s", b, c, a, text)
	}
	if !strings.Contains(text, "\ncrew:\n  x-2:\n    role: coder\n  \"true\": {}\n") {
		t.Errorf("the crew is not there:\n%s", text)
	}
	e = doc.Edit()
	e.Entries("jobs", nil)
	e.Entries("crew", []Item{{From: 1}})
	text = string(apply(t, e).Bytes())
	if !strings.Contains(text, "\njobs: []\n") || !strings.HasSuffix(text, "crew:\n  \"true\": {}\n") {
		t.Errorf("after removing:\n%s", text)
	}
	e = parse(t, r, text).Edit()
	e.Entries("jobs", []Item{{From: -1, After: &job{ID: "d", Status: "NEW"}, Block: true}})
	if text = string(apply(t, e).Bytes()); !strings.Contains(text, "\njobs:\n  - id: d\n    status: NEW\n") {
		t.Errorf("after adding to an empty list:\n%s", text)
	}
}

func TestARevisionIsAddedBehindTheVersion(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"version: 1\ngoal: x\n", "{version: 1, goal: x}\n"} {
		r := newReader()
		r.Order = []string{"version", "revision", "goal", "tasks"}
		e := parse(t, r, text).Edit()
		e.Patch("revision", 0, 1)
		doc := apply(t, e)
		if got := strings.Join(doc.Keys(), " "); got != "version revision goal" {
			t.Errorf("the sections are %q:\n%s", got, doc.Bytes())
		}
	}
}

func TestListsKeepWhatTheyKeep(t *testing.T) {
	t.Parallel()
	type item struct {
		N    int    `yaml:"n"`
		Text string `yaml:"text"`
	}
	before := []item{{1, "one"}, {2, "two"}, {3, "three"}, {4, "four"}}
	const text = "- {n: 1, text: one}  # A\n- {n: 2, text: two}  # B\n- {n: 3, text: three}  # C\n- {n: 4, text: four}  # D\n"
	for _, c := range []struct {
		after []item
		want  string
	}{
		{[]item{{2, "two"}, {3, "three"}, {4, "four"}, {5, "five"}}, "- {n: 2, text: two}  # B\n- {n: 3, text: three}  # C\n- {n: 4, text: four}  # D\n- {n: 5, text: five}\n"},
		{[]item{{1, "one"}, {3, "III"}, {4, "four"}}, "- {n: 1, text: one}  # A\n- {n: 3, text: III} # C\n- {n: 4, text: four}  # D\n"},
		{[]item{{0, "nil"}, {1, "one"}, {2, "two"}, {3, "three"}, {4, "four"}}, "- {n: 0, text: nil}\n" + text},
		{[]item{{1, "one"}, {9, "new"}, {4, "four"}}, "- {n: 1, text: one}  # A\n- {n: 9, text: new}\n- {n: 4, text: four}  # D\n"},
	} {
		root, err := parseTree(text)
		if err != nil {
			t.Fatal(err)
		}
		after := copyTree(root)
		Patch(after, before, c.after)
		got, err := splice(text, root, after)
		if err != nil {
			t.Fatal(err)
		}
		if d := diff(got, c.want); d != "" {
			t.Error(d)
		}
	}
}

func TestAValueOfAnotherShapeIsReplaced(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text          string
		before, after any
		want          string
	}{
		{"x: reason # why", "reason", map[string]any{"summary": "reason"}, "x: {summary: reason}"},
		{"x: {a: 1}", map[string]any{"a": 1}, "text", "x: text"},
		{"x: null # none", nil, []string{"a"}, "x: [a]"},
		{"x:\n  - a\n  - b\ny: 1", []string{"a", "b"}, []string{}, "x: []\ny: 1"},
		{"x: one", []string{"one"}, []string{"one", "two"}, "x: [one, two]"},
		{"x: 'it''s'", "it's", "it's 5", "x: 'it''s 5'"},
		{"x: 5", 5, "5", `x: "5"`},
		{"x: |\n  a\n  b\ny: 1", "a\nb\n", "a\nc\n", "x: |\n  a\n  c\ny: 1"},
		{"x: >\n  a\n  b\ny: 1", "a b\n", "a\n\nb", "x: |-\n  a\n\n  b\ny: 1"},
		{"x: {a: {b: 1}}", map[string]any{"a": map[string]any{"b": 1}}, map[string]any{"a": map[string]any{"b": 1, "c": []any{"x y", true}}}, `x: {a: {b: 1, c: ["x y", true]}}`},
	} {
		root, err := parseTree(c.text + "\n")
		if err != nil {
			t.Fatal(err)
		}
		after := copyTree(root)
		Patch(after.Content[1], c.before, c.after)
		got, err := splice(c.text+"\n", root, after)
		if err != nil || got != c.want+"\n" {
			t.Errorf("%q becomes %q, %v, want %q", c.text, got, err, c.want)
		}
	}
}

// What Encode writes must be read as the same text again, whatever it looks like.
func TestEveryTextIsReadAsItWas(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"", " ", "a", "a b", "null", "~", "true", "yes", "No", "on", "5", "0x1F", "0o17", "1e3", "1_000", ".5", ".inf", ".nan", "-", "--", "---", "...", "- a",
		"2026-01-19", "2026-01-19T14:00:00Z", "12:30:45", "1.0", "1.2.3", "a: b", "a:", ":a", "a #b", "#a", "a#b", "[a]", "{a", "&a", "*a", "!a", "|", ">", "%a", "@a", "`a`",
		`"`, `'`, `it's "odd"`, `back\slash`, "tab\there", "\ttab", "a\tb\nc", "line\nbreak", "\nline", "line\n", "line\n\n", "\n", "\n\n", " a\n b\n", "a \nb", "a\n  b\n c\n", "a\n\n\nb\n\n\n",
		"# a\n- b\n", "a\r\nb\r\n", "\u0085", "a\u2028b\u2029c\n", "\ufeff", "\x00\x07\x1b[0m\x7f", "ünïcödé ☃ 😀", "\ufffd", "a\xffb", "<<", "=", "? a", "key: |", strings.Repeat("long ", 500), "---\na\n", "a\n---\nb\n", "a\n...\n",
		"deadbeef", "1234567e89", "12345678901234567890", "sha256:ab", ".worktrees/task-3", "hello/**", "*.go", "$(rm -rf)", "{{.X}}", "日本語\n漢字\n",
	} {
		key := s[:min(len(s), 1000)] // YAML has a limit
		for _, v := range []any{s, []string{s, s}, map[string]any{"k": s, key: []any{s}}, &job{ID: s, Text: s, Files: []string{s}, History: []*event{{Time: at(s), Event: s}}, Options: map[string]any{"o": s}}} {
			for _, block := range []bool{true, false} {
				text := Section("x", v, "", nil, block)
				root, err := parseTree(text)
				if err != nil {
					t.Fatalf("%q is written as\n%s\n%v", s, text, err)
				}
				got := fresh(v)
				if err := root.Content[1].Decode(got); err != nil {
					t.Fatalf("%q is written as\n%s\n%v", s, text, err)
				}
				if !Alike(deref(got), v) {
					t.Errorf("%q is written as\n%sand read as %v", s, text, deref(got))
				}
			}
		}
	}
}

func fresh(v any) any {
	switch v.(type) {
	case string:
		return new(string)
	case []string:
		return new([]string)
	case map[string]any:
		return new(map[string]any)
	}
	return new(job)
}

func deref(v any) any {
	switch v := v.(type) {
	case *string:
		return *v
	case *[]string:
		return *v
	case *map[string]any:
		return *v
	}
	return v
}

func TestNewEntriesReadLikeWrittenByHand(t *testing.T) {
	t.Parallel()
	limit := 3
	j := &job{
		ID: "task-3", Text: "Greeting honours --name\nThe CLI prints.\n", Status: "OPEN", Limit: &limit, Due: "2026-01-19T14:00:00Z",
		Files: []string{"hello/**", "tests/**"}, Hold: &hold{By: "ada", Reason: "wait for the spec"},
		Options: map[string]any{"n": 1, "ratio": 0.5, "on": true, "none": nil, "list": []any{"a", 2}},
		History: []*event{
			{Time: "2026-01-19T14:01:00Z", Event: "created", By: "planner-1"},
			{Time: "2026-01-19T14:02:00Z", Event: "checkpoint", Extra: map[string]any{"intent": "Add " + strings.Repeat("much ", 30), "risks": []string{"none that we know of"}}},
		},
	}
	got := Section("jobs", []*job{j}, "Work to do.\nOne each.", nil, true)
	want := `# Work to do.
# One each.
jobs:
  - id: task-3
    text: |
      Greeting honours --name
      The CLI prints.
    status: OPEN
    limit: 3
    due: 2026-01-19T14:00:00Z
    files: [hello/**, tests/**]
    options: {list: [a, 2], "n": 1, none: null, "on": true, ratio: 0.5}
    hold: {by: ada, reason: "wait for the spec"}
    history:
      - {time: 2026-01-19T14:01:00Z, event: created, by: planner-1}
      - {time: 2026-01-19T14:02:00Z, event: checkpoint, intent: "Add ` + strings.Repeat("much ", 30) + `", risks: ["none that we know of"]}
`
	if len(`- {time: 2026-01-19T14:02:00Z, event: checkpoint, intent: "Add `)+150 > maxFlowMap {
		want = strings.Replace(want, "      - {time: 2026-01-19T14:02:00Z, event: checkpoint, intent: \"Add "+strings.Repeat("much ", 30)+"\", risks: [\"none that we know of\"]}\n",
			"      - time: 2026-01-19T14:02:00Z\n        event: checkpoint\n        intent: \"Add "+strings.Repeat("much ", 30)+"\"\n        risks: [\"none that we know of\"]\n", 1)
	}
	if d := diff(got, want); d != "" {
		t.Error(d)
	}
	got = Section("config", map[string]any{"lease": 1800, "name": "x"}, "", map[string]string{"lease": "seconds"}, false)
	if want := "config:\n  lease: 1800 # seconds\n  name: x\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestSameAndAlike(t *testing.T) {
	t.Parallel()
	one, uno := 1, 1
	for i, c := range []struct {
		a, b        any
		same, alike bool
	}{
		{nil, nil, true, true},
		{[]string(nil), []string{}, true, true},
		{map[string]any{}, map[string]any(nil), true, true},
		{&one, &uno, true, true},
		{(*int)(nil), &one, false, false},
		{map[string]any{"a": 1}, map[string]any{"a": int64(1)}, true, true},
		{map[string]any{"a": 1.0}, map[string]any{"a": 1}, true, true},
		{map[string]any{"a": "1"}, map[string]any{"a": 1}, false, true},
		{map[string]any{"a": at("x")}, map[string]any{"a": "x"}, false, true},
		{map[string]any{"a": []string{"x"}}, map[string]any{"a": []any{"x"}}, true, true},
		{map[string]any{"a": map[string]any{"b": 1}}, map[string]any{"a": map[any]any{"b": 1}}, true, true},
		{map[string]any{"a": nil}, map[string]any{"b": nil}, false, false},
		{map[string]any{"a": nil}, map[string]any{"a": ""}, false, false},
		{map[string]any{"a": []any{1}}, map[string]any{"a": []any{1, 2}}, false, false},
		{&job{ID: "a"}, &job{ID: "a", Files: []string{}}, true, true},
		{&job{ID: "a", History: []*event{{Event: "x"}}}, &job{ID: "a", History: []*event{{Event: "y"}}}, false, false},
	} {
		if got := Same(c.a, c.b); got != c.same {
			t.Errorf("%d: Same(%v, %v) is %v", i, c.a, c.b, got)
		}
		if got := Alike(c.a, c.b); got != c.alike {
			t.Errorf("%d: Alike(%v, %v) is %v", i, c.a, c.b, got)
		}
	}
}

func TestProblemsNamePathsAndLines(t *testing.T) {
	t.Parallel()
	var doc yaml.Node
	err := yaml.Unmarshal([]byte(`id: [a]
status: OPEN
staus: DONE
count: "high"
limit: 1.5
done: maybe
due: 2026-01-19T14:00:00Z
files: x
hold: [1]
options: {a: [1]}
history:
  - {time: now, event: {a: b}, anything: goes}
  - text
  - null
`), &doc)
	if err != nil {
		t.Fatal(err)
	}
	schema := NewSchema(reflect.TypeFor[job]())
	var got []string
	for _, p := range schema.Problems(doc.Content[0], new(job)) {
		got = append(got, fmt.Sprintf("%d:%d %s %s", p.Line, p.Column, p.Path, p.Message))
		if p.Unknown() != (p.Key == "staus") || p.Unknown() && len(p.Known) < 10 {
			t.Errorf("%+v", p)
		}
	}
	want := []string{
		"1:5 id 'id' must be a text, is a list",
		"3:1 staus ",
		`4:8 count 'count' must be an integer, is "high"`,
		"5:8 limit 'limit' must be an integer, is 1.5",
		`6:7 done 'done' must be true or false, is "maybe"`,
		`8:8 files 'files' must be a list, is "x"`,
		"9:7 hold 'hold' must be a map, is a list",
		"12:24 history[0].event 'event' must be a text, is a map",
		`13:5 history[1] 'history' must be a map, is "text"`,
		"14:5 history[2] the entry is empty and counts as none; the next change removes it",
	}
	if d := diff(strings.Join(got, "\n"), strings.Join(want, "\n")); d != "" {
		t.Error(d)
	}
}
