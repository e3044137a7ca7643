package git

import (
	"os"
	"path/filepath"
	"testing"
)

func TestAWorktreeOfACopiedProjectIsTheCopys(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	got := f.provide(Provide{ID: "task-1", Base: "integration"})
	writeFile(t, filepath.Join(got.Path, "new.txt"), "new\n")
	copied := filepath.Join(filepath.Dir(f.dir), "copy")
	if err := os.CopyFS(copied, os.DirFS(f.dir)); err != nil {
		t.Fatal(err)
	}
	c := *f
	c.dir, c.repo = copied, f.open(copied)
	place := c.repo.WorktreePath("task-1")
	before := c.inspect(place)
	if !before.Exists || before.Branch != "task/task-1" || len(before.Dirty) != 1 {
		t.Errorf("before: %+v", before)
	}
	if done, err := c.repo.Relink(t.Context(), "task-1"); err != nil || !done {
		t.Errorf("relinked %t, %v", done, err)
	}
	if done, err := c.repo.Relink(t.Context(), "task-1"); err != nil || done {
		t.Errorf("relinked a second time: %t, %v", done, err)
	}
	c.gitIn(place, "add", "-A")
	c.gitIn(place, "commit", "-q", "-m", "in the copy")
	if w := c.inspect(place); len(w.Dirty) != 0 || w.Head == before.Head {
		t.Errorf("in the copy: %+v", w)
	}
	if w := f.inspect(got.Path); w.Head != before.Head || len(w.Dirty) != 1 {
		t.Errorf("the original changed: %+v", w)
	}
	if done, err := f.repo.Relink(t.Context(), "task-1"); err != nil || done {
		t.Errorf("the original was relinked: %t, %v", done, err)
	}

	moved := filepath.Join(filepath.Dir(f.dir), "moved")
	if err := os.Rename(f.dir, moved); err != nil {
		t.Fatal(err)
	}
	m := *f
	m.dir, m.repo = moved, f.open(moved)
	if done, err := m.repo.Relink(t.Context(), "task-1"); err != nil || !done {
		t.Errorf("relinked after a move: %t, %v", done, err)
	}
	if w := m.inspect(m.repo.WorktreePath("task-1")); !w.Exists || len(w.Dirty) != 1 {
		t.Errorf("after the move: %+v", w)
	}
}

func TestAStrangersWorktreeIsNotTakenOver(t *testing.T) {
	t.Parallel()
	f, other := newFixture(t), newFixture(t)
	theirs := other.provide(Provide{ID: "task-1", Base: "integration"})
	place := f.repo.WorktreePath("task-1")
	if err := os.CopyFS(place, os.DirFS(theirs.Path)); err != nil {
		t.Fatal(err)
	}
	if done, err := f.repo.Relink(t.Context(), "task-1"); err != nil || done {
		t.Errorf("relinked %t, %v", done, err)
	}
	if w := f.inspect(place); w.Exists {
		t.Errorf("it is taken for a worktree: %+v", w)
	}
}
