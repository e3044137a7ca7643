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
	"time"

	"liza/pkg/base/safefile"
)

// syncers is how many files are made durable at a time: file systems write what waits together at once.
const syncers = 8

// lately is how old loose objects may be that are made durable: the system itself writes what is older than half a minute.
const lately = time.Hour

// SyncLoose makes durable what another git has made: the git of people and agents does not wait for the disk. These are the loose
// objects of the last hour, in which is whatever a commit that is new needs, the file of ref, or "", and the index of the worktree of
// a task branch. What a process has made durable once it leaves out. Git syncs packs itself (specs/testing.md#power).
func (r *references) SyncLoose(ref string) error {
	found, paths, err := r.notDurable()
	if err != nil {
		return fmt.Errorf("cannot make new commits durable: %w", err)
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
		return fmt.Errorf("cannot make new commits durable: %w", err)
	}
	r.synced.are(found)
	return nil
}

// notDurable finds the loose objects of the last hour, and those of them that this process has not made durable.
func (r *references) notDurable() (found map[string]written, paths []string, err error) {
	found = map[string]written{}
	for n := range 256 {
		folder := filepath.Join(r.place.CommonDir, "objects", fmt.Sprintf("%02x", n))
		all, err := os.ReadDir(folder)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, nil, err
		}
		for _, e := range all {
			if info, err := e.Info(); err == nil && time.Since(info.ModTime()) < lately {
				path, is := filepath.Join(folder, e.Name()), written{inode(info), info.ModTime().UnixNano()}
				if found[path] = is; !r.synced.has(path, is) {
					paths = append(paths, path)
				}
			}
		}
	}
	return found, paths, nil
}

// written tells a file from another one of its name.
type written struct {
	inode uint64
	at    int64 // nanoseconds
}

// synced are the loose objects of the last hour that this process has made durable.
type synced struct {
	mu    sync.Mutex
	files map[string]written
}

func (d *synced) has(path string, is written) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	was, ok := d.files[path]
	return ok && was == is
}

func (d *synced) are(files map[string]written) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.files = files
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
