package git

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAPatchIsToldFileByFile(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.write("old name.txt", strings.Repeat("a line of text\n", 20))
	f.write("gone.txt", "x\n")
	f.write("run.sh", "true\n")
	f.write("data", "\x00\x01")
	f.write("kind", "text\n")
	f.write("lines.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n")
	f.git("add", "-A")
	f.git("commit", "-q", "-m", "more")
	base := f.git("rev-parse", "HEAD")
	f.git("mv", "old name.txt", "new\nname ü.txt")
	f.git("rm", "-q", "gone.txt", "kind")
	f.write("data", "\x00\x02")
	f.write("empty", "")
	f.write("lines.txt", "one\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\ndiff --git a/x b/x\n@@ -1 +1 @@\n")
	if err := errors.Join(os.Chmod(filepath.Join(f.dir, "run.sh"), 0o755), os.Symlink("a.txt", filepath.Join(f.dir, "kind"))); err != nil {
		t.Fatal(err)
	}
	f.git("add", "-A")
	f.git("commit", "-q", "-m", "change")

	got, cut, err := f.repo.Patches(t.Context(), base, f.git("rev-parse", "HEAD"), 1<<20)
	if err != nil || cut {
		t.Fatal(err, cut)
	}
	want := map[string]FilePatch{
		"data":            {Change: Change{Status: "M", Mode: "100644"}, OldMode: "100644", Binary: true},
		"empty":           {Change: Change{Status: "A", Mode: "100644"}, OldMode: "000000"},
		"gone.txt":        {Change: Change{Status: "D", Mode: "100644"}, OldMode: "100644", Removed: 1, Hunks: "@@ -1 +0,0 @@\n-x\n"},
		"kind":            {Change: Change{Status: "M", Mode: "120000"}, OldMode: "100644", Added: 1, Removed: 1, Hunks: "@@ -1 +0,0 @@\n-text\n@@ -0,0 +1 @@\n+a.txt\n\\ No newline at end of file\n"},
		"new\nname ü.txt": {Change: Change{Status: "R", OldPath: "old name.txt", Mode: "100644"}, OldMode: "100644"},
		"run.sh":          {Change: Change{Status: "M", Mode: "100755"}, OldMode: "100644"},
		"lines.txt": {Change: Change{Status: "M", Mode: "100644"}, OldMode: "100644", Added: 3, Removed: 2,
			Hunks: "@@ -1,4 +1,4 @@\n-1\n+one\n 2\n 3\n 4\n@@ -9,4 +9,5 @@\n 9\n 10\n 11\n-12\n+diff --git a/x b/x\n+@@ -1 +1 @@\n"},
	}
	for _, g := range got {
		w := want[g.Path]
		w.Path = g.Path
		if g != w {
			t.Errorf("%q:\n%#v\nwant\n%#v", g.Path, g, w)
		}
		delete(want, g.Path)
	}
	if len(want) > 0 {
		t.Errorf("not told: %v", want)
	}
}

// What is read of a huge change is bounded; the files whose patch was not reached say so.
func TestAHugePatchIsCut(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	base := f.git("rev-parse", "HEAD")
	f.write("1.txt", "small\n")
	f.write("2.txt", strings.Repeat("much text\n", 200_000))
	f.write("3.txt", "small\n")
	f.git("add", "-A")
	f.git("commit", "-q", "-m", "much")
	head := f.git("rev-parse", "HEAD")
	for range 2 { // the second time from memory
		got, cut, err := f.repo.Patches(t.Context(), base, head, 10_000)
		if err != nil || !cut || len(got) != 3 {
			t.Fatalf("%v, cut %v, %d files", err, cut, len(got))
		}
		if got[0].Cut || got[0].Hunks != "@@ -0,0 +1 @@\n+small\n" || !got[1].Cut || got[1].Added != 200_000 || len(got[1].Hunks) > 10_000 || !got[2].Cut || got[2].Hunks != "" {
			t.Errorf("%+v", got)
		}
	}
}

// A repository may say how its files are shown; nothing of that is run, and nothing changes the patch.
func TestAPatchRunsNothingThatTheRepositoryConfigures(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	mark := filepath.Join(t.TempDir(), "ran")
	f.git("config", "diff.external", "touch "+mark)
	f.git("config", "diff.shown.textconv", "touch "+mark+"; cat")
	f.git("config", "diff.shown.command", "touch "+mark)
	f.git("config", "diff.noprefix", "true")
	f.git("config", "color.ui", "always")
	base := f.git("rev-parse", "HEAD")
	f.write(".gitattributes", "* diff=shown\n")
	f.write("a.txt", "changed\n")
	f.git("add", "-A")
	f.git("commit", "-q", "-m", "change")
	got, _, err := f.repo.Patches(t.Context(), base, f.git("rev-parse", "HEAD"), 1<<20)
	if err != nil || len(got) != 2 || !strings.Contains(got[1].Hunks, "+changed\n") {
		t.Errorf("%v, %+v", err, got)
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("a program of the repository was run")
	}
}
