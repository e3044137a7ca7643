package seed

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"liza/pkg/base/safefile"
	"liza/pkg/code/git"
)

// TestFigures prints what seeds cost beside a bare `git worktree add` and a bare copy: in the short form with few files, by scripts/bench-worktree
// with as many as a large node_modules has, on each file system that the machine can make.
func TestFigures(t *testing.T) {
	number := func(name string, short int) int {
		if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
			return n
		}
		return short
	}
	count, kb, worktrees := number("SEED_FILES", 200), number("SEED_MB", 2)<<10, number("SEED_WORKTREES", 3)
	dir, ctx := t.TempDir(), context.Background()
	repo := filepath.Join(dir, "repo")
	run := func(name string, args ...string) time.Duration {
		t.Helper()
		began := time.Now()
		if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, out)
		}
		return time.Since(began)
	}
	write(t, repo, "src/main.js", "main")
	write(t, repo, ".gitignore", "node_modules/\n")
	run("git", "init", "-q", repo)
	run("git", "-C", repo, "add", ".")
	run("git", "-C", repo, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "First")
	text := make([]byte, kb<<10/count)
	for i := range count {
		for j := range text {
			text[j] = byte(i*31 + j*7 + j>>8)
		}
		write(t, repo, fmt.Sprintf("node_modules/p%d/lib/f%d.js", i/20, i), string(text))
	}
	syscall.Sync()
	at := func(name string) string { return filepath.Join(dir, name) }
	s := &Store{Dir: at("seeds"), Now: time.Now}
	began := time.Now()
	files := []git.Listed{{Path: "src/main.js"}, {Path: ".gitignore"}}
	made, err := s.Keep(ctx, Seed{Key: "key-of-the-seed", Place: repo}, append(files, git.Listed{Path: ".git/x"}), 100<<30)
	if err != nil || made.Files != int64(count) {
		t.Fatalf("%+v: %v", made, err)
	}
	keep := time.Since(began)
	bare := run("git", "-C", repo, "worktree", "add", "-q", "--detach", at("bare"))
	copied := run("cp", "-a", "--reflink=never", at("repo/node_modules"), at("copied"))
	shared := run("cp", "-a", "--reflink=auto", at("repo/node_modules"), at("shared"))
	for _, name := range []string{"copied", "shared"} {
		if err := safefile.RemoveTree(at(name)); err != nil {
			t.Fatal(err)
		}
	}
	used := func() int64 {
		syscall.Sync()
		var st syscall.Statfs_t
		if err := syscall.Statfs(dir, &st); err != nil {
			t.Fatal(err)
		}
		return int64(st.Blocks-st.Bfree) * st.Bsize
	}
	before := used()
	var slowest, all time.Duration
	var way string
	for i := range worktrees {
		began := time.Now()
		run("git", "-C", repo, "worktree", "add", "-q", "--detach", at(fmt.Sprint("w", i)))
		laid, err := s.Lay(ctx, made.Key, at(fmt.Sprint("w", i)), files)
		if err != nil {
			t.Fatal(err)
		}
		took := time.Since(began)
		slowest, all, way = max(slowest, took), all+took, laid.Way
	}
	t.Logf("%d files, %d MB, by %s: seed made in %.2f s; git worktree add %.2f s, cp -a %.2f s (with reflinks where there are any %.2f s); worktree with seed %.2f s, at most %.2f s; %d worktrees take %d MB beside the first %d MB",
		count, kb>>10, way, keep.Seconds(), bare.Seconds(), copied.Seconds(), shared.Seconds(), (all / time.Duration(worktrees)).Seconds(), slowest.Seconds(), worktrees, (used()-before)>>20, kb>>10)
}
