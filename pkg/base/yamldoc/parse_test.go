package yamldoc

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

const sample = `# A board.
version: 1
revision: 42   # grows

# what we want
goal:
  text: "Provide a greeting CLI"   # in quotes
  nested: {deep: [1, 2]}

jobs:
  # the first one
  - id: a
    text: |
      One
      # not a comment
        - id: not a job

    status: OPEN
    odd: {kept: true}
  # about b
  - id: b
    status: DONE   # at last
    history:
      - {time: 2026-01-19T14:00:00Z, event: created}
crew:
  x-1:
    role: coder
  x-2: {role: planner}
more: text
# the end
`

func TestAFileIsCutAtItsSectionsAndEntries(t *testing.T) {
	t.Parallel()
	doc := parse(t, newReader(), sample)
	if doc.Whole() {
		t.Fatal("the file was not cut")
	}
	if got := strings.Join(doc.Keys(), " "); got != "version revision goal jobs crew more" {
		t.Errorf("the sections are %q", got)
	}
	if doc.text() != sample || string(doc.Bytes()) != sample {
		t.Error("put together again the file is another one")
	}
	jobs, _ := doc.Entries("jobs")
	if len(jobs) != 2 || !strings.HasPrefix(jobs[1].text, "  # about b\n  - id: b\n") {
		t.Fatalf("the jobs are %+v", jobs)
	}
	if a := jobs[0].Value().(*job); a.Text != "One\n# not a comment\n  - id: not a job\n" || a.Status != "OPEN" {
		t.Errorf("job a is %+v", a)
	}
	crew, _ := doc.Entries("crew")
	if len(crew) != 2 || crew[0].Name() != "x-1" || crew[1].Name() != "x-2" {
		t.Errorf("the crew is %+v", crew)
	}
	if _, ok := doc.Entries("goal"); ok {
		t.Error("goal has entries")
	}
	if _, ok := doc.Section("nothing"); ok {
		t.Error("a section is there that is not")
	}
}

func TestTheSecondVersionOfAFileKeepsWhatDidNotChange(t *testing.T) {
	t.Parallel()
	r := newReader()
	first, _ := parse(t, r, sample).Entries("jobs")
	inserted := strings.Replace(sample, "  # about b\n", "  - id: c\n    status: NEW\n  # about b\n", 1)
	second, _ := parse(t, r, inserted).Entries("jobs")
	if len(second) != 3 || second[0] != first[0] || second[2] != first[1] {
		t.Error("an entry with the same bytes was read again")
	}
	third, _ := parse(t, r, strings.Replace(inserted, "OPEN", "SHUT", 1)).Entries("jobs")
	if third[0] == second[0] || third[1] != second[1] || third[2] != second[2] {
		t.Error("not only the changed entry was read again")
	}
	if third[0].Value().(*job).Status != "SHUT" {
		t.Error("the changed entry was not read again")
	}
}

// Each of these has the same content as small, in a shape that cannot be cut or only in part.
var shapes = map[string]string{
	"flow":          `{version: 1, jobs: [{id: a, status: OPEN}, {id: b, status: DONE}], crew: {x-1: {role: coder}}}`,
	"json":          "{\"version\": 1,\n \"jobs\": [{\"id\": \"a\", \"status\": \"OPEN\"},\n\t{\"id\": \"b\", \"status\": \"DONE\"}], \"crew\": {\"x-1\": {\"role\": \"coder\"}}}\n",
	"flow list":     "version: 1\njobs: [{id: a, status: OPEN}, {id: b, status: DONE}]\ncrew:\n  x-1: {role: coder}\n",
	"anchors":       "version: 1\njobs:\n  - &one\n    id: a\n    status: OPEN\n  - <<: *one\n    id: b\n    status: DONE\ncrew: {x-1: {role: coder}}\n",
	"alias":         "version: 1\ncrew: &c\n  x-1: {role: coder}\njobs:\n  - {id: a, status: OPEN}\n  - {id: b, status: DONE}\nagain: *c\n",
	"zero indent":   "version: 1\njobs:\n- id: a\n  status: OPEN\n# b\n- id: b\n  status: DONE\ncrew:\n    x-1:\n            role: coder\n",
	"CRLF":          "version: 1\r\njobs:\r\n  - id: a\r\n    status: OPEN\r\n  - id: b\r\n    status: DONE\r\ncrew:\r\n  x-1:\r\n    role: coder\r\n",
	"mixed ends":    "version: 1\njobs:\r\n  - id: a\n    status: OPEN\r\n  - id: b\n    status: DONE\ncrew:\n  x-1:\n    role: coder\n",
	"BOM":           "\ufeffversion: 1\njobs:\n  - id: a\n    status: OPEN\n  - id: b\n    status: DONE\ncrew:\n  x-1:\n    role: coder\n",
	"no end":        "version: 1\njobs:\n  - id: a\n    status: OPEN\n  - id: b\n    status: DONE\ncrew:\n  x-1:\n    role: coder",
	"tabs":          "version:\t1\njobs:\n  - id:\ta\n    status: OPEN\n  - id: b\n    status: DONE\t# tab\ncrew:\n  x-1:\n    role: coder\n",
	"marker":        "---\nversion: 1\njobs:\n  - id: a\n    status: OPEN\n  - id: b\n    status: DONE\ncrew:\n  x-1:\n    role: coder\n...\n",
	"quoted keys":   "\"version\": 1\n'jobs':\n  - \"id\": a\n    status: OPEN\n  - id: b\n    status: DONE\ncrew:\n  \"x-1\":\n    role: coder\n",
	"question":      "? version\n: 1\njobs:\n  - ? id\n    : a\n    status: OPEN\n  - id: b\n    status: DONE\ncrew:\n  x-1:\n    role: coder\n",
	"uneven":        "version: 1\njobs:\n  -   id: a\n      status: OPEN\n  -\n    id: b\n    status: DONE\ncrew:\n  x-1: {role:\n   coder}\n",
	"fooling quote": "version: 1\njobs:\n  - id: a\n    status: \"OPEN\"\n  - id: b\n    status: DONE\n    text: \"x\n  - id: c\n    status: y\"\ncrew:\n  x-1:\n    role: coder\n",
}

func TestEveryShapeOfAFileIsRead(t *testing.T) {
	t.Parallel()
	for name, text := range shapes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc := parse(t, newReader(), text)
			jobs, ok := doc.Entries("jobs")
			if !ok || len(jobs) != 2 {
				t.Fatalf("there are %d jobs", len(jobs))
			}
			for i, want := range []job{{ID: "a", Status: "OPEN"}, {ID: "b", Status: "DONE"}} {
				got, ok := jobs[i].Value().(*job)
				if !ok || got.ID != want.ID || got.Status != want.Status {
					t.Errorf("job %d is %+v, want %+v", i, got, want)
				}
			}
			crew, _ := doc.Entries("crew")
			if len(crew) != 1 || crew[0].Name() != "x-1" {
				t.Errorf("the crew is %+v", crew)
			}
			if string(doc.Bytes()) != text {
				t.Error("the bytes are not those of the file")
			}
		})
	}
}

func TestEveryShapeOfAFileCanBeChanged(t *testing.T) {
	t.Parallel()
	for name, text := range shapes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc := parse(t, newReader(), text)
			e := doc.Edit()
			e.Patch("version", 1, 2)
			items := change(t, doc, func(jobs map[string]*job) {
				jobs["a"].Status = "SHUT"
				jobs["a"].History = append(jobs["a"].History, &event{Time: "2026-01-19T14:00:00Z", Event: "closed"})
			})
			e.Entries("jobs", append(items, Item{From: -1, After: &job{ID: "c", Status: "NEW"}, Block: true}))
			e.Entries("crew", []Item{{From: 0}, {From: -1, Name: "x-2", After: map[string]any{"role": "planner"}}})
			next := apply(t, e)
			again := parse(t, newReader(), string(next.Bytes()))
			for _, d := range []*Document{next, again} {
				jobs, _ := d.Entries("jobs")
				if len(jobs) != 3 {
					t.Fatalf("there are %d jobs in\n%s", len(jobs), d.Bytes())
				}
				a, b, c := jobs[0].Value().(*job), jobs[1].Value().(*job), jobs[2].Value().(*job)
				if a.Status != "SHUT" || len(a.History) != 1 || a.History[0].Event != "closed" || b.Status != "DONE" || c.ID != "c" {
					t.Errorf("the jobs are %+v %+v %+v in\n%s", a, b, c, d.Bytes())
				}
				if b.History != nil {
					t.Errorf("the change of one job shows in another:\n%s", d.Bytes())
				}
				crew, _ := d.Entries("crew")
				if len(crew) != 2 || crew[1].Name() != "x-2" {
					t.Errorf("the crew is %+v", crew)
				}
			}
			out := string(next.Bytes())
			if strings.Contains(text, "\r\n  - id: b\r") && strings.Count(out, "\n") != strings.Count(out, "\r\n") {
				t.Errorf("line ends were lost:\n%q", out)
			}
			if strings.HasPrefix(text, bom) != strings.HasPrefix(out, bom) {
				t.Error("the byte order mark was lost")
			}
		})
	}
}

func TestAFileThatCannotBeReadIsRefusedWithLineAndColumn(t *testing.T) {
	t.Parallel()
	bomb := "a: &a " + strings.Repeat("x", 1000) + "\n"
	for i, name := 0, "a"; i < 5; i++ {
		next := fmt.Sprintf("b%d", i)
		bomb += next + ": &" + next + " [" + strings.TrimSuffix(strings.Repeat("*"+name+", ", 10), ", ") + "]\n"
		name = next
	}
	for name, c := range map[string]struct {
		text         string
		line, column int
		reason       string
	}{
		"empty":                   {"", 1, 1, "the file is empty"},
		"comments only":           {"# nothing\n", 1, 1, "the file is empty"},
		"a list":                  {"- a\n- b\n", 1, 1, "the file is not a map of sections"},
		"a text":                  {"hello\n", 1, 1, "the file is not a map of sections"},
		"two documents":           {"version: 1\n---\nversion: 2\n", 2, 1, "several documents in one file"},
		"key twice":               {"version: 1\ngoal: {}\nversion: 2\n", 3, 1, `key "version" is there twice, first in line 1`},
		"key twice inside":        {"version: 1\njobs:\n  - id: a\n  - id: b\n    status: X\n    status: Y\n", 6, 5, `key "status" is there twice, first in line 5`},
		"entry twice":             {"version: 1\ncrew:\n  x-1:\n    role: a\n  # twin\n  x-1:\n    role: b\n", 6, 3, `key "x-1" is there twice, first in line 3`},
		"key twice in flow":       {"{a: 1, b: 2, a: 3}", 1, 14, `key "a" is there twice, first in line 1`},
		"alias bomb":              {bomb, 1, 1, "aliases expand beyond 10 MB"},
		"alias in itself":         {"a: &a\n  b: *a\n", 1, 4, "an alias contains itself"},
		"unknown alias":           {"a: 1\nb: *nobody\n", 0, 0, "unknown anchor 'nobody' referenced"},
		"open quote":              {"version: 1\njobs:\n  - id: a\n    status: \"OPEN\n  - id: b\n", 4, 13, "found unexpected end of stream"},
		"colon":                   {"version: 1\njobs:\n  - id: a\n    status: a: b\n  - id: b\n", 4, 14, "mapping values are not allowed in this context"},
		"tab":                     {"version: 1\njobs:\n  - id: a\n\tstatus: X\n", 4, 1, "found a tab character that violates indentation"},
		"half a file":             {"version: 1\ngoal:\n  text: [a, b\n", 3, 13, "did not find expected ',' or ']'"},
		"control character":       {"version: 1\ngoal: a\x01b\n", 0, 0, "control characters are not allowed"},
		"not UTF-8":               {"version: 1\ngoal: \xff\xfe\n", 0, 0, "invalid leading UTF-8 octet"},
		"key is a list":           {"? [a]\n: 1\n", 1, 3, "a key is not a plain text"},
		"merge conflict markers":  {"version: 1\n<<<<<<< HEAD\nrevision: 3\n=======\nrevision: 4\n>>>>>>> x\n", 2, 1, "could not find expected ':'"},
		"half a line of an entry": {"version: 1\njobs:\n  - id: a\n    sta", 4, 0, "could not find expected ':'"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := newReader().Parse([]byte(c.text))
			var e *SyntaxError
			if !errors.As(err, &e) {
				t.Fatalf("got %v, want a *SyntaxError", err)
			}
			if !strings.Contains(e.Reason, c.reason) || c.line > 0 && e.Line != c.line || c.column > 0 && e.Column != c.column {
				t.Errorf("got %v, want line %d, column %d: %s", e, c.line, c.column, c.reason)
			}
		})
	}
}

func TestAHugeFileIsRefused(t *testing.T) {
	t.Parallel()
	_, err := newReader().Parse(make([]byte, MaxSize+1))
	var e *SyntaxError
	if !errors.As(err, &e) || !strings.Contains(err.Error(), "200 MB, more than 200") {
		t.Fatalf("got %v", err)
	}
}

func TestAPathLeadsToLineAndColumn(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"cut": sample, "whole": "---\n" + strings.TrimPrefix(sample, "# A board.\n")} {
		doc := parse(t, newReader(), text)
		if doc.Whole() != (name == "whole") {
			t.Fatalf("%s: Whole is %v", name, doc.Whole())
		}
		for path, want := range map[string][2]int{
			"version":                {2, 1},
			"goal.text":              {7, 3},
			"goal.nested.deep[1]":    {8, 22},
			"goal.missing":           {6, 1},
			"jobs":                   {10, 1},
			"jobs[a]":                {12, 5},
			"jobs[a].status":         {18, 5},
			"jobs[a].nothing":        {12, 5},
			"jobs[b].status":         {22, 5},
			"jobs[1].status":         {22, 5},
			"jobs[#2].status":        {22, 5},
			"jobs[b].history[0]":     {24, 9},
			"jobs[b].history.0.time": {24, 10},
			"jobs[zz]":               {10, 1},
			"crew[x-2].role":         {28, 9},
			"crew.x-1.role":          {27, 5},
			"nothing":                {0, 0},
			"":                       {0, 0},
		} {
			if name == "whole" && want == [2]int{0, 0} {
				continue // then the place is that of the file
			}
			line, column := doc.Line(path)
			if line != want[0] || column != want[1] {
				t.Errorf("%s: %q is at %d, %d, want %d, %d", name, path, line, column, want[0], want[1])
			}
		}
		node, err := doc.Node("jobs[b].status")
		if err != nil || node.Value != "DONE" {
			t.Errorf("%s: the node is %+v, %v", name, node, err)
		}
		if _, err := doc.Node("jobs[b].nothing"); err == nil {
			t.Errorf("%s: a node was found that is not there", name)
		}
		jobs, _ := doc.Entries("jobs")
		if want, got := map[string]int{"cut": 19, "whole": 0}[name], doc.LinesBefore("jobs", jobs[1]); got != want {
			t.Errorf("%s: %d lines before job b, want %d", name, got, want)
		}
	}
}
