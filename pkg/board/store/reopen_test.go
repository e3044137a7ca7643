package store_test

import (
	"context"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/store"
)

// reopening is a store that knows nothing from one call to the next.
type reopening struct{ p *project }

func (r reopening) View(ctx context.Context) (*blackboard.State, error) { return r.p.open().View(ctx) }

func (r reopening) Update(ctx context.Context, op store.Op, change func(*blackboard.State) error) error {
	return r.p.open().Update(ctx, op, change)
}

func (r reopening) Watch(ctx context.Context) <-chan struct{} { return r.p.open().Watch(ctx) }
