package git

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/gofrs/flock"

	"liza/pkg/safefile"
)

// LeftFolders are the tasks of which a run has left a git folder: its supervisor was killed.
func (r *Repo) LeftFolders() []string {
	var tasks []string
	for _, f := range r.folders() {
		if f.claim() {
			tasks = append(tasks, f.record.Task)
			_ = f.lock.Close()
		}
	}
	slices.Sort(tasks)
	return slices.Compact(tasks)
}

// ClearFolders removes folders that killed processes have left half made: they have no record.
func (r *Repo) ClearFolders(ctx context.Context) error {
	s, err := r.lock(ctx) // nobody makes one now
	if err != nil {
		return err
	}
	defer s.unlock()
	dir := filepath.Join(r.place.CommonDir, foldersDir)
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if path := filepath.Join(dir, e.Name()); !exists(filepath.Join(path, recordFile)) {
			err = errors.Join(err, safefile.RemoveTree(path))
		}
	}
	return err
}

// claim takes the lock of a folder whose run is over.
func (f *Folder) claim() bool {
	f.lock = flock.New(filepath.Join(f.dir, "lock"))
	held, err := f.lock.TryLock()
	if err == nil && held && f.load() == nil { // nobody has removed it meanwhile
		return true
	}
	_ = f.lock.Close()
	return false
}

// Settle takes over what runs of a task have left in their git folders when their supervisors were killed, and removes
// the folders. Those of living runs stay. With late the task's branch stays, and commits are saved in the attic. It
// reports what was taken over last.
func (r *Repo) Settle(ctx context.Context, task string, late bool) (taken Taken, err error) {
	all := r.foldersOf(task)
	slices.Reverse(all)
	for _, f := range all {
		if !f.claim() {
			continue
		}
		if taken, err = f.Close(ctx, late); err != nil {
			return taken, err
		}
	}
	return taken, nil
}
