package git

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// A run is a worktree of task t with a git folder of its own.
type run struct {
	*fixture
	dir, base string
	folder    *Folder
}

func (f *fixture) run(id string) *run {
	f.t.Helper()
	base := f.integration()
	x := &run{fixture: f, dir: f.provide(Provide{ID: id}).Path, base: base}
	x.open(id, "coder-1", true)
	return x
}

func (x *run) open(id, agent string, keep bool) *Folder {
	x.t.Helper()
	folder, err := x.repo.OpenFolder(x.t.Context(), FolderSpec{Task: id, Agent: agent, Keep: keep, Redirect: true,
		Branches: map[string]string{"integration": x.base}, Known: []string{x.base}})
	if err != nil {
		x.t.Fatal(err)
	}
	x.folder = folder
	return folder
}

func (x *run) in(args ...string) string {
	x.t.Helper()
	return x.gitIn(x.dir, args...)
}

func (x *run) commit(name, content string) string {
	x.t.Helper()
	return x.commitIn(x.dir, name, content)
}

func (x *run) take() Taken {
	x.t.Helper()
	taken, err := x.repo.TakeOver(x.t.Context(), Taking{Task: x.folder.record.Task})
	if err != nil {
		x.t.Fatal(err)
	}
	return taken
}

func (x *run) close() Taken {
	x.t.Helper()
	taken, err := x.folder.Close(x.t.Context(), false)
	if err != nil {
		x.t.Fatal(err)
	}
	return taken
}

// facts are what Liza sees of the worktree.
func (x *run) facts() worktreeFacts {
	x.t.Helper()
	facts, err := x.repo.Inspect(x.t.Context(), x.dir)
	if err != nil {
		x.t.Fatal(err)
	}
	return facts
}

func TestHonestWorkInAGitFolderOfItsOwnIsTakenOver(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"", "--object-format=sha256"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			var options []string
			if format != "" {
				options = []string{format}
			}
			f := newFixture(t, options...)
			f.git("tag", "v1")
			f.git("branch", "task/other")
			x := f.run("t")
			if got := x.in("status", "--porcelain"); got != "" {
				t.Fatalf("a new folder is not clean: %s", got)
			}
			for _, name := range []string{"integration", "main", "v1", "HEAD"} {
				if got := x.in("rev-parse", name+"^{commit}"); got != x.base {
					t.Errorf("%s is %s, not %s", name, got, x.base)
				}
			}
			if got := x.in("branch", "--show-current"); got != "task/t" {
				t.Errorf("it is on %s", got)
			}
			if got := x.in("branch", "--list", "task/*"); strings.Contains(got, "other") {
				t.Errorf("it sees the branches of other tasks: %s", got)
			}
			x.commit("new.txt", "one\n")
			writeFile(t, x.dir+"/new.txt", "two\n")
			x.in("commit", "-qam", "amended", "--amend")
			writeFile(t, x.dir+"/a.txt", "stashed\n")
			x.in("stash", "-q")
			x.in("checkout", "-q", "-b", "try", "integration")
			x.commit("try.txt", "x\n")
			x.in("rebase", "-q", "task/t")
			x.in("checkout", "-q", "task/t")
			x.in("merge", "-q", "--ff-only", "try")
			x.in("stash", "pop", "-q")
			x.in("commit", "-qam", "from the stash")
			x.in("gc", "-q", "--prune=now")
			if got := x.in("blame", "-s", "a.txt"); !strings.Contains(got, "stashed") {
				t.Errorf("blame: %s", got)
			}
			if got := x.in("diff", "--name-only", "integration"); got != "a.txt\nnew.txt\ntry.txt" {
				t.Errorf("the difference from integration is %q", got)
			}
			head := x.in("rev-parse", "HEAD")
			if got := f.git("rev-parse", "task/t"); got != x.base {
				t.Errorf("the branch moved before it was taken over, to %s", got)
			}
			taken := x.take()
			if !taken.Moved || taken.Head != head || taken.Refused != "" || f.git("rev-parse", "task/t") != head {
				t.Fatalf("taken over: %+v; the branch is at %s, want %s", taken, f.git("rev-parse", "task/t"), head)
			}
			if facts := x.facts(); facts.Head != head || facts.Branch != "task/t" || len(facts.Dirty) > 0 {
				t.Errorf("the worktree is %+v", facts)
			}
			if again := x.take(); again.Moved || again.Head != head {
				t.Errorf("a second time: %+v", again)
			}
			x.close()
			if got := x.in("status", "--porcelain"); got != "" || x.in("rev-parse", "HEAD") != head {
				t.Errorf("after the run: %q at %s", got, x.in("rev-parse", "HEAD"))
			}
			if f.exists(".git/liza/folders/t@coder-1") {
				t.Error("the folder is still there")
			}
			if out := f.git("fsck", "--full", "--strict"); strings.Contains(out, "error") {
				t.Error(out)
			}
			if f.exists(".git/refs/heads/try") || f.exists(".git/refs/stash") {
				t.Error("other refs of the run came along")
			}
		})
	}
}

func TestTheWorktreeIsListedAsEverWhileItsGitIsElsewhere(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	x := f.run("t")
	x.commit("new.txt", "x\n")
	want := fmt.Sprintf("%s  %.7s [task/t]", x.dir, x.base)
	if got := f.git("worktree", "list"); !strings.Contains(got, want) || strings.Contains(got, "prunable") {
		t.Errorf("git worktree list says %q, want %q", got, want)
	}
	place, err := Locate(filepath.Join(x.dir))
	if err != nil || place.Root != f.dir || place.CommonDir != f.dir+"/.git" {
		t.Errorf("from the worktree the repository is %+v, %v", place, err)
	}
	x.close()
	if got := readText(t, x.dir+"/.git"); got != "gitdir: "+f.dir+"/.git/worktrees/t\n" {
		t.Errorf(".git is %q", got)
	}
}

func TestWhatAKilledRunCommittedIsTakenOverByTheNext(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	x := f.run("t")
	head := x.commit("new.txt", "x\n")
	if left := f.repo.LeftFolders(); len(left) != 0 {
		t.Errorf("folders of a living run: %q", left)
	}
	if err := x.folder.lock.Close(); err != nil { // as the kernel does
		t.Fatal(err)
	}
	left := leftFolders(f)
	if len(left) != 1 || left[0] != "t" {
		t.Errorf("left folders: %q", left)
	}
	x.open("t", "coder-2", true)
	if got := f.git("rev-parse", "task/t"); got != head {
		t.Errorf("the branch is at %s, want %s", got, head)
	}
	if got := x.in("log", "-1", "--format=%H"); got != head {
		t.Errorf("the next run begins at %s, want %s", got, head)
	}
	x.close()
	if entries, _ := os.ReadDir(f.dir + "/.git/liza/folders"); len(entries) != 0 {
		t.Errorf("left behind: %v", entries)
	}
}

func TestAHalfMadeFolderIsMadeAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	writeFile(t, f.dir+"/.git/liza/folders/t@coder-1/git/HEAD", "ref: refs/heads/elsewhere\n")
	writeFile(t, f.dir+"/.git/liza/folders/t@coder-1/lock", "")
	writeFile(t, f.dir+"/.git/liza/folders/other@coder-1/lock", "")
	x := f.run("t")
	if got := x.in("branch", "--show-current"); got != "task/t" {
		t.Errorf("it is on %s", got)
	}
	if err := f.repo.ClearFolders(t.Context()); err != nil {
		t.Fatal(err)
	}
	if f.exists(".git/liza/folders/other@coder-1") || x.in("branch", "--show-current") != "task/t" {
		t.Error("another one that is half made stays, or that of a living run went")
	}
}

func TestWhatAReviewerCommitsIsThrownAway(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	x := f.run("t")
	head := x.commit("new.txt", "x\n")
	x.close()
	x.open("t", "code-reviewer-1", false)
	x.commit("of the reviewer.txt", "x\n")
	if taken := x.take(); taken.Open {
		t.Errorf("the folder of a reviewer counts as the work's: %+v", taken)
	}
	x.close()
	if got := f.git("rev-parse", "task/t"); got != head {
		t.Errorf("the branch is at %s, want %s", got, head)
	}
	if facts := x.facts(); facts.Head != head || len(facts.Dirty) != 1 {
		t.Errorf("the worktree is %+v", facts)
	}
}

func TestTwoRunsInOneWorktreeEndInAnyOrder(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	x := f.run("t")
	head := x.commit("new.txt", "x\n")
	first := x.folder
	if taken := x.take(); !taken.Moved {
		t.Fatalf("%+v", taken)
	}
	second := x.open("t", "code-reviewer-1", false) // the coder has submitted by a verb, and goes on
	if _, err := first.Close(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	if got := readText(t, x.dir+"/.git"); got != "gitdir: "+second.Git+"\n" {
		t.Errorf(".git is %q", got)
	}
	if _, err := second.Close(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	if got := readText(t, x.dir+"/.git"); got != "gitdir: "+f.dir+"/.git/worktrees/t\n" || x.in("rev-parse", "HEAD") != head {
		t.Errorf(".git is %q", got)
	}
}

func TestCommitsAfterTheSubmissionAreSavedInTheAttic(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	x := f.run("t")
	head := x.commit("new.txt", "x\n")
	x.take()
	late := x.commit("late.txt", "x\n")
	taken, err := x.folder.Close(t.Context(), true)
	if err != nil || taken.Moved || taken.Attic == "" || f.git("rev-parse", taken.Attic) != late || f.git("rev-parse", "task/t") != head {
		t.Errorf("%+v, %v", taken, err)
	}
}

func TestABranchThatAPersonMovedMeanwhileStays(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	x := f.run("t")
	own := x.commit("new.txt", "x\n")
	theirs := f.commitOn("task/t", "theirs.txt", "x\n")
	if taken := x.take(); taken.Moved || taken.Attic != "" || !strings.Contains(taken.Refused, "was moved to") {
		t.Errorf("%+v", taken)
	}
	taken := x.close()
	if taken.Moved || !strings.Contains(taken.Refused, "was moved to") || f.git("rev-parse", "task/t") != theirs || f.git("rev-parse", taken.Attic) != own {
		t.Errorf("%+v; the branch is at %s", taken, f.git("rev-parse", "task/t"))
	}
}

func TestAnotherBranchIsToldAndNotTaken(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	x := f.run("t")
	x.in("checkout", "-q", "-b", "elsewhere")
	head := x.commit("new.txt", "x\n")
	if taken := x.take(); taken.Branch != "elsewhere" || taken.Head != head || taken.Moved {
		t.Errorf("%+v", taken)
	}
	x.in("checkout", "-q", "--detach")
	if taken := x.take(); taken.Branch != "" || taken.Head != head || taken.Moved {
		t.Errorf("%+v", taken)
	}
}

func TestWhatARunLeavesElsewhereIsSavedInTheAttic(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	x := f.run("t")
	head := x.commit("new.txt", "x\n")
	writeFile(t, x.dir+"/a.txt", "stashed\n")
	x.in("stash", "-q")
	stash := x.in("rev-parse", "stash")
	x.in("checkout", "-q", "-b", "elsewhere")
	other := x.commit("elsewhere.txt", "x\n")
	x.in("pack-refs", "--all")
	x.in("checkout", "-q", "--detach", "task/t")
	none := x.commit("none.txt", "x\n")
	taken := x.close()
	if !taken.Moved || f.git("rev-parse", "task/t") != head {
		t.Errorf("%+v", taken)
	}
	var saved []string
	for _, ref := range taken.Others {
		saved = append(saved, f.git("rev-parse", ref))
	}
	want := []string{stash, other, none}
	slices.Sort(want)
	slices.Sort(saved)
	if !slices.Equal(saved, want) {
		t.Errorf("saved: %q, want %q", saved, want)
	}
}

// A run sees what the remotes are, without what a person logs in with, and that it does not push.
func TestTheRemotesOfARunHaveNoPasswordAndAreNotPushedTo(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.git("remote", "add", "origin", "https://ada:secret@127.0.0.1:1/x.git")
	f.git("config", "remote.origin.pushurl", "https://secret@127.0.0.1:1/y.git")
	x := f.run("task-1")
	if got, want := x.in("remote", "-v"), "origin\thttps://127.0.0.1:1/x.git (fetch)\norigin\t"+noRemote+" (push)"; strings.TrimSpace(got) != want {
		t.Errorf("git remote -v says %q, want %q", got, want)
	}
	if out, err := x.command(x.dir, "push", "origin", "HEAD").CombinedOutput(); err == nil || !strings.Contains(string(out), "runs neither fetch nor push; Liza pushes what is approved") {
		t.Errorf("git push: %v, %s", err, out)
	}
	if config, err := os.ReadFile(filepath.Join(x.folder.Git, "config")); err != nil || strings.Contains(string(config), "secret") {
		t.Errorf("the run has the password: %v\n%s", err, config)
	}
	values := map[string]string{"remote.o.url": "https://ada:secret@h/x", "remote.o.pushurl": "ssh://git:secret@h/x", "remote.o.fetch": "+refs/heads/*:refs/remotes/o/*"}
	for _, c := range []struct {
		push, logins bool
		url, pushurl string
	}{{false, false, "https://h/x", noRemote}, {true, false, "https://h/x", "ssh://git@h/x"}, {true, true, values["remote.o.url"], values["remote.o.pushurl"]}} {
		got := remotesOf(values, c.push, c.logins)
		if got["remote.o.url"] != c.url || got["remote.o.pushurl"] != c.pushurl || got["remote.o.fetch"] != values["remote.o.fetch"] {
			t.Errorf("%+v: got %v", c, got)
		}
	}
}

func TestAnAddressIsToldWithoutALogin(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"https://ada:secret@h/x.git": "https://h/x.git", "https://token@h/x.git": "https://h/x.git", "https://h/x.git?private_token=t": "https://h/x.git", "https://h/x.git": "https://h/x.git",
		"ssh://git:secret@h:22/x": "ssh://git@h:22/x", "git@h:x.git": "git@h:x.git", "/srv/git/x.git": "/srv/git/x.git", "../x": "../x", "ext::sh -c secret": noRemote, "https://h:port/%zz": noRemote,
	} {
		if got := openAddress(address); got != want {
			t.Errorf("%s: got %s, want %s", address, got, want)
		}
	}
}

// A repository that a test makes has the person's name, and none of the project's remotes.
func TestTheConfigurationOfAHomeFolderKnowsWhoCommitsAndTheRemotes(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.git("remote", "add", "origin", "https://ada:secret@127.0.0.1:1/x.git")
	f.git("config", "user.name", "Ada L.")
	home, project, err := f.repo.HomeConfig(t.Context(), ".gitconfig.project")
	if err != nil {
		t.Fatal(err)
	}
	dir := realTemp(t)
	writeFile(t, filepath.Join(dir, ".gitconfig"), home)
	writeFile(t, filepath.Join(dir, ".gitconfig.project"), project)
	other := realTemp(t)
	f.gitIn(other, "init", "-q")
	ask := func(at, key string) string {
		cmd := exec.CommandContext(t.Context(), "git", "-C", at, "config", "--get-all", key)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}
		out, _ := cmd.Output()
		return strings.TrimSpace(string(out))
	}
	if name, url := ask(other, "user.name"), ask(other, "remote.origin.url"); name != "Ada L." || url != "" {
		t.Errorf("elsewhere: %q, %q", name, url)
	}
	f.git("remote", "remove", "origin") // as at closed, where the repository's own configuration is not there
	if url := ask(f.dir, "remote.origin.url"); url != "https://127.0.0.1:1/x.git" {
		t.Errorf("here: %q", url)
	}
}

// 4.4: the person's hooks do not run for commits of agents, as init and doctor say.
func TestCommitsOfARunStartNoHookOfThePerson(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.write(".git/hooks/pre-commit", "#!/bin/sh\nexit 1\n")
	if err := os.Chmod(filepath.Join(f.dir, ".git/hooks/pre-commit"), 0o755); err != nil {
		t.Fatal(err)
	}
	x := f.run("t")
	if got := x.in("config", "--file", filepath.Join(x.folder.Git, "config"), "core.hooksPath"); got != os.DevNull {
		t.Errorf("core.hooksPath is %q", got)
	}
	head := x.commit("new.txt", "x\n")
	x.close()
	if got := f.git("rev-parse", "task/t"); got != head {
		t.Errorf("the branch is at %s, want %s", got, head)
	}
}

// A supervisor that is killed when the branch has moved, and the index of the worktree has not, leaves both to the next one.
func TestATakeOverThatWasCutOffIsFinished(t *testing.T) {
	t.Parallel()
	x := newFixture(t).run("t")
	work := x.commit("one.txt", "1\n")
	x.take()
	admin := x.repo.adminDir(x.dir)
	x.git("--git-dir="+admin, "read-tree", "--reset", x.base)
	x.folder.record.Tip = x.base
	if err := x.folder.write(); err != nil {
		t.Fatal(err)
	}
	if status := x.git("--git-dir="+admin, "--work-tree="+x.dir, "status", "--short"); status == "" {
		t.Fatal("the index has the work")
	}
	if taken := x.take(); taken.Commit != work || taken.Refused != "" {
		t.Errorf("%+v", taken)
	}
	if status := x.git("--git-dir="+admin, "--work-tree="+x.dir, "status", "--short"); status != "" {
		t.Errorf("the worktree is not clean:\n%s", status)
	}
	if x.folder.load() != nil || x.folder.record.Tip != work {
		t.Errorf("the record has %s, want %s", x.folder.record.Tip, work)
	}
}

// leftFolders waits until the lock of a folder is free: a process that another test is starting has it, too, until it executes its program.
func leftFolders(f *fixture) (left []string) {
	tick, deadline := time.NewTicker(time.Millisecond), time.Now().Add(2*time.Minute)
	defer tick.Stop()
	left = f.repo.LeftFolders()
	for ; len(left) == 0 && time.Now().Before(deadline); left = f.repo.LeftFolders() {
		<-tick.C
	}
	return left
}
