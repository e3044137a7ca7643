package git

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

const integrationLock = ".git/refs/heads/integration.lock"

func TestAStaleLockFileOfGitIsRemovedOnceAndReported(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var heard []string
	f.repo.OnLockRemoved = func(path string) { heard = append(heard, path) }
	f.write(integrationLock, "")
	next := f.commitOn("main", "n.txt", "n\n")
	if err := f.repo.UpdateRef(t.Context(), "refs/heads/integration", next, f.integration()); err != nil {
		t.Fatal(err)
	}
	if f.integration() != next || !slices.Equal(heard, []string{filepath.Join(f.dir, integrationLock)}) {
		t.Errorf("integration is at %s, heard %q", f.integration(), heard)
	}
	f.write(".git/packed-refs.lock", "")
	if err := f.repo.DeleteRef(t.Context(), "refs/heads/integration", next); err != nil || len(heard) != 2 {
		t.Errorf("packed refs: %v, heard %q", err, heard)
	}
	f.write(".git/refs/heads/task/task-1.lock", "")
	got := f.claim(Provide{ID: "task-1", Base: next})
	if len(got.LockRemoved) != 1 || !got.Created {
		t.Errorf("got %+v", got)
	}
}

// living starts a git process that waits for input until the test ends.
func living(t testing.TB, f *fixture, dir string, env ...string) {
	t.Helper()
	cmd := f.command(dir, "cat-file", "--batch")
	cmd.Env = append(cmd.Env, env...)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = cmd.Wait()
	})
	// Its first answer shows that it is at work.
	if _, err := stdin.Write([]byte("HEAD\n")); err != nil {
		t.Fatal(err)
	}
	if _, err := stdout.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
}

func TestALockFileStaysWhileAGitProcessLives(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(f *fixture, linked string){
		"in the checkout":   func(f *fixture, _ string) { living(f.t, f, f.dir) },
		"in a worktree":     func(f *fixture, linked string) { living(f.t, f, linked) },
		"through a setting": func(f *fixture, _ string) { living(f.t, f, os.TempDir(), "GIT_DIR="+filepath.Join(f.dir, ".git")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			linked := filepath.Join(realTemp(t), "linked")
			f.git("worktree", "add", "-q", "--detach", linked)
			start(f, linked)
			f.write(integrationLock, "")
			old, next := f.integration(), f.commitOn("main", "n.txt", "n\n")
			err := f.repo.UpdateRef(t.Context(), "refs/heads/integration", next, old)
			if _, ok := errors.AsType[*Error](err); !ok || errors.Is(err, ErrRefMoved) {
				t.Errorf("got %v", err)
			}
			wantError(t, err, "works in this repository")
			if !f.exists(integrationLock) || f.integration() != old {
				t.Error("the lock file was removed or the ref moved")
			}
		})
	}
}

func TestAGitProcessElsewhereDoesNotCount(t *testing.T) {
	t.Parallel()
	f, other := newFixture(t), newFixture(t)
	living(t, other, other.dir)
	f.write(integrationLock, "")
	next := f.commitOn("main", "n.txt", "n\n")
	if err := f.repo.UpdateRef(t.Context(), "refs/heads/integration", next, f.integration()); err != nil {
		t.Error(err)
	}
}

func TestOnlyLockFilesOfTheRepositoryAreRemoved(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	s, err := f.repo.lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.unlock()
	f.write("yarn.lock", "of the user")
	f.write(".git/folder.lock/x", "")
	for _, name := range []string{"yarn.lock", ".git/folder.lock", ".git/../yarn.lock"} {
		if err := s.clearStale(t.Context(), filepath.Join(f.dir, name)); err == nil || !f.exists(name) {
			t.Errorf("%s was removed", name)
		}
	}
	if err := s.clearStale(t.Context(), filepath.Join(f.dir, integrationLock)); err != nil || len(s.removed) > 0 {
		t.Errorf("a lock file that is gone: %v, removed %q", err, s.removed)
	}
}

// A process whose name cannot be read, because no file descriptor is left for instance, may be the git that holds the lock.
func TestAProcessThatCannotBeReadCountsAsAlive(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if works, err := gitWorksIn(dir, nil); works || err != nil { // it has ended meanwhile
		t.Errorf("one that is gone: %v, %v", works, err)
	}
	if err := os.Mkdir(filepath.Join(dir, "comm"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := gitWorksIn(dir, nil); err == nil {
		t.Error("one that cannot be read counts as gone")
	}
}

// The beginning of a worktree's path, as a loss of power leaves it, is not one of the folders in which this repository's gits work: it may be that of all.
func TestATornEntryOfAWorktreeNamesNoFolder(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.git("worktree", "add", "-q", "-b", "mine", filepath.Join(t.TempDir(), "mine"))
	for _, torn := range []string{"/", "/tmp/", "/tmp/x", "", "\x00\x00\x00"} {
		writeFile(t, filepath.Join(f.dir, ".git/worktrees/mine/gitdir"), torn)
		all, err := f.repo.Worktrees(t.Context())
		if err != nil || len(all) != 1 || !all[0].Main {
			t.Errorf("gitdir %q: %+v %v", torn, all, err)
		}
	}
}
