package merge

import (
	"context"
	"errors"
	"fmt"

	"liza/pkg/blackboard"
	"liza/pkg/git"
	"liza/pkg/transition"
)

// save puts everything of a task that head does not contain in the attic.
func (m *Merger) save(ctx context.Context, id, head string) (ref string, err error) {
	path := m.Repo.WorktreePath(id)
	if w, err := m.Repo.Inspect(ctx, path); err != nil {
		return "", err
	} else if !w.Exists {
		path = ""
	}
	ref, _, err = m.Repo.Save(ctx, git.Work{ID: id, Path: path, Reason: "late work", Integration: head})
	return ref, err
}

// noteLate reports late work as an anomaly, once: a merge may have been killed after it was saved or after it was noted.
func (m *Merger) noteLate(s *blackboard.State, id, ref string) {
	what := "work after the submission, saved as " + ref
	for _, a := range s.Anomalies {
		if a.Type == blackboard.AnomalyLateWork && a.Task == id && a.Details["what"] == what {
			return
		}
	}
	transition.AddAnomaly(s, id, blackboard.System, blackboard.AnomalyLateWork, blackboard.Settings{"what": what}, m.Now())
}

// remove takes candidate, worktree and branch of a task away, with proof (8.6). The
// candidate goes first, so that anyone who finds no branch of a task has nothing to look for.
// What nobody has saved yet is saved here; of merged tasks it is late work: exactly the commit under review was merged.
func (m *Merger) remove(ctx context.Context, t *blackboard.Task, branch string, merged bool) error {
	head, err := m.known(ctx, branch)
	if err != nil && !errors.Is(err, git.ErrNotFound) {
		return err
	}
	if err := m.deleteCandidate(ctx, t.ID); err != nil {
		return err
	}
	proof := git.Proof{Integration: head, Base: t.BaseCommit}
	err = m.Repo.Remove(ctx, t.ID, proof)
	var unsaved *git.UnsavedError
	if !errors.As(err, &unsaved) {
		return err
	}
	ref, err := m.save(ctx, t.ID, head)
	if err != nil {
		return fmt.Errorf("%w; it could not be saved: %v", unsaved, err)
	}
	if ref != "" && merged {
		err := m.update(ctx, "merge", func(s *blackboard.State, _ transition.Actor) error {
			m.noteLate(s, t.ID, ref)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return m.Repo.Remove(ctx, t.ID, proof)
}

// finish records MERGED (M9) and removes what the task needs no more (M10). tip is where the
// branch is now: it is remembered in the same write.
func (j *job) finish(ctx context.Context, commit, tip string) (Result, error) {
	if j.Remote != "" && tip != "" {
		j.follow(ctx, j.branch, tip)
	}
	f := transition.MergeFacts{Contained: true, Commit: commit, Tip: tip, Drift: j.drift}
	err := j.update(ctx, "merge", func(s *blackboard.State, a transition.Actor) error {
		return transition.FinishMerge(s, j.task.ID, a, transition.Input{Merge: &f}, j.Now())
	})
	if err != nil && !errors.Is(err, transition.ErrAlreadyDone) {
		return j.result, err
	}
	j.at("M9")
	j.result.Unverified = j.unverified
	j.result.Status, j.result.MergeCommit, j.result.Drift = blackboard.Merged, commit, j.drift
	if err := j.remove(ctx, j.task, j.branch, true); err != nil {
		j.warn("cannot remove the worktree of %s: %v", j.task.ID, err)
		if unsaved := new(git.UnsavedError); errors.As(err, &unsaved) && j.Unsaved != nil {
			j.Unsaved(unsaved)
		}
	}
	j.at("M10")
	return j.result, nil
}
