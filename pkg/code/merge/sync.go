package merge

import (
	"context"
	"errors"
	"fmt"

	"liza/pkg/board/blackboard"
	"liza/pkg/code/git"
)

// Synced is the result of merging the base branch into the integration branch.
type Synced struct {
	Status  string `json:"status"` // synced, would_sync or up_to_date
	Branch  string `json:"integration_branch"`
	From    string `json:"from"`             // name of the merged commit
	Base    string `json:"base_commit"`      // its commit
	Old     string `json:"old"`              // former commit of the branch
	Commit  string `json:"commit,omitempty"` // present commit of the branch
	Commits int    `json:"commits"`          // number of commits that the branch lacked

	Unverified []string `json:"unverified,omitempty"` // checks that fail before and after
}

// The statuses of Synced.
const (
	SyncDone     = "synced"
	SyncWould    = "would_sync"
	SyncUpToDate = "up_to_date"
)

// Sync merges commit base, named from, into the integration branch, with the same checks as approved work. A conflict or a
// failing check is a *MoveError. A dry run only returns what would be merged, and whether it conflicts.
func (m *Merger) Sync(ctx context.Context, from, base string, dry bool) (Synced, error) {
	ctx, unlock, err := m.Lock(ctx, m.LockTimeout)
	if err != nil {
		return Synced{}, err
	}
	defer func() { _ = unlock() }()
	m.at("M0")
	return again(func() (Synced, error) { return m.syncOnce(ctx, from, base, dry) })
}

func (m *Merger) syncOnce(ctx context.Context, from, base string, dry bool) (Synced, error) {
	v, err := m.begin(ctx, syncName)
	if err != nil {
		return Synced{}, err
	}
	v.title = fmt.Sprintf("sync %s with %s", v.branch, from)
	v.intent = blackboard.MoveIntent{Kind: blackboard.MoveSync, Base: base, From: from}
	out := Synced{Status: SyncUpToDate, Branch: v.branch, From: from, Base: base, Old: v.old}
	if out.Commits, err = m.Repo.CountBetween(ctx, v.old, base); err != nil || out.Commits == 0 {
		out.Commit = v.old
		return out, err
	}
	if dry {
		out.Status = SyncWould
		var conflict *git.ConflictError
		if err := m.Repo.TryMerge(ctx, v.old, base); errors.As(err, &conflict) {
			return out, &MoveError{What: v.title, Reason: "conflict", Files: conflict.Files}
		} else if err != nil {
			return out, err
		}
		return out, nil
	}
	if err := v.free(ctx); err != nil {
		return out, err
	}
	if why, err := m.Repo.Whole(ctx, base, v.old); err != nil {
		return out, err
	} else if why != "" {
		return out, refused(m.Repo.WriteAgain(ctx), "cannot merge %s, which git cannot read: %s", from, why)
	}
	if err := m.Repo.SyncLoose(""); err != nil {
		return out, err
	}
	if out.Commit, err = v.merged(ctx, base, true); err != nil {
		return out, err
	}
	if out.Commit, err = v.move(ctx, out.Commit); err != nil {
		return out, err
	}
	out.Status, out.Unverified = SyncDone, v.notVerified()
	return out, nil
}

// Again merges the work of a task that is MERGED once more, because the integration branch lost it.
func (m *Merger) Again(ctx context.Context, id string) (Result, error) {
	ctx, unlock, err := m.Lock(ctx, m.LockTimeout)
	if err != nil {
		return Result{Task: id}, err
	}
	defer func() { _ = unlock() }()
	m.at("M0")
	return again(func() (Result, error) { return m.againOnce(ctx, id) })
}

func (m *Merger) againOnce(ctx context.Context, id string) (Result, error) {
	r := Result{Task: id}
	v, err := m.begin(ctx, againName)
	if err != nil {
		return r, err
	}
	t := v.state.Task(id)
	switch {
	case t == nil:
		return r, refused("liza status", "no task '%s' is on the board", id)
	case t.Status != blackboard.Merged || t.MergeCommit == "" || !t.ChangesFiles():
		r.Status = t.Status
		return r, refused("liza show "+id, "task %s is %s; merging again needs MERGED work", id, t.Status)
	}
	v.task, v.title, r.Status = t, "merge "+id+" again", t.Status
	v.intent = blackboard.MoveIntent{Kind: blackboard.MoveAgain, Task: id}
	if there, err := v.reachable(ctx, t.MergeCommit); err != nil {
		return r, err
	} else if there {
		return r, refused("liza show "+id, "the work of %s is on %s already, as %.9s", id, v.branch, t.MergeCommit)
	}
	work, err := v.work(ctx)
	if err != nil {
		return r, err
	}
	if err := v.free(ctx); err != nil {
		return r, err
	}
	if r.MergeCommit, err = v.merged(ctx, work, false); err != nil {
		return r, err
	}
	r.MergeCommit, err = v.move(ctx, r.MergeCommit)
	r.Unverified = v.notVerified()
	return r, err
}
