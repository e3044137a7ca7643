package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// TakeOver brings the commits of a run on the task's branch into the repository, and moves the branch to them. It reads the
// name of one commit from the folder of the run, and the objects of this commit, which pass a quarantine and git's own check.
// It reads nothing else in the folder. Without a new commit it reads two small files.
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
	switch out.Commit {
	case f.record.Tip:
		return out, nil
	case own: // who took it over was killed before the index had it
		s, err := f.repo.lock(ctx)
		if err != nil {
			return fail(err)
		}
		defer s.unlock()
		if err := f.arrive(ctx, s, own); err != nil {
			return fail(err)
		}
		return out, nil
	}
	in := &incoming{repo: f.repo, tip: out.Commit, base: cmp.Or(own, f.record.Tip), known: f.knownTo(t, own), task: t.Task, last: last}
	if out.Refused, err = f.fetch(ctx, p, in); err == nil && (out.Refused == "" || in.sound) {
		err = f.move(ctx, t, in, own, &out)
	}
	if err != nil {
		return fail(err)
	}
	return out, nil
}

// fetch has the helper pack a commit of the folder, and brings it into the repository.
func (f *Folder) fetch(ctx context.Context, from private, in *incoming) (why string, err error) {
	path := f.repo.WorktreePath(f.record.Task)
	t, err := f.repo.help(ctx, path, f.repo.adminDir(path), wish{run: f.Git, tips: []string{in.tip}, known: in.known})
	if err != nil {
		return oddOr(err)
	}
	defer t.remove()
	if why, err = in.accept(ctx, t.pack); err == nil && why == "" {
		why, err = f.repo.takeLarge(ctx, from)
	}
	return why, err
}

// knownTo are the commits that the work may be based on.
func (f *Folder) knownTo(t Taking, own string) []string {
	all := slices.Concat(f.record.Known, t.Known, []string{f.record.Tip, own})
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(rev string) bool { return rev == "" })
}

// move moves the branch to the commits that came in. It saves commits that must not be there.
func (f *Folder) move(ctx context.Context, t Taking, in *incoming, own string, out *Taken) error {
	s, err := f.repo.lock(ctx)
	if err != nil {
		return err
	}
	defer s.unlock()
	if own != "" && own != f.record.Tip && out.Refused == "" && !t.Late {
		if further, err := s.IsAncestor(ctx, own, in.tip); err != nil {
			return err
		} else if !further {
			out.Refused = fmt.Sprintf("branch %s was moved to %.9s meanwhile", TaskBranch(t.Task), own)
		}
	}
	switch {
	case t.Late, out.Refused != "" && in.last:
		out.Attic, _, err = s.saveCommit(ctx, Work{ID: t.Task, Integration: own}, in.tip)
		return err
	case out.Refused != "":
		return nil
	}
	if err := s.setRef(ctx, branches+TaskBranch(t.Task), in.tip, own); err != nil {
		return err
	}
	out.Moved = true
	return f.arrive(ctx, s, in.tip)
}

// arrive ends a take-over of a commit that the branch has. The record is the last: without it the next one does the same again.
func (f *Folder) arrive(ctx context.Context, s *session, commit string) error {
	if err := s.indexAt(ctx, s.WorktreePath(f.record.Task), commit); err != nil {
		return err
	}
	f.record.Tip = commit
	return f.write()
}

// indexAt lets the worktree's own index have a commit that its files have already. It opens none of them.
func (s *session) indexAt(ctx context.Context, path, commit string) error {
	admin := s.adminDir(path)
	if admin == "" {
		return nil
	}
	_, err := s.change(ctx, call{dir: s.place.CommonDir, env: gitFolders(admin, s.place.CommonDir, admin), args: []string{"read-tree", "--reset", commit}})
	return err
}

// Left brings the present commit of the newest run of an agent on a task into the repository, without a ref, and returns it:
// for PutBack, if the run's work does not count. It returns "" if the run is where it began, if its commit was returned
// before, and if the commit is not sound; PutBack sees the files in any case.
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
		in := f.other(out.Head)
		if _, err := f.fetch(ctx, p, in); err != nil || !in.sound {
			return "", err
		}
	}
	f.record.Tip = out.Head
	return out.Head, f.write()
}

// other is a commit of the folder that is not on the branch to take over.
func (f *Folder) other(commit string) *incoming {
	return &incoming{repo: f.repo, tip: commit, base: f.record.Tip, known: f.knownTo(Taking{}, ""), task: f.record.Task, last: true}
}

// mostOthers is how many other tips of a folder are saved.
const mostOthers = 20

// saveOthers saves the commits on other branches of a folder that is removed, in its stash, or on no branch, in the attic. It
// skips those that cannot be read or are not sound.
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
		in := f.other(commit)
		if _, err := f.fetch(ctx, p, in); err != nil {
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

// RemoteBranches returns the remote branches in the git folder of a run, which move when the run fetches or pushes.
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

// Close ends the use of a folder after its run: it restores the worktree's .git, takes over the commits of a folder with
// Keep, and removes the folder. With late the task's branch stays where it is, and the commits are saved in the attic.
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

// Back is the result of PutBack.
type Back struct {
	Changes []string // differences of branch and worktree from the commit
	Attic   string   // ref of the saved differences, or ""
}

// PutBack resets the branch and the worktree of w.ID to commit. It first saves the differences in the attic: commits,
// changed, staged and untracked files, and tells w.Tell. Ignored files stay. If there are differences, it asks may under
// git.lock whether the reset is still allowed. It leaves a missing worktree to ProvideWorktree.
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
	return s.putBack(ctx, w, commit, back)
}

// putBackRounds is how often PutBack looks again: a file that was ignored shows when the .gitignore that hid it is gone.
const putBackRounds = 6

// putBack saves the differences, then has the helper undo them: first the tracked files, then the others. It saves
// differences that appear only then before they are removed.
func (s *session) putBack(ctx context.Context, w Work, commit string, back Back) (Back, error) {
	fail := func(err error) (Back, error) {
		return Back{}, fmt.Errorf("cannot put the worktree of %s back to %.9s: %w", w.ID, commit, err)
	}
	admin, left := s.adminDir(w.Path), back.Changes
	var seen []string
	for round := range putBackRounds {
		held, err := s.holding(ctx, w.ID, w.Path)
		if err != nil {
			return fail(err)
		}
		if round == 0 || slices.ContainsFunc(held.dirty, func(path string) bool { return !slices.Contains(seen, path) }) {
			ref, _, err := s.saveHeld(ctx, w, held)
			if err != nil {
				return fail(err)
			}
			seen, back.Attic = append(seen, held.dirty...), cmp.Or(back.Attic, ref)
		}
		if round == 0 && w.Tell != nil {
			if err := w.Tell(back); err != nil {
				return back, err
			}
		}
		undo := wish{head: commit, clean: true, nested: true}
		if round == 0 {
			undo = wish{head: commit, reset: true}
			if err := s.pointAt(ctx, w, commit); err != nil {
				return fail(err)
			}
		}
		t, err := s.help(ctx, w.Path, admin, undo)
		if err != nil {
			return fail(err)
		}
		t.remove()
		if err := s.indexAt(ctx, w.Path, commit); err != nil {
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

// pointAt brings the branch, and git's HEAD and index of the worktree, to a commit. Its files are left.
func (s *session) pointAt(ctx context.Context, w Work, commit string) error {
	admin := s.adminDir(w.Path)
	_, err := s.change(ctx, call{dir: s.place.CommonDir, env: gitFolders(admin, s.place.CommonDir, admin), args: []string{"symbolic-ref", "HEAD", branches + TaskBranch(w.ID)}})
	if err != nil {
		return err
	}
	tip, err := s.tip(ctx, TaskBranch(w.ID))
	if err == nil && tip != commit {
		err = s.setRef(ctx, branches+TaskBranch(w.ID), commit, tip)
	}
	return err
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
