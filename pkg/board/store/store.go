// Package store keeps one blackboard safe from crashes, from neighbours, and from people
// who edit it (specs/protocol.md#1.2, specs/protocol.md#14; specs/decisions.md#D1, specs/decisions.md#D2).
//
// A Store has two doors. View gives a copy of the state as it is. Update lets a function
// change the state and makes the result durable, or does nothing at all:
//
//	err := st.Update(ctx, store.Op{Name: "claim", Agent: "coder-1"}, func(s *blackboard.State) error {
//		return s.Claim("task-3", actor, now)
//	})
//
// The function may run more than once: it alters the state that it is given and has no
// other effect; it reads no clock and rolls no dice. What it records with State.Record is
// written to the journal in the same critical section, before the state.
//
// File keeps the state in .liza/state.yaml. Writers hold a lock on a sidecar; readers
// take no lock and see the old file or the new one. A write re-encodes only the entries
// that it changed and leaves every other byte as people wrote it. Memory keeps the state
// in memory, for tests; storetest is the suite that both pass.
//
// The package never decides what may happen to a task, and nothing outside of it knows
// that the state is a file.
package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"liza/pkg/base/yamldoc"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/history"
)

// Store keeps one blackboard. It may be used by several goroutines.
type Store interface {
	// View returns a copy of the state as it is now.
	View(ctx context.Context) (*blackboard.State, error)

	// Update lets change alter the state and makes the result durable. When change, the
	// validation or the write fails, the state is as it was. change may run more than once
	// and must only alter the state that it is given. A change that alters and records
	// nothing, or returns ErrUnchanged, writes nothing.
	Update(ctx context.Context, op Op, change func(*blackboard.State) error) error

	// Watch sends when the state may have changed, until ctx ends; then the channel is
	// closed. It is a hint: signals are coalesced, and one may come for nothing.
	Watch(ctx context.Context) <-chan struct{}
}

// The interfaces below are optional. The store of a project has all of them; one for tests, in
// memory, none.
type (
	// A Recoverer returns the last valid state while the present one cannot be read.
	Recoverer interface {
		LastValid(ctx context.Context) (*blackboard.State, error)
	}

	// An Inspector reads the state for validation, with the problems of its text.
	Inspector interface {
		Inspect(ctx context.Context) (*Inspection, error)
	}

	// Journaled reads and checks the journal of a board.
	Journaled interface {
		Journal(ctx context.Context, f history.Filter) ([]blackboard.Entry, error)
		JournalProblems(ctx context.Context, revision int) ([]history.Problem, error)
		JournalBroken(ctx context.Context) (*history.Break, error)
	}

	// Past keeps earlier states and restores one.
	Past interface {
		Past(ctx context.Context, revision int) (*blackboard.State, time.Time, error)
		Revisions(ctx context.Context) ([]Snapshot, error)
		Snapshots(ctx context.Context) ([]Snapshot, error)
		Content(ctx context.Context, revision int) ([]byte, error)
		Whole(ctx context.Context, revision int) (tasks int, problem string, err error)
		Restore(ctx context.Context, op Op, revision int) (now int, kept string, err error)
	}

	// An Editor writes a person's edit of the text.
	Editor interface {
		Text(ctx context.Context) ([]byte, error)
		Edit(ctx context.Context, op Op, base, text []byte) (Edited, error)
	}

	// A Forgetter removes earlier states, such as those that hold a secret.
	Forgetter interface {
		Forget(ctx context.Context, op Op, holds func(text []byte) bool) error
	}

	// Sealed checks the seals of approvals.
	Sealed interface {
		CheckSeal(t *blackboard.Task, tree string) error
	}

	// A Clocked board has a clock of its own, which all of its hosts use.
	Clocked interface {
		Now() time.Time
		ClockOffset() time.Duration // how far this host's clock is ahead
	}

	// Project is the store of a project.
	Project interface {
		Store
		Recoverer
		Inspector
		Journaled
		Past
		Editor
		Forgetter
		Sealed
	}
)

// Op names the writer and the verb of a write, for processes that wait for the lock.
type Op struct {
	Name  string // name of the verb: submit
	Agent string // agent id, human or system

	// Adopt seals all present approvals, also those that no verb made: a person vouches for them.
	Adopt bool

	// Ahead makes effects durable that must be on disk before the change. It is called under the lock, when the change is
	// certain and valid, with the tasks that the change removes, and again if the write is repeated. If it fails nothing is
	// written.
	Ahead func(gone []Gone) error
}

// A Group is the store of a team in one process. Changes that its members ask for while one of them writes are written together:
// the file grows by one revision, with the entries of each. What is refused leaves no trace in what the others change.
type Group struct {
	*File

	turn   chan struct{} // held by the member that writes
	mu     sync.Mutex
	asking []*request
}

// A request is a change that waits to be written.
type request struct {
	ctx      context.Context
	op       Op
	change   func(*blackboard.State) error
	err      error
	panicked any
	done     chan struct{} // closed when err is known
}

// Grouped returns a Group for a board in a file, and any other store as it is.
func Grouped(s Store) Store {
	if f, ok := s.(*File); ok {
		return &Group{File: f, turn: make(chan struct{}, 1)}
	}
	return s
}

// Update is File.Update.
func (g *Group) Update(ctx context.Context, op Op, change func(*blackboard.State) error) error {
	if op.Adopt || op.Ahead != nil { // these mean the whole write
		return g.File.Update(ctx, op, change)
	}
	r := &request{ctx: ctx, op: op, change: change, done: make(chan struct{})}
	g.mu.Lock()
	g.asking = append(g.asking, r)
	g.mu.Unlock()
	select {
	case <-r.done: // by another member
	case g.turn <- struct{}{}:
		g.write()
		<-g.turn
	case <-ctx.Done():
		if g.forget(r) {
			return fmt.Errorf("cannot write %s: %w", short(g.o.Path), ctx.Err())
		}
	}
	<-r.done
	if r.panicked != nil {
		panic(r.panicked)
	}
	return r.err
}

// forget takes back a request that nobody writes yet.
func (g *Group) forget(r *request) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	at := slices.Index(g.asking, r)
	if at >= 0 {
		g.asking = slices.Delete(g.asking, at, at+1)
	}
	return at >= 0
}

// write writes all that was asked for until now.
func (g *Group) write() {
	g.mu.Lock()
	all := g.asking
	g.asking = nil
	g.mu.Unlock()
	defer func() {
		for _, r := range all {
			close(r.done)
		}
	}()
	switch len(all) {
	case 0: // the member before has written it
		return
	case 1:
		g.alone(all[0])
		return
	}
	var invalid *InvalidError
	var syntax *yamldoc.SyntaxError
	err := g.File.Update(context.WithoutCancel(all[0].ctx), all[0].op, func(s *blackboard.State) error { return together(s, all) })
	switch {
	case err == nil:
	case errors.As(err, &invalid) && !errors.As(err, &syntax): // what one of them changes is against a rule
		for _, r := range all {
			g.alone(r)
		}
	default:
		for _, r := range all {
			r.err = err
		}
	}
}

func (g *Group) alone(r *request) {
	defer func() { r.panicked = recover() }()
	r.err = g.File.Update(r.ctx, r.op, r.change)
}

// together carries the changes out one after the other, each on a fork of what those before have made.
func together(s *blackboard.State, all []*request) error {
	none := true
	for _, r := range all {
		fork := s.Fork()
		if r.apply(fork); errors.Is(r.err, ErrUnchanged) {
			r.err = nil
		} else if r.err == nil && r.panicked == nil {
			s.Join(fork)
			none = false
		}
	}
	if none {
		return ErrUnchanged
	}
	return nil
}

func (r *request) apply(s *blackboard.State) {
	defer func() { r.panicked = recover() }()
	if r.err = r.ctx.Err(); r.err == nil {
		r.err = r.change(s)
	}
	for i, e := range s.Entries() {
		s.Entries()[i].Agent = cmp.Or(e.Agent, r.op.Agent)
	}
}

// ErrUnchanged is returned by a change function that changed nothing.
var ErrUnchanged = errors.New("nothing to change")

// Gone is a task that a change removes from the state.
type Gone struct {
	Task *blackboard.Task
	Text string // its lines as they stand in the file, "  - id: task-3" and what follows
}

// Edited is the result of an edit.
type Edited struct {
	Revision int            // revision with the edit; 0: nothing was changed
	Names    []string       // tasks, agents and sections that differ
	Notes    []yamldoc.Note // parts of the edit, without meaning, that were lost

	Refused []blackboard.Violation // edits of statuses that were undone; only of a file
}

// Inspection is a state with the problems of its text, for `liza validate`.
type Inspection struct {
	State    *blackboard.State
	Decode   []blackboard.Violation // V03, V04 and V61, with their lines
	Missing  []string               // required sections that are missing
	Previous *blackboard.State      // the last state that Liza wrote, if a person changed it since; else nil
	doc      *yamldoc.Document
}

// Snapshot is an earlier state.
type Snapshot struct {
	Path     string // path of the copy that has it, or that it follows from
	Revision int
	At       time.Time // when it became the state; of a copy, when the next state replaced it
}
