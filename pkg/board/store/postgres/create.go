package postgres

import (
	"context"
	"crypto/rand"
	"embed"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/history"
	"liza/pkg/board/store"
)

// An ExistsError is returned when the database already has a board with this name.
type ExistsError struct{ Board string }

func (e *ExistsError) Error() string {
	return fmt.Sprintf("cannot create board %s: the database has one of that name", e.Board)
}

// Next returns the next command for a person.
func (e *ExistsError) Next() string { return "liza init --join URL" }

// Create creates the board with its first state, and the tables if they are missing.
func (s *Store) Create(ctx context.Context, first *blackboard.State, comments ...store.Comment) error {
	content, entries, err := s.engine.First(first, comments...)
	if err != nil {
		return err
	}
	return s.put(ctx, content, func(batch *pgx.Batch, board string) (history.Link, error) {
		return s.insertJournal(batch, board, content.Revision(), history.Begins, entries)
	})
}

// Import creates the board from text and journal of a file, and keeps their bytes. It replaces an incomplete board of the
// same mover.
func (s *Store) Import(ctx context.Context, text []byte, journal string) error {
	content, err := s.engine.Parse(text)
	if err != nil {
		return err
	}
	if err := s.Upgrade(ctx); err != nil {
		return err
	}
	if s.o.Mover != "" {
		who, err := s.Moving(ctx)
		if err == nil && who == s.o.Mover {
			err = s.Drop(ctx)
		}
		if err != nil {
			return err
		}
		s.o.Files = append(s.o.Files, store.BoardFile{Path: arrivingMark, Text: s.o.Mover})
	}
	return s.put(ctx, content, func(batch *pgx.Batch, board string) (history.Link, error) {
		end := history.Begins
		for _, l := range history.Split(journal) {
			end = l.Link
			batch.Queue(addJournal, board, l.Entry.Rev, []string{l.Entry.Agent}, []string{string(l.Entry.Action)}, []string{l.Entry.Task}, []string{l.Text})
		}
		return end, nil
	})
}

// put makes the board, all of it or nothing.
func (s *Store) put(ctx context.Context, content *store.Content, journal func(*pgx.Batch, string) (history.Link, error)) error {
	key, err := s.sealKey()
	if err != nil {
		return err
	}
	if err := s.Upgrade(ctx); err != nil {
		return err
	}
	err = s.persist(ctx, func(ctx context.Context) error {
		return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
			var board string
			err := tx.QueryRow(ctx, `INSERT INTO liza.boards (name, revision, journal, seal) VALUES ($1, $2, '', $3) RETURNING id::text`, s.o.Board, content.Revision(), key).Scan(&board)
			if err != nil {
				return err
			}
			batch := &pgx.Batch{}
			var nothing *kept
			after, added, _ := nothing.diff(content)
			insertEntries(batch, board, after, added)
			end, err := journal(batch, board)
			if err != nil {
				return err
			}
			var id [16]byte
			_, _ = rand.Read(id[:])
			batch.Queue(insertRevision, board, content.Revision(), id, "init", blackboard.Human)
			batch.Queue(raiseRevision, board, content.Revision(), string(end))
			for _, f := range s.o.Files {
				batch.Queue(addFile, s.o.Board, f.Path, f.Text)
			}
			return tx.SendBatch(ctx, batch).Close()
		})
	})
	if code(err) == "23505" { // unique_violation
		return &ExistsError{s.o.Board}
	}
	return err
}

// sealKey names the project's key, which the board's other hosts need.
func (s *Store) sealKey() (string, error) {
	if s.o.Seals == nil {
		return "", nil
	}
	k, err := s.o.Seals.Ring.Key()
	if k == nil || err != nil {
		return "", err
	}
	return k.Name(), nil
}

// Export returns the text of the board and its journal at one moment.
func (s *Store) Export(ctx context.Context) (text []byte, journal string, err error) {
	err = s.persist(ctx, func(ctx context.Context) error {
		return pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
			k, err := s.read(ctx, tx.Conn(), nil)
			if err != nil {
				return err
			}
			text = k.content.Doc().Bytes()
			journal, err = journalText(ctx, tx, s.o.Board)
			return err
		})
	})
	return text, journal, err
}

// Drop deletes the board with all of its revisions.
func (s *Store) Drop(ctx context.Context) error {
	return s.persist(ctx, func(ctx context.Context) error {
		_, err := s.pool.Exec(ctx, `DELETE FROM liza.boards WHERE name = $1`, s.o.Board)
		return err
	})
}

// Migrations are numbered files that are run once each, in order. A library for them would bring its own
// command, drivers and template language for what is a loop.
//
//go:embed migrations/*.sql
var migrations embed.FS

// migrationLock keeps two programs from running migrations at once.
const migrationLock = 0x6c697a61

// migrate runs the migrations that the tables lack.
func migrate(ctx context.Context, conn *pgx.Conn) error {
	if version, err := version(ctx, conn); err != nil || version == schema {
		return err
	} else if version > schema {
		return &SchemaError{version}
	}
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", migrationLock); err != nil {
			return err
		}
		done, err := version(ctx, tx) // somebody else may have run them meanwhile
		if err != nil {
			return err
		}
		if done == 0 {
			if _, err := tx.Exec(ctx, "CREATE SCHEMA IF NOT EXISTS liza; CREATE TABLE liza.migrations (version integer PRIMARY KEY, at timestamptz NOT NULL DEFAULT now())"); err != nil {
				return err
			}
		}
		for n := done + 1; n <= schema; n++ {
			text, err := migrations.ReadFile(fmt.Sprintf("migrations/%03d.sql", n))
			if err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, string(text)); err != nil {
				return fmt.Errorf("migration %d: %w", n, err)
			}
			if _, err := tx.Exec(ctx, "INSERT INTO liza.migrations (version) VALUES ($1)", n); err != nil {
				return err
			}
		}
		return nil
	})
}

// known refuses tables that this program does not know, at each new connection: they may be brought up to date while it runs.
func known(ctx context.Context, conn *pgx.Conn) error {
	version, err := version(ctx, conn)
	if err != nil || version == 0 || version == schema {
		return err
	}
	return &SchemaError{version}
}

// Upgrade creates the tables or runs the migrations that they lack.
func (s *Store) Upgrade(ctx context.Context) error {
	return s.persist(ctx, func(ctx context.Context) error {
		conn, err := pgx.ConnectConfig(ctx, s.pool.Config().ConnConfig)
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close(ctx) }()
		return migrate(ctx, conn)
	})
}

// version is that of the tables, 0 when there are none.
func version(ctx context.Context, db interface {
	QueryRow(context.Context, string, ...any) pgx.Row
}) (n int, err error) {
	var there bool
	// Not to_regclass: it may remember in one transaction that there was none.
	if err := db.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_catalog.pg_tables WHERE schemaname = 'liza' AND tablename = 'migrations')").Scan(&there); err != nil || !there {
		return 0, err
	}
	err = db.QueryRow(ctx, "SELECT coalesce(max(version), 0) FROM liza.migrations").Scan(&n)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, nil
	}
	return n, err
}

// A board that is moved has a mark until the move is complete: who moves it. One that arrives is used by nobody until then, so
// that there are never two that take writes. One that became a file stays in the database under another name, which no address can have.

// An ArrivingError is returned for a board whose move into the database is not complete.
type ArrivingError struct{ Board, Mover string }

func (e *ArrivingError) Error() string {
	return fmt.Sprintf("the move of board %s into the database is not complete, and nobody can use the board until it is: it was begun by %s", e.Board, e.Mover)
}

// Next returns the next command for a person.
func (e *ArrivingError) Next() string { return "liza store move URL" }

// Retired returns the name in the database of a board that was moved to a file.
func Retired(board string) string { return board + "~moved" }

// Moving returns the mover of this board, or "".
func (s *Store) Moving(ctx context.Context) (who string, err error) {
	err = s.persist(ctx, func(ctx context.Context) error {
		err := s.pool.QueryRow(ctx, `SELECT f.text FROM liza.files f JOIN liza.boards b ON b.id = f.board WHERE b.name = $1 AND f.path IN ($2, $3)`, s.o.Board, movingMark, arrivingMark).Scan(&who)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		return err
	})
	return who, err
}

// Moved ends the move of the board into the database, and makes it usable.
func (s *Store) Moved(ctx context.Context) error {
	return s.persist(ctx, func(ctx context.Context) error {
		_, err := s.pool.Exec(ctx, `DELETE FROM liza.files f USING liza.boards b WHERE b.name = $1 AND b.id = f.board AND f.path IN ($2, $3)`, s.o.Board, movingMark, arrivingMark)
		return err
	})
}

// Retire takes the board out of use on all hosts at once and records the mover who. It deletes an earlier retired board of
// the same name.
func (s *Store) Retire(ctx context.Context, who string) error {
	return s.persist(ctx, func(ctx context.Context) error {
		return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, lockBoard, s.o.Board); err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, `DELETE FROM liza.boards WHERE name = $2 AND EXISTS (SELECT FROM liza.boards WHERE name = $1)`, s.o.Board, Retired(s.o.Board)); err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, addFile, s.o.Board, movingMark, who); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, `UPDATE liza.boards SET name = $2 WHERE name = $1`, s.o.Board, Retired(s.o.Board))
			return err
		})
	})
}
