package git

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// newSubmoduleFixture has a submodule at lib, whose origin is a repository beside it.
func newSubmoduleFixture(t *testing.T) *fixture {
	t.Helper()
	f := newFixture(t)
	f.env = append(f.env, "GIT_ALLOW_PROTOCOL=file")
	f.repo = f.open(f.dir)
	origin := realTemp(t)
	f.gitIn(origin, "init", "-q", "-b", "main")
	writeFile(t, filepath.Join(origin, "lib.txt"), "lib\n")
	f.gitIn(origin, "add", "-A")
	f.gitIn(origin, "commit", "-q", "-m", "lib")
	f.git("submodule", "--quiet", "add", origin, "lib")
	f.git("commit", "-q", "-m", "add lib")
	f.git("branch", "-f", "integration", "main")
	return f
}

func (f *fixture) inspect(path string) worktreeFacts {
	f.t.Helper()
	facts, err := f.repo.Inspect(f.t.Context(), path)
	if err != nil {
		f.t.Fatal(err)
	}
	return facts
}

func TestAWorktreeIsInspected(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	work := f.provide(Provide{ID: "task-1"})
	facts := f.inspect(".worktrees/task-1")
	if !facts.Exists || facts.Branch != "task/task-1" || facts.Head != f.integration() || len(facts.Dirty) > 0 {
		t.Errorf("a fresh worktree: %+v", facts)
	}
	f.gitIn(work.Path, "config", "status.showUntrackedFiles", "no")
	f.gitIn(work.Path, "mv", "a.txt", "b.txt")
	writeFile(t, filepath.Join(work.Path, "dir/ünï\ncode.txt"), "x")
	writeFile(t, filepath.Join(work.Path, "dir/grüße.txt"), "x")
	writeFile(t, filepath.Join(work.Path, "build.log"), "ignored")
	f.gitIn(work.Path, "checkout", "-q", "--detach")
	facts = f.inspect(work.Path)
	slices.Sort(facts.Dirty)
	want := []string{`"dir/ünï\ncode.txt"`, "a.txt", "b.txt", "dir/grüße.txt"}
	if facts.Branch != "" || !slices.Equal(facts.Dirty, want) {
		t.Errorf("got %+v; want it detached with %q", facts, want)
	}
}

func TestWhatIsNoWorktreeIsNotInspected(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	work := f.provide(Provide{ID: "task-1"})
	f.write("dirty.txt", "of the user")
	writeFile(t, filepath.Join(f.dir, ".worktrees/plain/x"), "x")
	if err := os.CopyFS(filepath.Join(f.dir, ".worktrees/copy"), os.DirFS(work.Path)); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(work.Path, filepath.Join(f.dir, ".worktrees/link")); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{".worktrees/plain", ".worktrees/copy", ".worktrees/link", ".worktrees/none", f.dir} {
		if facts := f.inspect(path); facts.Exists || len(facts.Dirty) > 0 {
			t.Errorf("%s counts as a worktree: %+v", path, facts)
		}
	}
}

func TestInspectingWritesNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	work := f.provide(Provide{ID: "task-1"})
	past := time.Unix(1_500_000_000, 0) // an index that git status would refresh
	if err := os.Chtimes(filepath.Join(work.Path, "a.txt"), past, past); err != nil {
		t.Fatal(err)
	}
	index := filepath.Join(f.dir, ".git/worktrees/task-1/index")
	before := fileState(t, index, "index")
	if facts := f.inspect(work.Path); len(facts.Dirty) > 0 || fileState(t, index, "index") != before {
		t.Errorf("the index was written, or %q is dirty", facts.Dirty)
	}
}

func TestGitDoesNotSearchAboveTheFolderItWasSentTo(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.write(".worktrees/plain/x", "x")
	if out, err := f.repo.read(t.Context(), filepath.Join(f.dir, ".worktrees/plain"), "rev-parse", "--git-dir"); err == nil {
		t.Errorf("git found %s", out)
	}
}

func TestAConflictIsDirty(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	work := f.provide(Provide{ID: "task-1"})
	f.commitIn(work.Path, "a.txt", "mine\n")
	f.advance("a.txt", "theirs\n")
	if err := f.command(work.Path, "merge", "-q", "integration").Run(); err == nil {
		t.Fatal("the merge had no conflict")
	}
	if facts := f.inspect(work.Path); !slices.Equal(facts.Dirty, []string{"a.txt"}) {
		t.Errorf("got %q", facts.Dirty)
	}
}

func TestADirtySubmoduleIsNamedAsSuch(t *testing.T) {
	t.Parallel()
	f := newSubmoduleFixture(t)
	work := f.provide(Provide{ID: "task-1"})
	if len(work.Warnings) > 0 || readText(t, filepath.Join(work.Path, "lib/lib.txt")) != "lib\n" {
		t.Fatalf("the submodule is not initialised: %q", work.Warnings)
	}
	f.gitIn(work.Path, "config", "diff.ignoreSubmodules", "all")
	if facts := f.inspect(work.Path); len(facts.Dirty) > 0 {
		t.Errorf("a fresh submodule is dirty: %q", facts.Dirty)
	}
	writeFile(t, filepath.Join(work.Path, "lib/lib.txt"), "changed\n")
	writeFile(t, filepath.Join(work.Path, "lib/new.txt"), "new\n")
	want := "lib (submodule: modified content, untracked files)"
	if facts := f.inspect(work.Path); !slices.Equal(facts.Dirty, []string{want}) {
		t.Errorf("got %q; want %q", facts.Dirty, want)
	}
	f.commitIn(filepath.Join(work.Path, "lib"), "x.txt", "x\n")
	want = "lib (submodule: another commit)"
	if facts := f.inspect(work.Path); !slices.Equal(facts.Dirty, []string{want}) {
		t.Errorf("got %q; want %q", facts.Dirty, want)
	}
}

func TestASubmoduleIsCopiedAndElseFetched(t *testing.T) {
	t.Parallel()
	f := newSubmoduleFixture(t)
	f.git("config", "-f", ".gitmodules", "submodule.lib.url", "/nonexistent")
	f.git("config", "submodule.lib.url", "/nonexistent")
	if work := f.provide(Provide{ID: "task-1"}); len(work.Warnings) > 0 || readText(t, filepath.Join(work.Path, "lib/lib.txt")) != "lib\n" || f.gitIn(filepath.Join(work.Path, "lib"), "remote", "get-url", "origin") != "/nonexistent" {
		t.Errorf("the repository has the submodule, and the warnings are %q", work.Warnings)
	}
	if err := os.RemoveAll(filepath.Join(f.dir, ".git/modules/lib")); err != nil {
		t.Fatal(err)
	}
	work := f.provide(Provide{ID: "task-2"})
	if len(work.Warnings) != 1 || !strings.Contains(work.Warnings[0], "submodules are not initialised") {
		t.Errorf("the warnings are %q", work.Warnings)
	}
}

func TestEverythingInAWorktreeIsCommitted(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	work := f.provide(Provide{ID: "task-1"})
	hook := filepath.Join(f.dir, ".git/hooks/pre-commit")
	writeFile(t, hook, "#!/bin/sh\nexit 1\n")
	if err := os.Chmod(hook, 0o755); err != nil {
		t.Fatal(err)
	}
	f.git("config", "commit.gpgSign", "true")
	writeFile(t, filepath.Join(work.Path, "new.txt"), "x")
	hash, changed, err := f.repo.Commit(t.Context(), work.Path, "add new.txt\n\n# kept\n")
	if err != nil || !changed || hash != f.git("rev-parse", "task/task-1") {
		t.Fatalf("commit %s, %v, %v", hash, changed, err)
	}
	if got := f.git("log", "-1", "--format=%an <%ae>|%cn|%B", hash); got != "Liza <liza@localhost>|Liza|add new.txt\n\n# kept" {
		t.Errorf("the commit is %q", got)
	}
	again, changed, err := f.repo.Commit(t.Context(), ".worktrees/task-1", "nothing")
	if err != nil || changed || again != hash {
		t.Errorf("a second commit: %s, %v, %v", again, changed, err)
	}
	before := f.checkout()
	if _, _, err := f.repo.Commit(t.Context(), f.dir, "no"); err == nil || !slices.Equal(before, f.checkout()) {
		t.Errorf("a commit in the main checkout: %v", err)
	}
}

func TestTheExcludeLineIsAddedOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	path := filepath.Join(f.dir, ".git/info/exclude")
	writeFile(t, path, "# mine\n*.tmp")
	for range 2 {
		if err := f.repo.AddExclude(t.Context(), "/.worktrees/"); err != nil {
			t.Fatal(err)
		}
	}
	if got := readText(t, path); got != "# mine\n*.tmp\n/.worktrees/\n" {
		t.Errorf("the file is %q", got)
	}
	if err := os.RemoveAll(filepath.Dir(path)); err != nil {
		t.Fatal(err)
	}
	if err := f.repo.AddExclude(t.Context(), "/.worktrees/"); err != nil || readText(t, path) != "/.worktrees/\n" {
		t.Errorf("without the folder: %v", err)
	}
}
