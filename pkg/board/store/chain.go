package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"liza/pkg/base/safefile"
	"liza/pkg/base/yamldoc"
	"slices"
	"strconv"
)

// snapshots are the earlier states of a board, in the git dir, where `git clean` does not remove
// them. When a state is replaced, a hard link keeps its file about every ten minutes or 200
// changes. The chain beside such a copy holds the changes since, each as one line of JSON and
// the bytes that it put in: at 1,000 tasks some 1.5 kB for a revision instead of 1.3 MB.
type snapshots struct {
	dir string
	now func() time.Time
}

const (
	maxLinks   = 200       // of one chain
	freeChain  = 256 << 10 // bytes that a chain may always have, however small the state is
	chainLasts = 10 * time.Minute
)

// link is one change of a chain.
type link struct {
	Revision int           `json:"revision"` // revision that the link leads to
	SHA256   string        `json:"sha256"`
	At       time.Time     `json:"at"`
	Cuts     []yamldoc.Cut `json:"cuts"`
}

func (k snapshots) copyPath(name string) string  { return filepath.Join(k.dir, name+".yaml") }
func (k snapshots) chainPath(name string) string { return chainOf(k.copyPath(name)) }

func chainOf(copied string) string { return strings.TrimSuffix(copied, ".yaml") + ".chain" }

// chainFor returns the chain that the next version of the file goes into. A new one begins
// with the file that is about to be replaced, when that is not the end of the last one.
func (k snapshots) chainFor(before *version, rec record, path string) chainEnd {
	now := k.now().UTC()
	c := rec.Chain
	info, err := os.Stat(k.chainPath(c.Copy))
	if c.Copy != "" && err == nil && info.Size() == c.Size && c.Links < maxLinks && c.Size < max(freeChain, before.stamp.Size/2) &&
		now.Sub(c.Since) < chainLasts && rec.Revision == before.base.Revision && rec.of(before) {
		return c
	}
	return k.begin(before, path)
}

// beginChain keeps a copy of a version, to which a chain may be added.
func (k snapshots) begin(v *version, path string) chainEnd {
	now := k.now().UTC()
	if safefile.MakeFolder(k.dir, 0o755) != nil {
		return chainEnd{}
	}
	name := fmt.Sprintf("%d-%s", v.base.Revision, now.Format(stampFormat))
	os.Remove(k.copyPath(name))
	if put(k.chainPath(name), nil) != nil {
		return chainEnd{}
	}
	if v.made || os.Link(path, k.copyPath(name)) != nil { // not all file systems have links
		if put(k.copyPath(name), v.doc.Bytes()) != nil {
			return chainEnd{}
		}
	}
	if safefile.Sync(k.copyPath(name)) != nil || safefile.Sync(k.dir) != nil { // the editor of a person need not have done it
		return chainEnd{}
	}
	if all, err := k.copies(); err == nil {
		for _, old := range surplus(all, now) {
			os.Remove(chainOf(old.Path))
			os.Remove(old.Path)
		}
	}
	return chainEnd{Copy: name, Since: now}
}

// extend adds the way from one version to the next to a chain. Without it the next write
// begins a new one.
func (k snapshots) extend(c chainEnd, before, next *version) chainEnd {
	cuts, text, ok := next.doc.CutsSince(before.doc)
	if c.Copy == "" || !ok {
		return chainEnd{}
	}
	line, _ := json.Marshal(link{Revision: next.base.Revision, SHA256: hexSum(next.sum()), At: k.now().UTC(), Cuts: cuts})
	line = append(append(append(line, '\n'), text...), '\n')
	file, err := safefile.OpenFile(k.chainPath(c.Copy), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return chainEnd{}
	}
	_, err = file.Write(line)
	if closed := file.Close(); err != nil || closed != nil {
		return chainEnd{}
	}
	c.Size += int64(len(line))
	c.Links++
	return c
}

// sync makes a chain durable. Without power the board may be lost to an edit that was not durable: the newest revision has to be here.
func (k snapshots) sync(c chainEnd) error {
	if c.Copy == "" {
		return nil
	}
	return safefile.Sync(k.chainPath(c.Copy))
}

// links lists the changes that follow a copy.
func links(copied string) ([]link, error) {
	var all []link
	err := follow(copied, func(l link, _ []byte) bool {
		all = append(all, l)
		return true
	})
	return all, err
}

// follow goes along a chain; added are the bytes of a link. Most copies have none.
func follow(copied string, each func(l link, added []byte) bool) error {
	rest, err := safefile.Read(chainOf(copied))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot read the snapshots: %w", err)
	}
	for len(rest) > 0 {
		line, more, ok := bytes.Cut(rest, []byte("\n"))
		var l link
		if !ok || json.Unmarshal(line, &l) != nil {
			return nil // torn: the writer was killed
		}
		size := 0
		for _, cut := range l.Cuts {
			size += cut.Added
		}
		if size < 0 || size >= len(more) || !each(l, more[:size]) {
			return nil
		}
		rest = more[size+1:]
	}
	return nil
}

// contents returns the states that had a revision, the newest first. There are several after a hand edit or a new init.
// failed is about unreadable copies.
func (k snapshots) contents(revision int) (found [][]byte, failed error) {
	copies, failed := k.copies()
	for _, c := range copies {
		if c.Revision > revision {
			continue
		}
		data, err := safefile.Read(c.Path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed meanwhile
		}
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("cannot read the snapshots: %w", err))
			continue
		}
		if c.Revision == revision {
			found = append(found, data)
			continue
		}
		all, err := links(c.Path)
		failed = errors.Join(failed, err)
		if len(all) == 0 || all[len(all)-1].Revision < revision {
			continue // it is made again only where it leads
		}
		err = follow(c.Path, func(l link, added []byte) bool {
			next, ok := yamldoc.ApplyCuts(data, l.Cuts, added)
			if !ok {
				return false
			}
			data = next
			if l.Revision == revision && sumOf(data) == l.SHA256 {
				found = append(found, data)
			}
			return l.Revision < revision
		})
		failed = errors.Join(failed, err)
	}
	return found, failed
}

// states returns the snapshots: the copies and the states that follow from each.
func (k snapshots) states() ([]Snapshot, error) {
	copies, err := k.copies()
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

// stampFormat is how times are written in names of files.
const stampFormat = "20060102T150405Z"

const (
	recentSnapshots = 10               // all of the last hour, up to this many
	recentTime      = time.Hour        //
	sparseFirst     = 10 * time.Minute // then one in each interval of age: 10 to 20 minutes, 20 to 40 …
	sparseSnapshots = 10
)

func newest(a, b Snapshot) int {
	if !a.At.Equal(b.At) { // first: a project may have been initialised again
		return b.At.Compare(a.At)
	}
	return b.Revision - a.Revision
}

// copies lists the whole copies, the newest first.
func (k snapshots) copies() ([]Snapshot, error) {
	entries, err := os.ReadDir(k.dir)
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
			all = append(all, Snapshot{Path: filepath.Join(k.dir, e.Name()), Revision: revision, At: at})
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
