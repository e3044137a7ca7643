package source

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"liza/pkg/blackboard"
	"liza/pkg/dashboard"
	"liza/pkg/git"
	"liza/pkg/review"
)

// mostDiff is how many bytes of a change are shown.
const mostDiff = 4 << 20

// NoChangeError says why a task has no change to show.
type NoChangeError struct {
	Task, Why, Help string
}

func (e *NoChangeError) Error() string {
	return fmt.Sprintf("cannot show a diff of %s: %s", e.Task, e.Why)
}

// Next is the command that helps.
func (e *NoChangeError) Next() string { return e.Help }

// Diff is what a task changes against its base, before and after its merge, with what was found at its lines. A task that
// has none: *NoChangeError. It is nil when there is no such task.
func (s *Source) Diff(ctx context.Context, id string) (*dashboard.Diff, error) {
	st, t, err := s.find(ctx, id)
	if t == nil {
		return nil, err
	}
	base, commit, err := s.change(ctx, st, t)
	if err != nil {
		return nil, err
	}
	files, cut, err := s.Service.Repo.Patches(ctx, base, commit, mostDiff)
	if err != nil {
		return nil, err
	}
	d := &dashboard.Diff{Base: base, Commit: commit, Merged: t.Status == blackboard.Merged, Files: []dashboard.DiffFile{}, Cut: cut}
	for _, f := range files {
		d.Added, d.Removed = d.Added+f.Added, d.Removed+f.Removed
		d.Files = append(d.Files, dashboard.DiffFile{Path: f.Path, From: f.OldPath, Status: statusOf(f), Added: f.Added, Removed: f.Removed, Binary: f.Binary, Patch: s.shown(f), Cut: f.Cut})
	}
	d.Place(dashboard.FindingsOf(st, t))
	return d, nil
}

func statusOf(f git.FilePatch) string {
	switch {
	case f.Status == "A":
		return "added"
	case f.Status == "D":
		return "deleted"
	case f.Status == "R":
		return "renamed"
	case f.Status == "C":
		return "copied"
	case f.Hunks == "" && !f.Binary && f.Mode != f.OldMode:
		return "mode"
	}
	return "modified"
}

// shown is a patch without secrets: those that people named, and what looks like one.
func (s *Source) shown(f git.FilePatch) string {
	head := "+++ b/" + strings.ReplaceAll(f.Path, "\n", " ") + "\n" // it decides what may look like a secret
	return s.Service.Mask(strings.TrimPrefix(review.Redact(head+f.Hunks), head))
}

// change finds the two commits between which the task's own change lies: its last one that is known, and the place where it
// left the integration branch, which moves when the task takes over what others merged.
func (s *Source) change(ctx context.Context, st *blackboard.State, t *blackboard.Task) (base, commit string, err error) {
	none := func(next, why string, args ...any) error {
		return &NoChangeError{Task: t.ID, Why: fmt.Sprintf(why, args...), Help: next}
	}
	if !t.ChangesFiles() {
		return "", "", none("liza show "+t.ID, "its work does not change files (kind %s)", t.KindOf())
	}
	repo := s.Service.Repo
	if commit = s.commitOf(ctx, t); commit == "" {
		return "", "", none("liza show "+t.ID, "nothing was committed for it yet (%s)", t.Status)
	}
	if there, err := repo.CommitExists(ctx, commit); err != nil || !there {
		return "", "", none("liza show "+t.ID, "its commit %.9s is not in the repository", commit)
	}
	onto := cmp.Or(t.FixOnto, t.BaseCommit, st.IntegrationBranch())
	if m := t.MergeCommit; m != "" && m != commit {
		onto = m + "^1"
	}
	if base, err = repo.MergeBase(ctx, onto, commit); err != nil && t.BaseCommit != "" {
		base, err = repo.Resolve(ctx, t.BaseCommit)
	}
	if err != nil {
		return "", "", fmt.Errorf("cannot find the base of %s: %w", t.ID, err)
	}
	if base == commit && t.Status != blackboard.Merged {
		return "", "", none("liza show "+t.ID, "nothing was committed for it yet (%s)", t.Status)
	}
	return base, commit, nil
}

// commitOf is the last commit of a task: what was submitted, or while its coder works or after it gave up, what is on its
// branch.
func (s *Source) commitOf(ctx context.Context, t *blackboard.Task) string {
	submitted := cmp.Or(t.ReviewCommit, t.ApprovedCommit)
	switch t.Status {
	case blackboard.ReadyForReview, blackboard.Rejected, blackboard.Approved, blackboard.IntegrationFailed:
		return submitted
	case blackboard.Merged:
		return cmp.Or(submitted, t.MergeCommit)
	}
	if tip, err := s.Service.Repo.BranchTip(ctx, git.TaskBranch(t.ID)); err == nil {
		return tip
	}
	for i := len(t.Attempts) - 1; i >= 0; i-- {
		if a := t.Attempts[i]; a != nil && a.Commit != "" {
			return a.Commit
		}
	}
	return submitted
}
