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
	run := func(name string, args ...string) cost {
		t.Helper()
		syscall.Sync() // what others have not written yet costs the next one
		began, cmd := time.Now(), exec.Command(name, args...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, out)
		}
		return cost{time.Since(began), cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}
	}
	ours := func(do func()) cost {
		syscall.Sync()
		began, before := time.Now(), processor(t)
		do()
		return cost{time.Since(began), processor(t) - before}
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
	files := []git.Listed{{Path: "src/main.js"}, {Path: ".gitignore"}}
	var made Seed
	keep := ours(func() {
		var err error
		if made, err = s.Keep(ctx, Seed{Key: "key-of-the-seed", Place: repo}, append(files, git.Listed{Path: ".git/x"}), 100<<30); err != nil || made.Files != int64(count) {
			t.Fatalf("%+v: %v", made, err)
		}
	})
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
		return int64(st.Blocks-st.Bfree) * int64(st.Bsize)
	}
	before := used()
	var slowest, all cost
	var way string
	for i := range worktrees {
		took := run("git", "-C", repo, "worktree", "add", "-q", "--detach", at(fmt.Sprint("w", i)))
		took.add(ours(func() {
			laid, err := s.Lay(ctx, made.Key, at(fmt.Sprint("w", i)), files)
			if way = laid.Way; err != nil {
				t.Fatal(err)
			}
		}))
		if all.add(took); took.wall > slowest.wall {
			slowest = took
		}
	}
	all.wall, all.processor = all.wall/time.Duration(worktrees), all.processor/time.Duration(worktrees)
	t.Logf("%d files, %d MB, by %s: seed made %s; git worktree add %s, cp -a %s, with reflinks where there are any %s; worktree with seed %s, slowest %s; %d worktrees take %d MB beside the first %d MB",
		count, kb>>10, way, keep, bare, copied, shared, all, slowest, worktrees, (used()-before)>>20, kb>>10)
}

// cost is what something took, in time and of the processors.
type cost struct{ wall, processor time.Duration }

func (c *cost) add(more cost) { c.wall, c.processor = c.wall+more.wall, c.processor+more.processor }

func (c cost) String() string {
	return fmt.Sprintf("%.2f s (%.2f of processor)", c.wall.Seconds(), c.processor.Seconds())
}

func processor(t *testing.T) time.Duration {
	t.Helper()
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		t.Fatal(err)
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}
