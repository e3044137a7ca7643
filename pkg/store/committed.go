package store

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"liza/pkg/blackboard"
	"liza/pkg/history"
	"liza/pkg/safefile"
	"liza/pkg/transition"
)

// record is the file liza/committed in the git dir: the last state that Liza wrote.
type record struct {
	Revision int             `json:"revision"`
	SHA256   string          `json:"sha256"`
	At       blackboard.Time `json:"at"`
	Stamp    safefile.Stamp  `json:"stamp"`              // of the file as it was written
	Chain    chainEnd        `json:"chain"`              // where the snapshots have it
	Journal  history.Link    `json:"journal,omitempty"`  // the last entry
	Scrubbed history.Link    `json:"scrubbed,omitempty"` // what that becomes, or has become, when secrets are masked
	Key      string          `json:"key,omitempty"`      // that signed the record
	MAC      string          `json:"mac,omitempty"`
}

// of reports whether v is what Liza wrote last. The stamp, where it can be trusted, says it
// without reading all bytes.
func (r record) of(v *version) bool {
	if r.SHA256 == "" {
		return false
	}
	if v.still && v.stamp == r.Stamp && r.Stamp.Mtime != r.Stamp.Ctime {
		return true
	}
	return r.SHA256 == hexSum(v.sum())
}

func hexSum(sum [sha256.Size]byte) string { return hex.EncodeToString(sum[:]) }

func (f *File) lizaDir() string       { return filepath.Join(f.o.GitDir, "liza") }
func (f *File) committedPath() string { return filepath.Join(f.lizaDir(), "committed") }

// committed reads the record; a missing or broken one, and one that the project's key did not
// sign, is not a record but for the name of its key.
func (f *File) committed() (record, bool) {
	r, ok := f.record()
	k, state, _ := f.keyOf(r, nil)
	if !ok || state != ours {
		return r, ok
	}
	f.mu.Lock()
	fits := f.fitting == r // every look at the board asks
	f.mu.Unlock()
	if !fits && (r.Key != k.ID || !k.Fits(r.MAC, r.signed()...)) {
		return record{Key: r.Key}, false
	}
	f.mu.Lock()
	f.fitting = r
	f.mu.Unlock()
	return r, true
}

// record reads the record as it stands in the file.
func (f *File) record() (record, bool) {
	f.mu.Lock()
	known := f.recorded
	f.mu.Unlock()
	stamp, err := safefile.StampOf(f.committedPath())
	settled := err == nil && stamp.Settled(time.Now())
	if settled && known.stamp == stamp {
		return known.record, true
	}
	var r record
	data, err := safefile.Read(f.committedPath())
	if err != nil || json.Unmarshal(data, &r) != nil || r.SHA256 == "" {
		return record{}, false
	}
	if settled { // later bytes than these have another stamp
		f.mu.Lock()
		f.recorded.stamp, f.recorded.record = stamp, r
		f.mu.Unlock()
	}
	return r, true
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

// note signs a record and writes it.
func (f *File) note(rec record) {
	if k, state, _ := f.keyOf(rec, nil); state == ours {
		rec.Key = k.ID
		rec.MAC = k.Sign(rec.signed()...)
	}
	data, _ := json.Marshal(rec)
	if os.MkdirAll(f.snapshotDir(), 0o755) == nil {
		_ = put(f.committedPath(), append(data, '\n'))
	}
}

// put replaces a file that need not survive a power loss.
func put(path string, data []byte) error {
	temp := fmt.Sprintf("%s.tmp-%d", path, os.Getpid())
	err := os.WriteFile(temp, data, 0o644)
	if err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		os.Remove(temp)
	}
	return err
}

// compareCommitted looks whether a person changed the file since Liza wrote it (W2; B04,
// B06). now is the state to go on from: the file's, or what became of an old copy and the
// newer state. previous is what Liza wrote, if a person changed it and it is known.
func (f *File) compareCommitted(v *version) (now, previous *version, edited bool, rec record, err error) {
	rec, ok := f.committed()
	if rec.of(v) {
		f.prove(rec, v)
		return v, nil, false, rec, nil
	}
	if !ok || v.base.Revision > rec.Revision {
		_, found := f.judge(v, rec)
		return v, nil, false, rec, f.refuseForgeries(v, found)
	}
	if v.base.Revision == rec.Revision {
		previous, found := f.judge(v, rec)
		if err := f.cutOff(v, previous); err != nil {
			return nil, nil, false, rec, err
		}
		return v, previous, true, rec, f.refuseForgeries(v, found)
	}
	if err := f.noBoard(v, f.written(rec)); err != nil {
		return nil, nil, false, rec, err
	}
	m := f.mergeOld(v, rec)
	if m.err == nil {
		if err := f.cutOff(m.result, m.theirs); err != nil {
			return nil, nil, false, rec, err
		}
		if err := f.refuseForgeries(m.result, f.forgeries(m.result, m.theirs, rec, true)); err != nil {
			return nil, nil, false, rec, err
		}
		f.o.Alert(AlertStateWentBack, fmt.Sprintf("an edit of revision %d was put over revision %d; both were merged", v.base.Revision, rec.Revision))
		return m.result, m.theirs, true, rec, nil
	}
	f.o.Alert(AlertStateWentBack, m.err.Error())
	return nil, nil, false, rec, m.err
}

// keepConflict stores one side of a conflict, once, and returns its path. What cannot be kept must not be
// written over.
func (f *File) keepConflict(side string, data []byte) (string, error) {
	old, _ := filepath.Glob(filepath.Join(f.lizaDir(), "conflict-*-"+side+".yaml"))
	for _, path := range old {
		if kept, err := safefile.Read(path); err == nil && string(kept) == string(data) {
			return path, nil
		}
	}
	path := filepath.Join(f.lizaDir(), fmt.Sprintf("conflict-%s-%s.yaml", f.o.Now().UTC().Format(stampFormat), side))
	for n := 2; slices.Contains(old, path); n++ {
		path = filepath.Join(f.lizaDir(), fmt.Sprintf("conflict-%s-%d-%s.yaml", f.o.Now().UTC().Format(stampFormat), n, side))
	}
	err := os.MkdirAll(f.lizaDir(), 0o755)
	if err == nil {
		err = put(path, data)
	}
	if err != nil {
		return "", fmt.Errorf("cannot keep the present content of %s: %w", short(f.o.Path), err)
	}
	return path, nil
}

// handEdit is the journal entry of a person's edit that a write takes in (B04).
func (f *File) handEdit(now *blackboard.State, previous *version) blackboard.Entry {
	e := blackboard.Entry{Action: blackboard.ActionEditedByHand, Detail: "state.yaml was edited by hand"}
	if previous != nil {
		e = editedByHand(compare(previous.doc, previous.base, now).names(), now)
	}
	e.Timestamp, e.Agent = blackboard.TimeOf(f.o.Now()), blackboard.Human
	f.o.Alert(AlertHandEdit, e.Detail)
	return e
}

// putBack tells of edits of statuses that were refused. What the person wrote is kept.
func (f *File) putBack(v *version, refused []blackboard.Violation) ([]blackboard.Entry, error) {
	if len(refused) == 0 {
		return nil, nil
	}
	kept, err := f.keepConflict("person", v.doc.Bytes())
	if err != nil {
		return nil, err
	}
	var entries []blackboard.Entry
	for _, r := range refused {
		f.o.Alert(AlertHandEdit, r.Message+"; the edit is kept in "+kept)
		entries = append(entries, blackboard.Entry{Timestamp: blackboard.TimeOf(f.o.Now()), Agent: blackboard.System, Action: blackboard.ActionEditRefused, Task: r.Subjects[0], Detail: r.Message})
	}
	return entries, nil
}

// taken is a state with the meaning of a person's edit since previous, and what was refused of it.
func (r *rules) taken(v, previous *version) (*blackboard.State, []blackboard.Violation) {
	s := v.base.Fork()
	if previous == nil {
		return s, nil
	}
	return s, transition.TakeHandEdits(s, previous.base, r.o.Now())
}

// editedByHand is the journal entry for an edit of what is named.
func editedByHand(names []string, now *blackboard.State) blackboard.Entry {
	e := blackboard.Entry{Action: blackboard.ActionEditedByHand, Detail: "state.yaml was edited by hand"}
	switch {
	case len(names) == 0:
		e.Detail += ": comments or layout only"
	case len(names) == 1 && now.Task(names[0]) != nil:
		e.Task = names[0]
		fallthrough
	default:
		e.Detail += ": " + strings.Join(names, ", ")
	}
	return e
}

// names are what was touched, in alphabetical order.
func (c *changes) names() []string {
	names := make([]string, 0, len(c.touched))
	for name := range c.touched {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
