package wall

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"liza/pkg/safefile"
	"liza/pkg/sandbox"
)

// keep gives the run the folders that the project keeps for all runs of a program, such as the database of its
// conversations: in the person's home folder they would be one for all projects.
func (w *Wall) keep() error {
	for _, rel := range w.access.HomeKeep {
		kept, link := filepath.Join(w.maker.Project.Cache(), "home", rel), filepath.Join(w.Spec.Home, rel)
		if err := errors.Join(os.MkdirAll(kept, 0o700), os.MkdirAll(filepath.Dir(link), 0o700)); err != nil {
			return err
		}
		if err := os.Symlink(kept, link); err != nil {
			return err
		}
		w.Spec.Write = append(w.Spec.Write, kept)
	}
	return nil
}

// maxCopy bounds what is copied for one run.
const maxCopy = 64 << 20

// copyTree copies files and folders; links and what is missing are left out.
func copyTree(from, to string) error {
	left := int64(maxCopy)
	err := filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		switch {
		case e.IsDir():
			return os.MkdirAll(target, 0o700)
		case !e.Type().IsRegular():
			return nil
		}
		n, err := copyFile(path, target, left)
		if left -= n; err == nil && left <= 0 {
			return fmt.Errorf("%s is larger than %d MiB", from, maxCopy>>20)
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func copyFile(from, to string, most int64) (int64, error) {
	in, err := os.Open(from)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return 0, err
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, err
	}
	n, err := io.Copy(out, io.LimitReader(in, most))
	return n, errors.Join(err, out.Close())
}

// gitToRead is what git needs of a repository to look at the worktree dir: history and branches, not the
// configuration, which may have addresses with passwords, and nothing of Liza's.
func gitToRead(common, dir string, level sandbox.Level) []string {
	var paths []string
	if level == sandbox.Partial { // there it cannot be hidden as if it were not there, and git stops at what it may not read
		paths = append(paths, filepath.Join(common, "config"))
	}
	for _, name := range []string{"HEAD", "refs", "packed-refs", "objects", "info", "shallow"} {
		paths = append(paths, filepath.Join(common, name))
	}
	text, err := safefile.Read(filepath.Join(dir, ".git"))
	admin, isLink := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir: ")
	if err == nil && isLink && filepath.IsAbs(admin) && strings.HasPrefix(admin, filepath.Join(common, "worktrees")+"/") {
		paths = append(paths, admin)
	}
	return paths
}
