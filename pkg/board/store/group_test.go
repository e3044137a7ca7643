package store_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"liza/pkg/base/yamldoc"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/history"
	"liza/pkg/board/store"
)

// together asks a group for changes while it writes another one, so that they are written at once.
func together(t *testing.T, g *store.Group, changes map[string]func(*blackboard.State) error) (errs map[string]error, panics map[string]any) {
	t.Helper()
	errs, panics = map[string]error{}, map[string]any{}
	var mu sync.Mutex
	var all sync.WaitGroup
	writing, waiting := make(chan struct{}), make(chan struct{})
	first := sync.OnceFunc(func() { close(writing) })
	all.Go(func() {
		must(t, g.Update(t.Context(), store.Op{Name: "first", Agent: "first"}, func(s *blackboard.State) error {
			first()
			<-waiting
			s.Record(blackboard.Entry{Action: "note", Detail: "first"})
			return nil
		}))
	})
	<-writing
	for name, change := range changes {
		all.Go(func() {
			defer func() {
				mu.Lock()
				defer mu.Unlock()
				panics[name] = recover()
			}()
			err := g.Update(t.Context(), store.Op{Name: name, Agent: name}, change)
			mu.Lock()
			defer mu.Unlock()
			errs[name] = err
		})
	}
	g.AwaitAsking(len(changes))
	close(waiting)
	all.Wait()
	return errs, panics
}

func noted(task string) func(*blackboard.State) error {
	return func(s *blackboard.State) error {
		s.Task(task).Iteration++
		s.Record(blackboard.Entry{Action: "note", Task: task})
		return nil
	}
}

// Members of a team that ask at the same time share a write: each change is there once, under the name of who asked, and
// what is refused, or breaks off, leaves nothing.
func TestAGroupWritesChangesTogether(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.create(3)
	g := store.Grouped(p.open()).(*store.Group)
	refused := errors.New("refused")
	errs, panics := together(t, g, map[string]func(*blackboard.State) error{
		"coder-1": noted("task-1"),
		"coder-2": noted("task-2"),
		"coder-3": noted("task-1"),
		"coder-4": func(s *blackboard.State) error {
			_ = noted("task-2")(s)
			return refused
		},
		"coder-5": func(s *blackboard.State) error {
			_ = noted("task-2")(s)
			panic("broken off")
		},
		"coder-6": func(*blackboard.State) error { return nil },
		"coder-7": func(*blackboard.State) error { return store.ErrUnchanged },
	})
	for name, err := range errs {
		if want := map[string]error{"coder-4": refused}[name]; !errors.Is(err, want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if panics["coder-5"] != "broken off" || len(errs) != 6 {
		t.Errorf("panics %v, errors %v", panics, errs)
	}
	s, err := p.open().View(t.Context())
	must(t, err)
	if s.Task("task-1").Iteration != 2 || s.Task("task-2").Iteration != 1 || s.Revision != 3 {
		t.Errorf("revision %d, iterations %d and %d; want 3, 2 and 1", s.Revision, s.Task("task-1").Iteration, s.Task("task-2").Iteration)
	}
	entries, err := history.Journal{Path: p.journal()}.Read(history.Filter{})
	must(t, err)
	by := map[string]int{}
	for _, e := range entries[2:] {
		by[e.Agent] = e.Rev
	}
	if len(entries) != 5 || by["coder-1"] != 3 || by["coder-2"] != 3 || by["coder-3"] != 3 {
		t.Errorf("the journal has %+v", entries)
	}
}

// A change that is against a rule is refused alone; who is no longer waiting is not written for.
func TestAGroupRefusesAChangeAlone(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.create(3)
	g := store.Grouped(p.open(func(o *store.Options) {
		o.Validate = func(after, _ *blackboard.State) (list []blackboard.Violation) {
			if strings.Contains(after.Find("task-3").Title, "bad") {
				list = append(list, blackboard.Violation{Rule: "V99", Severity: blackboard.SeverityError, OnWrite: true, Path: "tasks.task-3.title", Subjects: []string{"task-3"}, Message: "it is bad"})
			}
			return list
		}
	})).(*store.Group)
	errs, _ := together(t, g, map[string]func(*blackboard.State) error{
		"coder-1": noted("task-1"),
		"coder-2": func(s *blackboard.State) error { s.Task("task-3").Title = "bad"; return nil },
		"coder-3": noted("task-2"),
	})
	var invalid *store.InvalidError
	if errs["coder-1"] != nil || errs["coder-3"] != nil || !errors.As(errs["coder-2"], &invalid) {
		t.Errorf("errors %v", errs)
	}
	s, err := p.open().View(t.Context())
	must(t, err)
	if s.Task("task-1").Iteration != 1 || s.Task("task-2").Iteration != 1 || s.Find("task-3").Title == "bad" {
		t.Errorf("the board has %+v", s.TaskList())
	}

	gone, leave := context.WithCancel(t.Context())
	held, free := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		must(t, g.Update(t.Context(), store.Op{Name: "first"}, func(s *blackboard.State) error {
			close(held)
			<-free
			return noted("task-1")(s)
		}))
	})
	<-held
	all.Go(func() {
		if err := g.Update(gone, store.Op{Name: "late"}, noted("task-2")); !errors.Is(err, context.Canceled) {
			t.Errorf("who has gone is told %v", err)
		}
		close(free)
	})
	g.AwaitAsking(1)
	leave()
	all.Wait()
	if s, err := p.open().View(t.Context()); err != nil || s.Task("task-2").Iteration != 1 {
		t.Errorf("it was written for who has gone: %v", err)
	}
}

// While a person's text cannot be parsed, all that wait are told so.
func TestAGroupTellsAllOfAFileThatCannotBeRead(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.create(3)
	g := store.Grouped(p.open()).(*store.Group)
	text := p.read(p.path())
	errs, _ := together(t, g, map[string]func(*blackboard.State) error{
		"coder-1": func(*blackboard.State) error { p.write(p.path(), text+"\n\t{"); return errors.New("refused") },
		"coder-2": func(*blackboard.State) error { return errors.New("refused") },
	})
	if len(errs) != 2 || errs["coder-1"] == nil {
		t.Errorf("errors %v", errs)
	}
	var syntax *yamldoc.SyntaxError
	if err := g.Update(t.Context(), store.Op{Name: "next"}, noted("task-1")); !errors.As(err, &syntax) {
		t.Errorf("after a broken edit: %v", err)
	}
}

// The state is the sum of the changes of many members, as it is with many processes.
func TestTheStateIsTheSumOfAllChangesOfAGroup(t *testing.T) {
	t.Parallel()
	members, changes := 16, 12
	p := newProject(t)
	p.create(3)
	g := store.Grouped(p.open(func(o *store.Options) { o.Strict = true }))
	var all sync.WaitGroup
	for n := range members {
		change := mixedChange(n + 1)
		all.Go(func() {
			for range changes {
				must(t, g.Update(t.Context(), store.Op{Name: "mixed"}, change))
			}
		})
	}
	all.Wait()
	s, err := p.open().View(t.Context())
	must(t, err)
	sumOfChanges(t, s, members, changes)
	if entries, err := (history.Journal{Path: p.journal()}).Read(history.Filter{}); err != nil || len(entries) != 1+members*changes || s.Revision > len(entries) {
		t.Errorf("%d entries in revision %d, %v", len(entries), s.Revision, err)
	}
	if broken, err := p.open().JournalBroken(t.Context()); err != nil || broken != nil {
		t.Errorf("the journal's chain: %+v, %v", broken, err)
	}
}
