package verb

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"liza/pkg/blackboard"
	"liza/pkg/git"
	"liza/pkg/review"
)

// ChangeOf finds the two sides of what a task changes: before its merge of what would land on the branch as it is now, after it
// of what has landed.
func (d *Service) ChangeOf(ctx context.Context, s *blackboard.State, t *blackboard.Task) (base, commit string, err error) {
	none := func(why string, args ...any) error {
		return Refuse("liza show "+t.ID, "%s has no change: %s", t.ID, fmt.Sprintf(why, args...))
	}
	if !t.ChangesFiles() {
		return "", "", none("work of kind %s changes no files", t.KindOf())
	}
	if commit = d.lastCommit(ctx, t); commit == "" {
		return "", "", none("nothing of it was handed in yet (%s)", t.Status)
	}
	if there, err := d.Repo.CommitExists(ctx, commit); err != nil || !there {
		return "", "", none("its commit %.9s is not in the repository", commit)
	}
	if m := t.MergeCommit; m != "" && m != commit {
		base, commit, err = d.Repo.Proposal(ctx, m+"^1", commit)
	} else if t.Status == blackboard.Merged {
		base, commit, err = d.proposal(ctx, t, cmp.Or(t.FixOnto, t.BaseCommit, s.IntegrationBranch()), commit)
	} else {
		base, commit, err = d.Proposal(ctx, s, t, commit)
	}
	if err != nil {
		return "", "", err
	}
	if base == commit && t.Status != blackboard.Merged {
		return "", "", none("nothing of it was handed in yet (%s)", t.Status)
	}
	return base, commit, nil
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
