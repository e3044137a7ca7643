package git

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
)

// A holding is what a task's branch and worktree hold.
type holding struct {
	tip      string    // of the branch; "" when there is none
	entry    *Worktree // git's entry of the worktree; nil when there is none
	head     string    // HEAD of the worktree; "" without worktree or commit
	headTree string
	tree     string   // of all its files that are not ignored; headTree when they are as in HEAD
	dirty    []string // what git status reports
	nested   []string // what cannot be saved from here: work in submodules and nested repositories, too large files
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
	facts, err := s.Inspect(ctx, path)
	if err != nil {
		return h, err
	}
	h.head, h.dirty = facts.Head, facts.Dirty
	if h.head != "" {
		if h.headTree, err = s.treeOf(ctx, h.head); err != nil {
			return h, err
		}
	}
	h.tree = h.headTree
	err = s.lookInto(ctx, id, path, admin, &h)
	return h, err
}

// lookInto finds what the files hold. A worktree that still carries the lock of a claim has had no agent in it: when it
// only lacks files, a killed git left it half checked out, and it holds nothing of its own (specs/protocol.md#7.4).
func (s *session) lookInto(ctx context.Context, id, path, admin string, h *holding) error {
	fresh := h.entry != nil && claimOf(h.entry.LockReason, id) != ""
	if len(h.dirty) > 0 {
		tree, err := s.snapshot(ctx, path, admin, h.head)
		if errors.Is(err, errTooMuch) {
			h.nested = []string{fmt.Sprintf("files that are not committed, of more than %d MB", s.mostTaken()>>20)}
			return nil
		}
		if err != nil {
			return err
		}
		added := true
		if fresh && h.headTree != "" {
			out, err := s.read(ctx, s.place.Root, "diff-tree", "-r", "--name-only", "-z", "--diff-filter=d", "--no-renames", h.headTree, tree)
			if err != nil {
				return err
			}
			added = out != ""
		}
		if added {
			h.tree = tree
		}
	}
	if fresh {
		return nil
	}
	var err error
	files := h.tree
	if !h.changed() && h.head != "" {
		files = h.head // they are known since the checks, as a rule
	}
	h.nested, err = s.nestedWork(ctx, path, files)
	return err
}

// TreeOf is the tree of a commit.
func (r *Repo) TreeOf(ctx context.Context, commit string) (string, error) {
	tree, err := r.treeOf(ctx, commit)
	if err != nil {
		return "", fmt.Errorf("cannot read the tree of commit %s: %w", commit, err)
	}
	return tree, nil
}

func (r *Repo) treeOf(ctx context.Context, commit string) (string, error) {
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

// nestedWork lists the repositories inside a worktree (submodules, and clones that an agent made) with changes that are
// not committed or commits that no remote has: they go with the worktree, and the attic cannot hold them.
func (s *session) nestedWork(ctx context.Context, path, tree string) ([]string, error) {
	if tree == "" {
		return nil, nil
	}
	files, err := s.ListCommit(ctx, tree)
	if err != nil {
		return nil, err
	}
	var work []string
	ours := s.submodules(path)
	for _, f := range files {
		name, sub := f.Path, filepath.Join(path, f.Path)
		if !f.Submodule || !exists(filepath.Join(sub, ".git")) {
			continue
		}
		what := "a repository of its own, whose configuration a run could write"
		if at := slices.IndexFunc(ours, func(m submodule) bool { return m.dir == sub }); at >= 0 {
			if what, err = s.unsharedIn(ctx, ours[at]); err != nil {
				what = "cannot be looked at: " + err.Error()
			}
		}
		if what != "" {
			work = append(work, fmt.Sprintf("%s (submodule: %s)", showPath(name), what))
		}
	}
	return work, nil
}

// unsharedIn says what a submodule holds that cannot be had from its remotes again.
func (s *session) unsharedIn(ctx context.Context, m submodule) (string, error) {
	read := func(args ...string) (string, error) { return s.run(ctx, call{dir: m.dir, sub: m.git, args: args}) }
	out, err := read("status", "--porcelain", "-z", "--untracked-files=all", "--ignore-submodules=dirty")
	if err != nil {
		return "", err
	}
	if out != "" {
		return "changes that are not committed", nil
	}
	known := []string{"--not", "--remotes", "--tags"}
	if fetched, err := read("rev-parse", "--verify", "--quiet", "FETCH_HEAD^{commit}"); err == nil {
		known = append(known, strings.TrimSpace(fetched))
	}
	if out, err = read(append([]string{"rev-list", "--max-count=1", "HEAD", "--branches", "--glob=refs/stash"}, known...)...); err != nil {
		return "", err
	}
	if out != "" {
		return "commits that no remote has", nil
	}
	return "", nil
}
