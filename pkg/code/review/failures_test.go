package review

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// What failed is named in the words of each test runner.
func TestFailuresAreNamed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, output string
		want         []string
	}{
		{"go", "=== RUN   TestA\n--- FAIL: TestA (0.00s)\n    --- FAIL: TestA/sub (0.00s)\n        a_test.go:9: got 1, want an error\nFAIL\nFAIL\texample.com/a\t0.012s\nok  \texample.com/errors\t0.01s\nFAIL\n",
			[]string{"TestA of example.com/a", "TestA/sub of example.com/a"}},
		{"go build", "# example.com/a [example.com/a.test]\n./main.go:5:38: undefined: foo\nFAIL\texample.com/a [build failed]\nFAIL\n",
			[]string{"./main.go:N: undefined: foo", "example.com/a"}},
		{"go -json", `{"Action":"output","Package":"p","Test":"TestA","Output":"--- FAIL: TestA (0.00s)\n"}` + "\n" + `{"Action":"fail","Package":"p","Test":"TestA","Elapsed":0}` + "\n" + `{"Action":"fail","Package":"p","Elapsed":0.003}` + "\n" + `{"Action":"pass","Package":"q"}` + "\n",
			[]string{"TestA of p"}},
		{"tap", "TAP version 13\n1..4\nok 1 - fails well\nnot ok 2 - greets\nnot ok 3 - later # TODO not yet\nnot ok 4\n", []string{"greets", "not ok 4"}},
		{"junit", `<?xml version="1.0"?><testsuites><testsuite name="s" failures="1"><testcase classname="a.B" name="good"/><testcase classname="a.B" name="bad"><failure message="x &gt; y">trace</failure></testcase></testsuite></testsuites>`, []string{"bad of a.B"}},
		{"pytest", "tests/test_a.py F.                       [100%]\n\nE       assert 1 == 2\n=== short test summary info ===\nFAILED tests/test_a.py::test_one[a b] - assert 1 == 2\nERROR tests/test_b.py\n", []string{"tests/test_a.py::test_one[a b]", "tests/test_b.py"}},
		{"jest", "FAIL src/a.test.js\n  ● greets › says hello\n\n    expect(received).toBe(expected)\n", []string{"greets › says hello of src/a.test.js", "src/a.test.js"}},
		{"cargo", "running 2 tests\ntest tests::error_is_told ... ok\ntest tests::bad ... FAILED\n", []string{"tests::bad"}},
		{"a linter", "src/a.js:3:1: Missing semicolon\nsrc/a.js:9:1: Missing semicolon\n2 problems (2 errors, 0 warnings)\n", []string{"N problems :N errors, N warnings)", "src/a.js:N: Missing semicolon", "src/a.js:N: Missing semicolon (2)"}},
		{"overwritten and coloured", "50%\r--- FAIL: TestA (0.00s)\rok\r\n\x1b]8;;http://x\x07\x1b(B--- FAIL: TestB\nFAIL\tp\t0.1s\n", []string{"TestA of p", "TestB of p"}},
		{"words of junit in a test", "<testsuite> is what it writes\n--- FAIL: TestA (0.00s)\nFAIL\tp\t0.1s\nwant </testsuite>\n", []string{"TestA of p"}},
		{"a script", "line 1\nline 2\nold.txt is not right\n", []string{"old.txt is not right"}},
		{"a good line", "ok: no errors\n0 failures, 3 passed\nerror: it is away\n", []string{"error: it is away"}},
		{"nothing", "", nil},
	} {
		if got := Failures(c.output); !slices.Equal(got, c.want) {
			t.Errorf("%s: Failures gives %q, want %q", c.name, got, c.want)
		}
	}
}

// Two runs of the same tree give the same names, wherever and whenever they ran.
func TestFailuresDoNotDependOnTimeAndPlace(t *testing.T) {
	t.Parallel()
	one := "2026-11-23T10:00:00Z error: /home/a/p/.worktrees/.check-task-1/x.sh: line 12: no such file (took 1.2s, pid 312)\npanic: at 0xc000123 in /tmp/go-build123/a.test\n2 failed\n"
	two := "2026-11-24T11:11:11Z error: /home/a/p/.worktrees/.base/x.sh: line 31: no such file (took 900ms, pid 9)\npanic: at 0xc000999 in /tmp/go-build9/a.test\n3 failed\n"
	if a, b := Failures(one), Failures(two); !slices.Equal(a, b) || len(a) != 3 {
		t.Errorf("Failures gives %q and %q for the same failures", a, b)
	}
}

// An error of a compiler names its file; what a linter or a test says does not count, nor a module that is not there.
func TestCompileErrorsAreFound(t *testing.T) {
	t.Parallel()
	files := []string{"pkg/a/main.go", "src/lib.rs", "src/a.c", "web/a.ts", "A.java", "tests/test_a.py"}
	for _, c := range []struct{ name, output, want string }{
		{"go", "# example.com/a\npkg/a/main.go:5:38: undefined: foo\n", "pkg/a/main.go:5:38: undefined: foo"},
		{"go vet", "# example.com/a\n# [example.com/a]\nvet: ./main.go:5:38: undefined: foo\n", "vet: ./main.go:5:38: undefined: foo"},
		{"a linter of go", "pkg/a/main.go:5:38: exported func without comment\n", ""},
		{"a test of go", "--- FAIL: TestA\n    main.go:12: got 1\n", ""},
		{"a module that is not there", "# example.com/a\npkg/a/main.go:3:8: example.corp/lib@v0.0.0: replacement directory ../lib does not exist\n", ""},
		{"rust", "error[E0425]: cannot find value `x`\n --> src/lib.rs:2:5\n", "error[E0425]: cannot find value `x` --> src/lib.rs:2:5"},
		{"a warning of rust", "warning: unused\n --> src/lib.rs:2:5\n", ""},
		{"c", "src/a.c:3:1: error: expected ';'\n", "src/a.c:3:1: error: expected ';'"},
		{"typescript", "web/a.ts(3,5): error TS2322: Type\n", "web/a.ts(3,5): error TS2322: Type"},
		{"java", "A.java:3: error: ';' expected\n", "A.java:3: error: ';' expected"},
		{"python", "  File \"/p/.worktrees/.base/tests/test_a.py\", line 3\n    x =\n      ^\nSyntaxError: invalid syntax\n", "File \"/p/.worktrees/.base/tests/test_a.py\", line 3 SyntaxError: invalid syntax"},
		{"another file", "# example.com/b\npkg/b/b.go:5:38: undefined: foo\n", ""},
	} {
		if got := strings.Join(compileErrorsIn(c.output, "", files), "; "); got != c.want {
			t.Errorf("%s: the errors are %q, want %q", c.name, got, c.want)
		}
	}
}

// What fails on the base is compared by name: new failures and broken files of the change are the change's own, also on a red base.
func TestNewFailuresOnARedBase(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "base.log")
	if err := os.WriteFile(log, []byte("$ npm ci\nerror: old\n$ go test ./...\n--- FAIL: TestOld (0.00s)\nFAIL\texample.com/a\t0.1s\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	base := End{Failed: true, ExitCode: 1, Log: log}
	for _, c := range []struct {
		name   string
		end    End
		ran    Ran
		output string
		red    bool
		want   []string
	}{
		{"the same", base, Ran{ExitCode: 1}, "--- FAIL: TestOld (0.00s)\nFAIL\texample.com/a\t0.2s\n", true, nil},
		{"one more", base, Ran{ExitCode: 1}, "--- FAIL: TestOld (0.00s)\n--- FAIL: TestNew (0.00s)\nFAIL\texample.com/a\t0.2s\n", true, []string{"TestNew of example.com/a"}},
		{"another package", base, Ran{ExitCode: 1}, "--- FAIL: TestOld (0.00s)\nFAIL\texample.com/b\t0.2s\n", true, []string{"TestOld of example.com/b"}},
		{"another exit code", base, Ran{ExitCode: 2}, "", true, []string{"exit code 2, not 1"}},
		{"it does not compile", base, Ran{ExitCode: 1}, "# example.com/a\n./a.go:3:1: undefined: x\nFAIL\texample.com/a [build failed]\n", true, []string{"./a.go:3:1: undefined: x"}},
		{"a crash", base, Ran{ExitCode: 139}, "--- FAIL: TestOld (0.00s)\nFAIL\texample.com/a\t0.2s\n", true, []string{"exit code 139, not 1"}},
		{"fewer failures, as exit code", base, Ran{ExitCode: 2}, "--- FAIL: TestOld (0.00s)\nFAIL\texample.com/a\t0.2s\n", true, nil},
		{"a green base", End{}, Ran{ExitCode: 1}, "--- FAIL: TestOld (0.00s)\n", false, nil},
		{"no end in time", base, Ran{ExitCode: -1, TimedOut: true}, "", false, nil},
	} {
		red, got := c.end.NewFailures(c.ran, "go test ./...", c.output, []string{"a.go"})
		if red != c.red || !slices.Equal(got, c.want) {
			t.Errorf("%s: red %v with new failures %q, want %v with %q", c.name, red, got, c.red, c.want)
		}
	}
}

// What a command prints does not decide where its output begins.
func TestTheOutputOfACommandIsAllOfIt(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(log, []byte("$ npm ci\n$ make test\n--- FAIL: TestNew\n$ make test\nok\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := OutputOf(log, "make test"); got != "--- FAIL: TestNew\n$ make test\nok\n" {
		t.Errorf("OutputOf gives %q", got)
	}
}

// Two files of one name: the error of the other one is not that of the change, unless the base does not have it.
func TestACompileErrorOfAFileOfTheSameName(t *testing.T) {
	t.Parallel()
	output := "# example.com/b\n./main.go:5:38: undefined: foo\n"
	for name, c := range map[string]struct{ before, file, want string }{
		"the other one's": {"# example.com/b\n./main.go:4:38: undefined: foo\n", "a/main.go", ""},
		"a new one":       {"# example.com/b\n./main.go:4:38: undefined: bar\n", "a/main.go", "./main.go:5:38: undefined: foo"},
		"the very file":   {output, "main.go", "./main.go:5:38: undefined: foo"},
	} {
		if got := strings.Join(compileErrorsIn(output, c.before, []string{c.file}), "; "); got != c.want {
			t.Errorf("%s: the errors are %q, want %q", name, got, c.want)
		}
	}
}

// However much a test prints, comparing it ends soon.
func TestManyFailuresAreComparedSoon(t *testing.T) {
	t.Parallel()
	var text, json strings.Builder
	for i := range 150_000 {
		fmt.Fprintf(&text, "not ok %d - t%d\n", i, i)
		fmt.Fprintf(&json, `{"Action":"fail","Package":"p%d"}`+"\n", i)
	}
	log := filepath.Join(t.TempDir(), "base.log")
	if err := os.WriteFile(log, []byte("$ test\n"+text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	seen := map[string]bool{}
	for line := range strings.Lines(text.String() + json.String()) {
		seen[strings.ToLower(line)] = true
	}
	floor := time.Since(began)

	began = time.Now()
	if _, isNew := (End{Failed: true, ExitCode: 1, Log: log}).NewFailures(Ran{ExitCode: 1}, "test", text.String()+"not ok 7 - one more\n", nil); len(isNew) != 1 {
		t.Errorf("%d new failures, want 1", len(isNew))
	}
	if n := len(Failures(json.String())); n != 150_000 {
		t.Errorf("%d failures, want 150000", n)
	}
	// Measured: 11 to 15 times the floor, and thousands of times with a comparison of each line with each other one.
	if took := time.Since(began); took > 300*floor {
		t.Errorf("took %s, where one pass over the lines takes %s", took, floor)
	}
	t.Logf("%.0f times one pass over the lines", float64(time.Since(began))/float64(floor))
}
