package postgres

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"liza/pkg/safefile"
	"liza/pkg/store"
)

// Options say which board it is. Of store.Options those count that are about changes, not about files. Now is for tests:
// without it the time is the database's.
type Options struct {
	URL      string
	Password string // where neither the environment nor a file has it
	Board    string
	Files    []store.BoardFile // of a board that is made
	Mover    string            // who moves a board there, until Moved; "": nobody
	// Patience is for who has a copy to show: how long to try to reach a database that does not answer. Without it that is
	// as long as the lock may be waited for.
	Patience time.Duration
	store.Options
}

// Store is a board in PostgreSQL. It connects when it is used first, and again after each loss.
type Store struct {
	o      Options
	engine *store.Engine
	pool   *pgxpool.Pool
	turn   chan struct{} // of writers of this process, so that one of them at a time waits at the database

	mu    sync.Mutex
	kept  *kept
	clock clock
	down  down
	turns safefile.Holder // who has the turn
	hub   hub
}

// Close ends the connections.
func (s *Store) Close() { s.pool.Close() }

// hub wakes those who watch in this process.
type hub struct {
	mu       sync.Mutex
	watchers map[chan struct{}]bool
	stop     context.CancelFunc // of the one that listens
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
	since time.Time // no answer has come; nobody in this process tries for longer than the patience that is counted from there
	first error     // of the attempt then
	err   error     // with which the last one was given up
	at    time.Time // when that was
}

const (
	lockTimeout = 10 * time.Second
	pause       = 50 * time.Millisecond // between attempts to connect
	mostPause   = 2 * time.Second
	connections = 4 // of one process, besides the one that listens
)

const (
	// Rows that refer to the board, such as its files, can be written meanwhile.
	lockBoard = `SELECT 1 FROM liza.boards WHERE name = $1 FOR NO KEY UPDATE`

	// One statement, so that all of it is of one moment.
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
	trip        time.Duration // how far off it may be
}

// The files of a board that have the marks.
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
