package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// ModeGitlink is the mode of a submodule's entry in a tree.
const ModeGitlink = "160000"

// No more of a difference is read than MostDiff bytes, and nothing of a file that has more than MostFile: an agent may commit
// any number of lines, and who reads them has them in memory.
const (
	MostDiff = 16 << 20
	MostFile = 4 << 20
)

// withoutLarge lets git show a file of more than MostFile as one without lines.
var withoutLarge = []string{"-c", fmt.Sprintf("core.bigFileThreshold=%d", MostFile)}

// A Change is one file that differs between two commits.
type Change struct {
	Status  string // A added, M modified (also its mode or kind), D deleted, R renamed
	Path    string
	OldPath string // of a renamed file
	Mode    string // as in a tree: 100644, 100755, 120000, 160000; of a deleted file the old one
}

// ChangedFiles lists what differs between the commits base and commit, submodules by commit.
func (r *Repo) ChangedFiles(ctx context.Context, base, commit string) ([]Change, error) {
	out, err := r.diffTree(ctx, base, commit, nil, 0, "--raw", "-z")
	if err != nil {
		return nil, err
	}
	return parseRaw(out)
}

// parseRaw reads ":oldmode newmode oldhash newhash status NUL path NUL", with two paths when renamed.
func parseRaw(out string) ([]Change, error) {
	var changes []Change
	parts := fields(out)
	for len(parts) > 0 {
		head := strings.Fields(strings.TrimPrefix(parts[0], ":"))
		if len(head) != 5 || len(parts) < 2 {
			return nil, fmt.Errorf("cannot read git's list of changes: %q", parts[0])
		}
		change := Change{Status: head[4][:1], Path: parts[1], Mode: head[1]}
		parts = parts[2:]
		switch change.Status {
		case "D":
			change.Mode = head[0]
		case "T":
			change.Status = "M"
		case "R":
			if len(parts) == 0 {
				return nil, fmt.Errorf("cannot read git's list of changes: %q has no new path", change.Path)
			}
			change.OldPath, change.Path, parts = change.Path, parts[0], parts[1:]
		}
		changes = append(changes, change)
	}
	return changes, nil
}

// DiffStat is the summary that git diff --stat prints for two commits.
func (r *Repo) DiffStat(ctx context.Context, base, commit string) (string, error) {
	return r.diffTree(ctx, base, commit, nil, 0, "--stat=120")
}

// Diff is the patch from base to commit, of the given files and folders or of all: its first MostDiff bytes.
func (r *Repo) Diff(ctx context.Context, base, commit string, paths ...string) (string, error) {
	return r.diffTree(ctx, base, commit, paths, MostDiff, "--patch", "--src-prefix=a/", "--dst-prefix=b/")
}

func (r *Repo) diffTree(ctx context.Context, base, commit string, paths []string, most int, format ...string) (string, error) {
	args := append([]string{"diff-tree", "-r", "--find-renames", "--no-color", "--no-ext-diff", "--no-textconv",
		"--ignore-submodules=none"}, format...)
	if err := plainRevs(base, commit); err != nil {
		return "", err
	}
	args = append(append(args, base, commit, "--"), paths...)
	key := strings.Join(args, "\x00")
	if out, known := r.answers.get(key); known {
		return out, nil
	}
	literal := []string{"GIT_LITERAL_PATHSPECS=1"}
	out, err := r.run(ctx, call{dir: r.place.Root, args: args, env: literal, config: withoutLarge, most: most})
	if err != nil {
		return "", fmt.Errorf("cannot compare commits %s and %s: %w", base, commit, err)
	}
	if isFullHash(base) && isFullHash(commit) {
		r.answers.put(key, out)
	}
	return out, nil
}

// ReadFile is the content of a file in a commit; path is relative to the top of the tree. Of a symbolic link it is the
// target. ErrNotFound when the commit has no such file.
func (r *Repo) ReadFile(ctx context.Context, commit, file string) ([]byte, error) {
	fail := func(err error) ([]byte, error) { return nil, about(fmt.Sprintf("file %q in %s", file, commit), err) }
	if !plainRev(commit) || strings.ContainsRune(file, 0) {
		return fail(ErrNotFound)
	}
	if content, there, err := r.fileOf(commit, path.Clean(file)); err == nil && there {
		return content, nil
	} else if err == nil {
		return fail(ErrNotFound)
	}
	name := commit + ":" + path.Clean(file)
	out, err := r.run(ctx, call{dir: r.place.Root, args: []string{"cat-file", "--batch", "-z"}, stdin: name + "\x00"})
	if err != nil {
		return fail(err)
	}
	if strings.HasSuffix(out, " missing\n") && strings.HasPrefix(out, name) {
		return fail(ErrNotFound)
	}
	head, content, _ := strings.Cut(out, "\n")
	if kind := strings.Fields(head); len(kind) != 3 || kind[1] != "blob" {
		return fail(ErrNotFound)
	}
	return []byte(strings.TrimSuffix(content, "\n")), nil
}

// fileOf is ReadFile without a process. An error means that git has to be asked.
func (r *Repo) fileOf(commit, file string) (content []byte, there bool, err error) {
	if !isFullHash(commit) {
		return nil, false, errors.ErrUnsupported
	}
	repo, err := r.goGit()
	if err != nil {
		return nil, false, err
	}
	c, err := repo.CommitObject(plumbing.NewHash(commit))
	if err != nil {
		return nil, false, err
	}
	tree, err := c.Tree()
	if err != nil {
		return nil, false, err
	}
	entry, err := tree.FindEntry(file)
	switch {
	case errors.Is(err, object.ErrEntryNotFound), errors.Is(err, object.ErrDirectoryNotFound):
		return nil, false, nil
	case err != nil:
		return nil, false, err
	case entry.Mode == filemode.Dir || entry.Mode == filemode.Submodule:
		return nil, false, nil
	}
	blob, err := repo.BlobObject(entry.Hash)
	if err != nil {
		return nil, false, err
	}
	in, err := blob.Reader()
	if err != nil {
		return nil, false, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	content, err = io.ReadAll(in)
	return content, err == nil, err
}
