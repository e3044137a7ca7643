package git

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"
)

// A session is a repository whose git.lock this process holds. Everything that changes refs or worktrees is a method of
// it, so that nothing of the kind can run without the lock.
type session struct {
	*Repo
	removed []string // stale lock files of git that were removed
	unlock  func()
}

// lock waits for git.lock, in order of arrival, until ctx ends (ErrLocked).
func (r *Repo) lock(ctx context.Context) (*session, error) {
	path := filepath.Join(r.place.CommonDir, "liza", "git.lock")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
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

// git runs a command that changes refs or worktrees. When a lock file of a dead git is in its way, the file is removed
// and the command repeated; while a git process of this repository lives, it waits for a moment instead.
func (s *session) git(ctx context.Context, args ...string) (string, error) {
	return s.change(ctx, call{dir: s.place.Root, args: args})
}
