package wall

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"liza/pkg/base/safefile"
	"liza/pkg/code/git"
	"liza/pkg/run/sandbox"
)

// write makes a file with the folders around it.
func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// A tool that walks up from the folder of a run, asks git, or opens a socket in TMPDIR finds what it finds in a clone in an empty folder.
func TestAtClosedARunIsAsInACloneInAnEmptyFolder(t *testing.T) {
	t.Parallel()
	r := contained(t, "claude")
	root, admin := r.Project.Root, filepath.Join(r.Project.GitDir, "worktrees", "task-1")
	write(t, filepath.Join(r.Dir, ".git"), "gitdir: "+admin+"\n")
	write(t, filepath.Join(admin, "modules", "lib", "config"), "[core]\n\tworktree = ../../../../../.worktrees/task-1/deps/lib\n\tbare = false\n")
	write(t, filepath.Join(r.Dir, "deps", "lib", ".git"), "gitdir: ../../../../.git/worktrees/task-1/modules/lib\n")
	r.Argv = []string{filepath.Join(root, "agent.sh"), "-p"}
	r.Git = &git.Folder{Git: filepath.Join(root, "folder", "git"), Target: admin, Read: []string{filepath.Join(r.Project.GitDir, "objects"), filepath.Join(admin, "modules")}}
	w := r.Compose(sandbox.Closed, "")
	p := w.Spec.Place
	for outside, inside := range map[string]string{
		r.Dir:                                root,
		filepath.Join(r.Dir, "go.mod"):       filepath.Join(root, "go.mod"),
		w.Spec.Tmp:                           "/tmp",
		w.Spec.Home:                          "/run/liza/home",
		r.Read[0]:                            "/run/liza/prompts/task-1/1.txt",
		filepath.Join(root, "agent.sh"):      "/run/liza/checkout/agent.sh",
		admin:                                "/run/liza/git/worktrees/task-1",
		filepath.Join(root, "other.txt"):     filepath.Join(root, "other.txt"),
		filepath.Join(root+"-other", "a.md"): filepath.Join(root+"-other", "a.md"),
	} {
		if got := p.Inside(outside); got != inside {
			t.Errorf("%s is %s inside, want %s", outside, got, inside)
		}
	}
	for _, path := range slices.Concat(w.Spec.Read, w.Spec.Write, w.Spec.Tools) {
		if safefile.Within(p.Inside(path), root) && !safefile.Within(path, r.Dir) {
			t.Errorf("%s lies in the checkout of the run", path)
		}
	}
	_, remove, err := w.Prepare()
	if err != nil {
		t.Fatal(err)
	}
	defer remove()
	texts := map[string]string{}
	for _, m := range w.Spec.Files {
		text, err := os.ReadFile(m.Source)
		if err != nil {
			t.Fatal(err)
		}
		texts[p.Inside(m.Target)] = string(text)
	}
	for path, want := range map[string]string{
		filepath.Join(root, ".git"):                              "gitdir: /run/liza/git/worktrees/task-1\n",
		"/run/liza/git/worktrees/task-1/objects/info/alternates": "/run/liza/git/objects\n",
		filepath.Join(root, "deps/lib/.git"):                     "gitdir: /run/liza/git/worktrees/task-1/modules/lib\n",
		"/run/liza/git/worktrees/task-1/modules/lib/config":      "[core]\n\tworktree = " + root + "/deps/lib\n\tbare = false\n",
	} {
		if texts[path] != want {
			t.Errorf("%s is %q, want %q", path, texts[path], want)
		}
	}
}

// What the worktree has at its path is not hidden by it, and no empty file is left there.
func TestAnAllowedFileOfTheCheckoutStandsBesideTheWorktree(t *testing.T) {
	t.Parallel()
	r := contained(t, "claude")
	r.Settings.Allow.Read = []string{".env"}
	w := r.Compose(sandbox.Closed, "")
	env := filepath.Join(r.Project.Root, ".env")
	if got := w.Spec.Place.Text("cp " + env + " .env"); got != "cp /run/liza/checkout/.env .env" {
		t.Errorf("the command is %q", got)
	}
	if got := r.Compose(sandbox.Partial, "").Spec.Place.Inside(env); got != env {
		t.Errorf("at partial it is %s", got)
	}
}

func TestAPlannerInTheMainCheckoutAndGitsHelperHaveTheirOwnPaths(t *testing.T) {
	t.Parallel()
	r := contained(t, "claude")
	r.Dir, r.Write = r.Project.Root, false
	if w := r.Compose(sandbox.Closed, ""); w.Spec.Place.Inside(r.Read[0]) != r.Read[0] || w.Spec.Place.Inside(w.Spec.Tmp) != "/tmp" || len(w.Spec.Files) > 0 {
		t.Errorf("got %v %v", w.Spec.Place, w.Spec.Files)
	}
	r = contained(t, "claude")
	r.Look = true
	if w := r.Compose(sandbox.Closed, ""); w.Spec.Place != nil {
		t.Errorf("got %v", w.Spec.Place)
	}
}

// The names of Unix sockets have 107 bytes at most, whatever a task and its project are called.
func TestATemporaryFolderIsShort(t *testing.T) {
	t.Parallel()
	r := contained(t, "claude")
	r.Private, r.Folder = filepath.Join(r.Project.Tmp(), privatePrefix+"job+.check-"+strings.Repeat("a-long-name-", 5)), "/run/user/1000/liza-1000/0123abcd"
	if w := r.Compose(sandbox.Partial, ""); w.Spec.Place != nil || w.Spec.Tmp != r.Folder+"/tmp" || !slices.Contains(w.Make, w.Spec.Tmp) {
		t.Errorf("at partial: %s, %v", w.Spec.Tmp, w.Make)
	}
	if w := r.Compose(sandbox.Closed, ""); w.Spec.Place.Inside(w.Spec.Tmp) != "/tmp" {
		t.Errorf("at closed: %s", w.Spec.Place.Inside(w.Spec.Tmp))
	}
}
