package store_test

import (
	"testing"

	"liza/pkg/board/store"
	"liza/pkg/board/store/storetest"
)

func TestMemoryPassesTheSuite(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(*testing.T) store.Store { return store.NewMemory(storetest.First()) })
}

func TestFilePassesTheSuite(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) store.Store {
		p := newProject(t)
		if err := store.Create(t.Context(), p.options(), storetest.First()); err != nil {
			t.Fatal(err)
		}
		return p.open()
	})
}

// Every Update opens the file again, as short-lived commands do.
func TestFileOpenedForEachCallPassesTheSuite(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) store.Store {
		p := newProject(t)
		if err := store.Create(t.Context(), p.options(), storetest.First()); err != nil {
			t.Fatal(err)
		}
		return reopening{p}
	})
}

// A file that cannot be cut into segments behaves like any other.
func TestFileInFlowStylePassesTheSuite(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) store.Store {
		p := newProject(t)
		p.write(p.path(), `{version: "1.0", revision: 1, config: {lease_duration: 1800}, sprint: {id: sprint-1, goal_ref: goal-1, status: IN_PROGRESS},
  goal: {id: goal-1, description: Greeting CLI, status: PLANNING}, agents: {coder-1: {role: Coder, status: IDLE}},
  tasks: [{id: task-1, description: One, status: UNCLAIMED, files: a.go, history: [{time: 2026-01-19T14:00:00Z, event: created}]}, {id: task-2, description: Two, status: UNCLAIMED}]}`)
		return p.open()
	})
}

func TestManyClientsOfAFileSeeOneOrder(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	if err := store.Create(t.Context(), p.options(), storetest.First()); err != nil {
		t.Fatal(err)
	}
	storetest.Histories(t, 16, 12, func(*testing.T) store.Store { return p.open() })
}
