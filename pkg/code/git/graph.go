package git

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	gogit "github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
)

// The marks of a commit in a walk down from two commits.
const (
	ofFirst   = 1 << iota // it is the first commit or an ancestor of it
	ofSecond              // it is the second commit or an ancestor of it
	belowBase             // it is an ancestor of a common ancestor
)

// A link is what a walk needs of a commit, which never changes.
type link struct {
	parents []plumbing.Hash
	when    time.Time
}

// links caches commits: each step of a merge walks over the same ones.
type links struct {
	mu    sync.Mutex
	known map[plumbing.Hash]*link
}

const mostLinks = 50_000

// of reads a commit with the repository that open returns, unless it is known.
func (l *links) of(hash plumbing.Hash, open func() (*gogit.Repository, error)) (*link, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c := l.known[hash]; c != nil {
		return c, nil
	}
	repo, err := open()
	if err != nil {
		return nil, err
	}
	commit, err := repo.CommitObject(hash)
	if err != nil {
		return nil, err
	}
	if len(l.known) >= mostLinks || l.known == nil {
		l.known = map[plumbing.Hash]*link{}
	}
	c := &link{commit.ParentHashes, commit.Committer.When}
	l.known[hash] = c
	return c, nil
}

// A marked commit is one that a walk has reached.
type marked struct {
	*link
	marks         int
	waiting, base bool
}

// A fork has the newest ancestors of two commits, as git's own search for a merge base marks them.
type fork struct {
	commits map[plumbing.Hash]*marked
	waiting []*marked
}

// forkOf walks down from two commits, the newest commit first, until only ancestors of common ancestors are left. It returns
// errFar if git has to be asked: the walk is long, or the repository is shallow, so that a later fetch changes the answer.
func (r *objects) forkOf(ctx context.Context, first, second string) (*fork, error) {
	if !isFullHash(first) || !isFullHash(second) || r.shallow() {
		return nil, errFar
	}
	open := sync.OnceValues(r.goGit)
	f := &fork{commits: map[plumbing.Hash]*marked{}}
	reach := func(hash plumbing.Hash, marks int) error {
		c := f.commits[hash]
		if c == nil {
			if len(f.commits) > walkLimit || ctx.Err() != nil {
				return errFar
			}
			commit, err := r.links.of(hash, open)
			if err != nil {
				return err
			}
			c = &marked{link: commit}
			f.commits[hash] = c
		}
		if c.marks|marks == c.marks {
			return nil
		}
		if c.marks |= marks; !c.waiting {
			c.waiting, f.waiting = true, append(f.waiting, c)
		}
		return nil
	}
	if err := reach(plumbing.NewHash(first), ofFirst); err != nil {
		return nil, err
	}
	if err := reach(plumbing.NewHash(second), ofSecond); err != nil {
		return nil, err
	}
	for older := 0; len(f.waiting) > 0 && older <= olderLimit; {
		if !slices.ContainsFunc(f.waiting, func(c *marked) bool { return c.marks&belowBase == 0 }) {
			older++ // clocks differ between machines: some more are looked at
		}
		c := f.newest()
		marks := c.marks
		if marks&(ofFirst|ofSecond) == ofFirst|ofSecond {
			c.base = true
			marks |= belowBase
		}
		for _, parent := range c.parents {
			if err := reach(parent, marks); err != nil {
				return nil, err
			}
		}
	}
	return f, nil
}

// newest takes the newest of the waiting commits.
func (f *fork) newest() *marked {
	at := 0
	for i, c := range f.waiting {
		if c.when.After(f.waiting[at].when) {
			at = i
		}
	}
	c := f.waiting[at]
	c.waiting, f.waiting = false, slices.Delete(f.waiting, at, at+1)
	return c
}

// bases returns the common ancestors, without ancestors of another one.
func (f *fork) bases() (all []string) {
	for hash, c := range f.commits {
		if c.base && c.marks&belowBase == 0 {
			all = append(all, hash.String())
		}
	}
	return all
}

// ahead is the number of commits that only the second one has.
func (f *fork) ahead() (n int) {
	for _, c := range f.commits {
		if c.marks == ofSecond {
			n++
		}
	}
	return n
}

// shallow reports whether commits of the repository lack their parents.
func (r *runner) shallow() bool { return exists(filepath.Join(r.place.CommonDir, "shallow")) }

// bases returns the best common ancestors of two commits, or ErrNotFound. It finds a single near base without a process, and
// leaves several to git, which omits those that are ancestors of another.
func (r *objects) bases(ctx context.Context, a, b string) ([]string, error) {
	if err := plainRevs(a, b); err != nil {
		return nil, err
	}
	key := "bases " + a + " " + b
	if out, known := r.answers.get(key); known {
		return strings.Fields(out), nil
	}
	var all []string
	if f, err := r.forkOf(ctx, a, b); err == nil {
		all = f.bases()
	}
	if len(all) != 1 {
		out, err := r.read(ctx, r.place.Root, "merge-base", "--all", a, b)
		if exitCode(err) == 1 {
			err = ErrNotFound
		}
		if err != nil {
			return nil, about("a merge base of "+a+" and "+b, err)
		}
		all = strings.Fields(out)
	}
	if isFullHash(a) && isFullHash(b) && !r.shallow() {
		r.answers.put(key, strings.Join(all, " "))
	}
	return all, nil
}
