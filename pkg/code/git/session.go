package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"liza/pkg/base/safefile"
)

const (
	busyWait = time.Second // longest wait for a lock file of a living git
	busyPoll = 50 * time.Millisecond
)

// lockFilePattern finds the lock file in git's message; git prints its absolute path.
var lockFilePattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`Unable to create '((?s:.+?)\.lock)': File exists`) })

// change is git for a call of any kind.
func (s *session) change(ctx context.Context, c call) (string, error) {
	c.write = true
	giveUp := time.NewTimer(busyWait)
	defer giveUp.Stop()
	again := time.NewTicker(busyPoll)
	defer again.Stop()
	for {
		out, err := s.run(ctx, c)
		path := blockingLock(err)
		if path == "" || slices.Contains(s.removed, path) {
			return out, err
		}
		busy := s.clearStale(ctx, path)
		if busy == nil {
			continue
		}
		select {
		case <-again.C:
		case <-giveUp.C:
			return out, fmt.Errorf("%w; the lock file stays: %v", err, busy)
		case <-ctx.Done():
			return out, stopped(ctx, "git "+c.args[0])
		}
	}
}

// blockingLock is the lock file that made a git command fail, or "".
func blockingLock(err error) string {
	failed, ok := errors.AsType[*Error](err)
	if !ok {
		return ""
	}
	found := lockFilePattern().FindStringSubmatch(failed.Stderr)
	if found == nil {
		return ""
	}
	return found[1]
}

// clearStale removes a lock file of git whose owner is dead (specs/protocol.md#7.3), and answers nil when the file is gone. It
// is removed only when no git process of this repository lives, or when that cannot be found out on this system and
// the file is old; and only if it is still the file that was there before the processes were counted.
func (s *session) clearStale(ctx context.Context, path string) error {
	before, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil || !before.Mode().IsRegular() || !safefile.Within(path, s.place.CommonDir) {
		return fmt.Errorf("%s is not a lock file of this repository", path)
	}
	folders, err := s.folders(ctx)
	if err != nil {
		return err
	}
	if err := ownerGone(before, folders); err != nil {
		return err
	}
	after, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil || !os.SameFile(before, after) || !before.ModTime().Equal(after.ModTime()) {
		return fmt.Errorf("%s is in use", path)
	}
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("cannot remove the stale lock file: %v", err)
	}
	s.removed = append(s.removed, path)
	if s.OnLockRemoved != nil {
		s.OnLockRemoved(path)
	}
	return nil
}

// folders are all places where a git process of this repository may be at work.
func (s *session) folders(ctx context.Context) ([]string, error) {
	all, err := s.list(ctx)
	if err != nil {
		return nil, err
	}
	folders := []string{s.place.Root, s.place.CommonDir}
	for _, one := range all {
		folders = append(folders, one.Path)
	}
	return folders, nil
}

// A session is a repository whose git.lock this process holds. All changes of refs or worktrees are its methods, so that none
// can run without the lock.
type session struct {
	*Repo
	removed []string // removed stale lock files of git
	unlock  func()
}

// git runs a command that changes refs or worktrees. When a lock file of a dead git is in its way, the file is removed
// and the command repeated; while a git process of this repository lives, it waits for a moment instead.
func (s *session) git(ctx context.Context, args ...string) (string, error) {
	return s.change(ctx, call{dir: s.place.Root, args: args})
}

// lock waits for git.lock until ctx ends (ErrLocked).
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

// ClearRemoved completes removals that were killed.
func (r *Repo) ClearRemoved(ctx context.Context) error {
	s, err := r.lock(ctx)
	if err != nil {
		return err
	}
	defer s.unlock()
	left, err := filepath.Glob(filepath.Join(r.WorktreesFolder(), removedMark+"*"))
	for _, path := range left {
		err = errors.Join(err, safefile.RemoveTree(path))
	}
	return err
}

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
