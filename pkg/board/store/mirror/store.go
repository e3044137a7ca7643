package mirror

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"time"

	"liza/pkg/base/safefile"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/store"
)

// wrote updates the copy after this process may have read or written a new revision. The board is safe already, so an error
// only makes an alert, and the next call makes up for it. In a process with a watcher the follower updates the copy.
func (s *Store) wrote(ctx context.Context) {
	if s.followed() {
		return
	}
	if err := s.Refresh(context.WithoutCancel(ctx)); err != nil {
		s.o.Alert(blackboard.AlertMirror, "the copy of the board in .liza could not be written: "+err.Error())
	}
}

// View writes a person's edit to the board, brings the files up to date, and returns a copy of the board's state.
func (s *Store) View(ctx context.Context) (*blackboard.State, error) {
	if err := s.takeEdit(ctx); err != nil {
		return nil, err
	}
	state, err := s.Shared.View(ctx)
	if err == nil {
		s.wrote(ctx)
	}
	return state, err
}

// Update changes the board, after it wrote a person's edit to it.
func (s *Store) Update(ctx context.Context, op store.Op, change func(*blackboard.State) error) error {
	if !op.Adopt { // who answers for the board as it is may be about to mend an edit
		if err := s.takeEdit(ctx); err != nil {
			return err
		}
	}
	op.Ahead = s.shareArchive(ctx, op.Ahead)
	if err := s.Shared.Update(ctx, op, change); err != nil {
		return err
	}
	s.wrote(ctx)
	return nil
}

// shareArchive takes over the archive of all hosts before tasks are added to it, and stores the new one for them. The board
// is locked meanwhile.
func (s *Store) shareArchive(ctx context.Context, ahead func([]store.Gone) error) func([]store.Gone) error {
	if ahead == nil {
		return nil
	}
	return func(gone []store.Gone) error {
		if len(gone) == 0 {
			return ahead(gone)
		}
		news, err := s.Since(ctx, math.MaxInt64, 0)
		if err != nil {
			return err
		}
		shared := map[string]string{}
		for _, f := range news.Files {
			shared[f.Path] = f.Text
			if err := s.take(f); err != nil {
				return err
			}
		}
		if err := ahead(gone); err != nil {
			return err
		}
		own, err := ReadFiles(filepath.Dir(s.o.Path), "archive")
		if err != nil {
			return err
		}
		var changed []store.BoardFile
		for _, f := range own {
			if text, ok := shared[f.Path]; !ok || text != f.Text {
				changed = append(changed, f)
			}
		}
		return s.PutFiles(ctx, changed...)
	}
}

// Edit writes a person's edit of a text of the board.
func (s *Store) Edit(ctx context.Context, op store.Op, base, text []byte) (store.Edited, error) {
	done, err := s.Shared.Edit(ctx, op, base, text)
	if err == nil {
		s.wrote(ctx)
	}
	return done, err
}

// Restore writes an earlier state as a new revision. It keeps an edit of the copy that the board refused.
func (s *Store) Restore(ctx context.Context, op store.Op, revision int) (now int, kept string, err error) {
	if now, _, err = s.Shared.Restore(ctx, op, revision); err != nil {
		return 0, "", err
	}
	err = s.locked(ctx, func() error {
		r, _ := readRecord(s.o.Record)
		text, err := s.edit(r)
		if text != nil {
			kept = s.keep(text)
		}
		if err != nil {
			return err
		}
		return s.renew(ctx, r, s.Latest())
	})
	return now, kept, err
}

// Forget removes earlier states.
func (s *Store) Forget(ctx context.Context, op store.Op, holds func(text []byte) bool) error {
	err := s.Shared.Forget(ctx, op, holds)
	if err == nil {
		s.wrote(ctx)
	}
	return err
}

// Inspect reads the board for validation, with the problems of an edit of the copy.
func (s *Store) Inspect(ctx context.Context) (*store.Inspection, error) {
	edit := s.takeEdit(ctx)
	invalid, broken := errors.AsType[*store.InvalidError](edit)
	if edit != nil && !broken {
		return nil, edit
	}
	found, err := s.Shared.Inspect(ctx)
	if err == nil && broken {
		found.Decode = append(found.Decode, invalid.Violations...)
	}
	return found, err
}

// LastValid returns the state of the board while it refuses an edit of the copy, and that of the copy while the board is
// unreachable.
func (s *Store) LastValid(ctx context.Context) (*blackboard.State, error) {
	soon, cancel := context.WithTimeout(ctx, stale)
	defer cancel()
	if state, err := s.Shared.View(soon); err == nil {
		return state, nil
	}
	text, err := safefile.Read(s.o.Path)
	if err != nil {
		return nil, err
	}
	c, err := s.engine.Parse(body(text))
	if err != nil {
		return nil, err
	}
	return c.State(), nil
}

// Copied returns the time of the last write of the copy, and since when the copy says that there is no connection.
func (s *Store) Copied() (at, lost time.Time) {
	r, _ := readRecord(s.o.Record)
	return r.At, r.Lost
}
