package pkg_test

import (
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// layered are the packages whose files have an order: a file uses what is in files below it, and
// nothing below uses it. A newcomer can read them from the bottom up.
var layered = []string{"liza/pkg/transition", "liza/pkg/verb", "liza/pkg/merge", "liza/pkg/supervisor", "liza/pkg/sprint", "liza/pkg/outcome", "liza/pkg/landing",
	"liza/pkg/importer", "liza/pkg/cli", "liza/pkg/store"}

func TestFilesOfALayeredPackageHaveNoCircle(t *testing.T) {
	t.Parallel()
	fset := token.NewFileSet()
	for _, p := range typedAll(t, fset, "./pkg/...") {
		if !slices.Contains(layered, p.path) {
			continue
		}
		uses := filesUsed(fset, p)
		if len(uses) == 0 {
			t.Errorf("%s: the test sees %d files, so it proves nothing", p.path, len(uses))
		}
		if circle := circleOf(uses); circle != nil {
			t.Errorf("%s: files use each other in a circle: %s", p.path, strings.Join(circle, " → "))
		}
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
// methods, types, constants and variables, not fields.
func filesUsed(fset *token.FileSet, p typedPackage) map[string][]string {
	uses := map[string][]string{}
	for id, o := range p.info.Uses {
		v, isVar := o.(*types.Var)
		_, isFunc := o.(*types.Func)
		if o.Pkg() == nil || o.Pkg().Path() != p.path || isVar && v.IsField() || !isFunc && o.Parent() != o.Pkg().Scope() {
			continue
		}
		from, to := filepath.Base(fset.Position(id.Pos()).Filename), filepath.Base(fset.Position(o.Pos()).Filename)
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
