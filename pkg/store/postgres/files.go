package postgres

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"

	"liza/pkg/store"
)

// Latest is the board as this process read or wrote it last.
func (s *Store) Latest() store.Latest {
	k := s.known()
	if k == nil {
		return store.Latest{}
	}
	return store.Latest{Board: k.board + "." + k.table, Revision: k.revision(), Text: k.content.Doc().Bytes()}
}

// Since is what was written after these numbers, in one round trip.
func (s *Store) Since(ctx context.Context, journal, file int64) (news store.News, err error) {
	err = s.persist(ctx, func(ctx context.Context) error {
		news = store.News{Journal: journal}
		batch := &pgx.Batch{}
		batch.Queue(`SELECT j.number, j.line FROM liza.journal j JOIN liza.boards b ON b.id = j.board WHERE b.name = $1 AND j.number > $2 ORDER BY j.number`, s.o.Board, journal)
		batch.Queue(`SELECT f.path, f.text, f.number FROM liza.files f JOIN liza.boards b ON b.id = f.board WHERE b.name = $1 AND f.number > $2 ORDER BY f.number`, s.o.Board, file)
		results := s.pool.SendBatch(ctx, batch)
		defer results.Close()
		rows, err := results.Query()
		if err != nil {
			return err
		}
		var lines strings.Builder
		var line string
		if _, err := pgx.ForEachRow(rows, []any{&news.Journal, &line}, func() error { lines.WriteString(line); return nil }); err != nil {
			return err
		}
		news.Lines = lines.String()
		if rows, err = results.Query(); err != nil {
			return err
		}
		news.Files, err = pgx.CollectRows(rows, pgx.RowToStructByPos[store.BoardFile])
		return err
	})
	return news, err
}

// PutFiles writes files of the board.
func (s *Store) PutFiles(ctx context.Context, files ...store.BoardFile) error {
	return s.persist(ctx, func(ctx context.Context) error {
		return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
			batch := &pgx.Batch{}
			for _, f := range files {
				batch.Queue(`DELETE FROM liza.files f USING liza.boards b WHERE b.name = $1 AND f.board = b.id AND f.path = $2`, s.o.Board, f.Path)
				batch.Queue(addFile, s.o.Board, f.Path, f.Text)
			}
			return tx.SendBatch(ctx, batch).Close()
		})
	})
}

// SealKey names the key with which approvals of this board are sealed; "" when it has none.
func (s *Store) SealKey(ctx context.Context) (name string, err error) {
	err = s.persist(ctx, func(ctx context.Context) error {
		return s.pool.QueryRow(ctx, `SELECT seal FROM liza.boards WHERE name = $1`, s.o.Board).Scan(&name)
	})
	return name, err
}

const addFile = `INSERT INTO liza.files (board, path, text) SELECT id, $2, $3 FROM liza.boards WHERE name = $1`
