package pkg_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// openers open, list or write what is at a path, and follow what a run has put there.
var openers = map[string][]string{
	"os":       {"Open", "OpenFile", "OpenRoot", "ReadFile", "WriteFile", "Create", "ReadDir", "Readlink", "DirFS", "CopyFS", "Truncate"},
	"safefile": {"Read", "Open", "OpenFile", "OpenLog", "Append", "Replace", "Stage", "Truncate", "Walk"},
}

// knowRuns are the packages that have paths below folders that a run may write: worktrees, git folders, private and shared folders of runs.
var knowRuns = []string{"code/git", "code/merge", "code/review", "code/seed", "run/broker", "run/service", "team/maintain", "team/supervisor", "team/wall", "verb/checks", "verb/outcome", "verb/worktree"}

// Below a folder that a run may write everything is opened by safefile.OpenWithin or by a root. Each function that opens something by its path
// is in testdata/opens.txt, under the reason why no run can exchange that.
func TestNothingThatARunMayExchangeIsOpenedByItsPath(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../testdata/opens.txt")
	if err != nil {
		t.Fatal(err)
	}
	entered := map[string]bool{}
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			entered[line] = true
		}
	}
	found := map[string]string{}
	for _, name := range knowRuns {
		files, err := filepath.Glob(name + "/*.go")
		if err != nil || len(files) == 0 {
			t.Fatal(name, err)
		}
		for _, file := range files {
			if !strings.HasSuffix(file, "_test.go") {
				opensIn(t, file, found)
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(found)) {
		if !entered[key] {
			t.Errorf("%s opens something by its path (%s): use safefile.OpenWithin, or enter it in testdata/opens.txt where no run may write that folder", key, found[key])
		}
	}
	for key := range entered {
		if found[key] == "" {
			t.Errorf("testdata/opens.txt has %s, which opens nothing by its path", key)
		}
	}
}

func opensIn(t *testing.T, file string, found map[string]string) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range parsed.Decls {
		name := "variables"
		if f, is := d.(*ast.FuncDecl); is {
			name = f.Name.Name
		}
		ast.Inspect(d, func(n ast.Node) bool {
			sel, is := n.(*ast.SelectorExpr)
			if !is {
				return true
			}
			if x, is := sel.X.(*ast.Ident); is && slices.Contains(openers[x.Name], sel.Sel.Name) {
				found[filepath.ToSlash(filepath.Dir(file))+" "+name] = x.Name + "." + sel.Sel.Name
			}
			return true
		})
	}
}
