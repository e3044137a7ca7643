package verb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"liza/pkg/blackboard"
	"liza/pkg/git"
	"liza/pkg/review"
	"liza/pkg/transition"
)

// TaskWorktree is one line of `liza worktree list`.
type TaskWorktree struct {
	Task   string            `json:"task"`
	Path   string            `json:"path"`
	Branch string            `json:"branch,omitempty"`
	Head   string            `json:"head,omitempty"`
	Status blackboard.Status `json:"status,omitempty"` // "": no task of that id
	Dirty  int               `json:"dirty"`            // number of paths that are not committed
}

// Worktrees lists the worktrees under .worktrees/.
func (d *Service) Worktrees(ctx context.Context) ([]TaskWorktree, error) {
	s, err := d.View(ctx)
	if err != nil {
		return nil, err
	}
	all, err := d.Repo.Worktrees(ctx)
	if err != nil {
		return nil, err
	}
	out := []TaskWorktree{}
	for _, w := range all {
		i := strings.LastIndex(w.Path, "/.worktrees/")
		if w.Main || i < 0 {
			continue
		}
		x := TaskWorktree{Task: w.Path[i+len("/.worktrees/"):], Path: d.Rel(w.Path), Branch: w.Branch, Head: w.Head}
		if t := s.Task(x.Task); t != nil {
			x.Status = t.Status
		}
		if f, err := d.Repo.Inspect(ctx, w.Path); err == nil {
			x.Dirty = len(f.Dirty)
		}
		out = append(out, x)
	}
	return out, nil
}

// CreateWorktree provides the worktree of a task that has one on the board but not on disk
// (specs/protocol.md#7.3); an existing one is left as it is.
func (d *Service) CreateWorktree(ctx context.Context, id string) (TaskWorktree, error) {
	s, err := d.View(ctx)
	if err != nil {
		return TaskWorktree{}, err
	}
	t := s.Task(id)
	if t == nil {
		return TaskWorktree{}, d.Unknown(s, id)
	}
	if t.Status.Terminal() || t.Worktree == "" {
		return TaskWorktree{}, &transition.Refusal{Guard: "G06", Exit: transition.ExitRefused, Next: "liza claim " + id,
			Message: fmt.Sprintf("task %s is %s and has no worktree; a claim makes it", id, t.Status)}
	}
	p, err := d.provideAgain(ctx, s, t)
	if err != nil {
		return TaskWorktree{}, err
	}
	return TaskWorktree{Task: id, Path: d.Rel(p.Path), Branch: p.Branch, Head: p.Head, Status: t.Status}, nil
}

// EnsureWorktree makes the worktree of a task again whose folder is gone. Its work is on its
// branch; what was not committed went with the folder.
func (d *Service) EnsureWorktree(ctx context.Context, s *blackboard.State, t *blackboard.Task) error {
	if d.Rehearsal || t == nil || t.Worktree == "" || t.KindOf() == blackboard.MessageTask {
		return nil
	}
	if d.elsewhere(t) {
		if tip, err := d.Repo.BranchTip(ctx, git.TaskBranch(t.ID)); err == nil && tip != t.ReviewCommit && t.ReviewCommit != "" {
			if err := d.shelve(ctx, s, t); err != nil { // of an earlier claim or review here
				return err
			}
		}
	}
	_, err := os.Lstat(filepath.Join(d.Repo.WorktreePath(t.ID), ".git"))
	if !errors.Is(err, fs.ErrNotExist) {
		return nil // what else is wrong with it is told by anyone who uses it
	}
	p, err := d.provideAgain(ctx, s, t)
	if err != nil {
		return err
	}
	if d.elsewhere(t) {
		return nil // this host never had it
	}
	text := fmt.Sprintf("the folder %s was gone; it was made again at %.9s", t.Worktree, p.Head)
	if p.Lost != "" {
		text += ", and what was there was moved to " + d.Rel(p.Lost)
	}
	d.Progressf("%s: %s", t.ID, text)
	d.Warn(ctx, t.ID, blackboard.ActionWorktreeMadeAgain, text)
	return nil
}

// provideAgain is ProvideWorktree for a task that has a worktree on the board.
func (d *Service) provideAgain(ctx context.Context, s *blackboard.State, t *blackboard.Task) (git.Provided, error) {
	head, err := d.IntegrationHead(ctx, s)
	if err != nil {
		return git.Provided{}, err
	}
	nonce, err := d.RandomHex(8)
	if err != nil {
		return git.Provided{}, err
	}
	if err := d.fetch(ctx, t.ReviewCommit, lastCommit(t), t.BaseCommit); err != nil {
		return git.Provided{}, err
	}
	if d.elsewhere(t) && t.ReviewCommit != "" {
		if there, err := d.Repo.CommitExists(ctx, t.ReviewCommit); err != nil {
			return git.Provided{}, err
		} else if !there {
			return git.Provided{}, &transition.Refusal{Exit: transition.ExitRefused, Next: fmt.Sprintf("git push %s %s, on host %s", d.Remote(), git.TaskBranch(t.ID), t.Host),
				Message: fmt.Sprintf("commit %.9s of task %s is neither here nor on the remote %s: host %s has not pushed it", t.ReviewCommit, t.ID, d.Remote(), t.Host)}
		}
	}
	p, err := d.Repo.ProvideWorktree(ctx, git.Provide{ID: t.ID, Base: cmp.Or(t.BaseCommit, head), Keep: true,
		Candidates: []string{t.ReviewCommit, lastCommit(t)}, Nonce: nonce, Now: d.Now()})
	if err != nil {
		return p, err
	}
	if p.Created {
		if err := d.SetUp(ctx, t.ID); err != nil {
			return p, errors.Join(err, d.Repo.Abandon(context.WithoutCancel(ctx), t.ID, nonce))
		}
	}
	return p, d.Repo.UnlockWorktree(ctx, t.ID)
}

// RemoveWorktree removes worktree and branch of a task, but only with proof that nothing
// is lost (specs/decisions.md#D21).
func (d *Service) RemoveWorktree(ctx context.Context, id string) error {
	s, err := d.View(ctx)
	if err != nil {
		return err
	}
	if t := s.Task(id); t != nil && t.Status.Active() && t.Worktree != "" {
		return &transition.Refusal{Guard: "G06", Exit: transition.ExitRefused, Next: "liza show " + id,
			Message: fmt.Sprintf("task %s is %s and needs its worktree", id, t.Status)}
	}
	_, branch := d.Repo.BranchTip(ctx, "task/"+id)
	if d.WorktreeOf(ctx, id) == "" && branch != nil {
		return NothingToDo(fmt.Sprintf("task %s has no worktree and no branch", id))
	}
	return d.DropWorktree(ctx, id)
}

// Unknown is the refusal for a task that is not there.
func (d *Service) Unknown(s *blackboard.State, id string) error {
	return transition.UnholdTask(s.Clone(), id, transition.Actor{ID: blackboard.Human}, transition.Input{}, d.Now())
}

// SetUp runs the project's worktree.setup commands in a task's worktree.
func (d *Service) SetUp(ctx context.Context, task string) error {
	for _, command := range d.Config().Worktree.Setup {
		res := review.Command{Shell: command, Dir: d.Repo.WorktreePath(task), Log: d.Project.SetupLog(task), Mask: d.MaskLog,
			Timeout: d.Config().Limits.CheckTimeout}.RunIn(ctx, d.Enclose)
		if res.Err != nil || res.ExitCode != 0 {
			e := &SetupError{Task: task, Tail: strings.Split(review.TailOf(d.Project.SetupLog(task)), "\n")}
			e.Message = fmt.Sprintf("cannot set up the worktree of %s: %q ended with exit code %d (see %s)%s", task, command, res.ExitCode, d.Project.SetupLog(task), res.Unreached())
			if ctx.Err() != nil { // it was stopped
				return errors.New(e.Message)
			}
			return e
		}
	}
	return nil
}

// SetupError says that a command of worktree.setup failed. Of a claim it is counted with the crashes of the task.
type SetupError struct {
	Task    string
	Message string
	Tail    []string // its last lines
	Times   int      // crashes and such failures of the task in a row; 0: not counted
	Blocked bool     // it was the last one that limits.task_crashes allows
}

func (e *SetupError) Error() string { return e.Message }

// DropWorktree removes worktree and branch of a task whose work is saved (specs/decisions.md#D21).
func (d *Service) DropWorktree(ctx context.Context, task string) error {
	if d.Rehearsal {
		return nil
	}
	s, err := d.View(ctx)
	if err != nil {
		return err
	}
	head := d.provenTip(ctx, s)
	d.Failpoint("drop.worktree")
	return d.Repo.Remove(ctx, task, git.Proof{Integration: head})
}
