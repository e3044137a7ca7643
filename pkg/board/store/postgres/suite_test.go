package postgres

import (
	"context"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/store"
	"liza/pkg/board/store/storetest"
)

func TestPostgresPassesTheSuite(t *testing.T) {
	t.Parallel()
	sharedServer(t)
	storetest.Run(t, func(t *testing.T) store.Store { return newBoard(t) })
}

// Every call opens the store again, as short-lived commands do.
func TestPostgresOpenedForEachCallPassesTheSuite(t *testing.T) {
	t.Parallel()
	sharedServer(t)
	storetest.Run(t, func(t *testing.T) store.Store { return reopening{newBoard(t).o} })
}

type reopening struct{ o Options }

func (r reopening) open() *Store {
	s, err := Open(r.o)
	if err != nil {
		panic(err)
	}
	return s
}

func (r reopening) View(ctx context.Context) (*blackboard.State, error) {
	s := r.open()
	defer s.Close()
	return s.View(ctx)
}

func (r reopening) Update(ctx context.Context, op store.Op, change func(*blackboard.State) error) error {
	s := r.open()
	defer s.Close()
	return s.Update(ctx, op, change)
}

func (r reopening) Watch(ctx context.Context) <-chan struct{} {
	s := r.open()
	context.AfterFunc(ctx, s.Close)
	return s.Watch(ctx)
}

func TestManyClientsOfADatabaseSeeOneOrder(t *testing.T) {
	t.Parallel()
	first := newBoard(t)
	o := first.o
	o.LockTimeout = time.Minute
	storetest.Histories(t, 32, 12, func(t *testing.T) store.Store { return opened(t, o) })
}
