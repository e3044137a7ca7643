package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
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
