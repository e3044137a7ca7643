// Package pkg_test holds the cut of the packages as data: which packages there are,
// what each may import, and why. A new package is a decision, so it has to be
// entered here.
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
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "liza"

// rule is one line of the table. Imports point to lower levels; two packages of one
// level never import each other, except a sub-package its own parent.
type rule struct {
	level  int
	may    []string // packages of ours
	upTo   int      // besides, all of the levels 0 to upTo (when it is not 0) but those named
	but    []string
	reason string   // why nothing else
	not    []string // standard or foreign imports that would break the promise
	noUse  []string // identifiers that would break it
}

func imports(names ...string) []string { return names }

// rules is the table. Names are relative to pkg/, but for protocols.
var rules = map[string]rule{
	"blackboard": {level: 0, reason: "a state is a value that anybody may look at; how it may change, others know",
		not: []string{"os", "os/exec", "log", "log/slog", "math/rand", "math/rand/v2", "crypto/rand", "gopkg.in/yaml.v3"}, noUse: []string{"time.Now"}},
	"blackboard/audit": {level: 0, may: imports("blackboard"), reason: "what a state must say does not depend on how it came about; transitions know nothing of it",
		not: []string{"os", "os/exec", "log", "log/slog", "gopkg.in/yaml.v3"}, noUse: []string{"time.Now"}},
	"transition": {level: 1, may: imports("blackboard"), reason: "the rules of the state are pure, so that every one can be tested without waiting",
		not: []string{"os", "os/exec", "log", "log/slog", "math/rand", "math/rand/v2", "crypto/rand", "gopkg.in/yaml.v3"}, noUse: []string{"time.Now"}},
	"agent":          {level: 0, reason: "an adapter must work for any supervisor"},
	"agent/scripted": {level: 0, may: imports("agent"), reason: "it stands in for a program that knows nothing of Liza"},
	"safefile":       {level: 0, reason: "it must not know what is in the file"},
	"yamldoc":        {level: 0, reason: "it must not know what a task is"},
	"secret":         {level: 0, reason: "everything that writes uses it, so it can use nobody"},
	"seal":           {level: 0, reason: "it keeps a key and seals texts; what an approval is, others know"},
	"policy":         {level: 0, reason: "it judges a text; nothing is started and nothing is read"},
	"checklist":      {level: 0, reason: "it reads and ticks texts; which file they are in, others know", not: []string{"os", "os/exec"}},
	"prose":          {level: 0, reason: "it makes short texts out of what it is given"},
	"protocols":      {level: 0, reason: "it holds texts"},
	"sandbox":        {level: 0, reason: "it knows paths, hosts and limits; what a task may have, the supervisor knows"},
	"broker":         {level: 0, reason: "it carries a command line and its answer; what a verb is, others know"},
	"toolchain":      {level: 0, reason: "it knows tools and where they are installed; what is built, others know"},
	"forge":          {level: 0, reason: "it speaks to a forge; what lands there, others know"},
	"proxy":          {level: 0, reason: "it knows hosts; whose they are, the supervisor knows"},

	"exitcmd": {level: 2, may: imports("blackboard", "transition"), reason: "it is pure: bytes of an answer become values, or a list of what is wrong with them",
		not: []string{"os", "os/exec"}, noUse: []string{"time.Now"}},
	// yamldoc: an archived task is read by the same rules as one on the board.
	"history":  {level: 1, may: imports("blackboard", "safefile", "secret", "yamldoc"), reason: "what happened never influences what happens"},
	"activity": {level: 1, may: imports("safefile"), reason: "it keeps lines about runs; whose runs they are, the supervisor knows"},
	"breaker":  {level: 2, may: imports("blackboard", "transition"), reason: "it judges events that it is given and keeps no state of its own"},
	// safefile, here and below: a named pipe in the place of a file must not be waited for.
	"git":    {level: 1, may: imports("safefile"), reason: "it knows repositories and worktrees, not tasks"},
	"config": {level: 1, may: imports("yamldoc", "safefile"), reason: "settings know no command line and no state"},
	"role":   {level: 1, may: imports("blackboard", "yamldoc", "safefile"), reason: "a role is a text; it starts nothing"},
	"skill":  {level: 1, may: imports("safefile"), reason: "a skill is a folder with a manifest; others start it"},
	"notify": {level: 1, may: imports("safefile"), reason: "it delivers what it is given and knows no board"},
	// safefile: the log of a command is bounded. agent: its reaper ends what a command leaves, too.
	"review": {level: 2, may: imports("agent", "blackboard", "git", "safefile"), reason: "checks return findings; others store them"},

	"plan": {level: 3, may: imports("blackboard", "exitcmd", "config", "skill", "policy", "prose", "transition"),
		reason: "it is pure: a planner's answer becomes tasks, or a list of what is wrong with it; worktrees and secrets are the verb's",
		not:    []string{"os", "os/exec"}, noUse: []string{"time.Now"}},
	"project": {level: 2, may: imports("git", "config", "safefile"), reason: "it says where things are and decides nothing"},
	"store": {level: 2, may: imports("blackboard", "blackboard/audit", "history", "prose", "yamldoc", "safefile", "seal", "transition"),
		reason: "a store keeps a state safe; git, agents and decisions happen outside of a write"},
	"store/postgres": {level: 2, may: imports("blackboard", "history", "store", "yamldoc", "safefile"),
		reason: "it keeps rows; what a change means, the store's engine knows"},
	"store/postgres/pgtest": {level: 0, reason: "it starts a server for tests and knows nothing of boards"},
	"store/mirror": {level: 2, may: imports("blackboard", "history", "prose", "store", "yamldoc", "safefile"),
		reason: "it keeps a copy of any shared board; what a database is, it does not know"},
	"store/storetest": {level: 2, may: imports("blackboard", "history", "store", "transition"), reason: "every backend must pass it"},
	"prompt": {level: 2, may: imports("blackboard", "role", "secret", "protocols", "prose", "transition"),
		reason: "the same input gives the same prompt, byte for byte",
		not:    []string{"math/rand", "math/rand/v2", "crypto/rand"}, noUse: []string{"time.Now"}},

	// safefile: merges are serialised by a lock file of their own, merge.lock.
	"merge": {level: 3, may: imports("blackboard", "store", "git", "review", "safefile", "transition"), reason: "merging is deterministic work on state and repository"},
	"watch": {level: 3, may: imports("blackboard", "store", "history", "breaker", "safefile", "transition"), reason: "it looks and tells; it never acts"},

	"verb": {level: 4, upTo: 3, but: imports("agent", "agent/scripted", "prompt", "watch", "store/storetest", "store/postgres", "store/mirror"),
		reason: "a verb has its effects on state and repository; starting programs is the supervisor's"},

	"sprint":   {level: 5, upTo: 4, but: imports("agent", "agent/scripted", "prompt", "store/storetest", "store/postgres", "store/mirror"), reason: "goals, sprints and orders of people are made of verbs; no verb needs them"},
	"landing":  {level: 5, upTo: 4, but: imports("agent", "agent/scripted", "prompt", "store/storetest", "store/postgres", "store/mirror"), reason: "what has been merged lands; no verb needs it"},
	"importer": {level: 5, upTo: 4, but: imports("agent", "agent/scripted", "prompt", "store/storetest", "store/postgres", "store/mirror"), reason: "issues become tasks by verbs; no verb needs it"},
	"outcome":  {level: 6, upTo: 5, but: imports("agent", "agent/scripted", "prompt", "store/storetest", "store/postgres", "store/mirror", "verb/verbtest", "landing", "importer"), reason: "it carries out what an answer says, by the verbs that people use"},

	"wall": {level: 4, may: imports("agent", "sandbox", "proxy", "toolchain", "broker", "config", "git", "project", "safefile"),
		reason: "it puts together what each kind of run may have; what a task is, it does not know"},

	"simulate": {level: 7, upTo: 6, but: imports("upkeep", "landing", "importer", "dashboard", "dashboard/source", "verb/verbtest", "agent", "agent/scripted", "prompt", "watch", "store/storetest", "store/postgres", "store/mirror", "merge"),
		reason: "a run that did not happen, or happens again, goes through the verbs; no program is started"},
	"upkeep": {level: 6, upTo: 5, but: imports("agent/scripted", "prompt", "store/storetest"),
		reason: "it looks at a project as it is (doctor, validate, the facts of alerts) and puts right what is provably safe; it decides nothing about work"},

	"norace":          {level: 0, reason: "it builds the tests of a package, whatever they test"},
	"forge/forgetest": {level: 0, reason: "a forge for tests; it knows the git command only"},
	"git/gittest":     {level: 0, reason: "copies of a repository for tests; it knows the git command only"},
	"verb/verbtest":   {level: 5, upTo: 4, reason: "tests of merges and supervisors begin with a real project"},

	"supervisor":       {level: 8, upTo: 7, but: imports("dashboard", "dashboard/source", "dashboard/tui", "dashboard/web", "mcp", "telemetry", "landing", "importer", "watch", "store/storetest", "verb/verbtest", "upkeep"), reason: "the command line starts the watcher beside the team"},
	"dashboard":        {level: 6, may: imports("activity", "blackboard", "history", "breaker", "watch", "prose", "transition"), reason: "a view shows; it changes nothing"},
	"dashboard/source": {level: 6, may: imports("dashboard"), upTo: 4, but: imports("agent/scripted", "prompt", "store/storetest"), reason: "it reads for the views, so that all show the same, and changes nothing"},
	"dashboard/tui": {level: 7, may: imports("activity", "blackboard", "history", "watch", "dashboard", "dashboard/source", "verb", "store", "sprint"),
		reason: "keys call verbs, and nothing else changes the state"},
	"dashboard/web": {level: 7, may: imports("activity", "blackboard", "history", "watch", "dashboard", "dashboard/source", "verb", "store", "sprint"),
		reason: "buttons call verbs, and nothing else changes the state"},

	// blackboard, history, exitcmd, plan: what tools take and show is in their words.
	"mcp": {level: 7, may: imports("verb", "dashboard", "blackboard", "history", "exitcmd", "plan", "transition"), reason: "it has no rules of its own"},
	// Only liza-telemetry may import it: package cli, and so liza, starts without OpenTelemetry's libraries.
	"telemetry": {level: 7, may: imports("activity", "blackboard", "history", "project", "safefile", "dashboard/source"), reason: "it follows files and sends what has happened; it changes nothing"},
	"cli":       {level: 9, upTo: 8, but: imports("store/storetest", "verb/verbtest", "telemetry"), reason: "it parses and prints; tests of stores stay outside of the program"},

	"scripts/termsvg": {level: 10, reason: "it draws the pictures of the README and knows nothing of Liza"},

	"cmd": {level: 10, may: imports("cli"), reason: "a main is a few lines"},
	// It starts once or twice for each run: what it imports, each run waits for.
	"cmd/liza-spawn":     {level: 10, may: imports("agent", "sandbox"), reason: "it starts in half the time of liza", not: []string{"net/http", "crypto/tls"}},
	"cmd/liza-telemetry": {level: 10, may: imports("cli", "telemetry", "dashboard/source"), reason: "a main is a few lines"},
}

// allows reports whether the rule lets its package import another one.
func (r rule) allows(pkg string) bool {
	if slices.Contains(r.may, pkg) {
		return true
	}
	other, ok := rules[pkg]
	return ok && r.upTo > 0 && other.level <= r.upTo && !slices.Contains(r.but, pkg)
}

// onlyAtTheTop are identifiers for the command line and the mains alone: anyone who
// reads the environment or ends the process somewhere below cannot be tested.
var onlyAtTheTop = []string{"os.Exit", "os.Getenv", "os.LookupEnv"}

// name is what the table calls a package, for example "store" or "cmd".
func name(importPath string) string {
	rest := strings.TrimPrefix(importPath, module+"/")
	if _, own := rules[rest]; strings.HasPrefix(rest, "cmd/") && !own {
		return "cmd"
	}
	return strings.TrimPrefix(rest, "pkg/")
}

// check gives what is wrong with the files of a package, one sentence each.
func check(pkg string, files []*ast.File) []string {
	r, ok := rules[pkg]
	if !ok {
		return []string{fmt.Sprintf("package %s is not in the table of pkg/deps_test.go; adding one is a decision", pkg)}
	}
	var wrong []string
	noUse := r.noUse
	if r.level < rules["cli"].level {
		noUse = append(slices.Clone(noUse), onlyAtTheTop...)
	}
	if pkg != "store" && pkg != "verb/verbtest" {
		noUse = append(slices.Clone(noUse), "store.File") // what a caller needs is an interface (specs/decisions.md#D37)
	}
	if pkg != "safefile" && r.allows("safefile") {
		noUse = append(slices.Clone(noUse), "os.ReadFile") // it waits for named pipes
	}
	for _, f := range files {
		for _, imp := range importsOf(f) {
			ours := imp == module || strings.HasPrefix(imp, module+"/")
			if ours && !r.allows(name(imp)) {
				wrong = append(wrong, fmt.Sprintf("%s imports %s: %s", pkg, name(imp), r.reason))
			}
			if slices.Contains(r.not, imp) {
				wrong = append(wrong, fmt.Sprintf("%s imports %s: %s", pkg, imp, r.reason))
			}
		}
		for _, use := range usesOf(f, noUse) {
			wrong = append(wrong, fmt.Sprintf("%s uses %s: time, environment and exit codes belong to cli, reading to safefile", pkg, use))
		}
	}
	slices.Sort(wrong)
	return slices.Compact(wrong)
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

func TestImportsFollowTheTable(t *testing.T) {
	t.Parallel()
	pkgs := list(t)
	if len(pkgs) < 2 {
		t.Fatalf("go list names %d packages; the test looks at nothing", len(pkgs))
	}
	for _, p := range pkgs {
		files := parse(t, p)
		if len(files) == 0 {
			continue // this folder: tests only
		}
		for _, wrong := range check(name(p.ImportPath), files) {
			t.Error(wrong)
		}
	}
}

func TestImportsInTheTablePointDownwards(t *testing.T) {
	t.Parallel()
	for pkg, r := range rules {
		if r.reason == "" || r.upTo >= r.level && r.upTo > 0 {
			t.Errorf("%s: a rule has a reason and points downwards", pkg)
		}
		for _, may := range slices.Concat(r.may, r.but) {
			below, ok := rules[may]
			child := strings.HasPrefix(pkg, may+"/")
			if !ok || below.level > r.level || below.level == r.level && !child {
				t.Errorf("%s (level %d) may import %s (level %d, known: %t)", pkg, r.level, may, below.level, ok)
			}
		}
	}
}

func TestImportsThatBreakARuleAreNamed(t *testing.T) {
	t.Parallel()
	tests := []struct{ what, pkg, source, want string }{
		{"an upward import", "agent", `package agent; import _ "liza/pkg/blackboard"`, "agent imports blackboard: an adapter must work for any supervisor"},
		{"a package of the same level", "history", `package history; import _ "liza/pkg/config"`, "history imports config: what happened never influences what happens"},
		{"a root package", "store", `package store; import _ "liza/protocols"`, "store imports protocols: a store keeps"},
		{"a main that does work", "cmd", `package main; import _ "liza/pkg/store"`, "cmd imports store: a main is a few lines"},
		{"I/O in the rules", "transition", `package transition; import _ "os/exec"`, "transition imports os/exec: the rules of the state are pure"},
		{"the clock in the rules", "transition", `package transition; import "time"; var now = time.Now`, "transition uses time.Now"},
		{"the clock under another name", "prompt", `package prompt; import clock "time"; var at = clock.Now()`, "prompt uses time.Now"},
		{"an exit below the command line", "verb", `package verb; import "os"; func f() { os.Exit(1) }`, "verb uses os.Exit"},
		{"the environment below the command line", "git", `package git; import "os"; var home = os.Getenv("HOME")`, "git uses os.Getenv"},
		{"an unknown package", "utils", `package utils`, "package utils is not in the table"},
		{"an exit of a main", "cmd", `package main; import "os"; import "liza/pkg/cli"; func main() { os.Exit(cli.Liza(nil, nil)) }`, ""},
		{"a clock where it is allowed", "store", `package store; import "time"; var now = time.Now`, ""},
		{"a parent of its own", "agent/scripted", `package scripted; import _ "liza/pkg/agent"`, ""},
		{"a variable that is called os", "verb", `package verb; func f(os struct{ Exit func(int) }) { os.Exit(1) }`, ""},
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
