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
	"liza/pkg/board/blackboard"
	"liza/pkg/board/history"
)

// A chain is the file beside a copy of a state that leads from it to later ones, change by
// change: a link as one line of JSON, then the bytes that the change put in.

const (
	maxLinks   = 200       // of one chain
	freeChain  = 256 << 10 // bytes that a chain may have however small the state is
	chainLasts = 10 * time.Minute
)

// link is one change of a chain.
type link struct {
	Revision int           `json:"revision"` // that it leads to
	SHA256   string        `json:"sha256"`
	At       time.Time     `json:"at"`
	Cuts     []yamldoc.Cut `json:"cuts"`
}

func (f *File) copyPath(name string) string  { return filepath.Join(f.snapshotDir(), name+".yaml") }
func (f *File) chainPath(name string) string { return chainOf(f.copyPath(name)) }

func chainOf(copied string) string { return strings.TrimSuffix(copied, ".yaml") + ".chain" }

// chainFor returns the chain that the next version of the file goes into. A new one begins
// with the file that is about to be replaced, when that is not the end of the last one.
func (f *File) chainFor(before *version, rec record) chainEnd {
	now := f.o.Now().UTC()
	c := rec.Chain
	info, err := os.Stat(f.chainPath(c.Copy))
	if c.Copy != "" && err == nil && info.Size() == c.Size && c.Links < maxLinks && c.Size < max(freeChain, before.stamp.Size/2) &&
		now.Sub(c.Since) < chainLasts && rec.Revision == before.base.Revision && rec.of(before) {
		return c
	}
	return f.beginChain(before)
}

// beginChain keeps a copy of a version, to which a chain may be added.
func (f *File) beginChain(v *version) chainEnd {
	now := f.o.Now().UTC()
	if os.MkdirAll(f.snapshotDir(), 0o755) != nil {
		return chainEnd{}
	}
	name := fmt.Sprintf("%d-%s", v.base.Revision, now.Format(stampFormat))
	os.Remove(f.copyPath(name))
	if put(f.chainPath(name), nil) != nil {
		return chainEnd{}
	}
	if v.made || os.Link(f.o.Path, f.copyPath(name)) != nil { // not all file systems have links
		if put(f.copyPath(name), v.doc.Bytes()) != nil {
			return chainEnd{}
		}
	}
	if all, err := f.copies(); err == nil {
		for _, old := range surplus(all, now) {
			os.Remove(chainOf(old.Path))
			os.Remove(old.Path)
		}
	}
	return chainEnd{Copy: name, Since: now}
}

// extend adds the way from one version to the next to a chain. Without it the next write
// begins a new one.
func (f *File) extend(c chainEnd, before, next *version) chainEnd {
	cuts, text, ok := next.doc.CutsSince(before.doc)
	if c.Copy == "" || !ok {
		return chainEnd{}
	}
	line, _ := json.Marshal(link{Revision: next.base.Revision, SHA256: hexSum(next.sum()), At: f.o.Now().UTC(), Cuts: cuts})
	line = append(append(append(line, '\n'), text...), '\n')
	file, err := safefile.OpenFile(f.chainPath(c.Copy), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
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

// contents are the states that had a revision, the newest first. There are several when a
// person changed one, or initialised the project again. An error is about those that cannot be read.
func (f *File) contents(revision int) (found [][]byte, failed error) {
	copies, failed := f.copies()
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

// settle notes what was just written (W10). The state is safe on disk already, so that
// this may fail, or get lost with the power, without harm: the next writer takes a state
// whose revision is higher than the record's as it is.
func (f *File) settle(v *version, chain chainEnd, key string, journal history.Link) {
	f.keep(v)
	rec := record{Revision: v.base.Revision, SHA256: hexSum(v.sum()), At: blackboard.TimeOf(f.o.Now()), Stamp: v.stamp, Chain: chain, Key: key, Journal: journal}
	f.prove(rec, v)
	f.note(rec)
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
