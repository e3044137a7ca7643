// Package postgres keeps blackboards in PostgreSQL, for a team on several hosts (specs/architecture.md).
//
// A board is a text there too, part by part: a row has the lines of one task, with their comments, so that a board can become
// a file again byte for byte. A writer locks the board's row, reads the writes of others since its last read, and writes its
// changes in the same transaction. The time is the database's.
package postgres

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"liza/pkg/base/safefile"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/history"
	"liza/pkg/board/store"
)

// Options select a board. Those options in store.Options apply that are about changes, not about files. Now is for tests: by
// default the time is the database's.
type Options struct {
	URL      string
	Password string // used if neither the environment nor a file has one
	Board    string
	Files    []store.BoardFile // files of a new board
	Mover    string            // mover of a board, until Moved; "": none
	// Patience is the longest time to try to reach a database that does not answer, for a host that has a copy to show. By
	// default it is the timeout of the lock.
	Patience time.Duration
	store.Options
}

// Store is a board in PostgreSQL. It connects on first use, and again after each loss.
type Store struct {
	o      Options
	engine *store.Engine
	pool   *pgxpool.Pool
	turn   chan struct{} // held by the one writer of this process that waits at the database

	mu    sync.Mutex
	kept  *kept
	clock clock
	down  down
	turns safefile.Holder // holder of turn
	hub   hub
	seen  history.Seen
}

// Close ends the connections.
func (s *Store) Close() { s.pool.Close() }

// hub wakes those who watch in this process.
type hub struct {
	mu       sync.Mutex
	watchers map[chan struct{}]bool
	stop     context.CancelFunc // ends the listener
}

func (h *hub) signal() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for w := range h.watchers {
		select {
		case w <- struct{}{}:
		default: // one is waiting already
		}
	}
}

func (s *Store) locked(by safefile.Holder) error {
	return &store.LockedError{Held: &safefile.HeldError{Path: s.o.Path + ".lock", Holder: by, Waited: s.o.LockTimeout, At: time.Now()}}
}

// down is how the database was when it was asked last.
type down struct {
	since time.Time // start of the outage, from which the patience of this process counts
	first error     // error of the first attempt
	err   error     // error of the last attempt
	at    time.Time // end of the last attempt
}

const (
	lockTimeout = 10 * time.Second
	pause       = 50 * time.Millisecond // pause between attempts to connect
	mostPause   = 2 * time.Second
	connections = 4 // connections of one process, besides the listener's
)

const (
	// Other processes can write rows that refer to the board, such as its files, meanwhile.
	lockBoard = `SELECT 1 FROM liza.boards WHERE name = $1 FOR NO KEY UPDATE`

	// One statement, so that all results are of one moment.
	readDelta = `WITH b AS MATERIALIZED (SELECT id, tableoid::text AS made, revision, thinned, journal FROM liza.boards
WHERE name = $1 AND NOT EXISTS (SELECT FROM liza.files f WHERE f.board = boards.id AND f.path = '` + arrivingMark + `'))
SELECT 0::smallint, made, thinned, revision, 0::smallint, 0::smallint, 0, id::text, journal, clock_timestamp() FROM b
UNION ALL
SELECT 1::smallint, e.section, e.place, e.revision, e.shape, e.indent, e.position, e.key, e.body, NULL
FROM b JOIN liza.entries e ON e.board = b.id WHERE e.until IS NULL AND e.revision > $2
UNION ALL
SELECT 2::smallint, e.section, e.place, e.until, e.shape, 0::smallint, 0, '', '', NULL
FROM b JOIN liza.entries e ON e.board = b.id WHERE e.until > $2 AND e.revision <= $2`
)

// clock is the database's, as of the last answer. It goes on with the time that passes here, whatever anybody does to the
// clock of this host.
type clock struct {
	here, there time.Time
	trip        time.Duration // greatest error
}

// The files that mark a board.
const (
	movingMark   = ".moving"
	arrivingMark = ".arriving"
)

// known is the board as it was read last; nil at first.
func (s *Store) known() *kept {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kept
}

func (s *Store) keep(k *kept) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kept == nil || s.kept.revision() <= k.revision() || !s.kept.same(k.board, k.table) {
		s.kept = k
	}
}

// same reports whether a row is the same board still. A backup that is put back makes the table again: its revisions may mean something else.
func (k *kept) same(board, table string) bool { return k.board == board && k.table == table }

// Open returns the store of a board. It does not connect yet.
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

// look reads the changes since the last read.
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

// read queries the changes since the last read, in one round trip with before, the beginning of a transaction.
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

// A NoBoardError is returned when the database has no board of that name. It has the names of the newest boards.
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

// Next returns the next command for a person.
func (e *NoBoardError) Next() string { return "liza init GOAL --store URL" }

// tell sets the clock by at, the database's answer to a query sent at asked.
func (s *Store) tell(asked, at time.Time) {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	trip := now.Sub(asked)
	// An answer that was long under way says less than a good one of a moment ago.
	if c := s.clock; c.there.IsZero() || trip <= 2*c.trip || now.Sub(c.here) > time.Minute {
		s.clock = clock{here: now, there: at.Add(trip / 2), trip: trip}
	}
}

// Now returns the database's time, or this host's before the first answer.
func (s *Store) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.clock.there.IsZero() {
		return time.Now()
	}
	return s.clock.there.Add(time.Since(s.clock.here)).UTC()
}

// ClockOffset returns how far this host's clock is ahead of the database's.
func (s *Store) ClockOffset() time.Duration {
	return time.Now().Round(0).Sub(s.Now()) // without the monotonic reading: what people see on a clock
}

// Latest returns the board that this process read or wrote last.
func (s *Store) Latest() store.Latest {
	k := s.known()
	if k == nil {
		return store.Latest{}
	}
	return store.Latest{Board: k.board + "." + k.table, Revision: k.revision(), Text: k.content.Doc().Bytes()}
}

// Since returns the journal lines and files written after these numbers, in one round trip.
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

// SealKey returns the id of the key that seals approvals of this board, or "".
func (s *Store) SealKey(ctx context.Context) (name string, err error) {
	err = s.persist(ctx, func(ctx context.Context) error {
		return s.pool.QueryRow(ctx, `SELECT seal FROM liza.boards WHERE name = $1`, s.o.Board).Scan(&name)
	})
	return name, err
}

const addFile = `INSERT INTO liza.files (board, path, text) SELECT id, $2, $3 FROM liza.boards WHERE name = $1`
