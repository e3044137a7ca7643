package supervisor

import (
	"context"
	"errors"
	"sync"
	"time"
)

// leaseKeeper knows whether this registration still holds, and ends the work under it
// when it does not.
type leaseKeeper struct {
	mu     sync.Mutex
	lose   context.CancelCauseFunc // of the running work; nil when none runs
	trust  time.Time               // until then the lease is trusted without another renewal
	isLost bool
	run    string // correlation id of the run that is under way
}

// runID and setRun are about the run that is under way.
func (l *leaseKeeper) runID() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.run
}

func (l *leaseKeeper) setRun(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.run = id
}

// errLost is the cause with which work under a lost lease ends.
var errLost = errors.New("the lease was lost")

// guard makes a context for work under the lease.
func (l *leaseKeeper) guard(ctx context.Context) (context.Context, context.CancelFunc) {
	work, lose := context.WithCancelCause(ctx)
	l.mu.Lock()
	l.lose = lose
	if l.isLost {
		lose(errLost)
	}
	l.mu.Unlock()
	return work, func() {
		l.mu.Lock()
		l.lose = nil
		l.mu.Unlock()
		lose(nil)
	}
}

func (l *leaseKeeper) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.isLost = true
	if l.lose != nil {
		l.lose(errLost)
	}
}

func (l *leaseKeeper) lost() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.isLost
}

func (l *leaseKeeper) renewed(trust time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.trust, l.isLost = trust, false
}

// left is how long the lease is still trusted without another renewal.
func (l *leaseKeeper) left(now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return max(l.trust.Sub(now), 0)
}
