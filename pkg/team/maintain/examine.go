package maintain

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"liza/pkg/base/prose"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/code/git"
	"liza/pkg/verb/verb"
)

// findings collects them.
type findings []Finding

func (f *findings) add(check, severity, subject, next, evidence, format string, args ...any) {
	*f = append(*f, Finding{Check: check, Severity: severity, Subject: subject, Next: next, Evidence: evidence, Message: fmt.Sprintf(format, args...)})
}

// examiner is a service that is looked at.
type examiner struct{ *verb.Service }

// examine looks at the board and the repository for what crashes leave, and says what the
// next recovery would do about it (specs/protocol.md#6.4, specs/protocol.md#7.4, specs/protocol.md#8.3). It changes nothing. s is a
// snapshot; the last valid one will do.
func examine(ctx context.Context, service *verb.Service, s *blackboard.State) []Finding {
	d := examiner{service}
	var f findings
	d.registrationsOf(s, &f)
	d.claimsOf(s, &f)
	if d.Repo == nil {
		return f
	}
	for _, look := range []func(context.Context, *blackboard.State, *findings) error{d.branchOf, d.locksOf, d.mergesOf, d.worktreesOf} {
		if err := look(ctx, s, &f); err != nil {
			f.add("git", SeverityError, "repository", "git fsck", "", "%v", err)
		}
	}
	return f
}

// recovers is the command after which the recovery of any supervisor has run.
const recovers = "liza run"

func (d examiner) registrationsOf(s *blackboard.State, f *findings) {
	facts, now := d.Facts(), d.Now()
	alive := 0
	for _, id := range slices.Sorted(maps.Keys(s.Agents)) {
		e := s.Agents[id]
		live, why := s.Liveness(id, now, facts)
		switch live {
		case blackboard.Alive:
			alive++
		case blackboard.Unknown:
			f.add("registration", SeverityWarning, id, "liza show "+id, why, "whether %s lives is not known; nothing of it is given away", id)
		case blackboard.Dead:
			f.add("registration", SeverityWarning, id, recovers, why, "%s is dead; its leases end at the next recovery, and its work can be taken over", id)
		case blackboard.Expired:
			f.add("registration", SeverityWarning, id, recovers, why, "the lease of %s is over; its work can be taken over", id)
		}
		d.childOf(id, e, live, f)
		if beat, ok := e.Heartbeat.At(); ok && beat.Sub(now) > time.Minute {
			f.add("clock", SeverityWarning, id, "date", "heartbeat "+string(e.Heartbeat), "the heartbeat of %s is %s ahead of this machine's clock", id, beat.Sub(now).Round(time.Second))
		}
	}
	if alive > 0 || len(s.Agents) == 0 {
		f.add("registration", SeverityOK, "agents", "", "", "%s alive", prose.Count(alive, "agent"))
	}
}

// childOf looks at the recorded program of an entry.
func (d examiner) childOf(id string, e *blackboard.Agent, live blackboard.Liveness, f *findings) {
	c := e.Child
	if c == nil || live == blackboard.Alive || live == blackboard.Unknown {
		return
	}
	process := fmt.Sprintf("process %d", c.PID)
	switch {
	case e.Host != d.Proc.Host:
		f.add("process", SeverityWarning, id, "", "it ran on "+e.Host, "%s of %s cannot be looked at from here; its lease alone decides", process, id)
	case e.BootID != d.Proc.BootID:
		f.add("process", SeverityInfo, id, recovers, "of a former boot", "%s of %s is gone; the next recovery takes it off the board", process, id)
	case d.Proc.Running == nil:
	case d.ProcessGone(c.PID, c.PIDStart):
		f.add("process", SeverityInfo, id, recovers, "", "%s of %s has ended; the next recovery takes it off the board", process, id)
	default:
		f.add("process", SeverityWarning, id, recovers, fmt.Sprintf("pid %d with start time %d, run %d, since %s", c.PID, c.PIDStart, c.Run, c.Started),
			"%s, the program of %s, still runs without its supervisor; it is stopped before anybody gets its work", process, id)
	}
}

// claimsOf looks at claims, review claims and reservations.
func (d examiner) claimsOf(s *blackboard.State, f *findings) {
	facts, now := d.Facts(), d.Now()
	for t := range s.Tasks() {
		if t == nil {
			continue
		}
		what, by, live, why := "", "", blackboard.Alive, ""
		switch {
		case t.Status == blackboard.Claimed:
			what, by = "claim", t.AssignedTo
			live, why = s.ClaimLiveness(t, now, facts)
		case t.ReviewingBy != "":
			what, by = "review claim", t.ReviewingBy
			live, why = s.ReviewLiveness(t, now, facts)
		}
		switch live {
		case blackboard.Expired, blackboard.Dead:
			f.add("claim", SeverityWarning, t.ID, recovers, why, "the %s of %s is stale; the next agent that asks for work can have it", what, by)
		case blackboard.Unknown:
			f.add("claim", SeverityWarning, t.ID, "liza show "+by, why, "nothing is known of %s, who has the %s", by, what)
		}
		if c := t.Claiming; c != nil {
			if at, ok := c.Expires.At(); ok && now.After(at) {
				f.add("claim", SeverityInfo, t.ID, recovers, "reserved until "+string(c.Expires), "the reservation of %s was never confirmed; the next claim overwrites it", c.By)
			}
		}
	}
}

// branchOf looks at the integration branch.
func (d examiner) branchOf(ctx context.Context, s *blackboard.State, f *findings) error {
	branch := s.IntegrationBranch()
	head, err := d.TipOf(ctx, s)
	switch {
	case err != nil:
		return err
	case s.ForeignTip(head):
		f.add("integration", SeverityError, branch, blackboard.DecideTip(head), "", "%s; merges wait", blackboard.MovedText(s, head))
	case s.Tip() == "" && head != "":
		f.add("integration", SeverityInfo, branch, recovers, "", "the board does not remember where Liza left the branch; the next start takes it as it is")
	}
	if head == "" {
		if s.Tip() == "" {
			f.add("git", SeverityError, branch, "git branch "+branch+" COMMIT", "", "the integration branch does not exist; nothing can be claimed or merged")
		}
		return nil
	}
	d.behindOf(ctx, s, f)
	path, found, err := d.Repo.CheckedOutAt(ctx, branch)
	switch {
	case err != nil:
		return err
	case found:
		severity := SeverityWarning
		if len(transition.ApprovedTasks(s)) > 0 {
			severity = SeverityError
		}
		f.add("git", severity, branch, "git -C "+path+" switch --detach", "", "the integration branch is checked out in %s; nothing is merged as long as it is", path)
	default:
		f.add("git", SeverityOK, branch, "", "", "the integration branch is at %.9s", head)
	}
	if what := d.Repo.UnderWay(d.Project.Root); what != "" {
		f.add("git", SeverityInfo, "checkout", "git status", "", "a %s was begun in the main checkout and not ended; that is yours, Liza does not touch it", what)
	}
	return nil
}

// behindOf compares the integration branch with its base branch.
func (d examiner) behindOf(ctx context.Context, s *blackboard.State, f *findings) {
	lag, err := d.Behind(ctx, s)
	if err != nil || lag.Base == "" {
		return // a branch that cannot be looked at is told elsewhere
	}
	how := ""
	if lag.Guessed {
		how = "base_ref is not set: the branch that is checked out is taken"
	}
	if lag.Behind > 0 {
		f.add("integration", SeverityWarning, lag.Branch, "liza sync", how, "%s", lag)
	} else {
		f.add("integration", SeverityOK, lag.Branch, "", how, "it has everything of its base branch %s", lag.Base)
	}
}

// locksOf looks at git's lock files, and at git folders whose run is over.
func (d examiner) locksOf(ctx context.Context, _ *blackboard.State, f *findings) error {
	locks, err := d.Repo.LockFiles(ctx)
	for _, l := range locks {
		name, age := d.Rel(l.Path), d.Now().Sub(l.Made).Round(time.Second)
		main := filepath.Dir(l.Path) == d.Project.GitDir && filepath.Base(l.Path) == "index.lock"
		switch {
		case l.Busy != "":
			f.add("git", SeverityInfo, name, "", l.Busy, "git's lock file may be in use")
		case main:
			f.add("git", SeverityWarning, name, "rm "+name, fmt.Sprintf("%s old, and no git process lives", age), "a git that was killed left the lock of your checkout's index; Liza does not touch it")
		default:
			f.add("git", SeverityWarning, name, recovers, fmt.Sprintf("%s old, and no git process lives", age), "a git that was killed left a lock file; the process that needs it next removes it")
		}
	}
	for _, id := range d.Repo.LeftFolders() {
		f.add("git", SeverityWarning, cmp.Or(id, "planner"), recovers, "", "the supervisor of a run was killed before what it committed was taken over; the next claim does it, too")
	}
	return err
}

// mergesOf looks for merges that were begun and not ended (specs/protocol.md#8.3).
func (d examiner) mergesOf(ctx context.Context, s *blackboard.State, f *findings) error {
	head, err := d.TipOf(ctx, s)
	if err != nil {
		return err
	}
	for _, c := range transition.ApprovedTasks(s) {
		i := c.Task.MergeIntent
		if i == nil || i.Commit == "" || head == "" {
			continue
		}
		there, err := d.Repo.CommitExists(ctx, i.Commit)
		if err == nil && there {
			there, err = d.Repo.IsAncestor(ctx, i.Commit, head)
		}
		if err != nil {
			return err
		}
		evidence := fmt.Sprintf("intent %.9s of %s, integration at %.9s", i.Commit, i.By, head)
		if there {
			f.add("merge", SeverityWarning, c.Task.ID, "liza merge "+c.Task.ID, evidence, "its merge was interrupted after the branch had moved; it only has to be recorded")
		} else {
			f.add("merge", SeverityWarning, c.Task.ID, "liza merge "+c.Task.ID, evidence, "its merge was interrupted before the branch moved; it begins again")
		}
	}
	candidates, err := d.Repo.Candidates(ctx)
	for _, r := range candidates {
		if t := s.Task(r.ID); t == nil || t.Status != blackboard.Approved {
			f.add("merge", SeverityInfo, r.ID, "liza gc", fmt.Sprintf("%s at %.9s", r.Ref, r.Commit), "a merge candidate is left over")
		}
	}
	return err
}

// worktreesOf compares worktrees and branches with the board.
func (d examiner) worktreesOf(ctx context.Context, s *blackboard.State, f *findings) error {
	all, err := d.Repo.Worktrees(ctx)
	if err != nil {
		return err
	}
	branches, err := d.Repo.Branches(ctx, "task")
	if err != nil {
		return err
	}
	there := map[string]bool{}
	for _, w := range all {
		id := filepath.Base(w.Path)
		if w.Main || filepath.Dir(w.Path) != d.Project.Worktrees() {
			continue
		}
		there[id] = !w.Prunable
		d.worktreeFinding(s, w, id, f)
	}
	for _, name := range branches {
		id := strings.TrimPrefix(name, "task/")
		if _, ok := there[id]; !ok && s.Task(id) == nil {
			f.add("worktree", SeverityWarning, name, "liza gc", "", "the branch belongs to no task")
		}
	}
	for t := range s.Tasks() {
		if t == nil || t.Worktree == "" || t.Status.Terminal() || there[t.ID] {
			continue
		}
		severity, next := SeverityWarning, recovers
		if t.Status == blackboard.Claimed {
			severity, next = SeverityError, "liza worktree create "+t.ID
		}
		f.add("worktree", severity, t.ID, next, t.Worktree+" is missing", "the worktree was removed by hand; it is made again from the branch or from the newest recorded commit")
	}
	return nil
}

func (d examiner) worktreeFinding(s *blackboard.State, w git.Worktree, id string, f *findings) {
	name, t := d.Rel(w.Path), s.Task(id)
	switch {
	case w.Prunable:
		f.add("worktree", SeverityInfo, name, recovers, "git knows it", "its folder is gone")
	case strings.HasPrefix(id, ".check-"):
		f.add("worktree", SeverityInfo, name, recovers, "", "the check of a merge is under way, or was interrupted: then the next recovery removes it")
	case strings.HasPrefix(id, "."):
		f.add("worktree", SeverityInfo, name, "liza gc", "", "a throw-away worktree")
	case t == nil:
		f.add("worktree", SeverityWarning, name, "liza gc", "branch "+w.Branch, "it belongs to no task")
	case t.Status.Terminal():
		f.add("worktree", SeverityWarning, name, "liza gc", fmt.Sprintf("%s is %s", id, t.Status), "its task has ended; the next recovery saves what is not merged, and removes it")
	case t.Worktree == "":
		f.add("worktree", SeverityInfo, name, recovers, fmt.Sprintf("%s is %s", id, t.Status), "a claim was interrupted; the next one uses it or makes it again, and saves what is in it before")
	default:
		if what := d.Repo.UnderWay(w.Path); what != "" && t.Status != blackboard.Claimed {
			f.add("worktree", SeverityWarning, name, "liza show "+id, "", "a %s was begun in it and not ended", what)
		}
	}
}
