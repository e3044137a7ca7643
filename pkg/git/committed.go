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
	switch {
	case out == "":
		return "", nil
	case strings.HasPrefix(out, "??"):
		return Untracked, nil
	case strings.HasPrefix(out, "!!"):
		return Ignored, nil
	}
	return Modified, nil
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
