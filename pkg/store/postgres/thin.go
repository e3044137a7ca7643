package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	recent      = 1000            // revisions of which all are kept
	thinEvery   = 500             // revisions
	thinTimeout = 5 * time.Second // what is not done then, a later write does
	sparse      = "7 days"        // for which the first revision of each hour is kept
	shown       = 20              // states of those that people see first
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
