package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func TestNothingThereBecomesALockedWorktreeAtTheBase(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, id := range []string{"task-1", "a.b.c", "X", "1_2-3.4"} {
		got := f.claim(Provide{ID: id, Nonce: "g-1:7"})
		want := Provided{Path: filepath.Join(f.dir, ".worktrees", id), Branch: "task/" + id, Head: f.integration(), Base: f.integration(), Created: true}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: got %+v\nwant %+v", id, got, want)
		}
		if lock := f.lockOf(id); lock != "liza "+id+" g-1:7" {
			t.Errorf("%s: the lock says %q", id, lock)
		}
		if err := f.repo.UnlockWorktree(t.Context(), id); err != nil || f.lockOf(id) != "" {
			t.Errorf("%s: unlocking: %v, still %q", id, err, f.lockOf(id))
		}
		if facts := f.inspect(got.Path); !facts.Exists || facts.Branch != got.Branch || len(facts.Dirty) > 0 {
			t.Errorf("%s: %+v", id, facts)
		}
	}
	for _, id := range []string{"", ".x", "../x", "a/b", "a..b", "a.lock", "a.", "a b", "-x", strings.Repeat("x", 65)} {
		if _, err := f.repo.ProvideWorktree(t.Context(), f.filled(Provide{ID: id})); err == nil {
			t.Errorf("id %q was accepted", id)
		}
	}
}

func (f *fixture) lockOf(id string) string {
	f.t.Helper()
	all, err := f.repo.Worktrees(f.t.Context())
	if err != nil {
		f.t.Fatal(err)
	}
	for _, one := range all {
		if filepath.Base(one.Path) == id {
			return one.LockReason
		}
	}
	return ""
}

func TestSixteenWorktreesAtOnceAreAllValid(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	before := f.checkout()
	var group sync.WaitGroup
	base := f.integration()
	for n := range 16 {
		group.Go(func() {
			repo, err := Open(t.Context(), f.dir, f.env...) // as separate processes do, each with its own lock file
			if err == nil {
				_, err = repo.ProvideWorktree(t.Context(), Provide{ID: fmt.Sprintf("task-%d", n), Base: base, Nonce: "n", Now: someTime})
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	for n := range 16 {
		if facts := f.inspect(fmt.Sprintf(".worktrees/task-%d", n)); facts.Head != base || len(facts.Dirty) > 0 {
			t.Errorf("task-%d: %+v", n, facts)
		}
	}
	if !slices.Equal(before, f.checkout()) {
		t.Error("the checkout changed")
	}
}

func TestAKeptWorktreeStaysAsItIs(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	work := f.claim(Provide{ID: "task-1"})
	head := f.commitIn(work.Path, "b.txt", "mine\n")
	writeFile(t, filepath.Join(work.Path, "c.txt"), "unfinished\n")
	f.advance("drift.txt", "x\n")
	long := time.Now().Add(-time.Hour)
	for _, lock := range []string{".git/worktrees/task-1/index.lock", ".git/refs/heads/task/task-1.lock"} {
		f.write(lock, "")
		if err := os.Chtimes(filepath.Join(f.dir, lock), long, long); err != nil {
			t.Fatal(err)
		}
	}

	got := f.claim(Provide{ID: "task-1", Keep: true, Nonce: "n2"})
	if !got.Kept || got.Created || got.Head != head || got.Base != "" || got.Attic != "" || len(got.Warnings) > 0 {
		t.Errorf("got %+v", got)
	}
	if len(got.LockRemoved) != 2 || f.exists(".git/worktrees/task-1/index.lock") || f.exists(".git/refs/heads/task/task-1.lock") {
		t.Errorf("stale locks: removed %q", got.LockRemoved)
	}
	if readText(t, filepath.Join(work.Path, "c.txt")) != "unfinished\n" || f.lockOf("task-1") != "" {
		t.Errorf("the worktree changed or is still locked by the former claim: %q", f.lockOf("task-1"))
	}
	f.gitIn(work.Path, "checkout", "-q", "--detach")
	if got := f.claim(Provide{ID: "task-1", Keep: true}); len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], "detached") {
		t.Errorf("a detached worktree is kept with %+v", got)
	}
}

func TestABranchWithoutFolderIsAttached(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	work := f.provide(Provide{ID: "task-1"})
	head := f.commitIn(work.Path, "b.txt", "mine\n")
	f.git("worktree", "lock", "--reason", "liza task-1 old", work.Path)
	mustRemoveAll(t, work.Path)
	got := f.claim(Provide{ID: "task-1", Keep: true})
	if !got.Attached || !got.Created || got.Head != head || got.Base != "" {
		t.Errorf("got %+v", got)
	}
	if facts := f.inspect(got.Path); facts.Head != head || facts.Branch != "task/task-1" || len(facts.Dirty) > 0 {
		t.Errorf("the worktree is %+v", facts)
	}
}

// A loss of power leaves git's file "locked" empty, cut or as zeros. Then nobody can tell whether a claim or a person locked the worktree.
func TestALockWithoutAReasonStopsNoClaim(t *testing.T) {
	t.Parallel()
	for name, reason := range map[string]string{"empty": "", "cut": "liza ta", "cut before the nonce": "liza task-1 ", "zeros": strings.Repeat("\x00", 20)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			claim := func(keep, half bool) (Provided, string) {
				t.Helper()
				work := f.provide(Provide{ID: "task-1", Nonce: "n1"})
				head := f.commitIn(work.Path, "b.txt", "mine\n")
				writeFile(t, filepath.Join(work.Path, "c.txt"), "not committed\n")
				writeFile(t, filepath.Join(f.dir, ".git/worktrees/task-1/locked"), reason)
				if half {
					mustRemoveAll(t, filepath.Join(f.dir, ".git/worktrees/task-1/index"))
				}
				return f.claim(Provide{ID: "task-1", Keep: keep, Nonce: "n2"}), head
			}
			for _, half := range []bool{false, true} {
				got, head := claim(false, half)
				if !got.Created || got.Head != f.integration() || got.Attic == "" || f.git("rev-parse", got.Attic) != head {
					t.Errorf("half made %v: a fresh worktree is %+v", half, got)
				}
				if readText(t, filepath.Join(got.Lost, "c.txt")) != "not committed\n" || f.lockOf("task-1") != "liza task-1 n2" {
					t.Errorf("half made %v: moved to %q, the new lock is %q", half, got.Lost, f.lockOf("task-1"))
				}
			}
			if got, head := claim(true, true); !got.Attached || got.Head != head || readText(t, filepath.Join(got.Lost, "c.txt")) != "not committed\n" {
				t.Errorf("a worktree that was not whole is gone on with as %+v", got)
			}
			if got, head := claim(true, false); !got.Kept || got.Head != head || got.Lost != "" {
				t.Errorf("a whole one is gone on with as %+v", got)
			}
		})
	}
}

// The lock of a person who gave a reason holds.
func TestAWorktreeThatAPersonLockedStays(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	work := f.provide(Provide{ID: "task-1"})
	f.git("worktree", "lock", "--reason", "on my stick", work.Path)
	if _, err := f.repo.ProvideWorktree(t.Context(), Provide{ID: "task-1", Base: f.integration(), Nonce: "n2"}); err == nil || !strings.Contains(err.Error(), "git worktree unlock .worktrees/task-1") {
		t.Errorf("a fresh worktree in its place: %v", err)
	}
	if !f.exists(".worktrees/task-1/.git") || f.lockOf("task-1") != "on my stick" {
		t.Errorf("the lock is %q", f.lockOf("task-1"))
	}
}

func mustRemoveAll(t testing.TB, path string) {
	t.Helper()
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
}

func TestAFreshWorktreeSavesTheBranchThatWasThere(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	work := f.provide(Provide{ID: "task-1"})
	head := f.commitIn(work.Path, "b.txt", "mine\n")
	mustRemoveAll(t, work.Path)
	got := f.provide(Provide{ID: "task-1"})
	if got.Attic != "refs/liza/attic/task-1/1" || f.git("rev-parse", got.Attic) != head || got.Head != f.integration() || !got.Created {
		t.Errorf("got %+v", got)
	}
	// A branch that integration contains needs no attic.
	mustRemoveAll(t, work.Path)
	if got := f.provide(Provide{ID: "task-1"}); got.Attic != "" || len(f.attics("task-1")) != 1 {
		t.Errorf("a branch without commits: %+v", got)
	}
}

func TestAFreshWorktreeSavesTheWorktreeThatWasThere(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	work := f.provide(Provide{ID: "task-1"})
	head := f.commitIn(work.Path, "b.txt", "mine\n")
	writeFile(t, filepath.Join(work.Path, "c.txt"), "unfinished\n")
	base := f.advance("drift.txt", "x\n")
	got := f.provide(Provide{ID: "task-1"})
	if got.Attic == "" || got.Head != base || got.Base != base || exists(filepath.Join(got.Path, "c.txt")) {
		t.Fatalf("got %+v", got)
	}
	if f.git("show", got.Attic+":c.txt") != "unfinished" || f.git("rev-parse", got.Attic+"^") != head {
		t.Error("the attic does not hold the work")
	}
}

// P-054.
func TestAForeignFolderIsMovedAway(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	place := filepath.Join(f.dir, ".worktrees/task-1")
	lost := place[:len(place)-len("task-1")] + ".lost-task-1-1700000000"
	for n, make := range []func(){
		func() { writeFile(t, filepath.Join(place, "precious.txt"), "0") },
		func() { writeFile(t, place, "a file") },
		func() {
			f.gitIn(filepath.Dir(place), "clone", "-q", f.dir, place)
			writeFile(t, filepath.Join(place, "precious.txt"), "2")
		},
		func() { // a worktree that lost its .git file
			work := f.provide(Provide{ID: "task-1"})
			writeFile(t, filepath.Join(work.Path, "precious.txt"), "3")
			if err := os.Remove(filepath.Join(work.Path, ".git")); err != nil {
				t.Fatal(err)
			}
		},
	} {
		make()
		want := lost
		if n > 0 {
			want = fmt.Sprintf("%s-%d", lost, n+1)
		}
		got := f.provide(Provide{ID: "task-1"})
		if got.Lost != want || !got.Created || got.Head != f.integration() {
			t.Errorf("case %d: got %+v", n, got)
		}
		if n != 1 && readText(t, filepath.Join(want, "precious.txt")) != fmt.Sprint(n) {
			t.Errorf("case %d: the folder was not kept", n)
		}
		if err := f.repo.Remove(t.Context(), "task-1", Proof{Integration: f.integration()}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestALinkAtThePlaceIsRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	target := realTemp(t)
	writeFile(t, filepath.Join(f.dir, ".worktrees/x"), "")
	if err := os.Symlink(target, filepath.Join(f.dir, ".worktrees/task-1")); err != nil {
		t.Fatal(err)
	}
	_, err := f.repo.ProvideWorktree(t.Context(), f.filled(Provide{ID: "task-1"}))
	wantError(t, err, "cannot create the worktree of task-1", "symbolic link")
	if f.git("branch", "--list", "task/*") != "" {
		t.Error("a branch was made")
	}
}

func TestWorkStartsAgainAtACommit(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	base := f.integration()
	work := f.provide(Provide{ID: "task-1"})
	saved := f.commitIn(work.Path, "b.txt", "mine\n")
	f.advance("drift.txt", "x\n")
	got := f.provide(Provide{ID: "task-1", RestartFrom: saved[:12]})
	if got.Head != saved || got.Base != base || !got.Created {
		t.Errorf("got %+v; want head %s and base %s", got, saved, base)
	}
	// The branch is gone, and a kept worktree was asked for: the commit is still where work starts.
	if err := f.repo.Remove(t.Context(), "task-1", Proof{Integration: saved}); err != nil {
		t.Fatal(err)
	}
	if got := f.provide(Provide{ID: "task-1", Keep: true, RestartFrom: saved}); got.Head != saved || got.Base != base || got.Recovered {
		t.Errorf("kept: got %+v", got)
	}
}

func TestLostWorkIsRecoveredAtTheNewestRecordedCommit(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	dated := func(name string, year int) string {
		f.env = append(f.env, fmt.Sprintf("GIT_COMMITTER_DATE=%d-01-01T00:00:00Z", year))
		f.git("branch", "-f", "scratch", "integration")
		return f.commitOn("scratch", name, "x\n")
	}
	older, newer, newest := dated("older", 2031), dated("newer", 2032), dated("newest", 2033)
	f.git("branch", "-D", "scratch")
	lose := func() {
		f.git("worktree", "remove", "--force", "--force", f.repo.WorktreePath("task-1"))
		f.git("update-ref", "-d", "refs/heads/task/task-1")
	}
	got := f.claim(Provide{ID: "task-1", Keep: true, Candidates: []string{"", strings.Repeat("9", 40), older, newer}})
	if !got.Recovered || !got.Created || got.Head != newer || got.Base != "" {
		t.Errorf("got %+v; want %s", got, newer)
	}
	lose()
	f.git("update-ref", "refs/liza/attic/task-1/3", newest)
	if got := f.claim(Provide{ID: "task-1", Keep: true, Candidates: []string{newer, older}}); got.Head != newest || !got.Recovered {
		t.Errorf("with an attic ref: got %+v; want %s", got, newest)
	}
	lose()
	f.git("update-ref", "-d", "refs/liza/attic/task-1/3")
	if got := f.claim(Provide{ID: "task-1", Keep: true}); got.Recovered || !got.Created || got.Base != f.integration() {
		t.Errorf("with nothing recorded: got %+v", got)
	}
}

func TestAClaimThatWasKilledIsTakenOverOrRepeated(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	first := f.claim(Provide{ID: "task-1", Nonce: "old"})
	mark := filepath.Join(first.Path, "setup.log") // ignored: shows that the folder is still the same
	writeFile(t, mark, "x")
	got := f.claim(Provide{ID: "task-1", Nonce: "new"})
	if !got.Created || got.Kept || !exists(mark) || f.lockOf("task-1") != "liza task-1 new" || got.Base != f.integration() {
		t.Errorf("same head: got %+v, lock %q", got, f.lockOf("task-1"))
	}
	head := f.advance("drift.txt", "x\n")
	got = f.claim(Provide{ID: "task-1", Nonce: "newer"})
	if !got.Created || got.Head != head || exists(mark) || got.Attic != "" {
		t.Errorf("integration moved: got %+v", got)
	}
}

func TestAHalfMadeWorktreeHoldsNothing(t *testing.T) {
	t.Parallel()
	for name, breakIt := range map[string]func(f *fixture){
		"files missing": func(f *fixture) { mustRemoveAll(f.t, filepath.Join(f.dir, ".worktrees/task-1/a.txt")) },
		"no index": func(f *fixture) {
			mustRemoveAll(f.t, filepath.Join(f.dir, ".git/worktrees/task-1/index"))
			mustRemoveAll(f.t, filepath.Join(f.dir, ".worktrees/task-1/a.txt"))
		},
		"no folder":    func(f *fixture) { mustRemoveAll(f.t, filepath.Join(f.dir, ".worktrees/task-1")) },
		"no HEAD":      placeholderHead,
		"empty folder": func(f *fixture) { mustRemoveAll(f.t, filepath.Join(f.dir, ".worktrees/task-1/.git")) },
		"an entry cut off": func(f *fixture) {
			mustRemoveAll(f.t, filepath.Join(f.dir, ".git/worktrees/task-1/index"))
			f.write(".git/worktrees/task-1/commondir", "")
			mustRemoveAll(f.t, filepath.Join(f.dir, ".worktrees/task-1"))
		},
		"nothing but the link, cut off": func(f *fixture) {
			mustRemoveAll(f.t, filepath.Join(f.dir, ".worktrees/task-1"))
			f.write(".worktrees/task-1/.git", "")
		},
		"nothing but the link": func(f *fixture) {
			mustRemoveAll(f.t, filepath.Join(f.dir, ".git/worktrees/task-1/HEAD"))
			files, _ := filepath.Glob(filepath.Join(f.dir, ".worktrees/task-1/*"))
			for _, file := range append(files, filepath.Join(f.dir, ".worktrees/task-1/.gitignore")) {
				mustRemoveAll(f.t, file)
			}
		},
		"branch only": func(f *fixture) {
			f.git("worktree", "remove", "--force", "--force", ".worktrees/task-1")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.claim(Provide{ID: "task-1", Nonce: "killed"})
			breakIt(f)
			got := f.claim(Provide{ID: "task-1", Nonce: "next"})
			facts := f.inspect(got.Path)
			if !got.Created || got.Attic != "" || got.Lost != "" && name != "empty folder" || facts.Branch != "task/task-1" || len(facts.Dirty) > 0 || f.lockOf("task-1") != "liza task-1 next" {
				t.Errorf("got %+v, %+v", got, facts)
			}
		})
	}
}

// placeholderHead is how git leaves a worktree when it is killed right after it has made the entry.
func placeholderHead(f *fixture) {
	f.t.Helper()
	f.write(".git/worktrees/task-1/HEAD", strings.Repeat("0", 40)+"\n")
	mustRemoveAll(f.t, filepath.Join(f.dir, ".git/worktrees/task-1/index"))
	mustRemoveAll(f.t, filepath.Join(f.dir, ".worktrees/task-1/a.txt"))
}

// A claim for new work was killed, and the next one goes on with the work before it: nothing of what the killed one left
// may be taken for that work. Kept as it is, a worktree that lacks files would remove them with the next commit.
func TestAHalfMadeWorktreeIsNotKept(t *testing.T) {
	t.Parallel()
	for name, breakIt := range map[string]func(f *fixture){
		"files missing": func(f *fixture) { mustRemoveAll(f.t, filepath.Join(f.dir, ".worktrees/task-1/a.txt")) },
		"no HEAD":       placeholderHead,
		"a file cut off": func(f *fixture) {
			f.write(".worktrees/task-1/a.txt", "")
			f.write(".git/worktrees/task-1/index.lock", "")
			mustRemoveAll(f.t, filepath.Join(f.dir, ".git/worktrees/task-1/index"))
		},
		"whole": func(*fixture) {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			former := f.provide(Provide{ID: "task-1"})
			head := f.commitIn(former.Path, "b.txt", "mine\n")
			f.advance("drift.txt", "x\n")
			if killed := f.claim(Provide{ID: "task-1", Nonce: "killed"}); killed.Attic == "" {
				t.Fatalf("the former work was not saved: %+v", killed)
			}
			breakIt(f)
			got := f.claim(Provide{ID: "task-1", Keep: true, Nonce: "next", Candidates: []string{head}})
			facts := f.inspect(got.Path)
			if !got.Recovered || !got.Created || got.Base != "" || len(f.attics("task-1")) != 1 || facts.Head != head || facts.Branch != "task/task-1" || len(facts.Dirty) > 0 {
				t.Errorf("got %+v, %+v", got, facts)
			}
		})
	}
}

// The same when the killed claim attached the branch: the branch stays.
func TestAHalfAttachedWorktreeIsAttachedAgain(t *testing.T) {
	t.Parallel()
	for name, breakIt := range map[string]func(f *fixture){
		"files missing": func(f *fixture) { mustRemoveAll(f.t, filepath.Join(f.dir, ".worktrees/task-1/a.txt")) },
		"no HEAD":       placeholderHead,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			former := f.provide(Provide{ID: "task-1"})
			head := f.commitIn(former.Path, "b.txt", "mine\n")
			mustRemoveAll(t, former.Path)
			f.claim(Provide{ID: "task-1", Keep: true, Nonce: "killed"})
			breakIt(f)
			got := f.claim(Provide{ID: "task-1", Keep: true, Nonce: "next"})
			facts := f.inspect(got.Path)
			if !got.Attached || got.Recovered || facts.Head != head || len(facts.Dirty) > 0 {
				t.Errorf("got %+v, %+v", got, facts)
			}
		})
	}
}

// A removal gives the folder another name first: killed after that, the folder is not a worktree any more, and no riddle.
func TestARemovalThatWasKilledIsEnded(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	work := f.provide(Provide{ID: "task-1"})
	aside := filepath.Join(filepath.Dir(work.Path), ".removed-task-1")
	if err := os.Rename(work.Path, aside); err != nil {
		t.Fatal(err)
	}
	mustRemoveAll(t, filepath.Join(aside, "a.txt"))
	if got := f.claim(Provide{ID: "task-1", Nonce: "next"}); got.Lost != "" || got.Attic != "" || got.Head != f.integration() {
		t.Errorf("got %+v", got)
	}
	if err := f.repo.ClearRemoved(t.Context()); err != nil || exists(aside) {
		t.Errorf("%v, the rest is still there: %v", err, exists(aside))
	}
}

func TestABranchThatIsCheckedOutElsewhereIsLeftAlone(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.git("branch", "task/task-1")
	elsewhere := filepath.Join(realTemp(t), "elsewhere")
	f.git("worktree", "add", "-q", elsewhere, "task/task-1")
	for _, keep := range []bool{true, false} {
		_, err := f.repo.ProvideWorktree(t.Context(), f.filled(Provide{ID: "task-1", Keep: keep}))
		wantError(t, err, "branch task/task-1 is checked out in "+elsewhere)
	}
}

// slowFilter makes every checkout of a.txt run a shell command first, and returns a function that waits until it runs.
func (f *fixture) slowFilter(then string) (started func()) {
	f.t.Helper()
	pipe := filepath.Join(realTemp(f.t), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		f.t.Fatal(err)
	}
	f.write(".git/info/attributes", "a.txt filter=slow\n")
	f.git("config", "filter.slow.smudge", "echo started > '"+pipe+"'; "+then)
	f.git("config", "filter.slow.required", "true")
	f.repo.Filters = []string{"slow"}
	return func() { readText(f.t, pipe) }
}

func TestACancelledAddLeavesNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	started := f.slowFilter("exec sleep 600")
	ctx, cancel := context.WithCancelCause(t.Context())
	done := make(chan error, 1)
	p := f.filled(Provide{ID: "task-1"})
	go func() {
		_, err := f.repo.ProvideWorktree(ctx, p)
		done <- err
	}()
	started()
	cancel(errors.New("somebody pressed Ctrl-C"))
	wantError(t, <-done, "cannot create the worktree of task-1", "somebody pressed Ctrl-C")
	f.nothingLeft()
}

func TestAWorktreeWhoseGitWasKilledIsMadeAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	started := f.slowFilter("exec sleep 600")
	cmd := f.command(f.dir, "worktree", "add", "--lock", "--reason", "liza task-1 killed", "-b", "task/task-1", ".worktrees/task-1", "integration")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	started()
	if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	f.git("config", "--remove-section", "filter.slow")
	got := f.claim(Provide{ID: "task-1", Nonce: "next"})
	facts := f.inspect(got.Path)
	if !got.Created || got.Attic != "" || got.Lost != "" || facts.Head != f.integration() || len(facts.Dirty) > 0 {
		t.Errorf("got %+v, %+v", got, facts)
	}
}

// Git writes a HEAD of zeros before the real one: with it every git fetch and git rev-list --all of the person fails.
func TestTheHeadOfZerosThatAKilledGitLeavesGoesWithTheNextLock(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.git("worktree", "add", "-q", "--detach", "--no-checkout", ".worktrees/.review-task-1", "integration")
	f.claim(Provide{ID: "task-1", Nonce: "killed"})
	for _, entry := range []string{"-review-task-1", "task-1"} {
		admin := filepath.Join(f.dir, ".git/worktrees", entry)
		mustRemoveAll(t, filepath.Join(admin, "index"))
		writeFile(t, filepath.Join(admin, "HEAD"), strings.Repeat("0", 40)+"\n")
	}
	if out, err := f.command(f.dir, "rev-list", "--all").CombinedOutput(); err == nil {
		t.Fatalf("git reads it: %s", out)
	}
	if err := f.repo.ClearRemoved(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.git("rev-list", "--all")
	if _, err := f.repo.CheckoutDetached(t.Context(), ".worktrees/.review-task-1", f.integration()); err != nil {
		t.Error(err)
	}
}

// P-053.
func TestAFailedAddLeavesNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.write(".git/info/attributes", "a.txt filter=bad\n")
	f.git("config", "filter.bad.smudge", "false")
	f.git("config", "filter.bad.required", "true")
	f.repo.Filters = []string{"bad"}
	_, err := f.repo.ProvideWorktree(t.Context(), f.filled(Provide{ID: "task-1"}))
	wantError(t, err, "cannot create the worktree of task-1", "smudge filter bad failed")
	f.nothingLeft()
	mustRemoveAll(t, filepath.Join(f.dir, ".worktrees"))
	f.write(".worktrees", "not a folder")
	_, err = f.repo.ProvideWorktree(t.Context(), f.filled(Provide{ID: "task-1"}))
	wantError(t, err, "cannot create the worktree of task-1")
	f.nothingLeft()
}

// nothingLeft checks that there is no task branch and no worktree.
func (f *fixture) nothingLeft() {
	t := f.t
	t.Helper()
	if f.exists(".worktrees/task-1") {
		t.Error("left the folder")
	}
	if out := f.git("branch", "--list", "task/*"); out != "" {
		t.Errorf("left branch %q", out)
	}
	if all, err := f.repo.Worktrees(t.Context()); err != nil || len(all) != 1 {
		t.Errorf("left worktrees %v, %v", all, err)
	}
}

func TestAbandonRemovesOnlyWhatItsOwnCallMade(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	abandon := func(nonce string) {
		t.Helper()
		if err := f.repo.Abandon(t.Context(), "task-1", nonce); err != nil {
			t.Fatal(err)
		}
	}
	abandon("none")
	f.claim(Provide{ID: "task-1", Nonce: "mine"})
	abandon("other")
	abandon("")
	if !f.exists(".worktrees/task-1") {
		t.Fatal("the worktree of another call was removed")
	}
	abandon("mine")
	if f.exists(".worktrees/task-1") || f.git("branch", "--list", "task/*") != "" {
		t.Error("the worktree or its branch was left")
	}

	work := f.provide(Provide{ID: "task-1", Nonce: "mine"})
	abandon("mine")
	if !f.exists(".worktrees/task-1") {
		t.Fatal("a confirmed worktree was removed")
	}
	f.commitIn(work.Path, "b.txt", "mine\n")
	f.claim(Provide{ID: "task-1", Nonce: "kept", Keep: true})
	abandon("kept")
	if !f.exists(".worktrees/task-1") {
		t.Fatal("a kept worktree was removed")
	}
	mustRemoveAll(t, work.Path)
	f.claim(Provide{ID: "task-1", Nonce: "attached", Keep: true})
	abandon("attached")
	if f.exists(".worktrees/task-1") || f.git("branch", "--list", "task/*") == "" {
		t.Error("the folder was left, or the branch that was there before was removed")
	}
	f.git("branch", "-f", "task/task-1", "integration") // a tip that another ref has too
	f.claim(Provide{ID: "task-1", Nonce: "attached", Keep: true})
	abandon("attached")
	if f.git("branch", "--list", "task/*") == "" {
		t.Error("a branch without commits of its own, that was there before, was removed")
	}
}

func TestTheUsersCheckoutIsNeverTouched(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.write("a.txt", "stashed\n")
	f.git("stash", "-q")
	f.write("a.txt", "edited\n")
	f.write("staged.txt", "staged\n")
	f.git("add", "staged.txt")
	f.write("staged.txt", "and edited\n")
	f.write("untracked.txt", "x\n")
	for _, name := range []string{"post-checkout", "post-commit", "reference-transaction", "pre-commit", "post-index-change"} {
		writeFile(t, filepath.Join(f.dir, ".git/hooks", name), "#!/bin/sh\necho touched >> "+f.dir+"/hooked\nexit 1\n")
		if err := os.Chmod(filepath.Join(f.dir, ".git/hooks", name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	old := time.Unix(1_600_000_000, 0) // an index that git would like to refresh
	if err := os.Chtimes(filepath.Join(f.dir, ".gitignore"), old, old); err != nil {
		t.Fatal(err)
	}
	before := f.checkout()

	work := f.provide(Provide{ID: "task-1"})
	writeFile(t, filepath.Join(work.Path, "new.txt"), "x\n")
	commit, _, err := f.repo.Commit(t.Context(), work.Path, "new")
	if err != nil {
		t.Fatal(err)
	}
	merged := f.merge(commit)
	warnings, err := f.repo.CheckoutDetached(t.Context(), ".worktrees/.check-task-1", merged)
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	if err := f.repo.RemoveDetached(t.Context(), ".worktrees/.check-task-1"); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(work.Path, "late.txt"), "x\n")
	if _, saved, err := f.repo.Save(t.Context(), Work{ID: "task-1", Path: work.Path, Integration: merged}); err != nil || !saved {
		t.Fatal(err)
	}
	if err := f.repo.Remove(t.Context(), "task-1", Proof{Integration: merged}); err != nil {
		t.Fatal(err)
	}
	if after := f.checkout(); !slices.Equal(before, after) {
		t.Errorf("the checkout changed:\n%q\n%q", before, after)
	}
}
