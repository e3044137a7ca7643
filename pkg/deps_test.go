// Package pkg_test holds what is true of all packages: which floor may import which, the words of the protocol, links,
// texts, commits.
package pkg_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "liza"

// floors are the folders of pkg/, lowest first. A package imports packages of its own floor and of lower ones
// (specs/architecture.md#packages).
var floors = []string{"base", "board", "run", "code", "verb", "team", "face"}

// A promise is what a package is trusted for and would break by an import or the use of an identifier.
type promise struct {
	packages []string // as import paths below the module; a folder stands for all that is in it
	not      []string // imports
	noUse    []string // identifiers
	reason   string
}

// promises are checked for everything but tests.
var promises = []promise{
	{[]string{"pkg/board/blackboard", "pkg/board/transition"},
		[]string{"os", "os/exec", "log", "log/slog", "math/rand", "math/rand/v2", "crypto/rand", "gopkg.in/yaml.v3"}, []string{"time.Now"},
		"the rules of the state are pure, so that every one can be tested without waiting"},
	{[]string{"pkg/run/exitcmd", "pkg/verb/plan"}, []string{"os", "os/exec"}, []string{"time.Now"}, "bytes of an answer become values, or a list of what is wrong with them"},
	{[]string{"pkg/run/prompt"}, []string{"math/rand", "math/rand/v2", "crypto/rand"}, []string{"time.Now"}, "the same input gives the same prompt, byte for byte"},
	{[]string{"pkg/run/checklist", "pkg/run/policy"}, []string{"os", "os/exec"}, nil, "it judges texts; nothing is read or started"},
	{[]string{"pkg/run/agent"}, []string{"liza/pkg/board/blackboard", "liza/pkg/board/store"}, nil, "an adapter works for any supervisor"},
	{[]string{"pkg/board/history"}, []string{"liza/pkg/board/transition", "liza/pkg/board/store"}, nil, "what happened never influences what happens"},
	{[]string{"pkg/board/store"}, []string{"liza/pkg/board/config", "liza/pkg/board/breaker"}, nil, "a store keeps a state safe; decisions happen outside of a write"},
	{[]string{"pkg/verb/board", "pkg/verb/integration", "pkg/verb/checks", "pkg/verb/worktree", "pkg/verb/verb"}, []string{"liza/pkg/run/agent", "liza/pkg/run/prompt"}, nil, "a verb changes state and repository; programs are started by the supervisor"},
	{[]string{"pkg/team/watch", "pkg/team/findings"}, []string{"liza/pkg/verb/verb", "liza/pkg/board/store"}, nil, "they look and tell; they never act"},
	{[]string{"pkg/team/supervisor"}, []string{"liza/pkg/team/watch", "liza/pkg/team/maintain"}, nil, "the command line starts the watcher beside the team"},
	{[]string{"cmd/liza-spawn"}, []string{"net/http", "crypto/tls", "liza/pkg/face/cli"}, nil, "each run waits for its start"},
}

// forTests are packages that no program contains.
var forTests = []string{"pkg/base/norace", "pkg/board/store/storetest", "pkg/board/store/postgres/pgtest", "pkg/code/git/gittest", "pkg/code/forge/forgetest", "pkg/verb/verb/verbtest"}

// onlyAtTheTop are identifiers for the command line and the mains: code below that reads the environment or ends the
// process cannot be tested.
var onlyAtTheTop = []string{"os.Exit", "os.Getenv", "os.LookupEnv"}

// under reports whether pkg is one of the packages, or in the folder of one.
func under(pkg string, packages []string) bool {
	return slices.ContainsFunc(packages, func(p string) bool { return pkg == p || strings.HasPrefix(pkg, p+"/") })
}

// floorOf returns the index of a package's floor, and whether it has one.
func floorOf(pkg string) (int, bool) {
	parts := strings.Split(pkg, "/")
	if len(parts) < 3 || parts[0] != "pkg" {
		return len(floors), false // mains and scripts are above all floors
	}
	at := slices.Index(floors, parts[1])
	return at, at >= 0
}

// check returns what is wrong with the files of a package, one sentence each.
func check(pkg string, files []*ast.File) []string {
	var wrong []string
	floor, housed := floorOf(pkg)
	if strings.HasPrefix(pkg, "pkg/") && !housed {
		wrong = append(wrong, pkg+" lies on no floor: "+strings.Join(floors, ", "))
	}
	not, noUse := forbidden(pkg)
	for _, f := range files {
		for _, imp := range importsOf(f) {
			below, ours := strings.CutPrefix(imp, module+"/")
			if other, ok := floorOf(below); ours && ok && other > floor {
				wrong = append(wrong, fmt.Sprintf("%s imports %s, which is on a higher floor", pkg, below))
			}
			if ours && under(below, forTests) && !under(pkg, forTests) {
				wrong = append(wrong, fmt.Sprintf("%s imports %s, which is for tests", pkg, below))
			}
			if reason, ok := not[imp]; ok {
				wrong = append(wrong, fmt.Sprintf("%s imports %s: %s", pkg, imp, reason))
			}
		}
		for _, use := range usesOf(f, slices.Collect(maps.Keys(noUse))) {
			wrong = append(wrong, fmt.Sprintf("%s uses %s: %s", pkg, use, noUse[use]))
		}
	}
	slices.Sort(wrong)
	return slices.Compact(wrong)
}

// forbidden returns the imports and the identifiers that a package must do without, each with its reason.
func forbidden(pkg string) (not, noUse map[string]string) {
	not, noUse = map[string]string{}, map[string]string{}
	if under(pkg, forTests) {
		return not, noUse
	}
	for _, p := range promises {
		if under(pkg, p.packages) {
			for _, imp := range p.not {
				not[imp] = p.reason
			}
			for _, use := range p.noUse {
				noUse[use] = p.reason
			}
		}
	}
	delete(not, module+"/"+pkg)
	if !under(pkg, []string{"cmd", "scripts", "pkg/face/cli"}) {
		for _, use := range onlyAtTheTop {
			noUse[use] = "environment and exit codes belong to the command line"
		}
	}
	if !under(pkg, []string{"pkg/board/store"}) {
		noUse["store.File"] = "what a caller needs is an interface (specs/decisions.md#D37)"
	}
	// These read /proc, or files that only Liza makes.
	if strings.HasPrefix(pkg, "pkg/") && !under(pkg, []string{"pkg/base/safefile", "pkg/base/secret", "pkg/board/seal", "pkg/run/agent", "pkg/run/sandbox"}) {
		noUse["os.ReadFile"] = "safefile.Read does not wait for a named pipe"
	}
	return not, noUse
}

func importsOf(f *ast.File) []string {
	var out []string
	for _, spec := range f.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err == nil {
			out = append(out, p)
		}
	}
	return out
}

// usesOf finds the identifiers ("time.Now") that a file uses, under whatever name
// it imports their package.
func usesOf(f *ast.File, identifiers []string) []string {
	local := map[string]string{} // name in this file → import path
	for _, spec := range f.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		as := path.Base(p)
		if spec.Name != nil {
			as = spec.Name.Name
		}
		local[as] = p
	}
	var out []string
	ast.Inspect(f, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := sel.X.(*ast.Ident); ok {
			if use := local[x.Name] + "." + sel.Sel.Name; slices.Contains(identifiers, use) {
				out = append(out, use)
			}
		}
		return true
	})
	return out
}

// listed is what `go list -json` says of a package.
type listed struct {
	ImportPath, Dir                   string
	GoFiles, CgoFiles, IgnoredGoFiles []string
}

func list(t *testing.T) []listed {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-e", "-json=ImportPath,Dir,GoFiles,CgoFiles,IgnoredGoFiles", "./...")
	cmd.Dir = ".."
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, &stderr)
	}
	var pkgs []listed
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs
		} else if err != nil {
			t.Fatalf("go list: %v", err)
		}
		pkgs = append(pkgs, p)
	}
}

func parse(t *testing.T, p listed) []*ast.File {
	t.Helper()
	var out []*ast.File
	for _, file := range slices.Concat(p.GoFiles, p.CgoFiles, p.IgnoredGoFiles) {
		if strings.HasSuffix(file, "_test.go") {
			continue // a test of another system
		}
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, file), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Errorf("%s: %v", p.ImportPath, err)
			continue
		}
		out = append(out, f)
	}
	return out
}

func TestImportsPointToLowerFloors(t *testing.T) {
	t.Parallel()
	pkgs := list(t)
	if len(pkgs) < 2 {
		t.Fatalf("go list names %d packages; the test looks at nothing", len(pkgs))
	}
	seen := map[string]bool{}
	for _, p := range pkgs {
		files := parse(t, p)
		if len(files) == 0 {
			continue // this folder: tests only
		}
		pkg := strings.TrimPrefix(p.ImportPath, module+"/")
		seen[pkg] = true
		for _, wrong := range check(pkg, files) {
			t.Error(wrong)
		}
	}
	for _, p := range promises {
		for _, pkg := range p.packages {
			if !seen[pkg] {
				t.Errorf("a promise is about %s, which does not exist", pkg)
			}
		}
	}
}

// The compiler refuses a circle of packages. A room is a package with those in its folder: there may be none between rooms either.
func TestRoomsHaveNoCircle(t *testing.T) {
	t.Parallel()
	room := func(pkg string) string { return strings.Join(strings.SplitN(pkg, "/", 4)[:3], "/") }
	to := map[string][]string{}
	for _, p := range list(t) {
		pkg := strings.TrimPrefix(p.ImportPath, module+"/")
		if _, housed := floorOf(pkg); !housed || under(pkg, forTests) {
			continue
		}
		for _, f := range parse(t, p) {
			for _, imp := range importsOf(f) {
				other := strings.TrimPrefix(imp, module+"/")
				if _, housed := floorOf(other); housed && room(other) != room(pkg) {
					to[room(pkg)] = append(to[room(pkg)], room(other))
				}
			}
		}
	}
	if circle := circleIn(to); circle != nil {
		t.Errorf("rooms import each other: %s", strings.Join(circle, " → "))
	}
}

// circleIn returns the nodes of one circle, or nil.
func circleIn(to map[string][]string) []string {
	const open, done = 1, 2
	state := map[string]int{}
	var path []string
	var visit func(string) []string
	visit = func(n string) []string {
		if state[n] == open {
			return append(slices.Clone(path[slices.Index(path, n):]), n)
		}
		if state[n] == done {
			return nil
		}
		state[n] = open
		path = append(path, n)
		for _, next := range to[n] {
			if circle := visit(next); circle != nil {
				return circle
			}
		}
		path = path[:len(path)-1]
		state[n] = done
		return nil
	}
	for n := range to {
		if circle := visit(n); circle != nil {
			return circle
		}
	}
	return nil
}

func TestImportsThatBreakARuleAreNamed(t *testing.T) {
	t.Parallel()
	if circle := circleIn(map[string][]string{"a": {"b"}, "b": {"c"}, "c": {"b"}}); len(circle) != 3 {
		t.Errorf("the circle is %v", circle)
	}
	tests := []struct{ what, pkg, source, want string }{
		{"an upward import", "pkg/run/agent", `package agent; import _ "liza/pkg/verb/verb"`, "pkg/run/agent imports pkg/verb/verb, which is on a higher floor"},
		{"a package of the same floor", "pkg/board/store", `package store; import _ "liza/pkg/board/history"`, ""},
		{"a package of the same floor that it must not know", "pkg/board/store", `package store; import _ "liza/pkg/board/config"`, "a store keeps a state safe"},
		{"a package on no floor", "pkg/utils", `package utils`, "pkg/utils lies on no floor"},
		{"a package for tests", "pkg/face/cli", `package cli; import _ "liza/pkg/verb/verb/verbtest"`, "which is for tests"},
		{"input and output in the rules", "pkg/board/transition", `package transition; import _ "os/exec"`, "pkg/board/transition imports os/exec: the rules of the state are pure"},
		{"the clock in the rules", "pkg/board/blackboard/audit", `package audit; import "time"; var now = time.Now`, "pkg/board/blackboard/audit uses time.Now"},
		{"the clock under another name", "pkg/run/prompt", `package prompt; import clock "time"; var at = clock.Now()`, "pkg/run/prompt uses time.Now"},
		{"an exit below the command line", "pkg/verb/verb", `package verb; import "os"; func f() { os.Exit(1) }`, "pkg/verb/verb uses os.Exit"},
		{"the environment below the command line", "pkg/code/git", `package git; import "os"; var home = os.Getenv("HOME")`, "pkg/code/git uses os.Getenv"},
		{"a file that may be a named pipe", "pkg/code/git", `package git; import "os"; var data, _ = os.ReadFile("x")`, "safefile.Read does not wait"},
		{"an exit of a main", "cmd/liza", `package main; import "os"; import "liza/pkg/face/cli"; func main() { os.Exit(cli.Liza(nil, nil)) }`, ""},
		{"a clock where it is allowed", "pkg/board/store", `package store; import "time"; var now = time.Now`, ""},
		{"a parent of its own", "pkg/run/agent/scripted", `package scripted; import _ "liza/pkg/run/agent"`, ""},
		{"a variable that is called os", "pkg/verb/verb", `package verb; func f(os struct{ Exit func(int) }) { os.Exit(1) }`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.what, func(t *testing.T) {
			t.Parallel()
			f, err := parser.ParseFile(token.NewFileSet(), "x.go", tt.source, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			got := strings.Join(check(tt.pkg, []*ast.File{f}), "\n")
			if tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
