package store

import (
	"context"
	"errors"

	"liza/pkg/blackboard"
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

// Op says who writes what, for those who wait for the lock meanwhile.
type Op struct {
	Name  string // the verb: submit
	Agent string // agent id, human or system

	// Adopt seals all approvals as they stand, also those that no verb made: a person answers
	// for them.
	Adopt bool

	// Ahead does what must be on disk before the change is. It is called under the lock
	// when the change is certain and valid, with the tasks that it takes out of the state,
	// and again when the write has to be repeated. When it fails nothing is written.
	Ahead func(gone []Gone) error
}

// ErrUnchanged is what a change function returns that has nothing to change.
var ErrUnchanged = errors.New("nothing to change")
