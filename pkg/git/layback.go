package git

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Programs of a run may still be at work in a worktree that is put back. Git opens files by their whole paths and remembers
// which of their folders are folders: what is made a link meanwhile leads it to any place that the person can write. So git
// writes to a folder that no run can see, and from there files are laid into the worktree, in which nothing leads out.

// resetFiles brings branch, index and tracked files of a worktree to a commit, as git reset --hard does.
func (s *session) resetFiles(ctx context.Context, dir, commit string) error {
	gone, err := s.read(ctx, dir, "diff-index", "-z", "--cached", "--name-only", "--diff-filter=A", "--no-renames", "--ignore-submodules=all", commit)
	if err != nil {
		return err
	}
	if _, err := s.change(ctx, call{dir: dir, args: []string{"reset", "--quiet", "--mixed", commit}}); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := takeAway(root, fields(gone)); err != nil {
		return err
	}
	names, err := s.read(ctx, dir, "diff-files", "-z", "--name-only", "--ignore-submodules=all")
	if err != nil || names == "" {
		return err
	}
	private, err := os.MkdirTemp(filepath.Join(s.place.CommonDir, "liza"), "back-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(private)
	within, done := s.inTime(ctx)
	defer done()
	if _, err := s.change(within, call{dir: dir, args: []string{"checkout-index", "--force", "-z", "--stdin", "--prefix=" + private + "/"}, stdin: names}); err != nil {
		return err
	}
	from, err := os.OpenRoot(private)
	if err != nil {
		return err
	}
	defer from.Close()
	for _, name := range fields(names) {
		if _, err := lay(root, from, name, math.MaxInt64-1); err != nil {
			return err
		}
	}
	_, err = s.change(ctx, call{dir: dir, args: []string{"update-index", "-q", "--refresh"}})
	if exitCode(err) == 1 { // something differs again
		err = nil
	}
	return err
}

// lay copies a file of no more than most bytes, or a link, in the place of whatever is there. Neither of both folders is left by it.
func lay(to, from *os.Root, name string, most int64) (size int64, err error) {
	info, err := from.Lstat(name)
	if err != nil {
		return 0, err
	}
	for at, rest := "", path.Dir(name); rest != "." && rest != ""; {
		first, more, _ := strings.Cut(rest, "/")
		at, rest = path.Join(at, first), more
		switch there, err := to.Lstat(at); {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return 0, err
		case there.IsDir():
			continue
		default:
			if err := to.Remove(at); err != nil {
				return 0, err
			}
		}
		if err := to.Mkdir(at, 0o777); err != nil {
			return 0, err
		}
	}
	if err := to.RemoveAll(name); err != nil {
		return 0, err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		target, err := from.Readlink(name)
		return 0, errors.Join(err, to.Symlink(target, name))
	}
	in, err := private{from}.open(name)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	out, err := to.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, info.Mode().Perm())
	if err != nil {
		return 0, err
	}
	size, err = io.Copy(out, io.LimitReader(in, most+1))
	if size > most {
		err = errTooMuch
	}
	return size, errors.Join(err, out.Close())
}

// cleanFiles removes files that are neither tracked nor ignored, with folders that are empty then. Repositories among them
// are removed only when asked for.
func (s *session) cleanFiles(ctx context.Context, dir string, repositories bool) error {
	names, err := s.read(ctx, dir, "ls-files", "-z", "--others", "--exclude-standard")
	if err != nil || names == "" {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	return takeAway(root, slices.DeleteFunc(fields(names), func(name string) bool { return strings.HasSuffix(name, "/") && !repositories }))
}

// takeAway removes what has these names, and folders that are empty then.
func takeAway(root *os.Root, names []string) error {
	for _, name := range names {
		name = strings.TrimSuffix(name, "/")
		if !inFolders(root, name) {
			continue // a file or a link took the place of a folder that it was in
		}
		if err := root.RemoveAll(name); err != nil {
			return err
		}
		for above := path.Dir(name); above != "." && root.Remove(above) == nil; {
			above = path.Dir(above)
		}
	}
	return nil
}

func inFolders(root *os.Root, name string) bool {
	for at := path.Dir(name); at != "."; at = path.Dir(at) {
		if info, err := root.Lstat(at); err != nil || !info.IsDir() {
			return false
		}
	}
	return true
}
