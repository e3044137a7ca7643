package web_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/store"
	"liza/pkg/face/dashboard/web"
	"liza/pkg/verb/verb/verbtest"
)

// cutOff is a board whose database cannot be reached for a while, and that has a copy.
type cutOff struct {
	store.Store
	copy *blackboard.State
	gone atomic.Bool

	mu       sync.Mutex
	watchers []chan struct{}
}

type noConnection struct{}

func (noConnection) Error() string     { return "cannot reach the database" }
func (noConnection) Unreachable() bool { return true }

func (c *cutOff) View(ctx context.Context) (*blackboard.State, error) {
	if c.gone.Load() {
		return nil, noConnection{}
	}
	return c.Store.View(ctx)
}

func (c *cutOff) Update(ctx context.Context, op store.Op, change func(*blackboard.State) error) error {
	if c.gone.Load() {
		return noConnection{}
	}
	return c.Store.Update(ctx, op, change)
}
func (c *cutOff) Watch(context.Context) <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	signals := make(chan struct{}, 1)
	c.watchers = append(c.watchers, signals)
	return signals
}

func (c *cutOff) connect(on bool) {
	c.gone.Store(!on)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, w := range c.watchers {
		w <- struct{}{}
	}
}
func (c *cutOff) LastValid(context.Context) (*blackboard.State, error) { return c.copy.Clone(), nil }
func (c *cutOff) Copied() (at, lost time.Time)                         { return time.Unix(1e9, 0), time.Time{} }

func TestWithoutConnectionTheCopyIsServedAndDecisionsAreRefused(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.AddTask("task-1")
	board := &cutOff{copy: p.State()}
	s := serve(t, p, func(o *web.Options) {
		board.Store = o.Service.Board.Store
		o.Service.Board.Store, o.Source.Service = board, o.Service
		o.Explain = func(error) web.Problem {
			return web.Problem{Code: "unreachable", Message: "nothing was changed", Next: "liza doctor"}
		}
	})
	whole, _ := events(t, s, "/api/events")
	rows, _ := events(t, s, "/api/events?rows=changed")
	for _, next := range []func(string) map[string]any{whole, rows} {
		if v := next("snapshot"); v["offline"] != nil {
			t.Fatalf("the snapshot says %v", v["offline"])
		}
	}
	offline := func(c map[string]any, part string) map[string]any {
		o, _ := c[part].(map[string]any)["offline"].(map[string]any)
		return o
	}
	board.connect(false)
	if o := offline(whole("change"), "state"); o["since"] != "2001-09-09T01:46:40Z" {
		t.Errorf("the whole board says %v", o)
	}
	if o := offline(rows("change"), "board"); o["since"] != "2001-09-09T01:46:40Z" {
		t.Errorf("the change says %v", o)
	}
	if a := ask(t, s, "GET", "/api/tasks/task-1", ""); a.status != 200 {
		t.Errorf("a task of the copy: %d %s", a.status, a.text)
	}
	for _, path := range []string{"/api/pause", "/api/tasks/task-1/hold"} {
		a := ask(t, s, "POST", path, "")
		if code, message := a.problem(); a.status != 503 || code != "unreachable" || message != "nothing was changed" {
			t.Errorf("POST %s: %d %s", path, a.status, a.text)
		}
	}
	board.connect(true)
	if o := offline(whole("change"), "state"); o != nil {
		t.Errorf("with the connection back the whole board says %v", o)
	}
	if o := offline(rows("change"), "board"); o != nil {
		t.Errorf("with the connection back the change says %v", o)
	}
}
