package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"liza/pkg/base/safefile"
	"liza/pkg/board/blackboard"
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

// Past is the newest state that is kept whose revision is not above the given one, for looking, and when it became the state.
// The state has its own revision. Without one the error is a *NoSnapshotError.
func (f *File) Past(ctx context.Context, revision int) (*blackboard.State, time.Time, error) {
	all, err := f.Revisions(ctx)
	if err != nil {
		return nil, time.Time{}, err
	}
	for _, s := range all {
		if s.Revision > revision {
			continue
		}
		found, err := f.contents(s.Revision)
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

// A NoSnapshotError says that a revision is not among those that were kept.
type NoSnapshotError struct {
	Path     string
	Revision int
}

func (e *NoSnapshotError) Error() string {
	return fmt.Sprintf("cannot restore %s: revision %d is not among the snapshots", short(e.Path), e.Revision)
}

// Next is the command that helps.
func (e *NoSnapshotError) Next() string { return "liza restore --list" }

// Content is the state that had a revision, as it was in the file. The error is a
// *NoSnapshotError.
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
	all, err := f.contents(revision)
	switch {
	case len(all) > 0:
		return all[0], nil
	case err != nil:
		return nil, err
	}
	return nil, &NoSnapshotError{Path: f.o.Path, Revision: revision}
}

// Whole says of a state that was how many tasks it has, and what is wrong with it; "" when it is valid.
func (f *File) Whole(ctx context.Context, revision int) (tasks int, problem string, err error) {
	data, err := f.Content(ctx, revision)
	if err != nil {
		return 0, "", err
	}
	tasks, problem = f.rules.Whole(data)
	return tasks, problem, nil
}

// Restore puts a state that was back, as a new revision, whatever is in the file now:
// that is kept, among the snapshots if it was a state, and as a conflict file if not. It
// returns the new revision and the path of such a file, "" if there is none.
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
	edit.PatchBehind("version", "revision", old.base.Revision, now)
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

// broken stands for a file that is not a state, or is missing: what it has is kept, and the
// last state counts as what is replaced.
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

// Revisions are all states that can be put back, the newest first.
func (f *File) Revisions(ctx context.Context) ([]Snapshot, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return f.states()
}

// stampFormat is how times are written in names of files.
const stampFormat = "20060102T150405Z"

const (
	recentSnapshots = 10               // all of the last hour, up to this many
	recentTime      = time.Hour        //
	sparseFirst     = 10 * time.Minute // then one in each interval of age: 10 to 20 minutes, 20 to 40 …
	sparseSnapshots = 10
)

func (f *File) snapshotDir() string { return filepath.Join(f.lizaDir(), "snapshots") }

func newest(a, b Snapshot) int {
	if !a.At.Equal(b.At) { // first: a project may have been initialised again
		return b.At.Compare(a.At)
	}
	return b.Revision - a.Revision
}

// copies lists the whole copies, the newest first.
func (f *File) copies() ([]Snapshot, error) {
	entries, err := os.ReadDir(f.snapshotDir())
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot list the snapshots: %w", err)
	}
	var all []Snapshot
	for _, e := range entries {
		rev, stamp, ok := strings.Cut(strings.TrimSuffix(e.Name(), ".yaml"), "-")
		revision, err := strconv.Atoi(rev)
		at, err2 := time.Parse(stampFormat, stamp)
		if ok && err == nil && err2 == nil && strings.HasSuffix(e.Name(), ".yaml") {
			all = append(all, Snapshot{Path: filepath.Join(f.snapshotDir(), e.Name()), Revision: revision, At: at})
		}
	}
	slices.SortFunc(all, newest)
	return all, nil
}

// surplus picks those to remove of a list that begins with the newest.
func surplus(all []Snapshot, now time.Time) []Snapshot {
	oldest := map[int]int{} // interval of age → the oldest in it
	var older []int
	for i, s := range all {
		age := now.Sub(s.At)
		if i < recentSnapshots && age < recentTime || i == 0 {
			continue
		}
		older = append(older, i)
		oldest[interval(age)] = i
	}
	var gone []Snapshot
	for _, i := range older {
		if oldest[interval(now.Sub(all[i].At))] != i {
			gone = append(gone, all[i])
		}
	}
	return gone
}

// interval numbers the intervals of age, each twice as long as the one before.
func interval(age time.Duration) int {
	n := 0
	for age >= sparseFirst && n < sparseSnapshots-1 {
		age /= 2
		n++
	}
	return n
}
