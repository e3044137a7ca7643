package git

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestTrackedFilesOfAFolderAndOfACommitAreTheSame(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.write("a.txt", "one\n")
	f.write("sub/b.txt", "two\n")
	f.write("sub.txt", "before what is in the folder\n")
	f.write("run.sh", "#!/bin/sh\n")
	mustDo(t, os.Chmod(filepath.Join(f.dir, "run.sh"), 0o755))
	f.write("odd\nname", "three\n")
	if err := os.Symlink("a.txt", filepath.Join(f.dir, "link")); err != nil {
		t.Fatal(err)
	}
	f.git("add", "--all")
	f.git("commit", "--quiet", "--message", "files")
	commit := f.git("rev-parse", "HEAD")
	here, err := f.repo.ListWorktree(t.Context(), f.dir)
	if err != nil {
		t.Fatal(err)
	}
	there, err := f.repo.ListCommit(t.Context(), commit)
	if err != nil {
		t.Fatal(err)
	}
	files, err := f.repo.Files(t.Context(), commit)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	var objects []string
	for i, l := range there {
		if l.Size = 0; i >= len(files) || files[i] != l {
			t.Errorf("file %d: %+v with git, %+v without", i, l, files)
		}
		l.Size = there[i].Size
		names = append(names, l.Path)
		if l.Regular {
			objects = append(objects, l.Object)
		}
		if i >= len(here) || here[i].Path != l.Path || here[i].Regular != l.Regular {
			t.Errorf("file %d: %+v in the folder, %+v in the commit", i, here[i], l)
		}
		if l.Regular != (l.Path != "link") {
			t.Errorf("%s is regular: %t", l.Path, l.Regular)
		}
	}
	if !slices.Contains(names, "odd\nname") || !slices.Contains(names, "sub/b.txt") {
		t.Errorf("names %q", names)
	}
	contents, err := f.repo.ReadObjects(t.Context(), append(objects, "0000000000000000000000000000000000000000"))
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range there {
		if l.Path == "sub/b.txt" && (contents[l.Object] != "two\n" || l.Size != 4) {
			t.Errorf("%+v has %q", l, contents[l.Object])
		}
	}
	f.write("a.txt", "changed\n")
	f.write("new.txt", "not tracked\n")
	if changed, err := f.repo.ChangedIn(t.Context(), f.dir, commit); err != nil || !slices.Equal(changed, []string{"a.txt"}) {
		t.Errorf("changed %q: %v", changed, err)
	}
	if _, err := f.repo.ListCommit(t.Context(), "--help"); err == nil {
		t.Error("an option is taken for a commit")
	}
	if none, err := f.repo.ReadObjects(t.Context(), nil); err != nil || none != nil {
		t.Errorf("no objects: %v %v", none, err)
	}
}

// As long as a run has changed no tracked file, no helper looks which ones it has changed.
func TestChangesOfAnUnchangedWorktreeNeedNoHelper(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	work := f.provide(Provide{ID: "t"})
	base := work.Head
	asked := 0
	f.help(func(ctx context.Context, h Help) (int, string, error) {
		asked++
		return f.repo.uncontained(ctx, h)
	})
	look := func(helpers int, want ...string) {
		t.Helper()
		asked = 0
		changed, err := f.repo.ChangedIn(t.Context(), work.Path, base)
		if err != nil || !slices.Equal(changed, want) || asked != helpers {
			t.Errorf("changed are %q by %d helpers (%v), want %q by %d", changed, asked, err, want, helpers)
		}
	}
	look(0)
	writeFile(t, work.Path+"/new.txt", "not tracked\n")
	look(0)
	f.commitIn(work.Path, "b.txt", "two\n")
	look(0, "b.txt", "new.txt")
	writeFile(t, work.Path+"/b.txt", "three\n")
	look(1, "b.txt", "new.txt")
	f.gitIn(work.Path, "add", "b.txt")
	look(1, "b.txt", "new.txt")
}

// A worktree goes with git's entry of it, and with the folder of these entries when it is the last; the entries of others stay.
func TestTheEntryOfAWorktreeGoesWithIt(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, id := range []string{"one", "two"} {
		f.provide(Provide{ID: id})
	}
	entries := filepath.Join(f.dir, ".git", "worktrees")
	mustDo(t, f.repo.Remove(t.Context(), "one", Proof{Integration: f.git("rev-parse", "HEAD")}))
	if exists(filepath.Join(entries, "one")) || !exists(filepath.Join(entries, "two")) || exists(filepath.Join(f.dir, ".git", "liza", removedMark+"entry")) {
		t.Error("another entry was removed, or some is left")
	}
	mustDo(t, f.repo.Remove(t.Context(), "two", Proof{Integration: f.git("rev-parse", "HEAD")}))
	if exists(entries) {
		t.Error("the folder of the entries is left")
	}
	f.git("fsck", "--strict")
}
