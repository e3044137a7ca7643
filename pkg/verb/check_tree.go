package verb

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"

	"liza/pkg/blackboard"
	"liza/pkg/config"
	"liza/pkg/git"
	"liza/pkg/review"
)

func checkSettings(r config.Review) review.Settings {
	s := review.Settings{Checks: map[string]review.Setting{}, TestPaths: r.TestPaths, UserFacing: r.UserFacingPaths, E2E: r.E2EPaths}
	for name, c := range r.Checks {
		s.Checks[name] = review.Setting{Enabled: c.Enabled, Severity: r.Severity(name), Command: c.Command}
	}
	return s
}

// treeAt is what the commands of the checks are detected in.
func (d *Service) treeAt(ctx context.Context, commit string, files []git.Listed) review.Tree {
	tree := review.Tree{
		Read: func(file string) string {
			data, err := d.Repo.ReadFile(ctx, commit, file)
			if err != nil {
				return "" // it is not there, as a rule
			}
			return string(data)
		},
		Tool: func(name string) bool { _, err := exec.LookPath(name); return err == nil },
	}
	for _, f := range files {
		tree.Files = append(tree.Files, f.Path)
	}
	return tree
}

// openReview makes the throw-away worktree; what an interrupted review left goes first.
func (d *Service) openReview(ctx context.Context, t *blackboard.Task) (string, error) {
	if err := d.clearReview(ctx, t.ID); err != nil {
		return "", err
	}
	path := d.Project.ReviewWorktree(t.ID)
	warnings, err := d.Repo.CheckoutDetached(ctx, path, t.ReviewCommit)
	for _, w := range warnings {
		d.Progressf("the checks of %s: %s", t.ID, w)
	}
	return path, err
}

// clearReview removes the throw-away worktree, and what still runs in it.
func (d *Service) clearReview(ctx context.Context, id string) error {
	path := d.Project.ReviewWorktree(id)
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := review.StopInside(ctx, path); err != nil {
		return err
	}
	return d.Repo.RemoveDetached(ctx, path)
}
