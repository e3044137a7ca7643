package git

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestChangedFilesSayWhatHappenedToEach(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.write("old name.txt", strings.Repeat("a line of text\n", 20))
	f.write("gone.txt", "x\n")
	f.git("add", "-A")
	f.git("commit", "-q", "-m", "more")
	base := f.git("rev-parse", "HEAD")
	f.git("mv", "old name.txt", "new\nname ü.txt")
	f.git("rm", "-q", "gone.txt")
	f.write("a.txt", "changed\n")
	f.write("tool.sh", "#!/bin/sh\n")
	if err := errors.Join(os.Chmod(filepath.Join(f.dir, "tool.sh"), 0o755), os.Symlink("a.txt", filepath.Join(f.dir, "link"))); err != nil {
		t.Fatal(err)
	}
	f.git("add", "-A")
	f.git("update-index", "--add", "--cacheinfo", ModeGitlink+","+base+",sub")
	f.git("commit", "-q", "-m", "change")
	head := f.git("rev-parse", "HEAD")

	got, err := f.repo.ChangedFiles(t.Context(), base, head)
	if err != nil {
		t.Fatal(err)
	}
	want := []Change{
		{"M", "a.txt", "", "100644"}, {"D", "gone.txt", "", "100644"}, {"A", "link", "", "120000"},
		{"R", "new\nname ü.txt", "old name.txt", "100644"}, {"A", "sub", "", ModeGitlink}, {"A", "tool.sh", "", "100755"},
	}
	slices.SortFunc(got, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if same, err := f.repo.ChangedFiles(t.Context(), head, head); err != nil || len(same) > 0 {
		t.Errorf("a commit differs from itself: %v, %v", same, err)
	}
	stat, err := f.repo.DiffStat(t.Context(), base, head)
	if err != nil || !strings.Contains(stat, "6 files changed") {
		t.Errorf("the summary is %q, %v", stat, err)
	}
}

func TestAPatchDoesNotFollowTheUsersTaste(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	base := f.git("rev-parse", "HEAD")
	f.write("a.txt", "one\nTWO\nthree\n")
	f.write("*.txt", "star\n")
	f.git("add", "-A")
	f.git("commit", "-q", "-m", "change")
	for key, value := range map[string]string{"diff.noprefix": "true", "color.ui": "always", "diff.external": "false", "core.pager": "false"} {
		f.git("config", key, value)
	}
	patch, err := f.repo.Diff(t.Context(), base, "HEAD", "a.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"--- a/a.txt\n+++ b/a.txt\n", "\n-two\n+TWO\n"} {
		if !strings.Contains(patch, text) {
			t.Errorf("the patch has no %q:\n%s", text, patch)
		}
	}
	star, err := f.repo.Diff(t.Context(), base, "HEAD", "*.txt")
	if err != nil || strings.Contains(star, "TWO") || !strings.Contains(star, "+star") {
		t.Errorf("a path is taken for a pattern: %v\n%s", err, star)
	}
	if _, err := f.repo.Diff(t.Context(), "--output=x", "HEAD"); !errors.Is(err, ErrNotFound) || f.exists("x") {
		t.Errorf("an option is taken for a commit: %v", err)
	}
}

func TestAFileIsReadFromACommit(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.write("dir/odd\nname", "no newline at the end")
	f.git("add", "-A")
	f.git("commit", "-q", "-m", "odd")
	for name, want := range map[string]string{"a.txt": "one\ntwo\nthree\n", "dir/odd\nname": "no newline at the end", "./dir/../a.txt": "one\ntwo\nthree\n"} {
		if got, err := f.repo.ReadFile(t.Context(), "HEAD", name); err != nil || string(got) != want {
			t.Errorf("%q reads %q, %v", name, got, err)
		}
	}
	for _, name := range []string{"nope", "dir", "", "../a.txt", "odd\nnope", "a\x00"} {
		if got, err := f.repo.ReadFile(t.Context(), "HEAD", name); err == nil {
			t.Errorf("%q reads %q", name, got)
		}
	}
	if _, err := f.repo.ReadFile(t.Context(), "HEAD", "nope"); !errors.Is(err, ErrNotFound) {
		t.Errorf("a missing file: %v", err)
	}
}
