package yamldoc

import (
	"fmt"
	"strings"
	"testing"
)

// board is the version that both sides begin with.
const board = `version: 1
revision: 7   # grows

# what we want
goal: {text: "A greeting", status: OPEN}

jobs:
  # the first one
  - id: a
    text: "One"
    status: OPEN      # as of today
    priority: 1
    files: [x.go, y.go]
    hold: {by: ada, reason: "wait"}
    history:
      - {time: 2026-01-19T14:00:00Z, event: created}
  - id: b
    status: OPEN
    priority: 2
  - id: c
    status: OPEN

crew:
  x-1:
    role: coder
  x-2:
    role: reviewer
facts:
  - {at: 1, text: one}
  - {at: 2, text: two}
# the end
`

// A replacement turns the board into the version of one side: old, new, old, new, …
type replacement []string

func (r replacement) apply(t *testing.T, text string) string {
	t.Helper()
	for i := 0; i < len(r); i += 2 {
		if strings.Count(text, r[i]) != 1 {
			t.Fatalf("%q is there %d times", r[i], strings.Count(text, r[i]))
		}
		text = strings.Replace(text, r[i], r[i+1], 1)
	}
	return text
}

func merge3(t testing.TB, base, mine, theirs string) *Merged {
	t.Helper()
	merged, err := Merge3(parse(t, openReader(), base), parse(t, openReader(), mine), parse(t, openReader(), theirs), MergeOptions{Theirs: []string{"revision"}})
	if err != nil {
		t.Fatalf("cannot merge: %v", err)
	}
	if (merged.Data == nil) != (len(merged.Conflicts) > 0) {
		t.Fatalf("with the conflicts %+v the file is\n%s", merged.Conflicts, merged.Data)
	}
	if merged.Data != nil {
		parse(t, openReader(), string(merged.Data))
	}
	return merged
}

// Each row says what both sides did to the board and what comes of it.
var merges = []struct {
	name               string
	mine, theirs, want replacement
}{
	{
		name:   "two fields of one entry on neighbouring lines",
		mine:   replacement{"priority: 1", "priority: 5"},
		theirs: replacement{"status: OPEN      # as of today", "status: DONE      # as of today", "revision: 7", "revision: 9"},
		want:   replacement{"status: OPEN      # as of today\n    priority: 1", "status: DONE      # as of today\n    priority: 5", "revision: 7", "revision: 9"},
	},
	{
		name:   "the number of the version is always theirs",
		mine:   replacement{"revision: 7", "revision: 3"},
		theirs: replacement{"revision: 7", "revision: 9"},
		want:   replacement{"revision: 7", "revision: 9"},
	},
	{
		name:   "the number of the version, which they left alone",
		mine:   replacement{"revision: 7   # grows", "# count\nrevision: 3   # do not touch", "priority: 2", "priority: 9"},
		theirs: replacement{},
		want:   replacement{"revision: 7   # grows", "# count\nrevision: 7 # do not touch", "priority: 2", "priority: 9"},
	},
	{
		name:   "two keys of one line",
		mine:   replacement{`text: "A greeting"`, `text: 'A better greeting'`},
		theirs: replacement{"{text: \"A greeting\", status: OPEN}", "{text: \"A greeting\", status: SHUT}"},
		want:   replacement{"{text: \"A greeting\", status: OPEN}", "{text: 'A better greeting', status: SHUT}"},
	},
	{
		name:   "the same change on both sides",
		mine:   replacement{"priority: 2", "priority: 4"},
		theirs: replacement{"priority: 2", "priority: 0x4"},
		want:   replacement{"priority: 2", "priority: 0x4"},
	},
	{
		name:   "entries added on both sides",
		mine:   replacement{"  - id: b\n", "  - {id: m}   # mine\n  - id: b\n", "  - id: c\n    status: OPEN\n", "  - id: c\n    status: OPEN\n  - id: n\n    status: OPEN\n", "  x-2:\n", "  x-3: {role: cook}\n  x-2:\n"},
		theirs: replacement{"  - id: b\n", "  - {id: t}\n  - id: b\n", "  - id: c\n    status: OPEN\n", "  - id: c\n    status: OPEN\n  - id: u\n    status: OPEN\n"},
		want: replacement{"  - id: b\n", "  - {id: t}\n  - {id: m}   # mine\n  - id: b\n",
			"  - id: c\n    status: OPEN\n", "  - id: c\n    status: OPEN\n  - id: u\n    status: OPEN\n  - id: n\n    status: OPEN\n", "  x-2:\n", "  x-3: {role: cook}\n  x-2:\n"},
	},
	{
		name:   "the same entry added by both",
		mine:   replacement{"\ncrew:", "  - {id: n, text: same}\n\ncrew:"},
		theirs: replacement{"\ncrew:", "  - id: n\n    text: \"same\"\n\ncrew:"},
		want:   replacement{"\ncrew:", "  - id: n\n    text: \"same\"\n\ncrew:"},
	},
	{
		name:   "an entry removed by one side that the other left alone",
		mine:   replacement{"  - id: b\n    status: OPEN\n    priority: 2\n", ""},
		theirs: replacement{"  - id: c\n    status: OPEN", "  - id: c\n    status: DONE", "  x-1:\n    role: coder\n", ""},
		want:   replacement{"  - id: b\n    status: OPEN\n    priority: 2\n", "", "  - id: c\n    status: OPEN", "  - id: c\n    status: DONE", "  x-1:\n    role: coder\n", ""},
	},
	{
		name:   "a key removed, one emptied and one added",
		mine:   replacement{"    hold: {by: ada, reason: \"wait\"}\n", "", "[x.go, y.go]", "[]", "    text: \"One\"\n", "    text: \"One\"\n    mood: good   # unknown\n"},
		theirs: replacement{"status: OPEN      # as of today", "status: DONE      # as of today\n    worker: coder-1"},
		want: replacement{"    hold: {by: ada, reason: \"wait\"}\n", "", "[x.go, y.go]", "[]",
			"    text: \"One\"\n    status: OPEN      # as of today\n", "    text: \"One\"\n    mood: good   # unknown\n    status: DONE      # as of today\n    worker: coder-1\n"},
	},
	{
		name:   "comments and order in what they left alone",
		mine:   replacement{"  - id: b\n    status: OPEN\n    priority: 2\n", "  # on b\n  - id: b\n    priority: 2 # kept\n    status: 'OPEN'\n"},
		theirs: replacement{"  - id: c\n    status: OPEN", "  - id: c\n    status: DONE"},
		want:   replacement{"  - id: b\n    status: OPEN\n    priority: 2\n", "  # on b\n  - id: b\n    priority: 2 # kept\n    status: 'OPEN'\n", "  - id: c\n    status: OPEN", "  - id: c\n    status: DONE"},
	},
	{
		name:   "comments in what they changed",
		mine:   replacement{"    priority: 1\n", "    # look here\n    priority: 1   # high\n"},
		theirs: replacement{"status: OPEN      # as of today", "status: DONE      # as of today", `text: "One"`, `text: "Two"`},
		want:   replacement{"status: OPEN      # as of today\n    priority: 1\n", "status: DONE      # as of today\n    # look here\n    priority: 1   # high\n", `text: "One"`, `text: "Two"`},
	},
	{
		name:   "comments between the pieces",
		mine:   replacement{"  # the first one\n", "  # the very first one\n", "# the end\n", "# the end\n# really\n", "# what we want\n", "# what we all want\n", "crew:\n", "crew:   # all\n"},
		theirs: replacement{"# the end\n", "# fin\n# the end\n", "revision: 7", "revision: 8", "status: OPEN}", "status: SHUT}"},
		want: replacement{"  # the first one\n", "  # the very first one\n", "# the end\n", "# fin\n# the end\n# really\n", "# what we want\n", "# what we all want\n", "crew:\n", "crew:   # all\n",
			"revision: 7", "revision: 8", "status: OPEN}", "status: SHUT}"},
	},
	{
		name:   "sections added, moved and removed",
		mine:   replacement{"\ncrew:", "\nmood: good\ncrew:", "facts:\n  - {at: 1, text: one}\n  - {at: 2, text: two}\n", ""},
		theirs: replacement{"\ncrew:", "\nusage: {seconds: 1}\ncrew:", "# the end\n", "more: [1]\n# the end\n"},
		want:   replacement{"\ncrew:", "\nusage: {seconds: 1}\nmood: good\ncrew:", "facts:\n  - {at: 1, text: one}\n  - {at: 2, text: two}\n", "", "# the end\n", "more: [1]\n# the end\n"},
	},
	{
		name:   "entries in another order",
		mine:   replacement{"  - id: c\n    status: OPEN\n", "", "  - id: b\n", "  - id: c\n    status: OPEN\n  - id: b\n"},
		theirs: replacement{"  - id: c\n    status: OPEN\n", "  - id: c\n    status: DONE\n  - id: d\n"},
		want:   replacement{"  - id: c\n    status: OPEN\n\n", "\n", "  - id: b\n", "  - id: c\n    status: DONE\n  - id: b\n", "    priority: 2\n", "    priority: 2\n  - id: d\n"},
	},
	{
		name:   "the last entry removed",
		mine:   replacement{"  x-1:\n    role: coder\n", ""},
		theirs: replacement{"  x-2:\n    role: reviewer\n", ""},
		want:   replacement{"crew:\n  x-1:\n    role: coder\n  x-2:\n    role: reviewer\n", "crew:\n"},
	},
	{
		name:   "nothing is the same as empty",
		mine:   replacement{"[x.go, y.go]", "null"},
		theirs: replacement{"    files: [x.go, y.go]\n", "", "status: OPEN      #", "status: DONE      #"},
		want:   replacement{"    files: [x.go, y.go]\n", "", "status: OPEN      #", "status: DONE      #"},
	},
}

func TestWhatOneSideChangedIsTaken(t *testing.T) {
	t.Parallel()
	for _, row := range merges {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			merged := merge3(t, board, row.mine.apply(t, board), row.theirs.apply(t, board))
			if len(merged.Conflicts)+len(merged.Notes) > 0 {
				t.Errorf("conflicts: %+v, notes: %+v", merged.Conflicts, merged.Notes)
			}
			if d := diff(string(merged.Data), row.want.apply(t, board)); d != "" {
				t.Error(d)
			}
		})
	}
}

// The same rows where the versions are files that cannot be cut.
func TestWholeFilesAreMergedToTheSameValues(t *testing.T) {
	t.Parallel()
	for _, row := range merges {
		for version := range 3 {
			t.Run(fmt.Sprint(row.name, " ", version), func(t *testing.T) {
				t.Parallel()
				texts := []string{board, row.mine.apply(t, board), row.theirs.apply(t, board)}
				texts[version] = "---\n" + texts[version]
				merged := merge3(t, texts[0], texts[1], texts[2])
				if len(merged.Conflicts) > 0 {
					t.Errorf("conflicts: %+v", merged.Conflicts)
				}
				got, want := parse(t, openReader(), string(merged.Data)), parse(t, openReader(), row.want.apply(t, board))
				if !Same(tidy(open(got)), tidy(open(want))) {
					t.Errorf("merged to\n%s", merged.Data)
				}
			})
		}
	}
}

func TestWhatBothChangedIsAConflict(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name         string
		mine, theirs replacement
		path         string
		back         string    // the path the other way round, where it counts elements
		sides        [3]string // base, mine, theirs: place and value
	}{
		{
			"a field", replacement{"priority: 2", "priority: 3"}, replacement{"status: OPEN      # as of today\n", "status: OPEN\n    due: today\n", "priority: 2", "priority: 4"},
			"jobs[b].priority", "", [3]string{"19:5 2", "19:5 3", "20:5 4"},
		},
		{
			"a text", replacement{`"One"`, "|\n      One\n      and more"}, replacement{`"One"`, `""`},
			"jobs[a].text", "", [3]string{`10:5 "One"`, `10:5 "One\nand more\n"`, `10:5 ""`},
		},
		{
			"a key removed and changed", replacement{"    hold: {by: ada, reason: \"wait\"}\n", ""}, replacement{`"wait"`, "go on"},
			"jobs[a].hold", "", [3]string{`14:5 {by: ada, reason: "wait"}`, "9:5 absent", "14:5 {by: ada, reason: go on}"},
		},
		{
			"an entry removed and changed", replacement{"  - id: b\n    status: OPEN\n    priority: 2\n", ""}, replacement{"priority: 2", "priority: 4"},
			"jobs[b]", "", [3]string{"17:5 {id: b, status: OPEN, priority: 2}", "7:1 absent", "17:5 {id: b, status: OPEN, priority: 4}"},
		},
		{
			"an entry of a map changed and removed", replacement{"role: coder", "role: cook"}, replacement{"  x-1:\n    role: coder\n", ""},
			"crew[x-1]", "", [3]string{"24:3 {role: coder}", "24:3 {role: cook}", "23:1 absent"},
		},
		{
			"an entry added by both", replacement{"\ncrew:", "  - {id: n, text: mine}\n\ncrew:"}, replacement{"\ncrew:", "  - {id: n, text: theirs}\n\ncrew:"},
			"jobs[n]", "", [3]string{"7:1 absent", "22:5 {id: n, text: mine}", "22:5 {id: n, text: theirs}"},
		},
		{
			"a list that grew on both sides", replacement{"[x.go, y.go]", "[x.go, y.go, m.go]"}, replacement{"[x.go, y.go]", "[x.go, y.go, t.go]"},
			"jobs[a].files", "", [3]string{"13:5 [x.go, y.go]", "13:5 [x.go, y.go, m.go]", "13:5 [x.go, y.go, t.go]"},
		},
		{
			"an element without an id", replacement{"text: two", "text: mine"}, replacement{"text: one", "text: eins"},
			"facts", "", [3]string{"28:1 [{at: 1, text: one}, {at: 2, text: two}]", "28:1 [{at: 1, text: one}, {at: 2, text: mine}]", "28:1 [{at: 1, text: eins}, {at: 2, text: two}]"},
		},
		{
			"a value of another kind", replacement{"[x.go, y.go]", "all"}, replacement{"[x.go, y.go]", "[x.go]"},
			"jobs[a].files", "", [3]string{"13:5 [x.go, y.go]", "13:5 all", "13:5 [x.go]"},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			mine, theirs := row.mine.apply(t, board), row.theirs.apply(t, board)
			for shape, prefix := range map[string]string{"cut": "", "whole": "\ufeff---\n"} {
				merged := merge3(t, board, mine, prefix+theirs)
				back := merge3(t, board, theirs, prefix+mine)
				if len(merged.Conflicts) != 1 || len(back.Conflicts) != 1 {
					t.Fatalf("%s: there are the conflicts %+v, and %+v", shape, merged.Conflicts, back.Conflicts)
				}
				c, r := merged.Conflicts[0], back.Conflicts[0]
				if c.Path != row.path || r.Path != row.path && r.Path != row.back {
					t.Errorf("%s: the conflict is at %s and %s, not %s", shape, c.Path, r.Path, row.path)
				}
				if shape == "whole" {
					continue
				}
				if c.Mine != r.Theirs || c.Theirs != r.Mine || c.Base != r.Base {
					t.Errorf("the other way round it is %+v, not %+v", r, c)
				}
				if got := [3]string{c.Base.String(), c.Mine.String(), c.Theirs.String()}; got != row.sides {
					t.Errorf("the sides are\n%q, not\n%q", got, row.sides)
				}
			}
		})
	}
}

func (s Side) String() string {
	if s.Absent {
		s.Value = "absent"
	}
	return fmt.Sprintf("%d:%d %s", s.Line, s.Column, s.Value)
}

func TestAConflictInWhatAnAliasBringsIsAtTheAlias(t *testing.T) {
	t.Parallel()
	base := "one: &a {x: 1, y: 2}\ntwo: *a\n"
	merged := merge3(t, base, "one: &a {x: 1, y: 3}\ntwo: *a\n", "one: &a {x: 1, y: 4}\n\ntwo: *a\n")
	if len(merged.Conflicts) != 2 || merged.Conflicts[1].Path != "two.y" || merged.Conflicts[1].Theirs.String() != "3:1 4" {
		t.Errorf("the conflicts are %+v", merged.Conflicts)
	}
	merged = merge3(t, base, "one: &a {x: 1, y: 3}\ntwo: *a\n", "one: &a {x: 0, y: 2}\ntwo: *a\n")
	if got := string(merged.Data); len(merged.Conflicts) > 0 || got != "one: &a {x: 0, y: 3}\ntwo: {x: 0, y: 3}\n" {
		t.Errorf("merged to %q, conflicts %+v", got, merged.Conflicts)
	}
}

func TestOnlyWhatBothChangedIsAConflict(t *testing.T) {
	t.Parallel()
	merged := merge3(t, board,
		replacement{"priority: 1", "priority: 5", "priority: 2", "priority: 3", "role: coder", "role: cook"}.apply(t, board),
		replacement{"priority: 2", "priority: 4", "reviewer", "critic"}.apply(t, board))
	if len(merged.Conflicts) != 1 || merged.Conflicts[0].Path != "jobs[b].priority" {
		t.Fatalf("conflicts: %+v", merged.Conflicts)
	}
}

func TestACommentThatCannotBeKeptIsReported(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name         string
		mine, theirs replacement
		note         Note
	}{
		{"of an entry that is gone", replacement{"  - id: b\n", "  - id: b   # important\n"}, replacement{"  - id: b\n    status: OPEN\n    priority: 2\n", ""}, Note{17, "not kept: # important"}},
		{"of a line that changed", replacement{"# as of today", "# as of now"}, replacement{"status: OPEN      # as of today", "status: DONE # since then"}, Note{11, "not kept: # as of now"}},
		{"behind a value that they changed", replacement{"    status: OPEN\n    priority: 2\n", "    status: OPEN   # see #3\n    priority: 2\n"}, replacement{"    status: OPEN\n    priority: 2\n", "    status: DONE\n    priority: 2\n"}, Note{18, "not kept: # see #3"}},
		{"at the end", replacement{"# the end", "# fin"}, replacement{"# the end", "# over"}, Note{31, "not kept: # fin"}},
	} {
		merged := merge3(t, board, row.mine.apply(t, board), row.theirs.apply(t, board))
		if len(merged.Conflicts) > 0 || len(merged.Notes) != 1 || merged.Notes[0] != row.note {
			t.Errorf("a comment %s: conflicts %+v, notes %+v", row.name, merged.Conflicts, merged.Notes)
		}
	}
}

func TestMarksOfTheFileAreTheirs(t *testing.T) {
	t.Parallel()
	mine := replacement{"priority: 1", "priority: 5"}.apply(t, board)
	theirs := replacement{"priority: 2", "priority: 4"}.apply(t, board)
	want := replacement{"priority: 1", "priority: 5", "priority: 2", "priority: 4"}.apply(t, board)
	crlf := func(text string) string { return "\ufeff" + strings.ReplaceAll(text, "\n", "\r\n") }
	if got := string(merge3(t, board, crlf(mine), theirs).Data); got != want {
		t.Errorf("an editor that writes other line ends changed the file:\n%q", got)
	}
	if got := string(merge3(t, board, mine, crlf(theirs)).Data); got != crlf(want) {
		t.Errorf("the line ends of the file are lost:\n%q", got)
	}
	if got := merge3(t, board, crlf(board), theirs); string(got.Data) != theirs || len(got.Conflicts)+len(got.Notes) > 0 {
		t.Errorf("line ends count as a change: %+v", got)
	}
}
