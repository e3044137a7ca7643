package git

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// A worktree in which nothing has happened is known without a process; whatever happens there is seen.
func TestAWorktreeIsKnownToBeUnchanged(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	work := f.provide(Provide{ID: "t"})
	writeFile(t, work.Path+"/dir/run.sh", "#!/bin/sh\n")
	mustDo(t, os.Symlink("run.sh", work.Path+"/dir/link"))
	f.commitIn(work.Path, "b.txt", "two\n")
	asked := 0
	f.help(func(ctx context.Context, h Help) (int, string, error) {
		asked++
		return f.repo.uncontained(ctx, h)
	})
	look := func() (dirty, helpers int) {
		asked = 0
		facts := f.inspect(work.Path)
		return len(facts.Dirty), asked
	}
	if dirty, helpers := look(); dirty > 0 || helpers > 0 {
		t.Errorf("an unchanged worktree: %d changes, %d helpers", dirty, helpers)
	}
	path := func(name string) string { return filepath.Join(work.Path, name) }
	for name, act := range map[string]func() (undo func() error, err error){
		"another content of the same size and time": func() (func() error, error) {
			info, err := os.Stat(path("b.txt"))
			writeFile(t, path("b.txt"), "TWO\n")
			mustDo(t, os.Chtimes(path("b.txt"), info.ModTime(), info.ModTime()))
			return func() error { return os.WriteFile(path("b.txt"), []byte("two\n"), 0o644) }, err
		},
		"a new file": func() (func() error, error) {
			writeFile(t, path("dir/new"), "x")
			return func() error { return os.Remove(path("dir/new")) }, nil
		},
		"a file that is gone": func() (func() error, error) {
			return func() error { return os.WriteFile(path("b.txt"), []byte("two\n"), 0o644) }, os.Remove(path("b.txt"))
		},
		"a program": func() (func() error, error) {
			return func() error { return os.Chmod(path("b.txt"), 0o644) }, os.Chmod(path("b.txt"), 0o755)
		},
		"a link elsewhere": func() (func() error, error) {
			mustDo(t, os.Remove(path("dir/link")))
			return func() error {
				return errors.Join(os.Remove(path("dir/link")), os.Symlink("run.sh", path("dir/link")))
			}, os.Symlink("b.txt", path("dir/link"))
		},
	} {
		undo, err := act()
		mustDo(t, err)
		if dirty, helpers := look(); dirty != 1 || helpers != 1 {
			t.Errorf("%s: %d changes, %d helpers", name, dirty, helpers)
		}
		mustDo(t, undo())
	}
	future := time.Now().Add(time.Hour)
	mustDo(t, os.Chtimes(path("b.txt"), future, future))
	if dirty, helpers := look(); dirty > 0 || helpers > 0 {
		t.Errorf("as it was, with other times: %d changes, %d helpers", dirty, helpers)
	}
	mustDo(t, syscall.Mkfifo(path("pipe"), 0o600))
	if _, helpers := look(); helpers != 1 {
		t.Error("a pipe is not seen")
	}
}
