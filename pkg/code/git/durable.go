package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"liza/pkg/base/safefile"
)

// syncers is how many files are made durable at a time: file systems write what waits together at once.
const syncers = 8

// SyncCommit makes a commit durable that another git has made: the git of people and agents does not wait for the disk. With it come the
// objects that can be reached from it and from none of known (without known: all that are not packed), and the file of ref, or "", with
// the index of the worktree of a task branch. Git syncs packs itself (specs/testing.md#power).
func (r *references) SyncCommit(ctx context.Context, commit, ref string, known ...string) error {
	folder := filepath.Join(r.place.CommonDir, "objects")
	var paths []string
	if known = slices.DeleteFunc(known, func(c string) bool { return c == "" }); len(known) == 0 {
		paths, _ = filepath.Glob(filepath.Join(folder, "[0-9a-f][0-9a-f]", "*"))
	} else {
		out, err := r.read(ctx, r.place.Root, slices.Concat([]string{"rev-list", "--objects", "--no-object-names", commit, "--not"}, known, []string{"--"})...)
		if err != nil {
			return fmt.Errorf("cannot make commit %.9s durable: %w", commit, err)
		}
		for name := range strings.Lines(out) {
			if name = strings.TrimSpace(name); len(name) > 2 {
				paths = append(paths, filepath.Join(folder, name[:2], name[2:]))
			}
		}
	}
	if ref != "" {
		paths = append(paths, filepath.Join(r.place.CommonDir, ref))
	}
	if id, ok := strings.CutPrefix(ref, branches+TaskBranch("")); ok {
		if admin := r.adminDir(r.WorktreePath(id)); admin != "" {
			paths = append(paths, filepath.Join(admin, "index"))
		}
	}
	if err := syncFiles(paths); err != nil {
		return fmt.Errorf("cannot make commit %.9s durable: %w", commit, err)
	}
	return nil
}

// syncFiles makes files durable. Those that are not there are packed.
func syncFiles(paths []string) error {
	var mu sync.Mutex
	var failed error
	var all sync.WaitGroup
	for part := range slices.Chunk(paths, max(1, (len(paths)+syncers-1)/syncers)) {
		all.Go(func() {
			for _, path := range part {
				if err := safefile.Sync(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
					mu.Lock()
					failed = errors.Join(failed, err)
					mu.Unlock()
				}
			}
		})
	}
	all.Wait()
	return failed
}

// mostSynced is how many files of a new worktree are made durable one by one; of more, all that the file system has in memory.
const mostSynced = 2000

// syncWorktree makes a worktree durable that git has just made: without power its files and git's entry would be there, and empty.
func syncWorktree(ctx context.Context, admin, path string) error {
	var paths []string
	for _, dir := range []string{admin, path} {
		err := safefile.Walk(dir, func(f safefile.Found) error {
			if f.Info.Mode().IsRegular() && len(paths) <= mostSynced {
				paths = append(paths, filepath.Join(dir, f.Path))
			}
			return ctx.Err()
		})
		if err != nil {
			return fmt.Errorf("cannot make the worktree %s durable: %w", path, err)
		}
	}
	if len(paths) > mostSynced {
		dir, err := os.Open(path)
		if err != nil {
			return fmt.Errorf("cannot make the worktree %s durable: %w", path, err)
		}
		return errors.Join(safefile.SyncAround(dir), dir.Close())
	}
	return syncFiles(paths)
}
