package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"liza/pkg/blackboard"
	"liza/pkg/safefile"
)

// Snapshots are the states that were. They are in the git dir, where `git clean` does not
// remove them. A copy of a state, which costs a hard link when the next state takes its
// place, is followed by a chain of differences, so that every state is there for a while.

// Snapshots lists some twenty of the states that were, the newest first: many of the last
// hour, fewer of the time before. Revisions lists all.
func (f *File) Snapshots(ctx context.Context) ([]Snapshot, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	all, err := f.states()
	drop := map[Snapshot]bool{}
	for _, s := range surplus(all, f.o.Now()) {
		drop[s] = true
	}
	return slices.DeleteFunc(all, func(s Snapshot) bool { return drop[s] }), err
}

// states are the copies and what follows from each.
func (f *File) states() ([]Snapshot, error) {
	copies, err := f.copies()
	if err != nil {
		return nil, err
	}
	var all []Snapshot
	seen := map[string]bool{}
	for _, c := range copies {
		later, _ := links(c.Path) // a copy can be put back without what follows it
		states := append([]link{{Revision: c.Revision, At: c.At}}, later...)
		for _, l := range slices.Backward(states) {
			if l.SHA256 == "" || !seen[l.SHA256] {
				all, seen[l.SHA256] = append(all, Snapshot{Path: c.Path, Revision: l.Revision, At: l.At}), l.SHA256 != ""
			}
		}
	}
	slices.SortStableFunc(all, newest)
	return all, nil
}

// Forget removes the states that were whose text holds says yes to, and masks the journal. What
// is in the file stays, and the snapshots go on from it.
func (f *File) Forget(ctx context.Context, op Op, holds func(text []byte) bool) error {
	return f.underLock(ctx, op, func() error {
		now, unread := f.read()
		if unread != nil {
			return unread
		}
		if err := f.scrubJournal(op, now.base.Revision); err != nil {
			return err
		}
		copies, err := f.copies()
		if err != nil {
			return err
		}
		gone := false
		for _, c := range copies {
			text, err := safefile.Read(c.Path)
			chain, err2 := safefile.Read(chainOf(c.Path))
			if err != nil && !errors.Is(err, os.ErrNotExist) || err2 != nil && !errors.Is(err2, os.ErrNotExist) {
				return fmt.Errorf("cannot read the snapshots: %w", errors.Join(err, err2))
			}
			if !holds(text) && !holds(chain) {
				continue
			}
			gone = true
			for _, path := range []string{chainOf(c.Path), c.Path} {
				if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
					return fmt.Errorf("cannot remove a snapshot: %w", err)
				}
			}
		}
		if rec, ok := f.committed(); gone && ok && rec.of(now) {
			f.settle(now, f.beginChain(now), rec.Key, rec.Journal)
		}
		return nil
	})
}

// LastValid returns the newest state that can be read, for those who only look while the
// file itself cannot be read (B01).
func (f *File) LastValid(ctx context.Context) (*blackboard.State, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	rec, known := f.committed()
	last := f.latest()
	if known && (last == nil || !rec.of(last)) {
		if v := f.written(rec); v != nil && (last == nil || f.cutOff(last, v) != nil) {
			return v.base.Fork(), nil
		}
	}
	if last != nil {
		return last.base.Fork(), nil
	}
	all, err := f.copies()
	if err != nil {
		return nil, err
	}
	for _, s := range all {
		if v, err := f.load(s.Path, newReader(), nil); err == nil {
			return v.base.Fork(), nil
		}
	}
	return nil, errors.New("cannot find a snapshot of the state that can be read")
}
