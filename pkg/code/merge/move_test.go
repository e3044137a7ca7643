package merge_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/code/merge"
	"liza/pkg/team/maintain"
	"liza/pkg/verb/sprint"
	"liza/pkg/verb/verb/verbtest"
)

// died runs what ends at the named failpoint, as if its process had died there.
func died(t *testing.T, m *merge.Merger, point string, run func()) {
	t.Helper()
	type death string
	m.At = func(at string) {
		if at == point {
			panic(death(at))
		}
	}
	defer func() {
		if r := recover(); r == nil {
			t.Fatalf("it did not come to %s", point)
		} else if _, ok := r.(death); !ok {
			panic(r)
		}
	}()
	run()
}

// base commits a file to main, as the person does, without touching the checkout.
func base(p *verbtest.Place, name, text string) string {
	p.TB.Helper()
	dir := p.TB.TempDir() + "/main"
	p.Git(p.Dir, "worktree", "add", "-q", "--detach", dir, "main")
	verbtest.Write(p.TB, dir+"/"+name, text)
	p.Git(dir, "add", "-A")
	p.Git(dir, "commit", "-q", "-m", "main: "+name)
	commit := p.Git(dir, "rev-parse", "HEAD")
	p.Git(p.Dir, "worktree", "remove", "--force", dir)
	p.Git(p.Dir, "branch", "-q", "later", commit) // main itself is checked out
	return commit
}

// Wherever a sync dies, the next one ends it: one commit, one entry, the tip remembered, nothing left over.
func TestAnInterruptedSyncConverges(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"M0", "M2", "M3", "M4", "M5", "M6", "M7", "M8", "M9"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			p := verbtest.New(t)
			p.Config.Integration.Checks = []string{"test -f later.txt"}
			p.Outside("outside.txt", "a word\n") // so that it is not a fast-forward
			commit := base(p, "later.txt", "later\n")
			m := merger(p)
			died(t, m, point, func() { _, _ = m.Sync(context.Background(), "later", commit, false) })
			r, err := merger(p).Sync(context.Background(), "later", commit, false)
			if err != nil {
				t.Fatal(err)
			}
			if want := map[bool]string{true: merge.SyncUpToDate, false: merge.SyncDone}[point >= "M8"]; r.Status != want {
				t.Errorf("after %s the sync is %s, want %s", point, r.Status, want)
			}
			if err := merger(p).CleanUp(context.Background()); err != nil {
				t.Fatal(err)
			}
			p.Sound()
			once(t, p, "integration_synced", "Sync integration with later")
		})
	}
}

// once checks that the branch has one merge of that subject, which the board remembers as its tip.
func once(t *testing.T, p *verbtest.Place, action, subject string) {
	t.Helper()
	if merges := p.Git(p.Dir, "log", "--merges", "--format=%s", "integration"); merges != subject {
		t.Errorf("merges on the branch: %q, want %q once", merges, subject)
	}
	s := p.State()
	if tip := p.Git(p.Dir, "rev-parse", "integration"); s.Tip() != tip || s.Integration.Intent != nil {
		t.Errorf("the board remembers %+v, the branch is at %s", s.Integration, tip)
	}
	log, err := os.ReadFile(p.Project.Journal())
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(log), "action: "+action+","); n != 1 {
		t.Errorf("%d entries %s, want one", n, action)
	}
}

// A conflict names its files and a failing check its log; nothing moves, and nothing is left over. A dry run tells of
// the conflict too.
func TestASyncThatFailsMovesNothing(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"conflict": "cannot sync integration with later: conflict in word.txt; nothing was moved", "checks": "nothing was moved"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := verbtest.New(t)
			file := "word.txt"
			if name == "checks" {
				p.Config.Integration.Checks, file = []string{"false"}, "other.txt"
			}
			p.Outside("word.txt", "one word\n")
			commit := base(p, file, "another word\n")
			before, revision := head(p), p.State().Revision
			_, err := merger(p).Sync(context.Background(), "later", commit, false)
			var moved *merge.MoveError
			if !errors.As(err, &moved) || moved.Reason != name || !strings.Contains(err.Error(), want) {
				t.Fatalf("the sync ended with %v", err)
			}
			if name == "checks" && (moved.Check != `"false" ended with exit code 1` || moved.Log == "") {
				t.Errorf("the check is not told: %+v", moved)
			}
			if _, err := merger(p).Sync(context.Background(), "later", commit, true); (err != nil) != (name == "conflict") {
				t.Errorf("the dry run ended with %v", err)
			}
			if head(p) != before || p.State().Revision != revision {
				t.Error("something was moved or written")
			}
			p.Sound()
		})
	}
}

// Of a sync that died just before the branch moved, and a branch that somebody then moved elsewhere, nothing is decided until a person does.
func TestAnInterruptedSyncWaitsForAPersonWhereTheBranchIsElsewhere(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	commit, known := base(p, "later.txt", "later\n"), head(p)
	m := merger(p)
	died(t, m, "M7", func() { _, _ = m.Sync(context.Background(), "later", commit, false) })
	p.Push("pushed.md", "a word\n")
	foreign := head(p)
	_, err := merger(p).Sync(context.Background(), "later", commit, false)
	if _, ok := errors.AsType[*transition.Refusal](err); !ok {
		t.Errorf("the next sync: %v", err)
	}
	if s := p.State(); head(p) != foreign || s.Tip() != known || s.Integration.Intent == nil {
		t.Fatalf("the branch is at %s, want %s; the board has %+v", head(p), foreign, s.Integration)
	}
	must(t)(p.Service("").Merges.RestoreIntegration(context.Background(), ""))
	must(t)(merger(p).Sync(context.Background(), "later", commit, false))
	if s := p.State(); !contains(p, "later.txt") || contains(p, "pushed.md") || s.Tip() != head(p) || s.Integration.Intent != nil {
		t.Errorf("the branch is at %s, the board has %+v", head(p), s.Integration)
	}
}

// Lost work is merged again exactly once, wherever that is interrupted.
func TestLostWorkIsMergedAgainOnce(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"", "M2", "M5", "M6", "M7", "M8", "M9"} {
		t.Run("died at "+point, func(t *testing.T) {
			t.Parallel()
			p := verbtest.New(t)
			p.Approved("task-1")
			mustMerge(t, p, "task-1")
			p.Git(p.Dir, "update-ref", "refs/heads/integration", "main")
			p.Accept()
			if point != "" {
				m := merger(p)
				died(t, m, point, func() { _, _ = m.Again(context.Background(), "task-1") })
			}
			r, err := merger(p).Again(context.Background(), "task-1")
			var refused *transition.Refusal
			if done := point >= "M8"; done != (errors.As(err, &refused) && strings.Contains(err.Error(), "is on integration already")) || !done && err != nil {
				t.Fatalf("the second merge ended with %+v, %v", r, err)
			}
			if err := merger(p).CleanUp(context.Background()); err != nil {
				t.Fatal(err)
			}
			p.Sound()
			once(t, p, "merged_again", "Merge task-1: Write task-1")
			if task := p.State().Task("task-1"); task.MergeCommit != head(p) || entries(task, "merged_again") != 1 {
				t.Errorf("task-1 names %s with %d entries", task.MergeCommit, entries(task, "merged_again"))
			}
		})
	}
}

// A goal whose merged work is not on the branch is not complete; with the work back it is.
func TestAGoalWithoutItsMergedWorkIsNotComplete(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.Approved("task-1")
	mustMerge(t, p, "task-1")
	ctx, d := context.Background(), p.Service("")
	p.Git(p.Dir, "update-ref", "refs/heads/integration", "main")
	for _, want := range []string{"which Liza did not make", "the work of task-1 is merged, but not on integration; next: liza merge --again task-1"} {
		c, err := sprint.Complete(ctx, d, transition.CompletionFacts{})
		missing, _ := d.Integration.MissingWork(ctx)
		if err != nil || c != transition.CompletionMissing || p.State().Goal.Status != blackboard.InProgress || !strings.Contains(missing, want) {
			t.Fatalf("completion is %q (%v), the goal %s: %s", c, err, p.State().Goal.Status, missing)
		}
		if want == "which Liza did not make" {
			p.Accept()
		}
	}
	if _, err := d.Merges.MergeAgain(ctx, "task-1"); err != nil {
		t.Fatal(err)
	}
	if c, err := sprint.Complete(ctx, d, transition.CompletionFacts{}); err != nil || c != transition.CompletionComplete {
		t.Errorf("with its work back the goal is %q: %v", c, err)
	}
}

// A merge under way is not taken for somebody else's: anyone who looks at any moment of it sees a branch that is Liza's.
func TestTheBranchIsNeverForeignDuringAMerge(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.Approved("task-1")
	m := merger(p)
	before := p.State() // a snapshot from before the merge
	m.At = func(point string) {
		for _, s := range []*blackboard.State{before, p.State()} {
			if b, err := p.Service("").Integration.LookAtIntegration(context.Background(), s); err != nil || b.Moved {
				t.Errorf("at %s the branch is called moved: %s, %v", point, b.Text, err)
			}
		}
	}
	if _, err := m.Task(context.Background(), "task-1"); err != nil {
		t.Fatal(err)
	}
	if s := p.State(); s.Tip() != head(p) {
		t.Errorf("the board remembers %s, the branch is at %s", s.Tip(), head(p))
	}
}

// A decision that dies halfway is made again: the branch ends where it was put, the other tip is saved once.
func TestAnInterruptedDecisionConverges(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"I1", "I2", "I3"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			p := verbtest.New(t)
			known := head(p)
			p.Push("outside.txt", "pushed\n")
			foreign := head(p)
			d := p.Service("")
			func() {
				type death string
				d.Board.At = func(at string) {
					if at == point {
						panic(death(at))
					}
				}
				defer func() { _ = recover() }()
				_, _ = d.Merges.RestoreIntegration(context.Background(), "not mine")
				t.Errorf("it did not come to %s", point)
			}()
			if log := verbtest.Read(t, p.Project.Journal()); head(p) == known && !strings.Contains(log, "saved as refs/liza/attic/_integration/1: not mine") {
				t.Errorf("the branch is back, and the journal does not say why:\n%s", log)
			}
			_, err := p.Service("").Merges.RestoreIntegration(context.Background(), "")
			var refused *transition.Refusal
			if moved := point == "I3"; moved != (errors.As(err, &refused) && refused.Exit == transition.ExitNothing) || !moved && err != nil {
				t.Fatalf("the second call ended with %v", err)
			}
			if s := p.State(); head(p) != known || s.Tip() != known || s.Integration.Moved != nil {
				t.Errorf("the branch is at %s, the board remembers %+v, want %s", head(p), s.Integration, known)
			}
			if saved := p.Git(p.Dir, "for-each-ref", "--format=%(objectname)", "refs/liza/attic/_integration"); saved != foreign {
				t.Errorf("the attic has %q, want %s once", saved, foreign)
			}
		})
	}
}

// An old board that is put back does not take back what is known of the branch.
func TestARestoredBoardKeepsTheTip(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.Approved("task-1")
	revision := p.State().Revision
	mustMerge(t, p, "task-1")
	if _, err := maintain.Restore(context.Background(), p.Service(""), revision); err != nil {
		t.Fatal(err)
	}
	if s := p.State(); s.Tip() != head(p) || s.Task("task-1").Status != blackboard.Approved {
		t.Fatalf("the board remembers %s, the branch is at %s", s.Tip(), head(p))
	}
	if r := mustMerge(t, p, "task-1"); r.MergeCommit != head(p) {
		t.Errorf("recorded as %s, the branch is at %s", r.MergeCommit, head(p))
	}
}

// A sync that a check does not verify waits for a person; it is done, and says so, where that is allowed.
func TestASyncOntoARedBranch(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.Config.Review.Baseline = true
	p.Config.Integration.Checks = []string{"exit 5"}
	p.Outside("outside.txt", "a word\n")
	commit := base(p, "later.txt", "later\n")
	m, was := merger(p), head(p)
	var told []string
	m.Warn = func(text string) { told = append(told, text) }
	_, err := m.Sync(context.Background(), "later", commit, false)
	if refused, ok := errors.AsType[*transition.Refusal](err); !ok || refused.Guard != merge.WaitsForChecks || head(p) != was {
		t.Fatalf("a sync that nothing verifies gives %v, and the branch is at %.9s, not %.9s", err, head(p), was)
	}
	p.Config.Integration.Unverified = "allow"
	if r, err := merger(p).Sync(context.Background(), "later", commit, false); err != nil || r.Status != merge.SyncDone || len(r.Unverified) != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	if !strings.Contains(strings.Join(told, "\n"), "fails on integration without the sync too") {
		t.Errorf("told %q", told)
	}
}
