package git

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
)

// registerSubmodules enters the submodules of a new worktree, if it has any, in the configuration that all worktrees
// share, hence under the lock. What git objects to comes up again, and is reported, in updateSubmodules.
func (s *session) registerSubmodules(ctx context.Context, path string) error {
	if !exists(filepath.Join(path, ".gitmodules")) {
		return nil
	}
	_, err := s.change(ctx, call{dir: path, args: []string{"submodule", "--quiet", "init"}})
	if _, failed := errors.AsType[*Error](err); failed {
		return nil
	}
	return err
}

// updateSubmodules clones the submodules into the worktree's own administrative folder. A failure is a warning: the work
// may not need them.
func (r *Repo) updateSubmodules(ctx context.Context, path string) (warnings []string, err error) {
	if !exists(filepath.Join(path, ".gitmodules")) {
		return nil, nil
	}
	_, err = r.run(ctx, call{dir: path, args: []string{"submodule", "--quiet", "update", "--init", "--recursive"}, write: true})
	if failed, ok := errors.AsType[*Error](err); ok {
		return []string{fmt.Sprintf("submodules are not initialised: %v", failed)}, nil
	}
	return nil, err
}
