package postgres

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"time"

	"github.com/jackc/pgx/v5"

	"liza/pkg/base/safefile"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/history"
	"liza/pkg/board/store"
)

// commitTimeout is how long the last step of a write may take. It does not end with the caller's context: an answer that
// nobody waits for leaves open whether the write was made.
const commitTimeout = 15 * time.Second

// begin locks the board. It is sent together with the query for changes.
var begin = []string{"BEGIN", lockBoard}

// makeNext is a change, under the lock; its result is nil if nothing changed.
type makeNext func(before *store.Content) (*store.Content, []blackboard.Entry, error)

// Update changes the state. It returns a *store.LockedError, a *store.InvalidError, an *UnreachableError, an *UncertainError,
// or the error of change.
func (s *Store) Update(ctx context.Context, op store.Op, change func(*blackboard.State) error) error {
	return s.write(ctx, op, func(before *store.Content) (*store.Content, []blackboard.Entry, error) {
		return s.engine.Change(ctx, op, before, change)
	})
}

func (s *Store) write(ctx context.Context, op store.Op, next makeNext) error {
	wait := time.NewTimer(s.o.LockTimeout)
	defer wait.Stop()
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
		s.mu.Lock()
		s.turns = safefile.Holder{PID: os.Getpid(), Agent: op.Agent, Op: op.Name, Since: time.Now()}
		s.mu.Unlock()
	case <-ctx.Done():
		return ctx.Err()
	case <-wait.C:
		return s.busy()
	}
	w := &write{store: s, op: op, next: next}
	_, _ = rand.Read(w.id[:]) // which never fails
	err := s.persist(ctx, w.attempt)
	if w.lost = err; err != nil && w.sent {
		err = w.resolve(ctx)
	}
	if err != nil {
		return err
	}
	if w.revision > 0 && w.revision%thinEvery == 0 {
		s.thin(ctx, w.revision)
	}
	return nil
}

// write is one change of the board, in as many attempts as it takes.
type write struct {
	store    *Store
	op       store.Op
	next     makeNext
	id       [16]byte // id of the operation
	sent     bool     // an attempt was sent and not answered
	lost     error    // why there is no further attempt: only the result of the last one is looked up
	revision int      // revision that was written
}

// resolve finds out the result of the last attempt when there is no time for another one.
func (w *write) resolve(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitTimeout)
	defer cancel()
	err := w.store.persist(ctx, w.attempt)
	if err != nil && w.sent {
		return &UncertainError{Board: w.store.o.Board, Err: w.lost}
	}
	return err
}

// attempt makes the change in one transaction. After a lost answer it first looks whether the last one did.
func (w *write) attempt(ctx context.Context) error {
	s := w.store
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	c := conn.Conn()
	done := false
	defer func() {
		if !done { // the lock must not stay with a connection that is used again, nor with one whose change panicked
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
			defer cancel()
			if _, err := c.Exec(ctx, "ROLLBACK"); err != nil {
				_ = c.Close(ctx)
			}
		}
	}()
	before, err := s.read(ctx, c, begin)
	if err != nil {
		return err
	}
	s.o.At("P1")
	if w.sent {
		// The lock is free, so that the transaction of that attempt is over, one way or the other.
		switch found, err := s.wrote(ctx, c, w.id); {
		case err != nil:
			return err
		case found:
			return nil
		}
		w.sent = false
		if w.lost != nil {
			return w.lost
		}
	}
	next, entries, err := w.next(before.content)
	if next == nil || err != nil {
		return err
	}
	s.o.At("P2")
	batch, after, err := s.rows(before, next, entries, w)
	if err != nil {
		return err
	}
	commit, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitTimeout)
	defer cancel()
	w.sent = true
	results := c.SendBatch(commit, batch)
	s.o.At("P3")
	err = results.Close()
	if err != nil {
		if decided(err) { // the transaction failed, and its COMMIT was not looked at
			w.sent = false
		}
		return err
	}
	done, w.sent, w.revision = true, false, next.Revision()
	s.keep(after)
	s.o.At("P4")
	s.hub.signal()
	return nil
}

// wrote reports whether the operation id was committed.
func (s *Store) wrote(ctx context.Context, c *pgx.Conn, id [16]byte) (found bool, err error) {
	err = c.QueryRow(ctx, `SELECT EXISTS (SELECT FROM liza.revisions r JOIN liza.boards b ON b.id = r.board WHERE b.name = $1 AND r.operation = $2)`, s.o.Board, id).Scan(&found)
	return found, err
}

// rows returns the statements, up to the commit, that make next the board's content, for one round trip.
func (s *Store) rows(before *kept, next *store.Content, entries []blackboard.Entry, w *write) (*pgx.Batch, *kept, error) {
	after, added, ended := before.diff(next)
	after.journal = before.journal
	batch := &pgx.Batch{}
	if len(ended) > 0 {
		var sections []string
		var places []int64
		for _, r := range ended {
			sections, places = append(sections, r.section), append(places, r.place)
		}
		batch.Queue(endEntries, before.board, next.Revision(), sections, places)
	}
	insertEntries(batch, before.board, after, added)
	last, err := s.insertJournal(batch, before.board, next.Revision(), history.Link(before.journal), entries)
	if err != nil {
		return nil, nil, err
	}
	after.journal = string(last)
	batch.Queue(insertRevision, before.board, next.Revision(), w.id, w.op.Name, w.op.Agent)
	batch.Queue(raiseRevision, before.board, next.Revision(), after.journal)
	batch.Queue(notify, channel(before.board), fmt.Sprint(next.Revision()))
	batch.Queue("COMMIT")
	return batch, after, nil
}

func insertEntries(batch *pgx.Batch, board string, after *kept, added []row) {
	if len(added) == 0 {
		return
	}
	n := len(added)
	sections, keys, bodies, values := make([]string, n), make([]string, n), make([]string, n), make([]*string, n)
	places, shapes, indents, positions := make([]int64, n), make([]int16, n), make([]int16, n), make([]int32, n)
	for i, r := range added {
		sections[i], keys[i], bodies[i], places[i], shapes[i], indents[i], positions[i] = r.section, r.key, r.body, r.place, r.shape, r.indent, r.position
		if v := after.valueOf(r); v != nil {
			text := string(v)
			values[i] = &text
		}
	}
	batch.Queue(addEntries, board, after.content.Revision(), sections, places, shapes, indents, positions, keys, bodies, values)
}

func (s *Store) insertJournal(batch *pgx.Batch, board string, revision int, end history.Link, entries []blackboard.Entry) (history.Link, error) {
	var agents, actions, tasks, lines []string
	journal := history.Journal{Mask: s.o.Mask}
	for _, e := range entries {
		line, last, err := journal.Lines(revision, end, []blackboard.Entry{e})
		if err != nil {
			return "", err
		}
		end = last
		agents, actions, tasks, lines = append(agents, e.Agent), append(actions, string(e.Action)), append(tasks, e.Task), append(lines, string(line))
	}
	if len(lines) > 0 {
		batch.Queue(addJournal, board, revision, agents, actions, tasks, lines)
	}
	return end, nil
}

const (
	endEntries = `UPDATE liza.entries e SET until = $2 FROM unnest($3::text[], $4::bigint[]) AS gone (section, place)
WHERE e.board = $1::text::bigint AND e.section = gone.section AND e.place = gone.place AND e.until IS NULL`

	addEntries = `INSERT INTO liza.entries (board, revision, section, place, shape, indent, position, key, body, value)
SELECT $1::text::bigint, $2, * FROM unnest($3::text[], $4::bigint[], $5::smallint[], $6::smallint[], $7::integer[], $8::text[], $9::text[], $10::jsonb[])`

	addJournal = `INSERT INTO liza.journal (board, revision, agent, action, task, line)
SELECT $1::text::bigint, $2, * FROM unnest($3::text[], $4::text[], $5::text[], $6::text[])`

	insertRevision = `INSERT INTO liza.revisions (board, revision, operation, verb, agent) VALUES ($1::text::bigint, $2, $3, $4, $5)`
	raiseRevision  = `UPDATE liza.boards SET revision = $2, journal = $3 WHERE id = $1::text::bigint`
	notify         = `SELECT pg_notify($1, $2)`
)
