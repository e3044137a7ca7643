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
	mu      sync.Mutex
	lose    context.CancelCauseFunc // of the running work; nil when none runs
	trust   time.Time               // until then the lease is trusted without another renewal
	isLost  bool
	run     string // correlation id of the run that is under way
	seen    int    // revision of the board that stopped is from
	stopped bool   // a person stopped this agent
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

// errStopped is the cause with which work ends when a person stops the agent.
var errStopped = errors.New("a person stopped the agent")

// ordered notes whether a person has stopped the agent at a revision of the board; work under way ends then. An
// older revision than the last one says nothing: who reads the board does so beside each other.
func (l *leaseKeeper) ordered(revision int, stopped bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if revision < l.seen {
		return
	}
	l.seen, l.stopped = revision, stopped
	if stopped && l.lose != nil {
		l.lose(errStopped)
	}
}

// guard makes a context for work under the lease.
func (l *leaseKeeper) guard(ctx context.Context) (context.Context, context.CancelFunc) {
	work, lose := context.WithCancelCause(ctx)
	l.mu.Lock()
	l.lose = lose
	switch {
	case l.isLost:
		lose(errLost)
	case l.stopped:
		lose(errStopped)
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
