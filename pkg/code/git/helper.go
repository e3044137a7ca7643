package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"liza/pkg/base/safefile"
)

// A run may have made anything of its worktree and of its git folder: links, pipes, repositories with filters that are programs,
// objects under false names. So Liza runs no git there. What has to be done is done by a helper: a script of the shell, in a
// sandbox like that of a run, that writes its results to a folder which no run sees. Liza reads them as files: short answers, and
// one pack, which git checks in a quarantine.

// Help describes one start of the helper.
type Help struct {
	Name   string   // name of its sandbox
	Dir    string   // the worktree, which it may change
	Shell  string   // the script
	Reads  []string // further files and folders that it may read
	Folder string   // another folder that it may write
	Limit  time.Duration
}

// A Contain runs the helper where runs are contained, and returns its exit code and output. It returns an error if the helper
// could not be started or took too long.
type Contain func(ctx context.Context, h Help) (code int, said string, err error)

// wish has the tasks of the helper, in the order of the fields.
type wish struct {
	head    string // commit to compare the worktree with; "" for none
	index   string // file used instead of the worktree's own index
	run     string // git folder of a run, whose objects are readable
	reset   bool   // reset tracked files to head
	clean   bool   // remove untracked files that are not ignored
	nested  bool   // remove repositories among them too
	status  bool   // set told.dirty and told.unshared
	save    bool   // set told.tree for a worktree that differs from head, and pack its objects
	tree    string // tree of head
	tracked bool   // set told.changed
	tips    []string
	known   []string // commits whose objects are not packed
	since   string   // commit for told.since
	patches string   // commit for told.patches
	most    int      // greatest size of told.patches, in bytes
}

// told is the answer of the helper. It is not trustworthy.
type told struct {
	dirty    []string          // as in worktreeFacts.Dirty
	unshared []string          // submodules with work that no remote has
	tree     string            // tree of all files that are not ignored; "" if it is that of head
	changed  map[string]string // tracked files that differ from head, with mode and object
	since    []string          // tracked files that differ from wish.since
	patches  string            // difference from wish.patches, with untracked files
	pack     *os.File          // nil if there is nothing to pack
	dir      string
}

func (t *told) remove() {
	if t.pack != nil {
		_ = t.pack.Close()
	}
	_ = safefile.RemoveTree(t.dir)
}

// A helpError is returned for a helper that failed because of the content of the worktree.
type helpError struct{ text string }

func (e *helpError) Error() string { return e.text }

const (
	helpFolder = "liza/help"     // below the common folder; has one folder for each running helper
	helpLeft   = 2 * time.Hour   // age from which such a folder belongs to a killed process
	mostSaid   = 64 << 20        // bytes of each answer
	mostWords  = 64 << 10        // bytes of the helper's output
	heldUp     = 2 * time.Second // time after which clearWay frees the helper of files that block git
	helperTerm = 2 * time.Second // between TERM and KILL, without a sandbox
)

// help runs the helper in the worktree at path, whose git folder is admin. The caller removes the answer.
func (r *Repo) help(ctx context.Context, path, admin string, w wish) (_ *told, err error) {
	base := filepath.Join(r.place.CommonDir, helpFolder)
	if err := safefile.MakeFolder(base, 0o700); err != nil {
		return nil, err
	}
	t := &told{}
	if t.dir, err = os.MkdirTemp(base, filepath.Base(path)+"."); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			t.remove()
		}
	}()
	h := Help{Name: filepath.Base(t.dir), Dir: path, Folder: t.dir, Limit: cmp.Or(r.MaxTime, mostTime)}
	if admin == "" { // the worktree is gone, and the work is in the git folder of a run
		h.Dir, path, admin = t.dir, t.dir, r.place.CommonDir
	}
	modules := r.submodules(path)
	if h.Shell, h.Reads, err = r.script(ctx, t.dir, path, admin, modules, w); err != nil {
		return nil, err
	}
	within, done := r.inTime(ctx)
	defer done()
	if err = r.startHelper(within, h); err != nil {
		return nil, err
	}
	view, err := os.OpenRoot(t.dir)
	if err != nil {
		return nil, err
	}
	defer view.Close()
	return t, t.read(private{view}, modules, w)
}

// startHelper starts the helper. Git waits for ever for a named pipe in the place of one of its files: when the helper takes long,
// another one takes such pipes out of its way.
func (r *Repo) startHelper(ctx context.Context, h Help) error {
	start := r.Contain
	if start == nil {
		start = r.uncontained
	}
	free := time.AfterFunc(cmp.Or(r.heldUpAfter, heldUp), func() {
		_, _, _ = start(ctx, Help{Name: h.Name + "-free", Dir: h.Dir, Shell: clearWay, Folder: h.Folder, Limit: h.Limit})
	})
	defer free.Stop()
	code, said, err := start(ctx, h)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil || code == 0:
		return err
	}
	failed := &Error{}
	for line := range strings.Lines(said) { // of the paths of a run
		if !strings.HasPrefix(line, "warning: ") {
			failed.Stderr += line
		}
	}
	if failed.lacks() {
		return fmt.Errorf("cannot work in %s: %s", filepath.Base(h.Dir), failed.reason())
	}
	return &helpError{failed.reason()}
}

// uncontained starts the helper as it is.
func (r *runner) uncontained(ctx context.Context, h Help) (int, string, error) {
	cmd := exec.CommandContext(ctx, "sh", "-c", h.Shell)
	cmd.Dir, cmd.Env = h.Dir, r.env
	said := bounded{most: mostWords}
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = helperTerm
	err := cmd.Run()
	if cmd.Process != nil && ctx.Err() != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
	if exit, ended := errors.AsType[*exec.ExitError](err); ended {
		return max(1, exit.ExitCode()), said.text.String(), nil
	}
	if said.full { // git names a path of any length in its errors
		return 1, said.text.String(), nil
	}
	return 0, said.text.String(), err
}

// read reads the answers.
func (t *told) read(from private, modules []submodule, w wish) error {
	answer := func(name string) (string, error) { return from.read(name, mostSaid) }
	differs := false
	if w.status {
		out, err := answer("status")
		if err != nil {
			return err
		}
		facts, err := parseStatus(out)
		if err != nil {
			return &helpError{err.Error()}
		}
		t.dirty, differs = facts.Dirty, out != ""
		if err := t.readModules(answer, modules); err != nil {
			return err
		}
	}
	if w.save && differs {
		out, err := answer("tree")
		if t.tree = strings.TrimSpace(out); err != nil || !isFullHash(t.tree) {
			return &helpError{"it does not say which files there are"}
		}
		if t.tree == w.tree {
			t.tree = ""
		}
	}
	if w.tracked {
		out, err := answer("changed")
		if err != nil {
			return err
		}
		t.changed = map[string]string{}
		for list := fields(out); len(list) > 1; list = list[2:] {
			t.changed[list[1]] = list[0]
		}
	}
	if w.since != "" {
		out, err := answer("since")
		if t.since = fields(out); err != nil {
			return err
		}
	}
	if w.patches != "" {
		out, err := from.read("patches", int64(w.most))
		if t.patches = out; err != nil {
			return err
		}
	}
	if len(w.tips) > 0 || t.tree != "" {
		pack, err := from.open("pack")
		if t.pack = pack; err != nil {
			return &helpError{fmt.Sprintf("it gives no pack: %v", err)}
		}
	}
	return nil
}

// readModules reads the helper's answers about submodules.
func (t *told) readModules(answer func(string) (string, error), modules []submodule) error {
	for i, m := range modules {
		out, err := answer(fmt.Sprint("status.", i))
		if err != nil {
			return err
		}
		var changes []string
		own, others := false, false
		for _, line := range fields(out) {
			untracked := strings.HasPrefix(line, "? ")
			own, others = own || !untracked, others || untracked
		}
		if own {
			changes = append(changes, "modified content")
		}
		if others {
			changes = append(changes, "untracked files")
		}
		commits, err := answer(fmt.Sprint("commits.", i))
		switch {
		case err != nil:
			return err
		case len(changes) > 0:
			t.dirty = append(t.dirty, fmt.Sprintf("%s (submodule: %s)", showPath(m.name), strings.Join(changes, ", ")))
			t.unshared = append(t.unshared, fmt.Sprintf("%s (submodule: changes that are not committed)", showPath(m.name)))
		case commits != "":
			t.unshared = append(t.unshared, fmt.Sprintf("%s (submodule: commits that no remote has)", showPath(m.name)))
		}
	}
	return nil
}

// script lays out a plain repository in dir for the helper, and returns the script. Neither the configuration of the
// repository nor that of a run names a program there, except the filters that a person allowed. The index is Liza's own, so
// files that a run hides in its index are seen.
func (r *Repo) script(ctx context.Context, dir, path, admin string, modules []submodule, w wish) (shell string, reads []string, err error) {
	for _, name := range append([]string{w.head, w.tree, w.since, w.patches}, w.tips...) {
		if name != "" && !isFullHash(name) { // it would be read by the shell
			return "", nil, fmt.Errorf("%q is not the full name of an object", name)
		}
	}
	git := filepath.Join(dir, "git")
	objects, borrowed := r.alternates()
	borrowed = append([]string{objects}, borrowed...)
	reads = slices.Clone(borrowed)
	if w.run != "" { // read as a whole: a part of it may be a link
		borrowed, reads = append(borrowed, filepath.Join(w.run, "objects")), append(reads, w.run)
	}
	head := w.head
	if head == "" {
		head = "ref: " + branches + "none"
	}
	if err := r.layOut(ctx, git, layout{admin: admin, index: w.index, head: head, borrowed: borrowed, person: true}); err != nil {
		return "", nil, err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "out=%s worktree=%s head=%s\n%s", ShellWord(dir), ShellWord(path), ShellWord(w.head), begin)
	step := func(when bool, text string) {
		if when {
			b.WriteString(text)
		}
	}
	_, noIndex := os.Lstat(filepath.Join(git, "index"))
	step(w.head != "" && !w.reset && noIndex != nil, "git read-tree --reset $head\n")
	// A person who looks at the change of a run sees it also when the run has broken its index.
	step(w.head != "" && w.patches != "" && noIndex == nil, "git ls-files >/dev/null 2>&1 || { rm $GIT_DIR/index; git read-tree --reset $head; }\n")
	step(w.reset, "git reset --quiet --hard $head\n")
	step(w.clean && !w.nested, "git clean --quiet -fd\n")
	step(w.clean && w.nested, "git clean --quiet -ffd\n")
	step(w.status, "git status "+statusFormat+" --ignore-submodules=dirty >$out/status\n")
	for i, m := range modules {
		step(w.status, fmt.Sprintf("(n=%d sub=%s GIT_DIR=%s\n%s)\n", i, ShellWord(m.dir), ShellWord(m.git), inSubmodule))
	}
	step(w.save, fmt.Sprintf(inSave, w.tree))
	step(w.tracked, "update\ngit diff-index --cached --raw -z --no-renames --abbrev=64 --ignore-submodules=dirty $head >$out/changed\n")
	step(w.since != "", "git diff --name-only -z --no-renames --no-ext-diff --ignore-submodules=dirty "+w.since+" -- >$out/since\n")
	step(w.patches != "", fmt.Sprintf(inPatches, w.patches, MostFile, strings.Join(patchFormat, " "), w.most))
	if w.save || len(w.tips) > 0 {
		known := ""
		for _, rev := range w.known {
			if rev, err = r.Resolve(ctx, rev); err != nil && !errors.Is(err, ErrNotFound) {
				return "", nil, err
			} else if err == nil {
				known += "^" + rev + "\n"
			}
		}
		if w.tree != "" {
			known += "^" + w.tree + "\n"
		}
		tips := "" // an empty line would be the end of them
		for _, tip := range w.tips {
			tips += tip + "\n"
		}
		fmt.Fprintf(&b, "tips=\"$tips\"'%s'\ntest -z \"$tips\" || git pack-objects --quiet --stdout --revs --thin --delta-base-offset --missing=error >$out/pack <<EOF\n$tips\n%sEOF\n", strings.TrimSpace(tips), known)
	}
	reads = slices.DeleteFunc(append(reads, filepath.Join(r.place.CommonDir, "lfs"), filepath.Join(admin, "modules")), func(at string) bool { return !exists(at) })
	return b.String(), reads, nil
}

const statusFormat = "--porcelain=v2 -z --untracked-files=all --no-renames"

const begin = `set -e
cd "$worktree"
unset GIT_INDEX_FILE GIT_COMMON_DIR GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_EXTERNAL_DIFF GIT_DIFF_OPTS GIT_CONFIG_PARAMETERS GIT_NAMESPACE GIT_REPLACE_REF_BASE
export LC_ALL=C GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_COUNT=0 GIT_LITERAL_PATHSPECS=1 GIT_NO_REPLACE_OBJECTS=1 GIT_TERMINAL_PROMPT=0 GIT_NO_LAZY_FETCH=1
export GIT_ALLOC_LIMIT=1g GIT_DIR="$out/git" GIT_WORK_TREE="$worktree"
tips=
update() {
	git diff-files -z --name-only --ignore-submodules=dirty --diff-filter=D >$out/names
	git update-index -z --force-remove --stdin <$out/names
	git diff-files -z --name-only --ignore-submodules=dirty --diff-filter=d >$out/names
	git update-index -z --add --remove --replace --stdin <$out/names
}
`

// inSave makes a tree of the present files. It uses update-index, which records the commit of a nested repository, because
// git add reads nested repositories with their own configuration.
const inSave = `if test -s $out/status; then
	update
	git ls-files -z --others --exclude-standard >$out/others
	tr '\0\n' '\n\0' <$out/others >$out/lines
	sed 's,/$,,' <$out/lines >$out/names
	tr '\0\n' '\n\0' <$out/names >$out/others
	git update-index -z --add --replace --stdin <$out/others
	git write-tree >$out/tree
	read -r tree <$out/tree
	test "$tree" = '%s' || tips=$tree
fi
`

// inSubmodule looks into a submodule that Liza has initialised: its git folder is out of reach of runs.
const inSubmodule = `cd "$sub"
export GIT_DIR GIT_WORK_TREE="$sub" GIT_OPTIONAL_LOCKS=0
git -c core.fsmonitor=false status ` + statusFormat + ` --ignore-submodules=dirty >$out/status.$n
fetched=$(git rev-parse --verify --quiet 'FETCH_HEAD^{commit}') || fetched=
git rev-list --max-count=1 HEAD --branches --glob=refs/stash --not --remotes --tags $fetched >$out/commits.$n
`

// inPatches compares with a commit, whose attributes count.
const inPatches = `export base=%s
git ls-files --unmerged >$out/unmerged
test ! -s $out/unmerged || git read-tree --reset $base
git add --intent-to-add --ignore-errors . || : # what it refuses is not shown
GIT_ATTR_SOURCE=$base git -c core.bigFileThreshold=%d diff --ignore-submodules=dirty %s $base -- | head -c %d >$out/patches
`

// clearWay removes obstacles for git from a worktree: it deletes named pipes, which have no content, and renames files above
// 100 MB, which git reads whole. A process that waits for a pipe then reads an empty file.
const clearWay = `find . -type p \( -name .gitignore -o -name .gitattributes -o -name .gitmodules -o -path '*/.git/*' \) -exec sh -c 'for p; do exec 3<>"$p"; rm -f "$p"; exec 3>&-; done' - {} +
find . -type f -size +204800 \( -name .gitignore -o -name .gitattributes -o -name .gitmodules \) -exec sh -c 'for f; do
	to="$f.too-large" n=2
	while test -e "$to"; do to="$f.too-large-$n" n=$((n+1)); done
	mv "$f" "$to"
done' - {} +
`

// ShellWord is a text as one word of a shell.
func ShellWord(text string) string {
	if text == "" || strings.ContainsFunc(text, func(r rune) bool {
		return !strings.ContainsRune("/._-+,@%", r) && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && r < 0x80
	}) {
		return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
	}
	return text
}

// clearHelp removes folders of helpers whose process was killed.
func (r *runner) clearHelp() error {
	base := filepath.Join(r.place.CommonDir, helpFolder)
	entries, err := os.ReadDir(base)
	for _, e := range entries {
		if info, lost := e.Info(); lost == nil && time.Since(info.ModTime()) > helpLeft {
			err = errors.Join(err, safefile.RemoveTree(filepath.Join(base, e.Name())))
		}
	}
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}
