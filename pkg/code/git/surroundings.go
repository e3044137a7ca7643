package git

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"liza/pkg/base/safefile"
)

// Surroundings are the parts that a run has no reason to change: refs by their full names, HEAD and the changed files of the
// main checkout, and the files of git's configuration, each with a text that differs after a change.
type Surroundings map[string]string

// Surroundings reads the refs except Liza's own, the main checkout, and the files of configuration. It starts at most one
// process.
func (r *references) Surroundings(ctx context.Context) (Surroundings, error) {
	fail := func(err error) (Surroundings, error) {
		return nil, fmt.Errorf("cannot look at the repository around a run: %w", err)
	}
	refs, err := r.refsIn(ctx, "refs/heads/", "refs/tags/", "refs/remotes/", "refs/replace/")
	if err != nil {
		return fail(err)
	}
	around := Surroundings(refs)
	head, err := r.Head(ctx)
	if err != nil {
		return fail(err)
	}
	around["HEAD"] = head.Branch
	if head.Branch == "" {
		around["HEAD"] = head.Commit
	}
	status, err := r.status(ctx, head.Commit)
	if err != nil {
		return fail(err)
	}
	for _, line := range fields(status) {
		if len(line) > 3 {
			around["file "+showPath(line[3:])] = line[:2]
		}
	}
	files := []string{"config", "config.worktree", "info/attributes", "info/grafts"}
	hooks, _ := filepath.Glob(filepath.Join(r.place.CommonDir, "hooks", "*"))
	for _, hook := range hooks {
		files = append(files, "hooks/"+filepath.Base(hook))
	}
	for _, name := range files {
		path := filepath.Join(r.place.CommonDir, name)
		if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() {
			if data, err := safefile.Read(path); err == nil {
				around[".git/"+name] = fmt.Sprintf("%v %x", info.Mode(), sha256.Sum256(data))
			}
		}
	}
	return around, nil
}

// KeepTip saves a former commit of a ref in the attic, under the name of the ref, unless another ref of the attic or the
// ref's new value contains it. It returns the ref of the attic, or "" if nothing had to be saved.
func (r *Repo) KeepTip(ctx context.Context, ref, old, now string) (string, error) {
	if now != "" {
		if held, err := r.IsAncestor(ctx, old, now); err == nil && held {
			return "", nil
		}
	}
	if there, err := r.CommitExists(ctx, old); err != nil || !there {
		return "", err
	}
	id := "moved-" + strings.NewReplacer("/", "-", ".", "-").Replace(strings.TrimPrefix(ref, "refs/"))
	s, err := r.lock(ctx)
	if err != nil {
		return "", err
	}
	defer s.unlock()
	all, err := s.AtticRefs(ctx, id)
	if err != nil {
		return "", err
	}
	for _, one := range all {
		if one.Commit == old {
			return one.Ref, nil
		}
	}
	kept, err := s.addAttic(ctx, id, old, all)
	if errors.Is(err, ErrRefMoved) {
		return "", nil // somebody else has saved it
	}
	return kept, err
}

// pristine is the index of a throw-away worktree as its checkout left it, kept beside the one that commands may write.
const pristine = "liza-pristine-index"

func (r *Repo) keepPristine(path string) error {
	admin := r.adminDir(path)
	if admin == "" {
		return fmt.Errorf("%s is not a worktree of this repository", path)
	}
	return copyIndex(filepath.Join(admin, "index"), filepath.Join(admin, pristine))
}

// Changed returns the tracked files of a throw-away worktree that differ from its commit, each with a text that differs with
// content or mode.
func (r *Repo) Changed(ctx context.Context, path string) (map[string]string, error) {
	admin := r.adminDir(path)
	if admin == "" {
		return nil, fmt.Errorf("%s is not a worktree of this repository any more", path)
	}
	_, head, err := r.headOf(ctx, admin)
	if err == nil && unchanged(path, filepath.Join(admin, pristine), head, false) {
		return map[string]string{}, nil
	}
	if err == nil {
		var t *told
		if t, err = r.help(ctx, path, admin, wish{head: head, index: filepath.Join(admin, pristine), tracked: true}); err == nil {
			t.remove()
			return t.changed, nil
		}
	}
	return nil, fmt.Errorf("cannot compare %s with its commit: %w", path, err)
}

// Disturbed returns the differences between two results of Changed: files with another text, or missing from the second one.
func Disturbed(first, now map[string]string) map[string]string {
	changed := maps.Clone(now)
	for name, was := range first {
		if is, still := now[name]; !still {
			changed[name] = "as committed"
		} else if is == was {
			delete(changed, name)
		}
	}
	return changed
}
