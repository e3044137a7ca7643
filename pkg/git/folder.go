package git

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/gofrs/flock"

	"liza/pkg/safefile"
)

// foldersDir has the git folders of runs: folders/<task>@<agent>/ with lock, record.json, and git/, which the run sees.
const foldersDir = "liza/folders"

// FolderSpec asks for the git folder of one run.
type FolderSpec struct {
	Task     string // whose worktree; "": the main checkout, which can be read only
	Agent    string // whose run it is
	Keep     bool   // what it commits on the task's branch is taken over; false: it is thrown away
	Branches map[string]string
	// Branches are branches that it sees at another commit than they are at: the integration branch, where Liza left it.

	Known    []string // what the work may be based on: its base, the integration branch; "" is skipped
	Redirect bool     // the worktree's .git names the folder until it is closed; false: it is mounted
	Remotes  bool     // it knows the remotes, with their addresses
}

// A Folder is a git folder of one run: a plain repository with branches, index, configuration and objects of its own
// that borrows the repository's objects. What a run does in it changes nothing elsewhere; TakeOver takes what counts.
type Folder struct {
	Git    string   // the folder that the run sees
	Target string   // where it is mounted: git's folder of the worktree, or the common dir
	Read   []string // what it needs besides, read-only, at the same path; some of it is below Target

	repo   *Repo
	dir    string
	record folderRecord
	lock   *flock.Flock
}

// folderRecord is what Liza knows of a folder, out of reach of the run.
type folderRecord struct {
	Task  string   `json:"task,omitempty"`
	Agent string   `json:"agent"`
	Keep  bool     `json:"keep,omitempty"`
	Seq   int      `json:"seq"`           // of the folders of the task, the newest one is the one that counts
	Tip   string   `json:"tip,omitempty"` // of the task's branch when it was made or last taken over
	Known []string `json:"known,omitempty"`
}

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
		if err := os.MkdirAll(f.dir, 0o700); err != nil {
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

const recordFile = "record.json"

var folderName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9._-]{0,64}@[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)
})

func folderOf(task, agent string) string { return task + "@" + agent }

// isFolder reports whether a path has the form of the git folder of a run, in any repository.
func isFolder(path string) bool {
	return filepath.Base(path) == "git" && strings.HasSuffix(filepath.Dir(filepath.Dir(path)), "/"+foldersDir)
}

// hasFolder reports whether a path is that of a git folder of a run in this repository.
func (r *Repo) hasFolder(path string) bool {
	return isFolder(path) && filepath.Dir(filepath.Dir(path)) == filepath.Join(r.place.CommonDir, foldersDir)
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
		if err := os.MkdirAll(filepath.Join(f.Git, dir), 0o700); err != nil {
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
	for _, path := range []string{filepath.Join(admin, "modules"), filepath.Join(common, "lfs"), filepath.Join(common, "hooks")} {
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
func (s *session) alternatesOf(objects string) []string {
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

func (f *Folder) write() error {
	data, err := json.Marshal(f.record)
	if err != nil {
		return err
	}
	return safefile.Replace(filepath.Join(f.dir, recordFile), data, 0o600)
}

// Close ends the use of a folder when its run is over: the worktree's .git is git's own again, what a kept folder has
// committed is taken over, and the folder is removed. With late the task's branch stays where it is, and what was
// committed is saved in the attic.
func (f *Folder) Close(ctx context.Context, late bool) (Taken, error) {
	var taken Taken
	err := f.regain(ctx)
	if err == nil && f.record.Keep {
		newest := f.repo.current(f.record.Task)
		late = late || newest == nil || newest.dir != f.dir
		taken, err = f.takeOver(ctx, Taking{Task: f.record.Task, Late: late}, true)
		if err == nil {
			taken.Others, err = f.saveOthers(ctx)
		}
	}
	if err != nil { // it stays, for anyone who takes the task over
		return taken, errors.Join(err, f.lock.Close())
	}
	s, err := f.repo.lock(ctx)
	if err != nil {
		return taken, errors.Join(err, f.lock.Close())
	}
	defer s.unlock()
	if err := errors.Join(f.restoreLink(), f.remove()); err != nil {
		return taken, fmt.Errorf("cannot remove the git folder of a run: %w", err)
	}
	return taken, nil
}

// restoreLink lets the worktree's .git name git's folder again, if it names this one.
func (f *Folder) restoreLink() error {
	if f.record.Task == "" {
		return nil
	}
	link := filepath.Join(f.repo.WorktreePath(f.record.Task), ".git")
	if info, err := os.Lstat(link); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	if target, err := readGitFile(link); err != nil || target != f.Git {
		return nil
	}
	admin := f.repo.adminOf(link)
	if admin == "" {
		return nil
	}
	return replaceLink(link, "gitdir: "+admin)
}

// remove takes the record first: without it the folder is a half-made one.
func (f *Folder) remove() error {
	err := os.Remove(filepath.Join(f.dir, recordFile))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, safefile.RemoveTree(f.dir), f.lock.Close())
}
