package wall

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"liza/pkg/base/safefile"
	"liza/pkg/code/project"
)

// The caches of builds. Who can write one decides what is built from it, and go takes the results of tests from it unseen: nothing verifies
// that. So the checks of a task have one of their own, which begins as a copy of that of merged work; only checks of what a reviewer has approved
// write the latter. What agents build with is one for them all, and no check reads it.
const (
	mergedCache = ".merged" // no task has such a name
	mostCopied  = 512 << 20 // bytes of a cache that are copied for a task, where files cannot share blocks; with a larger one it begins empty
)

// cacheInside is where a run at closed finds its cache, whichever it is: compilers take their results for those of other sources when the
// paths of packages differ.
const cacheInside = "/var/cache/liza"

// checksCache is the cache of the checks in a folder.
func checksCache(p *project.Project, dir string) string {
	name := mergedCache
	if filepath.Dir(dir) == p.Worktrees() {
		task := strings.TrimPrefix(filepath.Base(dir), ".review-")
		if _, of, is := strings.Cut(task, "@"); is { // a place for its work, as a person asked for
			task = of
		}
		if !strings.HasPrefix(task, ".") {
			name = task
		}
	}
	return filepath.Join(p.Cache(), "checks", name)
}

// BeginCache makes the cache of the checks in a folder as a copy of that of merged work, and reports whether it has what that one has.
func BeginCache(p *project.Project, dir string) bool {
	cache := checksCache(p, dir)
	beginCache(p, cache)
	_, none := os.Lstat(filepath.Join(filepath.Dir(cache), mergedCache))
	_, err := os.Lstat(cache)
	return err == nil || none != nil
}

// beginCache makes the cache of a task, and removes those of tasks that have no worktree any more.
func beginCache(p *project.Project, cache string) {
	all, _ := os.ReadDir(filepath.Dir(cache))
	for _, e := range all {
		at := filepath.Join(filepath.Dir(cache), e.Name())
		if _, err := os.Lstat(p.Worktree(e.Name())); e.Name() != mergedCache && at != cache && os.IsNotExist(err) {
			_ = safefile.RemoveTree(at) // what is left is removed with the next one
		}
	}
	if filepath.Base(cache) != mergedCache {
		asMerged(p, cache)
	}
}

// asMerged makes a cache that is not there yet as a copy of that of merged work, in which a check may be at work.
func asMerged(p *project.Project, cache string) {
	if _, err := os.Lstat(cache); err == nil {
		return
	}
	if made, done, err := scratch(p.Tmp()); err == nil {
		defer done()
		if _, err := safefile.CloneTree(context.Background(), filepath.Join(p.Cache(), "checks"), made, mergedCache, safefile.Cloning{MostCopied: mostCopied}); err == nil {
			_ = os.Rename(filepath.Join(made, mergedCache), cache)
		}
	}
}

// scratch makes a folder that is removed by done, or with what killed runs have left.
func scratch(tmp string) (dir string, done func(), err error) {
	err = guarded(tmp, func() error {
		if dir, err = os.MkdirTemp(tmp, privatePrefix+"cache-"); err != nil {
			return err
		}
		held, err := hold(dir)
		done = func() { _ = errors.Join(safefile.RemoveTree(dir), held.Close()) }
		return err
	})
	return dir, done, err
}
