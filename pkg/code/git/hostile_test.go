package git

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// ranMark is a file that exists when a program of the run was started by somebody else.
func (x *run) ranMark() string { return filepath.Join(filepath.Dir(x.fixture.dir), "ran") }

func (x *run) program() string { return "touch " + x.ranMark() + "; cat" }

// commitObject writes a commit by hand: with these parents, and with this tree.
func (x *run) commitObject(tree string, parents ...string) string {
	x.t.Helper()
	args := []string{"commit-tree", tree, "-m", "by hand"}
	for _, p := range parents {
		args = append(args, "-p", p)
	}
	return x.in(args...)
}

// literally writes an object that git itself would not.
func (x *run) literally(kind, content string) string {
	x.t.Helper()
	cmd := x.command(x.dir, "hash-object", "-t", kind, "-w", "--literally", "--stdin")
	cmd.Stdin = strings.NewReader(content)
	out, err := cmd.Output()
	if err != nil {
		x.t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

func (x *run) setBranch(commit string) {
	x.t.Helper()
	writeFile(x.t, filepath.Join(x.folder.Git, "refs/heads/task/t"), commit+"\n")
}

func binary(t testing.TB, hash string) string {
	t.Helper()
	var b strings.Builder
	for i := 0; i < len(hash); i += 2 {
		var n byte
		if _, err := fmt.Sscanf(hash[i:i+2], "%02x", &n); err != nil {
			t.Fatal(err)
		}
		b.WriteByte(n)
	}
	return b.String()
}

// What a run can put into its git folder, and why it is not taken over.
var hostile = map[string]struct {
	act  func(x *run)
	want string // of the refusal
}{
	"a merge of a neighbour's work": {func(x *run) {
		x.setBranch(x.commitObject(x.in("rev-parse", "HEAD^{tree}"), x.base, x.commitOn("task/other", "theirs.txt", "x\n")))
	}, "came in by a merge"},
	"a neighbour's commit as the own one": {func(x *run) {
		x.setBranch(x.commitOn("task/other", "theirs.txt", "x\n"))
	}, "another task's branch"},
	"work on top of a neighbour's": {func(x *run) {
		x.setBranch(x.commitObject(x.in("rev-parse", "HEAD^{tree}"), x.commitOn("task/other", "theirs.txt", "x\n")))
	}, "another task's branch"},
	"a parent that is not there": {func(x *run) {
		tree := x.in("rev-parse", "HEAD^{tree}")
		x.setBranch(x.literally("commit", "tree "+tree+"\nparent "+strings.Repeat("1", 40)+"\nauthor a <a@b> 1 +0000\ncommitter a <a@b> 1 +0000\n\nx\n"))
	}, "111111"},
	"a history of its own": {func(x *run) {
		x.setBranch(x.commitObject(x.in("rev-parse", "HEAD^{tree}")))
	}, "was replaced"},
	"a parent in its words alone": {func(x *run) {
		x.setBranch(x.literally("commit", "tree "+x.in("rev-parse", "HEAD^{tree}")+"\nauthor a <a@b> 1 +0000\ncommitter a <a@b> 1 +0000\n\nparent "+x.base+"\n"))
	}, "was replaced"},
	"a history that is replaced by a ref": {func(x *run) {
		x.setBranch(x.commitObject(x.in("rev-parse", "HEAD^{tree}")))
		x.in("replace", x.in("rev-parse", "task/t"), x.base)
	}, "was replaced"},
	"a tree with .git/config": {func(x *run) {
		blob := x.literally("blob", "[core]\n\tfsmonitor = touch /tmp/x\n")
		inner := x.literally("tree", "100644 config\x00"+binary(x.t, blob))
		x.setBranch(x.commitObject(x.literally("tree", "40000 .git\x00"+binary(x.t, inner)), x.base))
	}, "hasDotgit"},
	"a tree with a name that leads out": {func(x *run) {
		blob := x.literally("blob", "x")
		inner := x.literally("tree", "100644 x\x00"+binary(x.t, blob))
		x.setBranch(x.commitObject(x.literally("tree", "40000 ..\x00"+binary(x.t, inner)), x.base))
	}, "hasDotdot"},
	".gitmodules that is a link": {func(x *run) {
		blob := x.literally("blob", "/etc/passwd")
		x.setBranch(x.commitObject(x.literally("tree", "120000 .gitmodules\x00"+binary(x.t, blob)), x.base))
	}, "gitmodulesSymlink"},
	"a submodule whose address is an option": {func(x *run) {
		blob := x.literally("blob", "[submodule \"x\"]\n\tpath = x\n\turl = -u./payload\n")
		x.setBranch(x.commitObject(x.literally("tree", "100644 .gitmodules\x00"+binary(x.t, blob)), x.base))
	}, "gitmodulesUrl"},
	"a tree that is not there": {func(x *run) {
		x.setBranch(x.literally("commit", "tree "+strings.Repeat("2", 40)+"\nparent "+x.base+"\nauthor a <a@b> 1 +0000\ncommitter a <a@b> 1 +0000\n\nx\n"))
	}, "222222"},
	"an object under the name of another": {func(x *run) {
		head := x.commit("new.txt", "x\n")
		other := x.literally("blob", "something else")
		object := func(name string) string { return filepath.Join(x.folder.Git, "objects", name[:2], name[2:]) }
		if err := os.Remove(object(head)); err != nil {
			x.t.Fatal(err)
		}
		if err := os.Link(object(other), object(head)); err != nil {
			x.t.Fatal(err)
		}
	}, "bad object"},
	"another commit under the name of the tip": {func(x *run) {
		head := x.commit("new.txt", "x\n")
		other := x.commitObject(x.in("rev-parse", "HEAD^{tree}"), x.base)
		object := func(name string) string { return filepath.Join(x.folder.Git, "objects", name[:2], name[2:]) }
		if err := os.Rename(object(other), object(head)); err != nil {
			x.t.Fatal(err)
		}
	}, "bad object"},
	"HEAD that is a link": {func(x *run) {
		x.commit("new.txt", "x\n")
		replaceWith(x, "HEAD", func(path string) error { return os.Symlink("/etc/hostname", path) })
	}, "HEAD cannot be read"},
	"HEAD that is a pipe": {func(x *run) {
		replaceWith(x, "HEAD", func(path string) error { return syscall.Mkfifo(path, 0o600) })
	}, "it is a named pipe, not a file"},
	"HEAD without an end": {func(x *run) {
		replaceWith(x, "HEAD", func(path string) error { return os.WriteFile(path, make([]byte, 1<<20), 0o600) })
	}, "larger than"},
	"HEAD that names another ref": {func(x *run) {
		writeFile(x.t, filepath.Join(x.folder.Git, "HEAD"), "ref: refs/heads/../../../../config\n")
	}, "not the name of a branch"},
	"a branch that is a link to a neighbour's": {func(x *run) {
		x.commitOn("task/other", "theirs.txt", "x\n")
		x.commit("new.txt", "x\n") // until then the branch has no file
		replaceWith(x, "refs/heads/task/t", func(path string) error {
			return os.Symlink(filepath.Join(x.fixture.dir, ".git/refs/heads/task/other"), path)
		})
	}, "cannot be read"},
	"a branch that names another one": {func(x *run) {
		writeFile(x.t, filepath.Join(x.folder.Git, "refs/heads/task/t"), "ref: refs/heads/main\n")
	}, "not the name of a commit"},
	"a branch that is an option": {func(x *run) {
		writeFile(x.t, filepath.Join(x.folder.Git, "refs/heads/task/t"), "--upload-pack=touch /tmp/x\n")
	}, "not the name of a commit"},
	"a folder of refs that leads out": {func(x *run) {
		replaceWith(x, "refs", func(path string) error { return os.Symlink(filepath.Join(x.fixture.dir, ".git/refs"), path) })
	}, "cannot be read"},
	"no folder at all": {func(x *run) {
		if err := os.RemoveAll(x.folder.Git); err != nil {
			x.t.Fatal(err)
		}
	}, "cannot be read"},
	"objects that are elsewhere": {func(x *run) {
		elsewhere := filepath.Join(x.t.TempDir(), "objects")
		x.in("checkout", "-q", "task/t")
		head := x.commit("new.txt", "x\n")
		objects := filepath.Join(x.folder.Git, "objects")
		if err := os.Rename(objects, elsewhere); err != nil {
			x.t.Fatal(err)
		}
		if err := os.Symlink(elsewhere, objects); err != nil {
			x.t.Fatal(err)
		}
		x.setBranch(head)
	}, "bad object"},
	"objects that are borrowed from elsewhere": {func(x *run) {
		elsewhere := filepath.Join(x.t.TempDir(), "other")
		x.gitIn(filepath.Dir(elsewhere), "init", "-q", "other")
		secret := x.commitIn(elsewhere, "secret.txt", "x\n")
		writeFile(x.t, filepath.Join(x.folder.Git, "objects/info/alternates"), filepath.Join(elsewhere, ".git/objects")+"\n"+filepath.Join(x.fixture.dir, ".git/objects")+"\n")
		x.setBranch(x.commitObject(x.in("rev-parse", secret+"^{tree}"), x.base))
	}, "bad tree object"},
}

// elsewhere are those that a sandbox alone refuses: without one a run can read other places and copy what is there.
var elsewhere = []string{"objects that are elsewhere", "objects that are borrowed from elsewhere"}

func replaceWith(x *run, name string, put func(path string) error) {
	x.t.Helper()
	path := filepath.Join(x.folder.Git, name)
	if err := os.RemoveAll(path); err != nil {
		x.t.Fatal(err)
	}
	if err := put(path); err != nil {
		x.t.Fatal(err)
	}
}

func TestWhatIsNotATasksOwnWorkIsNotTakenOver(t *testing.T) {
	t.Parallel()
	for name, h := range hostile {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			if slices.Contains(elsewhere, name) {
				f.contain()
			}
			f.git("branch", "task/other")
			x := f.run("t")
			h.act(x)
			taken := x.take()
			if taken.Moved || taken.Refused == "" || !strings.Contains(taken.Refused, h.want) {
				t.Errorf("%+v, want a refusal with %q", taken, h.want)
			}
			if got := f.git("rev-parse", "task/t"); got != x.base {
				t.Errorf("the branch is at %s", got)
			}
			x.close()
			if got := readText(t, x.dir+"/.git"); got != "gitdir: "+f.dir+"/.git/worktrees/t\n" {
				t.Errorf(".git is %q", got)
			}
			f.git("fsck", "--full", "--strict")
			if f.exists(".git/liza/folders/t@coder-1") {
				t.Error("the folder is still there")
			}
		})
	}
}

// What a run does to the configuration of its git folder changes nothing for anybody else, and starts nothing.
func TestNothingOfARunsConfigurationIsUsed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	x := f.run("t")
	program := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"+x.program()+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	head := x.commit("new.txt", "x\n")
	for _, key := range []string{"core.fsmonitor", "core.sshCommand", "core.pager", "core.editor", "filter.evil.clean", "filter.evil.smudge", "diff.evil.command", "diff.external", "gpg.program"} {
		writeFile(t, filepath.Join(x.folder.Git, "config"), readText(t, filepath.Join(x.folder.Git, "config"))+setting(strings.ToLower(key), program))
	}
	writeFile(t, filepath.Join(x.folder.Git, "info/attributes"), "* filter=evil diff=evil\n")
	writeFile(t, filepath.Join(x.folder.Git, "commondir"), x.folder.Git+"\n")
	hooks := filepath.Join(x.folder.Git, "hooks")
	for _, hook := range []string{"reference-transaction", "post-checkout", "post-index-change", "pre-commit"} {
		writeFile(t, filepath.Join(hooks, hook), "#!/bin/sh\n"+x.program()+"\n")
		if err := os.Chmod(filepath.Join(hooks, hook), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if taken := x.take(); !taken.Moved || taken.Head != head {
		t.Errorf("%+v", taken)
	}
	writeFile(t, x.dir+"/a.txt", "changed\n")
	if facts := x.facts(); len(facts.Dirty) != 1 {
		t.Errorf("%+v", facts)
	}
	x.close()
	if _, err := os.Lstat(x.ranMark()); err == nil {
		t.Error("a program of the run was started")
	}
}

func TestWhatARunHidesFromItsIndexIsSeen(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	x := f.run("t")
	x.commit("new.txt", "x\n")
	x.in("update-index", "--assume-unchanged", "a.txt")
	x.in("update-index", "--skip-worktree", "new.txt")
	writeFile(t, filepath.Join(x.folder.Git, "info/exclude"), "*\n")
	for _, name := range []string{"a.txt", "new.txt", "untracked.txt"} {
		writeFile(t, filepath.Join(x.dir, name), "changed\n")
	}
	if got := x.in("status", "--porcelain"); got != "" {
		t.Fatalf("the run itself sees %q", got)
	}
	x.take()
	if facts := x.facts(); strings.Join(facts.Dirty, " ") != "a.txt new.txt untracked.txt" {
		t.Errorf("Liza sees %q", facts.Dirty)
	}
}

func TestWhatARunDoesToItsRefsAndObjectsReachesNobody(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.git("branch", "task/other")
	before := f.git("for-each-ref", "refs/heads", "refs/tags", "refs/remotes")
	x := f.run("t")
	before += "\n" + x.base + " commit\trefs/heads/task/t"
	for _, args := range [][]string{
		{"branch", "-f", "integration", x.commitObject(x.in("rev-parse", "HEAD^{tree}"), x.base)}, {"branch", "-D", "main"},
		{"update-ref", "refs/heads/task/other", "HEAD"}, {"update-ref", "refs/liza/attic/t/1", "HEAD"}, {"tag", "evil"}, {"config", "core.bare", "true"},
		{"config", "core.bare", "false"}, {"gc", "-q", "--prune=now"}, {"reflog", "expire", "--expire=now", "--all"}, {"remote", "add", "origin", f.dir},
	} {
		x.in(args...)
	}
	x.close()
	if got := f.git("for-each-ref", "refs/heads", "refs/tags", "refs/remotes"); got != before {
		t.Errorf("refs are\n%s\nwant\n%s", got, before)
	}
	f.git("fsck", "--full")
}

func TestMoreThanABoundIsNotTakenOver(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	x := f.run("t")
	f.repo.MaxTaken = 1 << 20
	writeFile(t, x.dir+"/large", strings.Repeat("0123456789abcdef", 1<<18))
	x.in("-c", "core.compression=0", "add", "large")
	x.in("commit", "-qm", "large")
	if taken := x.take(); !strings.Contains(taken.Refused, "more than 1 MB") {
		t.Errorf("%+v", taken)
	}
}

func TestWhatTakesTooLongIsNotTakenOverAndNotLost(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	x := f.run("t")
	commit := x.commit("new.txt", "x\n")
	f.repo.MaxTime = time.Nanosecond
	if _, err := f.repo.TakeOver(t.Context(), Taking{Task: "t"}); err == nil || !strings.Contains(err.Error(), "longer than 1ns, which is the limit") {
		t.Errorf("taking over: %v", err)
	}
	if _, err := x.folder.Close(t.Context(), false); err == nil {
		t.Error("the folder was removed with the commits in it")
	}
	f.repo.MaxTime = 0
	leftFolders(f)
	if taken, err := f.repo.Settle(t.Context(), "t", false); err != nil || f.git("rev-parse", "task/t") != commit {
		t.Errorf("with time enough: %+v, %v", taken, err)
	}
}

// `git gc` removes folders that have no objects any more, also those that were made for objects a moment ago.
func TestObjectsAreTakenOverWhileFoldersOfObjectsAreRemoved(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	x := f.run("t")
	over := make(chan struct{})
	var gc sync.WaitGroup
	gc.Go(func() {
		for {
			for n := range 256 {
				select {
				case <-over:
					return
				default:
					_ = os.Remove(filepath.Join(f.dir, ".git", "objects", fmt.Sprintf("%02x", n)))
				}
			}
		}
	})
	defer gc.Wait()
	defer close(over)
	for n := range 4 {
		for m := range 20 {
			writeFile(t, filepath.Join(x.dir, fmt.Sprint(m)), fmt.Sprint(n, m))
		}
		x.in("add", "--all")
		commit := x.commit("new.txt", fmt.Sprint(n))
		if taken := x.take(); taken.Commit != commit || !taken.Moved {
			t.Fatalf("commit %d: %+v", n, taken)
		}
	}
}

// However much lies beside the objects of a run: what comes is what the commit has.
func TestOfACountlessNumberOfObjectsTheCommitsAloneAreTakenOver(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	x := f.run("t")
	x.commit("new.txt", "x\n")
	dir := filepath.Join(x.folder.Git, "objects", "ab")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, "first"), "x")
	for n := range 2000 {
		if err := syscall.Link(filepath.Join(dir, "first"), filepath.Join(dir, fmt.Sprintf("%038x", n))); err != nil {
			t.Fatal(err)
		}
	}
	if taken := x.take(); !taken.Moved {
		t.Errorf("%+v", taken)
	}
	if found, _ := filepath.Glob(f.dir + "/.git/objects/ab/000*"); len(found) > 0 {
		t.Errorf("%d files came along", len(found))
	}
}

func TestTheLinkOfAWorktreeIsNotWrittenThroughAnothersLink(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	x := f.run("t")
	victim := filepath.Join(t.TempDir(), "victim")
	writeFile(t, victim, "mine\n")
	if err := os.Symlink(victim, x.dir+"/.git.liza"); err != nil {
		t.Fatal(err)
	}
	x.close()
	if got := readText(t, victim); got != "mine\n" {
		t.Errorf("the file of somebody else is %q", got)
	}
}

// Below closed a run can put anything in the place of its worktree's .git.
func TestAWorktreeWhoseLinkARunHasReplacedIsAWorktreeAfterIt(t *testing.T) {
	t.Parallel()
	for name, put := range map[string]func(path string) error{
		"another repository": func(path string) error { return os.WriteFile(path, []byte("gitdir: /nowhere\n"), 0o644) },
		"nothing":            func(string) error { return nil },
		"no link":            func(path string) error { return os.WriteFile(path, []byte("x"), 0o644) },
		"a symbolic link":    func(path string) error { return os.Symlink("/nowhere", path) },
		"a named pipe":       func(path string) error { return syscall.Mkfifo(path, 0o644) },
		"a folder":           func(path string) error { return os.MkdirAll(path+"/objects", 0o755) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			x := f.run("t")
			commit := x.commit("new.txt", "x\n")
			link := x.dir + "/.git"
			if err := errors.Join(os.Remove(link), put(link)); err != nil {
				t.Fatal(err)
			}
			if taken := x.close(); !taken.Moved {
				t.Errorf("%+v", taken)
			}
			if facts := x.facts(); facts.Head != commit || facts.Branch != "task/t" || len(facts.Dirty) > 0 {
				t.Errorf("%+v, want %s on task/t", facts, commit)
			}
			if name == "a folder" && !exists(x.dir+"/git-of-a-run/objects") {
				t.Error("what the run has made is gone")
			}
			x.open("t", "coder-2", true)
			x.close()
		})
	}
}

func TestAFolderThatWasMadeUnreadableIsRemoved(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	x := f.run("t")
	x.commit("new.txt", "x\n")
	x.take()
	writeFile(t, filepath.Join(x.folder.Git, "objects/ff/x/y/z"), "x")
	for _, dir := range []string{"objects/ff/x/y", "objects/ff/x", "modules"} {
		if err := os.Chmod(filepath.Join(x.folder.Git, dir), 0); err != nil {
			t.Fatal(err)
		}
	}
	x.close()
	if f.exists(".git/liza/folders/t@coder-1") {
		t.Error("the folder is still there")
	}
}

// A worktree works as ever with submodules: theirs are in git's own folder of the worktree.
func TestAWorktreeWithASubmoduleHasAGitFolderOfItsOwn(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	other := filepath.Join(filepath.Dir(f.dir), "other")
	if err := exec.Command("cp", "-r", f.dir, other).Run(); err != nil {
		t.Fatal(err)
	}
	f.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", other, "sub")
	f.git("commit", "-qm", "with a submodule")
	f.git("branch", "-f", "integration", "HEAD")
	f.repo = f.open(f.dir, "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=protocol.file.allow", "GIT_CONFIG_VALUE_0=always")
	x := f.run("t")
	if got := x.in("status", "--porcelain"); got != "" {
		t.Errorf("a new folder is not clean: %s", got)
	}
	if got := x.in("submodule", "status"); !strings.HasPrefix(strings.TrimSpace(got), f.git("rev-parse", "HEAD:sub")) {
		t.Errorf("submodules: %s", got)
	}
	head := x.commit("new.txt", "x\n")
	if taken := x.take(); !taken.Moved || taken.Head != head {
		t.Errorf("%+v", taken)
	}
	if facts := x.facts(); len(facts.Dirty) > 0 {
		t.Errorf("%q", facts.Dirty)
	}
	x.close()
}

func TestASparseCheckoutStaysSparse(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.write("in/file", "x\n")
	f.write("out/file", "x\n")
	f.git("add", "-A")
	f.git("commit", "-qm", "folders")
	f.git("branch", "-f", "integration", "HEAD")
	f.git("sparse-checkout", "set", "in")
	x := f.run("t")
	if exists(x.dir + "/out/file") {
		t.Skip("this git makes whole worktrees of a sparse checkout")
	}
	if got := x.in("status", "--porcelain"); got != "" {
		t.Errorf("a new folder is not clean: %s", got)
	}
	head := x.commit("in/new.txt", "x\n")
	if taken := x.take(); !taken.Moved || taken.Head != head {
		t.Errorf("%+v", taken)
	}
	if got := x.in("ls-tree", "-r", "--name-only", "HEAD", "out"); got != "out/file" {
		t.Errorf("the commit lost what is not checked out: %q", got)
	}
	if facts := x.facts(); len(facts.Dirty) > 0 {
		t.Errorf("%q", facts.Dirty)
	}
	x.close()
	if got := x.in("status", "--porcelain"); got != "" || exists(x.dir+"/out/file") {
		t.Errorf("after the run: %q", got)
	}
}

func TestTheFolderOfTheMainCheckoutShowsItAsItIs(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	folder, err := f.repo.OpenFolder(t.Context(), FolderSpec{Agent: "planner-1"})
	if err != nil {
		t.Fatal(err)
	}
	if folder.Target != f.dir+"/.git" || folder.Read[0] != f.dir+"/.git/objects" {
		t.Errorf("%+v", folder)
	}
	look := func(args ...string) string { // as it is in the wall: the objects are at their place
		return f.gitIn(f.dir, append([]string{"--git-dir=" + folder.Git, "--work-tree=" + f.dir}, args...)...)
	}
	objects := filepath.Join(folder.Git, "objects")
	if err := os.RemoveAll(objects); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(folder.Read[0], objects); err != nil {
		t.Fatal(err)
	}
	if got := look("status", "--porcelain") + look("branch", "--show-current"); got != "main" {
		t.Errorf("%q", got)
	}
	if _, err := folder.Close(t.Context(), false); err != nil {
		t.Fatal(err)
	}
}

// git-lfs keeps large files in the git folder, named by the hash of their content.
func TestLargeFilesAreTakenOverByTheirContentAlone(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	x := f.run("t")
	name := func(text string) string {
		hash := fmt.Sprintf("%x", sha256.Sum256([]byte(text)))
		return "lfs/objects/" + hash[:2] + "/" + hash[2:4] + "/" + hash
	}
	writeFile(t, filepath.Join(x.folder.Git, name("large")), "large")
	writeFile(t, filepath.Join(x.folder.Git, name("true")), "false")
	writeFile(t, filepath.Join(x.folder.Git, "lfs/objects/ab/cd/config"), "x")
	if err := os.MkdirAll(filepath.Dir(filepath.Join(x.folder.Git, name("secret"))), 0o755); err != nil {
		t.Fatal(err)
	}
	secret := filepath.Join(t.TempDir(), "secret")
	writeFile(t, secret, "secret")
	if err := os.Symlink(secret, filepath.Join(x.folder.Git, name("secret"))); err != nil {
		t.Fatal(err)
	}
	x.commit("new.txt", "pointer\n")
	if taken := x.take(); !taken.Moved {
		t.Errorf("%+v", taken)
	}
	if got := readText(t, filepath.Join(f.dir, ".git", name("large"))); got != "large" {
		t.Errorf("the large file is %q", got)
	}
	for _, odd := range []string{name("true"), name("secret"), "lfs/objects/ab/cd/config"} {
		if f.exists(".git/" + odd) {
			t.Errorf("%s was taken over", odd)
		}
	}
}
