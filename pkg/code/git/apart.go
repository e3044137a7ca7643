package git

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	gogit "github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// mostCompared is how many entries of trees are compared without a process.
const mostCompared = 5_000

// A comparison lists the files that differ between two trees, without a process.
type comparison struct {
	repo    *gogit.Repository
	left    int // entries that may still be read
	changes []Change
}

// compare lists the files that differ between two commits or trees, in git's order. The error is errFar where git has to be asked: for
// large trees, and where files are new and others gone, which git may take for renamed ones.
func (r *objects) compare(ctx context.Context, base, commit string) ([]Change, error) {
	if !isFullHash(base) || !isFullHash(commit) {
		return nil, errFar
	}
	repo, err := r.goGit()
	if err != nil {
		return nil, err
	}
	c := &comparison{repo: repo, left: mostCompared}
	old, err := c.tree(base)
	if err != nil {
		return nil, err
	}
	now, err := c.tree(commit)
	if err != nil {
		return nil, err
	}
	if err := c.compare(ctx, "", old, now); err != nil {
		return nil, err
	}
	has := func(status string) bool {
		return slices.ContainsFunc(c.changes, func(one Change) bool { return one.Status == status })
	}
	if has("A") && has("D") {
		return nil, errFar
	}
	slices.SortFunc(c.changes, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	return c.changes, nil
}

// tree is the hash of the tree of a commit, or of a tree.
func (c *comparison) tree(name string) (plumbing.Hash, error) {
	hash := plumbing.NewHash(name)
	if hash.String() != name { // of another kind of hash
		return hash, errFar
	}
	if commit, err := c.repo.CommitObject(hash); err == nil {
		return commit.TreeHash, nil
	}
	_, err := c.repo.TreeObject(hash)
	return hash, err
}

// entries are those of a tree by their names; a zero hash has none.
func (c *comparison) entries(hash plumbing.Hash) (map[string]object.TreeEntry, error) {
	if hash.IsZero() {
		return nil, nil
	}
	tree, err := c.repo.TreeObject(hash)
	if err != nil {
		return nil, err
	}
	all := make(map[string]object.TreeEntry, len(tree.Entries))
	for _, e := range tree.Entries {
		switch e.Mode {
		case filemode.Dir, filemode.Regular, filemode.Executable, filemode.Symlink, filemode.Submodule:
			all[e.Name] = e
		default:
			return nil, errFar
		}
	}
	if c.left -= len(tree.Entries); c.left < 0 || len(all) != len(tree.Entries) {
		return nil, errFar
	}
	return all, nil
}

// compare adds the differences between two trees of folder, whose path ends with a slash.
func (c *comparison) compare(ctx context.Context, folder string, old, now plumbing.Hash) error {
	if old == now {
		return ctx.Err()
	}
	before, err := c.entries(old)
	if err != nil {
		return err
	}
	after, err := c.entries(now)
	if err != nil {
		return err
	}
	for name, b := range before {
		if err := c.entry(ctx, folder+name, b, after[name]); err != nil {
			return err
		}
	}
	for name, a := range after {
		if _, both := before[name]; !both {
			if err := c.entry(ctx, folder+name, object.TreeEntry{}, a); err != nil {
				return err
			}
		}
	}
	return nil
}

// entry adds the difference at the path file; a missing entry is the zero value.
func (c *comparison) entry(ctx context.Context, file string, before, after object.TreeEntry) error {
	if before.Mode == after.Mode && before.Hash == after.Hash {
		return nil
	}
	var folders [2]plumbing.Hash
	for i, e := range []*object.TreeEntry{&before, &after} {
		if e.Mode == filemode.Dir {
			folders[i], *e = e.Hash, object.TreeEntry{}
		}
	}
	mode := func(e object.TreeEntry) string { return fmt.Sprintf("%06o", uint32(e.Mode)) }
	switch none := filemode.Empty; {
	case before.Mode == none && after.Mode != none:
		c.changes = append(c.changes, Change{Status: "A", Path: file, Mode: mode(after)})
	case before.Mode != none && after.Mode == none:
		c.changes = append(c.changes, Change{Status: "D", Path: file, Mode: mode(before)})
	case before.Mode != none:
		c.changes = append(c.changes, Change{Status: "M", Path: file, Mode: mode(after)})
	}
	return c.compare(ctx, file+"/", folders[0], folders[1])
}

// apart reports whether two commits surely merge without a conflict: they have one merge base, and changed other files since, of
// which git takes none for renamed.
func (r *objects) apart(ctx context.Context, a, b string) bool {
	bases, err := r.bases(ctx, a, b)
	if err != nil || len(bases) != 1 {
		return false
	}
	ofA, err := r.compare(ctx, bases[0], a)
	if err != nil {
		return false
	}
	ofB, err := r.compare(ctx, bases[0], b)
	if err != nil {
		return false
	}
	changed := map[string]bool{} // with the folders that the files are in
	for _, c := range ofA {
		for at := c.Path; at != "."; at = path.Dir(at) {
			changed[at] = changed[at] || at == c.Path
		}
	}
	return !slices.ContainsFunc(ofB, func(c Change) bool {
		if _, met := changed[c.Path]; met { // the same file, or a folder in the place of it
			return true
		}
		for at := path.Dir(c.Path); at != "."; at = path.Dir(at) {
			if changed[at] { // a file in the place of a folder
				return true
			}
		}
		return false
	})
}
