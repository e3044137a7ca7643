package git

import (
	"bytes"
	"cmp"
	"compress/zlib"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"liza/pkg/base/safefile"
)

// Aside says what SetAside has moved, and why.
type Aside struct {
	Path string // where it is now; "": git can read everything
	Why  string
}

// SetAside moves the worktree of a task away whole when git cannot read it, with what git had of it: a loss of power leaves files of
// git empty or torn, and `git gc --prune=now` takes objects that somebody is writing. A branch stays if all its commits can be read,
// and goes with the worktree if not. Nothing is deleted (specs/protocol.md#7.3). Commits of known are taken as whole.
func (r *Repo) SetAside(ctx context.Context, id string, known []string, now time.Time) (Aside, error) {
	if err := checkID(id); err != nil {
		return Aside{}, err
	}
	if !exists(r.WorktreePath(id)) && !exists(r.refFile(id)) { // as a rule
		if tip, err := r.tip(ctx, TaskBranch(id)); err != nil || tip == "" {
			return Aside{}, err
		}
	}
	s, err := r.lock(ctx)
	if err != nil {
		return Aside{}, err
	}
	defer s.unlock()
	branch, tree, err := s.unreadable(ctx, id, known)
	if err != nil || branch == "" && tree == "" {
		return Aside{}, err
	}
	out := Aside{Path: s.lostPath(id, now), Why: cmp.Or(branch, tree)}
	err = s.moveAside(id, out.Path, branch != "")
	if tip, _ := s.tip(ctx, TaskBranch(id)); err == nil && branch != "" && tip != "" { // it is packed, perhaps at an older commit
		if why, _ := s.torn(ctx, known, tip); why != "" {
			out.Why += fmt.Sprintf(" (branch %s was at %s)", TaskBranch(id), tip)
			err = s.deleteRef(ctx, branches+TaskBranch(id), tip)
		}
	}
	if err == nil {
		err = s.moveTorn(filepath.Join(out.Path, "objects-that-git-cannot-read"))
	}
	if err != nil {
		return Aside{}, fmt.Errorf("cannot set the worktree of %s aside, which git cannot read (%s): %w", id, out.Why, err)
	}
	return out, nil
}

// Unreadable says why git cannot read the branch or the worktree of a task, "" if it can.
func (r *Repo) Unreadable(ctx context.Context, id string, known []string) string {
	branch, tree, err := r.unreadable(ctx, id, known)
	if err != nil {
		return ""
	}
	return cmp.Or(branch, tree)
}

// lostPath is a free name for a folder that is moved away from the place of a task's worktree.
func (r *runner) lostPath(id string, now time.Time) string {
	first := filepath.Join(r.WorktreesFolder(), ".lost-"+id+"-"+strconv.FormatInt(now.Unix(), 10))
	path := first
	for n := 2; exists(path); n++ {
		path = first + "-" + strconv.Itoa(n)
	}
	return path
}

func (r *runner) refFile(id string) string {
	return filepath.Join(r.place.CommonDir, filepath.FromSlash(branches+TaskBranch(id)))
}

// moveAside moves the worktree, git's folder of it and, with branch, the file of the branch into one new folder.
func (s *session) moveAside(id, to string, branch bool) error {
	path := s.WorktreePath(id)
	admin := s.entryOf(path)
	err := os.Rename(path, to)
	if errors.Is(err, fs.ErrNotExist) {
		err = os.MkdirAll(to, 0o755) // safefile makes no folder with such a name
	}
	if err == nil && admin != "" {
		err = os.Rename(admin, filepath.Join(to, "git-of-the-worktree"))
	}
	if err == nil && branch {
		log := filepath.Join(s.place.CommonDir, "logs", filepath.FromSlash(branches+TaskBranch(id)))
		for from, name := range map[string]string{s.refFile(id): "branch-of-the-task", log: "log-of-the-branch"} {
			if moved := os.Rename(from, filepath.Join(to, name)); !errors.Is(moved, fs.ErrNotExist) { // a branch may be packed
				err = errors.Join(err, moved)
			}
		}
	}
	return err
}

// moveTorn moves away all torn objects: git writes no object again that has a file already, so the same content could never be added.
func (s *session) moveTorn(to string) error {
	files, err := s.tornObjects()
	for name, path := range files {
		err = errors.Join(err, os.MkdirAll(to, 0o755), os.Rename(path, filepath.Join(to, name)))
	}
	return err
}

// tornObjects are the files of all loose objects that are not what their names say.
func (r *runner) tornObjects() (files map[string]string, err error) {
	all, err := filepath.Glob(filepath.Join(r.place.CommonDir, "objects", "[0-9a-f][0-9a-f]", "*"))
	files = map[string]string{}
	for _, path := range all {
		if name := filepath.Base(filepath.Dir(path)) + filepath.Base(path); isFullHash(name) && !isObject(path, name) {
			files[name] = path
		}
	}
	return files, err
}

// isObject reports whether a file has the object of that name, and whether that cannot be said.
func isObject(path, name string) bool {
	file, err := os.Open(path)
	if err != nil {
		return true
	}
	defer file.Close()
	sum := sha1.New()
	if len(name) > 2*sha1.Size {
		sum = sha256.New()
	}
	text, err := zlib.NewReader(file)
	if err == nil {
		_, err = io.Copy(sum, text)
	}
	return err == nil && hex.EncodeToString(sum.Sum(nil)) == name
}

// entryOf is the folder that git keeps for the worktree at path, however broken it is, or "".
func (r *runner) entryOf(path string) string {
	if admin := r.adminDir(path); admin != "" {
		return admin
	}
	admin := filepath.Join(r.place.CommonDir, "worktrees", filepath.Base(path))
	back, err := safefile.Read(filepath.Join(admin, "gitdir"))
	if err != nil || !tornLink(back, linkTo(path)) && realPath(filepath.Dir(absolute(admin, strings.TrimSpace(string(back))))) != realPath(path) {
		return ""
	}
	return admin
}

// linkTo is what git writes into the gitdir of the worktree at path.
func linkTo(path string) string {
	return filepath.Join(realPath(filepath.Dir(path)), filepath.Base(path), ".git")
}

// tornLink reports whether a file has nothing of the link that belongs into it, or only its beginning.
func tornLink(text []byte, whole string) bool {
	link := strings.Trim(string(text), "\x00\n")
	return len(link) < len(whole) && strings.HasPrefix(whole, link)
}

// unreadable says why git cannot read the branch of a task, or its worktree; "" for what it can read. An error says nothing about them.
func (r *references) unreadable(ctx context.Context, id string, known []string) (branch, tree string, err error) {
	tip := ""
	if data, err := safefile.Read(r.refFile(id)); err == nil && !isFullHash(strings.TrimSuffix(string(data), "\n")) {
		return "the file of branch " + TaskBranch(id) + " names no commit", "", nil
	}
	if tip, err = r.tip(ctx, TaskBranch(id)); err == nil && tip != "" {
		branch, err = r.torn(ctx, known, tip)
	}
	path := r.WorktreePath(id)
	admin := r.entryOf(path)
	if err != nil || branch != "" || admin == "" || !exists(path) || linkAt(path) != nil {
		return branch, "", err
	}
	if r.adminDir(path) == "" {
		link, err := safefile.ReadWithin(path, ".git", mostOfRef)
		back, _ := safefile.Read(filepath.Join(admin, "gitdir"))
		if err != nil || !tornLink(link, "gitdir: "+admin) && !tornLink(back, linkTo(path)) {
			return "", "", nil // a run has put something else there, which is put back
		}
	}
	var at Worktree
	switch ok := at.readHead(admin); {
	case !ok || at.Branch == "" && at.Head == "" && !unmade(admin), r.adminDir(path) == "":
		return "", "git's own files of the worktree are empty", nil
	case at.Branch == TaskBranch(id):
		at.Head = tip
	case at.Branch != "":
		if at.Head, err = r.tip(ctx, at.Branch); err != nil {
			return "", "", err
		}
	}
	staged, why, err := r.staged(ctx, admin, at.Head)
	if err == nil && why == "" {
		why, err = r.torn(ctx, known, append(staged, at.Head)...)
	}
	return "", why, err
}

// staged are the files in the index of a worktree that its commit does not have. The text says why git cannot read the index.
func (r *objects) staged(ctx context.Context, admin, head string) (files []string, why string, err error) {
	if head == "" {
		return nil, "", nil
	}
	if index, err := safefile.Read(filepath.Join(admin, "index")); err == nil && !wholeIndex(index, len(head)/2) {
		return nil, "its index is empty or torn", nil
	}
	out, err := r.run(ctx, call{dir: r.place.CommonDir, env: gitFolders(admin, r.place.CommonDir, admin), args: []string{"diff-index", "--cached", "--raw", "--no-abbrev", "--no-renames", "-z", head, "--"}})
	if why, err = damage("diff-index", err); err != nil || why != "" {
		return nil, why, err
	}
	for list := fields(out); len(list) > 1; list = list[2:] { // ":modes objects status", path
		if f := strings.Fields(list[0]); len(f) == 5 && f[1] != "160000" && strings.Trim(f[3], "0") != "" {
			files = append(files, f[3])
		}
	}
	return files, "", nil
}

// wholeIndex reports whether an index ends with the sum of what it has, or with the zeros that git writes instead (index.skipHash).
func wholeIndex(data []byte, size int) bool {
	if len(data) < size {
		return false
	}
	sum := sha1.New()
	if size > sha1.Size {
		sum = sha256.New()
	}
	sum.Write(data[:len(data)-size])
	end := data[len(data)-size:]
	return bytes.HasPrefix(data, []byte("DIRC")) && (bytes.Equal(end, sum.Sum(nil)) || !bytes.ContainsFunc(end, func(r rune) bool { return r != 0 }))
}

// torn says why git cannot read one of the objects, or what it leads to, beyond known; "" if it can read them all.
func (r *objects) torn(ctx context.Context, known []string, objects ...string) (why string, err error) {
	objects = slices.DeleteFunc(objects, func(name string) bool { return name == "" || slices.Contains(known, name) })
	if len(objects) == 0 {
		return "", nil
	}
	nowhere, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return "", err
	}
	defer nowhere.Close()
	input := strings.Join(objects, "\n") + "\n"
	for _, commit := range known {
		if isFullHash(commit) && !r.lacks(commit) {
			input += "^" + commit + "\n"
		}
	}
	_, err = r.run(ctx, call{dir: r.place.Root, stdin: input, out: nowhere, config: []string{"-c", "pack.compression=0"},
		args: []string{"pack-objects", "--quiet", "--stdout", "--revs", "--window=0", "--missing=allow-promisor"}})
	return damage("pack-objects", err)
}

// Whole says why git cannot read a commit, or what it has that known has not; "" if it can. Without a loss of power it always can, and a
// commit must not be built on that was torn by one.
func (r *objects) Whole(ctx context.Context, commit, known string) (why string, err error) {
	return r.torn(ctx, []string{known}, commit)
}

// damage is git's complaint about what it reads. That the machine lacks something, or does not let git read, is an error.
func damage(command string, err error) (why string, _ error) {
	if err == nil {
		return "", nil
	}
	failed, ok := errors.AsType[*Error](err)
	if !ok || failed.Args[0] != command || failed.ExitCode < 0 || failed.lacks() || strings.Contains(failed.Stderr, "ermission denied") {
		return "", fmt.Errorf("cannot look whether git can read the work: %w", err)
	}
	return strings.Join(slices.Compact(strings.Split(failed.reason(), "; ")), "; "), nil
}

// UnreadableCheckout says why git cannot read the main checkout, whose branch or index a loss of power left empty, and which command helps from
// there; "" if it can. The branch is put at the newest commit that it had and that can be read.
func (r *references) UnreadableCheckout(ctx context.Context) (why, next string) {
	folder := r.place.CommonDir
	if rel, err := filepath.Rel(r.place.Root, folder); err == nil && filepath.IsLocal(rel) {
		folder = rel
	}
	head, _ := safefile.Read(filepath.Join(r.place.CommonDir, "HEAD"))
	ref, _ := strings.CutPrefix(strings.TrimSpace(string(head)), "ref: ")
	_, err := r.read(ctx, r.place.Root, "ls-files", "-z", "--", ".liza")
	torn, _ := damage("ls-files", err)
	data, err := safefile.Read(filepath.Join(r.place.CommonDir, filepath.FromSlash(ref)))
	tip := strings.TrimSpace(string(data))
	index, unread := safefile.Read(filepath.Join(r.place.CommonDir, "index"))
	if torn == "" && unread == nil && !wholeIndex(index, sha1.Size) && !wholeIndex(index, sha256.Size) {
		torn = "its index is torn"
	}
	readable := r.hasTree
	if torn != "" { // it is written again from all trees
		readable = r.hasTrees
	}
	if err == nil && ref != "" && !readable(ctx, tip) {
		commit := "COMMIT"
		log, _ := safefile.Read(filepath.Join(r.place.CommonDir, "logs", filepath.FromSlash(ref)))
		whole, _, _ := strings.Cut(tip, "\x00") // of which the end of the line may be torn alone
		for _, line := range slices.Backward(append(strings.Split(string(log), "\n"), "- "+whole)) {
			if f := strings.Fields(line); len(f) > 1 && r.hasTrees(ctx, f[1]) {
				commit = f[1]
				break
			}
		}
		return "its branch names no commit that can be read", fmt.Sprintf("rm %s && git update-ref %s %s", withLocks(r.place.Root, folder, ref, ref), ref, commit)
	}
	if torn == "" {
		return "", ""
	}
	return torn, fmt.Sprintf("rm %s && git reset", withLocks(r.place.Root, folder, "index", ref))
}

// WriteAgain is the command that writes those objects of the main checkout's next commit again whose files are torn: git writes none that has
// a file already. It is `git fsck` if no file is torn.
func (r *objects) WriteAgain(ctx context.Context) (next string) {
	torn, err := r.tornObjects()
	if err != nil || len(torn) == 0 {
		return "git fsck"
	}
	next = "rm -f"
	for _, name := range slices.Sorted(maps.Keys(torn)) {
		file := torn[name]
		if rel, err := filepath.Rel(r.place.Root, file); err == nil && filepath.IsLocal(rel) {
			file = rel
		}
		next += " " + ShellWord(file)
	}
	staged, err := r.read(ctx, r.place.Root, "ls-files", "--stage", "-z")
	files := ""
	for _, entry := range fields(staged) { // "mode object stage\tpath"
		of, path, _ := strings.Cut(entry, "\t")
		if f := strings.Fields(of); err == nil && len(f) == 3 && torn[f[1]] != "" && exists(filepath.Join(r.place.Root, path)) {
			files += " " + ShellWord(path)
		}
	}
	if files != "" {
		next += " && git hash-object -w --" + files
	}
	return next + " && git write-tree"
}

// UnreadableTip says why git cannot read what the newest commit of a branch has and its parents have not, and which command may help: a merge
// that is made again writes the same files; "" if it can. `git gc --prune=now` beside a merge takes what no branch has yet.
func (r *references) UnreadableTip(ctx context.Context, branch string) (why, next string) {
	tip, err := r.tip(ctx, branch)
	if err != nil || tip == "" {
		return "", ""
	}
	text, err := r.read(ctx, r.place.Root, "rev-list", "--parents", "--max-count=1", tip)
	names := strings.Fields(text)
	if err != nil || len(names) < 2 { // the first commit has the whole repository, as that of a shallow clone has
		return "", ""
	}
	parents := names[1:]
	if why, err = r.torn(ctx, parents, tip); err != nil || why == "" {
		return "", ""
	}
	if next = "git fsck"; len(parents) == 2 {
		next = "git merge-tree --write-tree " + strings.Join(parents, " ")
	}
	return fmt.Sprintf("git cannot read what %.9s has, where the branch %s is: %s", tip, branch, why), next
}

// withLocks is a file of git's folder for a command, with the locks that a killed git has left and that stop the next one.
func withLocks(root, folder, file, ref string) string {
	text := filepath.Join(folder, file)
	for _, locked := range slices.Compact([]string{file, ref, "HEAD"}) {
		if lock := filepath.Join(folder, locked+".lock"); exists(absolute(root, lock)) {
			text += " " + lock
		}
	}
	return text
}

func (r *objects) hasTree(ctx context.Context, commit string) bool {
	if !isFullHash(commit) || r.lacks(commit) {
		return false
	}
	_, err := r.treeOf(ctx, commit)
	_, broken := errors.AsType[*Error](err)
	return !broken
}

// hasTrees is hasTree, with all trees below.
func (r *objects) hasTrees(ctx context.Context, commit string) bool {
	if !isFullHash(commit) || r.lacks(commit) {
		return false
	}
	_, err := r.read(ctx, r.place.Root, "ls-tree", "-r", "-t", "--name-only", commit)
	_, broken := errors.AsType[*Error](err)
	return !broken
}
