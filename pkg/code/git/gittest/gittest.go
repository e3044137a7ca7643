// Package gittest gives tests copies of a repository that was made once.
package gittest

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
)

// Template returns what copies a repository into an empty folder: files, put there by commands of git.
// It is made at the first use and kept in memory; a copy costs some files instead of a process for
// each command. Git's own upkeep is off in it, which would start a process after each commit of a test.
func Template(files map[string]string, commands ...[]string) func(dir string) error {
	start := sync.OnceValues(func() (fs.FS, error) {
		dir, err := os.MkdirTemp("", "liza-start-")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(dir)
		for name, text := range files {
			path := filepath.Join(dir, name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
				return nil, err
			}
		}
		begin := [][]string{{"init", "-q", "-b", "main", "--template="}, {"config", "maintenance.auto", "false"}}
		for _, args := range append(begin, commands...) {
			cmd := exec.Command("git", args...)
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
			if out, err := cmd.CombinedOutput(); err != nil {
				return nil, fmt.Errorf("git %s: %v: %s", args[0], err, out)
			}
		}
		return inMemory(dir)
	})
	return func(dir string) error {
		repository, err := start()
		if err != nil {
			return err
		}
		return os.CopyFS(dir, repository)
	}
}

// inMemory reads a folder as a whole.
func inMemory(dir string) (fs.FS, error) {
	all := fstest.MapFS{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == "." {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		file := &fstest.MapFile{Mode: info.Mode(), ModTime: info.ModTime()}
		if !entry.IsDir() {
			file.Data, err = os.ReadFile(filepath.Join(dir, path))
		}
		all[path] = file
		return err
	})
	return all, err
}

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
	read -r nth on <"$LIZA_TEST_GIT_BREAKER/break"
	echo >>"$LIZA_TEST_GIT_BREAKER/count"
	printf '%%s\0' "$*" >>"$LIZA_TEST_GIT_BREAKER/commands"
	n=0
	while read -r _; do n=$((n + 1)); done <"$LIZA_TEST_GIT_BREAKER/count"
	if [ "$n" -eq "$nth" ] || { [ -n "$on" ] && [ "$n" -gt "$nth" ]; }; then
		[ -e "$LIZA_TEST_GIT_BREAKER/broke" ] || printf '%%s' "$*" >"$LIZA_TEST_GIT_BREAKER/broke"
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

// Stride is which commands a test makes fail, one at a time: each sixth from a random one on, so that each is met in some run;
// all with STORE_TEST_FULL (make crash).
func Stride(tb testing.TB) (first, step int) {
	step = 6
	if os.Getenv("STORE_TEST_FULL") != "" {
		step = 1
	}
	first = 1 + rand.IntN(step)
	tb.Logf("number %d, %d, … fails", first, first+step)
	return first, step
}

// Break makes the nth command from now on fail.
func (b *Breaker) Break(n int) {
	b.tb.Helper()
	b.breaks(fmt.Sprintln(n))
}

// BreakFrom makes the nth command from now on fail, and each after it.
func (b *Breaker) BreakFrom(n int) {
	b.tb.Helper()
	b.breaks(fmt.Sprintln(n, "on"))
}

func (b *Breaker) breaks(which string) {
	b.tb.Helper()
	b.Mend()
	if err := os.WriteFile(filepath.Join(b.dir, "break"), []byte(which), 0o644); err != nil {
		b.tb.Fatal(err)
	}
}

// Mend makes all commands work again, and returns the arguments of the first one that failed; ""
// when there were fewer.
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
