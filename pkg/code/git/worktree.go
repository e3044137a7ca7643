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
	"slices"
	"strings"
	"sync"

	"liza/pkg/base/safefile"
)

// A Worktree is one line of git's own list, the main checkout included.
type Worktree struct {
	Path       string
	Head       string // "" when its branch has no commit
	Branch     string // "" when detached
	Main       bool
	Locked     bool
	LockReason string
	Prunable   bool // its folder is gone
}

// Worktrees lists the worktrees that git knows, with their commits.
func (r *Repo) Worktrees(ctx context.Context) ([]Worktree, error) {
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

// list reads what `git worktree list` reads, without a process: every claim and every merge looks at it several times.
// Of a checkout that is on a branch Head is left empty.
func (r *Repo) list(ctx context.Context) ([]Worktree, error) {
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
		if err != nil || target == "" {
			continue // it is being made or removed just now, or a killed git left it
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
func (r *Repo) listByCommand(ctx context.Context) ([]Worktree, error) {
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

// CheckedOutAt tells in which checkout, the main one included, a branch is checked out. Worktrees whose folder is gone
// do not count.
func (r *Repo) CheckedOutAt(ctx context.Context, branch string) (path string, found bool, err error) {
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
func (r *Repo) registered(ctx context.Context, path string) (*Worktree, error) {
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

// WorktreeFacts are what the guards of submit and approve look at (specs/protocol.md#4.2, G33 to G35, G55, G56).
type WorktreeFacts struct {
	Exists bool   // path is a linked worktree of this repository; the rest is empty otherwise
	Branch string // "" when detached
	Head   string // "" when the branch has no commit
	// Dirty lists what git status reports, untracked files included, one text per path. A submodule is named as such
	// with what changed in it. A path with control characters is quoted.
	Dirty []string
}

// Inspect looks at a worktree, named by its absolute path or relative to the main checkout.
func (r *Repo) Inspect(ctx context.Context, path string) (WorktreeFacts, error) {
	path = absolute(r.place.Root, path)
	args := []string{"status"}
	if r.adminDir(path) == "" {
		admin := r.strayAdmin(path)
		if admin == "" {
			return WorktreeFacts{}, nil
		}
		args = []string{"--git-dir=" + admin, "--work-tree=" + path, "status"} // what Relink would make of it
	}
	out, err := r.read(ctx, path, append(args, "--porcelain=v2", "--branch", "-z", "--untracked-files=all",
		"--ignore-submodules=dirty", "--no-renames")...)
	facts, wrong := parseStatus(out)
	if err = cmp.Or(err, wrong); err == nil {
		err = r.inspectSubmodules(ctx, path, &facts)
	}
	if err != nil {
		return WorktreeFacts{}, fmt.Errorf("cannot look at the worktree %s: %w", filepath.Base(path), err)
	}
	return facts, nil
}

// parseStatus reads git's format "porcelain v2". Renames are switched off, so every entry is one field.
func parseStatus(out string) (WorktreeFacts, error) {
	facts := WorktreeFacts{Exists: true}
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
				return WorktreeFacts{}, fmt.Errorf("cannot read git's status: %q", line)
			}
			facts.Dirty = append(facts.Dirty, showPath(parts[count])+submoduleText(parts[1]))
		default:
			return WorktreeFacts{}, fmt.Errorf("cannot read git's status: %q", line)
		}
	}
	return facts, nil
}

func (f *WorktreeFacts) header(text string) {
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

// inspectSubmodules adds what is changed inside the submodules.
func (r *Repo) inspectSubmodules(ctx context.Context, path string, facts *WorktreeFacts) error {
	for _, m := range r.submodules(path) {
		out, err := r.run(ctx, call{dir: m.dir, sub: m.git, args: []string{"status", "--porcelain=v2", "-z", "--untracked-files=all", "--ignore-submodules=dirty", "--no-renames"}})
		if err != nil {
			return fmt.Errorf("submodule %s: %w", showPath(m.name), err)
		}
		var changes []string
		lines := fields(out)
		untracked := func(line string) bool { return strings.HasPrefix(line, "? ") }
		if slices.ContainsFunc(lines, func(line string) bool { return !untracked(line) }) {
			changes = append(changes, "modified content")
		}
		if slices.ContainsFunc(lines, untracked) {
			changes = append(changes, "untracked files")
		}
		if len(changes) > 0 {
			facts.Dirty = append(facts.Dirty, fmt.Sprintf("%s (submodule: %s)", showPath(m.name), strings.Join(changes, ", ")))
		}
	}
	return nil
}

// A Look is a command that prints the difference between a commit and a worktree as it is now, for ParsePatches. An agent
// may write to that worktree, so the command belongs into a sandbox.
type Look struct {
	Shell string
	Reads []string // what it reads besides the worktree
}

// LookInto makes the Look into the worktree of a task from the commit base, a full hash. What is not committed counts, and what
// is not tracked and not ignored. Without such a worktree it is ErrNotFound. Nothing is read there yet.
func (r *Repo) LookInto(task, base string) (Look, error) {
	path := r.WorktreePath(task)
	index := r.adminDir(path)
	if index == "" || !isFullHash(base) {
		return Look{}, fmt.Errorf("cannot look into the worktree of %s: %w", task, ErrNotFound)
	}
	objects := filepath.Join(r.place.CommonDir, "objects")
	borrowed := append([]string{objects}, r.alternatesOf(objects)...)
	if f := r.current(task); f != nil {
		index = f.Git
		borrowed = append(borrowed, filepath.Join(f.Git, "objects"))
	}
	format := "sha1"
	if len(base) > 40 {
		format = "sha256"
	}
	values := []string{"base=" + base, "format=" + format, "worktree=" + shellWord(path), "index=" + shellWord(index),
		"borrowed=" + shellWord(strings.Join(borrowed, "\n")), "exclude=" + shellWord(filepath.Join(r.place.CommonDir, "info", "exclude")),
		fmt.Sprintf("large=%d", MostFile), "format_of_patches=" + shellWord(strings.Join(patchFormat, " "))}
	return Look{Shell: strings.Join(values, "\n") + "\n" + look, Reads: append(borrowed, index, filepath.Join(r.place.CommonDir, "info"))}, nil
}

// look compares in a git folder of its own: neither the configuration of the repository nor that of the run names a program
// there. The index is a copy of the run's, in which unchanged files are known; one that cannot be used is made from the base.
const look = `
private=$(mktemp -d "${TMPDIR:-/tmp}/liza-look.XXXXXX") || exit 1
trap 'rm -rf "$private"' EXIT
trap 'exit 1' TERM
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_COMMON_DIR GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_EXTERNAL_DIFF GIT_DIFF_OPTS GIT_CONFIG_PARAMETERS
export LC_ALL=C GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_COUNT=0 GIT_ATTR_SOURCE=$base GIT_LITERAL_PATHSPECS=1
compare() {
	git init --quiet --bare --template= --object-format=$format "$private/git" || return
	printf '%s\n' "$borrowed" >"$private/git/objects/info/alternates" || return
	export GIT_DIR="$private/git" GIT_WORK_TREE="$worktree"
	cp "$index"/index "$index"/sharedindex.* "$GIT_DIR"
	if ! git ls-files --unmerged >"$private/unmerged" || test -s "$private/unmerged"; then
		rm -f "$GIT_DIR/index"
		git read-tree $base || return
	fi
	git -c core.excludesFile="$exclude" add --intent-to-add --ignore-errors . # what it refuses is not shown
	git -c core.bigFileThreshold=$large -c core.quotePath=false diff --ignore-submodules=dirty $format_of_patches $base -- >&3
}
cd "$worktree" && compare 3>&1 >"$private/said" 2>&1 || { code=$?; head -c 1000 "$private/said"; exit $code; }
`

// shellWord is a text as one word of a shell.
func shellWord(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
