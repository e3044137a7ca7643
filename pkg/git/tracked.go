package git

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// Listed is a file that git tracks. Of a worktree's files only Path and Regular are known.
type Listed struct {
	Path      string
	Regular   bool // not a symbolic link or a submodule
	Submodule bool
	Object    string
	Size      int64
	Runs      bool // it is executable
}

// ListWorktree lists what git tracks in the working folder dir, in byte order.
func (r *Repo) ListWorktree(ctx context.Context, dir string) ([]Listed, error) {
	out, err := r.read(ctx, dir, "ls-files", "-z", "--stage", "--full-name", "--", ":/")
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

// ListCommit lists the files of a commit or a tree, in byte order.
func (r *Repo) ListCommit(ctx context.Context, commit string) ([]Listed, error) {
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

// ReadObjects reads objects by their names, all in one git process.
func (r *Repo) ReadObjects(ctx context.Context, objects []string) (map[string]string, error) {
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
	out, err := r.read(ctx, dir, "diff", "--name-only", "-z", "--no-renames", "--ignore-submodules=dirty", commit, "--")
	if err != nil {
		return nil, about("changes since "+commit, err)
	}
	return fields(out), nil
}
