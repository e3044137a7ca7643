package store

import (
	"context"
	"fmt"
	"time"

	"liza/pkg/blackboard"
)

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
