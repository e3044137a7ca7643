package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"liza/pkg/base/safefile"
)

// Commit commits all files of a linked worktree that are not ignored, and returns its HEAD; changed is false if there was
// nothing to commit. Hooks and signing are off. It refuses the main checkout.
func (r *Repo) Commit(ctx context.Context, path, message string) (hash string, changed bool, err error) {
	path = absolute(r.place.Root, path)
	fail := func(err error) (string, bool, error) {
		return "", false, fmt.Errorf("cannot commit in %s: %w", path, err)
	}
	s, err := r.lock(ctx)
	if err != nil {
		return fail(err)
	}
	defer s.unlock()
	admin := r.adminDir(path)
	if admin == "" {
		return fail(errors.New("it is not a linked worktree of this repository"))
	}
	branch, head, err := s.headOf(ctx, admin)
	if err != nil {
		return fail(err)
	}
	held := holding{head: head}
	if head != "" {
		if held.headTree, err = s.treeOf(ctx, head); err != nil {
			return fail(err)
		}
	}
	if err := s.lookInto(ctx, path, admin, false, &held); err != nil {
		return fail(err)
	}
	if len(held.dirty) > 0 && !held.changed() && len(held.nested) > 0 {
		return fail(errors.New(held.nested[0]))
	}
	if !held.changed() {
		return head, false, nil
	}
	var parents []string
	if head != "" {
		parents = []string{head}
	}
	if hash, err = s.CommitTree(ctx, held.tree, parents, message); err != nil {
		return fail(err)
	}
	if branch == "" {
		_, err = s.change(ctx, call{dir: s.place.CommonDir, env: gitFolders(admin, s.place.CommonDir, admin), args: []string{"update-ref", "--no-deref", "HEAD", hash, head}})
	} else {
		err = s.setRef(ctx, branches+branch, hash, head)
	}
	if err == nil {
		err = s.indexAt(ctx, path, hash)
	}
	if err != nil {
		return fail(err)
	}
	return hash, true, nil
}

// AddExclude adds a line, if it is missing, to <common dir>/info/exclude, which every checkout obeys.
func (r *Repo) AddExclude(ctx context.Context, line string) error {
	s, err := r.lock(ctx)
	if err != nil {
		return err
	}
	defer s.unlock()
	path := filepath.Join(r.place.CommonDir, "info", "exclude")
	data, err := safefile.Read(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot read %s: %v", path, err)
	}
	if slices.Contains(strings.Split(strings.ReplaceAll(string(data), "\r\n", "\n"), "\n"), line) {
		return nil
	}
	text := line + "\n"
	if len(data) > 0 && data[len(data)-1] != '\n' {
		text = "\n" + text
	}
	if err := appendText(path, text); err != nil {
		return fmt.Errorf("cannot write %s: %w", path, err)
	}
	return nil
}

func appendText(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	file, err := safefile.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	return errors.Join(err, file.Close())
}

// Discard removes all uncommitted changes of a linked worktree, but no ignored files. Use it only for work that declared to
// change nothing (specs/protocol.md#4.5); other work is saved first.
func (r *Repo) Discard(ctx context.Context, path string) error {
	path = absolute(r.place.Root, path)
	s, err := r.lock(ctx)
	if err != nil {
		return err
	}
	defer s.unlock()
	if r.adminDir(path) == "" {
		return fmt.Errorf("cannot clean %s: it is not a linked worktree of this repository", path)
	}
	admin := r.adminDir(path)
	_, head, err := s.headOf(ctx, admin)
	if err == nil {
		var t *told
		if t, err = s.help(ctx, path, admin, wish{head: head, reset: true, clean: true}); err == nil {
			t.remove()
			err = s.indexAt(ctx, path, head)
		}
	}
	if err != nil {
		return fmt.Errorf("cannot clean %s: %w", path, err)
	}
	return nil
}
