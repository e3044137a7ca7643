package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"liza/pkg/base/safefile"
)

// Own is the list of Liza's additions to a repository.
type Own struct {
	Refs      map[string]string // refs of its own, branches of tasks and the integration branch, with their commits
	Worktrees []Worktree        // below .worktrees
	Others    []string          // worktrees below .worktrees that Liza did not make
	Lost      []string          // newest commits, a few, that no other branch, tag or remote has
}

// OwnOf finds Liza's additions.
func (r *references) OwnOf(ctx context.Context, integration string) (own Own, err error) {
	if own.Refs, err = r.refsIn(ctx, "refs/liza/", branches+"task/"); err != nil {
		return own, fmt.Errorf("cannot list the refs of Liza: %w", err)
	}
	if tip, err := r.tip(ctx, integration); err != nil {
		return own, err
	} else if tip != "" {
		own.Refs[branches+integration] = tip
	}
	all, err := r.list(ctx)
	if err != nil {
		return own, err
	}
	for _, w := range all {
		id := filepath.Base(w.Path)
		switch {
		case w.Main || filepath.Dir(w.Path) != r.WorktreesFolder():
		case strings.HasPrefix(id, ".") || w.Branch == "" || w.Branch == TaskBranch(id):
			own.Worktrees = append(own.Worktrees, w)
		default:
			own.Others = append(own.Others, filepath.Join(worktreesDir, id))
		}
	}
	out, err := r.onlyIn(ctx, own, "log", "--no-color", "--no-show-signature", "--max-count=50", "--format=%h %s")
	own.Lost = strings.FieldsFunc(out, func(c rune) bool { return c == '\n' })
	return own, err
}

// onlyIn runs a command on the commits that nothing but Liza's refs has.
func (r *references) onlyIn(ctx context.Context, own Own, args ...string) (string, error) {
	work := slices.DeleteFunc(slices.Sorted(maps.Keys(own.Refs)), func(ref string) bool { return strings.HasPrefix(ref, evidence) || strings.HasPrefix(ref, evidenceBase) })
	if len(work) == 0 {
		return "", nil
	}
	args = append(args, "--stdin", "--single-worktree", "--not") // a worktree of a task is no other place
	for ref := range own.Refs {
		if strings.HasPrefix(ref, branches) && !strings.HasPrefix(ref, branches+"task/") {
			args = append(args, "--exclude="+ref)
		}
	}
	args = append(args, "--exclude=refs/liza/*", "--exclude="+branches+"task/*", "--all")
	refs := strings.Join(work, "\n") + "\n"
	out, err := r.run(ctx, call{dir: r.place.Root, args: args, stdin: refs})
	if err != nil {
		return "", fmt.Errorf("cannot look which work is nowhere else: %w", err)
	}
	return out, nil
}

// Bundle writes the commits that only Liza's refs have into a file, with the names of the refs.
func (r *references) Bundle(ctx context.Context, own Own, path string) error {
	_, err := r.onlyIn(ctx, own, "bundle", "create", "--quiet", path)
	return err
}

// RemoveOwn removes Liza's additions, and the line by which git ignores the worktrees.
func (r *Repo) RemoveOwn(ctx context.Context, own Own) error {
	s, err := r.lock(ctx)
	if err != nil {
		return err
	}
	defer s.unlock()
	for _, w := range own.Worktrees {
		if err := s.dropFolder(ctx, w.Path, &w); err != nil {
			return fmt.Errorf("cannot remove %s: %w", w.Path, err)
		}
	}
	for _, ref := range slices.Sorted(maps.Keys(own.Refs)) {
		if err := s.deleteRef(ctx, ref, own.Refs[ref]); err != nil {
			return err
		}
	}
	folder := r.WorktreesFolder()
	if len(own.Others) > 0 {
		return nil
	}
	if err := safefile.RemoveTree(folder); err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(r.place.Root, worktreesDir)); err != nil && !errors.Is(err, fs.ErrNotExist) { // a link to it
		return err
	}
	return errors.Join(s.dropExclude("/"+worktreesDir+"/"), s.dropExclude("/"+worktreesDir))
}

// dropExclude removes a line of info/exclude.
func (s *session) dropExclude(line string) error {
	path := filepath.Join(s.place.CommonDir, "info", "exclude")
	data, err := safefile.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var kept strings.Builder
	for one := range strings.Lines(string(data)) {
		if strings.TrimRight(one, "\r\n") != line {
			kept.WriteString(one)
		}
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	return safefile.Replace(path, []byte(kept.String()), info.Mode().Perm())
}
