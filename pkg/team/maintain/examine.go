package maintain

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/code/git"
	"liza/pkg/code/project"
	"liza/pkg/team/findings"
)

// recovers is the command after which the recovery of any supervisor has run.
const recovers = "liza run"

// left looks at the repository for what crashes leave, and says what the next recovery would do about it (specs/protocol.md#6.4,
// specs/protocol.md#7.4, specs/protocol.md#8.3).
func (x *Doctor) left(ctx context.Context, _ *project.Project) {
	if x.State == nil || x.Service.Board.Repo == nil {
		return
	}
	for _, look := range []func(context.Context, *blackboard.State) error{x.branchOf, x.locksOf, x.mergesOf, x.worktreesOf} {
		if err := look(ctx, x.State); err != nil {
			x.Add("git", findings.Error, "repository", "git fsck", "", "%v", err)
		}
	}
}

// branchOf looks at the integration branch.
func (x *Doctor) branchOf(ctx context.Context, s *blackboard.State) error {
	branch := s.IntegrationBranch()
	head, err := x.Service.Integration.TipOf(ctx, s)
	switch {
	case err != nil:
		return err
	case s.Tip() == "" && head != "":
		x.Add("integration", findings.Info, branch, recovers, "", "the board does not remember where Liza left the branch; the next start takes it as it is")
	}
	if head == "" {
		if s.Tip() == "" {
			x.Add("git", findings.Error, branch, "git branch "+branch+" COMMIT", "", "the integration branch does not exist; nothing can be claimed or merged")
		}
		return nil
	}
	x.behindOf(ctx, s)
	path, found, err := x.Service.Board.Repo.CheckedOutAt(ctx, branch)
	switch {
	case err != nil:
		return err
	case found:
		severity := findings.Warning
		if len(transition.ApprovedTasks(s)) > 0 {
			severity = findings.Error
		}
		text, next := findings.CheckedOut(branch, path)
		x.Add("git", severity, branch, next, "", "%s", text)
	default:
		x.Add("git", findings.OK, branch, "", "", "the integration branch is at %.9s", head)
	}
	if what := x.Service.Board.Repo.UnderWay(x.Service.Board.Project.Root); what != "" {
		x.Add("git", findings.Info, "checkout", "git status", "", "a %s was begun in the main checkout and not ended; that is yours, Liza does not touch it", what)
	}
	return nil
}

// behindOf compares the integration branch with its base branch.
func (x *Doctor) behindOf(ctx context.Context, s *blackboard.State) {
	lag, err := x.Service.Integration.Behind(ctx, s)
	if err != nil || lag.Base == "" {
		return // a branch that cannot be looked at is told elsewhere
	}
	how := ""
	if lag.Guessed {
		how = "base_ref is not set: the branch that is checked out is taken"
	}
	if lag.Behind > 0 {
		x.Add("integration", findings.Warning, lag.Branch, "liza sync", how, "%s", lag)
	} else {
		x.Add("integration", findings.OK, lag.Branch, "", how, "it has everything of its base branch %s", lag.Base)
	}
}

// locksOf looks at git's lock files, and at git folders whose run is over.
func (x *Doctor) locksOf(ctx context.Context, _ *blackboard.State) error {
	locks, err := x.Service.Board.Repo.LockFiles(ctx)
	for _, l := range locks {
		name, age := x.Service.Board.Rel(l.Path), x.Service.Board.Now().Sub(l.Made).Round(time.Second)
		main := filepath.Dir(l.Path) == x.Service.Board.Project.GitDir && filepath.Base(l.Path) == "index.lock"
		switch {
		case l.Busy != "":
			x.Add("git", findings.Info, name, "", l.Busy, "git's lock file may be in use")
		case main:
			x.Add("git", findings.Warning, name, "rm "+name, fmt.Sprintf("%s old, and no git process lives", age), "a git that was killed left the lock of your checkout's index; Liza does not touch it")
		default:
			x.Add("git", findings.Warning, name, recovers, fmt.Sprintf("%s old, and no git process lives", age), "a git that was killed left a lock file; the process that needs it next removes it")
		}
	}
	for _, id := range x.Service.Board.Repo.LeftFolders() {
		x.Add("git", findings.Warning, cmp.Or(id, "planner"), recovers, "", "the supervisor of a run was killed before what it committed was taken over; the next claim does it, too")
	}
	return err
}

// mergesOf looks for merges that were begun and not ended (specs/protocol.md#8.3).
func (x *Doctor) mergesOf(ctx context.Context, s *blackboard.State) error {
	head, err := x.Service.Integration.TipOf(ctx, s)
	if err != nil {
		return err
	}
	for _, c := range transition.ApprovedTasks(s) {
		i := c.Task.MergeIntent
		if i == nil || i.Commit == "" || head == "" {
			continue
		}
		there, err := x.Service.Board.Repo.CommitExists(ctx, i.Commit)
		if err == nil && there {
			there, err = x.Service.Board.Repo.IsAncestor(ctx, i.Commit, head)
		}
		if err != nil {
			return err
		}
		evidence := fmt.Sprintf("intent %.9s of %s, integration at %.9s", i.Commit, i.By, head)
		if there {
			x.Add("merge", findings.Warning, c.Task.ID, "liza merge "+c.Task.ID, evidence, "its merge was interrupted after the branch had moved; it only has to be recorded")
		} else {
			x.Add("merge", findings.Warning, c.Task.ID, "liza merge "+c.Task.ID, evidence, "its merge was interrupted before the branch moved; it begins again")
		}
	}
	candidates, err := x.Service.Board.Repo.Candidates(ctx)
	for _, r := range candidates {
		if t := s.Task(r.ID); t == nil || t.Status != blackboard.Approved {
			x.Add("merge", findings.Info, r.ID, "liza gc", fmt.Sprintf("%s at %.9s", r.Ref, r.Commit), "a merge candidate is left over")
		}
	}
	return err
}

// worktreesOf compares worktrees and branches with the board.
func (x *Doctor) worktreesOf(ctx context.Context, s *blackboard.State) error {
	all, err := x.Service.Board.Repo.Worktrees(ctx)
	if err != nil {
		return err
	}
	branches, err := x.Service.Board.Repo.Branches(ctx, "task")
	if err != nil {
		return err
	}
	there := map[string]bool{}
	for _, w := range all {
		id := filepath.Base(w.Path)
		if w.Main || filepath.Dir(w.Path) != x.Service.Board.Project.Worktrees() {
			continue
		}
		there[id] = !w.Prunable
		x.worktreeFinding(s, w, id)
	}
	for _, name := range branches {
		id := strings.TrimPrefix(name, "task/")
		if _, ok := there[id]; !ok && s.Task(id) == nil {
			x.Add("worktree", findings.Warning, name, "liza gc", "", "the branch belongs to no task")
		}
	}
	for t := range s.Tasks() {
		if t.Worktree == "" || t.Status.Terminal() || there[t.ID] {
			continue
		}
		severity, next := findings.Warning, recovers
		if t.Status == blackboard.Claimed {
			severity, next = findings.Error, "liza validate --fix"
		}
		x.Add("worktree", severity, t.ID, next, t.Worktree+" is missing", "the worktree was removed by hand; it is made again from the branch or from the newest recorded commit")
	}
	return nil
}

func (x *Doctor) worktreeFinding(s *blackboard.State, w git.Worktree, id string) {
	name, t := x.Service.Board.Rel(w.Path), s.Task(id)
	switch {
	case w.Prunable:
		x.Add("worktree", findings.Info, name, recovers, "git knows it", "its folder is gone")
	case strings.HasPrefix(id, ".check-"):
		x.Add("worktree", findings.Info, name, recovers, "", "the check of a merge is under way, or was interrupted: then the next recovery removes it")
	case strings.HasPrefix(id, "."):
		x.Add("worktree", findings.Info, name, "liza gc", "", "a throw-away worktree")
	case t == nil:
		x.Add("worktree", findings.Warning, name, "liza gc", "branch "+w.Branch, "it belongs to no task")
	case t.Status.Terminal():
		x.Add("worktree", findings.Warning, name, "liza gc", fmt.Sprintf("%s is %s", id, t.Status), "its task has ended; the next recovery saves what is not merged, and removes it")
	case t.Worktree == "":
		x.Add("worktree", findings.Info, name, recovers, fmt.Sprintf("%s is %s", id, t.Status), "a claim was interrupted; the next one uses it or makes it again, and saves what is in it before")
	default:
		if what := x.Service.Board.Repo.UnderWay(w.Path); what != "" && t.Status != blackboard.Claimed {
			x.Add("worktree", findings.Warning, name, "liza show "+id, "", "a %s was begun in it and not ended", what)
		}
	}
}
