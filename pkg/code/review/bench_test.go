package review_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/code/review"
)

// place is a worktree with files, and tools of its own: each writes its name and arguments
// to the file calls, and ends as the file fail-NAME says.
type place struct {
	*testing.T
	dir, bin, out string
}

func newPlace(t *testing.T, files map[string]string, tools ...string) *place {
	t.Helper()
	p := &place{T: t, dir: t.TempDir(), bin: t.TempDir(), out: t.TempDir()}
	for name, text := range files {
		p.put(filepath.Join(p.dir, name), text, 0o644)
	}
	for _, tool := range tools {
		path := filepath.Join(p.bin, tool)
		if strings.Contains(tool, "/") {
			path = filepath.Join(p.dir, tool)
		}
		p.put(path, fmt.Sprintf("#!/bin/sh\necho \"%s $*\" >>%s/calls\ncat %s/say-%s 2>/dev/null\nread code <%s/fail-%s 2>/dev/null && exit $code\nexit 0\n",
			filepath.Base(tool), p.out, p.out, filepath.Base(tool), p.out, filepath.Base(tool)), 0o755)
	}
	return p
}

func (p *place) put(path, text string, mode os.FileMode) {
	p.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		p.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		p.Fatal(err)
	}
}

// fails makes a tool print a text and end with a code.
func (p *place) fails(tool string, code int, text string) {
	p.put(filepath.Join(p.out, "fail-"+tool), fmt.Sprintln(code), 0o644)
	p.put(filepath.Join(p.out, "say-"+tool), text, 0o644)
}

func (p *place) calls() []string {
	data, _ := os.ReadFile(filepath.Join(p.out, "calls"))
	return strings.Split(strings.TrimSpace(strings.ReplaceAll(string(data), " \n", "\n")), "\n")
}

func (p *place) tree() review.Tree {
	tree := review.Tree{
		Read: func(name string) string { data, _ := os.ReadFile(filepath.Join(p.dir, name)); return string(data) },
		Tool: func(name string) bool { _, err := os.Stat(filepath.Join(p.bin, name)); return err == nil },
	}
	err := filepath.WalkDir(p.dir, func(path string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			rel, _ := filepath.Rel(p.dir, path)
			tree.Files = append(tree.Files, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		p.Fatal(err)
	}
	return tree
}

func (p *place) bench() *review.Environment {
	return &review.Environment{Tree: p.tree(), Timeout: time.Minute, Environ: []string{"PATH=" + p.bin + ":/usr/bin:/bin"},
		Log:      func(check string) string { return filepath.Join(p.out, check+".log") },
		Worktree: func(context.Context) (string, error) { return p.dir, nil }}
}

func (p *place) run(s *review.Submission, b *review.Environment) map[string]review.Result {
	p.Helper()
	results, err := s.Run(p.Context(), b)
	if err != nil {
		p.Fatal(err)
	}
	of := map[string]review.Result{}
	for _, r := range results {
		of[r.Check.Name] = r
	}
	return of
}

// work is a submission of code with a test, against which looking finds nothing.
func work() *review.Submission {
	return submission(change("M", "a.go", []string{"x"}, []string{"y"}), change("M", "a_test.go", []string{"x"}, []string{"y"}))
}

// A command of a list has what those before it in the list have built, which are run once in the worktree.
func TestACheckHasWhatTheCommandsBeforeItHaveBuilt(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]string{"the first is a check, too": "one", "it is none": ""} {
		p := newPlace(t, nil, "one", "two")
		b, s := p.bench(), work()
		b.Program = func(command string) []string {
			return map[string][]string{"one": {"one"}, "two": {"one", "two"}}[command]
		}
		s.Settings.Checks[review.Lint] = review.Setting{Enabled: first != "", Severity: review.Error, Command: first}
		s.Settings.Checks[review.Tests] = review.Setting{Enabled: true, Severity: review.Error, Command: "two"}
		got := p.run(s, b)
		if calls := strings.Join(p.calls(), " "); calls != "one two" || got[review.Tests].Check.Status != review.Passed {
			t.Errorf("%s: the commands were %s, the check is %+v", name, calls, got[review.Tests].Check)
		}
	}
}

// N-19: the commands of each line of the table, run with tools of that name; the same
// commit is not run twice.
func TestTheCommandsOfEachKindOfProject(t *testing.T) {
	t.Parallel()
	scripts := `{"scripts": {"build": "tsc", "lint": "eslint .", "test": "jest"}}`
	for name, x := range map[string]struct {
		files map[string]string
		tools []string
		want  []string
	}{
		"Go":                     {map[string]string{"go.mod": "module a\n"}, []string{"go"}, []string{"go build ./...", "go vet ./...", "go test ./..."}},
		"Go with golangci":       {map[string]string{"go.mod": "", ".golangci.yml": ""}, []string{"go", "golangci-lint"}, []string{"go build ./...", "golangci-lint run", "go test ./..."}},
		"Go, golangci not there": {map[string]string{"go.mod": "", ".golangci.yml": ""}, []string{"go"}, []string{"go build ./...", "go vet ./...", "go test ./..."}},
		"npm":                    {map[string]string{"package.json": scripts}, []string{"npm"}, []string{"npm run build", "npm run lint", "npm run test"}},
		"npm, placeholder":       {map[string]string{"package.json": `{"scripts": {"test": "echo \"Error: no test specified\" && exit 1"}}`, "Makefile": "test:\n"}, []string{"npm", "make"}, nil},
		"pnpm":                   {map[string]string{"package.json": scripts, "pnpm-lock.yaml": ""}, []string{"pnpm"}, []string{"pnpm run build", "pnpm run lint", "pnpm run test"}},
		"yarn":                   {map[string]string{"package.json": scripts, "yarn.lock": ""}, []string{"yarn"}, []string{"yarn run build", "yarn run lint", "yarn run test"}},
		"bun":                    {map[string]string{"package.json": scripts, "bun.lock": ""}, []string{"bun"}, []string{"bun run build", "bun run lint", "bun run test"}},
		"Rust":                   {map[string]string{"Cargo.toml": ""}, []string{"cargo"}, []string{"cargo build --quiet", "cargo clippy --quiet -- -D warnings", "cargo test --quiet"}},
		"Python":                 {map[string]string{"pyproject.toml": ""}, []string{"python3"}, []string{"python3 -m compileall -q .", "python3 -m pytest -q"}},
		"Python with ruff":       {map[string]string{"setup.py": ""}, []string{"python3", "ruff"}, []string{"python3 -m compileall -q .", "ruff check .", "python3 -m pytest -q"}},
		"Python wants ruff":      {map[string]string{"requirements.txt": "", "ruff.toml": ""}, []string{"python3"}, []string{"python3 -m compileall -q .", "python3 -m pytest -q"}},
		"Maven":                  {map[string]string{"pom.xml": ""}, []string{"mvn"}, []string{"mvn -q -DskipTests compile", "mvn -q test"}},
		"Gradle":                 {map[string]string{"build.gradle.kts": ""}, []string{"./gradlew"}, []string{"gradlew -q classes", "gradlew -q test"}},
		".NET":                   {map[string]string{"App.sln": ""}, []string{"dotnet"}, []string{"dotnet build -clp:ErrorsOnly", "dotnet format --verify-no-changes", "dotnet test"}},
		"Ruby, rspec":            {map[string]string{"Gemfile": "", "spec/a_spec.rb": "", ".rubocop.yml": ""}, []string{"bundle"}, []string{"bundle exec rubocop", "bundle exec rspec"}},
		"Ruby, rake":             {map[string]string{"Gemfile": ""}, []string{"bundle"}, []string{"bundle exec rake test"}},
		"PHP":                    {map[string]string{"composer.json": ""}, []string{"composer", "vendor/bin/phpunit"}, []string{"composer validate --no-check-publish", "phpunit"}},
		"make":                   {map[string]string{"Makefile": "CC = cc\nbuild: main.o\n\tcc\n.PHONY: test\ntest lint:\n"}, []string{"make"}, []string{"make build", "make lint", "make test"}},
		"make, some targets":     {map[string]string{"Makefile": "test = 1\nlint := 2\nbuild:\n"}, []string{"make"}, []string{"make build"}},
		"make is not asked":      {map[string]string{"Makefile": "build:\n", "go.mod": ""}, []string{"make", "go"}, []string{"go build ./...", "go vet ./...", "go test ./..."}},
		"two kinds":              {map[string]string{"go.mod": "", "package.json": `{"scripts": {"test": "x"}}`}, []string{"go", "npm"}, []string{"go build ./...", "go vet ./...", "go test ./...", "npm run test"}},
		"below the root":         {map[string]string{"sub/go.mod": ""}, []string{"go"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, x.files, x.tools...)
			first := p.run(work(), p.bench())
			if want := strings.Join(x.want, "\n"); strings.Join(p.calls(), "\n") != want {
				t.Errorf("ran %q, want %q", p.calls(), x.want)
			}
			b := p.bench()
			for _, r := range first {
				b.Before = append(b.Before, &r.Check)
			}
			if again := p.run(work(), b); len(x.want) > 0 && len(p.calls()) != len(x.want) || !reflect.DeepEqual(again, first) {
				t.Errorf("the same commit was run again: %q, %+v", p.calls(), again)
			}
			other := work()
			other.Task.ReviewCommit = "c2"
			if p.run(other, b); len(x.want) > 0 && len(p.calls()) != 2*len(x.want) {
				t.Errorf("another commit was not run: %q", p.calls())
			}
		})
	}
}

// C-13: what the commands of a project say, and what the configuration makes of it.
func TestTheCommandsJudge(t *testing.T) {
	t.Parallel()
	goProject := map[string]string{"go.mod": "module a\n"}
	with := func(check string, s review.Setting) func(*review.Submission) {
		return func(sub *review.Submission) { sub.Settings.Checks[check] = s }
	}
	for name, x := range map[string]struct {
		files  map[string]string
		tools  []string
		code   int // of the tool go
		says   string
		change func(*review.Submission)
		check  string
		status blackboard.CheckStatus // "" absent
		want   string                 // the finding
	}{
		"the build fails":            {goProject, []string{"go"}, 1, "a.go:3:1: undefined: x\n", nil, review.Build, review.Failed, `error build_passes a.go:3 "go build ./..." ended with exit code 1: a.go:3:1: undefined: x`},
		"lint fails":                 {goProject, []string{"go"}, 1, "", nil, review.Lint, review.Failed, `warning lint_passes :0 "go vet ./..." ended with exit code 1`},
		"tests fail":                 {goProject, []string{"go"}, 2, "--- FAIL: TestA\n    a_test.go:7: wrong\nFAIL\n", nil, review.Tests, review.Failed, `error tests_pass a_test.go:7 "go test ./..." ended with exit code 2: FAIL`},
		"no tests":                   {goProject, []string{"go"}, 0, "?   \ta\t[no test files]\n", nil, review.Tests, review.Failed, `error tests_pass :0 "go test ./..." found no tests`},
		"some tests":                 {goProject, []string{"go"}, 0, "?   \ta\t[no test files]\nok  \tb\t0.1s\n", nil, review.Tests, review.Passed, ""},
		"source without test":        {goProject, []string{"go"}, 0, "", func(s *review.Submission) { s.Changes = s.Changes[:1] }, review.TestCoverage, review.Failed, "error test_coverage a.go:0 changed without any test: a.go"},
		"disabled":                   {goProject, []string{"go"}, 1, "", with(review.Build, review.Setting{Severity: review.Error}), review.Build, "", ""},
		"another severity":           {goProject, []string{"go"}, 1, "", with(review.Build, review.Setting{Enabled: true, Severity: review.Info}), review.Build, review.Failed, `info build_passes :0 "go build ./..." ended with exit code 1`},
		"documents only":             {goProject, []string{"go"}, 1, "", func(s *review.Submission) { s.Changes = []review.Changed{added("README.md", "x")} }, review.Tests, review.ExemptStatus, ""},
		"a missing tool":             {goProject, nil, 0, "", nil, review.Tests, review.CannotRun, `warning tests_pass :0 "go test ./..." could not run: tool not found: go; it verifies nothing of this change`},
		"exit code 127":              {goProject, []string{"go"}, 127, "", nil, review.Tests, review.CannotRun, `warning tests_pass :0 "go test ./..." could not run: a program is not found (exit code 127: without a word); it verifies nothing of this change`},
		"no command":                 {map[string]string{"a.txt": ""}, []string{"go"}, 1, "", nil, review.Tests, review.Skipped, ""},
		"a command of the project":   {goProject, []string{"go"}, 1, "", with(review.Build, review.Setting{Enabled: true, Severity: review.Error, Command: "cd . && exit 0"}), review.Build, review.Passed, ""},
		"it fails":                   {goProject, []string{"go"}, 0, "", with(review.Lint, review.Setting{Enabled: true, Severity: review.Warning, Command: "exit 3"}), review.Lint, review.Failed, `warning lint_passes :0 "exit 3" ended with exit code 3`},
		"security has a command too": {goProject, []string{"go"}, 0, "", with(review.Security, review.Setting{Enabled: true, Severity: review.Error, Command: "exit 3"}), review.Security, review.Failed, `error security :0 "exit 3" ended with exit code 3`},
		"so has code_quality":        {goProject, []string{"go"}, 0, "", with(review.CodeQuality, review.Setting{Enabled: true, Severity: review.Warning, Command: "exit 0"}), review.CodeQuality, review.Passed, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, x.files, x.tools...)
			p.fails("go", x.code, x.says)
			s := work()
			if x.change != nil {
				x.change(s)
			}
			r, there := p.run(s, p.bench())[x.check]
			var want []string
			if x.want != "" {
				want = []string{x.want}
			}
			if there != (x.status != "") || r.Check.Status != x.status || !slices.Equal(said(map[string]review.Result{"x": r}), want) {
				t.Errorf("%+v %q, want %s %q", r.Check, said(map[string]review.Result{"x": r}), x.status, want)
			}
		})
	}
}

// Work that takes the tool of a check away has failed; a tool that is not there without it either is told, and the work has not failed.
func TestAToolThatTheWorkTakesAway(t *testing.T) {
	t.Parallel()
	const missing = `"go test ./..." could not run: a program is not found (exit code 127: sh: gotool: not found)`
	for name, x := range map[string]struct {
		now    *review.End
		status blackboard.CheckStatus
		want   string
	}{
		"it passes without the work":     {&review.End{Log: "base.log"}, review.Failed, `"go test ./..." ended with exit code 127: sh: gotool: not found`},
		"it is not there either":         {&review.End{Log: "base.log", ExitCode: 127, Unable: "a program is not found"}, review.CannotRun, `"go test ./..." could not run: a program is not found`},
		"there is no base":               {nil, review.CannotRun, missing},
		"the base could not be prepared": {&review.End{Log: "base.log", Setup: "npm ci"}, review.CannotRun, `"go test ./..." could not run: worktree.setup fails: "npm ci"`},
	} {
		p := newPlace(t, map[string]string{"go.mod": ""}, "go")
		p.fails("go", 127, "sh: gotool: not found\n")
		b := p.bench()
		b.Base = func(context.Context, string, string) (review.End, error) { return review.End{Log: "known.log"}, nil } // it was green once
		if x.now != nil {
			b.Now = func(context.Context, string, string) (review.End, error) { return *x.now, nil }
		}
		got := p.run(work(), b)[review.Tests]
		if got.Check.Status != x.status || got.Check.Message != x.want || len(got.Findings) != 1 {
			t.Errorf("%s: %+v with %d findings, want %s %q and one finding", name, got.Check, len(got.Findings), x.status, x.want)
		}
		if x.status == review.CannotRun && (got.Findings[0].Severity != review.Warning || got.Findings[0].Message != x.want+"; it verifies nothing of this change") {
			t.Errorf("%s: the finding is %+v", name, got.Findings[0])
		}
	}
}

func TestSetupAndHooksOfTheChecks(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{"go.mod": ""}, "go")
	b := p.bench()
	b.Setup, b.Hooks = []string{"touch ready"}, []string{"test -f ready", "exit 4"}
	got := p.run(work(), b)
	if got["hook:1"].Check.Status != review.Passed || got["hook:2"].Check.Status != review.Failed || got["hook:2"].Findings[0].Severity != review.Error {
		t.Errorf("%+v", got)
	}
	b = p.bench()
	b.Setup = []string{"exit 9"}
	got = p.run(work(), b)
	if got[review.Build].Check.Status != review.Failed || got[review.Tests].Check.Status != review.Skipped || !strings.Contains(got[review.Build].Check.Message, "worktree.setup") {
		t.Errorf("%+v, %+v", got[review.Build].Check, got[review.Tests].Check)
	}
}

func TestACheckThatHangsIsStopped(t *testing.T) {
	t.Parallel()
	p := newPlace(t, nil)
	s := work()
	s.Settings.Checks[review.Tests] = review.Setting{Enabled: true, Severity: review.Error, Command: "exec tail -f /dev/null"}
	b := p.bench()
	b.Timeout = 50 * time.Millisecond
	if got := p.run(s, b)[review.Tests]; got.Check.Status != review.Failed || !strings.Contains(got.Check.Message, "did not end within 50ms") {
		t.Errorf("%+v", got.Check)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("the lease is lost"))
	b.Timeout = time.Minute
	if results, err := s.Run(ctx, b); err == nil || len(results) > 0 {
		t.Errorf("after the end of its context: %v, %v", results, err)
	}
}

func TestTheOutputOfAnotherCommandIsNotTakenOver(t *testing.T) {
	t.Parallel()
	p := newPlace(t, nil)
	s := work()
	set := func(command string) {
		s.Settings.Checks[review.Tests] = review.Setting{Enabled: true, Severity: review.Error, Command: command}
	}
	set("exit 1")
	first := p.run(s, p.bench())[review.Tests].Check
	b := p.bench()
	b.Before = []*blackboard.Check{&first}
	set("exit 0")
	if got := p.run(s, b)[review.Tests].Check; got.Status != review.Passed {
		t.Errorf("%+v", got)
	}
}

// A command of the check stands in for the neighbour: what it writes differs from run to run,
// as a neighbour's does, or is written in the first run alone.
func TestAWorktreeThatANeighbourWritesIntoDecidesNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		setup, check string
		status       blackboard.CheckStatus // "" for a status: there is no result
		said         string
	}{
		"nobody writes":                 {check: "touch new; exit 0", status: review.Passed},
		"a failure is written once":     {check: "test -e ../once && exit 0; touch ../once; echo worse >> code.txt; exit 1", status: review.Passed, said: "once more in a fresh checkout"},
		"a failure is hidden once":      {check: "grep -q hidden code.txt && exit 0; test -e ../once && exit 1; touch ../once; echo hidden > code.txt; exit 0", status: review.Failed, said: "once more in a fresh checkout"},
		"something else each time":      {check: "date +%N >> code.txt; exit 0"},
		"the check itself writes":       {check: "echo generated >> code.txt; exit 0", status: review.Passed, said: "change tracked files: code.txt"},
		"what setup writes is expected": {setup: "date +%N >> code.txt", check: "true", status: review.Passed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			p := newPlace(t, nil)
			s := work()
			s.Settings.Checks[review.Tests] = review.Setting{Enabled: true, Severity: review.Error, Command: c.check}
			b := p.bench()
			if c.setup != "" {
				b.Setup = []string{c.setup}
			}
			b.Worktree = func(context.Context) (string, error) {
				dir := filepath.Join(root, "checkout")
				return dir, errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o755), os.WriteFile(filepath.Join(dir, "code.txt"), []byte("as committed\n"), 0o644))
			}
			b.Changed = func(_ context.Context, dir string) (map[string]string, error) {
				data, err := os.ReadFile(filepath.Join(dir, "code.txt"))
				if string(data) == "as committed\n" {
					return map[string]string{}, err
				}
				return map[string]string{"code.txt": string(data)}, err
			}
			var said []string
			b.Say = func(text string) { said = append(said, text) }
			results, err := s.Run(t.Context(), b)
			var status blackboard.CheckStatus
			for _, r := range results {
				if r.Check.Name == review.Tests {
					status = r.Check.Status
				}
			}
			if status != c.status || (err != nil) != (c.status == "") || err != nil && !strings.Contains(err.Error(), "cannot trust the checks") {
				t.Errorf("the check is %q, %v; want %q", status, err, c.status)
			}
			if all := strings.Join(said, "\n"); !strings.Contains(all, c.said) || c.said == "" && c.status != "" && strings.Contains(all, "tracked") {
				t.Errorf("said %q, want %q", all, c.said)
			}
		})
	}
}
