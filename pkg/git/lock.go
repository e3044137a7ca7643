package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"

	"liza/pkg/safefile"
)

// lock waits for git.lock, in order of arrival, until ctx ends (ErrLocked).
func (r *Repo) lock(ctx context.Context) (*session, error) {
	path := filepath.Join(r.place.CommonDir, "liza", "git.lock")
	if err := safefile.MakeFolder(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("cannot lock the repository: %w", err)
	}
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("cannot lock the repository: %s is not a regular file", path)
	}
	unlock, err := flockFile(ctx, path)
	if err != nil {
		return nil, err
	}
	s := &session{Repo: r, unlock: unlock}
	s.dropUnfinished()
	return s, nil
}

// flockFile tries, then waits in a goroutine, since polling starves. A waiter that was given up closes the file once it
// is granted.
func flockFile(ctx context.Context, path string) (unlock func(), err error) {
	file := flock.New(path)
	release := func() { _ = file.Close() }
	held, err := file.TryLock()
	if err != nil {
		return nil, fmt.Errorf("cannot lock %s: %w", path, err)
	}
	if held {
		return release, nil
	}
	granted := make(chan error, 1)
	go func() { granted <- file.Lock() }()
	select {
	case err := <-granted:
		if err != nil {
			return nil, fmt.Errorf("cannot lock %s: %w", path, err)
		}
		return release, nil
	case <-ctx.Done():
		go func() {
			if <-granted == nil {
				release()
			}
		}()
		return nil, fmt.Errorf("cannot lock %s: %w: %w", path, ErrLocked, context.Cause(ctx))
	}
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
