package verb

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/code/git"
	"liza/pkg/code/review"
)

// ChangeOf finds the two sides of what a task changes: before its merge of what would land on the branch as it is now, after it
// of what has landed.
func (d *Service) ChangeOf(ctx context.Context, s *blackboard.State, t *blackboard.Task) (base, commit string, err error) {
	base, commit, err = d.sides(ctx, s, t)
	if err == nil && base == commit && t.Status != blackboard.Merged {
		err = noChange(t, "nothing of it was handed in yet (%s)", t.Status)
	}
	return base, commit, err
}

func noChange(t *blackboard.Task, why string, args ...any) error {
	return Refuse("liza show "+t.ID, "%s has no change: %s", t.ID, fmt.Sprintf(why, args...))
}

// sides is ChangeOf for a task that may have no commit of its own yet.
func (d *Service) sides(ctx context.Context, s *blackboard.State, t *blackboard.Task) (base, commit string, err error) {
	if !t.ChangesFiles() {
		return "", "", noChange(t, "work of kind %s changes no files", t.KindOf())
	}
	if commit = d.lastCommit(ctx, t); commit == "" {
		return "", "", noChange(t, "nothing of it was handed in yet (%s)", t.Status)
	}
	if there, err := d.Repo.CommitExists(ctx, commit); err != nil || !there {
		return "", "", noChange(t, "its commit %.9s is not in the repository", commit)
	}
	if m := t.MergeCommit; m != "" && m != commit {
		base, commit, err = d.Repo.Proposal(ctx, m+"^1", commit)
	} else if t.Status == blackboard.Merged {
		base, commit, err = d.proposal(ctx, t, cmp.Or(t.FixOnto, t.BaseCommit, s.IntegrationBranch()), commit)
	} else {
		base, commit, err = d.Proposal(ctx, s, t, commit)
	}
	return base, commit, err
}

// A Patches is what a task changes, file by file.
type Patches struct {
	Base, Commit string
	Live         bool // Files are those of the worktree as it is now, not those of Commit
	Files        []git.FilePatch
	Cut          bool // the change is larger than what was read of it
}

// PatchesOf is what a task changes: while its coder is at work what is in its worktree, committed or not, else that of ChangeOf.
// Of what git writes no more than most bytes are read. Agents are shown commits only.
func (d *Service) PatchesOf(ctx context.Context, s *blackboard.State, t *blackboard.Task, most int) (p Patches, err error) {
	if p.Base, p.Commit, err = d.sides(ctx, s, t); err != nil {
		return p, err
	}
	if t.Status == blackboard.Claimed && !d.elsewhere(t) && d.Caller.AgentID == "" && d.Caller.Inside == "" {
		within, done := context.WithTimeoutCause(ctx, lookTimeout, fmt.Errorf("it takes longer than %s", lookTimeout))
		defer done()
		p.Live = true
		p.Files, p.Cut, err = d.Repo.LivePatches(within, t.ID, p.Base, most)
		if err == nil && len(p.Files) == 0 {
			err = noChange(t, "nothing in its worktree differs from the base yet")
		}
		if !errors.Is(err, git.ErrNotFound) {
			return p, err
		}
		p.Live = false
	}
	if p.Base, p.Commit, err = d.ChangeOf(ctx, s, t); err == nil {
		p.Files, p.Cut, err = d.Repo.Patches(ctx, p.Base, p.Commit, most)
	}
	return p, err
}

// lookTimeout bounds how long the worktree of a running task is read.
const lookTimeout = 30 * time.Second

// Help starts the helper of git where the commands of the project are contained: a run may have made anything of its worktree.
func (d *Service) Help(ctx context.Context, h git.Help) (code int, said string, err error) {
	var out bytes.Buffer
	const most = 64 << 10
	ran := review.Command{Shell: h.Shell, Name: h.Name, Dir: h.Dir, Reads: h.Reads, Writes: []string{h.Folder}, Timeout: h.Limit, Output: &out, Most: most}.RunIn(ctx, d.Enclose)
	switch {
	case ran.Err != nil:
		return 0, "", ran.Err
	case ran.TimedOut:
		return 0, "", fmt.Errorf("it took longer than %s", h.Limit)
	case ran.TooMuch || ran.ExitCode < 0:
		return 1, out.String() + strings.Join(ran.Refused, "\n"), nil
	}
	return ran.ExitCode, out.String(), nil
}

// Proposal finds the two sides of what a merge of the commit of a task would change on the integration branch as it is now:
// prompts, checks, the rules of reviewers and people look at this, and at nothing else.
func (d *Service) Proposal(ctx context.Context, s *blackboard.State, t *blackboard.Task, commit string) (from, to string, err error) {
	tip, err := d.knownTip(ctx, s)
	if err != nil {
		return "", "", err
	}
	return d.proposal(ctx, t, cmp.Or(tip, t.FixOnto, t.BaseCommit), commit)
}

func (d *Service) proposal(ctx context.Context, t *blackboard.Task, onto, commit string) (from, to string, err error) {
	from, to, err = d.Repo.Proposal(ctx, onto, commit)
	if err != nil && t.BaseCommit != "" { // an unrelated or lost branch
		from, to = t.BaseCommit, commit
		_, err = d.Repo.Resolve(ctx, t.BaseCommit)
	}
	if err != nil {
		return "", "", fmt.Errorf("cannot find what %s changes: %w", t.ID, err)
	}
	return from, to, nil
}

// undone is what a change takes away although other work has brought it to the branch since the task was claimed.
func (d *Service) undone(ctx context.Context, t *blackboard.Task, from, to string) (list []review.Undone, err error) {
	if t.BaseCommit == "" || t.BaseCommit == from {
		return nil, nil
	}
	files, err := d.Repo.Undone(ctx, t.BaseCommit, from, to, t.ReviewCommit)
	if err != nil || len(files) == 0 {
		return nil, err
	}
	merges, err := d.Repo.MergesOf(ctx, t.BaseCommit, from, files...)
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		u := review.Undone{File: file}
		for _, m := range merges {
			if slices.Contains(m.Files, file) {
				u.Of = append(u.Of, cmp.Or(m.Task, blackboard.ShortCommit(m.Commit)))
			}
		}
		list = append(list, u)
	}
	return list, nil
}

// takenAway has the findings of undone for what was submitted.
func (d *Service) takenAway(ctx context.Context, s *blackboard.State, t *blackboard.Task) (found []*blackboard.Finding, err error) {
	from, to, err := d.Proposal(ctx, s, t, t.ReviewCommit)
	if err != nil {
		return nil, err
	}
	list, err := d.undone(ctx, t, from, to)
	for _, u := range list {
		found = append(found, u.Finding())
	}
	return found, err
}

// lastCommit is what was submitted of a task or, while its coder works and after it gave up, what is on its branch.
func (d *Service) lastCommit(ctx context.Context, t *blackboard.Task) string {
	submitted := cmp.Or(t.ReviewCommit, t.ApprovedCommit)
	switch t.Status {
	case blackboard.ReadyForReview, blackboard.Rejected, blackboard.Approved, blackboard.IntegrationFailed:
		return submitted
	case blackboard.Merged:
		return cmp.Or(submitted, t.MergeCommit)
	}
	if tip, err := d.Repo.BranchTip(ctx, git.TaskBranch(t.ID)); err == nil {
		return tip
	}
	for i := len(t.Attempts) - 1; i >= 0; i-- {
		if a := t.Attempts[i]; a != nil && a.Commit != "" {
			return a.Commit
		}
	}
	return submitted
}

// A Clash is an open task whose work does not merge with the integration branch as it is now.
type Clash struct {
	Task  string   `json:"task"`
	Files []string `json:"files"`
}

func (c Clash) String() string {
	const shown = 5
	files := strings.Join(c.Files[:min(shown, len(c.Files))], ", ")
	if more := len(c.Files) - shown; more > 0 {
		files += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("%s does not merge with the integration branch as it is now: %s", c.Task, files)
}

// Radar merges what open tasks have committed so far with the integration branch, on the
// side, and tells of those that do not merge, in the order of their merge. It ends with ctx:
// what could not be looked at until then is left out, and it changes nothing. For the id "" it
// looks at all tasks.
func (d *Service) Radar(ctx context.Context, s *blackboard.State, id string) []Clash {
	if d.Repo == nil || s == nil {
		return nil
	}
	list := open(s, id)
	if len(list) == 0 {
		return nil
	}
	head, err := d.IntegrationHead(ctx, s)
	if err != nil {
		return nil
	}
	var clashes []Clash
	for _, t := range list {
		commit := t.ReviewCommit
		if t.Status == blackboard.Claimed || t.Status == blackboard.Rejected {
			if commit, err = d.Repo.BranchTip(ctx, git.TaskBranch(t.ID)); err != nil {
				continue
			}
		}
		if commit == "" || t.BaseCommit == head || commit == t.BaseCommit {
			continue // nothing came from others, or nothing from the task
		}
		var conflict *git.ConflictError
		if err := d.Repo.TryMerge(ctx, head, commit); errors.As(err, &conflict) {
			clashes = append(clashes, Clash{t.ID, conflict.Files})
		} else if ctx.Err() != nil {
			break
		}
	}
	return clashes
}

// open are the tasks with work that is to be merged, those that come first first.
func open(s *blackboard.State, id string) []*blackboard.Task {
	order := []blackboard.Status{blackboard.Approved, blackboard.ReadyForReview, blackboard.Claimed, blackboard.Rejected}
	var list []*blackboard.Task
	for t := range s.Tasks() {
		if (id == "" || t.ID == id) && t.ChangesFiles() && slices.Contains(order, t.Status) {
			list = append(list, t)
		}
	}
	slices.SortStableFunc(list, func(a, b *blackboard.Task) int { return slices.Index(order, a.Status) - slices.Index(order, b.Status) })
	return list
}
