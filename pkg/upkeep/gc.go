package upkeep

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"liza/pkg/blackboard"
	"liza/pkg/git"
	"liza/pkg/prose"
	"liza/pkg/sprint"
	"liza/pkg/verb"
)

// CollectGarbage removes what is proven to be merged or saved, and nothing else (specs/decisions.md#D21):
// worktrees, branches and merge candidates of tasks that ended or are on no board, check
// worktrees, prompts, outputs and histories that are older than they have to be kept
// (specs/protocol.md#3.5), and temporary files. Saved work goes only when it is asked for. It is for
// people.
func CollectGarbage(ctx context.Context, d *verb.Service, in CollectInput) (Collected, error) {
	c := &collector{Service: d, in: in, out: Collected{DryRun: in.DryRun, Removed: []Garbage{}, Kept: []Garbage{}}}
	if err := d.PersonOnly(ctx, "remove anything"); err != nil {
		return c.out, err
	}
	d.Progressf("looking at worktrees, branches and files")
	if !in.DryRun { // what a killed merge left, with its processes; late work is saved
		if err := d.Merger(blackboard.System).CleanUp(ctx); err != nil {
			return c.out, err
		}
	}
	for _, step := range []func(context.Context) error{c.checks, c.work, c.candidates, c.attic, c.texts, c.histories, c.temporary} {
		if err := step(ctx); err != nil {
			return c.out, err
		}
	}
	return c.out, nil
}

// checks are the throw-away worktrees. Those of merges are gone already, unless one is under way.
func (c *collector) checks(ctx context.Context) error {
	folders, err := filepath.Glob(filepath.Join(c.Project.Worktrees(), ".*"))
	if err != nil {
		return err
	}
	s, err := c.view(ctx) // after the folders: a review that began later has another one
	if err != nil {
		return err
	}
	for _, path := range folders {
		name := c.Rel(path)
		base := filepath.Base(path)
		if id, ok := strings.CutPrefix(base, ".review-"); ok {
			if pid, held := c.person(id); held {
				c.keep("check", name, fmt.Sprintf("liza sandbox exec --here runs in it (pid %d)", pid), "")
				continue
			}
			if t := s.Task(id); t != nil && t.ReviewingBy != "" {
				c.keep("check", name, fmt.Sprintf("%s reviews %s", t.ReviewingBy, id), "")
				continue
			}
			c.drop("check", name, "nobody reviews "+id, func() error { return c.Repo.RemoveDetached(ctx, path) })
		} else if strings.HasPrefix(base, ".check-") && c.in.DryRun {
			c.drop("check", name, "it is the check of a merge, if none is under way", nil)
		} else if strings.HasPrefix(base, ".check-") {
			c.keep("check", name, "a merge is under way", "")
		} else if strings.HasPrefix(base, ".lost-") {
			c.keep("folder", name, "it was in the place of a worktree, and nobody knows whose it is", "ls -la "+name)
		}
	}
	return nil
}

// person is the process of a person that works in a place for checks, and whether it is there still.
func (c *collector) person(name string) (pid int, held bool) {
	number, is := strings.CutPrefix(name, ".here-")
	number, _, _ = strings.Cut(number, "@")
	pid, err := strconv.Atoi(number)
	if !is || err != nil || c.Proc.Running == nil {
		return 0, false
	}
	running, known := c.Proc.Running(pid, 0)
	return pid, running || !known
}

// work are the worktrees and branches of tasks.
func (c *collector) work(ctx context.Context) error {
	all, err := c.Repo.Worktrees(ctx)
	if err != nil {
		return err
	}
	branches, err := c.Repo.Branches(ctx, "task")
	if err != nil {
		return err
	}
	ids := map[string]git.Worktree{}
	for _, name := range branches {
		ids[strings.TrimPrefix(name, "task/")] = git.Worktree{}
	}
	for _, w := range all {
		if id := filepath.Base(w.Path); !w.Main && filepath.Dir(w.Path) == c.Project.Worktrees() && !strings.HasPrefix(id, ".") {
			ids[id] = w
		}
	}
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		if err := c.workOf(ctx, id, ids[id], slices.Contains(branches, git.TaskBranch(id))); err != nil {
			return err
		}
	}
	return nil
}

func (c *collector) workOf(ctx context.Context, id string, w git.Worktree, branch bool) error {
	s, err := c.view(ctx)
	if err != nil {
		return err
	}
	kind, name := "branch", git.TaskBranch(id)
	if w.Path != "" {
		kind, name = "worktree", c.Rel(w.Path)
	}
	if w.Path != "" && w.Branch != "" && w.Branch != git.TaskBranch(id) {
		c.keep(kind, name, "it is on branch "+w.Branch+", which is none of Liza's", "")
		return nil
	}
	base, why, over := c.over(s, id)
	if !over {
		c.keep(kind, name, why, "")
		return nil
	}
	proof := git.Proof{Integration: c.head, Base: base}
	lost, err := c.Repo.Unsaved(ctx, id, proof)
	switch {
	case err != nil:
		c.keep(kind, name, err.Error(), "git worktree list")
	case len(lost) > 0:
		c.keep(kind, name, why+", but this is neither merged nor saved: "+prose.Few(lost, 3), look(kind, name, s.IntegrationBranch()))
	default:
		c.drop(kind, name, why+", and everything is merged or saved", func() error { return c.Repo.Remove(ctx, id, proof) })
	}
	return nil
}

// look is the command that shows what would be lost.
func look(kind, name, integration string) string {
	if kind == "worktree" {
		return "git -C " + name + " status"
	}
	return "git log " + integration + ".." + name
}

// candidates are merges that were begun. The work in them has to be elsewhere.
func (c *collector) candidates(ctx context.Context) error {
	refs, err := c.Repo.Candidates(ctx)
	if err != nil {
		return err
	}
	for _, r := range refs {
		s, err := c.view(ctx)
		if err != nil {
			return err
		}
		if t := s.Task(r.ID); t != nil && t.Status == blackboard.Approved {
			c.keep("candidate", r.Ref, "its merge may be under way", "liza merge "+r.ID)
			continue
		}
		_, why, _ := c.over(s, r.ID)
		safe, err := c.safe(ctx, r)
		if err != nil {
			return err
		}
		if !safe {
			c.keep("candidate", r.Ref, why+", but the work in it is nowhere else", "git log "+r.Ref)
			continue
		}
		c.drop("candidate", r.Ref, why, func() error { return c.Repo.DeleteRef(ctx, r.Ref, r.Commit) })
	}
	return nil
}

// safe reports whether the work that a candidate merges is reachable without it.
func (c *collector) safe(ctx context.Context, r git.Saved) (bool, error) {
	heads := []string{c.head}
	if tip, err := c.Repo.BranchTip(ctx, git.TaskBranch(r.ID)); err == nil {
		heads = append(heads, tip)
	}
	saved, err := c.Repo.AtticRefs(ctx, r.ID)
	if err != nil {
		return false, err
	}
	for _, a := range saved {
		heads = append(heads, a.Commit)
	}
	work, err := c.Repo.Resolve(ctx, r.Commit+"^2")
	if errors.Is(err, git.ErrNotFound) {
		work = r.Commit // no merge: not one of Liza's
	} else if err != nil {
		return false, err
	}
	return c.Repo.Reaches(ctx, work, heads...)
}

// attic is the saved work. Its age counts from its commit or from the end of its task,
// whichever is later.
func (c *collector) attic(ctx context.Context) error {
	refs, err := c.Repo.SavedWork(ctx)
	if err != nil || len(refs) == 0 {
		return err
	}
	if !c.in.Attic {
		c.keep("attic", prose.Count(len(refs), "ref")+" under refs/liza/attic", "saved work is kept unless it is asked for", "liza gc --attic --older 30d --dry-run")
		return nil
	}
	s, err := c.view(ctx)
	if err != nil {
		return err
	}
	for _, r := range refs {
		since := r.At
		switch t := s.Task(r.ID); {
		case t == nil && c.archived[r.ID].Status == "":
			c.keep("attic", r.Ref, "no task has the id "+r.ID, "git log "+r.Ref)
			continue
		case t != nil && !t.Status.Terminal():
			c.keep("attic", r.Ref, fmt.Sprintf("task %s is %s", r.ID, t.Status), "")
			continue
		case t != nil:
			if at, ok := endOf(t); ok && at.After(since) {
				since = at
			}
		}
		if age := c.Now().Sub(since); age <= c.in.Older {
			c.keep("attic", r.Ref, fmt.Sprintf("it is %s old, not %s", sprint.Days(age.Truncate(time.Second)), sprint.Days(c.in.Older)), "")
			continue
		}
		c.drop("attic", r.Ref, "older than "+sprint.Days(c.in.Older), func() error { return c.Repo.DeleteRef(ctx, r.Ref, r.Commit) })
	}
	return nil
}

// endOf is the time of the newest entry of a task's history.
func endOf(t *blackboard.Task) (time.Time, bool) {
	for _, h := range slices.Backward(t.History) {
		if h != nil {
			return h.Time.At()
		}
	}
	return time.Time{}, false
}
