package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"liza/pkg/base/safefile"
)

// ownerFile is in a folder of worktrees beside a project, and names the project's main checkout.
const ownerFile = ".project"

// WorktreesOf is the folder of the worktrees of a project: .worktrees in its main checkout, or the folder that a link there leads
// to (worktree.dir). A link that came with a copy of the project leads to the worktrees of another one, and does not count.
func WorktreesOf(root string) string {
	at := filepath.Join(root, worktreesDir)
	if to, err := filepath.EvalSymlinks(at); err == nil && to != at && owns(root, to) {
		return to
	}
	return at
}

// owns reports whether the folder is that of this project. One whose project was moved to here goes with it.
func owns(root, folder string) bool {
	owner, err := safefile.ReadWithin(folder, ownerFile, 4096)
	if err != nil {
		return false
	}
	if string(owner) == root {
		return true
	}
	_, gone := os.Lstat(string(owner))
	return errors.Is(gone, fs.ErrNotExist)
}

func isLink(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

// WorktreesFolder is WorktreesOf this repository.
func (r *runner) WorktreesFolder() string { return WorktreesOf(r.place.Root) }

// PlaceWorktrees lets the worktrees lie in a folder, to which .worktrees becomes a link. Where they lie already they stay, and a folder that has
// something else in it is refused.
func (r *Repo) PlaceWorktrees(ctx context.Context, folder string) error {
	at, root := filepath.Join(r.place.Root, worktreesDir), r.place.Root
	if entries, err := os.ReadDir(at); folder == at || WorktreesOf(root) != at || err == nil && len(entries) > 0 && !isLink(at) {
		return nil
	}
	fail := func(err error) error {
		return fmt.Errorf("cannot keep worktrees in %s (worktree.dir): %w", folder, err)
	}
	if safefile.Within(folder, root) {
		return fail(errors.New("it lies in the project, where tools find the project's files above a worktree"))
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fail(err)
	}
	real, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return fail(err)
	}
	if entries, err := os.ReadDir(real); err != nil || len(entries) > 0 && !owns(root, real) {
		return fail(errors.Join(err, errors.New("it has something else in it")))
	}
	if err := r.AddExclude(ctx, "/"+worktreesDir); err != nil { // to git a link is not a folder
		return fail(err)
	}
	if err := safefile.Replace(filepath.Join(real, ownerFile), []byte(root), 0o644); err != nil {
		return fail(err)
	}
	if err := os.Remove(at); err != nil && !errors.Is(err, fs.ErrNotExist) { // an empty folder, or the link of a copied project
		return fail(err)
	}
	if err := os.Symlink(real, at); err != nil && !errors.Is(err, fs.ErrExist) {
		return fail(err)
	}
	return nil
}
