package upkeep

import (
	"context"
	"errors"

	"liza/pkg/blackboard"
	"liza/pkg/store"
	"liza/pkg/verb"
)

func pastOf(d *verb.Service) (store.Past, error) {
	if p, ok := d.Store.(store.Past); ok {
		return p, nil
	}
	return nil, errors.New("cannot restore: this store keeps no snapshots")
}

// Restored says what came of Restore.
type Restored struct {
	Revision int    `json:"revision"`       // the new one
	From     int    `json:"from"`           // the one that was put back
	Kept     string `json:"kept,omitempty"` // where the former content of the file is, if it was not a state that Liza wrote
}

// Restore puts an old state back as a new revision (specs/protocol.md#14, B01 and B06). Only a
// person may; the state may be damaged.
func Restore(ctx context.Context, d *verb.Service, revision int) (Restored, error) {
	r, err := pastOf(d)
	if err == nil {
		err = d.PersonOnly(ctx, "restore the state")
	}
	if err != nil {
		return Restored{}, err
	}
	before := d.LastState(ctx)
	now, kept, err := r.Restore(ctx, store.Op{Name: "restore", Agent: blackboard.Human}, revision)
	out := Restored{Revision: now, From: revision, Kept: kept}
	if err != nil || before.Tip() == "" {
		return out, err
	}
	// The branch is not restored with the board, so what is known of it stays.
	err = d.Store.Update(ctx, store.Op{Name: "restore", Agent: blackboard.Human}, func(s *blackboard.State) error {
		if s.Tip() == before.Tip() {
			return store.ErrUnchanged
		}
		s.Integration = before.Clone().Integration
		s.Integration.Intent, out.Revision = nil, s.Revision+1
		return nil
	})
	return out, err
}

// Content is the text of the state that had a revision.
func Content(ctx context.Context, d *verb.Service, revision int) ([]byte, error) {
	r, err := pastOf(d)
	if err != nil {
		return nil, err
	}
	return r.Content(ctx, revision)
}

// Whole says of the state that had a revision how many tasks it has, and what is wrong with it; "" when it is valid.
func Whole(ctx context.Context, d *verb.Service, revision int) (tasks int, problem string, err error) {
	r, err := pastOf(d)
	if err != nil {
		return 0, "", err
	}
	return r.Whole(ctx, revision)
}

// Snapshots are the states that can be put back, the newest first: some twenty, or all.
func Snapshots(ctx context.Context, d *verb.Service, all bool) ([]store.Snapshot, error) {
	r, err := pastOf(d)
	switch {
	case err != nil:
		return nil, err
	case all:
		return r.Revisions(ctx)
	}
	return r.Snapshots(ctx)
}

// Edit has a person edit the state: open gets its text and returns what became of it. What
// others wrote meanwhile stays. When the edit breaks a rule or meets other changes, open is
// called again with the text as it was left and the error; it returns nil to give up.
func Edit(ctx context.Context, d *verb.Service, open func(text []byte, problem error) ([]byte, error)) (store.Edited, error) {
	r, ok := d.Store.(store.Editor)
	if !ok {
		return store.Edited{}, errors.New("cannot edit the state: this store has no text")
	}
	if err := d.PersonOnly(ctx, "edit the state"); err != nil {
		return store.Edited{}, err
	}
	base, err := r.Text(ctx)
	if err != nil {
		return store.Edited{}, err
	}
	text, problem := base, error(nil)
	for {
		edited, err := open(text, problem)
		if err != nil {
			return store.Edited{}, err
		}
		if edited == nil {
			return store.Edited{}, problem
		}
		text = edited
		done, err := r.Edit(ctx, store.Op{Name: "edit", Agent: blackboard.Human}, base, text)
		var invalid *store.InvalidError
		var conflict *store.ConflictError
		if !errors.As(err, &invalid) && !errors.As(err, &conflict) {
			return done, err
		}
		problem = err
	}
}
