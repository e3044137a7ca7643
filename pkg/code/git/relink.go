package git

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"liza/pkg/base/safefile"
)

// Relink repairs the absolute links between this repository and the worktree of a task after the project was moved or copied.
// The links of a copy lead to the original, which stays as it is. It reports whether it changed a link.
func (r *Repo) Relink(ctx context.Context, id string) (bool, error) {
	if err := checkID(id); err != nil {
		return false, err
	}
	path := r.WorktreePath(id)
	if r.strayAdmin(path) == "" {
		return false, nil
	}
	s, err := r.lock(ctx)
	if err != nil {
		return false, err
	}
	defer s.unlock()
	admin := r.strayAdmin(path)
	if admin == "" {
		return false, nil
	}
	gitFile := filepath.Join(path, ".git")
	err = replaceLink(filepath.Join(admin, "gitdir"), gitFile)
	if err == nil {
		err = replaceLink(gitFile, "gitdir: "+admin)
	}
	if err != nil {
		return false, fmt.Errorf("cannot take over the worktree of %s, which was moved or copied: %w", id, err)
	}
	return true, nil
}

// regain lets the worktree's .git name this folder again where a run has put something else in its place, which at closed it
// cannot. A folder that is there stays, under another name.
func (f *Folder) regain(ctx context.Context) error {
	path := f.repo.WorktreePath(f.record.Task)
	stolen := func() bool {
		info, err := os.Lstat(path)
		return f.record.Task != "" && err == nil && info.IsDir() && f.repo.adminDir(path) == "" && f.repo.namedBy(path) != ""
	}
	if !stolen() {
		return nil
	}
	s, err := f.repo.lock(ctx)
	if err != nil {
		return err
	}
	defer s.unlock()
	if !stolen() {
		return nil
	}
	link, aside := filepath.Join(path, ".git"), filepath.Join(path, "git-of-a-run")
	if info, err := os.Lstat(link); err == nil && info.IsDir() {
		for n := 2; exists(aside); n++ {
			aside = filepath.Join(path, fmt.Sprintf("git-of-a-run-%d", n))
		}
		if err := os.Rename(link, aside); err != nil {
			return err
		}
	}
	return replaceLink(link, "gitdir: "+f.Git)
}

// namedBy is git's folder of the worktree that is registered at path, whatever is there now, or "".
func (r *runner) namedBy(path string) string {
	worktrees := filepath.Join(r.place.CommonDir, "worktrees")
	entries, _ := os.ReadDir(worktrees)
	for _, e := range entries {
		admin := filepath.Join(worktrees, e.Name())
		back, err := safefile.Read(filepath.Join(admin, "gitdir"))
		if err == nil && isGitDir(admin) && realPath(absolute(admin, filepath.Dir(strings.TrimRight(string(back), "\n")))) == realPath(path) {
			return admin
		}
	}
	return ""
}

// strayAdmin is the folder that git keeps here for the worktree of a task at path, when the
// two do not point at each other: the project was moved or copied. "" when they do, and when
// they do not belong together.
func (r *runner) strayAdmin(path string) string {
	if filepath.Dir(path) != r.WorktreesFolder() || r.adminDir(path) != "" {
		return ""
	}
	gitFile := filepath.Join(path, ".git")
	if info, err := os.Lstat(gitFile); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	was, err := readGitFile(gitFile)
	if err != nil {
		return ""
	}
	name := filepath.Base(was)
	if isFolder(was) { // the run had a git folder of its own
		name = filepath.Base(path)
	}
	admin := filepath.Join(r.place.CommonDir, "worktrees", name)
	head, err := safefile.Read(filepath.Join(admin, "HEAD"))
	if err != nil || strings.TrimSpace(string(head)) != "ref: "+branches+TaskBranch(filepath.Base(path)) || !isGitDir(admin) {
		return ""
	}
	back, err := safefile.Read(filepath.Join(admin, "gitdir"))
	if err != nil {
		return ""
	}
	recorded := absolute(admin, strings.TrimRight(string(back), "\n"))
	if was := filepath.Dir(recorded); was != path && filepath.Join(filepath.Base(filepath.Dir(was)), filepath.Base(was)) != filepath.Join(worktreesDir, filepath.Base(path)) {
		return "" // it was the worktree of something else
	}
	if there, err := readGitFile(recorded); err == nil && (realPath(there) == realPath(admin) || r.hasFolder(there)) {
		return "" // it is still in use where it was
	}
	return admin
}
