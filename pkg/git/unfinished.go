package git

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"liza/pkg/safefile"
)

// unmade tells of a worktree whose git was killed before it had checked out everything: its HEAD is all zeros, or it
// has no index yet, which git writes last. Nobody can have worked there; files that are there may be cut off.
func unmade(admin string) bool {
	head, err := safefile.Read(filepath.Join(admin, "HEAD"))
	text := strings.TrimSpace(string(head))
	if err == nil && text != "" && strings.Trim(text, "0") == "" {
		return true
	}
	_, err = os.Lstat(filepath.Join(admin, "index"))
	return errors.Is(err, fs.ErrNotExist)
}

// dropUnfinished removes git's entries of worktrees whose git was killed while it wrote them: there is no commondir or an
// empty one, which makes every list of worktrees fail, and no index, so nothing was checked out. An entry stays while a git
// process of this repository lives: it may be writing just now.
func (s *session) dropUnfinished() {
	worktrees := filepath.Join(s.place.CommonDir, "worktrees")
	entries, err := os.ReadDir(worktrees)
	if err != nil {
		return
	}
	for _, e := range entries {
		admin := filepath.Join(worktrees, e.Name())
		common, err := os.Stat(filepath.Join(admin, "commondir"))
		if err == nil && common.Size() > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) || exists(filepath.Join(admin, "index")) {
			continue
		}
		info, err := os.Lstat(admin)
		if err != nil || !info.IsDir() {
			continue
		}
		if ownerGone(info, []string{s.place.Root, s.place.CommonDir, filepath.Join(s.place.Root, worktreesDir)}) == nil {
			_ = os.RemoveAll(admin) // what cannot be removed is told by git
		}
	}
}

// emptyShell removes a folder that holds nothing, but perhaps the link to this repository, and reports whether it did.
func (s *session) emptyShell(path string) bool {
	link := filepath.Join(path, ".git")
	list, err := os.ReadDir(path)
	if err != nil || len(list) > 1 {
		return false
	}
	if len(list) == 1 {
		info, err := os.Lstat(link)
		if err != nil || !info.Mode().IsRegular() || info.Size() > 0 && !s.ours(link) || os.Remove(link) != nil {
			return false
		}
	}
	return os.Remove(path) == nil
}

// ours tells of a file .git that it names a linked worktree of this repository.
func (s *session) ours(link string) bool {
	target, err := readGitFile(link)
	return err == nil && filepath.Dir(target) == filepath.Join(s.place.CommonDir, "worktrees")
}

// removedMark begins the names of folders that are being removed.
const removedMark = ".removed-"

// removeFolder removes a folder that holds nothing, in a way that can be killed at any moment: the folder has another
// name before its first file goes, so that what is left is never taken for a worktree, or for somebody's folder.
func (s *session) removeFolder(path string, forget func() error) error {
	aside := filepath.Join(filepath.Dir(path), removedMark+filepath.Base(path))
	if err := safefile.RemoveTree(aside); err != nil {
		return err
	}
	err := os.Rename(path, aside)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := forget(); err != nil {
		_ = os.Rename(aside, path)
		return err
	}
	return safefile.RemoveTree(aside)
}
