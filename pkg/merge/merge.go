package merge

import (
	"context"
	"errors"

	"liza/pkg/transition"
)

// Task merges one approved task (specs/protocol.md#8.2).
func (m *Merger) Task(ctx context.Context, id string) (Result, error) {
	ctx, unlock, err := m.Lock(ctx, m.LockTimeout)
	if err != nil {
		return Result{Task: id}, err
	}
	defer func() { _ = unlock() }()
	m.at("M0")
	if err := m.converge(ctx); err != nil {
		return Result{Task: id}, err
	}
	return m.task(ctx, id)
}

// All merges everything that is approved, oldest approval first (specs/decisions.md#D25), or in trains. A task that waits
// or fails does not stop the others; the errors of the rest are joined.
func (m *Merger) All(ctx context.Context) ([]Result, error) {
	ctx, unlock, err := m.Lock(ctx, m.LockTimeout)
	if err != nil {
		return nil, err
	}
	defer func() { _ = unlock() }()
	m.at("M0")
	if err := m.converge(ctx); err != nil {
		return nil, err
	}
	if m.Train > 1 {
		return m.inTrains(ctx)
	}
	s, err := m.view(ctx)
	if err != nil {
		return nil, err
	}
	var results []Result
	var errs []error
	for _, c := range transition.ApprovedTasks(s) {
		r, err := m.task(ctx, c.Task.ID)
		var refused *transition.Refusal
		if errors.As(err, &refused) {
			r.Reason, r.Asked = refused.Message, refused.Guard == WaitsForChecks
		} else if err != nil {
			errs = append(errs, err)
		}
		results = append(results, r)
		if ctx.Err() != nil {
			break
		}
	}
	return results, errors.Join(errs...)
}

// task is a merge under merge.lock.
func (m *Merger) task(ctx context.Context, id string) (Result, error) {
	return again(func() (Result, error) { return m.round(ctx, id) })
}
