package maintain

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"liza/pkg/base/safefile"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/seal"
	"liza/pkg/code/git"
	"liza/pkg/verb/board"
	"liza/pkg/verb/verb"
)

// Uninitialized is what Uninit removed, or would remove.
type Uninitialized struct {
	Done     bool      `json:"done"`
	Removed  []Garbage `json:"removed"`
	Kept     []Garbage `json:"kept,omitempty"`
	Unmerged []string  `json:"unmerged,omitempty"` // work that is nowhere else
	Bundle   string    `json:"bundle,omitempty"`   // the file of git that has the unmerged commits
	Tracked  bool      `json:"tracked,omitempty"`  // git tracks settings in .liza: a person commits that they are gone
}

// Uninit takes Liza out of a repository: worktrees, branches, refs, folders, the key and the line of info/exclude. Without
// yes it only lists them. Unmerged work is saved in a bundle in the git folder first.
func Uninit(ctx context.Context, d *verb.Service, keys string, yes bool) (Uninitialized, error) {
	out := Uninitialized{Removed: []Garbage{}}
	if err := d.Board.PersonOnly(ctx, "take the project away"); err != nil {
		return out, err
	}
	if d.Board.Config().Store.URL != "" {
		return out, board.Refuse("liza store move file", "the board is in a database, and other hosts may work on it; bring it back first")
	}
	s, err := d.Board.View(ctx)
	if err != nil {
		return out, err
	}
	for _, id := range slices.Sorted(maps.Keys(s.Agents)) {
		if live, why := s.Liveness(id, d.Board.Now(), d.Board.Facts()); live == blackboard.Alive || live == blackboard.Unknown {
			next := "liza stop --all"
			if s.Agents[id].PID == 0 { // a person is at work for it
				next = "liza unregister --as " + id
			}
			return out, board.Refuse(next, "%s is at work, or may be (%s)", id, why)
		}
	}
	branch := s.IntegrationBranch()
	if path, found, err := d.Board.Repo.CheckedOutAt(ctx, branch); err != nil {
		return out, err
	} else if found {
		return out, board.Refuse("git -C "+path+" switch OTHER", "%s is checked out in %s; switch it to another branch", branch, path)
	}
	if yes {
		if _, err := d.Agents.Recover(ctx); err != nil { // stops what dead supervisors left, and takes over what that committed
			return out, err
		}
		unlock, err := safefile.LockIn(ctx, d.Board.Project.MergeLock(), safefile.Holder{PID: os.Getpid(), Agent: blackboard.Human, Op: "uninit"})
		if err != nil {
			return out, err
		}
		defer func() { _ = unlock() }()
	}
	own, err := out.list(ctx, d, branch, yes)
	if err != nil || !yes {
		return out, err
	}
	if len(own.Lost) > 0 {
		if err := d.Board.Repo.Bundle(ctx, own, filepath.Join(d.Board.Project.Root, out.Bundle)); err != nil {
			return out, err
		}
	}
	if err := d.Board.Repo.RemoveOwn(ctx, own); err != nil {
		return out, err
	}
	err = removeProject(d, seal.Ring{Folder: keys, GitDir: d.Board.Project.GitDir})
	out.Done = err == nil
	return out, err
}

// list finds what is to be removed. With save, what is not committed goes into the attic first.
func (u *Uninitialized) list(ctx context.Context, d *verb.Service, branch string, save bool) (git.Own, error) {
	own, err := d.Board.Repo.OwnOf(ctx, branch)
	if err != nil {
		return own, err
	}
	tip := own.Refs["refs/heads/"+branch]
	saved := false
	for _, w := range own.Worktrees {
		id := filepath.Base(w.Path)
		u.Removed = append(u.Removed, Garbage{Kind: "worktree", Name: d.Board.Rel(w.Path)})
		if strings.HasPrefix(id, ".") || w.Prunable {
			continue
		}
		if !save {
			lost, err := d.Board.Repo.Unsaved(ctx, id, git.Proof{Integration: w.Head, Base: tip}) // its commits are looked at below
			if err != nil {
				return own, err
			}
			for _, what := range lost {
				u.Unmerged = append(u.Unmerged, id+": "+what)
			}
			continue
		}
		if _, err := d.Board.Repo.Settle(ctx, id, true); err != nil {
			return own, err
		}
		_, made, err := d.Board.Repo.Save(ctx, git.Work{ID: id, Path: w.Path, Reason: "uninit", Integration: tip})
		if err != nil {
			return own, err
		}
		saved = saved || made
	}
	if saved {
		if own, err = d.Board.Repo.OwnOf(ctx, branch); err != nil {
			return own, err
		}
	}
	u.Unmerged = append(u.Unmerged, own.Lost...)
	if len(u.Unmerged) > 0 {
		u.Bundle = d.Board.Rel(filepath.Join(d.Board.Project.GitDir, "liza-"+d.Board.Now().UTC().Format("20060102-150405")+".bundle"))
	}
	for _, ref := range slices.Sorted(maps.Keys(own.Refs)) {
		u.Removed = append(u.Removed, Garbage{Kind: "ref", Name: ref})
	}
	for _, name := range own.Others {
		u.Kept = append(u.Kept, Garbage{Kind: "worktree", Name: name, Why: "it is on a branch of yours"})
	}
	if real, linked := linkedFolder(d); linked {
		u.Removed = append(u.Removed, Garbage{Kind: "link", Name: ".liza", Why: "it leads to " + real},
			Garbage{Kind: "folder", Name: real, Why: "the board, its log and your settings"})
	} else {
		u.Removed = append(u.Removed, Garbage{Kind: "folder", Name: ".liza", Why: "the board, its log and your settings"})
	}
	u.Removed = append(u.Removed,
		Garbage{Kind: "folder", Name: d.Board.Rel(filepath.Dir(d.Board.Project.GitLock())), Why: "snapshots and locks"},
		Garbage{Kind: "key", Name: "of seals", Why: "in your state folder"})
	if len(own.Others) == 0 {
		u.Removed = append(u.Removed, Garbage{Kind: "line", Name: "/.worktrees/", Why: "in info/exclude of git"})
	}
	tracked, err := d.Board.Repo.Tracked(ctx, ".liza")
	u.Tracked = len(tracked) > 0
	return own, err
}

// linkedFolder is the folder that .liza leads to when it is a link itself.
func linkedFolder(d *verb.Service) (real string, linked bool) {
	if at, err := os.Lstat(d.Board.Project.Liza); err != nil || at.Mode()&os.ModeSymlink == 0 {
		return "", false
	}
	real, err := filepath.EvalSymlinks(d.Board.Project.Liza)
	return real, err == nil
}

// removeProject removes the folders and the key. .liza may be a link to a folder elsewhere.
func removeProject(d *verb.Service, ring seal.Ring) error {
	folders := []string{d.Board.Project.Liza, filepath.Dir(d.Board.Project.GitLock())}
	if real, linked := linkedFolder(d); linked {
		folders = append([]string{real}, folders...)
	}
	for _, path := range folders {
		if err := safefile.RemoveTree(path); err != nil {
			return board.Fail("ls -la "+path, "cannot remove %s: %v", path, err)
		}
	}
	return ring.Remove()
}
