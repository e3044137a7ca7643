package git

import (
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
	var names []string
	var objects []string
	for i, l := range there {
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
