package merge_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/store"
	"liza/pkg/board/transition"
	"liza/pkg/code/merge"
	"liza/pkg/verb/verb/verbtest"
)

// merger is what a person's `liza merge` uses.
func merger(p *verbtest.Place) *merge.Merger { return p.Service("").Merges.Merger("human") }

func head(p *verbtest.Place) string { return p.Git(p.Dir, "rev-parse", "integration") }

func mustMerge(t *testing.T, p *verbtest.Place, id string) merge.Result {
	t.Helper()
	r, err := merger(p).Task(context.Background(), id)
	if err != nil {
		t.Fatalf("cannot merge %s: %v", id, err)
	}
	return r
}

// P-110, P-111: an approved task is merged with its trailers, whatever the user's checkout is like.
func TestTheUsersCheckoutIsNotTouched(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.Approved("task-1")
	verbtest.Write(t, filepath.Join(p.Dir, "README.md"), "# Changed, not committed\n")
	verbtest.Write(t, filepath.Join(p.Dir, "staged.txt"), "staged\n")
	p.Git(p.Dir, "add", "staged.txt")
	verbtest.Write(t, filepath.Join(p.Dir, "stashed.txt"), "stashed\n")
	p.Git(p.Dir, "stash", "push", "-q", "--include-untracked", "--", "stashed.txt")
	look := func() string {
		index, err := os.ReadFile(filepath.Join(p.Dir, ".git", "index"))
		if err != nil {
			t.Fatal(err)
		}
		return p.Git(p.Dir, "status", "--porcelain") + p.Git(p.Dir, "rev-parse", "HEAD") + p.Git(p.Dir, "symbolic-ref", "HEAD") + p.Git(p.Dir, "stash", "list") + string(index)
	}
	before := look()
	r := mustMerge(t, p, "task-1")
	if after := look(); after != before {
		t.Errorf("the checkout changed:\n%s\nwas\n%s", after, before)
	}
	if r.MergeCommit != head(p) || r.Status != blackboard.Merged {
		t.Errorf("merged as %s with status %s, integration is at %s", r.MergeCommit, r.Status, head(p))
	}
	body := p.Git(p.Dir, "log", "-1", "--format=%B", "integration")
	for _, trailer := range []string{"Liza-Task: task-1", "Liza-Attempt: 1", "Liza-Approved-By: code-reviewer-9"} {
		if !strings.Contains(body, trailer) {
			t.Errorf("the merge commit lacks %q:\n%s", trailer, body)
		}
	}
}

// A candidate has a ref while it is checked. Where nothing is checked there is none, also when an earlier merge left one.
func TestACandidateHasARefWhileItIsChecked(t *testing.T) {
	t.Parallel()
	for _, checks := range [][]string{nil, {"true"}} {
		p := verbtest.New(t)
		p.Config.Integration.Checks = checks
		p.Approved("task-1")
		p.Git(p.Dir, "update-ref", "refs/liza/candidate/task-1", "main")
		m, refs := merger(p), ""
		m.At = func(point string) {
			if point == "M5" {
				refs = p.Git(p.Dir, "for-each-ref", "refs/liza/candidate")
			}
		}
		if _, err := m.Task(t.Context(), "task-1"); err != nil {
			t.Fatal(err)
		}
		if (refs != "") != (checks != nil) || strings.Contains(refs, p.Git(p.Dir, "rev-parse", "main")) {
			t.Errorf("with the checks %q the refs are %q", checks, refs)
		}
		p.Sound()
	}
}

// P-112, P-116: the branch moved without a conflict; two processes merge at once.
func TestTwoMergersAtOnce(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.Approved("task-1")
	p.Approved("task-2")
	var both sync.WaitGroup
	for _, id := range []string{"task-1", "task-2"} {
		both.Go(func() {
			if _, err := merger(p).Task(context.Background(), id); err != nil {
				t.Errorf("cannot merge %s: %v", id, err)
			}
		})
	}
	both.Wait()
	for _, id := range []string{"task-1", "task-2"} {
		if text := p.Git(p.Dir, "show", "integration:"+id+".md"); text != "a word of "+id {
			t.Errorf("%s is not in the branch: %q", id, text)
		}
	}
	drift := 0
	for task := range p.State().Tasks() {
		drift += task.History[len(task.History)-1].DriftCommits
	}
	if drift == 0 {
		t.Error("the drift of the later task is not recorded")
	}
	p.Sound()
}

// P-113: a conflict names the files; the branch and the worktree stay.
func TestAConflictLeavesTheBranch(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.Approved("task-1")
	p.Outside("task-1.md", "another word\n")
	before := head(p)
	_, err := merger(p).Task(context.Background(), "task-1")
	var failed *merge.FailedError
	if !errors.As(err, &failed) || failed.Result.Reason != "conflict" || len(failed.Result.Files) != 1 || failed.Result.Files[0] != "task-1.md" {
		t.Fatalf("the conflict is not told: %v", err)
	}
	if head(p) != before {
		t.Error("the branch moved")
	}
	task := p.State().Task("task-1")
	if last := task.History[len(task.History)-1]; task.Status != blackboard.IntegrationFailed || last.Files[0] != "task-1.md" {
		t.Errorf("task-1 is %s with %+v", task.Status, last)
	}
	p.Sound("task-1")
}

// P-117: the branch moves between the check and the swap: the merge waits until a person has decided, and
// the checks run again on what is there then.
func TestTheChecksRunAgainWhenTheBranchMoved(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	count := filepath.Join(p.Dir, ".git", "checks")
	p.Config.Integration.Checks = []string{"echo x >> " + count}
	p.Approved("task-1")
	m := merger(p)
	m.At = func(point string) {
		if point == "M7" {
			p.Push("outside.txt", "pushed\n")
		}
	}
	_, err := m.Task(context.Background(), "task-1")
	var refused *transition.Refusal
	if !errors.As(err, &refused) || refused.Guard != "G63" || p.State().Task("task-1").Status != blackboard.Approved {
		t.Fatalf("the merge was to wait by G63: %v", err)
	}
	p.Sound("task-1")
	p.Accept()
	mustMerge(t, p, "task-1")
	if runs, _ := os.ReadFile(count); string(runs) != "x\nx\n" {
		t.Errorf("the checks ran %q, want twice", runs)
	}
	if p.Git(p.Dir, "show", "integration:outside.txt") != "pushed" || p.Git(p.Dir, "show", "integration:task-1.md") == "" {
		t.Error("one of the two is not in the branch")
	}
}

// P-120: the branch is checked out: the task waits; after a switch it is merged.
func TestACheckedOutBranchIsNotMoved(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.Approved("task-1")
	p.Git(p.Dir, "checkout", "-q", "integration")
	_, err := merger(p).Task(context.Background(), "task-1")
	var refused *transition.Refusal
	if !errors.As(err, &refused) || refused.Guard != "G64" {
		t.Fatalf("the merge was to be refused by G64: %v", err)
	}
	if st := p.State().Task("task-1").Status; st != blackboard.Approved {
		t.Errorf("task-1 is %s, want APPROVED", st)
	}
	p.Git(p.Dir, "checkout", "-q", "main")
	mustMerge(t, p, "task-1")
}

// P-121: exactly the reviewed commit is merged; later work is in the attic.
func TestLateWorkGoesToTheAttic(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.Approved("task-1")
	dir := p.Repo.WorktreePath("task-1")
	verbtest.Write(t, filepath.Join(dir, "late.md"), "late\n")
	p.Git(dir, "add", "-A")
	p.Git(dir, "commit", "-q", "-m", "late")
	verbtest.Write(t, filepath.Join(dir, "later.md"), "later\n")
	mustMerge(t, p, "task-1")
	if files := p.Git(p.Dir, "ls-tree", "--name-only", "integration"); strings.Contains(files, "late") {
		t.Errorf("late work was merged: %s", files)
	}
	saved := p.Git(p.Dir, "ls-tree", "--name-only", "refs/liza/attic/task-1/1")
	if !strings.Contains(saved, "late.md") || !strings.Contains(saved, "later.md") {
		t.Errorf("the attic has %s", saved)
	}
	s := p.State()
	if len(s.Anomalies) != 1 || s.Anomalies[0].Type != "late_work" {
		t.Errorf("anomalies %+v, want one late_work", s.Anomalies)
	}
	p.Sound()
}

// P-122: a lock file that a killed git left does not stop a merge.
func TestAStaleLockFileOfGitIsRemoved(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.Approved("task-1")
	lock := filepath.Join(p.Dir, ".git", "refs", "heads", "integration.lock")
	verbtest.Write(t, lock, "")
	mustMerge(t, p, "task-1")
	if _, err := os.Stat(lock); err == nil {
		t.Error("the lock file is still there")
	}
}

// P-123: work that a person merged by hand is recorded, not merged again.
func TestWorkMergedByHandIsRecorded(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.Approved("task-1")
	by := p.Push("", "")
	p.Git(by, "merge", "-q", "--no-ff", "-m", "by hand", "task/task-1")
	hand := p.Git(by, "rev-parse", "HEAD")
	p.Git(p.Dir, "worktree", "remove", "--force", by)
	p.Git(p.Dir, "update-ref", "refs/heads/integration", hand)
	p.Accept()
	if r := mustMerge(t, p, "task-1"); r.MergeCommit != hand {
		t.Errorf("recorded as %s, want %s", r.MergeCommit, hand)
	}
	if head(p) != hand {
		t.Error("the branch moved")
	}
}

// A check that hangs is stopped at the time limit, and the branch stays.
func TestACheckThatHangsIsStopped(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.Config.Integration.Checks = []string{"tail -f /dev/null & exec tail -f /dev/null"}
	p.Approved("task-1")
	m := merger(p)
	m.Timeout = 300_000_000 // 300 ms
	_, err := m.Task(context.Background(), "task-1")
	var failed *merge.FailedError
	if !errors.As(err, &failed) || failed.Result.Reason != "checks" || failed.Result.Log == "" {
		t.Fatalf("a hanging check was to fail: %v", err)
	}
	p.Sound("task-1")
}

// P-119: only approved work is merged; a repetition says that it is done.
func TestOnlyApprovedWorkIsMerged(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.AddTask("task-1")
	var refused *transition.Refusal
	if _, err := merger(p).Task(context.Background(), "task-1"); !errors.As(err, &refused) || refused.Exit != transition.ExitRefused {
		t.Errorf("an unclaimed task: %v", err)
	}
	if _, err := merger(p).Task(context.Background(), "nope"); !errors.As(err, &refused) {
		t.Errorf("an unknown task: %v", err)
	}
	for _, as := range []string{"coder-1", "planner-1"} {
		if _, err := p.Service(as).Merges.Merge(context.Background(), "task-1"); !errors.As(err, &refused) || refused.Exit != transition.ExitRefused {
			t.Errorf("%s merges: %v", as, err)
		}
	}
	p.Approved("task-2")
	mustMerge(t, p, "task-2")
	if r := mustMerge(t, p, "task-2"); !r.Already {
		t.Error("the second merge does not say that it was done")
	}
	if _, err := p.Service("").Merges.Merge(context.Background(), ""); err == nil {
		t.Error("merging nothing is to be told")
	}
}

// What was submitted was looked at; what is on the board at the merge is looked at again.
func TestACommitThatBringsAnothersIsNotMerged(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.Approved("task-1")
	before, own := head(p), p.Git(p.Dir, "rev-parse", "task/task-1")
	theirs := p.Git(p.Dir, "commit-tree", own+"^{tree}", "-p", before, "-m", "unreviewed")
	evil := p.Git(p.Dir, "commit-tree", own+"^{tree}", "-p", own, "-p", theirs, "-m", "evil")
	err := p.Store.Update(t.Context(), store.Op{Name: "edit"}, func(s *blackboard.State) error {
		task := s.Task("task-1")
		task.ReviewCommit, task.ApprovedCommit = evil, evil
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = merger(p).Task(t.Context(), "task-1"); err == nil || !strings.Contains(err.Error(), "unsound: commit") {
		t.Errorf("the merge: %v", err)
	}
	if head(p) != before {
		t.Error("the branch moved")
	}
}
