// Package postgres keeps blackboards in PostgreSQL, for a team on several hosts (specs/architecture.md).
//
// A board is a text there too, part by part: a row has the lines of one task, with their comments, so that a
// board can become a file again byte for byte. Who writes locks the board's row, reads what others wrote since,
// and writes what changed in the same transaction. The time is the database's.
package postgres

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"liza/pkg/blackboard"
	"liza/pkg/store"
)

// Open reads nothing yet.
func Open(o Options) (*Store, error) { return open(o, func(*pgx.ConnConfig) {}) }

func open(o Options, adjust func(*pgx.ConnConfig)) (*Store, error) {
	if o.Board == "" {
		return nil, errors.New("cannot open the store: it needs the name of a board")
	}
	if o.LockTimeout <= 0 {
		o.LockTimeout = lockTimeout
	}
	if o.At == nil {
		o.At = func(string) {}
	}
	cfg, err := Config(o.URL, o.LockTimeout)
	if err != nil {
		return nil, err
	}
	cfg.Password = password(o, cfg.Password)
	if o.Patience > 0 {
		cfg.ConnectTimeout = min(cfg.ConnectTimeout, patientConnect)
	}
	adjust(cfg)
	pooled, err := pgxpool.ParseConfig("")
	if err != nil {
		return nil, err
	}
	pooled.ConnConfig, pooled.MaxConns, pooled.AfterConnect = cfg, connections, known
	pooled.BeforeConnect = func(_ context.Context, cfg *pgx.ConnConfig) error {
		cfg.Password = password(o, cfg.Password)
		return nil
	}
	pool, err := pgxpool.NewWithConfig(context.Background(), pooled) // which connects later
	if err != nil {
		return nil, err
	}
	s := &Store{pool: pool, turn: make(chan struct{}, 1)}
	if o.Now == nil {
		o.Now = s.Now
	}
	o.Path = "postgres/" + o.Board
	s.o, s.engine = o, store.NewEngine(o.Options)
	return s, nil
}

// password is that of the next connection: ~/.pgpass may have another one than it had.
func password(o Options, was string) string {
	if now, err := pgx.ParseConfig(o.URL); err == nil {
		was = now.Password
	}
	return cmp.Or(was, o.Password)
}

// View returns a copy of the state as it is now.
func (s *Store) View(ctx context.Context) (*blackboard.State, error) {
	k, err := s.look(ctx)
	if err != nil {
		return nil, err
	}
	return k.content.State(), nil
}

// look reads what was written since the last time.
func (s *Store) look(ctx context.Context) (k *kept, err error) {
	err = s.persist(ctx, func(ctx context.Context) error {
		conn, err := s.pool.Acquire(ctx)
		if err != nil {
			return err
		}
		defer conn.Release()
		k, err = s.read(ctx, conn.Conn(), nil)
		return err
	})
	return k, err
}

// read asks for what was written since, in one round trip together with what begins a transaction.
func (s *Store) read(ctx context.Context, conn *pgx.Conn, before []string) (*kept, error) {
	known := s.known()
	for {
		batch := &pgx.Batch{}
		for _, sql := range before {
			if sql == lockBoard {
				batch.Queue(sql, s.o.Board)
			} else {
				batch.Queue(sql)
			}
		}
		batch.Queue(readDelta, s.o.Board, known.revision())
		asked := time.Now()
		d, at, err := readBatch(ctx, conn, batch, len(before))
		if err != nil {
			return nil, err
		}
		if d == nil {
			return nil, s.noBoard(ctx, conn)
		}
		s.tell(asked, at)
		if known != nil && (known.revision() < d.thinned || !known.same(d.board, d.table)) { // rows that ended are gone, or the board was made again
			known, before = nil, nil
			continue
		}
		next, err := known.apply(s.engine, d)
		if err != nil {
			return nil, err
		}
		s.keep(next)
		return next, nil
	}
}

func readBatch(ctx context.Context, conn *pgx.Conn, batch *pgx.Batch, before int) (d *delta, at time.Time, err error) {
	results := conn.SendBatch(ctx, batch)
	defer func() {
		if e := results.Close(); err == nil {
			err = e
		}
	}()
	for range before {
		if _, err := results.Exec(); err != nil {
			return nil, at, err
		}
	}
	rows, err := results.Query()
	if err != nil {
		return nil, at, err
	}
	defer rows.Close()
	for rows.Next() {
		var kind int16
		var r row
		var moment *time.Time
		if err := rows.Scan(&kind, &r.section, &r.place, &r.revision, &r.shape, &r.indent, &r.position, &r.key, &r.body, &moment); err != nil {
			return nil, at, err
		}
		switch kind {
		case 0:
			d = &delta{board: r.key, table: r.section, revision: r.revision, thinned: int(r.place), journal: r.body}
			at = *moment
		case 1:
			d.rows = append(d.rows, r)
		default:
			d.ended = append(d.ended, r)
		}
	}
	return d, at, rows.Err()
}

func (s *Store) noBoard(ctx context.Context, conn *pgx.Conn) error {
	_, _ = conn.Exec(ctx, "ROLLBACK")
	var who string
	err := conn.QueryRow(ctx, `SELECT f.text FROM liza.files f JOIN liza.boards b ON b.id = f.board WHERE b.name = $1 AND f.path = $2`, s.o.Board, arrivingMark).Scan(&who)
	if err == nil {
		return &ArrivingError{Board: s.o.Board, Mover: who}
	}
	none := &NoBoardError{Board: s.o.Board}
	rows, err := conn.Query(ctx, `SELECT name FROM liza.boards ORDER BY created DESC LIMIT 20`)
	if err == nil { // else what is missing is told without them
		none.Others, _ = pgx.CollectRows(rows, pgx.RowTo[string])
	}
	return none
}

// A NoBoardError says that the database has no board of that name, and the newest that it has.
type NoBoardError struct {
	Board  string
	Others []string
}

func (e *NoBoardError) Error() string {
	text := "the database has no board " + e.Board
	if len(e.Others) > 0 {
		text += "; it has " + strings.Join(e.Others, ", ")
	}
	return text
}

// Next is the command that helps.
func (e *NoBoardError) Next() string { return "liza init GOAL --store URL" }
