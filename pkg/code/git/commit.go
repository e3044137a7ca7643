package git

import (
	"cmp"
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

// addAll puts everything that is not ignored into the index of c, a command without its arguments, whose folder is a worktree. Git opens files by
// their whole paths, and a program that still runs there can make one of their folders a link meanwhile: then files of the person would be
// in the commit. So what has changed is copied to a folder that no run can see, and git reads it there. Of a submodule, or another
// repository, it is the commit that it is at, which update-index takes without looking into it.
func (s *session) addAll(ctx context.Context, c call) error {
	staged, err := s.run(ctx, call{dir: c.dir, env: c.env, args: []string{"ls-files", "-z", "--stage"}})
	if err != nil {
		return err
	}
	modules := map[string]bool{}
	for _, line := range fields(staged) {
		if head, name, _ := strings.Cut(line, "\t"); strings.HasPrefix(head, ModeGitlink+" ") {
			modules[name] = true
		}
	}
	var names []string
	for _, args := range [][]string{{"diff-files", "-z", "--name-only", "--ignore-submodules=all"}, {"ls-files", "-z", "--others", "--exclude-standard"}} {
		out, err := s.run(ctx, call{dir: c.dir, env: c.env, args: args})
		if err != nil {
			return err
		}
		for _, name := range fields(out) {
			if folder, repository := strings.CutSuffix(name, "/"); repository {
				modules[folder] = true
			} else if !modules[name] {
				names = append(names, name)
			}
		}
	}
	if err := s.addCopies(ctx, c, names); err != nil || len(modules) == 0 {
		return err
	}
	var list []string
	for name := range modules {
		list = append(list, name)
	}
	slices.Sort(list)
	return s.updateIndex(ctx, c, list, "--add", "--remove", "--replace")
}

func (s *session) updateIndex(ctx context.Context, c call, names []string, how ...string) error {
	if len(names) == 0 {
		return nil
	}
	c.args = slices.Concat(c.args, []string{"update-index", "-z"}, how, []string{"--stdin"})
	c.stdin = strings.Join(names, "\x00") + "\x00"
	_, err := s.change(ctx, c)
	return err
}

// addCopies puts files and links of a worktree into the index; what is not there is taken out of it.
func (s *session) addCopies(ctx context.Context, c call, names []string) error {
	if len(names) == 0 {
		return nil
	}
	from, err := os.OpenRoot(c.dir)
	if err != nil {
		return err
	}
	defer from.Close()
	private, err := os.MkdirTemp(filepath.Join(s.place.CommonDir, "liza"), "add-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(private)
	to, err := os.OpenRoot(private)
	if err != nil {
		return err
	}
	defer to.Close()
	ctx, done := s.inTime(ctx)
	defer done()
	room := s.mostTaken() // a file that takes no room in the worktree, because it was never written to, does in a copy
	var there, gone []string
	for _, name := range names {
		err := fs.ErrNotExist // a file or a link is where one of its folders was
		if inFolders(from, name) {
			var size int64
			size, err = lay(to, from, name, room)
			room -= size
		}
		err = cmp.Or(ctx.Err(), err)
		switch {
		case err == nil:
			there = append(there, name)
		case errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNoFile):
			gone = append(gone, name)
		default:
			return err
		}
	}
	copied := c
	copied.env = append(slices.Clone(c.env), "GIT_WORK_TREE="+private)
	if err := s.updateIndex(ctx, c, gone, "--force-remove"); err != nil {
		return err
	}
	if err := s.updateIndex(ctx, copied, there, "--add", "--replace"); err != nil {
		return err
	}
	_, err = s.change(ctx, call{dir: c.dir, env: c.env, args: []string{"update-index", "-q", "--refresh"}}) // the times of the files themselves
	if exitCode(err) == 1 {
		err = nil
	}
	return err
}
