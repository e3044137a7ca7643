package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// A board that is moved has a mark until the move is complete: who moves it. One that arrives is used by nobody until then, so
// that there are never two that take writes. One that became a file stays in the database under another name, which no address can have.

// An ArrivingError says that a board is not yet to be used: its move into the database was begun, and is not complete.
type ArrivingError struct{ Board, Mover string }

func (e *ArrivingError) Error() string {
	return fmt.Sprintf("the move of board %s into the database is not complete, and nobody can use the board until it is: it was begun by %s", e.Board, e.Mover)
}

// Next is the command that helps.
func (e *ArrivingError) Next() string { return "liza store move URL" }

// Retired is the name of a board that became a file.
func Retired(board string) string { return board + "~moved" }

// Moving is who moves this board, "" when nobody does.
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

// Moved removes the mark: from here on a board that arrived is there.
func (s *Store) Moved(ctx context.Context) error {
	return s.persist(ctx, func(ctx context.Context) error {
		_, err := s.pool.Exec(ctx, `DELETE FROM liza.files f USING liza.boards b WHERE b.name = $1 AND b.id = f.board AND f.path IN ($2, $3)`, s.o.Board, movingMark, arrivingMark)
		return err
	})
}

// Retire takes the board out of use, at once for all hosts, with a mark of who does it. One that was retired before under
// this name is removed.
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
