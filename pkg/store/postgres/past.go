package postgres

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"liza/pkg/blackboard"
	"liza/pkg/history"
	"liza/pkg/store"
)

// Revisions are all states that can be put back, the newest first.
func (s *Store) Revisions(ctx context.Context) (all []store.Snapshot, err error) {
	err = s.persist(ctx, func(ctx context.Context) error {
		rows, err := s.pool.Query(ctx, `SELECT r.revision, r.at FROM liza.revisions r JOIN liza.boards b ON b.id = r.board WHERE b.name = $1 ORDER BY r.revision DESC`, s.o.Board)
		if err != nil {
			return err
		}
		all, err = pgx.CollectRows(rows, func(r pgx.CollectableRow) (x store.Snapshot, err error) {
			err = r.Scan(&x.Revision, &x.At)
			return x, err
		})
		return err
	})
	return all, err
}

// Snapshots are the newest of them.
func (s *Store) Snapshots(ctx context.Context) ([]store.Snapshot, error) {
	all, err := s.Revisions(ctx)
	return all[:min(len(all), shown)], err
}

// at is the board as it was at a revision, or at the newest one before that is kept.
func (s *Store) at(ctx context.Context, revision int) (content *store.Content, since time.Time, err error) {
	err = s.persist(ctx, func(ctx context.Context) error {
		return pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
			var found int
			err := tx.QueryRow(ctx, `SELECT r.revision, r.at FROM liza.revisions r JOIN liza.boards b ON b.id = r.board
WHERE b.name = $1 AND r.revision <= $2 ORDER BY r.revision DESC LIMIT 1`, s.o.Board, revision).Scan(&found, &since)
			if errors.Is(err, pgx.ErrNoRows) {
				return &store.NoSnapshotError{Path: s.o.Path, Revision: revision}
			}
			if err != nil {
				return err
			}
			rows, err := tx.Query(ctx, `SELECT e.section, e.place, e.revision, e.shape, e.indent, e.position, e.key, e.body FROM liza.entries e JOIN liza.boards b ON b.id = e.board
WHERE b.name = $1 AND e.revision <= $2 AND (e.until IS NULL OR e.until > $2)`, s.o.Board, found)
			if err != nil {
				return err
			}
			d := &delta{revision: found}
			if d.rows, err = pgx.CollectRows(rows, func(c pgx.CollectableRow) (r row, err error) {
				err = c.Scan(&r.section, &r.place, &r.revision, &r.shape, &r.indent, &r.position, &r.key, &r.body)
				return r, err
			}); err != nil {
				return err
			}
			var nothing *kept
			k, err := nothing.apply(store.NewEngine(s.o.Options), d) // its own, for it is another text
			if err == nil {
				content = k.content
			}
			return err
		})
	})
	return content, since, err
}

// Past is the newest state that is kept whose revision is not above the given one.
func (s *Store) Past(ctx context.Context, revision int) (*blackboard.State, time.Time, error) {
	c, since, err := s.at(ctx, revision)
	if err != nil {
		return nil, time.Time{}, err
	}
	return c.State(), since, nil
}

// Content is the text that had a revision.
func (s *Store) Content(ctx context.Context, revision int) ([]byte, error) {
	c, _, err := s.at(ctx, revision)
	if err != nil {
		return nil, err
	}
	if c.Revision() != revision {
		return nil, &store.NoSnapshotError{Path: s.o.Path, Revision: revision}
	}
	return c.Doc().Bytes(), nil
}

// Whole says of a state that was how many tasks it has, and what is wrong with it; "" when it is valid.
func (s *Store) Whole(ctx context.Context, revision int) (tasks int, problem string, err error) {
	text, err := s.Content(ctx, revision)
	if err != nil {
		return 0, "", err
	}
	tasks, problem = s.engine.Whole(text)
	return tasks, problem, nil
}

// Restore puts a state that was back, as a new revision. What it replaces is among the revisions, so that nothing is kept
// elsewhere.
func (s *Store) Restore(ctx context.Context, op store.Op, revision int) (now int, kept string, err error) {
	old, err := s.Content(ctx, revision)
	if err != nil {
		return 0, "", err
	}
	err = s.write(ctx, op, func(before *store.Content) (*store.Content, []blackboard.Entry, error) {
		next, entries, err := s.engine.PutBack(op, before, old)
		if err == nil {
			now = next.Revision()
		}
		return next, entries, err
	})
	if err != nil {
		return 0, "", err
	}
	return now, "", nil
}

// Text is the board as a file.
func (s *Store) Text(ctx context.Context) ([]byte, error) {
	k, err := s.look(ctx)
	if err != nil {
		return nil, err
	}
	return k.content.Doc().Bytes(), nil
}

// Edit writes what a person made of base, which was read as Text. What was written since stays.
func (s *Store) Edit(ctx context.Context, op store.Op, base, text []byte) (done store.Edited, err error) {
	if string(base) == string(text) {
		return store.Edited{}, nil
	}
	err = s.write(ctx, op, func(before *store.Content) (next *store.Content, entries []blackboard.Entry, err error) {
		next, done, entries, err = s.engine.Edit(op, before, base, text)
		return next, entries, err
	})
	return done, err
}

// HandEdit takes a person's edit of a copy of a revision.
func (s *Store) HandEdit(ctx context.Context, op store.Op, revision int, text []byte) (done store.Edited, err error) {
	base, err := s.Content(ctx, revision)
	if err != nil || string(base) == string(text) {
		return done, err
	}
	err = s.write(ctx, op, func(before *store.Content) (next *store.Content, entries []blackboard.Entry, err error) {
		next, done, entries, err = s.engine.HandEdit(op, before, base, text)
		return next, entries, err
	})
	return done, err
}

// LastValid is the newest state that this process has read, for those who only look while the database cannot be reached.
func (s *Store) LastValid(ctx context.Context) (*blackboard.State, error) {
	if k := s.known(); k != nil {
		return k.content.State(), nil
	}
	return s.View(ctx)
}

// Inspect reads the state for validation.
func (s *Store) Inspect(ctx context.Context) (*store.Inspection, error) {
	k, err := s.look(ctx)
	if err != nil {
		return nil, err
	}
	return s.engine.Inspect(k.content), nil
}

// CheckSeal says why the approval of a task does not count, nil when it does.
func (s *Store) CheckSeal(t *blackboard.Task, tree string) error { return s.engine.CheckSeal(t, tree) }

// Journal reads the journal.
func (s *Store) Journal(ctx context.Context, f history.Filter) ([]blackboard.Entry, error) {
	return s.journal(ctx).Read(f)
}

func (s *Store) journal(ctx context.Context) history.Journal {
	return history.Journal{Kept: func() (text string, err error) {
		err = s.persist(ctx, func(ctx context.Context) error {
			text, err = journalText(ctx, s.pool, s.o.Board)
			return err
		})
		return text, err
	}}
}

// JournalProblems are the entries that do not fit a board of this revision.
func (s *Store) JournalProblems(ctx context.Context, revision int) ([]history.Problem, error) {
	return s.journal(ctx).Check(revision)
}

// JournalBroken is the first place where the journal is not what Liza wrote, nil when it is.
func (s *Store) JournalBroken(ctx context.Context) (*history.Break, error) {
	k, err := s.look(ctx)
	if err != nil {
		return nil, err
	}
	return s.journal(ctx).Broken(history.Link(k.journal), k.revision())
}

func journalText(ctx context.Context, db interface {
	Query(context.Context, string, ...any) (pgx.Rows, error)
}, board string) (string, error) {
	rows, err := db.Query(ctx, `SELECT line FROM liza.journal j JOIN liza.boards b ON b.id = j.board WHERE b.name = $1 ORDER BY number`, board)
	if err != nil {
		return "", err
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return strings.Join(lines, ""), err
}
