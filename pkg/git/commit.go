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

	"liza/pkg/safefile"
)

// Commit commits everything in a linked worktree that is not ignored, and returns its HEAD; changed is false when there
// was nothing to commit. Hooks and signing are off. The main checkout is refused.
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
	if r.adminDir(path) == "" {
		return fail(errors.New("it is not a linked worktree of this repository"))
	}
	if err := s.addAll(ctx, call{dir: path}); err != nil {
		return fail(err)
	}
	_, err = s.read(ctx, path, "diff", "--cached", "--quiet", "--no-ext-diff", "--ignore-submodules=none")
	switch exitCode(err) {
	case 0:
		facts, err := s.Inspect(ctx, path)
		return facts.Head, false, err
	case 1:
	default:
		return fail(err)
	}
	commit := call{dir: path, stdin: message, args: []string{
		"-c", "i18n.commitEncoding=UTF-8", "commit", "--quiet", "--no-verify", "--no-gpg-sign", "--cleanup=verbatim", "-F", "-",
	}}
	if _, err := s.named(ctx, commit, s.change); err != nil {
		return fail(err)
	}
	facts, err := s.Inspect(ctx, path)
	return facts.Head, err == nil, err
}

// AddExclude makes sure that a line is in <common dir>/info/exclude, which every checkout obeys.
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
		return fmt.Errorf("cannot write %s: %v", path, err)
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

// Discard throws away everything in a linked worktree that is not committed, ignored files excepted. It is for work
// that declared that it changes nothing (specs/protocol.md#4.5); everything else is saved first.
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
	err = s.resetFiles(ctx, path, "HEAD")
	if err == nil {
		err = s.cleanFiles(ctx, path, false)
	}
	if err != nil {
		return fmt.Errorf("cannot clean %s: %w", path, err)
	}
	return nil
}
