package verb_test

import (
	"context"
	"errors"
	"testing"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/verb/verb/verbtest"
)

// What waits for the next write is seen by all that reads before, is written with it and not alone, and waits on when the write
// is refused.
func TestADraftIsWrittenWithTheNextChange(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.AddTask("task-1")
	ctx, d := context.Background(), p.Service("").Drafting()
	describe := func(text string) func(*blackboard.State, transition.Actor) error {
		return func(s *blackboard.State, _ transition.Actor) error {
			s.Task("task-1").Description = text
			return nil
		}
	}
	first := p.State().Revision
	if err := d.Board.Later(ctx, "later", describe("drafted")); err != nil {
		t.Fatal(err)
	}
	seen, err := d.Board.View(ctx)
	if err != nil || seen.Task("task-1").Description != "drafted" || p.State().Task("task-1").Description == "drafted" {
		t.Fatalf("the service reads %q, others %q: %v", seen.Task("task-1").Description, p.State().Task("task-1").Description, err)
	}
	no := errors.New("no")
	if err := d.Board.Update(ctx, "refused", func(*blackboard.State, transition.Actor) error { return no }); !errors.Is(err, no) {
		t.Fatalf("a refused change ends with %v", err)
	}
	err = d.Board.Update(ctx, "next", func(s *blackboard.State, _ transition.Actor) error {
		s.Task("task-1").DoneWhen = "after " + s.Task("task-1").Description
		return nil
	})
	now := p.State()
	if x := now.Task("task-1"); err != nil || x.DoneWhen != "after drafted" || now.Revision != first+1 {
		t.Errorf("after %d writes the task is done when %q: %v", now.Revision-first, x.DoneWhen, err)
	}
	if err := d.Board.Write(ctx, "none"); err != nil || p.State().Revision != now.Revision {
		t.Errorf("an empty draft is written: %v", err)
	}
	if err := errors.Join(d.Board.Later(ctx, "later", describe("alone")), d.Board.Write(ctx, "later")); err != nil || p.State().Task("task-1").Description != "alone" {
		t.Errorf("a draft cannot be written alone: %v", err)
	}
}
