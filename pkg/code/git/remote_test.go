package git

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// remoteOf makes an empty bare repository and names it origin.
func remoteOf(t *testing.T, f *fixture) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "origin.git")
	if out, err := exec.Command("git", "init", "-q", "--bare", "-b", "main", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	f.git("remote", "add", "origin", dir)
	return dir
}

func hook(t *testing.T, remote, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(remote, "hooks"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(remote, "hooks", name), []byte("#!/bin/sh\n"+text), 0o755); err != nil {
		t.Fatal(err)
	}
}

const there = "refs/heads/integration"

func TestAPushIsACompareAndSwapOnTheRemote(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	remoteOf(t, f)
	ctx := t.Context()
	first := f.git("rev-parse", "HEAD")
	second := f.commitIn(f.dir, "two.md", "two\n")
	task := "refs/heads/task/a"
	if err := f.repo.Push(ctx, "origin", RemoteChange{there, first, ""}, RemoteChange{task, second, ""}); err != nil {
		t.Fatal(err)
	}
	if err := f.repo.Push(ctx, "origin", RemoteChange{there, second, ""}); !errors.Is(err, ErrRefMoved) {
		t.Errorf("a branch that exists was made again: %v", err)
	}
	// one of the two is elsewhere: neither changes
	if err := f.repo.Push(ctx, "origin", RemoteChange{there, second, first}, RemoteChange{task, "", first}); !errors.Is(err, ErrRefMoved) {
		t.Errorf("a push whose second ref is elsewhere: %v", err)
	}
	at, err := f.repo.RemoteRefs(ctx, "origin", there, task, "refs/heads/none")
	if err != nil || len(at) != 2 || at[there] != first || at[task] != second {
		t.Errorf("the remote is at %v, %v", at, err)
	}
	if err := f.repo.Push(ctx, "origin", RemoteChange{there, second, first}, RemoteChange{task, "", second}); err != nil {
		t.Fatal(err)
	}
	if err := f.repo.Push(ctx, "origin", RemoteChange{task, "", second}); !errors.Is(err, ErrRefMoved) {
		t.Errorf("a branch that is gone was deleted again: %v", err)
	}
	if at, err := f.repo.RemoteRefs(ctx, "origin", there, task); err != nil || len(at) != 1 || at[there] != second {
		t.Errorf("the remote is at %v, %v", at, err)
	}
}

func TestWhatTheRemoteSaysIsTold(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	remote := remoteOf(t, f)
	head := f.git("rev-parse", "HEAD")
	hook(t, remote, "pre-receive", "printf 'this branch is \\033[31mprotected\\033[0m\\n' >&2; exit 1\n")
	err := f.repo.Push(t.Context(), "origin", RemoteChange{there, head, ""})
	said := new(RemoteError)
	if !errors.As(err, &said) || !said.Refused || !strings.Contains(said.Words, "protected") || strings.Contains(err.Error(), "\x1b") {
		t.Errorf("a refused push: %#v", err)
	}
	f.git("remote", "set-url", "origin", filepath.Join(t.TempDir(), "none"))
	if _, err := f.repo.RemoteRefs(t.Context(), "origin", there); !errors.As(err, &said) || said.Refused || !strings.Contains(said.Words, "does not appear to be a git repository") {
		t.Errorf("a remote that is not there: %v", err)
	}
}

func TestARemoteThatHangsIsLeft(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	remote := remoteOf(t, f)
	hook(t, remote, "pre-receive", "exec tail -f /dev/null\n")
	f.repo.RemoteTimeout = 500 * time.Millisecond
	err := f.repo.Push(t.Context(), "origin", RemoteChange{there, f.git("rev-parse", "HEAD"), ""})
	if said := new(RemoteError); !errors.As(err, &said) || !said.Late {
		t.Errorf("a push to a remote that hangs: %v", err)
	}
}

func TestACommitIsFetchedByItsName(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	remote := remoteOf(t, f)
	other := filepath.Join(t.TempDir(), "other")
	for _, args := range [][]string{{"clone", "-q", f.dir, other}, {"-C", other, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "there"},
		{"-C", other, "push", "-q", remote, "HEAD:refs/heads/task/a"}} {
		if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	out, err := exec.Command("git", "-C", other, "rev-parse", "HEAD").Output()
	if err != nil {
		t.Fatal(err)
	}
	commit := strings.TrimSpace(string(out))
	if err := f.repo.Fetch(t.Context(), "origin", commit, "", f.git("rev-parse", "HEAD")); err != nil {
		t.Fatal(err)
	}
	if has, err := f.repo.CommitExists(t.Context(), commit); err != nil || !has {
		t.Errorf("the commit is here: %t, %v", has, err)
	}
	if refs := f.git("for-each-ref", "refs/remotes", "refs/heads/task"); refs != "" {
		t.Errorf("refs were made: %s", refs)
	}
	if err := f.repo.Fetch(t.Context(), "origin", strings.Repeat("1", 40)); !errors.Is(err, ErrNotFound) {
		t.Errorf("a commit that nobody has: %v", err)
	}
}

func TestALocalBranchFollowsAndLosesNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	first := f.git("rev-parse", "HEAD")
	second := f.commitIn(f.dir, "two.md", "two\n")
	f.git("branch", "-f", "integration", first)
	if err := f.repo.Advance(t.Context(), "integration", second); err != nil || f.git("rev-parse", "integration") != second {
		t.Errorf("the branch did not follow: %v", err)
	}
	if err := f.repo.Advance(t.Context(), "integration", first); err != nil || f.git("rev-parse", "integration") != second {
		t.Errorf("the branch went back: %v", err)
	}
	f.git("update-ref", "refs/heads/"+f.git("symbolic-ref", "--short", "HEAD"), first)
	if err := f.repo.Advance(t.Context(), f.git("symbolic-ref", "--short", "HEAD"), second); err != nil || f.git("rev-parse", "HEAD") != first {
		t.Errorf("a branch that is checked out was moved: %v", err)
	}
}
