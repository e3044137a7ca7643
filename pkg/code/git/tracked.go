package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	gogit "github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/format/index"
	"github.com/go-git/go-git/v5/plumbing/object"

	"liza/pkg/base/safefile"
)

// Listed is a file that git tracks. For files of a worktree only Path and Regular are set.
type Listed struct {
	Path      string
	Regular   bool // not a symbolic link or a submodule
	Submodule bool
	Object    string
	Size      int64
	Runs      bool // it is executable
}

// ListWorktree lists the tracked files of the working folder dir, in byte order.
func (r *references) ListWorktree(ctx context.Context, dir string) ([]Listed, error) {
	file := filepath.Join(r.place.CommonDir, "index")
	if admin := r.adminDir(dir); admin != "" {
		file = filepath.Join(admin, "index")
	}
	if idx, _, err := readIndex(file); err == nil {
		return listedIn(idx), nil
	}
	c := call{dir: r.place.Root, args: []string{"ls-files", "-z", "--stage", "--full-name", "--", ":/"}, env: []string{"GIT_INDEX_FILE=" + file}}
	out, err := r.run(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("cannot list the files of %s: %w", dir, err)
	}
	var list []Listed
	for _, line := range fields(out) {
		head, path, ok := strings.Cut(line, "\t")
		if ok && (len(list) == 0 || list[len(list)-1].Path != path) { // a conflict has a line for each side
			list = append(list, Listed{Path: path, Regular: strings.HasPrefix(head, "100")})
		}
	}
	return list, nil
}

// listedIn lists the files of an index; one that has a conflict is there once.
func listedIn(idx *index.Index) (list []Listed) {
	for _, e := range idx.Entries {
		if len(list) == 0 || list[len(list)-1].Path != e.Name {
			list = append(list, Listed{Path: e.Name, Regular: e.Mode.IsRegular() || e.Mode == filemode.Executable})
		}
	}
	return list
}

// ListCommit lists the files of a commit or a tree, in byte order.
func (r *objects) ListCommit(ctx context.Context, commit string) ([]Listed, error) {
	if !plainRev(commit) {
		return nil, about("the files of "+commit, ErrNotFound)
	}
	key := "files " + commit
	out, known := r.answers.get(key)
	if !known {
		var err error
		if out, err = r.read(ctx, r.place.Root, "ls-tree", "-r", "-z", "-l", "--full-tree", commit); err != nil {
			return nil, about("the files of "+commit, err)
		}
		if isFullHash(commit) {
			r.answers.put(key, out)
		}
	}
	var list []Listed
	for _, line := range fields(out) {
		head, path, _ := strings.Cut(line, "\t")
		f := strings.Fields(head)
		if len(f) != 4 {
			continue
		}
		size, err := strconv.ParseInt(f[3], 10, 64)
		list = append(list, Listed{Path: path, Regular: err == nil && strings.HasPrefix(f[0], "100"), Submodule: f[0] == ModeGitlink, Object: f[2], Size: size, Runs: f[0] == "100755"})
	}
	return list, nil
}

// Files lists the files of a commit, by its full hash, like ListCommit, but without their sizes, and without a process unless
// go-git cannot read it.
func (r *objects) Files(ctx context.Context, commit string) ([]Listed, error) {
	list, err := r.filesOf(commit)
	if err != nil {
		return r.ListCommit(ctx, commit)
	}
	return list, nil
}

func (r *objects) filesOf(commit string) (list []Listed, err error) {
	if !isFullHash(commit) {
		return nil, errUnsure
	}
	repo, err := r.goGit()
	if err != nil {
		return nil, err
	}
	c, err := repo.CommitObject(plumbing.NewHash(commit))
	if err != nil {
		return nil, err
	}
	tree, err := c.Tree()
	if err != nil {
		return nil, err
	}
	err = listTree(repo, tree, "", &list)
	return list, err
}

// listTree adds the files of a tree. (The walker of go-git takes a folder that it cannot read for the end of all.)
func listTree(repo *gogit.Repository, tree *object.Tree, folder string, list *[]Listed) error {
	for _, e := range tree.Entries {
		if e.Mode == filemode.Dir {
			inner, err := repo.TreeObject(e.Hash)
			if err == nil {
				err = listTree(repo, inner, folder+e.Name+"/", list)
			}
			if err != nil {
				return err
			}
			continue
		}
		runs := e.Mode == filemode.Executable
		regular := runs || e.Mode == filemode.Regular || e.Mode == filemode.Deprecated
		*list = append(*list, Listed{Path: folder + e.Name, Regular: regular, Submodule: e.Mode == filemode.Submodule, Object: e.Hash.String(), Runs: runs})
	}
	return nil
}

// ReadObjects reads objects by their names, all in one git process.
func (r *objects) ReadObjects(ctx context.Context, objects []string) (map[string]string, error) {
	if len(objects) == 0 {
		return nil, nil
	}
	out, err := r.run(ctx, call{dir: r.place.Root, args: []string{"cat-file", "--batch"}, stdin: strings.Join(objects, "\n") + "\n"})
	if err != nil {
		return nil, fmt.Errorf("cannot read objects: %w", err)
	}
	contents := map[string]string{}
	for out != "" {
		head, rest, _ := strings.Cut(out, "\n")
		f := strings.Fields(head)
		if len(f) != 3 {
			out = rest // missing
			continue
		}
		size, err := strconv.Atoi(f[2])
		if err != nil || size > len(rest) {
			return contents, fmt.Errorf("cannot read object %s: git said %q", f[0], head)
		}
		contents[f[0]] = rest[:size]
		out = strings.TrimPrefix(rest[size:], "\n")
	}
	return contents, nil
}

// ChangedIn lists the tracked files of the working folder dir that differ from a commit,
// committed or not.
func (r *Repo) ChangedIn(ctx context.Context, dir, commit string) ([]string, error) {
	if !plainRev(commit) {
		return nil, about("changes since "+commit, ErrNotFound)
	}
	if admin := r.adminDir(dir); admin != "" {
		commit, err := r.Resolve(ctx, commit)
		if err != nil {
			return nil, about("changes since "+commit, err)
		}
		if list, err := r.changedWithoutHelp(ctx, dir, admin, commit); err == nil {
			return list, nil
		}
		t, err := r.help(ctx, dir, admin, wish{head: commit, since: commit})
		if err != nil {
			return nil, about("changes since "+commit, err)
		}
		defer t.remove()
		return t.since, nil
	}
	out, err := r.read(ctx, r.place.Root, "diff", "--name-only", "-z", "--no-renames", "--ignore-submodules=dirty", commit, "--")
	if err != nil {
		return nil, about("changes since "+commit, err)
	}
	return fields(out), nil
}

// changedWithoutHelp is ChangedIn for a worktree whose tracked files are surely those of its HEAD, as they are until a run has
// changed one. The error says that the helper has to look.
func (r *Repo) changedWithoutHelp(ctx context.Context, dir, admin, commit string) ([]string, error) {
	_, head, err := r.headOf(ctx, admin)
	if err != nil {
		return nil, err
	}
	tree, err := r.treeOf(ctx, head)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(admin, "index")
	if idx, _, err := readIndex(file); err != nil || !isIndexOf(idx, tree) || !unchanged(dir, file, tree, false) {
		return nil, errUnsure
	}
	changes, err := r.compare(ctx, commit, head)
	var names []string
	for _, c := range changes {
		names = append(names, c.Path)
	}
	return names, err
}

// The differences of a file of the main checkout from HEAD.
const (
	Untracked = "untracked"
	Ignored   = "ignored"
	Modified  = "changed"
)

// Uncommitted returns how a file of the main checkout differs from HEAD: Untracked, Ignored, Modified or "". path is relative
// to the root.
func (r *references) Uncommitted(ctx context.Context, path string) (string, error) {
	out, err := r.read(ctx, r.Root(), "status", "--porcelain=v1", "-z", "--ignored", "--untracked-files=all", "--no-renames", "--", ":(top,literal)"+path)
	if err != nil {
		return "", fmt.Errorf("cannot see whether %s is committed: %w", path, err)
	}
	if out == "" {
		return "", nil
	}
	return howNotCommitted(out), nil
}

// A NotCommitted is a file or folder of the main checkout that differs from HEAD.
type NotCommitted struct{ Path, How string }

// NotCommitted returns these files; a folder without tracked files stands for its content.
func (r *references) NotCommitted(ctx context.Context) (list []NotCommitted, err error) {
	out, err := r.read(ctx, r.Root(), "status", "--porcelain=v1", "-z", "--ignored", "--untracked-files=normal", "--no-renames")
	if err != nil {
		return nil, fmt.Errorf("cannot list uncommitted files: %w", err)
	}
	for _, line := range fields(out) {
		if len(line) > 3 {
			list = append(list, NotCommitted{Path: line[3:], How: howNotCommitted(line)})
		}
	}
	return list, nil
}

// howNotCommitted reads a line of git status.
func howNotCommitted(line string) string {
	switch line[:2] {
	case "??":
		return Untracked
	case "!!":
		return Ignored
	}
	return Modified
}

// Staged returns the content of a file in the index of the main checkout. tracked is false if it has none, as in a conflict.
func (r *references) Staged(ctx context.Context, path string) (text []byte, tracked bool, err error) {
	list, err := r.read(ctx, r.Root(), "ls-files", "-z", "--stage", "--", ":(top,literal)"+path)
	head, _, _ := strings.Cut(list, "\t")
	if f := strings.Fields(head); err != nil || len(f) != 3 || f[2] != "0" {
		return nil, false, err
	}
	out, err := r.read(ctx, r.Root(), "cat-file", "blob", strings.Fields(head)[1])
	return []byte(out), true, err
}

// SameIn reports whether a commit has the file path, and whether it is the same as in the commit other.
func (r *objects) SameIn(ctx context.Context, commit, other, path string) (has, same bool, err error) {
	var objects [2]string
	for i, c := range []string{commit, other} {
		if !plainRev(c) {
			return false, false, about(c, ErrNotFound)
		}
		out, err := r.read(ctx, r.Root(), "ls-tree", "-z", "--format=%(objectname)", "--full-tree", c, "--", path)
		if err != nil {
			return false, false, about(path+" in "+c, err)
		}
		objects[i] = strings.TrimSuffix(out, "\x00")
	}
	return objects[0] != "", objects[0] == objects[1], nil
}

// Branches lists the local branches below a folder of names: "task" gives task/a, task/b.
func (r *references) Branches(ctx context.Context, folder string) ([]string, error) {
	all, err := r.refsIn(ctx, branches+folder+"/")
	if err != nil {
		return nil, fmt.Errorf("cannot list the branches of %s: %w", folder, err)
	}
	var names []string
	for name := range all {
		names = append(names, strings.TrimPrefix(name, branches))
	}
	slices.Sort(names)
	return names, nil
}

// refsIn is the object of each ref in the folders, which end with a slash. A ref that is a name of another one has that one's object.
func (r *references) refsIn(ctx context.Context, folders ...string) (map[string]string, error) {
	if all, err := r.refFiles(folders); err == nil {
		return all, nil
	}
	out, err := r.read(ctx, r.place.Root, append([]string{"for-each-ref", "--format=%(refname) %(objectname)"}, folders...)...)
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	for line := range strings.Lines(out) {
		name, object, _ := strings.Cut(strings.TrimSpace(line), " ")
		all[name] = object
	}
	return all, nil
}

// refFiles is refsIn without a process: each step of a team and both ends of each run look. An error means that git has to be
// asked: refs are kept in another way, or a file is not as git writes it.
func (r *references) refFiles(folders []string) (map[string]string, error) {
	if !r.refsAreFiles() {
		return nil, errors.ErrUnsupported
	}
	all := map[string]string{}
	for _, folder := range folders {
		err := filepath.WalkDir(filepath.Join(r.place.CommonDir, folder), func(path string, e fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil // none, or removed just now
			}
			if err != nil || e.IsDir() || strings.HasSuffix(path, ".lock") {
				return err
			}
			data, err := safefile.Read(path)
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			name, badName := filepath.Rel(r.place.CommonDir, path)
			all[filepath.ToSlash(name)] = strings.TrimSuffix(string(data), "\n")
			return errors.Join(err, badName)
		})
		if err != nil {
			return nil, err
		}
	}
	// After the files: what is packed meanwhile is in the one or in the other.
	packed, err := r.packedRefs()
	if err != nil {
		return nil, err
	}
	for name, object := range all {
		if target, symbolic := strings.CutPrefix(object, "ref: "); symbolic {
			if object = all[target]; object == "" {
				object = packed[target] // a name of something elsewhere, or of nothing: git decides
			}
			all[name] = object
		}
		if !isFullHash(object) {
			return nil, errors.ErrUnsupported
		}
	}
	for name, object := range packed {
		if _, loose := all[name]; !loose && slices.ContainsFunc(folders, func(folder string) bool { return strings.HasPrefix(name, folder) }) {
			all[name] = object
		}
	}
	return all, nil
}

// Tracked returns the files below the paths in the main checkout's index.
func (r *references) Tracked(ctx context.Context, paths ...string) ([]string, error) {
	key := ""
	if info, err := os.Stat(filepath.Join(r.place.CommonDir, "index")); err == nil && time.Since(info.ModTime()) > time.Second {
		key = fmt.Sprintf("index %d %d %d %q", info.Size(), info.ModTime().UnixNano(), inode(info), paths)
		if out, known := r.answers.get(key); known {
			return fields(out), nil
		}
	}
	out, err := r.read(ctx, r.place.Root, append([]string{"ls-files", "-z", "--"}, paths...)...)
	if err != nil {
		return nil, fmt.Errorf("cannot list tracked files: %w", err)
	}
	if key != "" {
		r.answers.put(key, out)
	}
	return fields(out), nil
}
