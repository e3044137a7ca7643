package pkg_test

import (
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// asOne are files that have to be read together, with the reason; "*" is every file of the package.
var asOne = map[string]struct {
	files []string
	why   string
}{
	"liza/pkg/dashboard/tui": {[]string{"*"}, "every message of the terminal changes the one model, and every part of the screen reads it"},
	"liza/pkg/policy":        {[]string{"parse.go", "policy.go", "rules.go", "words.go"}, "a shell within a command is judged as the command is"},
	"liza/pkg/yamldoc":       {[]string{"fast.go", "fast_read.go", "fast_text.go", "fast_value.go"}, "a value may be within a value"},
}

// The files of a package have an order: a file uses what is in files below it, and nothing below uses it.
// A newcomer can read them from the bottom up.
func TestFilesOfAPackageHaveNoCircle(t *testing.T) {
	t.Parallel()
	fset := token.NewFileSet()
	seen := map[string]bool{}
	for _, p := range typedAll(t, fset, "./...") {
		one := asOne[p.path]
		seen[p.path] = true
		if circle := circleOf(filesUsed(fset, p, one.files)); circle != nil {
			t.Errorf("%s: files use each other in a circle: %s", p.path, strings.Join(circle, " → "))
		}
		if one.files != nil && circleOf(filesUsed(fset, p, nil)) == nil {
			t.Errorf("%s: its files have an order; it need not be in asOne", p.path)
		}
	}
	for path := range asOne {
		if !seen[path] {
			t.Errorf("there is no package %s", path)
		}
	}
	if len(seen) < 40 {
		t.Errorf("the test sees %d packages, so it proves nothing", len(seen))
	}
}

func TestACircleOfFilesIsFound(t *testing.T) {
	t.Parallel()
	if c := circleOf(map[string][]string{"a": {"b"}, "b": {"c", "d"}, "c": nil, "d": {"a"}}); len(c) != 4 {
		t.Errorf("the circle of a, b and d is %v", c)
	}
	if c := circleOf(map[string][]string{"a": {"b", "c"}, "b": {"c"}}); c != nil {
		t.Errorf("there is no circle, but %v", c)
	}
}

// filesUsed says for each file of a package which others have what it names: functions,
// methods, types, constants and variables, not fields. Those that are one count as one file.
func filesUsed(fset *token.FileSet, p typedPackage, one []string) map[string][]string {
	uses := map[string][]string{}
	fileOf := func(at token.Pos) string {
		file := filepath.Base(fset.Position(at).Filename)
		if slices.Contains(one, file) || slices.Contains(one, "*") {
			return one[0]
		}
		return file
	}
	for id, o := range p.info.Uses {
		v, isVar := o.(*types.Var)
		_, isFunc := o.(*types.Func)
		if o.Pkg() == nil || o.Pkg().Path() != p.path || isVar && v.IsField() || !isFunc && o.Parent() != o.Pkg().Scope() {
			continue
		}
		from, to := fileOf(id.Pos()), fileOf(o.Pos())
		if from != to && !slices.Contains(uses[from], to) {
			uses[from] = append(uses[from], to)
		}
	}
	return uses
}

// circleOf is one circle of the graph, with its first node at both ends, nil when there is none.
func circleOf(uses map[string][]string) []string {
	done := map[string]bool{}
	var path []string
	var visit func(string) []string
	visit = func(file string) []string {
		if i := slices.Index(path, file); i >= 0 {
			return append(slices.Clone(path[i:]), file)
		}
		if done[file] {
			return nil
		}
		path = append(path, file)
		for _, next := range slices.Sorted(slices.Values(uses[file])) {
			if circle := visit(next); circle != nil {
				return circle
			}
		}
		path, done[file] = path[:len(path)-1], true
		return nil
	}
	for file := range uses {
		if circle := visit(file); circle != nil {
			return circle
		}
	}
	return nil
}
