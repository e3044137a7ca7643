package worktree_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/store"
	"liza/pkg/verb/verb"
	"liza/pkg/verb/verb/verbtest"
	"liza/pkg/verb/worktree"
)

// bothProviders runs a test on a project of one host and on one of two hosts; two is another host, or nil.
func bothProviders(t *testing.T, test func(t *testing.T, one, two *verbtest.Place)) {
	t.Run("local", func(t *testing.T) {
		t.Parallel()
		one := verbtest.New(t)
		one.AddTask("task-1")
		test(t, one, nil)
	})
	t.Run("hosts", func(t *testing.T) {
		t.Parallel()
		one, two, _ := verbtest.TwoHosts(t)
		test(t, one, two)
	})
}

// claim returns what phase one of a claim of task-1 would decide.
func claim(p *verbtest.Place) worktree.Claim {
	s := p.State()
	return worktree.Claim{Task: *s.Task("task-1"), Base: s.Tip(), Nonce: "n1"}
}

func TestAClaimIsProvidedWithAWorktreeUntilItIsCancelled(t *testing.T) {
	t.Parallel()
	bothProviders(t, func(t *testing.T, one, two *verbtest.Place) {
		trees, ctx := one.Service("coder-1").Worktrees, t.Context()
		one.Config.Worktree.Setup = []string{"touch set-up"}
		p, err := trees.Provide(ctx, claim(one))
		if err != nil {
			t.Fatal(err)
		}
		host := ""
		if two != nil {
			host = "one"
		}
		if f := p.Facts; f.Worktree != ".worktrees/task-1" || f.Host != host || f.BaseCommit != one.State().Tip() || !f.Fresh || !f.Confirm || p.Attic != "" || p.Recovered != nil {
			t.Errorf("provided: %+v", p)
		}
		if _, err := os.Stat(filepath.Join(one.Repo.WorktreeOf("task-1"), "set-up")); err != nil {
			t.Errorf("it was not set up: %v", err)
		}
		if err := trees.Cancel(ctx, claim(one)); err != nil {
			t.Fatal(err)
		}
		if path := one.Repo.WorktreeOf("task-1"); path != "" || one.Git(one.Dir, "branch", "--list", "task/*") != "" {
			t.Errorf("of a claim that was cancelled %q and a branch are left", path)
		}
	})
}

// Git's lock tells a recovery that a claim was not confirmed.
func TestAConfirmedClaimIsUnlocked(t *testing.T) {
	t.Parallel()
	bothProviders(t, func(t *testing.T, one, _ *verbtest.Place) {
		trees, ctx := one.Service("coder-1").Worktrees, t.Context()
		one.Must(trees.Provide(ctx, claim(one)))
		locked := func() bool { return strings.Contains(one.Git(one.Dir, "worktree", "list", "--porcelain"), "\nlocked") }
		if !locked() {
			t.Error("the worktree of a claim that is not confirmed has no lock")
		}
		one.Must(nil, trees.Confirm(ctx, claim(one)))
		if locked() {
			t.Error("the worktree of a confirmed claim is locked")
		}
	})
}

func TestAClaimWhoseSetUpFailsSaysWhatFailed(t *testing.T) {
	t.Parallel()
	bothProviders(t, func(t *testing.T, one, _ *verbtest.Place) {
		one.Config.Worktree.Setup = []string{"true", "echo no network; exit 3"}
		_, err := one.Service("coder-1").Worktrees.Provide(t.Context(), claim(one))
		bad, ok := errors.AsType[*worktree.SetupError](err)
		if !ok || bad.Task != "task-1" || !strings.Contains(bad.Message, "ended with exit code 3") || !strings.Contains(strings.Join(bad.Tail, "\n"), "no network") {
			t.Errorf("the claim ended with %v", err)
		}
		begun := filepath.Join(t.TempDir(), "begun")
		one.Must(nil, syscall.Mkfifo(begun, 0o600))
		one.Config.Worktree.Setup = []string{"echo > '" + begun + "'; sleep 60"}
		ctx, stop := context.WithCancel(t.Context())
		go func() {
			if f, err := os.Open(begun); err == nil { // waits until the command has begun
				_ = f.Close()
			}
			stop()
		}()
		if _, err := one.Service("coder-1").Worktrees.Provide(ctx, claim(one)); errors.As(err, &bad) || err == nil || !strings.Contains(err.Error(), "cannot set up the worktree") {
			t.Errorf("a command that was stopped: %v", err)
		}
	})
}

// What lies where the worktree is to be is moved away, and the claim says where to.
func TestAFolderInTheWayOfAClaimIsMovedAndNamed(t *testing.T) {
	t.Parallel()
	bothProviders(t, func(t *testing.T, one, _ *verbtest.Place) {
		verbtest.Write(t, filepath.Join(one.Dir, ".worktrees/task-1/mine.md"), "a person's\n")
		p, err := one.Service("coder-1").Worktrees.Provide(t.Context(), claim(one))
		if err != nil || len(p.Warnings) != 1 {
			t.Fatalf("provided: %+v, %v", p, err)
		}
		to, ok := strings.CutPrefix(p.Warnings[0], "what was in the place of the worktree was moved to ")
		if !ok || verbtest.Read(t, filepath.Join(to, "mine.md")) != "a person's\n" {
			t.Errorf("it says %q", p.Warnings)
		}
	})
}

// A worktree that is made again, and whose setup fails, is given up; the work stays, and the next attempt has it.
func TestAWorktreeMadeAgainWhoseSetUpFailsIsGivenUp(t *testing.T) {
	t.Parallel()
	bothProviders(t, func(t *testing.T, one, _ *verbtest.Place) {
		trees, commit := submitted(one)
		one.Shell(one.Dir, "rm -rf .worktrees/task-1")
		one.Config.Worktree.Setup = []string{"exit 3"}
		s := one.State()
		if err := trees.Ensure(t.Context(), s, s.Task("task-1")); err == nil || one.Repo.WorktreeOf("task-1") != "" {
			t.Errorf("%v, and there is %q", err, one.Repo.WorktreeOf("task-1"))
		}
		one.Config.Worktree.Setup = nil
		one.Must(nil, trees.Ensure(t.Context(), s, s.Task("task-1")))
		if head := one.Git(one.Repo.WorktreePath("task-1"), "rev-parse", "HEAD"); head != commit {
			t.Errorf("it is at %s, want %s", head, commit)
		}
	})
}

func TestAMessageHasNoWorktree(t *testing.T) {
	t.Parallel()
	bothProviders(t, func(t *testing.T, one, _ *verbtest.Place) {
		trees, c := one.Service("coder-1").Worktrees, claim(one)
		c.Task.Kind = blackboard.MessageTask
		p, err := trees.Provide(t.Context(), c)
		if err != nil || p.Facts.Worktree != "" || !p.Facts.Confirm || one.Repo.WorktreeOf("task-1") != "" {
			t.Errorf("provided: %+v, %v", p, err)
		}
		one.Must(nil, errors.Join(trees.Confirm(t.Context(), c), trees.Cancel(t.Context(), c)))
	})
}

// worked is task-1, claimed by coder-1 and with a commit.
func worked(p *verbtest.Place) (trees *worktree.Worktrees, commit string) {
	d := p.Service("coder-1")
	p.Must(d.Claim(context.Background(), "task-1"))
	return d.Worktrees, p.Commit("task-1")
}

// submitted is task-1, submitted by coder-1.
func submitted(p *verbtest.Place) (trees *worktree.Worktrees, commit string) {
	trees, commit = worked(p)
	p.Must(p.Service("coder-1").Submit(context.Background(), verb.SubmitInput{Task: "task-1"}))
	return trees, commit
}

func TestAFolderThatIsGoneIsMadeAgainAtTheWork(t *testing.T) {
	t.Parallel()
	bothProviders(t, func(t *testing.T, one, two *verbtest.Place) {
		trees, commit := submitted(one)
		one.Shell(one.Dir, "rm -rf .worktrees/task-1")
		s := one.State()
		one.Must(nil, trees.Ensure(t.Context(), s, s.Task("task-1")))
		if head := one.Git(one.Repo.WorktreePath("task-1"), "rev-parse", "HEAD"); head != commit {
			t.Errorf("it is at %s, want %s", head, commit)
		}
		if log := verbtest.Read(t, one.Project.Journal()); strings.Count(log, string(blackboard.ActionWorktreeMadeAgain)) != 1 {
			t.Error("it is not told once")
		}
		if two == nil {
			return
		}
		two.Must(nil, two.Service("code-reviewer-1").Worktrees.Ensure(t.Context(), s, s.Task("task-1")))
		if head := two.Git(two.Repo.WorktreePath("task-1"), "rev-parse", "HEAD"); head != commit {
			t.Errorf("on the host of the reviewer it is at %s, want %s", head, commit)
		}
		if log := verbtest.Read(t, one.Project.Journal()); strings.Count(log, string(blackboard.ActionWorktreeMadeAgain)) != 1 {
			t.Error("a host that never had it tells that it was gone")
		}
	})
}

func TestWhatAReviewerChangesIsPutBack(t *testing.T) {
	t.Parallel()
	bothProviders(t, func(t *testing.T, one, two *verbtest.Place) {
		_, commit := submitted(one)
		p := one // the host of the reviewer
		if two != nil {
			p = two
		}
		reviewer := p.Service("code-reviewer-1")
		p.Must(reviewer.Reviews.ClaimReview(t.Context(), "task-1"))
		p.Must(reviewer.Worktrees.PutBack(t.Context(), "task-1", "")) // as before each review
		dir := p.Repo.WorktreePath("task-1")
		verbtest.Write(t, filepath.Join(dir, "task-1.md"), "another word\n")
		what, err := reviewer.Worktrees.PutBack(t.Context(), "task-1", "code-reviewer-1")
		if err != nil || !strings.Contains(what, "task-1.md") || !strings.Contains(what, "; saved as refs/liza/attic/task-1/") {
			t.Errorf("put back: %q, %v", what, err)
		}
		if text := verbtest.Read(t, filepath.Join(dir, "task-1.md")); text != "a word of task-1\n" || p.Git(dir, "rev-parse", "HEAD") != commit {
			t.Errorf("the worktree has %q", text)
		}
		if a := one.State().Anomalies; len(a) != 1 || a[0].Type != blackboard.AnomalyReviewerChanges {
			t.Errorf("anomalies %v", a)
		}
	})
}

// deaf is a board that takes no anomaly.
type deaf struct{ store.Store }

func (d deaf) Update(ctx context.Context, op store.Op, change func(*blackboard.State) error) error {
	if op.Name == "anomaly" {
		return errors.New("the board is away")
	}
	return d.Store.Update(ctx, op, change)
}

// Nothing is put back before the board has it: what is undone already is found by no other look.
func TestWhatIsPutBackIsToldFirst(t *testing.T) {
	t.Parallel()
	bothProviders(t, func(t *testing.T, one, _ *verbtest.Place) {
		submitted(one)
		reviewer := one.Service("code-reviewer-1")
		one.Must(reviewer.Reviews.ClaimReview(t.Context(), "task-1"))
		file := filepath.Join(one.Repo.WorktreePath("task-1"), "task-1.md")
		verbtest.Write(t, file, "another word\n")
		board := reviewer.Board.Store
		reviewer.Board.Store = deaf{board}
		if _, err := reviewer.Worktrees.PutBack(t.Context(), "task-1", "code-reviewer-1"); err == nil || verbtest.Read(t, file) != "another word\n" {
			t.Errorf("without its board: %v, and the worktree has %q", err, verbtest.Read(t, file))
		}
		reviewer.Board.Store = board
		what, err := reviewer.Worktrees.PutBack(t.Context(), "task-1", "code-reviewer-1")
		if err != nil || !strings.Contains(what, "task-1.md") || verbtest.Read(t, file) != "a word of task-1\n" || len(one.State().Anomalies) != 1 {
			t.Errorf("put back: %q, %v, %v", what, err, one.State().Anomalies)
		}
	})
}

// Of a claim that ends work is kept that is committed, and work that is not; a claim without any leaves nothing.
func TestAClaimThatEndsLeavesItsWork(t *testing.T) {
	t.Parallel()
	bothProviders(t, func(t *testing.T, one, two *verbtest.Place) {
		ctx, d := t.Context(), one.Service("coder-1")
		one.Must(d.Claim(ctx, "task-1"))
		leave := func() (bool, string) {
			t.Helper()
			s := one.State()
			work, attic, err := d.Worktrees.Leave(ctx, s, s.Task("task-1"))
			if err != nil {
				t.Fatal(err)
			}
			return work, attic
		}
		if work, attic := leave(); work || attic != "" {
			t.Errorf("a claim without work leaves %t and %q", work, attic)
		}
		verbtest.Write(t, filepath.Join(one.Repo.WorktreePath("task-1"), "dirty.md"), "dirty\n")
		work, attic := leave()
		if text := one.Git(one.Dir, "show", attic+":dirty.md"); !work || text != "dirty" {
			t.Errorf("what is not committed is saved as %q", text)
		}
		commit := one.Commit("task-1")
		if work, attic := leave(); !work || attic != "" {
			t.Errorf("a claim with a commit leaves %t and %q", work, attic)
		}
		if two == nil {
			return
		}
		s := two.State()
		task := s.Task("task-1")
		if work, _, err := two.Service("").Worktrees.Leave(ctx, s, task); work || err != nil {
			t.Errorf("another host finds work that is not on record: %v", err)
		}
		task.ReviewCommit = commit
		if work, _, err := two.Service("").Worktrees.Leave(ctx, s, task); !work || err != nil {
			t.Errorf("another host does not find what was pushed: %v", err)
		}
		if at := two.Git(two.Dir, "ls-remote", "origin", "refs/heads/task/task-1"); !strings.HasPrefix(at, commit) {
			t.Errorf("the remote has %q", at)
		}
	})
}

func TestTheTipOfATaskIsWhereItsWorkGoesOn(t *testing.T) {
	t.Parallel()
	bothProviders(t, func(t *testing.T, one, two *verbtest.Place) {
		trees, commit := submitted(one)
		task := one.State().Task("task-1")
		if tip := trees.Tip(t.Context(), task); tip != commit {
			t.Errorf("it is %q, want %s", tip, commit)
		}
		if two != nil {
			if tip := two.Service("").Worktrees.Tip(t.Context(), task); tip != commit {
				t.Errorf("on another host it is %q, want %s", tip, commit)
			}
		}
		other := *task
		other.ID, other.Host, other.ReviewCommit = "task-2", "three", strings.Repeat("1", 40)
		if tip := trees.Tip(t.Context(), &other); tip != "" {
			t.Errorf("of a task without work that is here or on the remote it is %q", tip)
		}
	})
}

func TestARecoveryTakesOverWhatAKilledRunHasCommitted(t *testing.T) {
	t.Parallel()
	bothProviders(t, func(t *testing.T, one, _ *verbtest.Place) {
		ctx, d := t.Context(), one.Service("coder-1")
		one.Must(d.Claim(ctx, "task-1"))
		s := one.State()
		one.Must(d.Worktrees.OpenFolder(ctx, s, s.Task("task-1"), "coder-1", true, true))
		commit := one.Commit("task-1")
		one.Shell(one.Project.GitDir, "cd liza/folders && cp -a task-1@coder-1 copy && rm -rf task-1@coder-1 && mv copy task-1@coder-1") // nobody holds this lock
		if did := d.Worktrees.Recover(ctx, false); len(did) > 0 {
			t.Errorf("while somebody may be at work there it did %q", did)
		}
		var did []string
		for n := 0; len(did) == 0 && n < 100; n++ { // a process that another test starts has the lock of the look before for a moment
			did = d.Worktrees.Recover(ctx, true)
		}
		if tip := one.Git(one.Dir, "rev-parse", "task/task-1"); tip != commit || len(did) != 1 || !strings.HasPrefix(did[0], "took over commit") {
			t.Errorf("the branch is at %s, want %s; it did %q", tip, commit, did)
		}
	})
}

// A host gives up its worktree once another host has the task; where there is one host nothing is another's.
func TestAHostShelvesWhatAnotherHasTakenOver(t *testing.T) {
	t.Parallel()
	bothProviders(t, func(t *testing.T, one, two *verbtest.Place) {
		trees, commit := worked(one)
		err := one.Store.Update(t.Context(), store.Op{Name: "test"}, func(s *blackboard.State) error {
			s.Task("task-1").Host, s.Agents["coder-1"].Host = "two", "two"
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		did := trees.Recover(t.Context(), true)
		if two == nil {
			if len(did) > 0 || one.Repo.WorktreeOf("task-1") == "" {
				t.Errorf("on the only host it did %q", did)
			}
			return
		}
		if len(did) != 1 || !strings.Contains(did[0], "is on host two now") || one.Repo.WorktreeOf("task-1") != "" {
			t.Errorf("it did %q", did)
		}
		if saved := one.Git(one.Dir, "rev-parse", "refs/liza/attic/task-1/1"); saved != commit {
			t.Errorf("saved is %s, want %s", saved, commit)
		}
	})
}

func TestAWorktreeIsDroppedOnlyWhenItsWorkIsSaved(t *testing.T) {
	t.Parallel()
	bothProviders(t, func(t *testing.T, one, _ *verbtest.Place) {
		trees, commit := worked(one)
		if err := trees.Drop(t.Context(), "task-1"); err == nil || one.Repo.WorktreeOf("task-1") == "" {
			t.Errorf("a commit that is saved nowhere was dropped: %v", err)
		}
		ref, problem := trees.Save(t.Context(), "task-1", "test")
		if problem != "" || one.Git(one.Dir, "rev-parse", ref) != commit {
			t.Errorf("saved as %q: %s", ref, problem)
		}
		one.Must(nil, trees.Drop(t.Context(), "task-1"))
		if one.Repo.WorktreeOf("task-1") != "" {
			t.Error("it is still there")
		}
	})
}
