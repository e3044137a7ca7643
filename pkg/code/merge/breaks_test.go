package merge_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/code/git"
	"liza/pkg/code/git/gittest"
	"liza/pkg/code/merge"
	"liza/pkg/verb/verb/verbtest"
)

func TestMain(m *testing.M) {
	if plan := os.Getenv(victimEnv); plan != "" {
		victim(plan)
		return
	}
	os.Exit(gittest.Main(m))
}

// breaking makes commands of git fail, one at a time: the nth of a call on a fresh place, on a place as it was before.
// look gets what failed and what the call said.
func breaking(t *testing.T, place func() *verbtest.Place, call func(*merge.Merger) error, look func(t *testing.T, p *verbtest.Place, broke string, err error)) {
	t.Helper()
	b := gittest.NewBreaker(t)
	p := place()
	back := p.Remember()
	first, step := gittest.Stride(t)
	for n := first; ; n += step {
		back()
		p.Repo = opened(t, p, b)
		b.Break(n)
		err := call(merger(p))
		broke := b.Mend()
		if i := strings.LastIndex(broke, "="); i >= 0 {
			broke = broke[i:]
		}
		look(t, p, broke, err)
		if broke == "" {
			if err != nil || n < 3 {
				t.Errorf("without a failing command: %v; fewer than %d commands", err, n)
			}
			return
		}
	}
}

// contains reports whether the branch has the file.
func contains(p *verbtest.Place, name string) bool {
	return p.Git(p.Dir, "ls-tree", "--name-only", "integration", name) == name
}

// Whatever fails during a merge: what it says is so, and the next one ends it, exactly once.
func TestAMergeWhoseGitFailsSaysSoAndIsEndedByTheNext(t *testing.T) {
	t.Parallel()
	place := func() *verbtest.Place {
		p := verbtest.New(t)
		p.Config.Integration.Checks = []string{"test -f task-1.md && test -f drift.md"}
		p.Approved("task-1")
		p.Outside("drift.md", "a word\n")
		verbtest.Write(t, filepath.Join(p.Repo.WorktreePath("task-1"), "late.md"), "late\n")
		return p
	}
	merged := 0
	breaking(t, place, func(m *merge.Merger) error { _, err := m.Task(context.Background(), "task-1"); return err },
		func(t *testing.T, p *verbtest.Place, broke string, err error) {
			t.Helper()
			task := p.State().Task("task-1")
			if done := task.Status == blackboard.Merged; done != (err == nil) || done && !contains(p, "task-1.md") {
				t.Errorf("%q failed: the merge said %v, task-1 is %s, its work on the branch: %t", broke, err, task.Status, contains(p, "task-1.md"))
			}
			if err == nil && broke != "" {
				merged++
			}
			if task.Status == blackboard.IntegrationFailed {
				t.Errorf("%q failed, which is nothing that a coder could mend: %s", broke, err)
				return
			}
			mustMerge(t, p, "task-1")
			if err := merger(p).CleanUp(context.Background()); err != nil {
				t.Error(err)
			}
			p.Sound()
			task = p.State().Task("task-1")
			if task.Status != blackboard.Merged || entries(task, "merged") != 1 || task.History[len(task.History)-1].DriftCommits != 1 && broke == "" {
				t.Errorf("%q failed: task-1 is %s with %d merged entries at last", broke, task.Status, entries(task, "merged"))
			}
			if got := p.Git(p.Dir, "log", "--merges", "--format=%s", "integration"); got != "Merge task-1: Write task-1" {
				t.Errorf("%q failed: merges on the branch: %q", broke, got)
			}
			if late := p.Git(p.Dir, "for-each-ref", "--format=%(refname)", "refs/liza/attic"); late == "" || p.Git(p.Dir, "show", strings.Fields(late)[0]+":late.md") != "late" {
				t.Errorf("%q failed: the late work is lost", broke)
			}
		})
	if merged == 0 {
		t.Error("no command failed after the merge; what is removed then is not looked at")
	}
}

// The same for a train: what git could not do is nothing that a coder could mend, and the next train ends it. The checks of
// both tasks run at one time, so that which command is the nth differs from run to run.
func TestATrainWhoseGitFailsIsEndedByTheNext(t *testing.T) {
	t.Parallel()
	place := func() *verbtest.Place {
		p := verbtest.New(t)
		p.Config.Integration.Checks = []string{"test -f README.md"}
		p.Config.Merge.Train, p.Config.Merge.Slots = 8, 8
		p.Approved("task-1")
		p.Approved("task-2")
		return p
	}
	b := gittest.NewBreaker(t)
	p := place()
	back := p.Remember()
	first, step := gittest.Stride(t)
	for n := first; ; n += step {
		back()
		p.Repo = opened(t, p, b)
		b.Break(n)
		_, err := merger(p).All(context.Background())
		broke := b.Mend()
		for _, id := range []string{"task-1", "task-2"} {
			if st := p.State().Task(id).Status; st == blackboard.IntegrationFailed {
				t.Errorf("%q failed: %s is %s: %v", broke, id, st, err)
			}
		}
		if _, err := merger(p).All(context.Background()); err != nil {
			t.Errorf("%q failed, and so did the next train: %v", broke, err)
		}
		if err := merger(p).CleanUp(context.Background()); err != nil {
			t.Error(err)
		}
		p.Sound()
		for _, id := range []string{"task-1", "task-2"} {
			if task := p.State().Task(id); task.Status != blackboard.Merged || entries(task, "merged") != 1 || !contains(p, id+".md") {
				t.Errorf("%q failed: %s is %s at last", broke, id, task.Status)
			}
		}
		if got := p.Git(p.Dir, "rev-list", "--merges", "--count", "integration"); got != "2" {
			t.Errorf("%q failed: %s merges on the branch, want 2", broke, got)
		}
		if broke == "" {
			if n < 20 {
				t.Errorf("only %d commands", n)
			}
			t.Logf("%d commands of git", n-1)
			return
		}
	}
}

func opened(t *testing.T, p *verbtest.Place, b *gittest.Breaker) *git.Repo {
	t.Helper()
	repo, err := git.Open(t.Context(), p.Dir, b.Env())
	if err != nil {
		t.Fatal(err)
	}
	return repo
}

func TestASyncWhoseGitFailsSaysSoAndIsEndedByTheNext(t *testing.T) {
	t.Parallel()
	commit := ""
	place := func() *verbtest.Place {
		p := verbtest.New(t)
		p.Outside("word.txt", "one word\n")
		commit = base(p, "other.txt", "another word\n")
		return p
	}
	sync := func(m *merge.Merger) error {
		got, err := m.Sync(context.Background(), "later", commit, false)
		if err == nil && got.Status != merge.SyncDone {
			t.Errorf("the sync ended as %s", got.Status)
		}
		return err
	}
	breaking(t, place, sync, func(t *testing.T, p *verbtest.Place, broke string, err error) {
		t.Helper()
		if err == nil && !contains(p, "other.txt") {
			t.Errorf("%q failed and the sync said that it is done", broke)
		}
		var moved *merge.MoveError
		if errors.As(err, &moved) {
			t.Errorf("%q failed and is told as %v", broke, err)
		}
		if _, err := merger(p).Sync(context.Background(), "later", commit, false); err != nil || !contains(p, "other.txt") || !contains(p, "word.txt") {
			t.Errorf("%q failed: the next sync ended with %v", broke, err)
		}
		if i := p.State().Integration; i.Intent != nil {
			t.Errorf("%q failed: the intent of the move stays: %+v", broke, i.Intent)
		}
		p.Sound()
	})
}

func TestLostWorkWhoseSecondMergeFailsIsMergedByTheNext(t *testing.T) {
	t.Parallel()
	place := func() *verbtest.Place {
		p := verbtest.New(t)
		p.Approved("task-1")
		mustMerge(t, p, "task-1")
		p.Git(p.Dir, "update-ref", "refs/heads/integration", "main")
		p.Accept()
		return p
	}
	again := func(m *merge.Merger) error { _, err := m.Again(context.Background(), "task-1"); return err }
	breaking(t, place, again, func(t *testing.T, p *verbtest.Place, broke string, err error) {
		t.Helper()
		if done := contains(p, "task-1.md"); err == nil && !done {
			t.Errorf("%q failed and the merge said that it is done", broke)
		}
		var refused *transition.Refusal
		if err := again(merger(p)); err != nil && !errors.As(err, &refused) || !contains(p, "task-1.md") {
			t.Errorf("%q failed: the next merge ended with %v", broke, err)
		}
		p.Sound()
		once(t, p, "merged_again", "Merge task-1: Write task-1")
	})
}

// What a killed merge left is removed by anyone who cleans up; if git fails then, that is told, and
// the next one does it.
func TestACleanUpWhoseGitFailsSaysSo(t *testing.T) {
	t.Parallel()
	place := func() *verbtest.Place {
		p := verbtest.New(t)
		p.Approved("task-1")
		interrupt(t, merger(p), "task-1", "M9")
		if _, err := p.Repo.CheckoutDetached(t.Context(), filepath.Join(p.Dir, ".worktrees", ".check-task-1"), "integration"); err != nil {
			t.Fatal(err)
		}
		return p
	}
	breaking(t, place, func(m *merge.Merger) error { return m.CleanUp(context.Background()) },
		func(t *testing.T, p *verbtest.Place, broke string, err error) {
			t.Helper()
			if err != nil {
				if err := merger(p).CleanUp(context.Background()); err != nil {
					t.Errorf("%q failed: the next one ended with %v", broke, err)
				}
			}
			p.Sound()
			if refs := p.Git(p.Dir, "for-each-ref", "refs/heads/task"); refs != "" {
				t.Errorf("%q failed, %v was told, and branches are left: %s", broke, err, refs)
			}
		})
}
