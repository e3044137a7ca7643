package review_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"liza/pkg/base/norace"
	"liza/pkg/code/git"
	"liza/pkg/code/review"
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

// An agent may commit any number of lines. Another process reads them, whose memory the system counts.
func TestAHugeChangeIsReadUpToABoundAndSaysSo(t *testing.T) {
	t.Parallel()
	if at := os.Getenv("LIZA_TEST_HUGE_CHANGE"); at != "" {
		repo, err := git.Open(t.Context(), at)
		if err != nil {
			t.Fatal(err)
		}
		changes, err := review.Changes(t.Context(), repo, "HEAD~1", "HEAD")
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range changes {
			fmt.Println("read", c.Path, c.Unread, len(c.Lines) > 0)
		}
		// What the kernel tells a parent (Maxrss) counts the parent's own memory at the start of the child, too.
		status, _ := os.ReadFile("/proc/self/status")
		if _, most, found := strings.Cut(string(status), "VmHWM:"); found {
			fmt.Println("used", strings.Fields(most)[0])
		}
		return
	}
	p := newProject(t, map[string]string{"log.txt": "short\n"})
	line := strings.Repeat("0123456789 ", 4) + "\n"
	files := map[string]string{"a.go": "package a\n", "log.txt": strings.Repeat(line, 24<<20/len(line))}
	for i := range 8 {
		files[fmt.Sprintf("part%d.txt", i)] = strings.Repeat(line, 3<<20/len(line))
	}
	p.write(files)
	p.commit()
	cmd := exec.Command(os.Args[0], "-test.run=^TestAHugeChangeIsReadUpToABoundAndSaysSo$", "-test.v")
	cmd.Env = append(os.Environ(), "LIZA_TEST_HUGE_CHANGE="+p.dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, want := range []string{"read a.go false true", "read log.txt true false", "read part0.txt false true", "read part7.txt true false"} {
		if !strings.Contains(string(out), want+"\n") {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	most := 200 << 10
	if norace.Raced { // its shadow of the memory counts too
		most = 600 << 10
	}
	if runtime.GOOS == "linux" {
		_, text, _ := strings.Cut(string(out), "used ")
		used := 0
		if _, err := fmt.Sscan(text, &used); err != nil || used > most {
			t.Errorf("%d MB were used (%v)", used>>10, err)
		}
	}
	if found := said(look(t, submission(p.changes()...))); !slices.ContainsFunc(found, func(line string) bool {
		return strings.HasPrefix(line, "warning security log.txt:0 was not looked at, or not all of it")
	}) {
		t.Errorf("no finding of what was left out: %q", found)
	}
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
