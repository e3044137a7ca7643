package merge_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"liza/pkg/board/blackboard"
	"liza/pkg/code/git"
	"liza/pkg/verb/verb/verbtest"
)

func TestWorkThatCannotBeSavedIsToldOfAndStays(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.Approved("task-1")
	late := filepath.Join(p.Repo.WorktreePath("task-1"), "late.txt")
	verbtest.Write(t, late, "late\n")
	attic := filepath.Join(p.Dir, ".git", "refs", "liza", "attic") // a file in the folder's place
	verbtest.Write(t, attic, p.Git(p.Dir, "rev-parse", "HEAD"))

	told := 0
	m := merger(p)
	m.Unsaved = func(err error) {
		if unsaved := new(git.UnsavedError); !errors.As(err, &unsaved) || unsaved.ID != "task-1" {
			t.Errorf("told of %v", err)
		}
		told++
	}
	r, err := m.Task(t.Context(), "task-1")
	if err != nil || r.Status != blackboard.Merged || told != 1 {
		t.Fatalf("%+v, %v; told %d times, want once", r, err, told)
	}
	if err := m.CleanUp(t.Context()); err != nil || told != 2 {
		t.Errorf("cleaning up: %v, told %d times", err, told)
	}
	if _, err := os.Stat(late); err != nil {
		t.Errorf("the work is gone: %v", err)
	}
	if err := os.Remove(attic); err != nil {
		t.Fatal(err)
	}
	if err := m.CleanUp(t.Context()); err != nil || told != 2 {
		t.Errorf("cleaning up when it can be saved: %v, told %d times", err, told)
	}
	if _, err := os.Stat(late); err == nil {
		t.Error("the worktree is still there")
	}
	if got := p.Git(p.Dir, "show", "refs/liza/attic/task-1/1:late.txt"); got != "late" {
		t.Errorf("the attic has %q", got)
	}
}
