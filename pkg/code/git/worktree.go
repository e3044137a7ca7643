package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"liza/pkg/base/safefile"
)

// A Worktree is one line of git's own list, the main checkout included.
type Worktree struct {
	Path       string
	Head       string // "" if its branch has no commit
	Branch     string // "" if detached
	Main       bool
	Locked     bool
	LockReason string
	Prunable   bool // its folder is missing
}

// Worktrees returns the worktrees that git knows, with their commits.
func (r *references) Worktrees(ctx context.Context) ([]Worktree, error) {
	all, err := r.list(ctx)
	if err != nil {
		return nil, err
	}
	for i := range all {
		if one := &all[i]; one.Branch != "" {
			if one.Head, err = r.tip(ctx, one.Branch); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// list reads the data of `git worktree list` without a process: every claim and every merge needs it several times. It leaves
// Head empty for a checkout on a branch.
func (r *references) list(ctx context.Context) ([]Worktree, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	main := Worktree{Path: r.place.Root, Main: true}
	if !main.readHead(r.place.CommonDir) {
		return r.listByCommand(ctx)
	}
	all := []Worktree{main}
	entries, err := os.ReadDir(filepath.Join(r.place.CommonDir, "worktrees"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("cannot list the worktrees: %w", err)
	}
	for _, e := range entries {
		admin := filepath.Join(r.place.CommonDir, "worktrees", e.Name())
		link, err := safefile.Read(filepath.Join(admin, "gitdir"))
		target := strings.TrimRight(string(link), "\r\n")
		if err != nil || filepath.Base(target) != ".git" {
			continue // it is being made or removed just now, or a killed git or a loss of power left it: the beginning of its path may be any folder
		}
		target = absolute(admin, target)
		one := Worktree{Path: filepath.Dir(target), Prunable: !exists(target)}
		if !one.readHead(admin) {
			return r.listByCommand(ctx)
		}
		if reason, err := safefile.Read(filepath.Join(admin, "locked")); err == nil {
			one.Locked, one.LockReason = true, strings.TrimSpace(string(reason))
			one.Prunable = false
		}
		all = append(all, one)
	}
	return all, nil
}

// readHead reads the HEAD of a checkout; false when only git can (refs that are kept in another way).
func (w *Worktree) readHead(gitDir string) bool {
	data, err := safefile.Read(filepath.Join(gitDir, "HEAD"))
	text := strings.TrimSpace(string(data))
	if err != nil || text == "" {
		return errors.Is(err, fs.ErrNotExist) || err == nil
	}
	if ref, symbolic := strings.CutPrefix(text, "ref: "); symbolic {
		w.Branch = strings.TrimPrefix(strings.TrimSpace(ref), branches)
		return w.Branch != ".invalid"
	}
	if strings.Trim(text, "0") != "" {
		w.Head = text
	}
	return isFullHash(text)
}

// listByCommand asks git.
func (r *references) listByCommand(ctx context.Context) ([]Worktree, error) {
	out, err := r.read(ctx, r.place.Root, "worktree", "list", "--porcelain", "-z")
	if err != nil {
		return nil, fmt.Errorf("cannot list the worktrees: %w", err)
	}
	var all []Worktree
	for _, line := range strings.Split(out, "\x00") {
		key, value, _ := strings.Cut(line, " ")
		if key == "worktree" {
			all = append(all, Worktree{Path: value, Main: len(all) == 0})
			continue
		}
		if len(all) == 0 {
			continue
		}
		one := &all[len(all)-1]
		switch key {
		case "HEAD":
			if strings.Trim(value, "0") != "" {
				one.Head = value
			}
		case "branch":
			one.Branch = strings.TrimPrefix(value, branches)
		case "locked":
			one.Locked, one.LockReason = true, value
		case "prunable":
			one.Prunable = true
		}
	}
	return all, nil
}

// CheckedOutAt returns the checkout, the main one included, of a branch. Worktrees with a missing folder do not count.
func (r *references) CheckedOutAt(ctx context.Context, branch string) (path string, found bool, err error) {
	all, err := r.list(ctx)
	if err != nil {
		return "", false, err
	}
	for _, one := range all {
		if one.Branch == branch && !one.Prunable {
			return one.Path, true, nil
		}
	}
	return "", false, nil
}

// registered is git's entry for the worktree at path, nil when it has none.
func (r *references) registered(ctx context.Context, path string) (*Worktree, error) {
	all, err := r.list(ctx)
	if err != nil {
		return nil, err
	}
	real := realPath(path)
	for _, one := range all {
		if !one.Main && (one.Path == path || one.Path == real) {
			return &one, nil
		}
	}
	return nil, nil
}

// linkAt reports whether a symbolic link is at path, which is refused everywhere (specs/protocol.md#14, B28).
func linkAt(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot use %s: %v", path, err)
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		return fmt.Errorf("cannot use %s: it is a symbolic link; remove it", path)
	}
	return nil
}

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
func (r *runner) adminDir(path string) string {
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
func (r *runner) adminOf(gitFile string) string {
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
func (r *runner) pairs(target, gitFile string) bool {
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

// TaskBranch returns the name of the branch of id.
func TaskBranch(id string) string { return "task/" + id }

const recordFile = "record.json"

var folderName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9._-]{0,64}@[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)
})

func folderOf(task, agent string) string { return task + "@" + agent }

// hasFolder reports whether a path is that of a git folder of a run in this repository.
func (r *runner) hasFolder(path string) bool {
	return isFolder(path) && filepath.Dir(filepath.Dir(path)) == filepath.Join(r.place.CommonDir, foldersDir)
}

func sameFile(a, b string) bool {
	infoA, errA := os.Lstat(a)
	infoB, errB := os.Lstat(b)
	return errors.Join(errA, errB) == nil && os.SameFile(infoA, infoB)
}

var idPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`) })

// worktreeFacts are the facts for the guards of submit and approve (specs/protocol.md#4.2, G33 to G35, G55, G56).
type worktreeFacts struct {
	Exists bool   // path is a linked worktree of this repository; if not, the rest is empty
	Branch string // "" if detached
	Head   string // "" if the branch has no commit
	// Dirty is the output of git status, untracked files included, one text per path. A submodule is named as such with its
	// changes. A path with control characters is quoted.
	Dirty []string
}

// Inspect returns the facts of a worktree, named by its absolute path or relative to the main checkout.
func (r *Repo) Inspect(ctx context.Context, path string) (worktreeFacts, error) {
	facts, err := r.At(ctx, path)
	if err != nil || !facts.Exists {
		return facts, err
	}
	path = absolute(r.place.Root, path)
	admin := r.adminAt(path)
	if tree, err := r.treeOf(ctx, facts.Head); err == nil && facts.Head != "" && r.asHead(path, admin, tree) {
		return facts, nil
	}
	t, err := r.help(ctx, path, admin, wish{head: facts.Head, status: true})
	if err != nil {
		return worktreeFacts{}, fmt.Errorf("cannot look at the worktree %s: %w", filepath.Base(path), err)
	}
	defer t.remove()
	facts.Dirty = t.dirty
	return facts, nil
}

// At is Inspect without Dirty: it reads nothing in the worktree.
func (r *references) At(ctx context.Context, path string) (facts worktreeFacts, err error) {
	path = absolute(r.place.Root, path)
	admin := r.adminAt(path)
	if facts.Exists = admin != ""; facts.Exists {
		if facts.Branch, facts.Head, err = r.headOf(ctx, admin); err != nil {
			return worktreeFacts{}, fmt.Errorf("cannot look at the worktree %s: %w", filepath.Base(path), err)
		}
	}
	return facts, nil
}

// adminAt returns git's folder of the worktree at path, also after the project was moved with it, as Relink would set it.
func (r *runner) adminAt(path string) string { return cmp.Or(r.adminDir(path), r.strayAdmin(path)) }

// WorktreeOf returns the path of a task's worktree, or "" without one.
func (r *runner) WorktreeOf(id string) string {
	path := r.WorktreePath(id)
	if r.adminAt(path) == "" {
		return ""
	}
	return path
}

// headOf reads the branch and the commit of a worktree from git's folder of it.
func (r *references) headOf(ctx context.Context, admin string) (branch, head string, err error) {
	var w Worktree
	if !w.readHead(admin) {
		return "", "", fmt.Errorf("cannot read HEAD of %s", filepath.Base(admin))
	}
	if w.Branch != "" {
		w.Head, err = r.tip(ctx, w.Branch)
	}
	return w.Branch, w.Head, err
}

// parseStatus reads git's format "porcelain v2". Renames are switched off, so every entry is one field.
func parseStatus(out string) (worktreeFacts, error) {
	facts := worktreeFacts{Exists: true}
	for _, line := range fields(out) {
		kind, rest, _ := strings.Cut(line, " ")
		switch kind {
		case "#":
			facts.header(rest)
		case "?":
			facts.Dirty = append(facts.Dirty, showPath(rest))
		case "1", "u":
			count := 7 // fields before the path: XY sub mH mI mW hH hI
			if kind == "u" {
				count = 9 // XY sub m1 m2 m3 mW h1 h2 h3
			}
			parts := strings.SplitN(rest, " ", count+1)
			if len(parts) <= count {
				return worktreeFacts{}, fmt.Errorf("cannot read git's status: %q", line)
			}
			facts.Dirty = append(facts.Dirty, showPath(parts[count])+submoduleText(parts[1]))
		default:
			return worktreeFacts{}, fmt.Errorf("cannot read git's status: %q", line)
		}
	}
	return facts, nil
}

func (f *worktreeFacts) header(text string) {
	key, value, _ := strings.Cut(text, " ")
	switch {
	case key == "branch.oid" && value != "(initial)":
		f.Head = value
	case key == "branch.head" && value != "(detached)":
		f.Branch = value
	}
}

// submoduleText explains the field "S<c>.." of a submodule; other files have "N...".
func submoduleText(field string) string {
	if !strings.HasPrefix(field, "S") {
		return ""
	}
	if strings.Contains(field[1:], "C") {
		return " (submodule: another commit)"
	}
	return " (submodule)"
}

// LivePatches returns the difference between a commit, by its full hash, and the present worktree of a task, file by file,
// while a run may be at work there. It includes untracked files that are not ignored. It reads at most most bytes of git's
// output; cut reports whether there is more. Without such a worktree the error is ErrNotFound.
func (r *Repo) LivePatches(ctx context.Context, task, base string, most int) (files []FilePatch, cut bool, err error) {
	path := r.WorktreePath(task)
	admin := r.adminDir(path)
	if admin == "" || !isFullHash(base) {
		return nil, false, fmt.Errorf("cannot look into the worktree of %s: %w", task, ErrNotFound)
	}
	w := wish{head: base, patches: base, most: most}
	if f := r.current(task); f != nil {
		w.run, w.index = f.Git, filepath.Join(f.Git, "index")
	}
	t, err := r.help(ctx, path, admin, w)
	if err != nil {
		return nil, false, fmt.Errorf("cannot look into the worktree of %s: %w", task, err)
	}
	defer t.remove()
	cut = len(t.patches) >= most
	files, err = parsePatches(t.patches, cut)
	return files, cut, err
}
