package git

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"liza/pkg/safefile"
)

// realPath resolves the symbolic links above a folder that need not exist.
func realPath(path string) string {
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return path
	}
	return filepath.Join(dir, filepath.Base(path))
}

// adminDir is the folder that git keeps for the linked worktree at path (<common dir>/worktrees/NAME), or "" when path
// is not a linked worktree of this repository. Both must name each other: a copied folder is not a worktree.
func (r *Repo) adminDir(path string) string {
	info, err := os.Lstat(path)
	if err != nil || !info.IsDir() {
		return ""
	}
	gitFile := filepath.Join(path, ".git")
	if info, err := os.Lstat(gitFile); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	target, err := readGitFile(gitFile)
	if err == nil && r.hasFolder(target) {
		return r.adminOf(gitFile)
	}
	if err == nil {
		target, err = filepath.EvalSymlinks(target)
	}
	if err != nil || filepath.Dir(target) != filepath.Join(r.place.CommonDir, "worktrees") || !isGitDir(target) || !r.pairs(target, gitFile) {
		return ""
	}
	return target
}

// adminOf is the folder that git keeps for the worktree with this .git, whatever that names, or "".
func (r *Repo) adminOf(gitFile string) string {
	worktrees := filepath.Join(r.place.CommonDir, "worktrees")
	usual := filepath.Join(worktrees, filepath.Base(filepath.Dir(gitFile)))
	if r.pairs(usual, gitFile) {
		return usual
	}
	entries, _ := os.ReadDir(worktrees)
	for _, e := range entries {
		if admin := filepath.Join(worktrees, e.Name()); r.pairs(admin, gitFile) {
			return admin
		}
	}
	return ""
}

// pairs reports whether git's folder of a worktree names this .git and this repository.
func (r *Repo) pairs(target, gitFile string) bool {
	back, err := safefile.Read(filepath.Join(target, "gitdir"))
	if err != nil || !sameFile(absolute(target, strings.TrimRight(string(back), "\n")), gitFile) {
		return false
	}
	// git finds the refs of a worktree by this file alone, whatever it was told
	common, err := safefile.Read(filepath.Join(target, "commondir"))
	return err == nil && sameFile(absolute(target, strings.TrimRight(string(common), "\n")), r.place.CommonDir)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// checkID refuses an id that cannot be a folder and a part of a branch name (specs/protocol.md#0).
func checkID(id string) error {
	if !idPattern().MatchString(id) || !ValidBranchName(TaskBranch(id)) {
		return fmt.Errorf("%q cannot name a worktree and a branch", id)
	}
	return nil
}

// TaskBranch is the branch that belongs to id.
func TaskBranch(id string) string { return "task/" + id }

const recordFile = "record.json"

var folderName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9._-]{0,64}@[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)
})

func folderOf(task, agent string) string { return task + "@" + agent }

// hasFolder reports whether a path is that of a git folder of a run in this repository.
func (r *Repo) hasFolder(path string) bool {
	return isFolder(path) && filepath.Dir(filepath.Dir(path)) == filepath.Join(r.place.CommonDir, foldersDir)
}

func sameFile(a, b string) bool {
	infoA, errA := os.Lstat(a)
	infoB, errB := os.Lstat(b)
	return errors.Join(errA, errB) == nil && os.SameFile(infoA, infoB)
}

var idPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`) })
