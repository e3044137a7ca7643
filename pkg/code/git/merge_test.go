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
	"testing"
	"time"
)

// merge merges a commit into integration as the supervisor does, and returns the merge commit.
func (f *fixture) merge(commit string) string {
	f.t.Helper()
	old := f.integration()
	tree, err := f.repo.MergeTree(f.t.Context(), old, commit)
	if err != nil {
		f.t.Fatal(err)
	}
	merged, err := f.repo.CommitTree(f.t.Context(), tree, []string{old, commit}, "Merge it\n\nLiza-Task: x\n")
	if err != nil {
		f.t.Fatal(err)
	}
	if err := f.repo.UpdateRef(f.t.Context(), "refs/heads/integration", merged, old); err != nil {
		f.t.Fatal(err)
	}
	return merged
}

func TestAMergeHasBothChangesAndBothParents(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.git("branch", "work", "integration")
	commit := f.commitOn("work", "a.txt", "ONE\ntwo\nthree\n")
	drift := f.advance("drift.txt", "x\n")
	merged := f.merge(commit)
	if got := f.git("rev-parse", merged+"^1", merged+"^2"); got != drift+"\n"+commit {
		t.Errorf("the parents are %q", got)
	}
	if f.git("show", merged+":a.txt") != "ONE\ntwo\nthree" || f.git("show", merged+":drift.txt") != "x" {
		t.Error("a change is missing")
	}
	if got := f.git("log", "-1", "--format=%an <%ae>|%cn <%ce>|%(trailers:key=Liza-Task,valueonly)", merged); got != "Liza <liza@localhost>|Liza <liza@localhost>|x" {
		t.Errorf("the commit is %q", got)
	}
}

func TestARefThatLeadsToAnotherMovesAlone(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	main := f.git("rev-parse", "main")
	lead := func(ref string) {
		t.Helper()
		f.git("symbolic-ref", ref, "refs/heads/main")
	}
	f.git("branch", "work", "integration")
	commit := f.commitOn("work", "a.txt", "ONE\ntwo\nthree\n")
	lead("refs/heads/integration")
	merged := f.merge(commit)

	lead("refs/heads/integration")
	if err := f.repo.UpdateRef(t.Context(), "refs/liza/candidate/x", merged, ""); err != nil {
		t.Fatal(err)
	}
	if err := f.repo.MoveBranch(t.Context(), "integration", merged, main, "refs/liza/candidate/x"); err != nil {
		t.Fatal(err)
	}
	if got := f.git("rev-parse", "integration"); got != merged {
		t.Errorf("integration is at %s, want %s", got, merged)
	}
	lead("refs/liza/candidate/x")
	if err := f.repo.DeleteRef(t.Context(), "refs/liza/candidate/x", main); err != nil {
		t.Fatal(err)
	}
	if got := f.git("rev-parse", "main"); got != main {
		t.Errorf("main has moved from %s to %s", main, got)
	}
}

func TestARefThatALossOfPowerEmptiedIsMadeAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	commit := f.git("rev-parse", "main")
	for name, content := range map[string]string{"empty": "", "zeros": strings.Repeat("\x00", 41), "zeros-and-the-end": strings.Repeat("\x00", 40) + "\n"} {
		path := filepath.Join(f.dir, ".git", "refs", "heads", "task", name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o644)); err != nil {
			t.Fatal(err)
		}
		if err := f.repo.CreateBranch(t.Context(), "task/"+name, commit); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := f.git("rev-parse", "task/"+name); got != commit {
			t.Errorf("%s: the branch is at %s", name, got)
		}
		if err := f.repo.CreateBranch(t.Context(), "task/"+name, commit); !errors.Is(err, ErrRefMoved) {
			t.Errorf("%s: made twice: %v", name, err)
		}
	}
}

// Git shows a ref of which the first part is left with zeros for what is missing, and replaces it by nothing.
func TestATornRefIsReplacedByWhoSawIt(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	commit := f.git("rev-parse", "main")
	for _, left := range []int{1, 2, 7, 39} {
		ref := fmt.Sprint("refs/heads/torn-", left)
		path := filepath.Join(f.dir, ".git", ref)
		if err := os.WriteFile(path, []byte(commit[:left]), 0o644); err != nil {
			t.Fatal(err)
		}
		seen, _ := f.repo.refValue(t.Context(), ref)
		if err := f.repo.UpdateRef(t.Context(), ref, commit, strings.Repeat("a", 40)); err == nil {
			t.Errorf("%d digits: replaced by who saw another value", left)
		}
		if err := f.repo.UpdateRef(t.Context(), ref, commit, seen); err != nil {
			t.Errorf("%d digits, seen as %q: %v", left, seen, err)
		}
		if got := f.git("rev-parse", ref); got != commit {
			t.Errorf("%d digits: it is at %s", left, got)
		}
	}
}

func TestAConfiguredPersonIsTheCommitter(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.git("config", "user.name", "Ada")
	commit := func() string {
		hash, err := f.repo.CommitTree(t.Context(), "HEAD^{tree}", []string{"HEAD"}, "x\n")
		if err != nil {
			t.Fatal(err)
		}
		return f.git("log", "-1", "--format=%an <%ae>|%cn <%ce>", hash)
	}
	if got := commit(); got != "Liza <liza@localhost>|Liza <liza@localhost>" {
		t.Errorf("with a name but no address: %q", got)
	}
	f.git("config", "user.email", "ada@example.org")
	if got := commit(); got != "Ada <ada@example.org>|Ada <ada@example.org>" {
		t.Errorf("with name and address: %q", got)
	}
}

func TestAConflictNamesTheFiles(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.advance("ünï\nname", "x\n")
	f.git("branch", "work", "integration")
	f.commitOn("work", "a.txt", "mine\n")
	f.commitOn("work", "fine.txt", "mine\n")
	f.commitOn("work", "ünï\nname", "mine\n")
	f.advance("a.txt", "theirs\n")
	old := f.advance("ünï\nname", "theirs\n")
	_, err := f.repo.MergeTree(t.Context(), old, "work")
	conflict, ok := errors.AsType[*ConflictError](err)
	if !ok || !slices.Equal(conflict.Files, []string{"a.txt", "ünï\nname"}) {
		t.Errorf("got %v", err)
	}
	if err := f.repo.TryMerge(t.Context(), old, "work"); !errors.As(err, &conflict) || !slices.Equal(conflict.Files, []string{"a.txt", "ünï\nname"}) {
		t.Errorf("tried: got %v", err)
	}
	for _, theirs := range []string{strings.Repeat("1", 40), "-x"} {
		if _, err := f.repo.MergeTree(t.Context(), old, theirs); err == nil || errors.As(err, &conflict) {
			t.Errorf("merging %s: %v", theirs, err)
		}
	}
}

func TestATriedMergeLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.git("branch", "work", "integration")
	f.commitOn("work", "mine.txt", "mine\n")
	f.advance("theirs.txt", "theirs\n")
	before := f.git("count-objects", "-v")
	if err := f.repo.TryMerge(t.Context(), "integration", "work"); err != nil {
		t.Fatal(err)
	}
	if after := f.git("count-objects", "-v"); after != before {
		t.Errorf("the objects were\n%s\nand are\n%s", before, after)
	}
}

func TestARefMovesOnlyFromTheExpectedValue(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	r := f.repo
	start := f.integration()
	next, other := f.commitOn("main", "n.txt", "n\n"), f.commitOn("main", "o.txt", "o\n")
	const ref = "refs/heads/integration"
	moved := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, ErrRefMoved) {
			t.Errorf("%s: %v; want ErrRefMoved", what, err)
		}
		if f.integration() != next {
			t.Errorf("%s moved the ref", what)
		}
	}
	if err := r.UpdateRef(t.Context(), ref, next, start); err != nil {
		t.Fatal(err)
	}
	moved("an old value that is gone", r.UpdateRef(t.Context(), ref, other, start))
	moved("creating what exists", r.UpdateRef(t.Context(), ref, other, ""))
	moved("creating with zeros", r.UpdateRef(t.Context(), ref, other, strings.Repeat("0", 40)))
	moved("creating a branch that exists", r.CreateBranch(t.Context(), "integration", other))
	moved("deleting from an old value", r.DeleteRef(t.Context(), ref, start))
	if err := r.UpdateRef(t.Context(), "refs/heads/gone", other, start); !errors.Is(err, ErrRefMoved) {
		t.Errorf("moving a ref that does not exist: %v", err)
	}
	err := r.UpdateRef(t.Context(), ref, strings.Repeat("1", 40), next)
	if _, ok := errors.AsType[*Error](err); !ok || errors.Is(err, ErrRefMoved) {
		t.Errorf("a commit that does not exist: %v", err)
	}
	for _, name := range []string{"integration", "refs/heads/../x", "--stdin", "refs/"} {
		if err := r.UpdateRef(t.Context(), name, next, ""); err == nil {
			t.Errorf("ref %q was made", name)
		}
	}
	for range 2 {
		if err := r.DeleteRef(t.Context(), ref, next); err != nil {
			t.Error(err)
		}
	}
	if err := r.CreateBranch(t.Context(), "integration", other); err != nil || f.integration() != other {
		t.Error(err)
	}
}

func TestOneOfManyMovesWins(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	start := f.integration()
	results := make(chan error, 8)
	var group sync.WaitGroup
	for _, name := range strings.Split("abcdefgh", "") {
		commit := f.commitOn("main", name, name)
		group.Go(func() { results <- f.repo.UpdateRef(t.Context(), "refs/heads/integration", commit, start) })
	}
	group.Wait()
	close(results)
	won := 0
	for err := range results {
		if err == nil {
			won++
		} else if !errors.Is(err, ErrRefMoved) {
			t.Error(err)
		}
	}
	if won != 1 {
		t.Errorf("%d moves won", won)
	}
}

func TestTheCheckoutOfABranchIsFound(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	if path, found, err := f.repo.CheckedOutAt(t.Context(), "integration"); err != nil || found {
		t.Errorf("nobody has it: %q, %v", path, err)
	}
	elsewhere := filepath.Join(realTemp(t), "with space\nand line")
	f.git("worktree", "add", "-q", elsewhere, "integration")
	for branch, want := range map[string]string{"integration": elsewhere, "main": f.dir} {
		if path, found, err := f.repo.CheckedOutAt(t.Context(), branch); err != nil || !found || path != want {
			t.Errorf("%s is checked out at %q, %v, %v", branch, path, found, err)
		}
	}
}

func TestAThrowAwayWorktreeReplacesWhatAKilledOneLeft(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	place := filepath.Join(f.dir, ".worktrees/.check-task-1")
	head := f.integration()
	for what, leave := range map[string]func(){
		"nothing":  func() {},
		"a folder": func() { writeFile(t, filepath.Join(place, "left.txt"), "x") },
		"a worktree": func() {
			f.git("worktree", "add", "-q", "--lock", "--detach", place, "main")
			writeFile(t, filepath.Join(place, "left.txt"), "x")
		},
		"half a worktree": func() {
			f.git("worktree", "add", "-q", "--lock", "--detach", place, "main")
			mustRemoveAll(t, filepath.Join(place, ".git"))
		},
		"an entry": func() {
			f.git("worktree", "add", "-q", "--lock", "--detach", place, "main")
			mustRemoveAll(t, place)
		},
	} {
		leave()
		if _, err := f.repo.CheckoutDetached(t.Context(), place, head); err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		if facts := f.inspect(place); facts.Branch != "" || facts.Head != head || len(facts.Dirty) > 0 {
			t.Errorf("%s: %+v", what, facts)
		}
		for range 2 {
			if err := f.repo.RemoveDetached(t.Context(), place); err != nil || exists(place) {
				t.Errorf("%s: removing: %v", what, err)
			}
		}
	}
	work := f.provide(Provide{ID: "task-1"})
	if err := os.Symlink(work.Path, filepath.Join(f.dir, ".worktrees/.check-link")); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{work.Path, f.dir, ".worktrees/.lost-task-1-7", ".check-x", ".worktrees/../.check-x", ".worktrees/.check-link"} {
		_, err := f.repo.CheckoutDetached(t.Context(), path, head)
		if err == nil || f.repo.RemoveDetached(t.Context(), path) == nil {
			t.Errorf("%s was taken for a throw-away worktree", path)
		}
	}
	if !exists(filepath.Join(work.Path, "a.txt")) {
		t.Error("a task's worktree was removed")
	}
}

func TestWaitingForTheLockEndsWithTheContext(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	held, err := f.repo.lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err = f.repo.CreateBranch(ctx, "x", "HEAD")
	if !errors.Is(err, ErrLocked) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	done := make(chan error, 1)
	go func() { done <- f.repo.CreateBranch(t.Context(), "x", "HEAD") }()
	held.unlock()
	if err := <-done; err != nil {
		t.Errorf("after the lock was free: %v", err)
	}
}

func TestALinkInPlaceOfTheLockIsRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	lock := filepath.Join(f.dir, ".git/liza/git.lock")
	if err := errors.Join(os.Remove(lock), os.Symlink(filepath.Join(t.TempDir(), "x"), lock)); err != nil {
		t.Fatal(err)
	}
	wantError(t, f.repo.CreateBranch(t.Context(), "x", "HEAD"), "not a regular file")
}

// The history of the branch is made so that commit and branch have two merge bases: of one of them alone the removal
// would not be seen.
func TestAProposalIsWhatAMergeChanges(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	sides := func(commit string) []string {
		t.Helper()
		from, to, err := f.repo.Proposal(t.Context(), f.integration(), commit)
		if err != nil {
			t.Fatal(err)
		}
		changes, err := f.repo.ChangedFiles(t.Context(), from, to)
		if err != nil {
			t.Fatal(err)
		}
		var list []string
		for _, c := range changes {
			list = append(list, c.Status+" "+c.Path)
		}
		return list
	}
	for _, name := range []string{"one", "two", "three"} {
		f.git("branch", name, "integration")
	}
	one, two := f.commitOn("one", "one.txt", "1\n"), f.commitOn("two", "two.txt", "2\n")
	three := f.commitOn("three", "three.txt", "3\n")
	f.merge(one)
	f.merge(two)
	if got := sides(three); !slices.Equal(got, []string{"A three.txt"}) {
		t.Errorf("beside the branch: %v", got)
	}
	crossed := f.git("commit-tree", three+"^{tree}", "-p", one, "-p", two, "-m", "crossed")
	if got := sides(crossed); !slices.Equal(got, []string{"D one.txt", "A three.txt", "D two.txt"}) {
		t.Errorf("with two merge bases: %v", got)
	}
}
