package store

import (
	"errors"
	"fmt"

	"liza/pkg/blackboard"
	"liza/pkg/seal"
)

// keyOf finds the key of the project. rec is what Liza wrote last, proven or not.
func (r *rules) keyOf(rec record, s *blackboard.State) (*seal.Key, keyState, error) {
	if r.o.Seals == nil {
		return nil, sealsOff, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.key != nil {
		return r.key, ours, nil
	}
	sealedWith := rec.Key
	if sealedWith == "" && s != nil {
		for t := range s.Tasks() {
			if t.Seal != nil && t.Seal.Verdict != blackboard.SealHistory {
				sealedWith = t.Seal.Key
				break
			}
		}
	}
	k, err := r.o.Seals.Ring.Key()
	copied := false
	if err == nil && k == nil && sealedWith != "" {
		k, copied, err = r.o.Seals.Ring.Moved(sealedWith)
	}
	switch {
	case copied: // seals of this key mean nothing where it came from
		return nil, before, err
	case k != nil:
		r.key = k
		return k, ours, nil
	case sealedWith != "":
		return nil, foreign, errors.Join(err, &seal.NoKeyError{ID: sealedWith, Folder: r.o.Seals.Ring.Folder})
	}
	return nil, before, err
}

// signed are the parts of a record that nobody may change.
func (r record) signed() []string {
	parts := []string{"record", fmt.Sprint(r.Revision), r.SHA256, string(r.At), fmt.Sprintf("%+v", r.Stamp)}
	if r.Journal != "" { // records from before the journal was chained have none
		parts = append(parts, "journal", string(r.Journal), string(r.Scrubbed))
	}
	return parts
}

func (r *rules) makeKey() (*seal.Key, error) {
	k, err := r.o.Seals.Ring.Make()
	if err == nil {
		r.mu.Lock()
		r.key = k
		r.mu.Unlock()
	}
	return k, err
}
