package git

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"liza/pkg/safefile"
)

// unmade tells of a worktree whose git was killed before it had checked out everything: its HEAD is all zeros, or it
// has no index yet, which git writes last. Nobody can have worked there; files that are there may be cut off.
func unmade(admin string) bool {
	head, err := safefile.Read(filepath.Join(admin, "HEAD"))
	text := strings.TrimSpace(string(head))
	if err == nil && text != "" && strings.Trim(text, "0") == "" {
		return true
	}
	_, err = os.Lstat(filepath.Join(admin, "index"))
	return errors.Is(err, fs.ErrNotExist)
}

// dropUnfinished removes git's entries of worktrees whose git was killed while it wrote them: there is no commondir or an
// empty one, which makes every list of worktrees fail, and no index, so nothing was checked out. An entry stays while a git
// process of this repository lives: it may be writing just now.
func (s *session) dropUnfinished() {
	worktrees := filepath.Join(s.place.CommonDir, "worktrees")
	entries, err := os.ReadDir(worktrees)
	if err != nil {
		return
	}
	for _, e := range entries {
		admin := filepath.Join(worktrees, e.Name())
		common, err := os.Stat(filepath.Join(admin, "commondir"))
		if err == nil && common.Size() > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) || exists(filepath.Join(admin, "index")) {
			continue
		}
		info, err := os.Lstat(admin)
		if err != nil || !info.IsDir() {
			continue
		}
		if ownerGone(info, []string{s.place.Root, s.place.CommonDir, filepath.Join(s.place.Root, worktreesDir)}) == nil {
			_ = os.RemoveAll(admin) // what cannot be removed is told by git
		}
	}
}

// emptyShell removes a folder that holds nothing, but perhaps the link to this repository, and reports whether it did.
func (s *session) emptyShell(path string) bool {
	link := filepath.Join(path, ".git")
	list, err := os.ReadDir(path)
	if err != nil || len(list) > 1 {
		return false
	}
	if len(list) == 1 {
		info, err := os.Lstat(link)
		if err != nil || !info.Mode().IsRegular() || info.Size() > 0 && !s.ours(link) || os.Remove(link) != nil {
			return false
		}
	}
	return os.Remove(path) == nil
}

// ours tells of a file .git that it names a linked worktree of this repository.
func (s *session) ours(link string) bool {
	target, err := readGitFile(link)
	return err == nil && filepath.Dir(target) == filepath.Join(s.place.CommonDir, "worktrees")
}

// removedMark begins the names of folders that are being removed.
const removedMark = ".removed-"

// removeFolder removes a folder that holds nothing, in a way that can be killed at any moment: the folder has another
// name before its first file goes, so that what is left is never taken for a worktree, or for somebody's folder.
func (s *session) removeFolder(path string, forget func() error) error {
	aside := filepath.Join(filepath.Dir(path), removedMark+filepath.Base(path))
	if err := safefile.RemoveTree(aside); err != nil {
		return err
	}
	err := os.Rename(path, aside)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := forget(); err != nil {
		_ = os.Rename(aside, path)
		return err
	}
	return safefile.RemoveTree(aside)
}

// ClearRemoved ends removals that were killed.
func (r *Repo) ClearRemoved(ctx context.Context) error {
	s, err := r.lock(ctx)
	if err != nil {
		return err
	}
	defer s.unlock()
	left, err := filepath.Glob(filepath.Join(r.place.Root, worktreesDir, removedMark+"*"))
	for _, path := range left {
		err = errors.Join(err, safefile.RemoveTree(path))
	}
	return err
}

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
