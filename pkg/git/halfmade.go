package git

import (
	"context"
	"errors"
	"strings"
	"time"
)

// dropHalfMade removes what a claim left that was killed before it was confirmed (specs/protocol.md#7.4), when former work is to
// go on: a worktree that is not whole, and one that was made for new work, which is not what is wanted. Both carry the lock
// of that claim and hold nothing. A branch goes with the worktree that it was made for.
func (j *providing) dropHalfMade(ctx context.Context) error {
	if !j.valid || j.entry == nil || claimOf(j.entry.LockReason, j.ID) == "" {
		return nil
	}
	empty := unmade(j.adminDir(j.got.Path))
	if !empty && j.Keep {
		var err error
		if empty, err = j.holdsNothing(ctx); err != nil {
			return err
		}
	}
	if !empty {
		return nil
	}
	if err := j.dropFolder(ctx, j.got.Path, j.entry); err != nil {
		return err
	}
	if !strings.HasSuffix(j.entry.LockReason, " "+attachedMark) {
		if err := j.deleteBranch(ctx, j.ID); err != nil {
			return err
		}
	}
	var err error
	j.valid, j.entry = false, nil
	j.tip, err = j.session.tip(ctx, j.got.Branch)
	return err
}

// holdsNothing tells of a worktree with a claim's lock that it lacks files, or that it is at the integration branch
// while there is recorded work elsewhere.
func (j *providing) holdsNothing(ctx context.Context) (bool, error) {
	held, err := j.holding(ctx, j.ID, j.got.Path)
	if err != nil || held.changed() {
		return false, err
	}
	if len(held.dirty) > 0 {
		return true, nil
	}
	if strings.HasSuffix(j.entry.LockReason, " "+attachedMark) || held.head == "" || held.head != held.tip {
		return false, nil
	}
	if own, err := j.IsAncestor(ctx, held.head, j.Base); err != nil || !own {
		return false, err
	}
	recorded, err := j.recorded(ctx)
	if err != nil {
		return false, err
	}
	for _, commit := range recorded {
		if has, err := j.IsAncestor(ctx, commit, held.head); err != nil || !has {
			return err == nil, err
		}
	}
	return false, nil
}

// recorded are the commits that former work of the task may be found at, as far as they are there.
func (j *providing) recorded(ctx context.Context) ([]string, error) {
	saved, err := j.AtticRefs(ctx, j.ID)
	if err != nil {
		return nil, err
	}
	candidates := append([]string(nil), j.Candidates...)
	if len(saved) > 0 {
		candidates = append(candidates, saved[0].Commit)
	}
	base := j.WorkBase
	if base != "" {
		if base, err = j.Resolve(ctx, base); err != nil && !errors.Is(err, ErrNotFound) {
			return nil, err
		} // a base that is lost tells nothing
	}
	var found []string
	for _, candidate := range candidates {
		commit, err := j.Resolve(ctx, candidate)
		if errors.Is(err, ErrNotFound) {
			continue
		}
		if err == nil && base != "" {
			var has bool
			if has, err = j.IsAncestor(ctx, base, commit); err == nil && !has {
				continue
			}
		}
		if err != nil {
			return nil, err
		}
		found = append(found, commit)
	}
	return found, nil
}

// providing is one ProvideWorktree under the lock.
type providing struct {
	*session
	Provide
	got   Provided
	entry *Worktree // git's entry of the worktree at the place
	valid bool      // a worktree of this repository is there
	tip   string    // of branch task/<id>; "" when there is none
}

// Provide asks for the worktree of a task.
type Provide struct {
	ID          string
	Base        string    // head of the integration branch: where new work starts
	Keep        bool      // go on with the work that is there; false: a fresh worktree, former work goes to the attic
	RestartFrom string    // new work starts at this commit instead; "" for none
	Candidates  []string  // recorded commits, to recover lost work from: review_commit, that of the last attempt; "" is skipped
	WorkBase    string    // base of the former work: what does not contain it is older work; "" when it is not known
	Nonce       string    // names this call, for Abandon; one word
	Now         time.Time // names a folder that is moved away
}

// Provided says what was found and done.
type Provided struct {
	Path   string
	Branch string
	Head   string
	Base   string // of new work; "" when former work goes on, whose recorded base stays

	Created   bool // the worktree is new to this claim, whatever it starts from: its setup has to run
	Kept      bool // it was there and goes on
	Attached  bool // a new folder for the branch that was there
	Recovered bool // folder and branch were gone: the branch was made again at a recorded commit

	Attic       string   // ref that holds former work
	Lost        string   // where a folder that was not a worktree was moved to
	LockRemoved []string // stale lock files of git that were removed
	Warnings    []string // submodules that could not be initialised, a kept worktree on another branch
}
