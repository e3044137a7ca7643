package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"liza/pkg/safefile"
)

// copyIndex copies an index; a missing one is not an error.
func copyIndex(from, to string) error {
	removeIndex(to)
	data, err := safefile.Read(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o600)
}

// removeIndex removes a temporary index, and the lock of a killed git on it: only the holder of git.lock uses it.
func removeIndex(path string) {
	_ = os.Remove(path)
	_ = os.Remove(path + ".lock")
}

// snapshot is the tree of everything in a worktree that is not ignored. The worktree's own index stays as it is.
func (s *session) snapshot(ctx context.Context, path, admin, head string) (tree string, err error) {
	index := filepath.Join(s.place.CommonDir, "liza", "snapshot.index")
	if err := copyIndex(filepath.Join(admin, "index"), index); err != nil {
		return "", fmt.Errorf("cannot copy the index: %v", err)
	}
	defer removeIndex(index)
	env := []string{"GIT_INDEX_FILE=" + index}
	if !exists(index) && head != "" { // a git that was killed while it made the worktree left none
		if _, err := s.change(ctx, call{dir: path, args: []string{"read-tree", head}, env: env}); err != nil {
			return "", err
		}
	}
	if err := s.addAll(ctx, call{dir: path, args: []string{"-c", "core.safecrlf=false"}, env: env}); err != nil {
		return "", err
	}
	out, err := s.change(ctx, call{dir: path, args: []string{"write-tree"}, env: env})
	return strings.TrimSpace(out), err
}
