// Package worktree keeps the worktrees of tasks: what a claim does outside of the board, what runs have committed, the way back to what was
// submitted, and what is left after a crash.
//
// A [Provider] knows where the work of a task is: [Local] in this repository, [Hosts] also on other hosts of the board, which push it to a remote.
// The process chooses one when it is put together; everything else is the same for both.
package worktree

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

	"liza/pkg/base/prose"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/code/git"
	"liza/pkg/code/review"
	"liza/pkg/verb/board"
	"liza/pkg/verb/checks"
	"liza/pkg/verb/integration"
)

// Worktrees are the worktrees of a project's tasks, for one caller.
type Worktrees struct {
	trees
	Provider
}

// A Provider gives tasks worktrees with their work, and says where that is.
type Provider interface {
	// Provide makes the worktree of a claim and sets it up. Confirm or Cancel ends the claim.
	Provide(ctx context.Context, c Claim) (Provided, error)
	// Ensure makes the worktree of a task again whose folder is gone. Its work is on its branch; what was not committed went with the folder.
	Ensure(ctx context.Context, s *blackboard.State, t *blackboard.Task) error
	// Again provides the worktree of a task that has one on the board; an existing one is left as it is.
	Again(ctx context.Context, s *blackboard.State, t *blackboard.Task) (git.Provided, error)
	// Leave reports whether a claim that ends leaves work behind. What is not committed is saved to the attic.
	Leave(ctx context.Context, s *blackboard.State, t *blackboard.Task) (work bool, attic string, err error)
	// Tip returns the commit at which the work of a task can go on, or "".
	Tip(ctx context.Context, t *blackboard.Task) string
	// Shelve gives up what this host has of tasks that other hosts have taken over, and returns what it did, for the log.
	Shelve(ctx context.Context) []string
}

// trees has what all providers share.
type trees struct {
	board  *board.Session
	branch *integration.Branch
}

// Local returns the worktrees of a project whose work is in this repository alone.
func Local(b *board.Session, i *integration.Branch) *Worktrees {
	w := trees{b, i}
	return &Worktrees{w, local{w}}
}

type local struct{ trees }

// A Claim is what phase one of a claim has decided (specs/protocol.md#7.2).
type Claim struct {
	Task  blackboard.Task // as it was reserved
	Base  string          // head of the integration branch
	Keep  bool            // the work that is there goes on
	Nonce string          // names the claim in git's lock of the worktree
}

// Provided is what phase two of a claim has found and done.
type Provided struct {
	Facts     transition.ClaimFacts // for phase three
	Attic     string                // ref that holds former work
	Recovered *bool                 // whether work that was gone was had back; nil: nothing was gone
	Warnings  []string
}

func (l local) Provide(ctx context.Context, c Claim) (Provided, error) {
	out, t := Provided{Facts: transition.ClaimFacts{Confirm: true, Base: c.Base}}, &c.Task
	if t.KindOf() == blackboard.MessageTask {
		return out, nil
	}
	if _, err := l.board.Repo.Relink(ctx, t.ID); err != nil {
		return out, err
	}
	if _, err := l.setAside(ctx, t, c.Base); err != nil {
		return out, err
	}
	if err := l.branch.Fetch(ctx, slices.Concat([]string{t.RestartFrom}, t.Bases(), recorded(t))...); err != nil {
		return out, err
	}
	p, err := l.board.Repo.ProvideWorktree(ctx, git.Provide{ID: t.ID, Base: c.Base, Keep: c.Keep, RestartFrom: t.RestartFrom,
		Candidates: recorded(t), WorkBase: t.BaseCommit, Nonce: c.Nonce, Now: l.board.Now()})
	if err != nil {
		return out, err
	}
	out.Facts.Host, out.Facts.Worktree = l.board.ThisHost(), filepath.ToSlash(filepath.Join(".worktrees", t.ID))
	out.Facts.Fresh, out.Facts.BaseCommit = p.Base != "", p.Base
	if out.Attic = p.Attic; c.Keep && (p.Recovered || out.Facts.Fresh) {
		out.Recovered = &p.Recovered
	}
	out.Warnings = p.Warnings
	for _, file := range p.LockRemoved {
		out.Warnings = append(out.Warnings, "removed "+file+", a lock file that a killed git left")
	}
	if p.Lost != "" {
		out.Warnings = append(out.Warnings, "what was in the place of the worktree was moved to "+p.Lost)
	}
	if p.Created {
		err = l.setUp(ctx, t.ID, p.Head)
	}
	return out, err
}

// Confirm unlocks the worktree of a claim that is on the board. Git's lock tells a recovery that a claim was not confirmed.
func (w trees) Confirm(ctx context.Context, c Claim) error {
	if c.Task.KindOf() == blackboard.MessageTask {
		return nil
	}
	return w.board.Repo.UnlockWorktree(ctx, c.Task.ID)
}

// Cancel removes what Provide has made for a claim that failed.
func (w trees) Cancel(ctx context.Context, c Claim) error {
	if c.Task.KindOf() == blackboard.MessageTask {
		return nil
	}
	return w.board.Repo.Abandon(ctx, c.Task.ID, c.Nonce)
}

// SetupError says that a command of worktree.setup failed, or that the services of the project did not start. Of a claim it is counted with the crashes of the task.
type SetupError struct {
	Task    string
	Message string
	Tail    []string // its last lines
	Times   int      // crashes and such failures of the task in a row; 0: not counted
	Blocked bool     // it was the last one that limits.task_crashes allows
	next    string
}

func (e *SetupError) Error() string { return e.Message }

// Next is the setting that allows what the command was refused, or "".
func (e *SetupError) Next() string { return e.next }

// setUp makes a task's fresh worktree at a commit ready: from a seed, or by the commands of worktree.setup. Then it tries whether the services
// of the project start there.
func (w trees) setUp(ctx context.Context, task, commit string) error {
	log := w.board.Project.SetupLog(task)
	run := func(shell, services string) (review.Ran, *SetupError) {
		res := review.Command{Shell: shell, Dir: w.board.Repo.WorktreePath(task), Log: log, Mask: w.board.MaskLog, Timeout: w.board.Config().Limits.CheckTimeout, Services: services}.RunIn(ctx, w.board.Enclose)
		if res.Err == nil && res.ExitCode == 0 {
			return res, nil
		}
		e := &SetupError{Task: task, Tail: strings.Split(review.TailOf(log), "\n"),
			Message: fmt.Sprintf("cannot set up the worktree of %s: %q ended with exit code %d (see %s)%s", task, shell, res.ExitCode, log, res.Unreached())}
		if len(res.Refused) > 0 {
			e.next = res.Refused[0].Next
		}
		return res, e
	}
	if !checks.New(w.board, w.branch).Seed(ctx, w.board.Repo.WorktreePath(task), commit, log) {
		for _, command := range w.board.Config().Worktree.Setup {
			if _, e := run(command, ""); e != nil {
				return stoppedOr(ctx, e)
			}
		}
	}
	if len(w.board.Config().Services) == 0 {
		return nil
	}
	if res, e := run("true", task); e != nil {
		why := "they were not ready" + res.Unreached()
		if err := res.Err; err != nil {
			if bad, ok := errors.AsType[*checks.TemplateError](err); ok {
				err = bad
			}
			e.Tail = strings.Split(err.Error(), "\n")
			why = e.Tail[0]
		}
		for _, line := range e.Tail {
			if told, ok := strings.CutPrefix(line, "liza: the service "); ok {
				why = "the service " + told
			}
		}
		e.Message = fmt.Sprintf("cannot start the services of %s: %s (see %s)", task, why, log)
		return stoppedOr(ctx, e)
	}
	return nil
}

// stoppedOr is an error that is not counted where the setup was stopped.
func stoppedOr(ctx context.Context, e *SetupError) error {
	if ctx.Err() != nil {
		return errors.New(e.Message)
	}
	return e
}

// recorded are the commits of a task's work that the board knows, the newest last; "" for one that it does not.
func recorded(t *blackboard.Task) []string {
	for _, a := range slices.Backward(t.Attempts) {
		if a.Commit != "" {
			return []string{t.ReviewCommit, a.Commit}
		}
	}
	return []string{t.ReviewCommit}
}

func (l local) Ensure(ctx context.Context, s *blackboard.State, t *blackboard.Task) error {
	if !l.missing(t) {
		return nil
	}
	p, err := l.Again(ctx, s, t)
	if err != nil {
		return err
	}
	text := fmt.Sprintf("the folder %s was gone; it was made again at %.9s", t.Worktree, p.Head)
	if p.Lost != "" {
		text += ", and what was there was moved to " + l.board.Rel(p.Lost)
	}
	l.board.Progressf("%s: %s", t.ID, text)
	l.board.Warn(ctx, t.ID, blackboard.ActionWorktreeMadeAgain, text)
	return nil
}

// setAside moves the worktree of a task away that git cannot read, and tells of it (specs/protocol.md#7.3).
func (w trees) setAside(ctx context.Context, t *blackboard.Task, tip string) (done bool, err error) {
	if w.board.Rehearsal || t == nil || t.KindOf() == blackboard.MessageTask {
		return false, nil
	}
	aside, err := w.board.Repo.SetAside(ctx, t.ID, append(t.Bases(), tip), w.board.Now())
	if err != nil || aside.Path == "" {
		return false, err
	}
	text := fmt.Sprintf("git could not read its worktree, which is kept as %s: %s", w.board.Rel(aside.Path), aside.Why)
	w.board.Progressf("%s: %s", t.ID, text)
	w.board.Warn(ctx, t.ID, blackboard.ActionWorktreeSetAside, text)
	return true, nil
}

// needed reports whether a task has a worktree on the board.
func (w trees) needed(t *blackboard.Task) bool {
	return !w.board.Rehearsal && t != nil && t.Worktree != "" && t.KindOf() != blackboard.MessageTask
}

// missing reports whether the folder of a task's worktree is gone. What else is wrong with it is told by anyone who uses it.
func (w trees) missing(t *blackboard.Task) bool {
	if !w.needed(t) {
		return false
	}
	_, err := os.Lstat(filepath.Join(w.board.Repo.WorktreePath(t.ID), ".git"))
	return errors.Is(err, fs.ErrNotExist)
}

func (l local) Again(ctx context.Context, s *blackboard.State, t *blackboard.Task) (git.Provided, error) {
	head, err := l.branch.IntegrationHead(ctx, s)
	if err == nil {
		_, err = l.setAside(ctx, t, head)
	}
	if err == nil {
		err = l.branch.Fetch(ctx, append(recorded(t), t.BaseCommit)...)
	}
	if err != nil {
		return git.Provided{}, err
	}
	return l.make(ctx, git.Provide{ID: t.ID, Base: cmp.Or(t.BaseCommit, head), Keep: true, Candidates: recorded(t)})
}

// make provides a worktree outside of a claim. Work that is kept is there again after a failure.
func (w trees) make(ctx context.Context, p git.Provide) (git.Provided, error) {
	nonce, err := w.board.RandomHex(8)
	if err != nil {
		return git.Provided{}, err
	}
	p.Nonce, p.Now = nonce, w.board.Now()
	got, err := w.board.Repo.ProvideWorktree(ctx, p)
	if err != nil {
		return got, err
	}
	if got.Created || !p.Keep {
		err = w.setUp(ctx, p.ID, got.Head)
	}
	switch {
	case err == nil:
		err = w.board.Repo.UnlockWorktree(ctx, p.ID)
	case p.Keep:
		err = errors.Join(err, w.board.Repo.Abandon(context.WithoutCancel(ctx), p.ID, nonce))
	}
	return got, err
}

func (l local) Tip(ctx context.Context, t *blackboard.Task) string {
	tip, _ := l.board.Repo.BranchTip(ctx, git.TaskBranch(t.ID)) // "": no branch is left
	return tip
}

func (l local) Leave(ctx context.Context, s *blackboard.State, t *blackboard.Task) (work bool, attic string, err error) {
	aside, err := l.setAside(ctx, t, s.Tip())
	if err != nil {
		return false, "", err
	}
	if _, err := l.TakeOver(ctx, s, t); err != nil {
		return false, "", err
	}
	if t.KindOf() != blackboard.MessageTask {
		w, err := l.board.Repo.Inspect(ctx, filepath.Join(l.board.Project.Root, t.Worktree))
		if work = err == nil && w.Exists; work {
			if len(w.Dirty) > 0 {
				attic, _ = l.Save(ctx, t.ID, "release")
			}
			work = len(w.Dirty) > 0 || w.Head != t.BaseCommit || t.IntegrationFix
		} else if aside { // its branch may have stayed
			tip := l.Tip(ctx, t)
			work = tip != "" && tip != t.BaseCommit
		}
	}
	l.push(ctx, t.ID)
	if attic != "" {
		if _, err := l.publishAttic(ctx, t.ID, attic); err != nil {
			l.board.Progressf("%s: cannot push %s: %v", t.ID, attic, err)
		}
	}
	return work, attic, nil
}

// TakeOver brings what the run of a coder has committed into the repository, where the task is still being worked on. Anyone who works in the
// worktree without a git folder of a run has committed to the repository already.
func (w trees) TakeOver(ctx context.Context, s *blackboard.State, t *blackboard.Task) (git.Taken, error) {
	if w.board.Rehearsal || !w.inWork(t) {
		return git.Taken{}, nil
	}
	tip, err := w.branch.KnownTip(ctx, s)
	if err != nil {
		return git.Taken{}, err
	}
	taken, err := w.board.Repo.TakeOver(ctx, git.Taking{Task: t.ID, Known: append(t.Bases(), tip)})
	if taken.Moved {
		w.board.Failpoint("taken over")
	}
	return taken, err
}

// inWork reports whether a coder of this host may be at work on the files of a task.
func (w trees) inWork(t *blackboard.Task) bool {
	return t != nil && t.Status == blackboard.Claimed && t.ChangesFiles() && !w.board.Elsewhere(t)
}

// HandOver takes over what a coder has committed so far, and lets other hosts go on with it.
func (w trees) HandOver(ctx context.Context, id string) error {
	s, err := w.board.View(ctx)
	if err != nil {
		return err
	}
	if _, err = w.TakeOver(ctx, s, s.Task(id)); err == nil {
		w.push(ctx, id)
	}
	return err
}

// OpenFolder makes the git folder of its own that a run of an agent on a task, or for nil in the main checkout, works with. With keep its commits are
// the task's work. With redirect, so without mounts, git could push: policy.push decides about that.
func (w trees) OpenFolder(ctx context.Context, s *blackboard.State, t *blackboard.Task, agent string, keep, redirect bool) (*git.Folder, error) {
	tip, err := w.branch.KnownTip(ctx, s)
	if err != nil {
		return nil, err
	}
	spec := git.FolderSpec{Agent: agent, Redirect: redirect, Remotes: redirect, Logins: redirect && w.board.Config().Policy.Push, Branches: map[string]string{s.IntegrationBranch(): tip}}
	if t != nil {
		spec.Task, spec.Keep, spec.Known = t.ID, keep, append(t.Bases(), tip)
	}
	return w.board.Repo.OpenFolder(ctx, spec)
}

// CloseFolder ends the use of a folder when its run is over. What was committed after the submission, or after the claim of the run went to somebody
// else, is saved in the attic and told.
func (w trees) CloseFolder(ctx context.Context, f *git.Folder, id string, m board.Mark) error {
	s, err := w.board.View(ctx)
	if err != nil {
		return err
	}
	t := s.Task(id)
	late := over(t) || t.Status == blackboard.Claimed && (t.AssignedTo != m.Agent || t.ClaimSeq != m.ClaimSeq)
	taken, err := f.Close(ctx, late)
	return errors.Join(err, w.tellTaken(ctx, id, taken, late))
}

// settle takes over what runs have left whose supervisors were killed. It returns what it did, for the log.
func (w trees) settle(ctx context.Context) ([]string, error) {
	s, err := w.board.View(ctx)
	if err != nil {
		return nil, err
	}
	var did []string
	for _, id := range w.board.Repo.LeftFolders() {
		late := over(s.Task(id))
		taken, err := w.board.Repo.Settle(ctx, id, late)
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
	return did, w.board.Repo.ClearFolders(ctx)
}

// tellTaken tells of commits that are not on the task's branch.
func (w trees) tellTaken(ctx context.Context, id string, taken git.Taken, late bool) error {
	if len(taken.Others) > 0 {
		w.board.Warn(ctx, id, blackboard.ActionCommitsElsewhere, "commits on other branches, or in the stash, were saved as "+prose.Few(taken.Others, 5))
	}
	if taken.Attic == "" && taken.Refused == "" {
		return nil
	}
	what, kept := fmt.Sprintf("commit %.9s", taken.Commit), ""
	if taken.Attic != "" {
		kept = "; saved as " + taken.Attic
	}
	if late {
		return w.tellLate(ctx, id, what+kept)
	}
	w.board.Warn(ctx, id, blackboard.ActionCommitsRefused, prose.FirstLine(what+" was not taken over: "+taken.Refused+kept))
	return nil
}

func (w trees) tellLate(ctx context.Context, id, what string) error {
	text := "work after the submission: " + what
	w.board.Progressf("%s: %s", id, text)
	return w.board.Update(ctx, "anomaly", func(s *blackboard.State, _ transition.Actor) error {
		transition.AddAnomalyOnce(s, id, blackboard.AnomalyLateWork, text, w.board.Now())
		return nil
	})
}

// over reports whether nothing that is committed now counts as the task's work.
func over(t *blackboard.Task) bool { return t == nil || t.Status.Terminal() || atRest(t) }

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

// PutBack brings branch and worktree of a task back to the commit that was submitted, saves what differs in the attic, and makes a folder that is
// gone again. What differs is the work of reviewer, who had the worktree last; with "", and as long as the coder's program still runs, it came late.
// The text says what the reviewer changed, "" for nothing.
//
// Nobody may be at work there: once a coder has claimed rejected work, the worktree is left alone.
func (w *Worktrees) PutBack(ctx context.Context, id, reviewer string) (changed string, err error) {
	s, err := w.board.View(ctx)
	if err != nil {
		return "", err
	}
	t := s.Task(id)
	if w.board.Rehearsal || !atRest(t) {
		return "", nil
	}
	if _, err := w.board.Repo.Relink(ctx, id); err != nil {
		return "", err
	}
	if taken, err := w.board.Repo.Settle(ctx, id, true); err != nil {
		return "", err
	} else if err := w.tellTaken(ctx, id, taken, true); err != nil {
		return "", err
	}
	if err := w.Ensure(ctx, s, t); err != nil {
		return "", err
	}
	reason, left := "put back before a review", ""
	if reviewer != "" {
		if left, err = w.board.Repo.Left(ctx, id, reviewer); err != nil {
			return "", err
		}
		reason = "made during the review of " + reviewer
	}
	work := git.Work{ID: id, Reason: reason, Base: t.BaseCommit, Left: left, Tell: func(back git.Back) error { // first: what is undone is found by no other look
		what := prose.Few(back.Changes, 10)
		if back.Attic != "" {
			what += "; saved as " + back.Attic
		}
		coder := s.Agents[t.AssignedTo]
		if reviewer == "" || coder != nil && coder.Child != nil && coder.Child.Task == id {
			return w.tellLate(ctx, id, what)
		}
		changed = what
		return w.board.Update(ctx, "anomaly", func(s *blackboard.State, _ transition.Actor) error {
			transition.AddAnomaly(s, id, blackboard.System, blackboard.AnomalyReviewerChanges, blackboard.Settings{"agent": reviewer, "what": what}, w.board.Now())
			return nil
		})
	}}
	_, err = w.board.Repo.PutBack(ctx, work, t.ReviewCommit, func() (bool, error) {
		s, err := w.board.View(ctx)
		if err != nil {
			return false, err
		}
		now := s.Task(id)
		return atRest(now) && now.ReviewCommit == t.ReviewCommit, nil
	})
	if err != nil {
		if aside, _ := w.setAside(ctx, t, s.Tip()); aside {
			return w.PutBack(ctx, id, reviewer)
		}
	}
	return changed, err
}

// Save puts the work of a task's worktree and branch into the attic. It returns the ref, or the reason why it failed.
func (w trees) Save(ctx context.Context, task, reason string) (attic, problem string) {
	if w.board.Rehearsal {
		return "", ""
	}
	s, err := w.board.View(ctx)
	if err != nil {
		return "", err.Error()
	}
	t := s.Task(task)
	if t == nil || t.KindOf() == blackboard.MessageTask {
		return "", ""
	}
	tip := w.branch.ProvenTip(ctx, s)
	if _, err := w.setAside(ctx, t, tip); err != nil {
		return "", err.Error()
	}
	attic, _, err = w.board.Repo.Save(ctx, git.Work{ID: task, Path: w.board.Repo.WorktreeOf(task), Reason: reason, Integration: tip, Base: t.BaseCommit})
	if err != nil {
		return "", err.Error()
	}
	return attic, ""
}

// Drop removes worktree and branch of a task whose work is saved (specs/decisions.md#D21).
func (w trees) Drop(ctx context.Context, task string) error {
	if w.board.Rehearsal {
		return nil
	}
	s, err := w.board.View(ctx)
	if err != nil {
		return err
	}
	head := w.branch.ProvenTip(ctx, s)
	w.board.Failpoint("drop.worktree")
	return w.board.Repo.Remove(ctx, task, git.Proof{Integration: head})
}

func (local) Shelve(context.Context) []string { return nil }

// Recover takes over, saves and removes what killed processes and other hosts have left in this repository. It returns what it did, for the log. With
// idle nobody is at work in any of the folders of runs.
func (w *Worktrees) Recover(ctx context.Context, idle bool) (did []string) {
	if w.board.Repo == nil {
		return nil
	}
	if idle {
		var err error
		if did, err = w.settle(ctx); err != nil {
			did = append(did, err.Error())
		}
	}
	return slices.Concat(did, w.Shelve(ctx), w.dropArchived(ctx))
}

// dropArchived removes worktrees and branches of tasks that have left the board: a host that was down while they were merged still has them. What is
// saved nowhere else goes to the attic first.
func (w trees) dropArchived(ctx context.Context) (did []string) {
	s, err := w.board.View(ctx)
	if err != nil || w.board.Rehearsal {
		return nil // told already
	}
	here := slices.DeleteFunc(w.tasksHere(ctx), func(id string) bool { return s.Task(id) != nil })
	if len(here) == 0 {
		return nil
	}
	archived := w.board.Histories().Archives().Archived()
	for _, id := range here {
		if _, known := archived[id]; !known {
			continue
		}
		tip := w.branch.ProvenTip(ctx, s)
		_, _, err := w.board.Repo.Save(ctx, git.Work{ID: id, Path: w.board.Repo.WorktreeOf(id), Reason: "left behind", Integration: tip})
		if err == nil {
			err = w.board.Repo.Remove(ctx, id, git.Proof{Integration: tip})
		}
		if err != nil {
			did = append(did, fmt.Sprintf("%s: cannot remove what is left of it: %v", id, err))
		}
	}
	return did
}

// tasksHere returns the tasks that have a branch or a worktree in this repository.
func (w trees) tasksHere(ctx context.Context) (ids []string) {
	branches, err := w.board.Repo.Branches(ctx, strings.TrimSuffix(git.TaskBranch(""), "/"))
	if err != nil {
		return nil
	}
	for _, b := range branches {
		ids = append(ids, strings.TrimPrefix(b, git.TaskBranch("")))
	}
	entries, _ := os.ReadDir(w.board.Project.Worktrees())
	for _, e := range entries {
		if !slices.Contains(ids, e.Name()) {
			ids = append(ids, e.Name())
		}
	}
	return slices.DeleteFunc(ids, func(id string) bool { return !blackboard.ValidTaskID(id) })
}
