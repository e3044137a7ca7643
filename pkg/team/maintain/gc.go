// Package maintain looks at a project as it is and puts right what is provably safe: the examination of `liza doctor`,
// the rules of `liza validate` and its repair, the facts that alerts are made of, the garbage of `liza gc`, former
// states. It removes only what is proven to be merged or saved.
package maintain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"liza/pkg/base/prose"
	"liza/pkg/base/safefile"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/history"
	"liza/pkg/code/git"
	"liza/pkg/code/project"
	"liza/pkg/code/seed"
	"liza/pkg/verb/checks"
	"liza/pkg/verb/sprint"
	"liza/pkg/verb/verb"
)

// CollectGarbage removes what is proven to be merged or saved, and nothing else (specs/decisions.md#D21):
// worktrees, branches and merge candidates of tasks that ended or are on no board, check
// worktrees, prompts, outputs and histories that are older than they have to be kept
// (specs/protocol.md#3.5), and temporary files. Saved work goes only when it is asked for. It is for
// people.
func CollectGarbage(ctx context.Context, d *verb.Service, in CollectInput) (Collected, error) {
	c := &collector{Service: d, in: in, out: Collected{DryRun: in.DryRun, Removed: []Garbage{}, Kept: []Garbage{}}}
	if err := d.Board.PersonOnly(ctx, "remove anything"); err != nil {
		return c.out, err
	}
	d.Board.Progressf("looking at worktrees, branches and files")
	if !in.DryRun { // what a killed merge left, with its processes; late work is saved
		if err := d.Merges.Merger(blackboard.System).CleanUp(ctx); err != nil {
			return c.out, err
		}
	}
	for _, step := range []func(context.Context) error{c.checks, c.work, c.candidates, c.attic, c.evidence, c.texts, c.histories, c.seeds, c.temporary, c.templates} {
		if err := step(ctx); err != nil {
			return c.out, err
		}
	}
	return c.out, nil
}

// checks are the throw-away worktrees. Those of merges are gone already, unless one is under way.
func (c *collector) checks(ctx context.Context) error {
	folders, err := filepath.Glob(filepath.Join(c.Service.Board.Project.Worktrees(), ".*"))
	if err != nil {
		return err
	}
	s, err := c.view(ctx) // after the folders: a review that began later has another one
	if err != nil {
		return err
	}
	for _, path := range folders {
		name := c.Service.Board.Rel(path)
		base := filepath.Base(path)
		if id, ok := strings.CutPrefix(base, ".review-"); ok {
			if pid, held := c.person(id); held {
				c.keep("check", name, fmt.Sprintf("liza sandbox exec --here runs in it (pid %d)", pid), "")
				continue
			}
			lock := ""
			if strings.HasPrefix(id, ".base") {
				lock = c.Service.Board.Project.BaselineLock()
			} else if id == ".seed" {
				lock = c.Service.Board.Project.SeedLock()
			}
			if lock != "" {
				if err := c.place(ctx, name, path, lock); err != nil {
					return err
				}
				continue
			}
			if t := s.Task(id); t != nil && t.ReviewingBy != "" {
				c.keep("check", name, fmt.Sprintf("%s reviews %s", t.ReviewingBy, id), "")
				continue
			}
			c.drop("check", name, "nobody reviews "+id, func() error { return c.Service.Board.Repo.RemoveDetached(ctx, path) })
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

// place removes the place of a baseline check or of a new seed, unless one is under way, which has the lock.
func (c *collector) place(ctx context.Context, name, path, lock string) error {
	soon, cancel := context.WithTimeout(ctx, tryLock)
	defer cancel()
	unlock, err := safefile.LockIn(soon, lock, safefile.Holder{PID: os.Getpid(), Agent: blackboard.Human, Op: "gc"})
	if held, is := errors.AsType[*safefile.HeldError](err); is {
		c.keep("check", name, fmt.Sprintf("a check runs in it (pid %d)", held.Holder.PID), "")
		return nil
	}
	if err != nil {
		return err
	}
	c.drop("check", name, "no check of the integration branch runs", func() error { return c.Service.Board.Repo.RemoveDetached(ctx, path) })
	return unlock()
}

// tryLock is how long a lock is waited for that others may have for minutes.
const tryLock = 20 * time.Millisecond

// person is the process of a person that works in a place for checks, and whether it is there still.
func (c *collector) person(name string) (pid int, held bool) {
	number, is := strings.CutPrefix(name, ".here-")
	number, _, _ = strings.Cut(number, "@")
	pid, err := strconv.Atoi(number)
	if !is || err != nil || c.Service.Board.Proc.Running == nil {
		return 0, false
	}
	running, known := c.Service.Board.Proc.Running(pid, 0)
	return pid, running || !known
}

// work are the worktrees and branches of tasks.
func (c *collector) work(ctx context.Context) error {
	all, err := c.Service.Board.Repo.Worktrees(ctx)
	if err != nil {
		return err
	}
	branches, err := c.Service.Board.Repo.Branches(ctx, "task")
	if err != nil {
		return err
	}
	ids := map[string]git.Worktree{}
	for _, name := range branches {
		ids[strings.TrimPrefix(name, "task/")] = git.Worktree{}
	}
	for _, w := range all {
		if id := filepath.Base(w.Path); !w.Main && filepath.Dir(w.Path) == c.Service.Board.Project.Worktrees() && !strings.HasPrefix(id, ".") {
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
		kind, name = "worktree", c.Service.Board.Rel(w.Path)
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
	lost, err := c.Service.Board.Repo.Unsaved(ctx, id, proof)
	switch {
	case err != nil:
		c.keep(kind, name, err.Error(), "git worktree list")
	case len(lost) > 0:
		c.keep(kind, name, why+", but this is neither merged nor saved: "+prose.Few(lost, 3), look(kind, name, s.IntegrationBranch()))
	default:
		c.drop(kind, name, why+", and everything is merged or saved", func() error { return c.Service.Board.Repo.Remove(ctx, id, proof) })
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
	refs, err := c.Service.Board.Repo.Candidates(ctx)
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
		c.drop("candidate", r.Ref, why, func() error { return c.Service.Board.Repo.DeleteRef(ctx, r.Ref, r.Commit) })
	}
	return nil
}

// safe reports whether the work that a candidate merges is reachable without it.
func (c *collector) safe(ctx context.Context, r git.Saved) (bool, error) {
	heads := []string{c.head}
	if tip, err := c.Service.Board.Repo.BranchTip(ctx, git.TaskBranch(r.ID)); err == nil {
		heads = append(heads, tip)
	}
	saved, err := c.Service.Board.Repo.AtticRefs(ctx, r.ID)
	if err != nil {
		return false, err
	}
	for _, a := range saved {
		heads = append(heads, a.Commit)
	}
	work, err := c.Service.Board.Repo.Resolve(ctx, r.Commit+"^2")
	if errors.Is(err, git.ErrNotFound) {
		work = r.Commit // no merge: not one of Liza's
	} else if err != nil {
		return false, err
	}
	return c.Service.Board.Repo.Reaches(ctx, work, heads...)
}

// attic is the saved work. Its age counts from its commit or from the end of its task,
// whichever is later.
func (c *collector) attic(ctx context.Context) error {
	refs, err := c.Service.Board.Repo.SavedWork(ctx)
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
		if age := c.Service.Board.Now().Sub(since); age <= c.in.Older {
			c.keep("attic", r.Ref, fmt.Sprintf("it is %s old, not %s", sprint.Days(age.Truncate(time.Second)), sprint.Days(c.in.Older)), "")
			continue
		}
		c.drop("attic", r.Ref, "older than "+sprint.Days(c.in.Older), func() error { return c.Service.Board.Repo.DeleteRef(ctx, r.Ref, r.Commit) })
	}
	return nil
}

// keptBase is how long evidence of a base is kept: it can be made again.
const keptBase = 7 * 24 * time.Hour

// evidence is what reviews keep for people to look at, of tasks that have left the board, and of bases that are old. Its files for programs
// go when the task ends.
func (c *collector) evidence(ctx context.Context) error {
	refs, err := c.Service.Board.Repo.Evidence(ctx, "")
	if err != nil {
		return err
	}
	s, err := c.view(ctx)
	if err != nil {
		return err
	}
	kept := 0
	for _, r := range refs {
		_, why, over := c.over(s, r.ID)
		if r.ID == "" {
			why, over = "it can be made again", c.Service.Board.Now().Sub(r.At) > keptBase
		}
		if !over || s.Task(r.ID) != nil {
			kept++
			continue
		}
		c.drop("evidence", r.Ref, why, func() error { return c.Service.Board.Repo.DeleteRef(ctx, r.Ref, r.Commit) })
	}
	if kept > 0 {
		c.keep("evidence", prose.Count(kept, "ref")+" under refs/liza/evidence", "evidence is kept while its task is on the board", "")
	}
	folders, err := filepath.Glob(c.Service.Checks.EvidenceFolder("*"))
	for _, dir := range folders {
		if _, why, over := c.over(s, strings.TrimSuffix(filepath.Base(dir), ".evidence")); over {
			c.drop("file", c.Service.Board.Rel(dir), why, func() error { return safefile.RemoveTree(dir) })
		}
	}
	return err
}

// endOf is the time of the newest entry of a task's history.
func endOf(t *blackboard.Task) (time.Time, bool) {
	for _, h := range slices.Backward(t.History) {
		return h.Time.At()
	}
	return time.Time{}, false
}

// lastSprint is when the sprint before the current one began; ok is false when there was
// none before that one.
func (c *collector) lastSprint() (at time.Time, ok bool, err error) {
	j := history.Journal{Path: c.Service.Board.Project.Journal()}
	started, err := j.Read(history.Filter{Action: blackboard.ActionSprintStarted, Last: 2})
	if err != nil || len(started) < 2 {
		return at, false, err
	}
	at, ok = started[0].Timestamp.At()
	return at, ok, nil
}

// texts are the prompts and outputs from before the last sprint (specs/protocol.md#3.5).
func (c *collector) texts(ctx context.Context) error {
	before, ok, err := c.lastSprint()
	if err != nil || !ok {
		return err
	}
	s, err := c.view(ctx)
	if err != nil {
		return err
	}
	open := func(name string) bool {
		for t := range s.Tasks() {
			if !t.Status.Terminal() && (name == t.ID || strings.HasPrefix(name, t.ID+".") || strings.HasPrefix(name, "integration-"+t.ID+"-")) {
				return true
			}
		}
		return false
	}
	prompts := filepath.Dir(filepath.Dir(c.Service.Board.Project.Prompt("x", 1)))
	entries, err := filepath.Glob(filepath.Join(prompts, "*", "*.txt"))
	if err != nil {
		return err
	}
	logs, err := filepath.Glob(filepath.Join(filepath.Dir(c.Service.Board.Project.Output("x")), "*.log"))
	if err != nil {
		return err
	}
	away, err := filepath.Glob(filepath.Join(filepath.Dir(c.Service.Board.Project.Output("x")), "*.log.1"))
	if err != nil {
		return err
	}
	events, err := filepath.Glob(filepath.Join(filepath.Dir(c.Service.Board.Project.Activity("x")), "*.events*"))
	if err != nil {
		return err
	}
	old := map[string][]string{}
	for _, path := range slices.Concat(entries, logs, away, events) {
		owner := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(filepath.Base(path), ".1"), ".log"), ".events")
		if dir := filepath.Dir(path); filepath.Dir(dir) == prompts {
			owner = filepath.Base(dir)
		}
		info, err := os.Lstat(path)
		if err != nil || !info.ModTime().Before(before) || open(owner) {
			continue
		}
		old[filepath.Dir(path)] = append(old[filepath.Dir(path)], path)
	}
	for _, dir := range slices.Sorted(maps.Keys(old)) {
		c.drop("file", fmt.Sprintf("%s: %s", c.Service.Board.Rel(dir), prose.Count(len(old[dir]), "file")), "older than the sprint before this one", func() error {
			var errs []error
			for _, path := range old[dir] {
				errs = append(errs, os.Remove(path))
			}
			if filepath.Dir(dir) == prompts {
				_ = os.Remove(dir) // if it is empty now
			}
			return errors.Join(errs...)
		})
	}
	return nil
}

// histories are those of tasks that ended more than history.retention_days ago.
func (c *collector) histories(ctx context.Context) error {
	keep := c.Service.Board.Config().History.RetentionDays
	if keep == 0 {
		return nil
	}
	s, err := c.view(ctx)
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(filepath.Dir(c.Service.Board.Project.HistoryDir("x")))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		_, why, over := c.over(s, e.Name())
		dir := c.Service.Board.Project.HistoryDir(e.Name())
		if !e.IsDir() || strings.HasPrefix(e.Name(), "_") || !over || c.Service.Board.Now().Sub(newest(dir)) < time.Duration(keep)*24*time.Hour {
			continue
		}
		c.drop("file", c.Service.Board.Rel(dir), fmt.Sprintf("%s, and history.retention_days is %d", why, keep), func() error { return os.RemoveAll(dir) })
	}
	return nil
}

// newest is when something in a folder changed last.
func newest(dir string) time.Time {
	var last time.Time
	entries, _ := os.ReadDir(dir) // one that cannot be read is removed or not by its own time
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.ModTime().After(last) {
			last = info.ModTime()
		}
	}
	return last
}

// stray is how old a temporary file has to be before it counts as left over.
const stray = time.Hour

// seeds removes what setup made for worktrees, as far as it is too much, those that were used last staying.
func (c *collector) seeds(context.Context) error {
	store, most := c.Service.Checks.Seeds(), c.Service.Board.Config().Worktree.Seed.MaxGB
	list, err := store.List()
	for _, one := range seed.Surplus(list, int64(most)<<30) {
		c.drop("seed", one.Key, fmt.Sprintf("the seeds take more than worktree.seed.max_gb (%d GB), and it was last used at %s", most, one.Used.Format(time.DateTime)), func() error { return store.Remove(one.Key) })
	}
	return err
}

// Space is what one folder takes on the disk.
type Space struct {
	Kind  string `json:"kind"` // task, check, seed, cache, history
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
	Says  string `json:"says,omitempty"`
}

// DiskSpace says what each task, seed and cache takes, kind by kind, the largest first.
func DiskSpace(ctx context.Context, d *verb.Service) (list []Space, err error) {
	p := d.Board.Project
	add := func(kind, folder, skip string, name func(entry string) string) {
		entries, _ := os.ReadDir(folder)
		var found []Space
		for _, e := range entries {
			if name := name(e.Name()); e.IsDir() && name != "" && e.Name() != skip {
				found = append(found, Space{Kind: kind, Name: name, Bytes: safefile.SizeOf(ctx, filepath.Join(folder, e.Name()))})
			}
		}
		slices.SortStableFunc(found, func(a, b Space) int { return cmp.Compare(b.Bytes, a.Bytes) })
		list = append(list, found...)
	}
	within := func(prefix string, hidden bool) func(string) string {
		return func(entry string) string {
			if strings.HasPrefix(entry, ".") != hidden {
				return ""
			}
			return prefix + entry
		}
	}
	add("task", p.Worktrees(), "", within("", false))
	add("check", p.Worktrees(), "", within("", true))
	seeds, err := d.Checks.Seeds().List()
	for _, s := range seeds {
		list = append(list, Space{Kind: "seed", Name: s.Key, Bytes: safefile.SizeOf(ctx, filepath.Join(p.Made(project.Seeds), s.Key)),
			Says: fmt.Sprintf("made at %.9s, last used %s", s.Commit, s.Used.Format(time.DateTime))})
	}
	add("cache", p.Cache(), project.Seeds, within("", false))
	for _, name := range []string{"history", "output", "prompts", "archive"} {
		if bytes := safefile.SizeOf(ctx, filepath.Join(p.Liza, name)); bytes > 0 {
			list = append(list, Space{Kind: "history", Name: name, Bytes: bytes})
		}
	}
	return list, err
}

// temporary are files of writers that were killed, and scratch folders.
func (c *collector) temporary(context.Context) error {
	for _, path := range c.Service.Agents.Strays() {
		c.drop("file", c.Service.Board.Rel(path), "its writer is gone", func() error { return safefile.RemoveTree(path) })
	}
	entries, err := os.ReadDir(c.Service.Board.Project.Tmp())
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if path := filepath.Join(c.Service.Board.Project.Tmp(), e.Name()); c.strayed(path) && c.Service.Board.Now().Sub(newest(path)) > stray {
			c.drop("file", c.Service.Board.Rel(path), "scratch of a program that has ended", func() error { return safefile.RemoveTree(path) })
		}
	}
	return err
}

// unusedTemplate is how long the data with which a service begins is kept after its last use: it can be made again.
const unusedTemplate = 7 * 24 * time.Hour

// templates are the data folders with which services of the project begin.
func (c *collector) templates(ctx context.Context) error {
	all, _ := filepath.Glob(filepath.Join(c.Service.Board.Project.Made(project.Templates), "[^.]*"))
	for _, path := range all {
		info, err := os.Lstat(path)
		if err != nil || c.Service.Board.Now().Sub(info.ModTime()) < unusedTemplate {
			continue
		}
		c.drop("file", c.Service.Board.Rel(path), "no run has had this data of a service for a week", func() error { return checks.RemoveTemplate(path) })
	}
	return ctx.Err()
}

func (c *collector) strayed(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && c.Service.Board.Now().Sub(info.ModTime()) > stray
}

// CollectInput says what CollectGarbage may remove.
type CollectInput struct {
	DryRun bool
	Attic  bool          // saved work as well, of tasks that ended
	Older  time.Duration // so long ago: the saved work, and the tasks that are archived
}

// Collected is what CollectGarbage removed, or would remove, and what it kept.
type Collected struct {
	DryRun  bool      `json:"dry_run"`
	Removed []Garbage `json:"removed"`
	Kept    []Garbage `json:"kept"`

	Archived []string `json:"archived,omitempty"` // tasks that left the board for the archive
}

// Garbage is one thing that is left over, or looks like it.
type Garbage struct {
	Kind string `json:"kind"` // worktree, branch, candidate, attic, check, seed, file
	Name string `json:"name"`
	Why  string `json:"why"`
	Next string `json:"next,omitempty"` // of what was kept: the command that helps
}

// A collector is one call of CollectGarbage.
type collector struct {
	Service  *verb.Service
	in       CollectInput
	head     string // of the integration branch; "" without one
	archived map[string]blackboard.Archived
	out      Collected
}

func (c *collector) keep(kind, name, why, next string) {
	c.out.Kept = append(c.out.Kept, Garbage{Kind: kind, Name: name, Why: why, Next: next})
}

// drop removes one thing, or only says so. What cannot be removed is kept, with the reason.
func (c *collector) drop(kind, name, why string, remove func() error) {
	if !c.in.DryRun {
		if err := remove(); err != nil {
			c.keep(kind, name, err.Error(), "")
			return
		}
	}
	c.out.Removed = append(c.out.Removed, Garbage{Kind: kind, Name: name, Why: why})
}

// view looks at the board again: what is about to be removed must not be in use now.
func (c *collector) view(ctx context.Context) (*blackboard.State, error) {
	s, err := c.Service.Board.View(ctx)
	if err != nil {
		return nil, err
	}
	c.archived = c.Service.Board.Histories().Archives().Archived()
	c.head, err = c.Service.Integration.TipOf(ctx, s)
	return s, err
}

// over reports whether nobody works on a task any more, and why; else what it is.
func (c *collector) over(s *blackboard.State, id string) (base, why string, over bool) {
	if t := s.Task(id); t != nil {
		return t.BaseCommit, fmt.Sprintf("task %s is %s", id, t.Status), t.Status.Terminal()
	}
	if was, ok := c.archived[id]; ok {
		return "", fmt.Sprintf("task %s is archived (%s)", id, was.Status), true
	}
	return "", "no task has the id " + id, true
}
