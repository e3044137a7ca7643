package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"liza/pkg/blackboard"
	"liza/pkg/safefile"
	"liza/pkg/yamldoc"
)

// Snapshots are the states that were. They are in the git dir, where `git clean` does not
// remove them. A copy of a state, which costs a hard link when the next state takes its
// place, is followed by a chain of differences, so that every state is there for a while.

// stampFormat is how times are written in names of files.
const stampFormat = "20060102T150405Z"

const (
	recentSnapshots = 10               // all of the last hour, up to this many
	recentTime      = time.Hour        //
	sparseFirst     = 10 * time.Minute // then one in each interval of age: 10 to 20 minutes, 20 to 40 …
	sparseSnapshots = 10
)

// Snapshot is a state that was.
type Snapshot struct {
	Path     string // of the copy that has it or from which it follows
	Revision int
	At       time.Time // when it became the state; of a copy, when it no longer was
}

func (f *File) snapshotDir() string { return filepath.Join(f.lizaDir(), "snapshots") }

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

func newest(a, b Snapshot) int {
	if !a.At.Equal(b.At) { // first: a project may have been initialised again
		return b.At.Compare(a.At)
	}
	return b.Revision - a.Revision
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

// written reads what Liza wrote last; nil when no snapshot has it.
func (f *File) written(rec record) *version {
	f.mu.Lock()
	proven := f.proven
	f.mu.Unlock()
	for _, k := range proven {
		if k.version != nil && k.sha256 == rec.SHA256 {
			return k.version
		}
	}
	all, _ := f.contents(rec.Revision)
	for _, data := range all {
		v := &version{}
		if sumOf(data) == rec.SHA256 && v.parse(data, newReader()) == nil {
			f.prove(rec, v)
			return v
		}
	}
	return nil
}

func newReader() *yamldoc.Reader {
	return &yamldoc.Reader{Split: splitKeys(), Decode: decode, Fast: decodeFast}
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
