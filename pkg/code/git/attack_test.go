package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Git looks into a submodule with a git of its own. One that a run has made may name any program as a filter: it would be
// started outside of the wall.
func TestARepositoryInsideAWorktreeIsNotObeyed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	x := f.run("t")
	sub, ran := filepath.Join(x.dir, "sub"), filepath.Join(t.TempDir(), "ran")
	x.gitIn(x.dir, "init", "-q", sub)
	writeFile(t, filepath.Join(sub, "a"), "x\n")
	writeFile(t, filepath.Join(sub, ".gitattributes"), "* filter=evil diff=evil\n")
	x.gitIn(sub, "add", "-A")
	x.gitIn(sub, "commit", "-qm", "x")
	writeFile(t, filepath.Join(x.dir, ".gitmodules"), "[submodule \"sub\"]\n\tpath = sub\n\turl = ./x\n\tignore = none\n")
	x.in("add", "sub", ".gitmodules")
	x.in("commit", "-qm", "a submodule")
	for _, key := range []string{"filter.evil.clean", "filter.evil.smudge", "diff.evil.textconv", "diff.external", "core.fsmonitor", "core.sshCommand"} {
		x.gitIn(sub, "config", key, "echo "+key+" >> "+ran+"; cat")
	}
	x.gitIn(sub, "config", "core.hooksPath", sub+"/hooks")
	for _, hook := range []string{sub + "/hooks/post-checkout", sub + "/hooks/post-index-change"} {
		writeFile(t, hook, "#!/bin/sh\necho "+hook+" >> "+ran+"\n")
		if err := os.Chmod(hook, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	commit := x.in("rev-parse", "HEAD")
	work := Work{ID: "t", Path: x.dir, Reason: "test"}
	for _, step := range []struct {
		name string
		do   func() error
	}{
		{"TakeOver", func() error { x.take(); return nil }},
		{"Inspect", func() error { x.facts(); return nil }},
		{"ChangedIn", func() error { _, err := x.repo.ChangedIn(t.Context(), x.dir, x.base); return err }},
		{"Save", func() error { _, _, err := x.repo.Save(t.Context(), work); return err }},
		{"Commit", func() error { _, _, err := x.repo.Commit(t.Context(), x.dir, "all"); return err }},
		{"PutBack", func() error {
			_, err := x.repo.PutBack(t.Context(), work, commit, func() (bool, error) { return true, nil })
			return err
		}},
		{"Discard", func() error { return x.repo.Discard(t.Context(), x.dir) }},
		{"Remove", func() error { return x.repo.Remove(t.Context(), "t", Proof{}) }},
	} {
		for _, name := range []string{"sub/a", "new"} { // as long as what was there, so that git has to look at the content
			writeFile(t, filepath.Join(x.dir, name), "y\n")
		}
		err := step.do()
		if text, there := os.ReadFile(ran); there == nil {
			t.Errorf("%s has started %q (%v)", step.name, text, err)
			_ = os.Remove(ran)
		}
	}
}

// An address in the .gitmodules of a task is one that a run has chosen: nothing is fetched from there, and it does not get into
// the configuration of the repository.
func TestNothingIsFetchedFromAnAddressThatARunHasChosen(t *testing.T) {
	t.Parallel()
	f := newSubmoduleFixture(t)
	f.git("config", "submodule.active", ".")
	private := realTemp(t)
	f.gitIn(private, "init", "-q", "-b", "main")
	head := f.commitIn(private, "secret.txt", "CANARY\n")
	work := f.provide(Provide{ID: "task-1"})
	f.gitIn(work.Path, "config", "-f", ".gitmodules", "submodule.new.url", private)
	f.gitIn(work.Path, "config", "-f", ".gitmodules", "submodule.new.path", "new")
	f.gitIn(work.Path, "config", "-f", ".gitmodules", "submodule.lib.url", private)
	f.gitIn(work.Path, "update-index", "--add", "--cacheinfo", "160000,"+head+",new")
	f.gitIn(work.Path, "add", ".gitmodules")
	f.gitIn(work.Path, "commit", "-qm", "a submodule")
	commit := f.gitIn(work.Path, "rev-parse", "HEAD")
	for _, unregistered := range []bool{false, true} {
		if unregistered {
			f.git("config", "--unset", "submodule.lib.url")
		}
		path := filepath.Join(f.dir, ".worktrees/.check-task-1")
		warnings, err := f.repo.CheckoutDetached(t.Context(), path, commit)
		if err != nil || len(warnings) == 0 || !strings.Contains(warnings[0], "new") {
			t.Errorf("%q, %v", warnings, err)
		}
		if exists(filepath.Join(path, "new/secret.txt")) || exists(filepath.Join(path, "lib/secret.txt")) {
			t.Error("it was fetched")
		}
		if exists(filepath.Join(path, "lib/lib.txt")) == unregistered {
			t.Error("the submodule that was known is not as the configuration says")
		}
		if text := readText(t, filepath.Join(f.dir, ".git/config")); strings.Contains(text, private) {
			t.Errorf("the address is in the configuration:\n%s", text)
		}
	}
}

// A program that is still running can put a link in the place of a folder while files are written into it.
func TestNothingIsWrittenThroughALinkThatAppearsMeanwhile(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.contain()
	x := f.run("t")
	for n := range 5000 {
		writeFile(t, filepath.Join(x.dir, fmt.Sprintf("d/f%05d", n)), "x\n")
	}
	x.in("add", "-A")
	x.in("commit", "-qm", "many")
	commit := x.in("rev-parse", "HEAD")
	x.take()
	x.close()
	victim := t.TempDir()
	if err := os.RemoveAll(filepath.Join(x.dir, "d")); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for !exists(filepath.Join(x.dir, "d/f00001")) {
		}
		_ = os.Rename(filepath.Join(x.dir, "d"), filepath.Join(x.dir, "d2"))
		_ = os.Symlink(victim, filepath.Join(x.dir, "d"))
	}()
	_, err := x.repo.PutBack(t.Context(), Work{ID: "t", Reason: "test"}, commit, func() (bool, error) { return true, nil })
	<-done
	if list, _ := os.ReadDir(victim); len(list) > 0 {
		t.Errorf("%d files were written outside (%v)", len(list), err)
	}
	if back, err := x.repo.PutBack(t.Context(), Work{ID: "t", Reason: "test"}, commit, func() (bool, error) { return true, nil }); err != nil || len(x.facts().Dirty) > 0 {
		t.Errorf("when nobody disturbs it: %+v, %v, %q", back, err, x.facts().Dirty)
	}
}

// The same while what is in the worktree is committed: none of the person's files may get into the commit. A filter makes the moment, at which git has
// seen a folder and not yet read what is in it.
func TestNothingIsReadThroughALinkThatAppearsMeanwhile(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.contain()
	work, victim := f.provide(Provide{ID: "t"}), t.TempDir()
	dir := filepath.Join(work.Path, "d")
	f.write(".git/info/attributes", "d/a filter=slow\n")
	f.git("config", "filter.slow.clean", "cat")
	home := filepath.Join(realTemp(t), "gitconfig")
	writeFile(t, home, "[filter \"slow\"]\n\tclean = sh "+victim+"/filter\n")
	writeFile(t, filepath.Join(victim, "filter"), fmt.Sprintf("cat; mv %[1]s %[1]s.real && ln -s %[2]s %[1]s", dir, victim))
	for _, name := range []string{"a", "b", "c"} {
		writeFile(t, filepath.Join(dir, name), "of the task\n")
		writeFile(t, filepath.Join(victim, name), "of the person\n")
	}
	f.repo = f.open(f.dir, "GIT_CONFIG_GLOBAL="+home)
	f.repo.Filters = []string{"slow"}
	f.contain(victim + "/filter")
	_, _, err := f.repo.Commit(t.Context(), work.Path, "work")
	if _, swapped := os.Lstat(dir + ".real"); swapped != nil {
		t.Fatalf("the folder did not become a link: %v", err)
	}
	if found := f.command(f.dir, "grep", "-q", "of the person", "task/t").Run(); found == nil {
		t.Errorf("a file of the person is in the commit (%v)", err)
	}
}

func TestAFolderThatBecameALinkIsAFolderAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	work := f.provide(Provide{ID: "task-1"})
	commit := f.commitIn(work.Path, "d/kept.txt", "mine\n")
	f.commitIn(work.Path, "e/later.txt", "later\n")
	f.commitIn(work.Path, "g/later.txt", "later\n")
	outside := t.TempDir()
	for _, name := range []string{"kept.txt", "later.txt"} {
		writeFile(t, filepath.Join(outside, name), "of the person\n")
	}
	for _, dir := range []string{"d", "e", "g"} {
		if err := os.RemoveAll(filepath.Join(work.Path, dir)); err != nil {
			t.Fatal(err)
		}
		if dir == "g" {
			writeFile(t, filepath.Join(work.Path, dir), "a file\n")
		} else if err := os.Symlink(outside, filepath.Join(work.Path, dir)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := f.repo.PutBack(t.Context(), Work{ID: "task-1", Reason: "test"}, commit, always); err != nil {
		t.Fatal(err)
	}
	if readText(t, filepath.Join(work.Path, "d/kept.txt")) != "mine\n" || exists(filepath.Join(work.Path, "e")) || exists(filepath.Join(work.Path, "g")) {
		t.Error("the worktree is not as it was")
	}
	for _, name := range []string{"kept.txt", "later.txt"} {
		if readText(t, filepath.Join(outside, name)) != "of the person\n" {
			t.Errorf("%s was changed", name)
		}
	}
}

// Git opens files of these names, wherever they are, and waits until somebody writes to a pipe.
func TestGitIsNotHeldUpByWhatARunPutsInItsWay(t *testing.T) {
	t.Parallel()
	for _, name := range []string{".gitignore", "sub/.gitignore", ".gitattributes", "new/.gitattributes", ".gitmodules", "other/.git/HEAD"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.repo.heldUpAfter = 50 * time.Millisecond
			dir := f.provide(Provide{ID: "t"}).Path
			writeFile(t, dir+"/sub/a.txt", "a\n")
			for _, folder := range []string{"new", "other/.git/objects", "other/.git/refs"} {
				if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			writeFile(t, dir+"/new/b.txt", "b\n")
			pipe := filepath.Join(dir, name)
			if err := errors.Join(os.RemoveAll(pipe), syscall.Mkfifo(pipe, 0o644)); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			facts, err := f.repo.Inspect(ctx, dir)
			if err != nil || !slices.Contains(facts.Dirty, "new/b.txt") {
				t.Fatalf("%v, %v", facts.Dirty, err)
			}
			if _, saved, err := f.repo.Save(ctx, Work{ID: "t", Path: dir, Reason: "test"}); err != nil || !saved {
				t.Errorf("saved: %v, %v", saved, err)
			}
		})
	}
}

// Older versions of git have them in memory as a whole, and all of those above a folder at one time.
func TestLargeFilesThatGitReadsWholeAreMovedOutOfItsWay(t *testing.T) {
	t.Parallel()
	dir, outside := t.TempDir(), t.TempDir()
	for name, size := range map[string]int64{"sub/.gitignore": 101 << 20, "sub/.gitattributes": 99 << 20, "sub/large.txt": 101 << 20, "sub/.gitignore.too-large": 1} {
		writeFile(t, filepath.Join(dir, name), "")
		if err := os.Truncate(filepath.Join(dir, name), size); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(syscall.Mkfifo(outside+"/.gitignore", 0o644), os.Symlink(outside, dir+"/out"), syscall.Mkfifo(dir+"/pipe", 0o644)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		cmd := exec.Command("sh", "-c", clearWay)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	}
	got, err := filepath.Glob(dir + "/sub/.*")
	if want := []string{dir + "/sub/.gitattributes", dir + "/sub/.gitignore.too-large", dir + "/sub/.gitignore.too-large-2"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("there are %q, want %q", got, want)
	}
	for _, stays := range []string{outside + "/.gitignore", dir + "/pipe", dir + "/sub/large.txt"} {
		if !exists(stays) {
			t.Errorf("%s is gone", stays)
		}
	}
}

// What was never written to takes no room in a worktree, and all of it in a copy.
func TestFilesThatAreTooLargeToBeSavedStayInTheirWorktree(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.repo.MaxTaken = 3 << 20
	dir := f.provide(Provide{ID: "t"}).Path
	for _, name := range []string{"one.bin", "two.bin"} {
		writeFile(t, dir+"/"+name, "")
		if err := os.Truncate(dir+"/"+name, 2<<20); err != nil {
			t.Fatal(err)
		}
	}
	_, saved, err := f.repo.Save(t.Context(), Work{ID: "t", Path: dir, Reason: "test"})
	var unsaved *UnsavedError
	if saved || !errors.As(err, &unsaved) || !strings.Contains(err.Error(), "3 MB more than") {
		t.Errorf("saved: %v, %v", saved, err)
	}
	if err := f.repo.Remove(t.Context(), "t", Proof{Integration: f.integration()}); !errors.As(err, &unsaved) || !exists(dir+"/one.bin") {
		t.Errorf("removed: %v", err)
	}
	if left, err := filepath.Glob(f.dir + "/.git/liza/add-*"); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if err := os.Remove(dir + "/two.bin"); err != nil {
		t.Fatal(err)
	}
	if _, saved, err := f.repo.Save(t.Context(), Work{ID: "t", Path: dir, Reason: "test"}); err != nil || !saved {
		t.Errorf("saved: %v, %v", saved, err)
	}
}
