package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"liza/pkg/safefile"
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
