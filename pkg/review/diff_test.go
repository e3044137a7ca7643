package review_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"liza/pkg/git"
	"liza/pkg/review"
)

// project is a repository with one commit; each file's text is given by its path.
type project struct {
	*testing.T
	dir, base string
	repo      *git.Repo
}

func newProject(t *testing.T, files map[string]string) *project {
	t.Helper()
	p := &project{T: t, dir: t.TempDir()}
	p.git("init", "-q", "-b", "main")
	p.write(files)
	p.base = p.commit()
	var err error
	if p.repo, err = git.Open(t.Context(), p.dir); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *project) git(args ...string) string {
	p.Helper()
	out, err := exec.Command("git", append([]string{"-C", p.dir, "-c", "user.name=T", "-c", "user.email=t@localhost"}, args...)...).CombinedOutput()
	if err != nil {
		p.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// write writes files; the text "-" removes one.
func (p *project) write(files map[string]string) {
	p.Helper()
	for name, text := range files {
		path := filepath.Join(p.dir, name)
		if text == "-" {
			if err := os.Remove(path); err != nil {
				p.Fatal(err)
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			p.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			p.Fatal(err)
		}
	}
}

func (p *project) commit() string {
	p.Helper()
	p.git("add", "--all", "--force")
	p.git("commit", "-q", "--allow-empty", "-m", "work")
	return p.git("rev-parse", "HEAD")
}

func (p *project) changes() []review.Changed {
	p.Helper()
	changes, err := review.Changes(context.Background(), p.repo, p.base, p.git("rev-parse", "HEAD"))
	if err != nil {
		p.Fatal(err)
	}
	return changes
}

func TestAPatchIsReadLineByLine(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"a.go": "package a\n\nvar a = 1\n", "tool.sh": "#!/bin/sh\n", "old name.go": "package a\n\nvar b = 1\nvar c = 2\nvar d = 3\nvar e = 4\n",
		"gone.txt": "-- a/x\n++ b/x\n", "same": "x"})
	p.write(map[string]string{"a.go": "package a\n\n-- var a = 1\n++ b/c\nvar a = 2", "new \"file\".go": "package n\n", "bin": "a\x00b", "gone.txt": "-", "empty.txt": "", "grüße.txt": "hallo\n"})
	p.git("mv", "old name.go", "new name.go")
	if err := os.Chmod(filepath.Join(p.dir, "tool.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	p.commit()
	got := map[string]review.Changed{}
	for _, c := range p.changes() {
		got[c.Path] = c
	}
	for path, want := range map[string]struct {
		status string
		added  []string
		lost   int
		binary bool
	}{
		"a.go":            {"M", []string{"3:-- var a = 1", "4:++ b/c", "5:var a = 2"}, 1, false},
		"tool.sh":         {"M", nil, 0, false},
		"new name.go":     {"R", nil, 0, false},
		"new \"file\".go": {"A", []string{"1:package n"}, 0, false},
		"bin":             {"A", nil, 0, true},
		"gone.txt":        {"D", nil, 2, false},
		"empty.txt":       {"A", nil, 0, false},
		"grüße.txt":       {"A", []string{"1:hallo"}, 0, false},
	} {
		c, ok := got[path]
		var added []string
		lost := 0
		for _, l := range c.Lines {
			if l.Added {
				added = append(added, string(rune('0'+l.N))+":"+l.Text)
			} else {
				lost++
			}
		}
		if !ok || c.Status != want.status || !slices.Equal(added, want.added) || lost != want.lost || c.Binary != want.binary {
			t.Errorf("%s: %+v, want %+v", path, c, want)
		}
	}
	if len(got) != 8 || got["tool.sh"].OldMode != "100644" || got["tool.sh"].Mode != "100755" || got["new name.go"].OldPath != "old name.go" {
		t.Errorf("%d files, %+v, %+v", len(got), got["tool.sh"], got["new name.go"])
	}
}
