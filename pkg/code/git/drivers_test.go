package git

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// armed makes a program of every setting that can start one, each of which writes its key into the file that armed
// returns.
func (f *fixture) armed(names ...string) (ran string) {
	f.t.Helper()
	ran = filepath.Join(realTemp(f.t), "ran")
	program := func(key string) string { return "sh -c 'echo \"" + key + "\" >> " + ran + "; cat' " + "--" }
	f.write(".git/info/attributes", "")
	for _, name := range names {
		f.write(".git/info/attributes", "* filter="+name+" diff="+name+" merge="+name+"\n")
		for _, s := range foreignSettings {
			key := strings.Replace(s.key, "*", name, 1)
			switch s.neutral {
			case "false", "never", "text":
				f.git("config", "-f", ".git/config", key, map[string]string{"false": "true", "never": "always", "text": name}[s.neutral])
			default:
				f.git("config", "-f", ".git/config", key, program(key))
			}
		}
	}
	hook := "#!/bin/sh\necho hook $0 >> " + ran + "\n"
	for _, name := range []string{"post-checkout", "pre-commit", "commit-msg", "post-commit", "reference-transaction", "post-index-change", "post-merge", "pre-merge-commit"} {
		f.write(".git/hooks/"+name, hook)
		if err := os.Chmod(filepath.Join(f.dir, ".git/hooks", name), 0o755); err != nil {
			f.t.Fatal(err)
		}
	}
	f.git("config", "-f", ".git/config", "core.fsmonitor", filepath.Join(f.dir, ".git/hooks/post-commit"))
	return ran
}

// everything does what Liza does to a repository in the life of a task.
func (f *fixture) everything() {
	f.t.Helper()
	ctx := f.t.Context()
	must := func(_ any, err error) {
		f.t.Helper()
		if err != nil {
			f.t.Error(err)
		}
	}
	got := f.claim(Provide{ID: "task-1", Nonce: "n"})
	writeFile(f.t, filepath.Join(got.Path, "a.txt"), "ONE\ntwo\nthree\n")
	must(f.repo.Inspect(ctx, got.Path))
	must(f.repo.ChangedIn(ctx, got.Path, got.Head))
	head, _, err := f.repo.Commit(ctx, got.Path, "task")
	must(nil, err)
	tree, err := f.repo.MergeTree(ctx, f.integration(), head)
	must(nil, err)
	must(f.repo.CommitTree(ctx, tree, []string{f.integration(), head}, "merge"))
	must(f.repo.Diff(ctx, f.integration(), head))
	must(f.repo.DiffStat(ctx, f.integration(), head))
	must(f.repo.ChangedFiles(ctx, f.integration(), head))
	must(f.repo.ReadFile(ctx, head, "a.txt"))
	_, _, err = f.repo.FirstCommitTime(ctx, head)
	must(nil, err)
	must(f.repo.CheckoutDetached(ctx, f.dir+"/.worktrees/.review-task-1", head))
	must(nil, f.repo.RemoveDetached(ctx, f.dir+"/.worktrees/.review-task-1"))
	writeFile(f.t, filepath.Join(got.Path, "a.txt"), "ONE\ntwo\nTHREE\n")
	must(f.repo.Worktrees(ctx))
	must(nil, f.repo.Discard(ctx, got.Path))
}

// specs/decisions.md#D31: whatever a repository's configuration says, no program of it runs in Liza's own git.
func TestNoProgramOfTheRepositorysConfigurationRuns(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.write("a.txt", "one\ntwo\nTHREE\n") // both sides change the file, so that a merge driver would be asked
	f.git("commit", "-q", "-am", "another")
	start := f.integration()
	f.git("branch", "-f", "integration", "main")
	f.git("branch", "-f", "older", start)
	ran := f.armed("evil", "a=b", "union")
	f.everything()
	if text, err := os.ReadFile(ran); err == nil {
		t.Errorf("these ran: %s", text)
	}
}

func TestAMergeDriverOfTheRepositoryChangesNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.git("checkout", "-q", "-b", "ours")
	f.write("a.txt", "ONE\ntwo\nthree\n")
	f.git("commit", "-q", "-am", "ours")
	f.git("checkout", "-q", "-b", "theirs", "integration")
	f.write("a.txt", "one\ntwo\nTHREE\n")
	f.git("commit", "-q", "-am", "theirs")
	f.write("b.txt", "x\n")
	f.git("add", "-A")
	f.git("commit", "-q", "-m", "more")
	want, err := f.repo.MergeTree(t.Context(), "ours", "theirs")
	if err != nil {
		t.Fatal(err)
	}
	f.write(".git/info/attributes", "*.txt merge=evil\n")
	f.git("config", "merge.evil.driver", "echo evil > %A")
	got, err := f.repo.MergeTree(t.Context(), "ours", "theirs")
	if got != want || err != nil {
		t.Errorf("a driver was set: the tree is %s, %v; before it was %s", got, err, want)
	}
	f.git("config", "--unset", "merge.evil.driver")
	f.git("config", "include.path", "more")
	f.write(".git/more", "[merge \"evil\"]\n\tdriver = echo evil > %A\n")
	if got, err := f.repo.MergeTree(t.Context(), "ours", "theirs"); got != want || err != nil {
		t.Errorf("a driver is included: the tree is %s, %v; before it was %s", got, err, want)
	}
	f.write(".git/more", "[merge \"evil2\"]\n\tdriver = echo evil > %A\n")
	f.write(".git/info/attributes", "*.txt merge=evil2\n")
	if got, err := f.repo.MergeTree(t.Context(), "ours", "theirs"); got != want || err != nil {
		t.Errorf("the included file has changed: the tree is %s, %v; before it was %s", got, err, want)
	}
}

func TestReplacedObjectsAndGraftsAreNotFollowed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.write("a.txt", "good\n")
	f.git("commit", "-q", "-am", "good")
	good := f.git("rev-parse", "HEAD")
	f.write("a.txt", "evil\n")
	f.git("commit", "-q", "-am", "evil", "--amend")
	evil := f.git("rev-parse", "HEAD")
	f.git("replace", evil, good)
	diff, err := f.repo.Diff(t.Context(), "integration", evil)
	if err != nil || !strings.Contains(diff, "+evil") {
		t.Errorf("%v: the diff of a replaced commit is\n%s", err, diff)
	}
	f.git("replace", "-d", evil)
	f.write(".git/info/grafts", evil+"\n")
	if base, err := f.repo.MergeBase(t.Context(), "integration", evil); err != nil {
		t.Errorf("with a graft: %q, %v", base, err)
	}
}

// A repointed .git, or a commondir that leads elsewhere, must not lead git to a configuration of an agent.
func TestTheFoldersOfGitAreGivenToIt(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	got := f.claim(Provide{ID: "task-1", Nonce: "n"})
	ran := filepath.Join(realTemp(t), "ran")
	other := filepath.Join(realTemp(t), "other")
	f.gitIn(filepath.Dir(other), "clone", "-q", f.dir, "other")
	f.gitIn(other, "config", "core.fsmonitor", "echo fsmonitor >> "+ran+"; false")
	f.gitIn(other, "config", "filter.evil.clean", "echo clean >> "+ran+"; cat")
	writeFile(t, filepath.Join(other, ".git/info/attributes"), "* filter=evil\n")
	writeFile(t, filepath.Join(f.repo.adminDir(got.Path), "commondir"), other+"/.git\n")
	writeFile(t, filepath.Join(got.Path, "a.txt"), "ONE\ntwo\nthree\n")
	facts, err := f.repo.Inspect(t.Context(), got.Path)
	if err != nil || facts.Exists {
		t.Errorf("a worktree whose refs are elsewhere: %+v, %v; want none of this repository", facts, err)
	}
	if text, err := os.ReadFile(ran); err == nil {
		t.Errorf("these ran: %s", text)
	}
}

func TestAFilterThatAPersonAllowedRunsAsThePersonSetIt(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	home := filepath.Join(realTemp(t), "gitconfig")
	writeFile(t, home, "[filter \"crypt\"]\n\tclean = tr a-z A-Z\n")
	f.env = append(f.env, "GIT_CONFIG_GLOBAL="+home)
	f.repo = f.open(f.dir)
	f.repo.Filters = []string{"crypt"}
	f.git("config", "filter.crypt.clean", "tr a-z X")
	f.write(".git/info/attributes", "secret.txt filter=crypt\n")
	got := f.claim(Provide{ID: "task-1", Nonce: "n"})
	writeFile(t, filepath.Join(got.Path, "secret.txt"), "text\n")
	head, _, err := f.repo.Commit(t.Context(), got.Path, "filtered")
	if err != nil {
		t.Fatal(err)
	}
	if text, err := f.repo.ReadFile(t.Context(), head, "secret.txt"); string(text) != "TEXT\n" || err != nil {
		t.Errorf("the file was committed as %q, %v", text, err)
	}
}

// What keeps the programs of a repository out is read once and used by all commands, which run beside each other in several
// worktrees: none may write into what the others get. With this many settings there is room behind them.
func TestCommandsBesideEachOtherGetTheirOwnFolders(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, key := range []string{"filter.a.clean", "filter.a.smudge", "filter.a.process", "core.sshCommand", "core.pager"} {
		f.git("config", key, "false")
	}
	dirs := []string{f.repo.Root()}
	for _, id := range []string{"task-1", "task-2"} {
		dirs = append(dirs, f.claim(Provide{ID: id, Nonce: "n"}).Path)
	}
	var all sync.WaitGroup
	for _, dir := range slices.Repeat(dirs, 8) {
		all.Go(func() {
			if top, err := f.repo.read(t.Context(), dir, "rev-parse", "--show-toplevel"); err != nil || strings.TrimSpace(top) != dir {
				t.Errorf("in %s git works on %q: %v", dir, top, err)
			}
		})
	}
	all.Wait()
	for _, o := range f.repo.drivers.known {
		if behind := o.env[len(o.env):cap(o.env)]; strings.Join(behind, "") != "" {
			t.Errorf("a command has written %q where all others write", behind)
		}
	}
}
