package integration

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/code/git"
	"liza/pkg/code/review"
	"liza/pkg/verb/board"
)

// ChangeOf finds the two sides of what a task changes: before its merge of what would land on the branch as it is now, after it
// of what has landed.
func (i *Branch) ChangeOf(ctx context.Context, s *blackboard.State, t *blackboard.Task) (base, commit string, err error) {
	base, commit, err = i.sides(ctx, s, t)
	if err == nil && base == commit && t.Status != blackboard.Merged {
		err = noChange(t, "nothing of it was handed in yet (%s)", t.Status)
	}
	return base, commit, err
}

func noChange(t *blackboard.Task, why string, args ...any) error {
	return board.Refuse("liza show "+t.ID, "%s has no change: %s", t.ID, fmt.Sprintf(why, args...))
}

// sides is ChangeOf for a task that may have no commit of its own yet.
func (i *Branch) sides(ctx context.Context, s *blackboard.State, t *blackboard.Task) (base, commit string, err error) {
	if !t.ChangesFiles() {
		return "", "", noChange(t, "work of kind %s changes no files", t.KindOf())
	}
	if commit = i.lastCommit(ctx, t); commit == "" {
		return "", "", noChange(t, "nothing of it was handed in yet (%s)", t.Status)
	}
	if there, err := i.board.Repo.CommitExists(ctx, commit); err != nil || !there {
		return "", "", noChange(t, "its commit %.9s is not in the repository", commit)
	}
	if m := t.MergeCommit; m != "" && m != commit {
		base, commit, err = i.board.Repo.Proposal(ctx, m+"^1", commit)
	} else if t.Status == blackboard.Merged {
		base, commit, err = i.ProposalOnto(ctx, t, cmp.Or(t.FixOnto, t.BaseCommit, s.IntegrationBranch()), commit)
	} else {
		base, commit, err = i.Proposal(ctx, s, t, commit)
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
func (i *Branch) PatchesOf(ctx context.Context, s *blackboard.State, t *blackboard.Task, most int) (p Patches, err error) {
	if err := i.board.Apart(s, t); err != nil {
		return p, err
	}
	return i.patches(ctx, s, t, most, i.board.Caller.AgentID == "" && i.board.Caller.Inside == "")
}

// WorkOf is PatchesOf for Liza itself, which sees the worktree of a task also as a supervisor. Without a change it has no files.
func (i *Branch) WorkOf(ctx context.Context, s *blackboard.State, t *blackboard.Task, most int) (Patches, error) {
	p, err := i.patches(ctx, s, t, most, true)
	var none *transition.Refusal
	if errors.As(err, &none) {
		err = nil
	}
	return p, err
}

func (i *Branch) patches(ctx context.Context, s *blackboard.State, t *blackboard.Task, most int, live bool) (p Patches, err error) {
	if p.Base, p.Commit, err = i.sides(ctx, s, t); err != nil {
		return p, err
	}
	if live && t.Status == blackboard.Claimed && !i.board.Elsewhere(t) {
		within, done := context.WithTimeoutCause(ctx, lookTimeout, fmt.Errorf("it takes longer than %s", lookTimeout))
		defer done()
		p.Live = true
		p.Files, p.Cut, err = i.board.Repo.LivePatches(within, t.ID, p.Base, most)
		if err == nil && len(p.Files) == 0 {
			err = noChange(t, "nothing in its worktree differs from the base yet")
		}
		if !errors.Is(err, git.ErrNotFound) {
			return p, err
		}
		p.Live = false
	}
	if p.Base, p.Commit, err = i.ChangeOf(ctx, s, t); err == nil {
		p.Files, p.Cut, err = i.board.Repo.Patches(ctx, p.Base, p.Commit, most)
	}
	return p, err
}

// lookTimeout bounds how long the worktree of a running task is read.
const lookTimeout = 30 * time.Second

// Proposal finds the two sides of what a merge of the commit of a task would change on the integration branch as it is now:
// prompts, checks, the rules of reviewers and people look at this, and at nothing else.
func (i *Branch) Proposal(ctx context.Context, s *blackboard.State, t *blackboard.Task, commit string) (from, to string, err error) {
	tip, err := i.KnownTip(ctx, s)
	if err != nil {
		return "", "", err
	}
	return i.ProposalOnto(ctx, t, cmp.Or(tip, t.FixOnto, t.BaseCommit), commit)
}

func (i *Branch) ProposalOnto(ctx context.Context, t *blackboard.Task, onto, commit string) (from, to string, err error) {
	from, to, err = i.board.Repo.Proposal(ctx, onto, commit)
	if err != nil && t.BaseCommit != "" { // an unrelated or lost branch
		from, to = t.BaseCommit, commit
		_, err = i.board.Repo.Resolve(ctx, t.BaseCommit)
	}
	if err != nil {
		return "", "", fmt.Errorf("cannot find what %s changes: %w", t.ID, err)
	}
	return from, to, nil
}

// Undone is what a change takes away although other work has brought it to the branch since the task was claimed.
func (i *Branch) Undone(ctx context.Context, t *blackboard.Task, from, to string) (list []review.Undone, err error) {
	if t.BaseCommit == "" || t.BaseCommit == from {
		return nil, nil
	}
	files, err := i.board.Repo.Undone(ctx, t.BaseCommit, from, to, t.ReviewCommit)
	if err != nil || len(files) == 0 {
		return nil, err
	}
	merges, err := i.board.Repo.MergesOf(ctx, t.BaseCommit, from, files...)
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

// TakenAway has the findings of undone for what was submitted.
func (i *Branch) TakenAway(ctx context.Context, s *blackboard.State, t *blackboard.Task) (found []*blackboard.Finding, err error) {
	from, to, err := i.Proposal(ctx, s, t, t.ReviewCommit)
	if err != nil {
		return nil, err
	}
	list, err := i.Undone(ctx, t, from, to)
	for _, u := range list {
		found = append(found, u.Finding())
	}
	return found, err
}

// lastCommit is what was submitted of a task or, while its coder works and after it gave up, what is on its branch.
func (i *Branch) lastCommit(ctx context.Context, t *blackboard.Task) string {
	submitted := cmp.Or(t.ReviewCommit, t.ApprovedCommit)
	switch t.Status {
	case blackboard.ReadyForReview, blackboard.Rejected, blackboard.Approved, blackboard.IntegrationFailed:
		return submitted
	case blackboard.Merged:
		return cmp.Or(submitted, t.MergeCommit)
	}
	if tip, err := i.board.Repo.BranchTip(ctx, git.TaskBranch(t.ID)); err == nil {
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
func (i *Branch) Radar(ctx context.Context, s *blackboard.State, id string) []Clash {
	if i.board.Repo == nil || s == nil {
		return nil
	}
	list := open(s, id)
	if len(list) == 0 {
		return nil
	}
	head, err := i.IntegrationHead(ctx, s)
	if err != nil {
		return nil
	}
	var clashes []Clash
	for _, t := range list {
		commit := t.ReviewCommit
		if t.Status == blackboard.Claimed || t.Status == blackboard.Rejected {
			if commit, err = i.board.Repo.BranchTip(ctx, git.TaskBranch(t.ID)); err != nil {
				continue
			}
		}
		if commit == "" || t.BaseCommit == head || commit == t.BaseCommit {
			continue // nothing came from others, or nothing from the task
		}
		var conflict *git.ConflictError
		if err := i.board.Repo.TryMerge(ctx, head, commit); errors.As(err, &conflict) {
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
