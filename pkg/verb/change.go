package verb

import (
	"cmp"
	"context"
	"fmt"

	"liza/pkg/blackboard"
	"liza/pkg/git"
)

// ChangeOf finds the two commits between which a task's own change lies, before and after its merge: the last one that is
// known of it, and the place where it left the integration branch, which moves when it takes over what others merged.
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
	onto := cmp.Or(t.FixOnto, t.BaseCommit, s.IntegrationBranch())
	if m := t.MergeCommit; m != "" && m != commit {
		onto = m + "^1"
	}
	if base, err = d.Repo.MergeBase(ctx, onto, commit); err != nil && t.BaseCommit != "" {
		base, err = d.Repo.Resolve(ctx, t.BaseCommit)
	}
	if err != nil {
		return "", "", fmt.Errorf("cannot find the base of %s: %w", t.ID, err)
	}
	if base == commit && t.Status != blackboard.Merged {
		return "", "", none("nothing of it was handed in yet (%s)", t.Status)
	}
	return base, commit, nil
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
