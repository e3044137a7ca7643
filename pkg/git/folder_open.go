package git

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gofrs/flock"

	"liza/pkg/safefile"
)

// OpenFolder makes the git folder of a run. It starts no process but to read a configuration that has changed. What
// former runs of the task left is taken over first.
func (r *Repo) OpenFolder(ctx context.Context, spec FolderSpec) (*Folder, error) {
	fail := func(err error) (*Folder, error) {
		return nil, fmt.Errorf("cannot make the git folder of %s: %w", spec.Agent, err)
	}
	if !folderName().MatchString(folderOf(spec.Task, spec.Agent)) {
		return fail(errors.New("the names of task and agent are not names of files"))
	}
	if spec.Task != "" {
		if _, err := r.Settle(ctx, spec.Task, !spec.Keep); err != nil {
			return fail(err)
		}
	}
	s, err := r.lock(ctx)
	if err != nil {
		return fail(err)
	}
	defer s.unlock()
	f, err := s.reserve(spec)
	if err != nil {
		return fail(err)
	}
	if err = s.fill(ctx, f, spec); err == nil {
		err = f.write()
	}
	if err == nil && spec.Redirect {
		err = replaceLink(filepath.Join(r.WorktreePath(spec.Task), ".git"), "gitdir: "+f.Git)
	}
	if err != nil {
		return fail(errors.Join(err, f.remove()))
	}
	return f, nil
}

// reserve makes the empty folder under a name that no living run has.
func (s *session) reserve(spec FolderSpec) (*Folder, error) {
	f := &Folder{repo: s.Repo, record: folderRecord{Task: spec.Task, Agent: spec.Agent, Keep: spec.Keep && spec.Task != "", Seq: 1}}
	for _, other := range s.foldersOf(spec.Task) {
		f.record.Seq = max(f.record.Seq, other.record.Seq+1)
	}
	for n := 1; f.lock == nil; n++ {
		f.dir = filepath.Join(s.place.CommonDir, foldersDir, folderOf(spec.Task, spec.Agent))
		if n > 1 {
			f.dir += fmt.Sprintf(".%d", n)
		}
		if err := safefile.MakeFolder(f.dir, 0o700); err != nil {
			return nil, err
		}
		lock := flock.New(filepath.Join(f.dir, "lock"))
		held, err := lock.TryLock()
		if err != nil {
			return nil, err
		}
		if held && !exists(filepath.Join(f.dir, recordFile)) { // a half-made one of a killed process is made again
			f.lock = lock
		} else if err := lock.Close(); err != nil {
			return nil, err
		}
	}
	f.Git = filepath.Join(f.dir, "git")
	return f, safefile.RemoveTree(f.Git)
}

// fill writes the repository.
func (s *session) fill(ctx context.Context, f *Folder, spec FolderSpec) error {
	common, admin, worktree := s.place.CommonDir, s.place.CommonDir, ""
	if spec.Task == "" {
		worktree = readCore(common).worktree
		if worktree != "" {
			worktree = absolute(common, worktree)
		}
	} else if admin = s.adminDir(s.WorktreePath(spec.Task)); admin == "" {
		return fmt.Errorf("%s is not a worktree of this repository", s.WorktreePath(spec.Task))
	}
	f.Target = admin
	for _, dir := range []string{"info", "objects/info", "refs", "modules"} { // git makes the others when it needs them
		if err := safefile.MakeFolder(filepath.Join(f.Git, dir), 0o700); err != nil {
			return err
		}
	}
	config, err := s.folderConfig(ctx, admin, worktree, spec.Remotes)
	if err != nil {
		return err
	}
	head, packed, err := s.folderRefs(ctx, f, spec)
	if err != nil {
		return err
	}
	objects, alternates := s.alternates()
	if spec.Task != "" { // those of the main checkout are at their place
		alternates = append([]string{objects}, alternates...)
	}
	texts := map[string]string{"config": config, "HEAD": head, "packed-refs": packed}
	if len(alternates) > 0 {
		texts["objects/info/alternates"] = strings.Join(alternates, "\n") + "\n"
	}
	for name, text := range texts {
		if err := os.WriteFile(filepath.Join(f.Git, filepath.FromSlash(name)), []byte(text), 0o600); err != nil {
			return err
		}
	}
	copies := map[string]string{"info/exclude": common, "info/attributes": common, "shallow": common, "index": admin, "info/sparse-checkout": admin}
	shared, _ := filepath.Glob(filepath.Join(admin, "sharedindex.*"))
	for _, path := range shared {
		copies[filepath.Base(path)] = admin
	}
	for name, from := range copies {
		if err := copyIndex(filepath.Join(from, name), filepath.Join(f.Git, name)); err != nil {
			return err
		}
	}
	f.Read = append([]string{objects}, s.alternatesOf(objects)...)
	for _, path := range []string{filepath.Join(admin, "modules"), filepath.Join(common, "lfs")} {
		if exists(path) {
			f.Read = append(f.Read, path)
		}
	}
	return nil
}

// alternates are the folder of the repository's objects, and those that it borrows from.
func (s *session) alternates() (objects string, borrowed []string) {
	objects = filepath.Join(s.place.CommonDir, "objects")
	return objects, s.alternatesOf(objects)
}

// alternatesOf are the folders from which a folder of objects borrows, and these from others: git follows five.
func (r *Repo) alternatesOf(objects string) []string {
	var all []string
	for next := []string{objects}; len(next) > 0 && len(all) < 100; next = next[1:] {
		data, err := safefile.Read(filepath.Join(next[0], "info", "alternates"))
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(data)) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
				path := absolute(next[0], line)
				if !slices.Contains(all, path) {
					all, next = append(all, path), append(next, path)
				}
			}
		}
	}
	return all
}

// folderRefs are HEAD and the branches, tags and remote branches that a run sees: all but those of other tasks. That of
// its own is kept in the record.
func (s *session) folderRefs(ctx context.Context, f *Folder, spec FolderSpec) (head, packed string, err error) {
	refs, err := s.refsIn(ctx, "refs/heads/", "refs/tags/", "refs/remotes/")
	if err != nil {
		return "", "", err
	}
	for name, commit := range spec.Branches {
		if commit != "" {
			refs[branches+name] = commit
		}
	}
	if spec.Task != "" {
		head = "ref: " + branches + TaskBranch(spec.Task) + "\n"
		f.record.Tip = refs[branches+TaskBranch(spec.Task)]
		f.record.Known = slices.DeleteFunc(slices.Clone(spec.Known), func(rev string) bool { return rev == "" })
	} else {
		at, err := s.Head(ctx)
		if err != nil {
			return "", "", err
		}
		if head = at.Commit + "\n"; at.Branch != "" {
			head = "ref: " + branches + at.Branch + "\n"
		}
	}
	var b strings.Builder
	b.WriteString("# pack-refs with: sorted \n")
	for _, name := range slices.Sorted(maps.Keys(refs)) {
		if spec.Task == "" || !strings.HasPrefix(name, branches+"task/") || name == branches+TaskBranch(spec.Task) {
			b.WriteString(refs[name] + " " + name + "\n")
		}
	}
	return head, b.String(), nil
}
