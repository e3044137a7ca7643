package merge_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/code/merge"
	"liza/pkg/verb/verb"
	"liza/pkg/verb/verb/verbtest"
)

// interrupt runs a merge that ends at the named point, as if its process had died there: no
// step after it happens, and the kernel frees the lock.
func interrupt(t *testing.T, m *merge.Merger, id, point string) {
	t.Helper()
	type death string
	m.At = func(at string) {
		if at == point {
			panic(death(at))
		}
	}
	defer func() {
		if r := recover(); r == nil {
			t.Fatalf("the merge did not come to %s", point)
		} else if _, ok := r.(death); !ok {
			panic(r)
		}
	}()
	_, _ = m.Task(context.Background(), id)
}

func entries(task *blackboard.Task, event blackboard.HistoryEvent) int {
	n := 0
	for _, h := range task.History {
		if h.Event == event {
			n++
		}
	}
	return n
}

// P-115: wherever a merge is interrupted, also twice, the next one ends it: exactly one merge
// and one entry, the drift is that of the merge, nothing is left over.
func TestAnInterruptedMergeConverges(t *testing.T) {
	t.Parallel()
	for n := range 11 {
		point := fmt.Sprintf("M%d", n)
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			p := verbtest.New(t)
			p.Config.Integration.Checks = []string{"test -f task-1.md"}
			p.Approved("task-1")
			p.Outside("outside.txt", "pushed\n")
			interrupt(t, merger(p), "task-1", point)
			switch n {
			case 9, 10: // recorded: only the removal is open
			default:
				if st := p.State().Task("task-1").Status; st != blackboard.Approved {
					t.Fatalf("task-1 is %s after %s, want APPROVED", st, point)
				}
			}
			if n == 5 || n == 7 {
				interrupt(t, merger(p), "task-1", "M6") // the second one finds a candidate, or an intent
			}
			mustMerge(t, p, "task-1")
			if err := merger(p).CleanUp(context.Background()); err != nil {
				t.Fatal(err)
			}
			p.Sound()
			task := p.State().Task("task-1")
			if task.Status != blackboard.Merged || entries(task, "merged") != 1 {
				t.Errorf("task-1 is %s with %d merged entries", task.Status, entries(task, "merged"))
			}
			if drift := task.History[len(task.History)-1].DriftCommits; drift != 1 {
				t.Errorf("drift %d, want 1", drift)
			}
			if merges := p.Git(p.Dir, "log", "--merges", "--format=%s", "integration"); merges != "Merge task-1: Write task-1" {
				t.Errorf("merges on the branch: %q, want exactly one", merges)
			}
			if refs := p.Git(p.Dir, "for-each-ref", "refs/heads/task"); refs != "" {
				t.Errorf("branches are left: %s", refs)
			}
		})
	}
}

// A merge killed during its checks leaves a worktree with a process in it. Both the next
// merge and CleanUp end the process and remove the folder.
func TestProcessesOfAnInterruptedCheckAreEnded(t *testing.T) {
	t.Parallel()
	for name, converge := range map[string]func(*merge.Merger) error{
		"merge":   func(m *merge.Merger) error { _, err := m.Task(context.Background(), "task-1"); return err },
		"cleanup": func(m *merge.Merger) error { return m.CleanUp(context.Background()) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := verbtest.New(t)
			p.Approved("task-1")
			check := filepath.Join(p.Dir, ".worktrees", ".check-task-1")
			if _, err := p.Repo.CheckoutDetached(context.Background(), check, "integration"); err != nil {
				t.Fatal(err)
			}
			orphan := exec.Command("tail", "-f", "/dev/null")
			orphan.Dir = check
			if err := orphan.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- orphan.Wait() }()
			if err := converge(merger(p)); err != nil {
				t.Error(err)
			}
			select {
			case <-ended:
			case <-time.After(time.Minute):
				_ = orphan.Process.Kill()
				t.Fatal("the orphan still ran")
			}
			if ws, ok := orphan.ProcessState.Sys().(syscall.WaitStatus); !ok || ws.Signal() != syscall.SIGKILL {
				t.Errorf("the orphan ended as %s", orphan.ProcessState)
			}
			if _, err := os.Lstat(check); err == nil {
				t.Error("the check's worktree is still there")
			}
		})
	}
}

// A merge that was killed after M9 leaves the worktree; what somebody puts into it then is
// late work, which is saved and reported before the worktree goes.
func TestLateWorkAfterTheMergeIsSaved(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.Approved("task-1")
	interrupt(t, merger(p), "task-1", "M9")
	verbtest.Write(t, filepath.Join(p.Repo.WorktreePath("task-1"), "late.md"), "late\n")
	for range 2 { // the second time there is nothing to do
		if err := merger(p).CleanUp(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	if text := p.Git(p.Dir, "show", "refs/liza/attic/task-1/1:late.md"); text != "late" {
		t.Errorf("the attic has %q", text)
	}
	if list := p.State().Anomalies; len(list) != 1 || list[0].Type != "late_work" || list[0].Task != "task-1" {
		t.Errorf("anomalies %+v, want one late_work", list)
	}
	p.Sound()
}

// The folder may be gone while the branch is left, and the candidate of a task that was given up.
func TestCleanUpFindsBranchesAndCandidates(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.Approved("task-1")
	interrupt(t, merger(p), "task-1", "M9")
	p.Git(p.Dir, "worktree", "remove", "--force", p.Repo.WorktreePath("task-1"))
	p.Approved("task-2")
	p.Outside("task-2.md", "another word\n")
	if _, err := merger(p).Task(context.Background(), "task-2"); err == nil {
		t.Fatal("the conflict was merged")
	}
	must(t)(p.Service("").Abandon(context.Background(), verb.WayOut{Task: "task-2", Reason: "not wanted any more"}))
	p.Git(p.Dir, "update-ref", "refs/liza/candidate/task-2", "integration")
	verbtest.Write(t, filepath.Join(p.Dir, ".worktrees", ".removed-task-0", "half-removed"), "")
	if err := merger(p).CleanUp(context.Background()); err != nil {
		t.Fatal(err)
	}
	p.Sound()
	if refs := p.Git(p.Dir, "for-each-ref", "--format=%(refname)", "refs/heads/task", "refs/liza/candidate"); refs != "" {
		t.Errorf("left over: %s", refs)
	}
}

// An interrupt after the merge is recorded takes nothing back: the task is merged, nothing is warned of, and the next look removes
// the worktree.
func TestAnInterruptWhileAMergeCleansUpIsNotAFault(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.Approved("task-1")
	ctx, interrupt := context.WithCancel(t.Context())
	m := merger(p)
	m.At = func(point string) {
		if point == "M9" {
			interrupt()
		}
	}
	m.Warn = func(text string) { t.Errorf("warned: %s", text) }
	if r, err := m.Task(ctx, "task-1"); err != nil || r.Status != blackboard.Merged {
		t.Errorf("got %+v, %v", r, err)
	}
	if err := merger(p).CleanUp(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(p.Dir, ".worktrees", "task-1")); !os.IsNotExist(err) {
		t.Errorf("the worktree stays: %v", err)
	}
	p.Sound()
}

// While a merge is under way its check worktree is in use, not left over.
func TestCleanUpLeavesARunningMergeAlone(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.Config.Integration.Checks = []string{"true"}
	p.Approved("task-1")
	m := merger(p)
	var points []string
	m.At = func(point string) {
		points = append(points, point)
		if point != "M5" {
			return
		}
		check := filepath.Join(p.Dir, ".worktrees", ".check-task-1")
		verbtest.Write(t, filepath.Join(check, "in-use"), "")
		if err := merger(p).CleanUp(context.Background()); err != nil {
			t.Errorf("cannot clean up beside a merge: %v", err)
		}
		if _, err := os.Stat(filepath.Join(check, "in-use")); err != nil {
			t.Errorf("the check's worktree was removed under the merge: %v", err)
		}
	}
	if _, err := m.Task(context.Background(), "task-1"); err != nil {
		t.Fatal(err)
	}
	if want := []string{"M0", "M1", "M2", "M3", "M4", "M5", "M6", "M7", "M8", "M9", "M10"}; !slices.Equal(points, want) {
		t.Errorf("the points were %v, want %v", points, want)
	}
	p.Sound()
}
