package gittest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A Breaker makes one git command of a repository fail, as a full disk or a killed process would.
// The repository is opened with Env.
type Breaker struct {
	tb  testing.TB
	dir string
}

const breakerEnv = "LIZA_TEST_GIT_BREAKER"

// The git that Main puts in front of the real one. It counts while there is a file "break".
const breakable = `#!/bin/sh
if [ -n "${LIZA_TEST_GIT_BREAKER-}" ] && [ -e "$LIZA_TEST_GIT_BREAKER/break" ]; then
	read -r nth <"$LIZA_TEST_GIT_BREAKER/break"
	echo >>"$LIZA_TEST_GIT_BREAKER/count"
	printf '%%s\0' "$*" >>"$LIZA_TEST_GIT_BREAKER/commands"
	n=0
	while read -r _; do n=$((n + 1)); done <"$LIZA_TEST_GIT_BREAKER/count"
	if [ "$n" -eq "$nth" ]; then
		printf '%%s' "$*" >"$LIZA_TEST_GIT_BREAKER/broke"
		echo 'fatal: out of memory' >&2
		exit 128
	fi
fi
exec '%s' "$@"
`

// Main runs the tests of a package with a git that a Breaker can break.
func Main(m *testing.M) int {
	real, err := exec.LookPath("git")
	if err != nil {
		return m.Run() // the tests will say it
	}
	dir, err := os.MkdirTemp("", "liza-git-")
	if err == nil {
		defer os.RemoveAll(dir)
		err = os.WriteFile(filepath.Join(dir, "git"), fmt.Appendf(nil, breakable, real), 0o755)
	}
	if err == nil {
		err = os.Setenv("PATH", inFront(dir))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// inFront is PATH with dir before everything else.
func inFront(dir string) string {
	return dir + string(filepath.ListSeparator) + os.Getenv("PATH")
}

// InPath returns a Breaker of every git that this process starts until the test ends, whatever its repository. The test
// cannot be parallel.
func InPath(t *testing.T) *Breaker {
	t.Helper()
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	b := NewBreaker(t)
	if err := os.WriteFile(filepath.Join(b.dir, "git"), fmt.Appendf(nil, breakable, real), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", inFront(b.dir))
	t.Setenv(breakerEnv, b.dir)
	return b
}

func NewBreaker(tb testing.TB) *Breaker {
	tb.Helper()
	return &Breaker{tb, tb.TempDir()}
}

// Env is a variable for the commands of the repository.
func (b *Breaker) Env() string { return breakerEnv + "=" + b.dir }

// Break makes the nth command from now on fail.
func (b *Breaker) Break(n int) {
	b.tb.Helper()
	b.Mend()
	if err := os.WriteFile(filepath.Join(b.dir, "break"), fmt.Appendln(nil, n), 0o644); err != nil {
		b.tb.Fatal(err)
	}
}

// Mend makes all commands work again, and returns the arguments of the one that failed; "" when
// there were fewer.
func (b *Breaker) Mend() string {
	b.tb.Helper()
	broke, err := os.ReadFile(filepath.Join(b.dir, "broke"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		b.tb.Fatal(err)
	}
	for _, name := range []string{"break", "count", "broke", "commands"} {
		if err := os.Remove(filepath.Join(b.dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			b.tb.Fatal(err)
		}
	}
	return strings.TrimSpace(string(broke))
}

// Commands returns the arguments of the git commands that run during a call.
func (b *Breaker) Commands(call func()) []string {
	b.tb.Helper()
	b.Break(0)
	call()
	text, err := os.ReadFile(filepath.Join(b.dir, "commands"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		b.tb.Fatal(err)
	}
	b.Mend()
	return strings.FieldsFunc(string(text), func(r rune) bool { return r == 0 })
}
