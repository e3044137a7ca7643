package git

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Back says what PutBack found.
type Back struct {
	Changes []string // how branch and worktree differed from the commit; none: they did not
	Attic   string   // ref that holds what differed; "" when there was nothing to keep
}

// PutBack brings the branch and the worktree of w.ID back to commit. What differs is saved in the attic first: commits,
// changed, staged and untracked files. Ignored files stay. may is asked under git.lock, when something differs, whether
// that may happen still. A worktree that is not there is left to ProvideWorktree.
func (r *Repo) PutBack(ctx context.Context, w Work, commit string, may func() (bool, error)) (Back, error) {
	fail := func(err error) (Back, error) {
		return Back{}, fmt.Errorf("cannot put the worktree of %s back to %.9s: %w", w.ID, commit, err)
	}
	w.Path, w.Integration = r.WorktreePath(w.ID), commit // what commit has needs no saving
	changes, err := r.differs(ctx, w, commit)
	if err != nil {
		return fail(err)
	}
	if len(changes) == 0 {
		return Back{}, nil
	}
	s, err := r.lock(ctx)
	if err != nil {
		return fail(err)
	}
	defer s.unlock()
	if ok, err := may(); err != nil || !ok {
		return Back{}, err
	}
	back := Back{}
	if back.Changes, err = s.differs(ctx, w, commit); err != nil || len(back.Changes) == 0 {
		return back, err
	}
	for _, name := range []string{"index.lock", "HEAD.lock"} { // of a git that was killed with the run
		if err := s.clearStale(ctx, filepath.Join(s.adminDir(w.Path), name)); err != nil {
			return fail(err)
		}
	}
	for _, name := range []string{"rebase-merge", "rebase-apply", "sequencer"} { // reset ends all but these
		if err := os.RemoveAll(filepath.Join(s.adminDir(w.Path), name)); err != nil {
			return fail(err)
		}
	}
	left := back.Changes
	for range putBackRounds {
		if err := s.putBack(ctx, w, commit, &back); err != nil {
			return fail(err)
		}
		w.Left = ""
		if left, err = s.differs(ctx, w, commit); err != nil {
			return fail(err)
		}
		if len(left) == 0 {
			return back, nil
		}
	}
	return fail(fmt.Errorf("it still differs: %s", strings.Join(left, ", ")))
}

// putBackRounds is how often PutBack looks again: a file that was ignored shows when the .gitignore that hid it is gone.
const putBackRounds = 4

// putBack saves and undoes what can be seen. What shows only after the reset is saved before it is removed.
func (s *session) putBack(ctx context.Context, w Work, commit string, back *Back) error {
	var seen []string
	keep := func() error {
		facts, err := s.Inspect(ctx, w.Path)
		if err != nil {
			return err
		}
		known := func(path string) bool { return slices.Contains(seen, path) }
		if seen != nil && !slices.ContainsFunc(facts.Dirty, func(path string) bool { return !known(path) }) {
			return nil
		}
		seen = append([]string{}, facts.Dirty...)
		ref, _, err := s.save(ctx, w)
		back.Attic = cmp.Or(back.Attic, ref)
		return err
	}
	if err := keep(); err != nil {
		return err
	}
	if _, err := s.change(ctx, call{dir: w.Path, args: []string{"symbolic-ref", "HEAD", branches + TaskBranch(w.ID)}}); err != nil {
		return err
	}
	if err := s.resetFiles(ctx, w.Path, commit); err != nil {
		return err
	}
	if err := keep(); err != nil {
		return err
	}
	return s.cleanFiles(ctx, w.Path, true)
}

// differs lists how branch and worktree differ from commit.
func (r *Repo) differs(ctx context.Context, w Work, commit string) (changes []string, err error) {
	facts, err := r.Inspect(ctx, w.Path)
	if err != nil || !facts.Exists {
		return nil, err
	}
	tip, err := r.tip(ctx, TaskBranch(w.ID))
	if err != nil {
		return nil, err
	}
	for _, at := range []string{tip, facts.Head, cmp.Or(w.Left, commit)} {
		if at != commit {
			changes = append(changes, fmt.Sprintf("HEAD is %.9s, not %.9s", at, commit))
			break
		}
	}
	if facts.Branch != TaskBranch(w.ID) {
		at := "no branch"
		if facts.Branch != "" {
			at = facts.Branch
		}
		changes = append(changes, fmt.Sprintf("HEAD is on %s, not on %s", at, TaskBranch(w.ID)))
	}
	return append(changes, facts.Dirty...), nil
}
