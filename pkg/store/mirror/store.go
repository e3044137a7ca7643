package mirror

import (
	"context"
	"time"

	"liza/pkg/blackboard"
	"liza/pkg/safefile"
	"liza/pkg/store"
)

// wrote is called after each write of this process. The board has it: what keeps the copy from being written is said, and
// the next write or watcher makes up for it.
func (s *Store) wrote(ctx context.Context) {
	if err := s.Refresh(context.WithoutCancel(ctx)); err != nil {
		s.o.Alert(store.AlertMirror, "the copy of the board in .liza could not be written: "+err.Error())
	}
}

// View is the board as it is now. What others wrote gets into the copy.
func (s *Store) View(ctx context.Context) (*blackboard.State, error) {
	state, err := s.Shared.View(ctx)
	if err == nil {
		s.wrote(ctx)
	}
	return state, err
}

// Update changes the board.
func (s *Store) Update(ctx context.Context, op store.Op, change func(*blackboard.State) error) error {
	if err := s.Shared.Update(ctx, op, change); err != nil {
		return err
	}
	s.wrote(ctx)
	return nil
}

// Edit takes a person's edit of a text of the board.
func (s *Store) Edit(ctx context.Context, op store.Op, base, text []byte) (store.Edited, error) {
	done, err := s.Shared.Edit(ctx, op, base, text)
	if err == nil {
		s.wrote(ctx)
	}
	return done, err
}

// Restore puts a state that was back.
func (s *Store) Restore(ctx context.Context, op store.Op, revision int) (now int, kept string, err error) {
	now, kept, err = s.Shared.Restore(ctx, op, revision)
	if err == nil {
		s.wrote(ctx)
	}
	return now, kept, err
}

// Forget removes states that were.
func (s *Store) Forget(ctx context.Context, op store.Op, holds func(text []byte) bool) error {
	err := s.Shared.Forget(ctx, op, holds)
	if err == nil {
		s.wrote(ctx)
	}
	return err
}

// LastValid is the copy, for those who only look while the board cannot be reached.
func (s *Store) LastValid(context.Context) (*blackboard.State, error) {
	text, err := safefile.Read(s.o.Path)
	if err != nil {
		return nil, err
	}
	c, err := store.NewEngine(store.Options{Path: s.o.Path}).Parse(body(text))
	if err != nil {
		return nil, err
	}
	return c.State(), nil
}

// Copied is when the copy was written last, and since when it says that there is no connection.
func (s *Store) Copied() (at, lost time.Time) {
	r, _ := readRecord(s.o.Record)
	return r.At, r.Lost
}
