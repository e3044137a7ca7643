package store

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"liza/pkg/blackboard"
	"liza/pkg/yamldoc"
)

// Snapshots are copies of states that Liza wrote. They are in the git dir, where
// `git clean` does not remove them.

// stampFormat is how times are written in names of files.
const stampFormat = "20060102T150405Z"

const (
	recentSnapshots = 10               // all of the last hour, up to this many
	recentTime      = time.Hour        //
	sparseFirst     = 10 * time.Minute // then one in each interval of age: 10 to 20 minutes, 20 to 40 …
	sparseSnapshots = 10
)

// Snapshot is one copy of a state.
type Snapshot struct {
	Path     string
	Revision int
	At       time.Time
}

func (f *File) snapshotDir() string { return filepath.Join(f.lizaDir(), "snapshots") }

// Snapshots lists the copies, the newest first.
func (f *File) Snapshots() ([]Snapshot, error) {
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
	slices.SortFunc(all, func(a, b Snapshot) int {
		if !a.At.Equal(b.At) { // first: a project may have been initialised anew
			return b.At.Compare(a.At)
		}
		return b.Revision - a.Revision
	})
	return all, nil
}

// snapshot keeps a copy of a state that was written and thins out the older ones.
func (f *File) snapshot(v *version) {
	now := f.o.Now().UTC()
	name := fmt.Sprintf("%d-%s.yaml", v.base.Revision, now.Format(stampFormat))
	if put(filepath.Join(f.snapshotDir(), name), v.data) != nil {
		return
	}
	all, err := f.Snapshots()
	if err != nil {
		return
	}
	for _, old := range surplus(all, now) {
		os.Remove(old.Path)
	}
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

// snapshotOf reads the copy of what Liza wrote last; nil when there is none.
func (f *File) snapshotOf(rec record) *version {
	f.mu.Lock()
	previous := f.previous
	f.mu.Unlock()
	if previous != nil && hexSum(previous.sum) == rec.SHA256 {
		return previous
	}
	all, err := f.Snapshots()
	if err != nil {
		return nil
	}
	for _, s := range all {
		if s.Revision != rec.Revision {
			continue
		}
		v, err := load(s.Path)
		if err == nil && hexSum(v.sum) == rec.SHA256 {
			f.mu.Lock()
			f.previous = v
			f.mu.Unlock()
			return v
		}
	}
	return nil
}

// load reads a copy.
func load(path string) (*version, error) {
	data, info, err := readWhole(path)
	if err != nil {
		return nil, err
	}
	reader := yamldoc.Reader{Split: splitKeys(), Decode: decode}
	doc, err := reader.Parse(data)
	if err != nil {
		return nil, err
	}
	v := &version{data: data, sum: sha256.Sum256(data), info: info, doc: doc, base: state(doc)}
	return v, nil
}

// LastValid returns the newest snapshot that can be read, for those who only look while
// the file itself cannot be read (B01).
func (f *File) LastValid(ctx context.Context) (*blackboard.State, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	all, err := f.Snapshots()
	if err != nil {
		return nil, err
	}
	for _, s := range all {
		if v, err := load(s.Path); err == nil {
			return v.base.Clone(), nil
		}
	}
	return nil, errors.New("cannot find a snapshot of the state that can be read")
}
