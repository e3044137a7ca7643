package git

import (
	"os"
	"path/filepath"
	"testing"
)

func always() (bool, error) { return true, nil }

func TestPutBackKeepsWhatItTakesAway(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	work := f.provide(Provide{ID: "task-1"})
	commit := f.commitIn(work.Path, "b.txt", "mine\n")
	other := f.commitIn(work.Path, "c.txt", "another's\n")
	writeFile(t, filepath.Join(work.Path, "b.txt"), "edited\n")
	writeFile(t, filepath.Join(work.Path, "dir/new.txt"), "untracked\n")
	writeFile(t, filepath.Join(work.Path, "build.log"), "ignored\n")
	back, err := f.repo.PutBack(t.Context(), Work{ID: "task-1", Reason: "test"}, commit, always)
	if err != nil {
		t.Fatal(err)
	}
	if f.gitIn(work.Path, "status", "--porcelain") != "" || f.gitIn(work.Path, "rev-parse", "HEAD", "task/task-1") != commit+"\n"+commit {
		t.Error("the worktree is not at the commit")
	}
	if f.git("rev-parse", back.Attic+"^") != other || f.git("show", back.Attic+":b.txt") != "edited" || f.git("show", back.Attic+":dir/new.txt") != "untracked" {
		t.Error("the attic lacks something")
	}
	if readText(t, filepath.Join(work.Path, "build.log")) != "ignored\n" || len(f.attics("task-1")) != 1 {
		t.Error("an ignored file is gone, or something was saved twice")
	}
	if again, err := f.repo.PutBack(t.Context(), Work{ID: "task-1"}, commit, nil); err != nil || len(again.Changes) != 0 {
		t.Errorf("the second time: %+v, %v", again, err)
	}
}

func TestPutBackLeavesAloneWhatSomebodyTookOver(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	work := f.provide(Provide{ID: "task-1"})
	commit := f.commitIn(work.Path, "b.txt", "mine\n")
	writeFile(t, filepath.Join(work.Path, "b.txt"), "edited\n")
	back, err := f.repo.PutBack(t.Context(), Work{ID: "task-1"}, commit, func() (bool, error) { return false, nil })
	if err != nil || len(back.Changes) != 0 || readText(t, filepath.Join(work.Path, "b.txt")) != "edited\n" {
		t.Errorf("%+v, %v", back, err)
	}
}

// A reviewer that has switched to another branch left no other commit, and is put back all the same.
func TestPutBackReturnsToTheBranchOfTheTask(t *testing.T) {
	t.Parallel()
	for at, to := range map[string][]string{"elsewhere": {"-c", "elsewhere"}, "no branch": {"--detach"}} {
		f := newFixture(t)
		work := f.provide(Provide{ID: "task-1"})
		commit := f.commitIn(work.Path, "b.txt", "mine\n")
		f.gitIn(work.Path, append([]string{"switch", "-q"}, to...)...)
		back, err := f.repo.PutBack(t.Context(), Work{ID: "task-1", Reason: "test"}, commit, always)
		if err != nil || len(back.Changes) != 1 || back.Changes[0] != "HEAD is on "+at+", not on task/task-1" {
			t.Errorf("%+v, %v", back, err)
		}
		if branch := f.gitIn(work.Path, "symbolic-ref", "--short", "HEAD"); branch != "task/task-1" {
			t.Errorf("it is on %s", branch)
		}
	}
}

// What the attic cannot hold stays where it is.
func TestPutBackRemovesNothingThatCannotBeSaved(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	work := f.provide(Provide{ID: "task-1"})
	commit := f.commitIn(work.Path, "b.txt", "mine\n")
	nested := filepath.Join(work.Path, "nested")
	if err := os.Mkdir(nested, 0o755); err != nil {
		t.Fatal(err)
	}
	f.gitIn(nested, "init", "-q")
	f.commitIn(nested, "deep.txt", "nowhere else\n")
	_, err := f.repo.PutBack(t.Context(), Work{ID: "task-1"}, commit, always)
	wantError(t, err, "cannot put the worktree of task-1 back", "nested")
	if readText(t, filepath.Join(nested, "deep.txt")) != "nowhere else\n" {
		t.Error("the file is gone")
	}
}
