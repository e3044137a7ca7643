package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"liza/pkg/base/safefile"
	"liza/pkg/board/blackboard"
)

// Snapshots lists some twenty earlier states, the newest first: many of the last hour, fewer of the time before. Revisions
// lists all.
func (f *File) Snapshots(ctx context.Context) ([]Snapshot, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	all, err := f.kept.states()
	drop := map[Snapshot]bool{}
	for _, s := range surplus(all, f.o.Now()) {
		drop[s] = true
	}
	return slices.DeleteFunc(all, func(s Snapshot) bool { return drop[s] }), err
}

// Forget removes the earlier states for whose text holds returns true, and masks the journal. The
// present state stays, and the snapshots go on from it.
func (f *File) Forget(ctx context.Context, op Op, holds func(text []byte) bool) error {
	return f.underLock(ctx, op, func() error {
		now, unread := f.read()
		if unread != nil {
			return unread
		}
		if err := f.scrubJournal(op, now.base.Revision); err != nil {
			return err
		}
		copies, err := f.kept.copies()
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
			f.settle(now, f.kept.begin(now, f.o.Path), rec.Key, rec.Journal)
		}
		return nil
	})
}

// LastValid returns the newest state that can be read, for views while the file cannot be read (B01).
func (f *File) LastValid(ctx context.Context) (*blackboard.State, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	rec, known := f.committed()
	last := f.latest()
	if known && (last == nil || !rec.of(last)) {
		if v := f.written(rec); v != nil && (last == nil || cutOff(f.o.Path, last, v) != nil) {
			return v.base.Fork(), nil
		}
	}
	if last != nil {
		return last.base.Fork(), nil
	}
	all, err := f.kept.copies()
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

// Past returns the newest snapshot at or before the given revision, and its time. The error is a *NoSnapshotError if there
// is none.
func (f *File) Past(ctx context.Context, revision int) (*blackboard.State, time.Time, error) {
	all, err := f.Revisions(ctx)
	if err != nil {
		return nil, time.Time{}, err
	}
	for _, s := range all {
		if s.Revision > revision {
			continue
		}
		found, err := f.kept.contents(s.Revision)
		if len(found) == 0 && err != nil {
			return nil, time.Time{}, err
		}
		if len(found) == 0 {
			continue // removed meanwhile
		}
		v := &version{}
		if err := v.parse(found[0], f.past); err != nil { // who moves through the revisions pays for what differs
			return nil, time.Time{}, fmt.Errorf("cannot read revision %d: %w", s.Revision, err)
		}
		return v.base.Fork(), s.At, nil
	}
	return nil, time.Time{}, &NoSnapshotError{Path: f.o.Path, Revision: revision}
}

// A NoSnapshotError says that there is no snapshot of a revision.
type NoSnapshotError struct {
	Path     string
	Revision int
}

func (e *NoSnapshotError) Error() string {
	return fmt.Sprintf("cannot restore %s: revision %d is not among the snapshots", short(e.Path), e.Revision)
}

// Next returns the next command for a person.
func (e *NoSnapshotError) Next() string { return "liza restore" }

// Content returns the text of a revision. The error is a *NoSnapshotError if there is no snapshot of it.
func (f *File) Content(ctx context.Context, revision int) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return f.content(revision)
}

func (f *File) content(revision int) ([]byte, error) {
	if rec, ok := f.committed(); ok && rec.Revision == revision {
		if v := f.written(rec); v != nil {
			return v.doc.Bytes(), nil
		}
	}
	all, err := f.kept.contents(revision)
	switch {
	case len(all) > 0:
		return all[0], nil
	case err != nil:
		return nil, err
	}
	return nil, &NoSnapshotError{Path: f.o.Path, Revision: revision}
}

// Whole returns the number of tasks of a revision, and its problem, or "" if it is valid.
func (f *File) Whole(ctx context.Context, revision int) (tasks int, problem string, err error) {
	data, err := f.Content(ctx, revision)
	if err != nil {
		return 0, "", err
	}
	tasks, problem = f.rules.Whole(data)
	return tasks, problem, nil
}

// Restore writes the state of a revision as the new revision now. If the file is not the state that Liza wrote last, it is
// kept as a conflict file at the path kept; else kept is "".
func (f *File) Restore(ctx context.Context, op Op, revision int) (now int, kept string, err error) {
	err = f.underLock(ctx, op, func() error {
		now, kept, err = f.restore(op, revision)
		return err
	})
	return now, kept, err
}

func (f *File) restore(op Op, revision int) (now int, kept string, err error) {
	data, err := f.content(revision)
	if err != nil {
		return 0, "", err
	}
	old := &version{}
	if err := old.parse(data, newReader()); err != nil {
		return 0, "", fmt.Errorf("cannot restore revision %d: %w", revision, err)
	}
	rec, _ := f.committed()
	if forged := f.forgeries(old, f.written(rec), record{}, false); len(forged) > 0 { // snapshots lie in the repository
		return 0, "", fmt.Errorf("cannot restore revision %d: %w", revision, &InvalidError{Path: f.o.Path, Violations: forged})
	}
	before, err := f.read()
	if err != nil {
		if before, kept, err = f.broken(old, rec); err != nil {
			return 0, kept, err
		}
	} else if !rec.of(before) {
		if last := f.written(rec); last != nil && before.base.Revision <= rec.Revision { // what was in the file is not a snapshot
			before = &version{doc: last.doc, base: last.base, stamp: before.stamp, mode: before.mode, made: true}
			file := &version{}
			data, err := file.readBytes(f.o.Path)
			if err != nil {
				return 0, "", fmt.Errorf("cannot read %s: %w", short(f.o.Path), err)
			}
			before.stamp, before.mode = file.stamp, file.mode
			kept, err = f.keepConflict("person", data)
			if err != nil {
				return 0, "", err
			}
		} else if kept, err = f.keepConflict("person", before.doc.Bytes()); err != nil {
			return 0, "", err
		}
	}
	edit := old.doc.Edit()
	now = max(rec.Revision, before.base.Revision) + 1
	edit.Patch("revision", old.base.Revision, now)
	doc, err := edit.Apply()
	if err != nil {
		return 0, kept, err
	}
	next := &version{doc: doc, base: state(doc, nil)}
	if err := f.repair(max(rec.Revision, before.base.Revision)); err != nil {
		return 0, kept, err
	}
	entries := f.complete(op, []blackboard.Entry{{Action: blackboard.ActionRestored, Detail: fmt.Sprintf("revision %d was put back as revision %d", revision, now)}})
	return now, kept, f.commit(op, before, next, rec, entries)
}

// broken handles a file that is missing or not a state: it keeps the file's content, and before is the last state.
func (f *File) broken(old *version, rec record) (before *version, kept string, err error) {
	before = &version{doc: old.doc, base: old.base, mode: 0o644, made: true}
	if last := f.written(rec); last != nil {
		before.doc, before.base = last.doc, last.base
	}
	file := &version{}
	data, err := file.readBytes(f.o.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return before, "", nil
	case err != nil:
		return nil, "", fmt.Errorf("cannot read %s: %w", short(f.o.Path), err)
	}
	before.stamp, before.mode = file.stamp, file.mode
	kept, err = f.keepConflict("person", data)
	return before, kept, err
}

// Revisions lists all earlier states, the newest first.
func (f *File) Revisions(ctx context.Context) ([]Snapshot, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return f.kept.states()
}
