// Package storetest is the suite that every store.Store must pass.
//
//	func TestMemory(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) store.Store { return store.NewMemory(storetest.First()) })
//	}
package storetest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/store"
)

// patience is how long a signal may take.
const patience = 10 * time.Second

var op = store.Op{Name: "test", Agent: "coder-1"}

// First is the state that an opened store must have: two tasks, one agent, revision 1.
func First() *blackboard.State {
	return (&blackboard.State{
		Version: "1",
		Goal:    &blackboard.Goal{ID: "goal-1", Description: "Greeting CLI", Status: blackboard.InProgress},
		Agents:  map[string]*blackboard.Agent{"coder-1": {Role: blackboard.RoleCoder, Status: blackboard.AgentIdle}},
		Sprint:  &blackboard.Sprint{ID: "sprint-1", GoalRef: "goal-1", Status: blackboard.InProgress},
		Config:  blackboard.Settings{"lease_duration": 1800},
	}).With([]*blackboard.Task{
		{ID: "task-1", Description: "One", Status: blackboard.Unclaimed, Files: blackboard.List{"a.go"}, History: []*blackboard.HistoryEntry{{Time: "2026-01-19T14:00:00Z", Event: blackboard.HistoryCreated}}},
		{ID: "task-2", Description: "Two", Status: blackboard.Unclaimed},
	}...)
}

// Pure gives a change function that runs change on a copy as well and fails the test
// when it does something else there: a store may run it more than once.
func Pure(t testing.TB, change func(*blackboard.State) error) func(*blackboard.State) error {
	return func(s *blackboard.State) error {
		twin := s.Clone()
		err, errTwin := change(s), change(twin)
		if fmt.Sprint(err) != fmt.Sprint(errTwin) {
			t.Errorf("the change returns %v, and %v on a copy", err, errTwin)
		}
		if err == nil && !reflect.DeepEqual(s.Clone(), twin.Clone()) {
			t.Errorf("the change makes %+v, and %+v of a copy", s, twin)
		}
		return err
	}
}

// Run runs the suite. open gives a new store with the state First.
func Run(t *testing.T, open func(t *testing.T) store.Store) {
	for _, c := range []struct {
		name string
		test func(*testing.T, store.Store)
	}{
		{"the first state is First", theFirstState},
		{"an update changes the state and raises the revision by one", updates},
		{"no update is lost among goroutines", concurrency},
		{"a refused change leaves no trace", refusal},
		{"a change of nothing writes nothing", nothing},
		{"states that are handed out belong to the caller", aliasing},
		{"entries come, change, move and go", entries},
		{"a watcher hears of a write, and its channel ends with the context", watching},
		{"an ended context does nothing", cancelled},
		{"a panic in a change frees the lock", panicking},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.test(t, open(t))
		})
	}
}

func view(t *testing.T, st store.Store) *blackboard.State {
	t.Helper()
	s, err := st.View(t.Context())
	if err != nil {
		t.Fatalf("cannot view: %v", err)
	}
	return s
}

func update(t *testing.T, st store.Store, change func(*blackboard.State) error) {
	t.Helper()
	if err := st.Update(t.Context(), op, Pure(t, change)); err != nil {
		t.Fatalf("cannot update: %v", err)
	}
}

func theFirstState(t *testing.T, st store.Store) {
	s := view(t, st)
	if s.Revision != 1 || s.TaskCount() != 2 || s.TaskAt(0).History[0].Event != blackboard.HistoryCreated || s.Agents["coder-1"] == nil || s.Config["lease_duration"] != 1800 {
		t.Errorf("the first state is %+v", s)
	}
	if len(s.Entries()) != 0 {
		t.Errorf("the first state has entries: %+v", s.Entries())
	}
}

func updates(t *testing.T, st store.Store) {
	update(t, st, func(s *blackboard.State) error {
		t := s.Task("task-1")
		t.Status, t.AssignedTo = blackboard.Claimed, "coder-1"
		t.History = append(t.History, &blackboard.HistoryEntry{Time: "2026-01-19T14:02:00Z", Event: blackboard.HistoryClaimed, Agent: "coder-1"})
		s.Agents["coder-1"].CurrentTask = "task-1"
		s.Record(blackboard.Entry{Action: blackboard.ActionClaimed, Task: "task-1"})
		s.Revision, s.Version = 77, "9" // not theirs to change
		return nil
	})
	s := view(t, st)
	task := s.TaskAt(0)
	if task.Status != blackboard.Claimed || task.AssignedTo != "coder-1" || len(task.History) != 2 || task.History[1].Event != blackboard.HistoryClaimed || s.Agents["coder-1"].CurrentTask != "task-1" {
		t.Errorf("task-1 is %+v", task)
	}
	if s.Revision != 2 || s.Version != "1" || len(s.Entries()) != 0 {
		t.Errorf("revision %d, version %s, entries %v, want 2, 1 and none", s.Revision, s.Version, s.Entries())
	}
	if s.TaskAt(1).Status != blackboard.Unclaimed {
		t.Errorf("task-2 is %+v", s.TaskAt(1))
	}
	update(t, st, func(s *blackboard.State) error {
		t := s.Task("task-1")
		t.AssignedTo, t.Files, s.Agents["coder-1"].CurrentTask = "", nil, ""
		return nil
	})
	if s = view(t, st); s.Revision != 3 || s.TaskAt(0).AssignedTo != "" || len(s.TaskAt(0).Files) != 0 {
		t.Errorf("after emptying fields: revision %d, %+v", s.Revision, s.TaskAt(0))
	}
}

func concurrency(t *testing.T, st store.Store) {
	const writers, each = 8, 10
	var wait sync.WaitGroup
	for w := range writers {
		wait.Go(func() {
			last := 0
			for range each {
				err := st.Update(t.Context(), op, Pure(t, func(s *blackboard.State) error {
					s.HumanNotes = append(s.HumanNotes, &blackboard.Note{ID: fmt.Sprintf("note-%d", len(s.HumanNotes)+1), Message: fmt.Sprint(w)})
					s.Task(s.TaskAt(w%2).ID).Iteration++
					s.Record(blackboard.Entry{Action: blackboard.ActionNote})
					return nil
				}))
				if err != nil {
					t.Errorf("writer %d: %v", w, err)
					return
				}
				s, err := st.View(t.Context())
				if err != nil {
					t.Errorf("reader %d: %v", w, err)
					return
				}
				if s.Revision <= last || len(s.HumanNotes) != s.Revision-1 || s.TaskAt(0).Iteration+s.TaskAt(1).Iteration != s.Revision-1 {
					t.Errorf("after revision %d a reader saw revision %d with %d notes and %d+%d iterations",
						last, s.Revision, len(s.HumanNotes), s.TaskAt(0).Iteration, s.TaskAt(1).Iteration)
				}
				last = s.Revision
			}
		})
	}
	wait.Wait()
	if s := view(t, st); s.Revision != 1+writers*each {
		t.Errorf("the revision is %d, want %d", s.Revision, 1+writers*each)
	}
}

func refusal(t *testing.T, st store.Store) {
	before := view(t, st)
	refused := errors.New("it is somebody else's")
	err := st.Update(t.Context(), op, Pure(t, func(s *blackboard.State) error {
		s.Task("task-1").Status = blackboard.Claimed
		s.Agents = nil
		s.Record(blackboard.Entry{Action: blackboard.ActionClaimed})
		return refused
	}))
	if !errors.Is(err, refused) {
		t.Errorf("got %v, want the change's own error", err)
	}
	if after := view(t, st); !reflect.DeepEqual(before.Clone(), after.Clone()) {
		t.Errorf("the state was\n%+v\nand is\n%+v", before, after)
	}
}

func nothing(t *testing.T, st store.Store) {
	for name, change := range map[string]func(*blackboard.State) error{
		"no change":         func(s *blackboard.State) error { return nil },
		"empty for nil":     func(s *blackboard.State) error { s.Task("task-2").Files = blackboard.List{}; return nil },
		"there and back":    func(s *blackboard.State) error { s.Goal.Summary += "x"; s.Goal.Summary = ""; return nil },
		"ErrUnchanged":      func(s *blackboard.State) error { s.Task(s.TaskAt(0).ID).ID = "x"; return store.ErrUnchanged },
		"ErrUnchanged, too": func(s *blackboard.State) error { return fmt.Errorf("held already: %w", store.ErrUnchanged) },
	} {
		update(t, st, func(s *blackboard.State) error {
			if err := change(s); err != nil && !errors.Is(err, store.ErrUnchanged) {
				return err
			}
			return change(s)
		})
		if s := view(t, st); s.Revision != 1 || s.TaskAt(0).ID != "task-1" {
			t.Errorf("%s: revision %d, first task %s", name, s.Revision, s.TaskAt(0).ID)
		}
	}
	update(t, st, func(s *blackboard.State) error { s.Record(blackboard.Entry{Action: blackboard.ActionNote}); return nil })
	if s := view(t, st); s.Revision != 2 {
		t.Errorf("an entry without a change leads to revision %d, want 2", s.Revision)
	}
}

func aliasing(t *testing.T, st store.Store) {
	spoil := func(s *blackboard.State) {
		t := s.Task(s.TaskAt(0).ID)
		t.Status = "SPOILT"
		t.Files[0] = "spoilt"
		t.History[0].Event = "spoilt"
		s.Agents["coder-1"].Status = "SPOILT"
		s.Agents["spoilt"] = nil
		s.Config["lease_duration"] = "spoilt"
		s.Goal.ID = "spoilt"
		s.RemoveTasks(func(t *blackboard.Task) bool { return t.ID == "task-2" })
	}
	want := view(t, st)
	spoil(view(t, st))
	if got := view(t, st); !reflect.DeepEqual(got.Clone(), want.Clone()) {
		t.Fatalf("who changes what he viewed changes the store: %+v", got)
	}
	var kept *blackboard.State
	change := func(s *blackboard.State) error {
		kept = s
		s.Task("task-1").Priority = new(int)
		s.Goal.Summary = "kept"
		return nil
	}
	if err := st.Update(t.Context(), op, change); err != nil {
		t.Fatal(err)
	}
	want = view(t, st)
	spoil(kept)
	*kept.TaskAt(0).Priority = 5
	if got := view(t, st); !reflect.DeepEqual(got.Clone(), want.Clone()) {
		t.Fatalf("who keeps what Update gave him changes the store: %+v", got)
	}
	update(t, st, func(s *blackboard.State) error { s.Goal.Summary = "again"; return nil })
	want.Goal.Summary, want.Revision = "again", 3
	if got := view(t, st); !reflect.DeepEqual(got.Clone(), want.Clone()) {
		t.Fatalf("the next update writes what was spoilt: %+v", got)
	}
}

func entries(t *testing.T, st store.Store) {
	ids := func() (ids string) {
		for task := range view(t, st).Tasks() {
			ids += task.ID + " "
		}
		return ids
	}
	for _, c := range []struct {
		change func(s *blackboard.State)
		want   string
	}{
		{func(s *blackboard.State) { s.AddTasks(&blackboard.Task{ID: "task-3", Status: "DRAFT"}) }, "task-1 task-2 task-3 "},
		{func(s *blackboard.State) {
			s.SetTasks(append([]*blackboard.Task{{ID: "task-0"}}, s.TaskList()...), nil)
		}, "task-0 task-1 task-2 task-3 "},
		{func(s *blackboard.State) { l := s.TaskList(); l[1], l[2] = l[2], l[1]; s.SetTasks(l, nil) }, "task-0 task-2 task-1 task-3 "},
		{func(s *blackboard.State) { s.RemoveTasks(func(t *blackboard.Task) bool { return t.ID == "task-2" }) }, "task-0 task-1 task-3 "},
		{func(s *blackboard.State) { s.Task(s.TaskAt(1).ID).ID = "task-9" }, "task-0 task-9 task-3 "},
		{func(s *blackboard.State) { s.SetTasks(nil, nil) }, ""},
		{func(s *blackboard.State) { s.SetTasks([]*blackboard.Task{{ID: "task-5"}}, nil) }, "task-5 "},
	} {
		update(t, st, func(s *blackboard.State) error { c.change(s); return nil })
		if got := ids(); got != c.want {
			t.Fatalf("the tasks are %q, want %q", got, c.want)
		}
	}
	update(t, st, func(s *blackboard.State) error {
		s.Agents["planner-1"] = &blackboard.Agent{Role: blackboard.RolePlanner, Status: blackboard.AgentIdle}
		delete(s.Agents, "coder-1")
		s.Handoff = map[string]*blackboard.Handoff{"task-5": {Agent: "coder-1", Summary: "done: half", NextAction: "the rest"}}
		s.Secrets = []string{"token"}
		s.Usage = &blackboard.Usage{CostCents: 3}
		s.Config["new"] = "x"
		return nil
	})
	s := view(t, st)
	if len(s.Agents) != 1 || s.Agents["planner-1"].Role != blackboard.RolePlanner || s.Handoff["task-5"].Summary != "done: half" || len(s.Secrets) != 1 || s.Usage.CostCents != 3 || s.Config["new"] != "x" {
		t.Errorf("the state is %+v", s)
	}
	update(t, st, func(s *blackboard.State) error {
		s.Agents, s.Handoff, s.Secrets, s.Usage = nil, nil, nil, nil
		return nil
	})
	if s = view(t, st); len(s.Agents)+len(s.Handoff)+len(s.Secrets) != 0 || s.Usage != nil {
		t.Errorf("after removing all of it the state is %+v", s)
	}
}

func watching(t *testing.T, st store.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	signals := st.Watch(ctx)
	for i := range 3 {
		update(t, st, func(s *blackboard.State) error { s.Goal.Summary = fmt.Sprint("summary ", i); return nil })
		for seen := false; !seen; {
			select {
			case <-signals: // it may be a late one of the write before
				seen = view(t, st).Goal.Summary == fmt.Sprint("summary ", i)
			case <-time.After(patience):
				t.Fatal("no signal came after a write")
			}
		}
	}
	cancel()
	for open := true; open; {
		select {
		case _, open = <-signals:
		case <-time.After(patience):
			t.Fatal("the channel is not closed after the context ended")
		}
	}
}

func cancelled(t *testing.T, st store.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := st.View(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("View gives %v", err)
	}
	ran := false
	if err := st.Update(ctx, op, func(*blackboard.State) error { ran = true; return nil }); !errors.Is(err, context.Canceled) || ran {
		t.Errorf("Update gives %v, and ran the change: %v", err, ran)
	}
	ctx, cancel = context.WithCancel(t.Context())
	err := st.Update(ctx, op, func(s *blackboard.State) error { cancel(); s.Goal.Summary = "late"; return nil })
	if !errors.Is(err, context.Canceled) || view(t, st).Revision != 1 {
		t.Errorf("a context that ends during the change gives %v and revision %d", err, view(t, st).Revision)
	}
}

func panicking(t *testing.T, st store.Store) {
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic of the change was swallowed")
			}
		}()
		_ = st.Update(t.Context(), op, func(*blackboard.State) error { panic("a bug") })
	}()
	update(t, st, func(s *blackboard.State) error { s.Goal.Summary = "after"; return nil })
}
