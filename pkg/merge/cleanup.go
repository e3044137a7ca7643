package merge

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"liza/pkg/blackboard"
	"liza/pkg/git"
)

// CleanUp ends what interrupted merges and removals left: check worktrees, worktrees and
// branches of tasks that need them no more (M10). Somebody else's running merge is left
// alone. What is not proven to be saved stays, with a warning.
func (m *Merger) CleanUp(ctx context.Context) error {
	left, err := m.leftovers(ctx)
	if err != nil || len(left.checks)+len(left.tasks) == 0 {
		return err
	}
	unlock, err := m.lock(ctx)
	if err != nil {
		return nil // a merge is under way; the next look finds what it leaves
	}
	defer func() { _ = unlock() }()
	if left, err = m.leftovers(ctx); err != nil { // again, now that nobody else merges
		return err
	}
	var errs []error
	for _, path := range left.checks {
		errs = append(errs, m.clearCheck(ctx, path))
	}
	for _, id := range left.tasks {
		err := m.remove(ctx, id, left.branch)
		var unsaved *git.UnsavedError
		if errors.As(err, &unsaved) {
			m.warn("%v", err)
			err = nil
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

type leftovers struct {
	checks []string // paths of check worktrees
	tasks  []string // terminal tasks that still have a folder
	branch string
}

func (m *Merger) leftovers(ctx context.Context) (leftovers, error) {
	s, err := m.view(ctx)
	if err != nil {
		return leftovers{}, err
	}
	l := leftovers{branch: s.IntegrationBranch()}
	entries, err := os.ReadDir(filepath.Join(m.Repo.Root(), ".worktrees"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return l, err
	}
	found := map[string]bool{}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".check-") {
			l.checks = append(l.checks, filepath.Join(m.Repo.Root(), ".worktrees", e.Name()))
		}
		found[e.Name()] = true
	}
	for _, t := range s.Tasks {
		if t.Status.Terminal() && t.ClaimSeq > 0 && found[t.ID] && m.usable(t) {
			l.tasks = append(l.tasks, t.ID)
		}
	}
	return l, nil
}

// usable tells whether a terminal task's folder may be judged: its work is merged or saved.
func (m *Merger) usable(t *blackboard.Task) bool { return t.Worktree == "" }
