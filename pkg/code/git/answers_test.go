package git

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"liza/pkg/code/git/gittest"
)

// What git says of two commits never changes: it is asked once. Looking at every commit again
// made boards with many tasks slow. What a name means may change, so that is asked again.
func TestWhatNeverChangesIsAskedOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	base, commit := f.integration(), committed(f)
	f.git("update-index", "--add", "--cacheinfo", "100644,"+f.git("rev-parse", "HEAD:a.txt")+",moved.txt")
	f.git("update-index", "--force-remove", "a.txt")
	renamed := f.git("commit-tree", f.git("write-tree"), "-p", "HEAD", "-m", "renamed")
	f.git("read-tree", "HEAD")
	f.git("update-index", "--add", "--cacheinfo", "100644,"+f.git("rev-parse", "HEAD:a.txt")+",other.txt")
	other := f.git("commit-tree", f.git("write-tree"), "-p", "HEAD", "-m", "other")
	f.git("read-tree", "HEAD")
	index := filepath.Join(f.dir, ".git", "index")
	if err := os.Chtimes(index, someTime, time.Now().Add(-time.Minute)); err != nil {
		t.Fatal(err)
	}
	b := gittest.NewBreaker(t)
	repo := f.open(f.dir, b.Env())
	for name, c := range map[string]struct {
		ask   func(ctx context.Context) (any, error)
		again bool
		never bool // no process is needed at all
	}{
		"diff":          {ask: func(ctx context.Context) (any, error) { return repo.Diff(ctx, base, commit) }},
		"diff of files": {ask: func(ctx context.Context) (any, error) { return repo.Diff(ctx, base, commit, "b.txt") }},
		"diff of names": {ask: func(ctx context.Context) (any, error) { return repo.Diff(ctx, "main", commit) }, again: true},
		"stat":          {ask: func(ctx context.Context) (any, error) { return repo.DiffStat(ctx, base, other) }},
		"renamed files": {ask: func(ctx context.Context) (any, error) { return repo.ChangedFiles(ctx, base, renamed) }},
		"changes":       {never: true, ask: func(ctx context.Context) (any, error) { return repo.ChangedFiles(ctx, base, commit) }},
		"merge base":    {never: true, ask: func(ctx context.Context) (any, error) { return repo.MergeBase(ctx, renamed, commit) }},
		"sides": {never: true, ask: func(ctx context.Context) (any, error) {
			from, _, err := repo.Proposal(ctx, renamed, commit)
			return from, err
		}},
		"sides of a name": {ask: func(ctx context.Context) (any, error) {
			from, _, err := repo.Proposal(ctx, "main", commit)
			return from, err
		}, again: true},
		"drift": {never: true, ask: func(ctx context.Context) (any, error) { return repo.CountBetween(ctx, renamed, commit) }},
		"a try to merge": {never: true, ask: func(ctx context.Context) (any, error) {
			return nil, repo.TryMerge(ctx, other, commit)
		}},
		"files":           {ask: func(ctx context.Context) (any, error) { return repo.ListCommit(ctx, commit) }},
		"files of a name": {ask: func(ctx context.Context) (any, error) { return repo.ListCommit(ctx, "main") }, again: true},
		"tracked files":   {ask: func(ctx context.Context) (any, error) { return repo.Tracked(ctx, "a.txt") }},
		"tree of a name":  {ask: func(ctx context.Context) (any, error) { return repo.TreeOf(ctx, "main") }, again: true},
		"sound": {ask: func(ctx context.Context) (any, error) {
			return repo.Unsound(ctx, Line{ID: "task-1", Commit: commit, Known: []string{base}})
		}},
		"sound beside name": {ask: func(ctx context.Context) (any, error) {
			return repo.Unsound(ctx, Line{ID: "task-1", Commit: commit + "^0", Known: []string{"main"}})
		}, again: true},
	} {
		var answers [2]string
		var commands [2]int
		for i := range 2 {
			commands[i] = len(b.Commands(func() {
				answer, err := c.ask(t.Context())
				if err != nil {
					t.Errorf("%s: %v", name, err)
				}
				answers[i] = fmt.Sprint(answer)
			}))
		}
		if (commands[0] == 0) != c.never || (commands[1] > 0) != c.again || answers[0] != answers[1] {
			t.Errorf("%s: %d commands, then %d; %s, then %s", name, commands[0], commands[1], answers[0], answers[1])
		}
	}
	if commands := b.Commands(func() {
		if tree, err := repo.TreeOf(t.Context(), commit); err != nil || tree != f.git("rev-parse", commit+"^{tree}") {
			t.Error(tree, err)
		}
	}); len(commands) != 0 {
		t.Errorf("the tree of a commit is read without git: %q", commands)
	}
	if commands := b.Commands(func() {
		if stat, err := repo.DiffStat(t.Context(), base, commit); err != nil || stat == "" {
			t.Error(stat, err)
		}
	}); len(commands) != 0 {
		t.Errorf("the summary of a difference comes with it: %q", commands)
	}
	f.write("c.txt", "c\n")
	f.git("add", "c.txt")
	if files, err := repo.Tracked(t.Context(), "c.txt"); err != nil || len(files) != 1 {
		t.Errorf("a file that was just added: %q, %v", files, err)
	}
}

// What was taken over from a run went through git's check of each object. It is asked again only for a commit below which
// something was on the task's branch already that the integration branch has not.
func TestWhatWasTakenOverIsNotCheckedAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := gittest.NewBreaker(t)
	f.repo = f.open(f.dir, b.Env())
	unsound := func(commit string, known ...string) (commands int) {
		return len(b.Commands(func() {
			if why, err := f.repo.Unsound(t.Context(), Line{ID: "t", Commit: commit, Known: known}); why != "" || err != nil {
				t.Errorf("%s: %q, %v", commit, why, err)
			}
		}))
	}
	x := f.run("t")
	first := x.commit("one.txt", "1\n")
	if taken := x.take(); !taken.Moved {
		t.Fatalf("%+v", taken)
	}
	if n := unsound(first, x.base); n != 0 {
		t.Errorf("%d commands of git look at it again", n)
	}
	second := x.commit("two.txt", "2\n")
	if taken := x.take(); !taken.Moved {
		t.Fatalf("%+v", taken)
	}
	if n := unsound(second, x.base); n == 0 {
		t.Error("what was on the branch before is not on the integration branch, and was not looked at")
	}
}

// That a commit is the ancestor of another stays true.
func TestAnAncestorIsLookedForOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	base := f.integration()
	f.git("branch", "other", base)
	other := f.commitOn("other", "other.txt", "x\n")
	tip := f.advance("later.txt", "x\n")
	for range 2 {
		for _, c := range []struct {
			a, b string
			want bool
		}{{base, tip, true}, {tip, base, false}, {other, tip, false}, {base, "integration", true}} {
			if yes, err := f.repo.IsAncestor(t.Context(), c.a, c.b); err != nil || yes != c.want {
				t.Errorf("%s before %s: %v, %v", c.a, c.b, yes, err)
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if yes, err := f.repo.IsAncestor(ctx, base, tip); !yes || err != nil {
		t.Errorf("it is looked for again: %v, %v", yes, err)
	}
	if _, err := f.repo.IsAncestor(ctx, tip, base); err == nil {
		t.Error("that there is none is believed, which a fetch can change")
	}
}
