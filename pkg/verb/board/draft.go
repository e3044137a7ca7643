package board

import (
	"context"
	"slices"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
)

// A draft holds changes of the board that wait for the next write, so that one write has both. A nil draft holds nothing.
type draft struct {
	changes []func(*blackboard.State, transition.Actor) error
	follow  []*Following
}

// A Following is a change that comes last in a write that lets it.
type Following struct {
	Change func(*blackboard.State, transition.Actor) error
	Ended  func() // if set, called after the write, of whatever end, in which Change had succeeded

	Done bool // it is on the board
}

// Drafting returns a copy of b that collects what is given to Later. The copy is for one goroutine.
func (b *Session) Drafting() *Session {
	c := *b
	c.draft = &draft{}
	return &c
}

// Later makes change part of the next write of b, ahead of everything that the write changes itself. Until then every state that
// b reads has the change already. Without a draft it is written at once, as op. The change of a write that fails waits on.
func (b *Session) Later(ctx context.Context, op string, change func(*blackboard.State, transition.Actor) error) error {
	if b.draft == nil {
		return b.Update(ctx, op, change)
	}
	b.draft.changes = append(b.draft.changes, change)
	return nil
}

// Then makes f part of the first write of b that lets it: it comes last, and what it refuses, altering nothing, is not done.
func (b *Session) Then(f *Following) { b.draft.follow = append(b.draft.follow, f) }

// ThenNothing takes back what has not been done.
func (b *Session) ThenNothing() { b.draft.follow = nil }

// Write writes, as op, the changes that no other write has taken along.
func (b *Session) Write(ctx context.Context, op string) error {
	if b.draft == nil || len(b.draft.changes) == 0 {
		return nil
	}
	return b.Update(ctx, op, func(*blackboard.State, transition.Actor) error { return nil })
}

func (w *draft) apply(s *blackboard.State, a transition.Actor) error {
	if w == nil {
		return nil
	}
	for _, change := range w.changes {
		if err := change(s, a); err != nil {
			return err
		}
	}
	return nil
}

// then carries out what comes last, and returns what was done.
func (w *draft) then(s *blackboard.State, a transition.Actor) (did []*Following) {
	if w == nil {
		return nil
	}
	for _, f := range w.follow {
		if f.Change(s, a) == nil {
			did = append(did, f)
		}
	}
	return did
}

// ended says after a write whether it was made, and what followed it.
func (w *draft) ended(written bool, did []*Following) {
	if w == nil {
		return
	}
	if written {
		w.changes = nil
	}
	for _, f := range did {
		f.Done = written
		if f.Ended != nil {
			f.Ended()
		}
	}
	w.follow = slices.DeleteFunc(w.follow, func(f *Following) bool { return f.Done })
}

// foresee gives a state that was read the changes of the draft. One that is refused will be refused when it is written.
func (w *draft) foresee(b *Session, s *blackboard.State) {
	if w == nil || len(w.changes) == 0 {
		return
	}
	id, err := b.Identify()
	if err != nil {
		return
	}
	_ = w.apply(s, id.Actor(s))
	s.TakeEntries(0)
}
