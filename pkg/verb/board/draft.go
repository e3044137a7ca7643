package board

import (
	"context"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
)

// A draft holds changes of the board that wait for the next write, so that one write has both. A nil draft holds nothing.
type draft struct {
	changes []func(*blackboard.State, transition.Actor) error
	follow  func(*blackboard.State, transition.Actor) error
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

// Then makes change part of the first write of b that lets it: it comes last, and what it refuses, altering nothing, is not done.
// A later call takes the place of an earlier one; nil takes it back.
func (b *Session) Then(change func(*blackboard.State, transition.Actor) error) {
	b.draft.follow = change
}

// Followed reports whether nothing is left of what was given to Then.
func (b *Session) Followed() bool { return b.draft == nil || b.draft.follow == nil }

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

// then carries out what comes last, and reports whether that was done.
func (w *draft) then(s *blackboard.State, a transition.Actor) bool {
	return w != nil && w.follow != nil && w.follow(s, a) == nil
}

func (w *draft) written(followed bool) {
	if w == nil {
		return
	}
	if w.changes = nil; followed {
		w.follow = nil
	}
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
