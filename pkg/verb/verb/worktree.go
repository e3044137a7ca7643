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

	"liza/pkg/base/prose"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/code/git"
	"liza/pkg/code/review"
	"liza/pkg/verb/board"
)

// Worktrees has the verbs about the worktrees of tasks, on this host and between hosts.
type Worktrees struct{ verbs *Service }

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
func (w Worktrees) Worktrees(ctx context.Context) ([]TaskWorktree, error) {
	s, err := w.verbs.Board.View(ctx)
	if err != nil {
		return nil, err
	}
	all, err := w.verbs.Board.Repo.Worktrees(ctx)
	if err != nil {
		return nil, err
	}
	out := []TaskWorktree{}
	for _, tree := range all {
		i := strings.LastIndex(tree.Path, "/.worktrees/")
		if tree.Main || i < 0 {
			continue
		}
		x := TaskWorktree{Task: tree.Path[i+len("/.worktrees/"):], Path: w.verbs.Board.Rel(tree.Path), Branch: tree.Branch, Head: tree.Head}
		if t := s.Task(x.Task); t != nil {
			x.Status = t.Status
		}
		if f, err := w.verbs.Board.Repo.Inspect(ctx, tree.Path); err == nil {
			x.Dirty = len(f.Dirty)
		}
		out = append(out, x)
	}
	return out, nil
}

// CreateWorktree provides the worktree of a task that has one on the board but not on disk
// (specs/protocol.md#7.3); an existing one is left as it is.
func (w Worktrees) CreateWorktree(ctx context.Context, id string) (TaskWorktree, error) {
	s, err := w.verbs.Board.View(ctx)
	if err != nil {
		return TaskWorktree{}, err
	}
	t := s.Task(id)
	if t == nil {
		return TaskWorktree{}, w.verbs.Board.Unknown(s, id)
	}
	if t.Status.Terminal() || t.Worktree == "" {
		return TaskWorktree{}, &transition.Refusal{Guard: "G06", Exit: transition.ExitRefused, Next: "liza claim " + id,
			Message: fmt.Sprintf("task %s is %s and has no worktree; a claim makes it", id, t.Status)}
	}
	p, err := w.provideAgain(ctx, s, t)
	if err != nil {
		return TaskWorktree{}, err
	}
	return TaskWorktree{Task: id, Path: w.verbs.Board.Rel(p.Path), Branch: p.Branch, Head: p.Head, Status: t.Status}, nil
}

// EnsureWorktree makes the worktree of a task again whose folder is gone. Its work is on its
// branch; what was not committed went with the folder.
func (w Worktrees) EnsureWorktree(ctx context.Context, s *blackboard.State, t *blackboard.Task) error {
	if w.verbs.Board.Rehearsal || t == nil || t.Worktree == "" || t.KindOf() == blackboard.MessageTask {
		return nil
	}
	if w.verbs.Board.Elsewhere(t) {
		if tip, err := w.verbs.Board.Repo.BranchTip(ctx, git.TaskBranch(t.ID)); err == nil && tip != t.ReviewCommit && t.ReviewCommit != "" {
			if err := w.shelve(ctx, s, t); err != nil { // of an earlier claim or review here
				return err
			}
		}
	}
	_, err := os.Lstat(filepath.Join(w.verbs.Board.Repo.WorktreePath(t.ID), ".git"))
	if !errors.Is(err, fs.ErrNotExist) {
		return nil // what else is wrong with it is told by anyone who uses it
	}
	p, err := w.provideAgain(ctx, s, t)
	if err != nil {
		return err
	}
	if w.verbs.Board.Elsewhere(t) {
		return nil // this host never had it
	}
	text := fmt.Sprintf("the folder %s was gone; it was made again at %.9s", t.Worktree, p.Head)
	if p.Lost != "" {
		text += ", and what was there was moved to " + w.verbs.Board.Rel(p.Lost)
	}
	w.verbs.Board.Progressf("%s: %s", t.ID, text)
	w.verbs.Board.Warn(ctx, t.ID, blackboard.ActionWorktreeMadeAgain, text)
	return nil
}

// provideAgain is ProvideWorktree for a task that has a worktree on the board.
func (w Worktrees) provideAgain(ctx context.Context, s *blackboard.State, t *blackboard.Task) (git.Provided, error) {
	head, err := w.verbs.Integration.IntegrationHead(ctx, s)
	if err != nil {
		return git.Provided{}, err
	}
	nonce, err := w.verbs.Board.RandomHex(8)
	if err != nil {
		return git.Provided{}, err
	}
	if err := w.verbs.Integration.Fetch(ctx, t.ReviewCommit, lastCommit(t), t.BaseCommit); err != nil {
		return git.Provided{}, err
	}
	if w.verbs.Board.Elsewhere(t) && t.ReviewCommit != "" {
		if there, err := w.verbs.Board.Repo.CommitExists(ctx, t.ReviewCommit); err != nil {
			return git.Provided{}, err
		} else if !there {
			return git.Provided{}, &transition.Refusal{Exit: transition.ExitRefused, Next: fmt.Sprintf("git push %s %s, on host %s", w.verbs.Board.Remote(), git.TaskBranch(t.ID), t.Host),
				Message: fmt.Sprintf("commit %.9s of task %s is neither here nor on the remote %s: host %s has not pushed it", t.ReviewCommit, t.ID, w.verbs.Board.Remote(), t.Host)}
		}
	}
	p, err := w.verbs.Board.Repo.ProvideWorktree(ctx, git.Provide{ID: t.ID, Base: cmp.Or(t.BaseCommit, head), Keep: true,
		Candidates: []string{t.ReviewCommit, lastCommit(t)}, Nonce: nonce, Now: w.verbs.Board.Now()})
	if err != nil {
		return p, err
	}
	if p.Created {
		if err := w.SetUp(ctx, t.ID); err != nil {
			return p, errors.Join(err, w.verbs.Board.Repo.Abandon(context.WithoutCancel(ctx), t.ID, nonce))
		}
	}
	return p, w.verbs.Board.Repo.UnlockWorktree(ctx, t.ID)
}

// RemoveWorktree removes worktree and branch of a task, but only with proof that nothing
// is lost (specs/decisions.md#D21).
func (w Worktrees) RemoveWorktree(ctx context.Context, id string) error {
	s, err := w.verbs.Board.View(ctx)
	if err != nil {
		return err
	}
	if t := s.Task(id); t != nil && t.Status.Active() && t.Worktree != "" {
		return &transition.Refusal{Guard: "G06", Exit: transition.ExitRefused, Next: "liza show " + id,
			Message: fmt.Sprintf("task %s is %s and needs its worktree", id, t.Status)}
	}
	_, branch := w.verbs.Board.Repo.BranchTip(ctx, "task/"+id)
	if w.verbs.Integration.WorktreeOf(ctx, id) == "" && branch != nil {
		return board.NothingToDo(fmt.Sprintf("task %s has no worktree and no branch", id))
	}
	return w.DropWorktree(ctx, id)
}

// SetUp runs the project's worktree.setup commands in a task's worktree.
func (w Worktrees) SetUp(ctx context.Context, task string) error {
	for _, command := range w.verbs.Board.Config().Worktree.Setup {
		res := review.Command{Shell: command, Dir: w.verbs.Board.Repo.WorktreePath(task), Log: w.verbs.Board.Project.SetupLog(task), Mask: w.verbs.Board.MaskLog,
			Timeout: w.verbs.Board.Config().Limits.CheckTimeout}.RunIn(ctx, w.verbs.Board.Enclose)
		if res.Err != nil || res.ExitCode != 0 {
			e := &SetupError{Task: task, Tail: strings.Split(review.TailOf(w.verbs.Board.Project.SetupLog(task)), "\n")}
			e.Message = fmt.Sprintf("cannot set up the worktree of %s: %q ended with exit code %d (see %s)%s", task, command, res.ExitCode, w.verbs.Board.Project.SetupLog(task), res.Unreached())
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
func (w Worktrees) DropWorktree(ctx context.Context, task string) error {
	if w.verbs.Board.Rehearsal {
		return nil
	}
	s, err := w.verbs.Board.View(ctx)
	if err != nil {
		return err
	}
	head := w.verbs.Integration.ProvenTip(ctx, s)
	w.verbs.Board.Failpoint("drop.worktree")
	return w.verbs.Board.Repo.Remove(ctx, task, git.Proof{Integration: head})
}

// TakeOver brings what the run of a coder has committed into the repository, where the task is still being worked on.
// Anyone who works in the worktree without a git folder of a run has committed to the repository already.
func (w Worktrees) TakeOver(ctx context.Context, id string) (git.Taken, error) {
	s, err := w.verbs.Board.View(ctx)
	if err != nil {
		return git.Taken{}, err
	}
	return w.takeOver(ctx, s, s.Task(id))
}

func (w Worktrees) takeOver(ctx context.Context, s *blackboard.State, t *blackboard.Task) (git.Taken, error) {
	if w.verbs.Board.Rehearsal || t == nil || t.Status != blackboard.Claimed || !t.ChangesFiles() || w.verbs.Board.Elsewhere(t) {
		return git.Taken{}, nil
	}
	integration, err := w.verbs.Integration.KnownTip(ctx, s)
	if err != nil {
		return git.Taken{}, err
	}
	taken, err := w.verbs.Board.Repo.TakeOver(ctx, git.Taking{Task: t.ID, Known: append(t.Bases(), integration)})
	if taken.Moved {
		w.verbs.Board.Failpoint("taken over")
	}
	return taken, err
}

// GitFolder is what a run of an agent on a task, or with "" in the main checkout, needs of git: a folder of its own.
// With keep its commits are the task's work. With redirect, so without a wall, it also knows the remotes: policy.push decides
// about them.
func (w Worktrees) GitFolder(ctx context.Context, s *blackboard.State, t *blackboard.Task, agent string, keep, redirect bool) (*git.Folder, error) {
	tip, err := w.verbs.Integration.KnownTip(ctx, s)
	if err != nil {
		return nil, err
	}
	spec := git.FolderSpec{Agent: agent, Redirect: redirect, Remotes: redirect, Branches: map[string]string{s.IntegrationBranch(): tip}}
	if t != nil {
		spec.Task, spec.Keep, spec.Known = t.ID, keep, append(t.Bases(), tip)
	}
	return w.verbs.Board.Repo.OpenFolder(ctx, spec)
}

// CloseGitFolder ends the use of a folder when its run is over. What was committed after the submission, or after the
// claim of the run went to somebody else, is saved in the attic and told.
func (w Worktrees) CloseGitFolder(ctx context.Context, f *git.Folder, id string, m board.Mark) error {
	s, err := w.verbs.Board.View(ctx)
	if err != nil {
		return err
	}
	t := s.Task(id)
	late := t == nil || t.Status.Terminal() || atRest(t) || t.Status == blackboard.Claimed && (t.AssignedTo != m.Agent || t.ClaimSeq != m.ClaimSeq)
	taken, err := f.Close(ctx, late)
	return errors.Join(err, w.tellTaken(ctx, id, taken, late))
}

// tellTaken tells of commits that are not on the task's branch.
func (w Worktrees) tellTaken(ctx context.Context, id string, taken git.Taken, late bool) error {
	if len(taken.Others) > 0 {
		w.verbs.Board.Warn(ctx, id, blackboard.ActionCommitsElsewhere, "commits on other branches, or in the stash, were saved as "+prose.Few(taken.Others, 5))
	}
	if taken.Attic == "" && taken.Refused == "" {
		return nil
	}
	what, kept := fmt.Sprintf("commit %.9s", taken.Commit), ""
	if taken.Attic != "" {
		kept = "; saved as " + taken.Attic
	}
	if late {
		text := "work after the submission: " + what + kept
		w.verbs.Board.Progressf("%s: %s", id, text)
		return w.verbs.Board.NoteAnomaly(ctx, id, blackboard.AnomalyLateWork, text)
	}
	w.verbs.Board.Warn(ctx, id, blackboard.ActionCommitsRefused, prose.FirstLine(what+" was not taken over: "+taken.Refused+kept))
	return nil
}

// SettleFolders takes over what runs have left whose supervisors were killed. It returns what it did, for the log.
func (w Worktrees) SettleFolders(ctx context.Context) ([]string, error) {
	s, err := w.verbs.Board.View(ctx)
	if err != nil {
		return nil, err
	}
	var did []string
	for _, id := range w.verbs.Board.Repo.LeftFolders() {
		t := s.Task(id)
		late := t == nil || t.Status.Terminal() || atRest(t)
		taken, err := w.verbs.Board.Repo.Settle(ctx, id, late)
		if err == nil {
			err = w.tellTaken(ctx, id, taken, late)
		}
		if err != nil {
			return did, err
		}
		if taken.Moved {
			did = append(did, fmt.Sprintf("took over commit %.9s of %s, whose run was killed", taken.Commit, id))
		}
	}
	return did, w.verbs.Board.Repo.ClearFolders(ctx)
}

// atRest reports whether a task was submitted and no coder can be at work on it.
func atRest(t *blackboard.Task) bool {
	if t == nil || t.ReviewCommit == "" || t.Worktree == "" || !t.ChangesFiles() {
		return false
	}
	switch t.Status {
	case blackboard.ReadyForReview, blackboard.Approved, blackboard.Blocked:
		return true
	case blackboard.Rejected:
		return t.Claiming == nil
	}
	return false
}

// PutBack brings branch and worktree of a task back to the commit that was submitted, saves
// what differs in the attic, and makes a folder that is gone again. What differs is the work of
// reviewer, who had the worktree last; with "", and as long as the coder's program still runs,
// it came late. The text says what the reviewer changed, "" for nothing.
//
// Nobody may be at work there: once a coder has claimed rejected work, the worktree is left
// alone.
func (w Worktrees) PutBack(ctx context.Context, id, reviewer string) (string, error) {
	s, err := w.verbs.Board.View(ctx)
	if err != nil {
		return "", err
	}
	t := s.Task(id)
	if w.verbs.Board.Rehearsal || !atRest(t) {
		return "", nil
	}
	if _, err := w.verbs.Board.Repo.Relink(ctx, id); err != nil {
		return "", err
	}
	if taken, err := w.verbs.Board.Repo.Settle(ctx, id, true); err != nil {
		return "", err
	} else if err := w.tellTaken(ctx, id, taken, true); err != nil {
		return "", err
	}
	if err := w.EnsureWorktree(ctx, s, t); err != nil {
		return "", err
	}
	reason, left := "put back before a review", ""
	if reviewer != "" {
		if left, err = w.verbs.Board.Repo.Left(ctx, id, reviewer); err != nil {
			return "", err
		}
		reason = "made during the review of " + reviewer
	}
	back, err := w.verbs.Board.Repo.PutBack(ctx, git.Work{ID: id, Reason: reason, Base: t.BaseCommit, Left: left}, t.ReviewCommit, func() (bool, error) {
		s, err := w.verbs.Board.View(ctx)
		if err != nil {
			return false, err
		}
		now := s.Task(id)
		return atRest(now) && now.ReviewCommit == t.ReviewCommit, nil
	})
	if err != nil || len(back.Changes) == 0 {
		return "", err
	}
	what := prose.Few(back.Changes, 10)
	if back.Attic != "" {
		what += "; saved as " + back.Attic
	}
	coder := s.Agents[t.AssignedTo]
	if reviewer == "" || coder != nil && coder.Child != nil && coder.Child.Task == id {
		w.verbs.Board.Progressf("%s: work after the submission: %s", id, what)
		return "", w.verbs.Board.NoteAnomaly(ctx, id, blackboard.AnomalyLateWork, "work after the submission: "+what)
	}
	return what, w.verbs.Board.Update(ctx, "anomaly", func(s *blackboard.State, _ transition.Actor) error {
		transition.AddAnomaly(s, id, blackboard.System, blackboard.AnomalyReviewerChanges, blackboard.Settings{"agent": reviewer, "what": what}, w.verbs.Board.Now())
		return nil
	})
}

// judges reports whether the caller has the review claim of a task.
func (v *Service) judges(s *blackboard.State, id string) bool {
	t := s.Task(id)
	if t == nil || t.Status != blackboard.ReadyForReview || t.ReviewingBy == "" || t.ReviewingBy != v.caller() {
		return false
	}
	who, err := v.Board.Identify()
	if err != nil {
		return false
	}
	_, err = transition.Identify(s.Clone(), who.Actor(s), v.Board.Now())
	return err == nil
}

// caller is the agent as which the caller acts, "" for a person.
func (v *Service) caller() string { return cmp.Or(v.Board.Caller.AgentID, v.Board.Caller.As) }

// ChangedByReviewer is what a reviewer is told who approves work that it has changed.
func ChangedByReviewer(t *blackboard.Task, what string) string {
	return fmt.Sprintf("you changed the work that you judge, so this approval does not count: %s. The worktree is back at %.9s, what was submitted. Judge that without changing it", what, t.ReviewCommit)
}
