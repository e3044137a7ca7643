package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

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
