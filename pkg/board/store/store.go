package store

import (
	"context"
	"errors"
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

	// Journaled checks the journal of a board.
	Journaled interface {
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
