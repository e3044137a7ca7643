package git

import (
	"context"
)

// Save puts the work of a task in the attic (specs/protocol.md#8.6, E-SAVE): its tracked changes and untracked files that are
// not ignored, as a commit on top of the worktree's HEAD, and every commit of HEAD and of the branch. It changes nothing in
// the worktree. ref is the attic ref that holds the newest of it, "" when there is nothing to save; saved reports whether
// this call made it. Work that cannot be saved (inside a submodule or a nested repository) is an *UnsavedError.
func (r *Repo) Save(ctx context.Context, w Work) (ref string, saved bool, err error) {
	if err := checkID(w.ID); err != nil {
		return "", false, err
	}
	if _, err := r.Settle(ctx, w.ID, true); err != nil {
		return "", false, err
	}
	s, err := r.lock(ctx)
	if err != nil {
		return "", false, err
	}
	defer s.unlock()
	return s.save(ctx, w)
}
