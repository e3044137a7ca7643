package store_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/store"
)

const twoTasks = `version: 1
revision: 4
goal: {id: goal-1}
tasks:
  - id: task-2
    status: CLAIMED
  # the best one
  - id: task-1   # really
    status: MERGED
    x-mine:  {a:  1}
agents: {}
config: {}
sprint: {id: sprint-1}
`

func leave(id string) func(*blackboard.State) error {
	return func(s *blackboard.State) error {
		s.RemoveTasks(func(t *blackboard.Task) bool { return t.ID == id })
		return nil
	}
}

func TestWhatLeavesTheStateIsShownFirstAsItStandsInTheFile(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct{ file, want string }{
		"in pieces":  {twoTasks, "  # the best one\n  - id: task-1   # really\n    status: MERGED\n    x-mine:  {a:  1}\n"},
		"as a whole": {"{version: 1, revision: 4, goal: {id: goal-1}, tasks: [{id: task-1, status: MERGED, x-mine: {a: 1}}, {id: task-2, status: CLAIMED}], agents: {}, config: {}, sprint: {id: sprint-1}}\n", "  - id: task-1\n    status: MERGED\n    x-mine: {a: 1}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProject(t)
			p.write(p.path(), x.file)
			var seen []store.Gone
			op := store.Op{Name: "archive", Ahead: func(gone []store.Gone) error {
				if p.read(p.path()) != x.file {
					t.Error("the state was written before")
				}
				seen = gone
				return nil
			}}
			if err := p.open().Update(context.Background(), op, leave("task-1")); err != nil {
				t.Fatal(err)
			}
			if len(seen) != 1 || seen[0].Task.ID != "task-1" || seen[0].Text != x.want {
				t.Errorf("what left is %+v, want\n%s", seen, x.want)
			}
			if strings.Contains(p.read(p.path()), "task-1") {
				t.Error("the task is still there")
			}
		})
	}
}

func TestNothingIsWrittenWhenWhatComesFirstFails(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.write(p.path(), twoTasks)
	full := errors.New("the disk is full")
	called := 0
	op := store.Op{Name: "archive", Ahead: func([]store.Gone) error { called++; return full }}
	f := p.open()
	if err := f.Update(context.Background(), op, leave("task-1")); !errors.Is(err, full) {
		t.Errorf("got %v, want the failure", err)
	}
	if p.read(p.path()) != twoTasks {
		t.Error("the state was written")
	}
	refused := errors.New("no")
	if err := f.Update(context.Background(), op, func(*blackboard.State) error { return refused }); !errors.Is(err, refused) {
		t.Errorf("got %v", err)
	}
	if err := f.Update(context.Background(), op, func(*blackboard.State) error { return nil }); err != nil {
		t.Errorf("got %v", err)
	}
	if called != 1 {
		t.Errorf("called %d times: a change that is refused, and one that changes nothing, need nothing first", called)
	}
	m := store.NewMemory((&blackboard.State{}).With(&blackboard.Task{ID: "task-1", Status: blackboard.Merged}))
	if err := m.Update(context.Background(), op, leave("task-1")); !errors.Is(err, full) {
		t.Errorf("in memory: %v", err)
	}
	if s, err := m.View(context.Background()); err != nil || s.TaskCount() != 1 {
		t.Errorf("in memory the task is gone: %v", err)
	}
}
