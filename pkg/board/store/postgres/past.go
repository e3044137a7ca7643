package postgres

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/history"
	"liza/pkg/board/store"
)

// Revisions lists all revisions that can be restored, the newest first.
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

// Snapshots lists the newest revisions.
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

// Past returns the newest kept state at or before the given revision, and its time.
func (s *Store) Past(ctx context.Context, revision int) (*blackboard.State, time.Time, error) {
	c, since, err := s.at(ctx, revision)
	if err != nil {
		return nil, time.Time{}, err
	}
	return c.State(), since, nil
}

// Content returns the text of a revision.
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

// Whole returns the number of tasks of a revision, and its problem, or "" if it is valid.
func (s *Store) Whole(ctx context.Context, revision int) (tasks int, problem string, err error) {
	text, err := s.Content(ctx, revision)
	if err != nil {
		return 0, "", err
	}
	tasks, problem = s.engine.Whole(text)
	return tasks, problem, nil
}

// Restore writes the state of a revision as a new revision now. The replaced state is one of the revisions, so that kept
// is "".
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

// Text returns the board as the text of a file.
func (s *Store) Text(ctx context.Context) ([]byte, error) {
	k, err := s.look(ctx)
	if err != nil {
		return nil, err
	}
	return k.content.Doc().Bytes(), nil
}

// Edit merges a person's edit of base, a result of Text, to text into the present state.
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

// HandEdit writes a person's edit of a copy of a revision; see store.Shared.
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

// LastValid returns the newest state that this process has read, for use while the database is unreachable.
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

// CheckSeal returns why the approval of t does not count, or nil.
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
	}, Stream: func(w io.Writer) error { return s.streamJournal(ctx, w) }, Seen: &s.seen}
}

const journalLines = `SELECT line FROM liza.journal j JOIN liza.boards b ON b.id = j.board WHERE b.name = $1 ORDER BY number`

// streamJournal writes all lines of the journal, and has one of them in memory at a time.
func (s *Store) streamJournal(ctx context.Context, w io.Writer) error {
	rows, err := s.pool.Query(ctx, journalLines, s.o.Board)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if _, err := w.Write(rows.RawValues()[0]); err != nil {
			return err
		}
	}
	return rows.Err()
}

// JournalProblems returns the entries that do not fit a board of the given revision.
func (s *Store) JournalProblems(ctx context.Context, revision int) ([]history.Problem, error) {
	return s.journal(ctx).Check(revision)
}

// JournalBroken returns the first break of the journal's chain, or nil.
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
	rows, err := db.Query(ctx, journalLines, board)
	if err != nil {
		return "", err
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return strings.Join(lines, ""), err
}

// Forget removes the earlier states for whose text holds returns true, and masks the journal.
func (s *Store) Forget(ctx context.Context, op store.Op, holds func(text []byte) bool) error {
	return s.persist(ctx, func(ctx context.Context) error {
		return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, lockBoard, s.o.Board); err != nil {
				return err
			}
			now, err := s.read(ctx, tx.Conn(), nil)
			if err != nil {
				return err
			}
			if err := forgetStates(ctx, tx, s.o.Board, now, holds); err != nil {
				return err
			}
			return s.scrubJournal(ctx, tx, op, now)
		})
	})
}

func forgetStates(ctx context.Context, tx pgx.Tx, board string, now *kept, holds func(text []byte) bool) error {
	rows, err := tx.Query(ctx, `SELECT ctid::text, revision, until, body FROM liza.entries WHERE board = $1::text::bigint AND until IS NOT NULL`, now.board)
	if err != nil {
		return err
	}
	var places []string
	var from, until []int64
	var place, body string
	var first, end int64
	if _, err := pgx.ForEachRow(rows, []any{&place, &first, &end, &body}, func() error {
		if holds([]byte(body)) {
			places, from, until = append(places, place), append(from, first), append(until, end)
		}
		return nil
	}); err != nil || len(places) == 0 {
		return err
	}
	for sql, args := range map[string][]any{
		`DELETE FROM liza.entries WHERE board = $1::text::bigint AND ctid = ANY ($2::text[]::tid[])`: {now.board, places},
		`DELETE FROM liza.revisions r USING unnest($2::bigint[], $3::bigint[]) AS held (first, until)
WHERE r.board = $1::text::bigint AND r.revision >= held.first AND r.revision < held.until`: {now.board, from, until},
		`UPDATE liza.boards SET thinned = $2 WHERE id = $1::text::bigint`: {now.board, now.revision()},
	} {
		if _, err := tx.Exec(ctx, sql, args...); err != nil {
			return err
		}
	}
	return removeUnneeded(ctx, tx, board)
}

// scrubJournal masks secrets in the journal, which is chained again.
func (s *Store) scrubJournal(ctx context.Context, tx pgx.Tx, op store.Op, now *kept) error {
	rows, err := tx.Query(ctx, `SELECT number, line FROM liza.journal WHERE board = $1::text::bigint ORDER BY number`, now.board)
	if err != nil {
		return err
	}
	var numbers []int64
	text := ""
	var number int64
	var line string
	if _, err := pgx.ForEachRow(rows, []any{&number, &line}, func() error {
		numbers, text = append(numbers, number), text+line
		return nil
	}); err != nil {
		return err
	}
	entry := blackboard.Entry{Timestamp: blackboard.TimeOf(s.o.Now()), Agent: blackboard.System, Action: blackboard.ActionScrubbed, Detail: "secrets were masked in the journal, which was chained again"}
	journal := history.Journal{Mask: s.o.Mask, Kept: func() (string, error) { return text, nil }}
	done, err := journal.Scrub(now.revision(), history.Link(now.journal), entry)
	if err != nil || done == nil {
		return err
	}
	lines := history.Split(done.Text())
	batch := &pgx.Batch{}
	for i, number := range numbers {
		batch.Queue(`UPDATE liza.journal SET line = $3 WHERE board = $1::text::bigint AND number = $2 AND line <> $3`, now.board, number, lines[i].Text)
	}
	batch.Queue(addJournal, now.board, now.revision(), []string{entry.Agent}, []string{string(entry.Action)}, []string{""}, []string{lines[len(lines)-1].Text})
	batch.Queue(raiseRevision, now.board, now.revision(), string(done.End))
	return tx.SendBatch(ctx, batch).Close()
}

const (
	recent      = 1000            // newest revisions, all of which are kept
	thinEvery   = 500             // revisions between two removals
	thinTimeout = 5 * time.Second // longest removal; a later write continues it
	sparse      = "7 days"        // period for which the first revision of each hour is kept
	shown       = 20              // states that Snapshots returns
)

// thin removes revisions that are kept no longer. Nothing depends on it.
func (s *Store) thin(ctx context.Context, revision int) {
	ctx, cancel := context.WithTimeout(ctx, thinTimeout)
	defer cancel()
	upTo := revision - recent
	if upTo <= 0 {
		return
	}
	// First what is about to be removed is said, so that no reader goes on from there.
	if _, err := s.pool.Exec(ctx, `UPDATE liza.boards SET thinned = $2 WHERE name = $1 AND thinned < $2`, s.o.Board, upTo); err != nil {
		return
	}
	_ = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `DELETE FROM liza.revisions r USING liza.boards b WHERE b.name = $1 AND r.board = b.id AND r.revision < $2 AND r.revision NOT IN (
SELECT min(o.revision) FROM liza.revisions o WHERE o.board = b.id AND o.at > now() - $3::text::interval GROUP BY date_trunc('hour', o.at))`, s.o.Board, upTo, sparse); err != nil {
			return err
		}
		return removeUnneeded(ctx, tx, s.o.Board)
	})
}

// removeUnneeded removes the rows that no revision needs.
func removeUnneeded(ctx context.Context, tx pgx.Tx, board string) error {
	_, err := tx.Exec(ctx, `DELETE FROM liza.entries e USING liza.boards b WHERE b.name = $1 AND e.board = b.id AND e.until <= b.thinned
AND NOT EXISTS (SELECT FROM liza.revisions r WHERE r.board = b.id AND r.revision >= e.revision AND r.revision < e.until)`, board)
	return err
}
