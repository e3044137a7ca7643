package git

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"liza/pkg/code/git/gittest"
)

// A change is a call of this package, with what has to be there before it.
type change struct {
	before func(f *fixture) (state string)
	call   func(ctx context.Context, r *Repo, state string) error
	reads  bool     // nothing changes: one repository is enough for all attempts
	may    []string // commands that only save time
	none   bool     // it starts no command
}

func task1(f *fixture) string { return f.provide(Provide{ID: "task-1"}).Path }

// worked is the worktree of task-1 with a commit, an edit and a new file; the state is its commit.
func worked(f *fixture) string {
	path := task1(f)
	commit := f.commitIn(path, "b.txt", "mine\n")
	writeFile(f.t, filepath.Join(path, "b.txt"), "edited\n")
	writeFile(f.t, filepath.Join(path, "new.txt"), "new\n")
	return commit
}

func committed(f *fixture) string { return f.commitIn(task1(f), "b.txt", "mine\n") }

// changes are tried with each of their commands failing once. What a call gave back with its
// error does not matter; that it says "done" when a command failed would lose work.
var changes = map[string]change{
	"provide a new worktree": {call: func(ctx context.Context, r *Repo, base string) error {
		_, err := r.ProvideWorktree(ctx, Provide{ID: "task-1", Base: base, Nonce: "n1", Now: someTime})
		return err
	}, before: func(f *fixture) string { return f.integration() }},
	"provide a fresh worktree in the place of work": {call: func(ctx context.Context, r *Repo, base string) error {
		_, err := r.ProvideWorktree(ctx, Provide{ID: "task-1", Base: base, Nonce: "n2", Now: someTime})
		return err
	}, before: func(f *fixture) string { worked(f); return f.integration() }},
	"keep a worktree": {none: true, call: func(ctx context.Context, r *Repo, base string) error {
		_, err := r.ProvideWorktree(ctx, Provide{ID: "task-1", Base: base, Keep: true, Nonce: "n2", Now: someTime})
		return err
	}, before: func(f *fixture) string { worked(f); return f.integration() }},
	"start again at a commit": {call: func(ctx context.Context, r *Repo, commit string) error {
		_, err := r.ProvideWorktree(ctx, Provide{ID: "task-1", Base: commit, RestartFrom: commit, Nonce: "n2", Now: someTime})
		return err
	}, before: worked},
	"abandon a claim": {call: func(ctx context.Context, r *Repo, _ string) error { return r.Abandon(ctx, "task-1", "n1") },
		before: func(f *fixture) string { return f.claim(Provide{ID: "task-1"}).Path }},
	"save work": {call: func(ctx context.Context, r *Repo, _ string) error {
		_, _, err := r.Save(ctx, Work{ID: "task-1", Path: r.WorktreePath("task-1"), Reason: "test"})
		return err
	}, before: worked},
	"put work back": {call: func(ctx context.Context, r *Repo, commit string) error {
		_, err := r.PutBack(ctx, Work{ID: "task-1", Path: r.WorktreePath("task-1"), Reason: "test"}, commit, always)
		return err
	}, before: worked},
	"commit everything": {call: func(ctx context.Context, r *Repo, path string) error {
		_, _, err := r.Commit(ctx, path, "All")
		return err
	}, before: func(f *fixture) string { worked(f); return f.repo.WorktreePath("task-1") }},
	"discard changes": {call: func(ctx context.Context, r *Repo, path string) error { return r.Discard(ctx, path) },
		before: func(f *fixture) string { worked(f); return f.repo.WorktreePath("task-1") }},
	"remove a worktree": {call: func(ctx context.Context, r *Repo, commit string) error {
		return r.Remove(ctx, "task-1", Proof{Integration: commit})
	}, before: committed},
	"merge two commits": {reads: true, call: func(ctx context.Context, r *Repo, commit string) error {
		tree, err := r.MergeTree(ctx, commit+"^", commit)
		if err != nil {
			return err
		}
		_, err = r.CommitTree(ctx, tree, []string{commit + "^", commit}, "Merge")
		return err
	}, before: committed},
	"try a merge": {reads: true, may: []string{"merge-base --is-ancestor", "config --list"}, call: func(ctx context.Context, r *Repo, commit string) error { return r.TryMerge(ctx, commit+"^", commit) },
		before: committed},
	"move a ref": {call: func(ctx context.Context, r *Repo, commit string) error {
		return r.UpdateRef(ctx, "refs/heads/integration", commit, commit+"^")
	}, before: committed},
	// A folder that git does not remove is removed without git.
	"check out a throw-away worktree and remove it": {may: []string{"worktree remove"}, call: func(ctx context.Context, r *Repo, commit string) error {
		path := filepath.Join(r.Root(), ".worktrees", ".check-task-1")
		if _, err := r.CheckoutDetached(ctx, path, commit); err != nil {
			return err
		}
		return r.RemoveDetached(ctx, path)
	}, before: func(f *fixture) string { return f.integration() }},
	"see what changed": {reads: true, call: func(ctx context.Context, r *Repo, commit string) error {
		if _, err := r.ChangedFiles(ctx, commit+"^", commit); err != nil {
			return err
		}
		if _, err := r.DiffStat(ctx, commit+"^", commit); err != nil {
			return err
		}
		if _, err := r.Diff(ctx, commit+"^", commit); err != nil {
			return err
		}
		if _, err := r.Changed(ctx, r.WorktreePath("task-1")); err != nil {
			return err
		}
		_, err := r.Uncommitted(ctx, r.WorktreePath("task-1"))
		return err
	}, before: worked},
	"list files": {reads: true, call: func(ctx context.Context, r *Repo, commit string) error {
		if _, err := r.ListCommit(ctx, commit); err != nil {
			return err
		}
		if _, err := r.ListWorktree(ctx, r.WorktreePath("task-1")); err != nil {
			return err
		}
		if _, err := r.ChangedIn(ctx, r.WorktreePath("task-1"), commit); err != nil {
			return err
		}
		_, err := r.Tracked(ctx, "a.txt")
		return err
	}, before: worked},
	"check what is new": {reads: true, call: func(ctx context.Context, r *Repo, commit string) error {
		why, err := r.Unsound(ctx, Line{ID: "task-1", Commit: commit, Known: []string{commit + "^"}})
		if why != "" {
			return nil // a machine without memory is not the fault of a commit
		}
		return err
	}, before: committed},
	"look at a worktree": {reads: true, call: func(ctx context.Context, r *Repo, _ string) error {
		if _, err := r.Inspect(ctx, r.WorktreePath("task-1")); err != nil {
			return err
		}
		_, err := r.Surroundings(ctx)
		return err
	}, before: worked},
}

func TestACommandOfGitThatFailsIsNeverTakenForDone(t *testing.T) {
	t.Parallel()
	for name, c := range changes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var f *fixture
			var repo *Repo
			var state string
			b := gittest.NewBreaker(t)
			first, step := gittest.Stride(t)
			for n := first; ; n += step {
				if f == nil || !c.reads {
					f = newFixture(t)
					state = c.before(f)
					repo = f.open(f.dir, b.Env())
				}
				b.Break(n)
				err := c.call(t.Context(), repo, state)
				broke := b.Mend()
				if broke == "" {
					if err != nil || n == 1 && !c.none {
						t.Errorf("without a failing command: %v; %d commands", err, n-1)
					}
					return
				}
				if c.none {
					t.Errorf("it starts git %s", broke)
				}
				if err == nil && !contains(c.may, broke) {
					t.Errorf("command %d failed and the call did not say so: git %s", n, broke)
				}
			}
		})
	}
}

func contains(texts []string, command string) bool {
	for _, text := range texts {
		if strings.Contains(command, text) {
			return true
		}
	}
	return false
}
