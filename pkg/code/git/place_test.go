package git

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestEveryFolderOfARepositoryOpensTheMainCheckout(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.write("src/deep/x.go", "package x\n")
	linked := f.claim(Provide{ID: "task-1"}).Path
	writeFile(t, filepath.Join(linked, "src/deep/x.go"), "package x\n")
	outside := filepath.Join(realTemp(t), "link")
	if err := os.Symlink(filepath.Join(f.dir, "src"), outside); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{
		f.dir, filepath.Join(f.dir, "src/deep"), filepath.Join(f.dir, ".git"), filepath.Join(f.dir, ".git/worktrees/task-1"),
		linked, filepath.Join(linked, "src/deep"), outside,
	} {
		repo := f.open(dir)
		if repo.Root() != f.dir || repo.CommonDir() != filepath.Join(f.dir, ".git") {
			t.Errorf("%s opened %s with %s", dir, repo.Root(), repo.CommonDir())
		}
		if head, err := repo.Head(t.Context()); err != nil || head.Branch != "main" {
			t.Errorf("from %s the head is %v, %v; want that of the main checkout", dir, head, err)
		}
	}
}

func TestVariablesOfACallingGitAreIgnored(t *testing.T) {
	t.Parallel()
	var env []string
	for _, variable := range environment([]string{"A=1"}) {
		name, _, _ := strings.Cut(variable, "=")
		env = append(env, name)
	}
	for _, name := range foreign {
		for _, has := range env {
			if has == name {
				t.Errorf("%s is handed on", name)
			}
		}
	}
}

func TestWhatIsNoRepositoryIsToldApart(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	base := realTemp(t)
	bare := filepath.Join(base, "bare.git")
	f.gitIn(base, "clone", "-q", "--bare", f.dir, bare)
	f.gitIn(bare, "worktree", "add", "-q", filepath.Join(base, "of-bare"), "main")
	dotBare := filepath.Join(base, "hidden")
	f.gitIn(base, "clone", "-q", "--bare", f.dir, filepath.Join(dotBare, ".git"))
	orphan := filepath.Join(base, "orphan")
	writeFile(t, filepath.Join(orphan, ".git"), "gitdir: /nonexistent/worktrees/x\n")
	plain := filepath.Join(base, "plain")
	writeFile(t, filepath.Join(plain, "x"), "")
	for dir, want := range map[string]error{
		bare: ErrBare, filepath.Join(bare, "refs"): ErrBare, filepath.Join(base, "of-bare"): ErrBare, dotBare: ErrBare,
		plain: ErrNoRepository, orphan: ErrNoRepository,
	} {
		if _, err := Open(t.Context(), dir, f.env...); !errors.Is(err, want) {
			t.Errorf("opening %s: %v; want %v", dir, err, want)
		}
	}
	if _, err := Open(t.Context(), filepath.Join(base, "gone"), f.env...); err == nil {
		t.Error("a folder that does not exist was opened")
	}
}

func TestASubmoduleAndASeparateGitDirAreTheirOwnRoot(t *testing.T) {
	t.Parallel()
	f := newSubmoduleFixture(t)
	sub := filepath.Join(f.dir, "lib")
	if repo := f.open(sub); repo.Root() != sub {
		t.Errorf("the submodule opened %s", repo.Root())
	}
	base := realTemp(t)
	f.gitIn(base, "init", "-q", "--separate-git-dir", filepath.Join(base, "store"), "checkout")
	if repo := f.open(filepath.Join(base, "checkout")); repo.Root() != filepath.Join(base, "checkout") {
		t.Errorf("the repository with a separate git dir opened %s", repo.Root())
	}
}

func TestAGitThatWasReplacedByAnOldOneIsNoticed(t *testing.T) {
	f := newFixture(t)
	f.open(f.dir)
	old := t.TempDir()
	if err := os.WriteFile(filepath.Join(old, "git"), []byte("#!/bin/sh\necho git version 2.37.9\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", old)
	for range 2 {
		if _, err := Open(t.Context(), f.dir); !errors.Is(err, ErrVersion) {
			t.Errorf("with git 2.37.9 in the path: %v, want ErrVersion", err)
		}
	}
}

func TestAMissingOrOldGitIsNamedWithTheVersionNeeded(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	old := t.TempDir()
	script := "#!/bin/sh\necho git version 2.37.9\n"
	if err := os.WriteFile(filepath.Join(old, "git"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{"missing": t.TempDir(), "old": old} {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(self)
		cmd.Env = []string{"PATH=" + path, "LIZA_GIT_TEST_OPEN=" + f.dir}
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.HasPrefix(string(out), "true ") || !strings.Contains(string(out), "2.38") {
			t.Errorf("git is %s: %s %v; want ErrVersion with 2.38", name, out, err)
		}
	}
	for version, want := range map[string]bool{
		"2.38.0": true, "2.39.5 (Apple Git-154)": true, "2.46.0.windows.1": true, "3.0.rc1": true, "2.37.9": false, "1.9": false, "": false,
	} {
		if recentEnough(version) != want {
			t.Errorf("git %q is recent enough: %v", version, !want)
		}
	}
}

func TestARepositoryThatGoGitCannotReadWorks(t *testing.T) {
	t.Parallel()
	cases := map[string]func(t *testing.T) *fixture{
		"sha256": func(t *testing.T) *fixture { return newFixture(t, "--object-format=sha256") },
		"worktreeConfig": func(t *testing.T) *fixture {
			f := newFixture(t)
			f.git("config", "core.repositoryFormatVersion", "1")
			f.git("config", "extensions.worktreeConfig", "true")
			return f
		},
		"packed": func(t *testing.T) *fixture {
			f := newFixture(t)
			f.git("gc", "-q")
			return f
		},
	}
	for name, make := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := make(t)
			r := f.open(f.dir)
			start := f.git("rev-parse", "HEAD")
			if head, err := r.Head(t.Context()); err != nil || head != (Head{"main", start}) {
				t.Errorf("the head is %v, %v", head, err)
			}
			if tip, err := r.BranchTip(t.Context(), "integration"); err != nil || tip != start {
				t.Errorf("the tip is %q, %v", tip, err)
			}
			if _, err := r.BranchTip(t.Context(), "nope"); !errors.Is(err, ErrNotFound) {
				t.Errorf("a branch that does not exist: %v", err)
			}
			work := f.provide(Provide{ID: "task-1"})
			commit := f.commitIn(work.Path, "b.txt", "new\n")
			if yes, err := r.IsAncestor(t.Context(), start, commit); err != nil || !yes {
				t.Errorf("start is an ancestor: %v, %v", yes, err)
			}
			merged := f.merge(commit)
			if yes, err := r.IsAncestor(t.Context(), commit, merged); err != nil || !yes {
				t.Errorf("the commit is in the merge: %v, %v", yes, err)
			}
			if err := r.Remove(t.Context(), "task-1", Proof{Integration: merged}); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestACancelledContextEndsACommand(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	_, err := f.repo.DiffStat(ctx, "HEAD", "HEAD")
	wantError(t, err, "enough")
}

// A Ctrl-C in the terminal meets a git that has just been forked, before it has a process group of its own.
func TestAGitThatAnInterruptMetAtItsStartIsRunAgain(t *testing.T) {
	f := newFixture(t)
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "git"), "#!/bin/sh\nif test ! -e "+dir+"/met; then touch "+dir+"/met; kill -INT $$; fi\nexec "+real+" \"$@\"\n")
	if err := os.Chmod(filepath.Join(dir, "git"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	if err := f.repo.ClearRemoved(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := f.repo.Resolve(t.Context(), "integration"); err != nil || !exists(filepath.Join(dir, "met")) {
		t.Error(err)
	}
}
