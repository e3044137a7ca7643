package git

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// While git adds a worktree its HEAD has zeros, and a fetch that looks at it then fails. It waits until the worktree is there, and fetches again.
func TestAFetchWhileAWorktreeIsAddedIsDoneAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	remote := remoteOf(t, f)
	f.git("push", "-q", "origin", "HEAD:refs/heads/integration")
	other := filepath.Join(t.TempDir(), "other")
	f.git("clone", "-q", "-b", "integration", remote, other)
	commit := f.commitIn(other, "far.md", "far\n")
	f.git("-C", other, "push", "-q", "origin", "integration")

	f.git("worktree", "add", "-q", "--detach", filepath.Join(t.TempDir(), "adding"))
	head := filepath.Join(f.dir, ".git", "worktrees", "adding", "HEAD")
	sound, err := os.ReadFile(head)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s, err := f.repo.lock(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(head, []byte(strings.Repeat("0", 40)+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- f.repo.Fetch(ctx, "origin", commit) }()
	waits, tick := false, time.NewTicker(10*time.Millisecond)
	defer tick.Stop()
	for !waits {
		select {
		case err := <-done:
			t.Fatalf("the fetch did not wait: %v", err)
		case <-tick.C:
			waits = awaited(t, filepath.Join(f.dir, ".git", "liza", "git.lock"))
		}
	}
	if err := os.WriteFile(head, sound, 0o644); err != nil {
		t.Fatal(err)
	}
	s.unlock()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// awaited reports whether a process waits for the lock of a file.
func awaited(t *testing.T, path string) bool {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	locks, err := os.ReadFile("/proc/locks")
	if err != nil {
		t.Fatal(err)
	}
	inode := fmt.Sprintf(":%d ", info.Sys().(*syscall.Stat_t).Ino)
	for line := range strings.Lines(string(locks)) {
		if strings.Contains(line, "-> FLOCK") && strings.Contains(line, inode) {
			return true
		}
	}
	return false
}
