package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// TakeOver brings what a run has committed on the task's branch into the repository, and moves the branch there. It reads
// the name of one commit from the folder of the run, and the objects of this commit, which go through a quarantine and
// git's own check. Nothing else that is in the folder is looked at. Without a new commit it reads two small files.
func (r *Repo) TakeOver(ctx context.Context, t Taking) (Taken, error) {
	if err := checkID(t.Task); err != nil {
		return Taken{}, err
	}
	f := r.current(t.Task)
	if f == nil {
		return Taken{}, nil
	}
	return f.takeOver(ctx, t, false)
}

func (f *Folder) takeOver(ctx context.Context, t Taking, last bool) (Taken, error) {
	out := Taken{Open: true}
	fail := func(err error) (Taken, error) {
		return out, fmt.Errorf("cannot take over the commits of %s: %w", t.Task, err)
	}
	if err := f.load(); err != nil { // another process may have taken over before
		return fail(err)
	}
	if err := f.regain(ctx); err != nil { // the index of the worktree is to have what comes
		return fail(err)
	}
	view, err := os.OpenRoot(f.Git)
	if err != nil {
		out.Refused = fmt.Sprintf("its git folder cannot be read: %v", err)
		return out, nil
	}
	defer view.Close()
	p := private{view}
	if out.Refused = p.head(&out); out.Refused != "" {
		return out, nil
	}
	if out.Commit, err = p.ref(branches + TaskBranch(t.Task)); err != nil {
		if out.Branch == TaskBranch(t.Task) {
			out.Refused = fmt.Sprintf("its branch %s cannot be read: %v", out.Branch, err)
		}
		return out, nil
	}
	own, err := f.repo.tip(ctx, TaskBranch(t.Task))
	if err != nil {
		return fail(err)
	}
	if out.Commit == own || out.Commit == f.record.Tip {
		return out, nil
	}
	in := &incoming{folder: f, from: p, commit: out.Commit, own: own, known: f.knownTo(t, own), last: last}
	out.Refused, err = in.fetch(ctx)
	defer in.remove()
	if err == nil && out.Refused == "" {
		out.Refused, err = in.takeLarge(ctx)
	}
	if err == nil && (out.Refused == "" || in.sound) {
		err = f.move(ctx, t, in, &out)
	}
	if err != nil {
		return fail(err)
	}
	return out, nil
}

// knownTo are the commits that the work may be based on.
func (f *Folder) knownTo(t Taking, own string) []string {
	all := slices.Concat(f.record.Known, t.Known, []string{f.record.Tip, own})
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(rev string) bool { return rev == "" })
}

// move moves the branch to what is in the repository by now. Commits that must not be there are saved.
func (f *Folder) move(ctx context.Context, t Taking, in *incoming, out *Taken) error {
	s, err := f.repo.lock(ctx)
	if err != nil {
		return err
	}
	defer s.unlock()
	if in.own != "" && in.own != f.record.Tip && out.Refused == "" && !t.Late {
		if further, err := s.IsAncestor(ctx, in.own, in.commit); err != nil {
			return err
		} else if !further {
			out.Refused = fmt.Sprintf("branch %s was moved to %.9s meanwhile", TaskBranch(t.Task), in.own)
		}
	}
	switch {
	case t.Late, out.Refused != "" && in.last:
		out.Attic, _, err = s.saveCommit(ctx, Work{ID: t.Task, Integration: in.own}, in.commit)
		return err
	case out.Refused != "":
		return nil
	}
	if err := s.setRef(ctx, branches+TaskBranch(t.Task), in.commit, in.own); err != nil {
		return err
	}
	out.Moved, f.record.Tip = true, in.commit
	return errors.Join(s.indexAt(ctx, t.Task, in.commit), f.write())
}

// indexAt lets the worktree's own index have a commit that its files have already.
func (s *session) indexAt(ctx context.Context, id, commit string) error {
	path := s.WorktreePath(id)
	if s.adminDir(path) == "" {
		return nil
	}
	_, err := s.change(ctx, call{dir: path, args: []string{"read-tree", "--reset", commit}})
	return err
}

// Left brings the commit that the newest run of an agent on a task is at into the repository, without a ref, and returns it:
// for PutBack, when the run is not one whose work counts. It is "" when the run is where it began, or was asked about
// before, and when the commit is not sound: what is in the files is seen all the same.
func (r *Repo) Left(ctx context.Context, task, agent string) (string, error) {
	all := r.foldersOf(task)
	at := slices.IndexFunc(all, func(f *Folder) bool { return f.record.Agent == agent && !f.record.Keep })
	if at < 0 {
		return "", nil
	}
	f := all[at]
	view, err := os.OpenRoot(f.Git)
	if err != nil {
		return "", nil
	}
	defer view.Close()
	p, out := private{view}, Taken{}
	if why := p.head(&out); why != "" || out.Head == "" || out.Head == f.record.Tip {
		return "", nil
	}
	if there, err := r.CommitExists(ctx, out.Head); err != nil {
		return "", err
	} else if !there {
		in := &incoming{folder: f, from: p, commit: out.Head, known: f.knownTo(Taking{}, ""), last: true}
		defer in.remove()
		if _, err := in.fetch(ctx); err != nil || !in.sound {
			return "", err
		}
	}
	f.record.Tip = out.Head
	return out.Head, f.write()
}

// mostOthers is how many other tips of a folder are saved.
const mostOthers = 20

// saveOthers saves what is on other branches of a folder that goes, in its stash, or on no branch, in the attic. What
// cannot be read or is not sound is left.
func (f *Folder) saveOthers(ctx context.Context) (refs []string, err error) {
	view, err := os.OpenRoot(f.Git)
	if err != nil {
		return nil, nil
	}
	defer view.Close()
	p, saved := private{view}, 0
	for _, commit := range p.tips() {
		if there, err := f.repo.CommitExists(ctx, commit); err != nil || there {
			continue
		}
		if saved++; saved > mostOthers {
			break
		}
		in := &incoming{folder: f, from: p, commit: commit, known: f.knownTo(Taking{}, ""), last: true}
		_, err := in.fetch(ctx)
		in.remove()
		if err != nil {
			return refs, err
		}
		if !in.sound {
			continue
		}
		ref, err := f.repo.Keep(ctx, f.record.Task, commit, "")
		if err != nil {
			return refs, err
		}
		refs = append(refs, ref)
	}
	return refs, nil
}

// RemoteBranches are the remote branches as a run knows them that has a git folder of its own: they move when it fetches
// or pushes.
func (f *Folder) RemoteBranches() map[string]string {
	view, err := os.OpenRoot(f.Git)
	if err != nil {
		return nil
	}
	defer view.Close()
	p, all := private{view}, map[string]string{}
	p.refs("refs/remotes/", func(name, commit string) { all[name] = commit })
	return all
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

// Programs of a run may still be at work in a worktree that is put back. Git opens files by their whole paths and remembers
// which of their folders are folders: what is made a link meanwhile leads it to any place that the person can write. So git
// writes to a folder that no run can see, and from there files are laid into the worktree, in which nothing leads out.

// resetFiles brings branch, index and tracked files of a worktree to a commit, as git reset --hard does.
func (s *session) resetFiles(ctx context.Context, dir, commit string) error {
	gone, err := s.read(ctx, dir, "diff-index", "-z", "--cached", "--name-only", "--diff-filter=A", "--no-renames", "--ignore-submodules=all", commit)
	if err != nil {
		return err
	}
	if _, err := s.change(ctx, call{dir: dir, args: []string{"reset", "--quiet", "--mixed", commit}}); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := takeAway(root, fields(gone)); err != nil {
		return err
	}
	names, err := s.read(ctx, dir, "diff-files", "-z", "--name-only", "--ignore-submodules=all")
	if err != nil || names == "" {
		return err
	}
	private, err := os.MkdirTemp(filepath.Join(s.place.CommonDir, "liza"), "back-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(private)
	within, done := s.inTime(ctx)
	defer done()
	if _, err := s.change(within, call{dir: dir, args: []string{"checkout-index", "--force", "-z", "--stdin", "--prefix=" + private + "/"}, stdin: names}); err != nil {
		return err
	}
	from, err := os.OpenRoot(private)
	if err != nil {
		return err
	}
	defer from.Close()
	for _, name := range fields(names) {
		if _, err := lay(root, from, name, math.MaxInt64-1); err != nil {
			return err
		}
	}
	_, err = s.change(ctx, call{dir: dir, args: []string{"update-index", "-q", "--refresh"}})
	if exitCode(err) == 1 { // something differs again
		err = nil
	}
	return err
}

// lay copies a file of no more than most bytes, or a link, in the place of whatever is there. Neither of both folders is left by it.
func lay(to, from *os.Root, name string, most int64) (size int64, err error) {
	info, err := from.Lstat(name)
	if err != nil {
		return 0, err
	}
	for at, rest := "", path.Dir(name); rest != "." && rest != ""; {
		first, more, _ := strings.Cut(rest, "/")
		at, rest = path.Join(at, first), more
		switch there, err := to.Lstat(at); {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return 0, err
		case there.IsDir():
			continue
		default:
			if err := to.Remove(at); err != nil {
				return 0, err
			}
		}
		if err := to.Mkdir(at, 0o777); err != nil {
			return 0, err
		}
	}
	if err := to.RemoveAll(name); err != nil {
		return 0, err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		target, err := from.Readlink(name)
		return 0, errors.Join(err, to.Symlink(target, name))
	}
	in, err := private{from}.open(name)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	out, err := to.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, info.Mode().Perm())
	if err != nil {
		return 0, err
	}
	size, err = io.Copy(out, io.LimitReader(in, most+1))
	if size > most {
		err = errTooMuch
	}
	return size, errors.Join(err, out.Close())
}

// cleanFiles removes files that are neither tracked nor ignored, with folders that are empty then. Repositories among them
// are removed only when asked for.
func (s *session) cleanFiles(ctx context.Context, dir string, repositories bool) error {
	names, err := s.read(ctx, dir, "ls-files", "-z", "--others", "--exclude-standard")
	if err != nil || names == "" {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	return takeAway(root, slices.DeleteFunc(fields(names), func(name string) bool { return strings.HasSuffix(name, "/") && !repositories }))
}

// takeAway removes what has these names, and folders that are empty then.
func takeAway(root *os.Root, names []string) error {
	for _, name := range names {
		name = strings.TrimSuffix(name, "/")
		if !inFolders(root, name) {
			continue // a file or a link took the place of a folder that it was in
		}
		if err := root.RemoveAll(name); err != nil {
			return err
		}
		for above := path.Dir(name); above != "." && root.Remove(above) == nil; {
			above = path.Dir(above)
		}
	}
	return nil
}

func inFolders(root *os.Root, name string) bool {
	for at := path.Dir(name); at != "."; at = path.Dir(at) {
		if info, err := root.Lstat(at); err != nil || !info.IsDir() {
			return false
		}
	}
	return true
}

// Back says what PutBack found.
type Back struct {
	Changes []string // how branch and worktree differed from the commit; none: they did not
	Attic   string   // ref that holds what differed; "" when there was nothing to keep
}

// PutBack brings the branch and the worktree of w.ID back to commit. What differs is saved in the attic first: commits,
// changed, staged and untracked files. Ignored files stay. may is asked under git.lock, when something differs, whether
// that may happen still. A worktree that is not there is left to ProvideWorktree.
func (r *Repo) PutBack(ctx context.Context, w Work, commit string, may func() (bool, error)) (Back, error) {
	fail := func(err error) (Back, error) {
		return Back{}, fmt.Errorf("cannot put the worktree of %s back to %.9s: %w", w.ID, commit, err)
	}
	w.Path, w.Integration = r.WorktreePath(w.ID), commit // what commit has needs no saving
	changes, err := r.differs(ctx, w, commit)
	if err != nil {
		return fail(err)
	}
	if len(changes) == 0 {
		return Back{}, nil
	}
	s, err := r.lock(ctx)
	if err != nil {
		return fail(err)
	}
	defer s.unlock()
	if ok, err := may(); err != nil || !ok {
		return Back{}, err
	}
	back := Back{}
	if back.Changes, err = s.differs(ctx, w, commit); err != nil || len(back.Changes) == 0 {
		return back, err
	}
	for _, name := range []string{"index.lock", "HEAD.lock"} { // of a git that was killed with the run
		if err := s.clearStale(ctx, filepath.Join(s.adminDir(w.Path), name)); err != nil {
			return fail(err)
		}
	}
	for _, name := range []string{"rebase-merge", "rebase-apply", "sequencer"} { // reset ends all but these
		if err := os.RemoveAll(filepath.Join(s.adminDir(w.Path), name)); err != nil {
			return fail(err)
		}
	}
	left := back.Changes
	for range putBackRounds {
		if err := s.putBack(ctx, w, commit, &back); err != nil {
			return fail(err)
		}
		w.Left = ""
		if left, err = s.differs(ctx, w, commit); err != nil {
			return fail(err)
		}
		if len(left) == 0 {
			return back, nil
		}
	}
	return fail(fmt.Errorf("it still differs: %s", strings.Join(left, ", ")))
}

// putBackRounds is how often PutBack looks again: a file that was ignored shows when the .gitignore that hid it is gone.
const putBackRounds = 4

// putBack saves and undoes what can be seen. What shows only after the reset is saved before it is removed.
func (s *session) putBack(ctx context.Context, w Work, commit string, back *Back) error {
	var seen []string
	keep := func() error {
		facts, err := s.Inspect(ctx, w.Path)
		if err != nil {
			return err
		}
		known := func(path string) bool { return slices.Contains(seen, path) }
		if seen != nil && !slices.ContainsFunc(facts.Dirty, func(path string) bool { return !known(path) }) {
			return nil
		}
		seen = append([]string{}, facts.Dirty...)
		ref, _, err := s.save(ctx, w)
		back.Attic = cmp.Or(back.Attic, ref)
		return err
	}
	if err := keep(); err != nil {
		return err
	}
	if _, err := s.change(ctx, call{dir: w.Path, args: []string{"symbolic-ref", "HEAD", branches + TaskBranch(w.ID)}}); err != nil {
		return err
	}
	if err := s.resetFiles(ctx, w.Path, commit); err != nil {
		return err
	}
	if err := keep(); err != nil {
		return err
	}
	return s.cleanFiles(ctx, w.Path, true)
}

// differs lists how branch and worktree differ from commit.
func (r *Repo) differs(ctx context.Context, w Work, commit string) (changes []string, err error) {
	facts, err := r.Inspect(ctx, w.Path)
	if err != nil || !facts.Exists {
		return nil, err
	}
	tip, err := r.tip(ctx, TaskBranch(w.ID))
	if err != nil {
		return nil, err
	}
	for _, at := range []string{tip, facts.Head, cmp.Or(w.Left, commit)} {
		if at != commit {
			changes = append(changes, fmt.Sprintf("HEAD is %.9s, not %.9s", at, commit))
			break
		}
	}
	if facts.Branch != TaskBranch(w.ID) {
		at := "no branch"
		if facts.Branch != "" {
			at = facts.Branch
		}
		changes = append(changes, fmt.Sprintf("HEAD is on %s, not on %s", at, TaskBranch(w.ID)))
	}
	return append(changes, facts.Dirty...), nil
}
