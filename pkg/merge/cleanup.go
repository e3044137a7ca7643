package merge

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"liza/pkg/blackboard"
	"liza/pkg/git"
	"liza/pkg/safefile"
)

// cleanUpWait is how long CleanUp waits for a merge that is under way. Its checks may take
// minutes, and what it holds is in use, not left over.
const cleanUpWait = 100 * time.Millisecond

// CleanUp ends what interrupted merges and removals left: check worktrees, and worktrees,
// branches and candidates of terminal tasks (M10). It may be called at any time: while a merge
// is under way it does nothing. What is not proven to be saved stays, with a warning.
//
// Tasks that were unblocked are not looked at: they can be claimed at any moment, and the next
// claim finds and replaces what is left of them (7.3).
func (m *Merger) CleanUp(ctx context.Context) error {
	left, err := m.leftovers(ctx)
	if err != nil || left.none() {
		return err
	}
	unlock, err := m.lockHere(ctx, cleanUpWait) // nothing is moved, so no turn is needed
	var held *safefile.HeldError
	if errors.As(err, &held) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = unlock() }()
	if left, err = m.leftovers(ctx); err != nil { // again, now that nobody else merges
		return err
	}
	var errs []error
	if left.removals {
		errs = append(errs, m.Repo.ClearRemoved(ctx))
	}
	for _, path := range left.checks {
		errs = append(errs, m.clearCheck(ctx, path))
	}
	for _, t := range left.tasks {
		err := m.remove(ctx, t, left.branch, t.Status == blackboard.Merged)
		var unsaved *git.UnsavedError
		if errors.As(err, &unsaved) {
			m.warn("%v", err)
			if m.Unsaved != nil {
				m.Unsaved(unsaved)
			}
			err = nil
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

type leftovers struct {
	checks   []string           // paths of check worktrees
	removals bool               // of worktrees were killed
	tasks    []*blackboard.Task // terminal tasks of which something is left
	branch   string
}

func (l leftovers) none() bool { return len(l.checks)+len(l.tasks) == 0 && !l.removals }

func (m *Merger) leftovers(ctx context.Context) (leftovers, error) {
	s, err := m.view(ctx)
	if err != nil {
		return leftovers{}, err
	}
	l := leftovers{branch: s.IntegrationBranch()}
	entries, err := os.ReadDir(filepath.Join(m.Repo.Root(), ".worktrees"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return l, err
	}
	found := map[string]bool{}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".removed-") {
			l.removals = true
		}
		if strings.HasPrefix(e.Name(), ".check-") {
			l.checks = append(l.checks, filepath.Join(m.Repo.Root(), ".worktrees", e.Name()))
		}
		found[git.TaskBranch(e.Name())] = true
	}
	branches, err := m.Repo.Branches(ctx, strings.TrimSuffix(git.TaskBranch(""), "/"))
	if err != nil {
		return l, err
	}
	for _, name := range branches {
		found[name] = true
	}
	for t := range s.Tasks() {
		if !t.Status.Terminal() || t.ClaimSeq == 0 || t.Worktree != "" {
			continue // Worktree: the removal was not decided yet
		}
		left := found[git.TaskBranch(t.ID)]
		if !left && t.Status != blackboard.Merged && t.ApprovedCommit != "" {
			// Once approved, then given up: a merge of it may have been killed in between.
			_, err := m.Repo.Ref(ctx, candidateRef(t.ID))
			if err != nil && !errors.Is(err, git.ErrNotFound) {
				return l, err
			}
			left = err == nil
		}
		if left {
			l.tasks = append(l.tasks, t)
		}
	}
	return l, nil
}
