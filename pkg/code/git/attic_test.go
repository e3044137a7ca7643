package git

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func (f *fixture) save(w Work) (ref string, saved bool) {
	f.t.Helper()
	w.Reason = "test"
	if w.Integration == "" {
		w.Integration = f.integration()
	}
	ref, saved, err := f.repo.Save(f.t.Context(), w)
	if err != nil {
		f.t.Fatal(err)
	}
	return ref, saved
}

func TestTheAtticHoldsAllButIgnoredFiles(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	work := f.provide(Provide{ID: "task-1"})
	head := f.commitIn(work.Path, "b.txt", "mine\n")
	writeFile(t, filepath.Join(work.Path, "a.txt"), "edited\n")
	writeFile(t, filepath.Join(work.Path, "dir/new.txt"), "untracked\n")
	writeFile(t, filepath.Join(work.Path, "build.log"), "ignored\n")
	writeFile(t, filepath.Join(work.Path, "forced.log"), "staged though ignored\n")
	f.gitIn(work.Path, "add", "-f", "forced.log")
	mustRemoveAll(t, filepath.Join(work.Path, "b.txt"))
	status := f.gitIn(work.Path, "status", "--porcelain")
	index := readText(t, filepath.Join(f.dir, ".git/worktrees/task-1/index"))

	ref, saved := f.save(Work{ID: "task-1", Path: work.Path})
	if !saved || ref != "refs/liza/attic/task-1/1" {
		t.Fatalf("got %q, %v", ref, saved)
	}
	if got := f.git("ls-tree", "-r", "--name-only", ref); got != ".gitignore\na.txt\ndir/new.txt\nforced.log" {
		t.Errorf("the attic holds %q", got)
	}
	if f.git("show", ref+":a.txt") != "edited" || f.git("rev-parse", ref+"^") != head {
		t.Error("the attic has other content or another parent")
	}
	if got := f.git("log", "-1", "--format=%B|%an", ref); got != "liza attic task-1 test\n|Liza" {
		t.Errorf("the commit is %q", got)
	}
	if f.gitIn(work.Path, "status", "--porcelain") != status || readText(t, filepath.Join(f.dir, ".git/worktrees/task-1/index")) != index {
		t.Error("saving changed the worktree or its index")
	}
	if again, saved := f.save(Work{ID: "task-1", Path: work.Path}); saved || again != ref {
		t.Errorf("the same work was saved again: %q, %v", again, saved)
	}
	writeFile(t, filepath.Join(work.Path, "a.txt"), "edited more\n")
	if next, saved := f.save(Work{ID: "task-1", Path: work.Path}); !saved || next != "refs/liza/attic/task-1/2" {
		t.Errorf("more work: %q, %v", next, saved)
	}
	all := f.attics("task-1")
	if len(all) != 2 || all[0].N != 2 || all[1].N != 1 || all[1].Commit != f.git("rev-parse", ref) {
		t.Errorf("the attic is %+v", all)
	}
}

func TestTheAtticCountsOnFromItsHighestNumber(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.git("update-ref", "refs/liza/attic/task-1/2", "main")
	f.git("update-ref", "refs/liza/attic/task-1/10", "main")
	f.git("update-ref", "refs/liza/attic/task-10/11", "main")
	f.git("update-ref", "refs/liza/attic/task-1/other", "main")
	work := f.provide(Provide{ID: "task-1"})
	f.commitIn(work.Path, "b.txt", "mine\n")
	if ref, _ := f.save(Work{ID: "task-1"}); ref != "refs/liza/attic/task-1/11" {
		t.Errorf("saved to %q", ref)
	}
	if all := f.attics("task-1"); len(all) != 3 || all[0].N != 11 {
		t.Errorf("the attic is %+v", all)
	}
}

func TestNothingToSaveMakesNoRef(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	work := f.provide(Provide{ID: "task-1"})
	none := func(what string, w Work) {
		t.Helper()
		if ref, saved := f.save(w); ref != "" || saved {
			t.Errorf("%s: saved to %q", what, ref)
		}
	}
	none("a clean worktree at the base", Work{ID: "task-1", Path: work.Path})
	none("a task without branch", Work{ID: "task-2"})
	writeFile(t, filepath.Join(work.Path, "build.log"), "ignored")
	none("ignored files", Work{ID: "task-1", Path: work.Path})
	tip := f.commitIn(work.Path, "b.txt", "mine\n")
	none("a tip at the base", Work{ID: "task-1", Path: work.Path, Base: tip})
	none("a tip that integration has", Work{ID: "task-1", Path: work.Path, Integration: tip})
	ref, saved := f.save(Work{ID: "task-1", Path: work.Path})
	if !saved || f.git("rev-parse", ref) != tip {
		t.Errorf("a clean tip is saved as itself: %q, %v", ref, saved)
	}
	if again, saved := f.save(Work{ID: "task-1"}); saved || again != ref {
		t.Errorf("a tip that is in the attic: %q, %v", again, saved)
	}
}

func TestWorkBesideTheBranchIsSavedToo(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	work := f.provide(Provide{ID: "task-1"})
	tip := f.commitIn(work.Path, "b.txt", "on the branch\n")
	f.gitIn(work.Path, "checkout", "-q", "--detach", "integration")
	detached := f.commitIn(work.Path, "c.txt", "beside it\n")
	f.save(Work{ID: "task-1", Path: work.Path})
	var saved []string
	for _, one := range f.attics("task-1") {
		saved = append(saved, one.Commit)
	}
	if !slices.Contains(saved, tip) || !slices.Contains(saved, detached) {
		t.Errorf("saved %q; want %s and %s", saved, tip, detached)
	}
	if err := f.repo.Remove(t.Context(), "task-1", Proof{Integration: f.integration()}); err != nil {
		t.Error(err)
	}
}

func TestAStartedMergeIsSaved(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	work := f.provide(Provide{ID: "task-1"})
	f.commitIn(work.Path, "a.txt", "mine\n")
	f.advance("a.txt", "theirs\n")
	_ = f.command(work.Path, "merge", "-q", "integration").Run()
	ref, _ := f.save(Work{ID: "task-1", Path: work.Path})
	if got := f.git("show", ref+":a.txt"); !strings.Contains(got, "<<<<<<<") {
		t.Errorf("saved %q", got)
	}
}

func TestAFolderThatIsNoWorktreeIsNotSavedAsNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	before := f.checkout()
	writeFile(t, filepath.Join(f.dir, ".worktrees/task-1/x"), "x")
	_, _, err := f.repo.Save(t.Context(), Work{ID: "task-1", Path: f.repo.WorktreePath("task-1")})
	wantError(t, err, "cannot save the work of task-1", "not a worktree of this repository")
	wantError(t, f.repo.Remove(t.Context(), "task-1", Proof{Integration: f.integration()}), "not a worktree of this repository")
	if !slices.Equal(before, f.checkout()) {
		t.Error("the checkout changed")
	}
}

func TestWorkInsideASubmoduleIsNeitherSavedNorRemoved(t *testing.T) {
	t.Parallel()
	f := newSubmoduleFixture(t)
	work := f.provide(Provide{ID: "task-1"})
	lib := filepath.Join(work.Path, "lib")
	check := func(what string) {
		t.Helper()
		_, _, err := f.repo.Save(t.Context(), Work{ID: "task-1", Path: work.Path, Integration: f.integration()})
		removeErr := f.repo.Remove(t.Context(), "task-1", Proof{Integration: f.integration()})
		_, provideErr := f.repo.ProvideWorktree(t.Context(), f.filled(Provide{ID: "task-1"}))
		for _, err := range []error{err, removeErr, provideErr} {
			if unsaved, ok := errors.AsType[*UnsavedError](err); !ok || !strings.Contains(unsaved.Error(), "lib (submodule: "+what) {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
	writeFile(t, filepath.Join(lib, "lib.txt"), "changed\n")
	check("changes that are not committed")
	f.commitIn(lib, "more.txt", "x\n")
	check("commits that no remote has")
	f.gitIn(lib, "push", "-q", "origin", "HEAD:refs/heads/shared")
	if _, saved := f.save(Work{ID: "task-1", Path: work.Path}); !saved {
		t.Error("the pointer to the new commit was not saved")
	}
	if err := f.repo.Remove(t.Context(), "task-1", Proof{Integration: f.integration()}); err != nil || f.exists(".worktrees/task-1") {
		t.Errorf("removing a worktree with a shared submodule: %v", err)
	}
}

func TestACloneInsideAWorktreeIsNotRemoved(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	work := f.provide(Provide{ID: "task-1"})
	f.gitIn(work.Path, "init", "-q", "nested")
	f.commitIn(filepath.Join(work.Path, "nested"), "x.txt", "x\n")
	_, err := f.repo.ProvideWorktree(t.Context(), f.filled(Provide{ID: "task-1"}))
	wantError(t, err, "nested", "a repository of its own")
	if !exists(filepath.Join(work.Path, "nested/x.txt")) {
		t.Error("it was removed")
	}
}

func TestRemoveRefusesWithoutProof(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	work := f.provide(Provide{ID: "task-1"})
	f.commitIn(work.Path, "b.txt", "mine\n")
	tip := f.commitIn(work.Path, "c.txt", "mine too\n")
	writeFile(t, filepath.Join(work.Path, "dir/unsaved.txt"), "x")
	remove := func(proof Proof) []string {
		t.Helper()
		err := f.repo.Remove(t.Context(), "task-1", proof)
		unsaved, ok := errors.AsType[*UnsavedError](err)
		if !ok {
			t.Fatalf("removing: %v; want an UnsavedError", err)
		}
		if !exists(work.Path) || f.git("rev-parse", "task/task-1") != tip {
			t.Fatal("something was removed")
		}
		return unsaved.Lost
	}
	commits := "2 commits up to " + tip[:9] + ` "change c.txt"`
	if lost := remove(Proof{Integration: f.integration()}); !slices.Equal(lost, []string{commits, "dir/unsaved.txt"}) {
		t.Errorf("lost would be %q", lost)
	}
	if lost := remove(Proof{Integration: tip}); !slices.Equal(lost, []string{"dir/unsaved.txt"}) {
		t.Errorf("with merged commits, lost would be %q", lost)
	}
	if lost := remove(Proof{}); len(lost) != 2 {
		t.Errorf("without any proof, lost would be %q", lost)
	}
	f.save(Work{ID: "task-1", Path: work.Path})
	writeFile(t, filepath.Join(work.Path, "dir/unsaved.txt"), "changed after it was saved")
	if lost := remove(Proof{Integration: f.integration()}); !slices.Equal(lost, []string{"dir/unsaved.txt"}) {
		t.Errorf("after a later change, lost would be %q", lost)
	}
	f.save(Work{ID: "task-1", Path: work.Path})
	for range 2 { // what is gone is not an error
		if err := f.repo.Remove(t.Context(), "task-1", Proof{Integration: f.integration()}); err != nil {
			t.Fatal(err)
		}
	}
	if f.exists(".worktrees/task-1") || f.git("branch", "--list", "task/*") != "" || len(f.attics("task-1")) != 2 {
		t.Error("worktree or branch were left, or the attic was not")
	}
}

func TestRemoveLeavesWhatSomebodyElseHolds(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	proof := Proof{Integration: f.integration()}
	work := f.provide(Provide{ID: "task-1"})
	f.git("worktree", "lock", "--reason", "on my stick", work.Path)
	wantError(t, f.repo.Remove(t.Context(), "task-1", proof), "on my stick")
	if err := f.repo.UnlockWorktree(t.Context(), "task-1"); err != nil || f.lockOf("task-1") != "on my stick" {
		t.Errorf("somebody's lock was opened: %v", err)
	}
	f.git("branch", "task/task-2")
	f.git("checkout", "-q", "task/task-2")
	wantError(t, f.repo.Remove(t.Context(), "task-2", proof), "checked out in "+f.dir)
	if !exists(work.Path) || f.git("rev-parse", "task/task-2") == "" {
		t.Error("something was removed")
	}
	f.claim(Provide{ID: "task-3"})
	if err := f.repo.Remove(t.Context(), "task-3", proof); err != nil {
		t.Errorf("a worktree with the lock of a claim: %v", err)
	}
}

func TestTheEntryOfAWorktreeOnAnotherDiskStays(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	away := filepath.Join(realTemp(t), "stick")
	f.git("worktree", "add", "-q", "-b", "mine", away)
	if err := os.Rename(away, away+"-unmounted"); err != nil {
		t.Fatal(err)
	}
	work := f.provide(Provide{ID: "task-1"})
	mustRemoveAll(t, work.Path)
	f.provide(Provide{ID: "task-1", Keep: true})
	if err := f.repo.Remove(t.Context(), "task-1", Proof{Integration: f.integration()}); err != nil {
		t.Fatal(err)
	}
	if !f.exists(".git/worktrees/stick") {
		t.Error("the user's worktree was pruned")
	}
	if path, found, err := f.repo.CheckedOutAt(t.Context(), "mine"); err != nil || found {
		t.Errorf("a worktree that is gone counts as a checkout: %q, %v", path, err)
	}
}

func TestADamagedAtticProvesNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	work := f.provide(Provide{ID: "task-1"})
	f.commitIn(work.Path, "new.txt", "only here\n")
	ref, _ := f.save(Work{ID: "task-1", Path: work.Path})
	blob := f.git("rev-parse", ref+":new.txt")
	if err := os.Remove(filepath.Join(f.dir, ".git/objects", blob[:2], blob[2:])); err != nil {
		t.Fatal(err)
	}
	wantError(t, f.repo.Remove(t.Context(), "task-1", Proof{Integration: f.integration()}), "the attic is damaged")
	if !exists(filepath.Join(work.Path, "new.txt")) {
		t.Error("the worktree was removed")
	}
}

// Files that are kept for people are those that were given, bound to one task and commit, and not work.
func TestKeptFilesAreBoundToACommitAndAreNotWork(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx, head := t.Context(), f.git("rev-parse", "HEAD")
	odd := "a \"b\" \\ ü"
	base, err := f.repo.KeepFiles(ctx, "", "k1", []Kept{{Path: "base/x", Content: []byte("old\n.\ndone\n")}})
	if err != nil {
		t.Fatal(err)
	}
	commit, err := f.repo.KeepFiles(ctx, "task-1", head, []Kept{{Path: "candidate/" + odd, Content: []byte("\x00new")}, {Path: "base/x", Object: f.git("rev-parse", base+":base/x")}})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"candidate/" + odd: "\x00new", "base/x": "old\n.\ndone\n"} {
		if data, err := f.repo.ReadFile(ctx, commit, name); err != nil || string(data) != want {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
	if again, err := f.repo.KeepFiles(ctx, "task-1", head, []Kept{{Path: "candidate/y", Content: nil}}); err != nil || again == commit {
		t.Errorf("kept again: %s, %v", again, err)
	} else if got, err := f.repo.KeptFiles(ctx, "task-1", head); got != again || err != nil {
		t.Errorf("the newest files are %s, %v; want %s", got, err, again)
	}
	for _, other := range [][2]string{{"task-1", base}, {"task-2", head}, {"", "k2"}} {
		if got, err := f.repo.KeptFiles(ctx, other[0], other[1]); got != "" || err != nil {
			t.Errorf("of %s there is %s, %v", other, got, err)
		}
	}
	if _, err := f.repo.KeepFiles(ctx, "task-1", "../../heads/main", nil); err == nil {
		t.Error("a name leads out of the folder of refs")
	}
	all, err := f.repo.Evidence(ctx, "")
	if err != nil || len(all) != 2 || all[0].ID != "task-1" || all[1].ID != "" {
		t.Errorf("kept are %+v, %v", all, err)
	}
	own, err := f.repo.OwnOf(ctx, "integration")
	if err != nil || len(own.Lost) > 0 || own.Refs["refs/liza/evidence/task-1/"+head] == "" {
		t.Errorf("Liza's additions are %+v, %v", own, err)
	}
}

// A loss of power may bring back the folder of a worktree that was removed, without git's entry of it.
func TestAFolderThatIsNotAWorktreeIsMovedAway(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	work := f.claim(Provide{ID: "task-1"})
	writeFile(t, filepath.Join(work.Path, "half.txt"), "half\n")
	if err := os.RemoveAll(filepath.Join(f.dir, ".git", "worktrees", "task-1")); err != nil {
		t.Fatal(err)
	}
	proof := Proof{Integration: f.integration()}
	wantError(t, f.repo.Remove(t.Context(), "task-1", proof), "not a worktree of this repository")
	if !f.repo.ClearPlace(t.Context(), "task-1", proof) {
		t.Error("nothing was moved away")
	}
	if err := f.repo.Remove(t.Context(), "task-1", proof); err != nil {
		t.Fatal(err)
	}
	lost, _ := filepath.Glob(filepath.Join(f.dir, ".worktrees", ".lost-task-1-*", "half.txt"))
	if len(lost) != 1 || exists(work.Path) || f.git("branch", "--list", "task/*") != "" {
		t.Errorf("it is at %v", lost)
	}
}

// Nor does a branch of a person's that names no commit stop a claim from being taken back.
func TestATornBranchOfAPersonStopsNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.claim(Provide{ID: "task-1", Nonce: "n1"})
	writeFile(t, filepath.Join(f.dir, ".git", "refs", "heads", "mine"), strings.Repeat("1", 40)+"\n")
	if err := f.repo.Abandon(t.Context(), "task-1", "n1"); err != nil {
		t.Fatal(err)
	}
	if exists(f.repo.WorktreePath("task-1")) || exists(f.repo.refFile("task-1")) {
		t.Error("the worktree or its branch is left")
	}
}
