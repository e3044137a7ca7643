package git

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// The list that is read without a process is git's own.
func TestTheListOfWorktreesIsGits(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	at := func(name string) string { return filepath.Join(filepath.Dir(f.dir), "some where", name) }
	f.git("worktree", "add", "-q", "-b", "task/a", at("a"))
	f.git("worktree", "add", "-q", "--detach", at("detached"))
	f.git("worktree", "add", "-q", "--lock", "--reason", "liza b 123", "-b", "task/b", at("b"))
	f.git("worktree", "add", "-q", "--lock", "-b", "c", at("c"))
	f.git("worktree", "add", "-q", "-b", "gone", at("gone"))
	f.git("worktree", "add", "-q", "--lock", "-b", "away", at("away"))
	for _, name := range []string{"gone", "away"} {
		if err := os.RemoveAll(at(name)); err != nil {
			t.Fatal(err)
		}
	}
	f.git("pack-refs", "--all")
	// Left by a killed git: without the file that names the folder there is no worktree.
	if err := os.MkdirAll(filepath.Join(f.dir, ".git", "worktrees", "half"), 0o755); err != nil {
		t.Fatal(err)
	}
	byPath := func(a, b Worktree) int { return cmp.Compare(a.Path, b.Path) }
	want, err := f.repo.listByCommand(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got, err := f.repo.Worktrees(t.Context())
	if err != nil || !got[0].Main {
		t.Fatalf("got %+v, %v", got, err)
	}
	slices.SortFunc(got, byPath)
	slices.SortFunc(want, byPath)
	if !slices.Equal(got, want) {
		t.Errorf("got\n%+v\nwant\n%+v", got, want)
	}
}
