package postgres

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/jackc/pgx/v5"

	"liza/pkg/blackboard"
	"liza/pkg/history"
	"liza/pkg/store"
)

// An ExistsError says that the database has a board of that name.
type ExistsError struct{ Board string }

func (e *ExistsError) Error() string {
	return fmt.Sprintf("cannot create board %s: the database has one of that name", e.Board)
}

// Next is the command that helps.
func (e *ExistsError) Next() string { return "liza join URL" }

// Create makes a board with its first state. The tables are made when they are not there.
func (s *Store) Create(ctx context.Context, first *blackboard.State, comments ...store.Comment) error {
	content, entries, err := s.engine.First(first, comments...)
	if err != nil {
		return err
	}
	return s.put(ctx, content, func(batch *pgx.Batch, board string) (history.Link, error) {
		return s.insertJournal(batch, board, content.Revision(), history.Begins, entries)
	})
}

// Import makes a board of a file: its text and the lines of its journal, the oldest first. Both stay as they are.
// One that the same mover has left half moved is replaced.
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

// Export is the text of the board and the lines of its journal, of one moment.
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

// Drop removes the board, with all that it ever was.
func (s *Store) Drop(ctx context.Context) error {
	return s.persist(ctx, func(ctx context.Context) error {
		_, err := s.pool.Exec(ctx, `DELETE FROM liza.boards WHERE name = $1`, s.o.Board)
		return err
	})
}
