package verbs

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"liza/pkg/verb/board"
)

// doing are the verbs that do something themselves.
func doing() []*Verb {
	return slices.DeleteFunc(slices.Clone(All()), func(v *Verb) bool { return !v.Does() })
}

func TestEachVerbIsDeclaredWhole(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, v := range All() {
		for _, name := range append([]string{v.Name}, v.Aliases...) {
			if seen[name] {
				t.Errorf("the name %s is there twice", name)
			}
			seen[name] = true
		}
		if v.Of != "" {
			if v.Usage == "" || v.Help == "" || v.Route == "" && v.Tool == nil || Find(v.Of) == nil {
				t.Errorf("%s lacks usage, help or its command %s, or nobody can call it", v.Name, v.Of)
			}
			continue
		}
		if above, _, below := strings.Cut(v.Name, " "); below && !seen[above] {
			t.Errorf("%s has no verb %s before it", v.Name, above)
		} else if !below && v.Group == "" {
			t.Errorf("%s is in no group of the help", v.Name)
		}
		if v.Usage == "" || v.Help == "" || len(v.Examples) < 2 || strings.HasSuffix(v.Usage, ".") {
			t.Errorf("%s lacks usage, help or two examples", v.Name)
		}
		for _, example := range v.Examples {
			if !strings.Contains(example, "liza") {
				t.Errorf("%s: the example %q calls nothing", v.Name, example)
			}
		}
	}
	for _, v := range doing() {
		optional := false
		for _, f := range v.Fields(CLI) {
			if f.Help == "" {
				t.Errorf("%s: the field %s is not explained", v.Name, f.Name)
			}
			if f.Arg != "" && f.Required && strings.HasPrefix(f.Arg, "[") && v.Name != "edit" && v.Name != "stop" {
				t.Errorf("%s: the argument %s may be left out, the field may not", v.Name, f.Arg)
			}
			optional = optional || !f.Required
		}
		for _, name := range v.Without {
			if _, ok := reflect.TypeOf(reflect.New(v.input).Elem().Interface()).FieldByNameFunc(func(n string) bool {
				f, _ := v.input.FieldByName(n)
				tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
				return tag == name
			}); !ok {
				t.Errorf("%s is without a field %s that its input does not have", v.Name, name)
			}
		}
		for _, part := range strings.Split(v.Route, "/") {
			if name, ok := strings.CutPrefix(part, "{"); ok && !slices.ContainsFunc(v.Fields(HTTP), func(f Field) bool { return f.Name+"}" == name && f.Type.Kind() == reflect.String }) {
				t.Errorf("%s: the path %s names no text of the input", v.Name, v.Route)
			}
		}
	}
}

// What the command line reads and what the same object in JSON says is one input.
func TestTheCommandLineAndJSONAreTheSameInput(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		verb    string
		args    []string
		options map[string][]string
		json    string
	}{
		{"submit", []string{"t"}, map[string][]string{"no-tests": {"docs"}, "evidence": {"a,b", "c"}}, `{"task": "t", "no_tests": "docs", "evidence": ["a,b", "c"]}`},
		{"add-task", nil, map[string][]string{"id": {"t"}, "depends": {"a, b"}, "limit": {"max_iterations=3"}, "priority": {"2"}, "draft": {"true"}},
			`{"id": "t", "depends_on": ["a", "b"], "limits": {"max_iterations": 3}, "priority": 2, "draft": true}`},
		{"add-task", nil, map[string][]string{"id": {"t"}}, `{"id": "t"}`},
		{"unblock", []string{"t"}, map[string][]string{"reason": {"r"}, "depends": {""}}, `{"task": "t", "reason": "r", "depends_on": []}`},
		{"unblock", []string{"t"}, map[string][]string{"reason": {"r"}}, `{"task": "t", "reason": "r"}`},
		{"supersede", []string{"t"}, map[string][]string{"reason": {"r"}, "by": {"a,,b"}}, `{"task": "t", "reason": "r", "by": ["a", "b"]}`},
		{"discover", []string{"x"}, map[string][]string{"task": {"t"}}, `{"text": "x", "task": "t", "severity": "low", "urgency": "deferred"}`},
		{"finalize", []string{"a", "b"}, nil, `{"tasks": ["a", "b"]}`},
		{"claim", nil, nil, ``},
		{"claim", []string{"t"}, nil, `{"task": "t"}`},
		{"resume", nil, nil, `{}`},
		{"anomaly", nil, map[string][]string{"type": {"x-a"}, "task": {"t"}, "detail": {"a=1=0", " b =2"}}, `{"type": "x-a", "task": "t", "details": {"a": "1=0", "b": "2"}}`},
		{"verdict", []string{"t", "reject"}, map[string][]string{"finding": {"error|tests|a.go:3|no test|add one"}, "inject": {`{"detail": "d", "expect": "e"}`}, "prior": {"1=partial"}},
			`{"task": "t", "verdict": "reject", "findings": [{"severity": "error", "check": "tests", "file": "a.go", "line": 3, "message": "no test", "fix": "add one"}],
			  "inject": [{"detail": "d", "expect": "e"}], "prior": [{"n": 1, "state": "PARTIAL"}]}`},
		{"edit", []string{"t"}, map[string][]string{"priority": {"0"}, "desc": {"d"}}, `{"task": "t", "priority": 0, "description": "d"}`},
	} {
		v := Find(c.verb)
		parsed, err := v.Parse(c.args, c.options)
		if err != nil {
			t.Errorf("%s %v %v: %v", c.verb, c.args, c.options, err)
			continue
		}
		decoded, err := v.Decode(MCP, []byte(c.json), nil)
		if err != nil || !reflect.DeepEqual(parsed, decoded) {
			t.Errorf("%s: the command line is %+v, JSON is %+v, %v", c.verb, parsed, decoded, err)
		}
	}
}

func TestAPlaceIsCutIntoFileAndLine(t *testing.T) {
	t.Parallel()
	for place, want := range map[string]struct {
		path string
		line int
	}{"a.go:12": {"a.go", 12}, "a.go": {"a.go", 0}, "odd:7:0": {"odd:7", 0}, "odd:x": {"odd:x", 0}, ".": {"", 0}} {
		if path, line := cutLine(place); path != want.path || line != want.line {
			t.Errorf("%s is %s, %d", place, path, line)
		}
	}
}

func TestWhatIsNotAnInputIsRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		verb string
		face Face
		json string
		want string
	}{
		{"tell", HTTP, `{"text": "x", "colour": 1}`, `unknown field "colour"`},
		{"release", MCP, `{"task": "t", "reason": "r", "coder": true}`, `unknown field "coder"`},
		{"stop", HTTP, `{"task": "t"}`, `unknown field "task"`},
		{"merge", MCP, `{"again": true}`, `unknown field "again"`},
		{"tell", HTTP, `[1]`, "cannot unmarshal"},
		{"tell", HTTP, `{"text": "x"} {}`, "one object"},
		{"tell", HTTP, `{"text": 1}`, "cannot unmarshal"},
	} {
		if in, err := Find(c.verb).Decode(c.face, []byte(c.json), nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s with %s is %+v, %v; want %q", c.verb, c.json, in, err, c.want)
		}
	}
	for _, c := range []struct {
		verb    string
		options map[string][]string
		want    string
	}{
		{"add-task", map[string][]string{"limit": {"max_iterations=-1"}}, "whole number of 0 or more"},
		{"add-task", map[string][]string{"limit": {"max_iterations"}}, "key=value"},
		{"anomaly", map[string][]string{"detail": {"=x"}}, "key=value"},
		{"verdict", map[string][]string{"inject": {"{"}}, "must be a JSON object"},
		{"verdict", map[string][]string{"inject": {`{"expect": "e"}`}}, "--inject"},
		{"verdict", map[string][]string{"prior": {"0=PARTIAL"}}, "N=RESOLVED"},
		{"verdict", map[string][]string{"prior": {"1=SOLVED"}}, "N=RESOLVED"},
		{"verdict", map[string][]string{"finding": {"bad"}}, ""},
	} {
		if in, err := Find(c.verb).Parse([]string{"t", "reject"}[:len(Find(c.verb).arguments())], c.options); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s with %v is %+v, %v; want %q", c.verb, c.options, in, err, c.want)
		}
	}
}

// The names in a path are fields, whatever the body says.
func TestThePathIsStrongerThanTheBody(t *testing.T) {
	t.Parallel()
	in, err := Find("hold").Decode(HTTP, []byte(`{"task": "other", "reason": "r"}`), map[string]string{"task": "t"})
	if err != nil || in != (hold{Task: "t", Reason: "r"}) {
		t.Errorf("the input is %+v, %v", in, err)
	}
	page, err := Find("add-task").Decode(HTTP, nil, nil)
	if err != nil || !page.(newTask).fill {
		t.Errorf("a task from the page is %+v, %v; want one whose id is found", page, err)
	}
	if other, err := Find("add-task").Decode(MCP, nil, nil); err != nil || other.(newTask).fill {
		t.Errorf("a task of a program is %+v, %v; want one that has its own id", other, err)
	}
}

// A default in words and one in the input say the same, and every one can be read.
func TestDefaultsCanBeRead(t *testing.T) {
	t.Parallel()
	for _, v := range doing() {
		in := reflect.New(v.input).Elem()
		for _, f := range v.Fields(CLI) {
			if f.Default == "" {
				continue
			}
			if err := f.set(in.FieldByIndex(f.index), []string{f.Default}, v.Name); err != nil || in.FieldByIndex(f.index).IsZero() {
				t.Errorf("%s: the default of %s is '%s', %v", v.Name, f.Name, f.Default, err)
			}
			if f.Required || f.Values != nil && !slices.Contains(f.Values, f.Default) {
				t.Errorf("%s: %s is required, or '%s' is none of %v", v.Name, f.Name, f.Default, f.Values)
			}
		}
	}
}

func TestResultsAreObjectsInJSON(t *testing.T) {
	t.Parallel()
	for _, result := range []any{merges{}, knownFacts{}, archivedFacts{}, approvedFacts{}, started{lag: "x"}, board.Done{}} {
		if text, err := json.Marshal(result); err != nil || text[0] != '{' || strings.Contains(string(text), "lag") {
			t.Errorf("%T is %s, %v", result, text, err)
		}
	}
}
