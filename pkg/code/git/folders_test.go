package git

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A tool that walks up from a worktree beside the project finds nothing of the project.
func TestWorktreesLieBesideTheProjectWhereASettingSaysSo(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	beside := f.dir + ".worktrees"
	if err := f.repo.PlaceWorktrees(t.Context(), beside); err != nil {
		t.Fatal(err)
	}
	got, err := f.repo.ProvideWorktree(t.Context(), Provide{ID: "one", Nonce: "n1", Base: "main", Now: someTime})
	if err != nil || got.Path != filepath.Join(beside, "one") || got.Path != f.repo.WorktreePath("one") {
		t.Fatalf("got %+v, %v", got, err)
	}
	if _, err := os.Stat(filepath.Join(f.dir, ".worktrees", "one", "a.txt")); err != nil {
		t.Errorf("the worktree is not at the name that the board has: %v", err)
	}
	check := f.repo.WorktreePath(".check-one")
	if _, err := f.repo.CheckoutDetached(t.Context(), check, "main"); err != nil {
		t.Error(err)
	}
	if err := f.repo.RemoveDetached(t.Context(), check); err != nil {
		t.Error(err)
	}
	if out := f.git("status", "--porcelain"); out != "" {
		t.Errorf("the main checkout has %q", out)
	}
	if err := f.repo.PlaceWorktrees(t.Context(), f.dir+".elsewhere"); err != nil || f.repo.WorktreesFolder() != beside {
		t.Errorf("worktrees that are there moved to %s, %v", f.repo.WorktreesFolder(), err)
	}
	own, err := f.repo.OwnOf(t.Context(), "integration")
	if err != nil || len(own.Worktrees) != 1 {
		t.Fatalf("got %+v, %v", own, err)
	}
	if err := f.repo.RemoveOwn(t.Context(), own); err != nil {
		t.Fatal(err)
	}
	for _, gone := range []string{beside, filepath.Join(f.dir, ".worktrees")} {
		if _, err := os.Lstat(gone); err == nil {
			t.Errorf("%s is there", gone)
		}
	}
}

// The link of a copied project leads to the worktrees of the original, which are nobody else's.
func TestACopyOfAProjectHasWorktreesOfItsOwn(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	beside, copied, moved := f.dir+".worktrees", filepath.Join(filepath.Dir(f.dir), "copy"), filepath.Join(filepath.Dir(f.dir), "moved")
	if err := f.repo.PlaceWorktrees(t.Context(), beside); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(copied, os.DirFS(f.dir)); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(copied, ".worktrees")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(beside, filepath.Join(copied, ".worktrees")); err != nil {
		t.Fatal(err)
	}
	if got := WorktreesOf(copied); got != filepath.Join(copied, ".worktrees") {
		t.Errorf("the copy works in %s", got)
	}
	other := f.open(copied)
	if err := other.PlaceWorktrees(t.Context(), beside); err == nil || !strings.Contains(err.Error(), "something else in it") {
		t.Errorf("the copy took the folder of the original: %v", err)
	}
	if err := other.PlaceWorktrees(t.Context(), copied+".worktrees"); err != nil || other.WorktreesFolder() != copied+".worktrees" || f.repo.WorktreesFolder() != beside {
		t.Errorf("got %s and %s, %v", other.WorktreesFolder(), f.repo.WorktreesFolder(), err)
	}
	if err := os.Rename(f.dir, moved); err != nil {
		t.Fatal(err)
	}
	if got := WorktreesOf(moved); got != beside {
		t.Errorf("a project that was moved lost its worktrees: %s", got)
	}
}

func TestAFolderOfWorktreesIsNobodyElsesAndOutsideOfTheProject(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	full := filepath.Join(filepath.Dir(f.dir), "full")
	if err := os.MkdirAll(filepath.Join(full, "mine"), 0o755); err != nil {
		t.Fatal(err)
	}
	for folder, want := range map[string]string{full: "something else in it", filepath.Join(f.dir, "trees"): "it lies in the project"} {
		if err := f.repo.PlaceWorktrees(t.Context(), folder); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", folder, err, want)
		}
	}
	if err := f.repo.PlaceWorktrees(t.Context(), filepath.Join(f.dir, ".worktrees")); err != nil || f.repo.WorktreesFolder() != filepath.Join(f.dir, ".worktrees") {
		t.Errorf("the usual folder: %v", err)
	}
}
