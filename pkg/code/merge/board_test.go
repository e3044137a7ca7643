package merge_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/config"
	"liza/pkg/board/store"
	"liza/pkg/board/transition"
	"liza/pkg/code/merge"
	"liza/pkg/verb/verb/verbtest"
)

var errBoard = errors.New("the board is away")

// away is a board whose nth use fails before it does anything, or whose nth write is done and its answer lost.
type away struct {
	store.Store
	nth   int32
	after bool
	used  atomic.Int32
}

func (a *away) View(ctx context.Context) (*blackboard.State, error) {
	if !a.after && a.used.Add(1) == a.nth {
		return nil, errBoard
	}
	return a.Store.View(ctx)
}

func (a *away) Update(ctx context.Context, op store.Op, change func(*blackboard.State) error) error {
	now := a.used.Add(1) == a.nth
	if now && !a.after {
		return errBoard
	}
	if err := a.Store.Update(ctx, op, change); err != nil || !now {
		return err
	}
	return errBoard
}

// Whichever use of the board fails: somebody is told so, what was merged was checked, and the next call ends it exactly once. Of a train
// it is each fourth use, all with STORE_TEST_FULL.
func TestABoardThatIsAwayDuringAMergeIsToldOf(t *testing.T) {
	t.Parallel()
	all := func(m *merge.Merger) error { _, err := m.All(context.Background()); return err }
	for name, c := range map[string]struct {
		set      func(p *verbtest.Place)
		call     func(m *merge.Merger) error
		least    int    // uses of the board
		statuses string // in no order
	}{
		"a merge, and work after the submission": {func(p *verbtest.Place) {
			p.Approved("task-1")
			verbtest.Write(t, filepath.Join(p.Repo.WorktreePath("task-1"), "late.md"), "late\n")
		}, func(m *merge.Merger) error { _, err := m.Task(context.Background(), "task-1"); return err }, 5, "MERGED"},
		"a train with a culprit": {func(p *verbtest.Place) {
			p.Config.Merge.Train, p.Config.Merge.Slots = 8, 8
			p.Config.Integration.Checks = append(p.Config.Integration.Checks, collides(nil, [2]string{"task-1", "task-2"}))
			for _, id := range []string{"task-1", "task-2", "task-3"} {
				p.Approved(id)
			}
		}, all, 10, "INTEGRATION_FAILED MERGED MERGED"},
		"a check that passes the second time": {func(p *verbtest.Place) {
			p.Config.Merge.Rerun = true
			p.Config.Integration.Checks = append(p.Config.Integration.Checks, "test -e ../../.git/once || { touch ../../.git/once; exit 9; }")
			p.Approved("task-1")
		}, all, 5, "MERGED"},
		"an approval that is not enough": {func(p *verbtest.Place) {
			p.Approved("task-1")
			p.Config.Review.Quorum = []config.QuorumRule{{Paths: []string{"**"}, Reviewers: 2}}
		}, all, 4, "READY_FOR_REVIEW"},
		"a sync": {func(p *verbtest.Place) { base(p, "later.md", "later\n") },
			func(m *merge.Merger) error {
				commit, err := m.Repo.Resolve(context.Background(), "later")
				if err == nil {
					_, err = m.Sync(context.Background(), "later", commit, false)
				}
				return err
			}, 4, ""},
		"lost work": {func(p *verbtest.Place) {
			p.Approved("task-1")
			mustMerge(t, p, "task-1")
			p.Git(p.Dir, "update-ref", "refs/heads/integration", "main")
			p.Accept()
		}, func(m *merge.Merger) error {
			_, err := m.Again(context.Background(), "task-1")
			if refused := new(transition.Refusal); errors.As(err, &refused) && strings.Contains(err.Error(), "is on integration already") {
				err = nil // the branch moved, and the answer was lost
			}
			return err
		}, 4, "MERGED"},
		"a clean-up": {func(p *verbtest.Place) {
			p.Approved("task-1")
			interrupt(t, merger(p), "task-1", "M9")
		}, func(m *merge.Merger) error { return m.CleanUp(context.Background()) }, 2, "MERGED"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := verbtest.New(t)
			p.Config.Integration.Checks = []string{"touch ../../.git/checked"}
			c.set(p)
			back := p.Remember()
			step := int32(1)
			if strings.HasPrefix(name, "a train") && os.Getenv("STORE_TEST_FULL") == "" {
				step = 4
			}
			for _, after := range []bool{false, true} {
				for n := int32(1); ; n += step {
					back()
					before := head(p)
					m := merger(p)
					board := &away{Store: m.Store, nth: n, after: after}
					told := []string{}
					m.Store, m.Warn = board, func(text string) { told = append(told, text) }
					err := c.call(m)
					if _, unchecked := os.Lstat(filepath.Join(p.Dir, ".git", "checked")); head(p) != before && unchecked != nil {
						t.Fatalf("use %d failed, and what was not checked is merged", n)
					}
					if board.used.Load() < n {
						if int(n) <= c.least && !after {
							t.Errorf("only %d uses of the board", n-1)
						}
						break
					}
					var failed *merge.FailedError
					if err != nil && !errors.Is(err, errBoard) && !errors.As(err, &failed) {
						t.Errorf("use %d failed, and the error is %v", n, err)
					}
					said := slices.ContainsFunc(told, func(text string) bool { return strings.Contains(text, errBoard.Error()) })
					if !errors.Is(err, errBoard) && !said {
						t.Errorf("use %d failed, and nobody is told: %v, %q", n, err, told)
					}
					if err := c.call(merger(p)); err != nil && !errors.As(err, &failed) {
						t.Errorf("use %d failed, and so does the next call: %v", n, err)
					}
					if err := merger(p).CleanUp(context.Background()); err != nil {
						t.Error(err)
					}
					var statuses, left []string
					for task := range p.State().Tasks() {
						statuses = append(statuses, string(task.Status))
						if merges := entries(task, "merged") + entries(task, "integration_failed"); merges > 1 {
							t.Errorf("use %d failed: %s has %d ends", n, task.ID, merges)
						}
						if task.Worktree != "" {
							left = append(left, task.ID)
						}
					}
					slices.Sort(statuses)
					if got := strings.Join(statuses, " "); got != c.statuses {
						t.Errorf("use %d failed: the tasks are %s at last", n, got)
					}
					p.Sound(left...)
				}
			}
		})
	}
}
