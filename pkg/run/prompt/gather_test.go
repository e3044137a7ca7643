package prompt

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"liza/pkg/board/blackboard"
)

func TestTheTreeHasTwoLevels(t *testing.T) {
	t.Parallel()
	got := Tree([]string{"go.mod", "pkg/a/x.go", "pkg/a/b/y.go", "pkg/z.go", "README.md", "cmd/liza/main.go", "odd\nname"}, "# Hello\n\nIt greets.\n")
	want := "README.md\ncmd/\n  liza/ (1 file)\ngo.mod\n\"odd\\nname\"\npkg/\n  a/ (2 files)\n  z.go\nKey files: README.md, go.mod\nREADME begins:\n# Hello\n\nIt greets."
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	var many []string
	for i := range 500 {
		many = append(many, fmt.Sprintf("f%03d", i))
	}
	if got := Tree(many, ""); strings.Count(got, "\n") != 200 || !strings.Contains(got, "[… 300 lines left out: git ls-files") {
		t.Errorf("a tree of 500 files: %d lines", strings.Count(got, "\n"))
	}
}

func TestExcludedPaths(t *testing.T) {
	t.Parallel()
	out := Excluded([]string{"node_modules", "build", "docs/**", "*.min.js", "web/*/gen", "a/b/"})
	for path, want := range map[string]bool{
		"node_modules/x.js": true, "web/node_modules/y": true, "builder/x": false, "sub/build/x": true, "docs/a/b.md": true, "docs": false, "x.min.js": true, "sub/x.min.js": false,
		"web/one/gen/x": true, "web/one/two/gen/x": false, ".liza/state.yaml": true, ".git/config": true, ".worktrees/t/x": true, "a/b/c": true, "a/bc": false, "src/main.go": false, "(": false,
	} {
		if got := out(path); got != want {
			t.Errorf("%s is excluded: %t, want %t", path, got, want)
		}
	}
}

// C-08: named files, at most as many as allowed, the same twice, never an excluded one.
func TestRelevantFiles(t *testing.T) {
	t.Parallel()
	task := &blackboard.Task{ID: "t", Title: "Parse greetings", Description: "Change main.go and internal/odd.txt:12; readGreeting is in `lib/util.go`.", DoneWhen: "the parser works", Scope: "IN: lib",
		RejectionReason: &blackboard.Rejection{Findings: []*blackboard.Finding{{File: "z.go", Message: "x"}}}}
	tracked := []string{"main.go", "internal/odd.txt", "lib/util.go", "z.go", "sub/util.go", "node_modules/greeting.js"}
	out := Excluded([]string{"node_modules"})
	tracked = slices.DeleteFunc(tracked, out)
	got := RelevantFiles(task, tracked, 10)
	var paths []string
	for _, f := range got {
		paths = append(paths, f.Path)
	}
	want := []string{"main.go", "internal/odd.txt", "lib/util.go", "z.go"}
	if !slices.Equal(paths, want) {
		t.Errorf("got %q, want %q", paths, want)
	}
	slices.Reverse(tracked)
	if again := RelevantFiles(task, tracked, 10); !slices.Equal(again, got) {
		t.Errorf("the second time: %v", again)
	}
	if got[0].Why != "named in the description" || got[3].Why != "named in the rejection" {
		t.Errorf("why: %v", got)
	}
	if none := RelevantFiles(task, tracked, 0); none != nil {
		t.Errorf("a limit of 0 gives %v", none)
	}
}

func FuzzGather(f *testing.F) {
	f.Add("a/b.go\nREADME.md", "change b.go", "**/x*")
	f.Add("/\n//\n\xff", "\xff:1:2", "[")
	f.Fuzz(func(t *testing.T, paths, text, pattern string) {
		tracked := slices.DeleteFunc(strings.Split(paths, "\n"), Excluded([]string{pattern}))
		Tree(tracked, text)
		RelevantFiles(&blackboard.Task{Description: text, SpecRef: text}, tracked, 10)
	})
}
