package worktree

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/code/git"
	"liza/pkg/verb/board"
	"liza/pkg/verb/integration"
)

// Hosts returns the worktrees of a project that several hosts work on: a worktree belongs to its host, and on another one the work of the task is
// what was pushed.
func Hosts(b *board.Session, i *integration.Branch) *Worktrees {
	w := trees{b, i}
	return &Worktrees{w, hosts{local{w}}}
}

type hosts struct{ local }

// Provide gives up what this host has of a task that another host had since: it is older than what was pushed there.
func (h hosts) Provide(ctx context.Context, c Claim) (Provided, error) {
	if t := &c.Task; h.board.Elsewhere(t) {
		s, err := h.board.View(ctx)
		if err == nil {
			err = h.shelve(ctx, s, t)
		}
		if err == nil && (t.Status == blackboard.Claimed || t.Status == blackboard.Rejected) { // by another coder, who goes on where it can
			c.Keep, err = h.pushed(ctx, t)
		}
		if err != nil {
			return Provided{}, err
		}
	}
	return h.local.Provide(ctx, c)
}

func (h hosts) Ensure(ctx context.Context, s *blackboard.State, t *blackboard.Task) error {
	if !h.needed(t) || !h.board.Elsewhere(t) {
		return h.local.Ensure(ctx, s, t)
	}
	if tip, err := h.board.Repo.BranchTip(ctx, git.TaskBranch(t.ID)); err == nil && tip != t.ReviewCommit && t.ReviewCommit != "" {
		if err := h.shelve(ctx, s, t); err != nil { // of an earlier claim or review here
			return err
		}
	}
	if !h.missing(t) {
		return nil
	}
	_, err := h.Again(ctx, s, t)
	return err // it is not told: this host never had it
}

func (h hosts) Again(ctx context.Context, s *blackboard.State, t *blackboard.Task) (git.Provided, error) {
	if h.board.Elsewhere(t) && t.ReviewCommit != "" {
		there, err := h.here(ctx, t.ReviewCommit)
		if err == nil && !there {
			err = board.Refuse(fmt.Sprintf("git push %s %s, on host %s", h.board.Remote(), git.TaskBranch(t.ID), t.Host),
				"commit %.9s of task %s is neither here nor on the remote %s: host %s has not pushed it", t.ReviewCommit, t.ID, h.board.Remote(), t.Host)
		}
		if err != nil {
			return git.Provided{}, err
		}
	}
	return h.local.Again(ctx, s, t)
}

// here fetches commit, and others with it, and reports whether it is in this repository then.
func (h hosts) here(ctx context.Context, commit string, others ...string) (bool, error) {
	if err := h.branch.Fetch(ctx, append(others, commit)...); err != nil {
		return false, err
	}
	return h.board.Repo.CommitExists(ctx, commit)
}

// pushed reports whether work of a task that another host has can be gone on with here. A commit that an earlier claim recorded, from before the
// present base, is not such work.
func (h hosts) pushed(ctx context.Context, t *blackboard.Task) (bool, error) {
	for _, c := range recorded(t) {
		if c == "" || c == t.BaseCommit {
			continue
		}
		there, err := h.here(ctx, c, t.BaseCommit)
		if err == nil && there {
			there, err = h.branch.ContainsBase(ctx, t.BaseCommit, c)
		}
		if err != nil || there {
			return there, err
		}
	}
	return false, nil
}

func (h hosts) Leave(ctx context.Context, s *blackboard.State, t *blackboard.Task) (work bool, attic string, err error) {
	if !h.board.Elsewhere(t) {
		return h.local.Leave(ctx, s, t)
	}
	work, err = h.pushed(ctx, t)
	return work, "", err
}

func (h hosts) Tip(ctx context.Context, t *blackboard.Task) string {
	if !h.board.Elsewhere(t) {
		return h.local.Tip(ctx, t)
	}
	if there, err := h.pushed(ctx, t); err != nil || !there {
		return ""
	}
	known := recorded(t)
	return known[len(known)-1]
}

// shelve saves what this host has of a task whose worktree another host has now, and removes it. What was not pushed before goes to the attic, also
// on the remote, and the task says so.
func (h hosts) shelve(ctx context.Context, s *blackboard.State, t *blackboard.Task) error {
	path, host := h.board.Repo.WorktreeOf(t.ID), h.board.ThisHost()
	tip, err := h.board.Repo.BranchTip(ctx, git.TaskBranch(t.ID))
	if err != nil && !errors.Is(err, git.ErrNotFound) {
		return err
	}
	if path == "" && tip == "" {
		return nil
	}
	work := git.Work{ID: t.ID, Path: path, Reason: "left on host " + host, Integration: h.branch.ProvenTip(ctx, s), Base: t.BaseCommit}
	if tip != "" {
		pushed, err := h.board.Repo.Pushed(ctx, h.board.Remote(), []string{tip})
		if err != nil {
			return err
		}
		if pushed[tip] || tip == t.ReviewCommit {
			work.Base = tip
		}
	}
	ref, _, err := h.board.Repo.Save(ctx, work)
	if err != nil {
		return err
	}
	h.board.Failpoint("shelve.saved")
	if ref != "" {
		text := fmt.Sprintf("work of an earlier claim on host %s had not been pushed; it is saved there as %s", host, ref)
		if there, err := h.publishAttic(ctx, t.ID, ref); err != nil {
			text += fmt.Sprintf(" and could not be pushed: %v", err)
		} else {
			text += fmt.Sprintf(" and on %s as %s", h.board.Remote(), there)
		}
		err := h.board.Update(ctx, "anomaly", func(s *blackboard.State, _ transition.Actor) error {
			transition.AddAnomalyOnce(s, t.ID, blackboard.AnomalyUnpushedWork, text, h.board.Now())
			return nil
		})
		if err != nil {
			return err
		}
	}
	return h.board.Repo.Remove(ctx, t.ID, git.Proof{Integration: work.Integration, Base: work.Base})
}

// Shelve leaves tasks alone that somebody here still works on.
func (h hosts) Shelve(ctx context.Context) (did []string) {
	for _, id := range h.tasksHere(ctx) {
		s, err := h.board.View(ctx)
		if err != nil {
			return append(did, err.Error())
		}
		t := s.Task(id)
		if !h.board.Elsewhere(t) || t.Status.Terminal() || t.Claiming != nil || t.ReviewingBy != "" || atWork(s, h.board.ThisHost(), id) {
			continue
		}
		if err := h.shelve(ctx, s, t); err != nil {
			did = append(did, fmt.Sprintf("%s: cannot give up what this host has of it: %v", id, err))
			continue
		}
		did = append(did, fmt.Sprintf("%s is on host %s now; what this host had of it is saved", id, t.Host))
	}
	return did
}

// atWork reports whether an agent of a host is at work on a task.
func atWork(s *blackboard.State, host, task string) bool {
	for _, a := range s.Agents {
		if a.Host == host && (a.CurrentTask == task || a.Child != nil && a.Child.Task == task) {
			return true
		}
	}
	return false
}

// pushes reports whether work is pushed to a remote.
func (w trees) pushes() bool { return w.board.Remote() != "" && !w.board.Rehearsal }

// push pushes the branch of a task in work. That it cannot be pushed stops nothing: the work is here.
func (w trees) push(ctx context.Context, id string) {
	if !w.pushes() {
		return
	}
	s, err := w.board.View(ctx)
	if err != nil {
		return
	}
	t := s.Task(id)
	if !w.inWork(t) {
		return
	}
	tip, err := w.board.Repo.BranchTip(ctx, git.TaskBranch(id))
	if err != nil || tip == t.BaseCommit {
		return
	}
	if err := w.Publish(ctx, id, tip); err != nil {
		w.board.Progressf("%s: cannot push its work: %v", id, err)
	}
}

// PublishSubmission pushes what is handed in before the board says so, where work is pushed. It does not when the rules refuse the submission.
func (w trees) PublishSubmission(ctx context.Context, s *blackboard.State, task string, event transition.Input) (published bool, err error) {
	if !w.pushes() || event.Submission == nil {
		return true, nil
	}
	who, err := w.board.Identify()
	if err != nil {
		return false, err
	}
	if transition.Submit(s.Clone(), task, who.Actor(s), event, w.board.Now()) != nil {
		return false, nil // the event says why
	}
	return true, w.Publish(ctx, task, event.Submission.Commit)
}

// Publish puts a commit on the task's branch of the remote, in the place of what an earlier attempt left there. The caller has looked whether the
// task is still its own: anybody who takes it over moves the branch, and this push fails then.
func (w trees) Publish(ctx context.Context, task, commit string) error {
	remote, ref := w.board.Remote(), "refs/heads/"+git.TaskBranch(task)
	at, err := w.board.Repo.RemoteRefs(ctx, remote, ref)
	if err != nil || at[ref] == commit {
		return err
	}
	w.board.Failpoint("publish")
	return w.board.Repo.Push(ctx, remote, git.RemoteChange{Ref: ref, New: commit, Old: at[ref]})
}

// publishAttic pushes saved work. Hosts number theirs by themselves, so the remote's ref has the host's name in it.
func (w trees) publishAttic(ctx context.Context, id, ref string) (there string, err error) {
	if !w.pushes() {
		return "", nil
	}
	commit, err := w.board.Repo.Ref(ctx, ref)
	if err != nil {
		return "", err
	}
	there = "refs/liza/attic/" + id + "/" + w.board.Proc.Host + "-" + filepath.Base(ref)
	err = w.board.Repo.Push(ctx, w.board.Remote(), git.RemoteChange{Ref: there, New: commit})
	if errors.Is(err, git.ErrRefMoved) { // a clone that was made again counts from the beginning
		there += "-" + blackboard.ShortCommit(commit)
		err = w.board.Repo.Push(ctx, w.board.Remote(), git.RemoteChange{Ref: there, New: commit})
	}
	return there, err
}
