package merge

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"liza/pkg/blackboard"
	"liza/pkg/safefile"
	"liza/pkg/store"
	"liza/pkg/transition"
)

// turnLength is how long a host may be silent before another one may merge. A merge renews its turn, checks may take long.
const turnLength = time.Minute

// A TurnError says which host merges now.
type TurnError struct{ Turn blackboard.MergeTurn }

func (e *TurnError) Error() string {
	return fmt.Sprintf("cannot merge: %s on host %s does, until %s at the latest", e.Turn.By, e.Turn.Host, e.Turn.Until)
}

// Next is the command that helps.
func (e *TurnError) Next() string { return "liza status" }

// Lock lets nobody else merge until unlock: on this host by a lock of its own, and where several hosts have the board by a turn
// on it, whose end stops the merge.
func (m *Merger) Lock(ctx context.Context, wait time.Duration) (work context.Context, unlock func() error, err error) {
	if wait <= 0 {
		wait = lockTimeout
	}
	waiting, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	end, err := m.lockHere(waiting, wait)
	if err != nil || !m.Turns {
		return ctx, end, err
	}
	term, err := m.takeTurn(waiting, ctx)
	if err != nil {
		return ctx, nil, errors.Join(err, end())
	}
	m.term = term
	work, stop := context.WithCancelCause(ctx)
	var renewing sync.WaitGroup
	renewing.Go(func() { m.keepTurn(work, term, stop) })
	return work, func() error {
		stop(nil)
		renewing.Wait()
		m.term = 0
		return errors.Join(m.endTurn(context.WithoutCancel(ctx), term), end())
	}, nil
}

// lockHere is the part of the lock that keeps others on this host away.
func (m *Merger) lockHere(ctx context.Context, wait time.Duration) (func() error, error) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	return safefile.LockIn(ctx, m.LockPath, m.holder())
}

// takeTurn waits for the end of another host's turn.
func (m *Merger) takeTurn(waiting, ctx context.Context) (term int, err error) {
	for {
		var held *blackboard.MergeTurn
		err := m.write(ctx, "merge turn", func(s *blackboard.State) error {
			if term, held = transition.TakeTurn(s, m.Facts.Host, m.By, turnLength, m.Now()); held != nil {
				return store.ErrUnchanged
			}
			return nil
		})
		if err != nil || held == nil {
			return term, err
		}
		select {
		case <-waiting.Done():
			return 0, &TurnError{*held}
		case <-time.After(turnPoll):
		}
	}
}

// turnPoll is how often a waiting merge looks whether the other host's turn is over.
const turnPoll = 300 * time.Millisecond

// keepTurn renews the turn and ends the work when that cannot be done in time.
func (m *Merger) keepTurn(ctx context.Context, term int, stop context.CancelCauseFunc) {
	renewed := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(turnLength / 4):
		}
		at := time.Now()
		kept := false
		err := m.write(ctx, "merge turn", func(s *blackboard.State) error {
			if kept = transition.KeepTurn(s, term, turnLength, m.Now()); !kept {
				return store.ErrUnchanged
			}
			return nil
		})
		switch {
		case err == nil && kept:
			renewed = at
		case err == nil || time.Since(renewed) > turnLength*3/4:
			stop(errTurnOver)
			return
		}
	}
}

func (m *Merger) endTurn(ctx context.Context, term int) error {
	ctx, cancel := context.WithTimeout(ctx, turnLength)
	defer cancel()
	return m.write(ctx, "merge turn", func(s *blackboard.State) error {
		if !s.HasTurn(term) {
			return store.ErrUnchanged
		}
		transition.EndTurn(s, term, m.Now())
		return nil
	})
}

func (m *Merger) write(ctx context.Context, op string, change func(*blackboard.State) error) error {
	err := m.Store.Update(ctx, store.Op{Name: op, Agent: m.By}, change)
	if errors.Is(err, store.ErrUnchanged) {
		return nil
	}
	return err
}
