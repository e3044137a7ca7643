package pkg_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// `make test` runs some packages and tests without the race detector: it must have nothing to find there, and each test has to run once.
func TestWhatRunsWithoutTheDetectorStartsNoGoroutine(t *testing.T) {
	t.Parallel()
	packages, tests := makeList(t, "PLAIN_PACKAGES"), makeList(t, "PLAIN_TESTS")
	found := map[string][]string{} // packages by the name of the test
	err := filepath.WalkDir("..", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		pkg := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(path)), "../")
		inTest := strings.HasSuffix(path, "_test.go")
		if slices.Contains(packages, pkg) && !inTest && (startsGoroutine(file) || synchronizes(file)) {
			t.Errorf("%s starts or synchronizes goroutines: take %s out of PLAIN_PACKAGES", path, pkg)
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || !inTest || f.Recv != nil || !slices.Contains(tests, f.Name.Name) {
				continue
			}
			found[f.Name.Name] = append(found[f.Name.Name], pkg)
			if startsGoroutine(f) {
				t.Errorf("%s starts a goroutine: take it out of PLAIN_TESTS", f.Name.Name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range tests {
		if in := found[name]; len(in) != 1 || slices.Contains(packages, in[0]) {
			t.Errorf("%s of PLAIN_TESTS is a test of %q; want one package that is not in PLAIN_PACKAGES", name, in)
		}
	}
	if slices.Sort(tests); len(slices.Compact(tests)) != len(found) || len(found) == 0 {
		t.Errorf("PLAIN_TESTS names %q, found are %q", tests, slices.Sorted(maps.Keys(found)))
	}
}

// makeList returns the words of a variable of the Makefile.
func makeList(t *testing.T, name string) []string {
	t.Helper()
	text, err := os.ReadFile("../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	_, value, ok := strings.Cut(strings.ReplaceAll(string(text), "\\\n", ""), "\n"+name+" := ")
	if !ok {
		t.Fatalf("the Makefile has no %s", name)
	}
	value, _, _ = strings.Cut(value, "\n")
	return strings.Fields(value)
}

// synchronizes reports whether a file uses more of sync than values that are made once.
func synchronizes(file *ast.File) bool {
	found := slices.ContainsFunc(file.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == `"sync/atomic"` })
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			of, ok := s.X.(*ast.Ident)
			found = found || ok && of.Name == "sync" && s.Sel.Name != "OnceValue"
		}
		return true
	})
	return found
}

// startsGoroutine reports whether n has a go statement or a call of a method Go, as that of sync.WaitGroup.
func startsGoroutine(n ast.Node) bool {
	starts := false
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			starts = true
		case *ast.SelectorExpr:
			starts = starts || n.Sel.Name == "Go"
		}
		return true
	})
	return starts
}
