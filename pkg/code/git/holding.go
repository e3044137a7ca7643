package git

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
)

// A holding is the content of a task's branch and worktree.
type holding struct {
	tip      string    // tip of the branch, or ""
	entry    *Worktree // git's entry of the worktree, or nil
	head     string    // HEAD of the worktree, or ""
	headTree string
	tree     string   // tree of all its files that are not ignored; headTree if they equal HEAD
	dirty    []string // output of git status
	nested   []string // content that cannot be saved here: work in submodules and nested repositories, too large files
}

// changed reports whether the files differ from HEAD.
func (h holding) changed() bool { return h.tree != h.headTree }

// commits are the commits that removal would let go, without doubles.
func (h holding) commits() []string {
	var commits []string
	for _, commit := range []string{h.head, h.tip} {
		if commit != "" && !slices.Contains(commits, commit) {
			commits = append(commits, commit)
		}
	}
	return commits
}

// savedIn finds the attic entry that holds exactly these files on top of the same HEAD.
func (h holding) savedIn(all []Attic) (Attic, bool) {
	for _, one := range all {
		if one.tree == h.tree && one.parent == h.head {
			return one, true
		}
	}
	return Attic{}, false
}

// holding looks at branch task/<id> and, when path is set and something is there, at the worktree.
func (s *session) holding(ctx context.Context, id, path string) (h holding, err error) {
	if h.tip, err = s.tip(ctx, TaskBranch(id)); err != nil || path == "" {
		return h, err
	}
	if err := linkAt(path); err != nil {
		return h, err
	}
	if h.entry, err = s.registered(ctx, path); err != nil {
		return h, err
	}
	admin := s.adminDir(path)
	if admin == "" && exists(path) {
		return h, fmt.Errorf("%s is not a worktree of this repository", path)
	}
	claimed := h.entry != nil && claimOf(h.entry.LockReason, id) != ""
	if admin == "" || claimed && unmade(admin) {
		return h, nil
	}
	if _, h.head, err = s.headOf(ctx, admin); err != nil {
		return h, err
	}
	if h.head != "" {
		if h.headTree, err = s.treeOf(ctx, h.head); err != nil {
			return h, err
		}
	}
	err = s.lookInto(ctx, path, admin, claimed, &h)
	return h, err
}

// lookInto sets the content of the files; those that differ from HEAD become a tree in the repository. No agent has worked in
// a worktree with the lock of a claim: if it only lacks files, a killed git left it half checked out, and it has no content
// of its own (specs/protocol.md#7.4).
func (s *session) lookInto(ctx context.Context, path, admin string, fresh bool, h *holding) error {
	h.tree = h.headTree
	if s.asHead(path, admin, h.headTree) {
		return nil
	}
	w := wish{head: h.head, status: true, save: true, tree: h.headTree}
	if h.head != "" {
		w.known = []string{h.head}
	}
	t, err := s.help(ctx, path, admin, w)
	if err != nil { // git makes no object again of which a loss of power has left a file, though the content is there
		lost := s.lostPath(filepath.Base(path), time.Now())
		if s.moveTorn(lost) == nil && exists(lost) {
			t, err = s.help(ctx, path, admin, w)
		}
	}
	if err != nil {
		return fmt.Errorf("cannot look at the worktree %s: %w", filepath.Base(path), err)
	}
	defer t.remove()
	h.dirty = t.dirty
	if t.tree != "" {
		in := &incoming{repo: s.Repo, tip: t.tree, base: h.head}
		why, err := in.accept(ctx, t.pack)
		if err == nil && why == "" {
			why, err = s.takeLargeOf(ctx, t)
		}
		if err != nil {
			return err
		}
		if why != "" {
			h.nested = []string{"files that are not committed: " + why}
			return nil
		}
		added := true
		if fresh && h.headTree != "" {
			out, err := s.read(ctx, s.place.Root, "diff-tree", "-r", "--name-only", "-z", "--diff-filter=d", "--no-renames", h.headTree, t.tree)
			if err != nil {
				return err
			}
			added = out != ""
		}
		if added {
			h.tree = t.tree
		}
	}
	if fresh || h.tree == "" {
		return nil
	}
	files := h.tree
	if !h.changed() && h.head != "" {
		files = h.head // they are known since the checks, as a rule
	}
	h.nested, err = s.nestedIn(ctx, path, files)
	h.nested = append(h.nested, t.unshared...)
	return err
}

// takeLargeOf brings the large files that the helper's git has put aside.
func (r *runner) takeLargeOf(ctx context.Context, t *told) (why string, err error) {
	view, err := os.OpenRoot(filepath.Join(t.dir, "git"))
	if err != nil {
		return "", err
	}
	defer view.Close()
	return r.takeLarge(ctx, private{view})
}

// TreeOf returns the tree of a commit.
func (r *objects) TreeOf(ctx context.Context, commit string) (string, error) {
	tree, err := r.treeOf(ctx, commit)
	if err != nil {
		return "", fmt.Errorf("cannot read the tree of commit %s: %w", commit, err)
	}
	return tree, nil
}

func (r *objects) treeOf(ctx context.Context, commit string) (string, error) {
	key := "tree " + commit
	if tree, known := r.answers.get(key); known {
		return tree, nil
	}
	if isFullHash(commit) {
		if repo, err := r.goGit(); err == nil { // the first seals of a board ask for every commit on it
			if c, err := repo.CommitObject(plumbing.NewHash(commit)); err == nil && c.Hash.String() == commit {
				r.answers.put(key, c.TreeHash.String())
				return c.TreeHash.String(), nil
			}
		}
	}
	out, err := r.read(ctx, r.place.Root, "rev-parse", "--verify", "--quiet", commit+"^{tree}")
	tree := strings.TrimSpace(out)
	if err == nil && isFullHash(commit) { // a name can mean another commit tomorrow
		r.answers.put(key, tree)
	}
	return tree, err
}

// nestedIn returns the repositories inside a worktree that Liza did not make: their content is removed with the worktree, and
// the attic cannot hold it.
func (s *session) nestedIn(ctx context.Context, path, tree string) ([]string, error) {
	files, err := s.ListCommit(ctx, tree)
	if err != nil {
		return nil, err
	}
	var work []string
	ours := s.submodules(path)
	for _, f := range files {
		sub := filepath.Join(path, f.Path)
		if f.Submodule && exists(filepath.Join(sub, ".git")) && !slices.ContainsFunc(ours, func(m submodule) bool { return m.dir == sub }) {
			work = append(work, fmt.Sprintf("%s (submodule: a repository of its own, whose configuration a run could write)", showPath(f.Path)))
		}
	}
	return work, nil
}
