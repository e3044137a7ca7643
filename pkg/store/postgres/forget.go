package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"liza/pkg/blackboard"
	"liza/pkg/history"
	"liza/pkg/store"
)

// Forget removes the states that were whose text holds says yes to, and masks the journal.
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
