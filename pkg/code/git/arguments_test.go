package git

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
)

// An id is part of paths and branches: one that leads out of its folder never reaches git.
func TestAnIDThatLeavesItsFolderIsRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	calls := map[string]func(ctx context.Context, id string) error{
		"attic":   func(ctx context.Context, id string) error { _, err := f.repo.AtticRefs(ctx, id); return err },
		"save":    func(ctx context.Context, id string) error { _, _, err := f.repo.Save(ctx, Work{ID: id}); return err },
		"remove":  func(ctx context.Context, id string) error { return f.repo.Remove(ctx, id, Proof{}) },
		"unsaved": func(ctx context.Context, id string) error { _, err := f.repo.Unsaved(ctx, id, Proof{}); return err },
		"relink":  func(ctx context.Context, id string) error { _, err := f.repo.Relink(ctx, id); return err },
		"provide": func(ctx context.Context, id string) error {
			_, err := f.repo.ProvideWorktree(ctx, Provide{ID: id, Base: f.integration(), Nonce: "n1", Now: someTime})
			return err
		},
	}
	for name, call := range calls {
		for _, id := range []string{"", ".", "..", "../task-1", "a/b", "-f", "a b", "x.lock", "a\nb"} {
			if err := call(t.Context(), id); err == nil || !strings.Contains(err.Error(), "cannot name a worktree") {
				t.Errorf("%s of %q: %v", name, id, err)
			}
		}
	}
	for _, nonce := range []string{"", "two words", "a\nb"} {
		if _, err := f.repo.ProvideWorktree(t.Context(), Provide{ID: "task-1", Base: f.integration(), Nonce: nonce, Now: someTime}); err == nil {
			t.Errorf("a worktree for the nonce %q", nonce)
		}
	}
}

// What the board calls a commit is never an option of a command.
func TestARevisionThatLooksLikeAnOptionIsNoCommit(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	good := f.integration()
	pairs := map[string]func(ctx context.Context, a, b string) error{
		"changed files": func(ctx context.Context, a, b string) error { _, err := f.repo.ChangedFiles(ctx, a, b); return err },
		"diff stat":     func(ctx context.Context, a, b string) error { _, err := f.repo.DiffStat(ctx, a, b); return err },
		"diff":          func(ctx context.Context, a, b string) error { _, err := f.repo.Diff(ctx, a, b); return err },
		"first commit": func(ctx context.Context, a, b string) error {
			_, _, err := f.repo.FirstCommitTime(ctx, a, b)
			return err
		},
		"ancestor":   func(ctx context.Context, a, b string) error { _, err := f.repo.IsAncestor(ctx, a, b); return err },
		"merge base": func(ctx context.Context, a, b string) error { _, err := f.repo.MergeBase(ctx, a, b); return err },
		"count":      func(ctx context.Context, a, b string) error { _, err := f.repo.CountBetween(ctx, a, b); return err },
		"merge tree": func(ctx context.Context, a, b string) error { _, err := f.repo.MergeTree(ctx, a, b); return err },
		"commit tree": func(ctx context.Context, a, b string) error {
			_, err := f.repo.CommitTree(ctx, a, []string{b}, "Merge")
			return err
		},
		"sound": func(ctx context.Context, a, b string) error {
			_, err := f.repo.Unsound(ctx, Line{ID: "task-1", Commit: a, Known: []string{b}})
			return err
		},
		"check out": func(ctx context.Context, a, b string) error {
			_, err := f.repo.CheckoutDetached(ctx, filepath.Join(f.dir, ".worktrees", ".check-x"), a)
			if a == good {
				return ErrNotFound // there is one revision only
			}
			return err
		},
	}
	for name, call := range pairs {
		for _, bad := range []string{"-x", "--output=stolen", "a\nb", "a\x00b"} {
			if err := call(t.Context(), bad, good); !errors.Is(err, ErrNotFound) {
				t.Errorf("%s of %q and a commit: %v", name, bad, err)
			}
			if err := call(t.Context(), good, bad); !errors.Is(err, ErrNotFound) {
				t.Errorf("%s of a commit and %q: %v", name, bad, err)
			}
		}
	}
	if f.exists("stolen") {
		t.Error("a revision was taken for an option")
	}
}

func TestSecretsDoNotGetIntoMessagesOfCommits(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.repo.Mask = func(text string) string { return strings.ReplaceAll(text, "s3cret", "***") }
	work := f.provide(Provide{ID: "task-1"})
	writeFile(t, filepath.Join(work.Path, "b.txt"), "mine\n")
	attic, saved, err := f.repo.Save(t.Context(), Work{ID: "task-1", Path: work.Path, Reason: "the s3cret"})
	if err != nil || !saved {
		t.Fatal(saved, err)
	}
	commit, _, err := f.repo.Commit(t.Context(), work.Path, "The s3cret")
	if err != nil {
		t.Fatal(err)
	}
	merged, err := f.repo.CommitTree(t.Context(), commit+"^{tree}", []string{commit}, "Merge s3cret")
	if err != nil {
		t.Fatal(err)
	}
	for _, rev := range []string{attic, commit, merged} {
		if text := f.git("log", "-1", "--format=%B", rev); strings.Contains(text, "s3cret") || !strings.Contains(text, "***") {
			t.Errorf("the message of %s: %s", rev, text)
		}
	}
}
