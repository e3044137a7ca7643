package git

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// A Saved is a ref of Liza's own with the time of its commit.
type Saved struct {
	Ref    string
	ID     string // whose work it is
	Commit string
	At     time.Time // when the commit was made
}

// SavedWork lists everything in the attic.
func (r *Repo) SavedWork(ctx context.Context) ([]Saved, error) { return r.saved(ctx, attic, true) }

// Candidates lists the commits of merges that were begun (specs/protocol.md#8.2, M5).
func (r *Repo) Candidates(ctx context.Context) ([]Saved, error) {
	return r.saved(ctx, "refs/liza/candidate/", false)
}

func (r *Repo) saved(ctx context.Context, folder string, numbered bool) ([]Saved, error) {
	out, err := r.read(ctx, r.place.Root, "for-each-ref", "--format=%(refname) %(objectname) %(committerdate:unix)", folder)
	if err != nil {
		return nil, fmt.Errorf("cannot list %s: %w", folder, err)
	}
	var all []Saved
	for line := range strings.Lines(out) {
		words := strings.Fields(line)
		if len(words) != 3 {
			continue // no commit
		}
		at, err := strconv.ParseInt(words[2], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("cannot read the time of %s: %v", words[0], err)
		}
		id := strings.TrimPrefix(words[0], folder)
		if numbered {
			id = id[:max(strings.LastIndexByte(id, '/'), 0)]
		}
		all = append(all, Saved{Ref: words[0], ID: id, Commit: words[1], At: time.Unix(at, 0)})
	}
	return all, nil
}

// Unsaved lists what Remove would refuse to let go, with the same proof; nothing: Remove would remove it.
func (r *Repo) Unsaved(ctx context.Context, id string, proof Proof) ([]string, error) {
	if err := checkID(id); err != nil {
		return nil, err
	}
	s, err := r.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer s.unlock()
	held, err := s.holding(ctx, id, s.WorktreePath(id))
	if err != nil {
		return nil, err
	}
	if err := s.branchFree(ctx, id, s.WorktreePath(id)); err != nil {
		return nil, err
	}
	return s.unsaved(ctx, id, held, proof)
}

// A LockFile is a lock file of git. Busy says why it may be in use, "" when no git process of this repository lives:
// then anyone who needs the lock next removes it (specs/protocol.md#7.3).
type LockFile struct {
	Path string
	Made time.Time
	Busy string
}

// LockFiles lists the lock files of git that are there now. A git that works has some of them for a moment.
func (r *Repo) LockFiles(ctx context.Context) ([]LockFile, error) {
	var found []LockFile
	var infos []fs.FileInfo
	look := func(path string) {
		if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() {
			found, infos = append(found, LockFile{Path: path, Made: info.ModTime()}), append(infos, info)
		}
	}
	dirs := []string{r.place.CommonDir}
	linked, _ := filepath.Glob(filepath.Join(r.place.CommonDir, "worktrees", "*"))
	for _, dir := range append(dirs, linked...) {
		for _, name := range []string{"index.lock", "HEAD.lock", "packed-refs.lock", "config.lock", "shallow.lock"} {
			look(filepath.Join(dir, name))
		}
	}
	_ = filepath.WalkDir(filepath.Join(r.place.CommonDir, "refs"), func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && strings.HasSuffix(path, ".lock") {
			look(path)
		}
		return nil // a folder that vanishes meanwhile has no lock file
	})
	if len(found) == 0 {
		return nil, nil
	}
	folders, err := (&session{Repo: r}).folders(ctx)
	if err != nil {
		return nil, err
	}
	for i := range found {
		if err := ownerGone(infos[i], folders); err != nil {
			found[i].Busy = err.Error()
		}
	}
	return found, nil
}

// UnderWay says which operation of git was begun in a checkout and not ended: merge, rebase, cherry-pick or revert; ""
// for none. path is a linked worktree, or the main checkout.
func (r *Repo) UnderWay(path string) string {
	dir := r.place.CommonDir
	if filepath.Clean(path) != r.place.Root {
		if dir = r.adminDir(path); dir == "" {
			return ""
		}
	}
	for _, one := range []struct{ file, name string }{
		{"MERGE_HEAD", "merge"}, {"rebase-merge", "rebase"}, {"rebase-apply", "rebase"}, {"CHERRY_PICK_HEAD", "cherry-pick"}, {"REVERT_HEAD", "revert"},
	} {
		if exists(filepath.Join(dir, one.file)) {
			return one.name
		}
	}
	return ""
}

// Version is that of the git command, "" when it cannot be asked.
func Version(ctx context.Context) string {
	r := &Repo{env: environment(nil)}
	out, err := r.read(ctx, "", "version")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(strings.TrimPrefix(out, "git version "))
}
