package postgres

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/store"
	"liza/pkg/board/store/postgres/pgtest"
	"liza/pkg/board/store/storetest"
)

// pooled is a new board on the shared server, reached over a pooler.
func pooled(t *testing.T, mode string) Options {
	t.Helper()
	sharedWasMade.Store(true)
	s := sharedServer(t)
	address, end, err := s.Pooler(mode)
	if errors.Is(err, pgtest.ErrNoPooler) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(end)
	o := optionsOn(s, t)
	if err := opened(t, o).Create(t.Context(), storetest.First()); err != nil {
		t.Fatal(err)
	}
	o.URL = address
	return o
}

// writes lets n processes with a connection of their own write at once.
func writes(t *testing.T, o Options, n, each int) (err error) {
	t.Helper()
	var running sync.WaitGroup
	var mu sync.Mutex
	for i := range n {
		s := opened(t, o)
		running.Go(func() {
			for k := range each {
				e := s.Update(t.Context(), store.Op{Name: "note", Agent: blackboard.Human}, func(s *blackboard.State) error {
					s.HumanNotes = append(s.HumanNotes, &blackboard.Note{ID: fmt.Sprintf("note-%d-%d", i, k), Timestamp: blackboard.TimeOf(now()), Message: "x", By: "ada"})
					return nil
				})
				if e != nil {
					mu.Lock()
					err = errors.Join(err, e)
					mu.Unlock()
					return
				}
			}
		})
	}
	running.Wait()
	return err
}

func TestABoardBehindAPoolerInSessionMode(t *testing.T) {
	t.Parallel()
	o := pooled(t, "session")
	watcher := opened(t, o)
	changes := watcher.Watch(t.Context())
	<-changes // that it listens
	if err := writes(t, o, 4, 5); err != nil {
		t.Fatal(err)
	}
	<-changes
	if s, err := watcher.View(t.Context()); err != nil || len(s.HumanNotes) != 20 {
		t.Errorf("%d notes are on the board, %v", len(s.HumanNotes), err)
	}
}

// Over a pooler in transaction mode nothing is lost or doubled, and who cannot write is told why.
func TestABoardBehindAPoolerInTransactionMode(t *testing.T) {
	t.Parallel()
	o := pooled(t, "transaction")
	err := writes(t, o, 4, 5)
	var pooler *PoolerError
	if !errors.As(err, &pooler) {
		t.Errorf("it says %v", err)
	}
}
