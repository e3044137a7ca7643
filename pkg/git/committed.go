package git

import (
	"context"
	"fmt"
	"strings"
)

// How a file of the main checkout can differ from what is committed.
const (
	Untracked = "untracked"
	Ignored   = "ignored"
	Modified  = "changed"
)

// Uncommitted says in which way a file of the main checkout is not what HEAD has of it: Untracked,
// Ignored or Modified; "" when it is the same. path is relative to the root.
func (r *Repo) Uncommitted(ctx context.Context, path string) (string, error) {
	out, err := r.read(ctx, r.Root(), "status", "--porcelain=v1", "-z", "--ignored", "--untracked-files=all", "--no-renames", "--", ":(top,literal)"+path)
	if err != nil {
		return "", fmt.Errorf("cannot see whether %s is committed: %w", path, err)
	}
	if out == "" {
		return "", nil
	}
	return howNotCommitted(out), nil
}

// A NotCommitted is a file or folder of the main checkout that is not as HEAD has it.
type NotCommitted struct{ Path, How string }

// NotCommitted lists them; a folder stands for all that is in it when git knows nothing of that.
func (r *Repo) NotCommitted(ctx context.Context) (list []NotCommitted, err error) {
	out, err := r.read(ctx, r.Root(), "status", "--porcelain=v1", "-z", "--ignored", "--untracked-files=normal", "--no-renames")
	if err != nil {
		return nil, fmt.Errorf("cannot see what is not committed: %w", err)
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

// SameIn reports whether a commit has the file path, and has the same of it as the commit other.
func (r *Repo) SameIn(ctx context.Context, commit, other, path string) (has, same bool, err error) {
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
