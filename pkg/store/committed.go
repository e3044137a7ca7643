package store

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"liza/pkg/safefile"
)

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

func sumOf(data []byte) string { return hexSum(sha256.Sum256(data)) }

// prove remembers a version that the record of the last write is of.
func (f *File) prove(rec record, v *version) {
	f.mu.Lock()
	if f.proven[0].sha256 != rec.SHA256 {
		f.proven = [2]known{{rec.SHA256, v}, f.proven[0]}
	}
	f.mu.Unlock()
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
