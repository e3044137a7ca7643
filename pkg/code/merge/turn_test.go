package merge_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/store"
	"liza/pkg/code/merge"
	"liza/pkg/verb/verb/verbtest"
)

// While one host merges the others wait; what a host leaves behind that dies in its turn is ended by the next one.
func TestOneHostMergesAtATime(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.WithRemote()
	p.Shared, p.Host = true, "one"
	p.Approved("task-1")
	p.Approved("task-2")
	two := p.OnHost("two")
	other := merger(two)
	other.LockTimeout = 50 * time.Millisecond
	m := merger(p)
	m.At = func(point string) {
		if point != "M6" {
			return
		}
		_, err := other.Task(context.Background(), "task-2")
		if held := new(merge.TurnError); !errors.As(err, &held) || held.Turn.Host != "one" {
			t.Errorf("host two merged in the turn of host one: %v", err)
		}
	}
	if _, err := m.Task(context.Background(), "task-1"); err != nil {
		t.Fatal(err)
	}
	if turn := p.State().Integration.Turn; turn == nil || turn.Host != "" {
		t.Errorf("the turn was not ended: %+v", turn)
	}
	mustMerge(t, two, "task-2")
	p.Sound("task-2") // until host one looks
}

// A host that was away for too long does not write what it had begun: its turn is another's.
func TestAMergeWhoseTurnIsOverChangesNothing(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"M6", "P1"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			p := verbtest.New(t)
			remote := p.WithRemote()
			p.Shared, p.Host = true, "one"
			p.Approved("task-1")
			two := p.OnHost("two")
			m := merger(p)
			m.At = func(at string) {
				if at != point {
					return
				}
				err := p.Store.Update(context.Background(), store.Op{Name: "test"}, func(s *blackboard.State) error {
					turn := *s.Integration.Turn
					turn.Until = blackboard.TimeOf(time.Now().Add(-time.Second))
					s.Integration.Turn = &turn
					return nil
				})
				if err != nil {
					t.Error(err)
				}
				mustMerge(t, two, "task-1")
			}
			if _, err := m.Task(context.Background(), "task-1"); err == nil {
				t.Error("a merge went on after its turn")
			}
			task := p.State().Task("task-1")
			if merges := p.Git(remote, "log", "--merges", "--format=%H", "integration"); task.Status != blackboard.Merged || entries(task, "merged") != 1 || merges != task.MergeCommit {
				t.Errorf("task-1 is %s as %s with %d entries, the remote has the merges %s", task.Status, task.MergeCommit, entries(task, "merged"), merges)
			}
			if term := p.State().Integration.Turn.Term; term != 2 {
				t.Errorf("the term is %d, want 2", term)
			}
		})
	}
}
