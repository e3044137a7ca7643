package verb

import (
	"context"
	"errors"
	"fmt"

	"liza/pkg/blackboard"
	"liza/pkg/git"
	"liza/pkg/prose"
)

// TakeOver brings what the run of a coder has committed into the repository, where the task is still being worked on.
// Anyone who works in the worktree without a git folder of a run has committed to the repository already.
func (d *Service) TakeOver(ctx context.Context, id string) (git.Taken, error) {
	s, err := d.View(ctx)
	if err != nil {
		return git.Taken{}, err
	}
	return d.takeOver(ctx, s, s.Task(id))
}

func (d *Service) takeOver(ctx context.Context, s *blackboard.State, t *blackboard.Task) (git.Taken, error) {
	if d.Rehearsal || t == nil || t.Status != blackboard.Claimed || !t.ChangesFiles() || d.elsewhere(t) {
		return git.Taken{}, nil
	}
	integration, err := d.knownTip(ctx, s)
	if err != nil {
		return git.Taken{}, err
	}
	taken, err := d.Repo.TakeOver(ctx, git.Taking{Task: t.ID, Known: append(t.Bases(), integration)})
	if taken.Moved {
		d.Failpoint("taken over")
	}
	return taken, err
}

// knownTip is where the integration branch is, or was left by Liza when somebody else has moved it; "" without one. Its
// commits are here.
func (d *Service) knownTip(ctx context.Context, s *blackboard.State) (string, error) {
	tip, err := d.tipHere(ctx, s)
	if err != nil && !errors.Is(err, git.ErrNotFound) {
		return "", err
	}
	if s.ForeignTip(tip) { // commits that nobody has decided about are not known yet
		return d.orSeen(ctx, s, s.Tip())
	}
	return tip, nil
}

// GitFolder is what a run of an agent on a task, or with "" in the main checkout, needs of git: a folder of its own.
// With keep its commits are the task's work. With redirect, so without a wall, it also knows the remotes: policy.push decides
// about them.
func (d *Service) GitFolder(ctx context.Context, s *blackboard.State, t *blackboard.Task, agent string, keep, redirect bool) (*git.Folder, error) {
	tip, err := d.knownTip(ctx, s)
	if err != nil {
		return nil, err
	}
	spec := git.FolderSpec{Agent: agent, Redirect: redirect, Remotes: redirect, Branches: map[string]string{s.IntegrationBranch(): tip}}
	if t != nil {
		spec.Task, spec.Keep, spec.Known = t.ID, keep, append(t.Bases(), tip)
	}
	return d.Repo.OpenFolder(ctx, spec)
}

// CloseGitFolder ends the use of a folder when its run is over. What was committed after the submission, or after the
// claim of the run went to somebody else, is saved in the attic and told.
func (d *Service) CloseGitFolder(ctx context.Context, f *git.Folder, id string, m Mark) error {
	s, err := d.View(ctx)
	if err != nil {
		return err
	}
	t := s.Task(id)
	late := t == nil || t.Status.Terminal() || atRest(t) || t.Status == blackboard.Claimed && (t.AssignedTo != m.Agent || t.ClaimSeq != m.ClaimSeq)
	taken, err := f.Close(ctx, late)
	return errors.Join(err, d.tellTaken(ctx, id, taken, late))
}

// tellTaken tells of commits that are not on the task's branch.
func (d *Service) tellTaken(ctx context.Context, id string, taken git.Taken, late bool) error {
	if len(taken.Others) > 0 {
		d.Warn(ctx, id, blackboard.ActionCommitsElsewhere, "commits on other branches, or in the stash, were saved as "+prose.Few(taken.Others, 5))
	}
	if taken.Attic == "" && taken.Refused == "" {
		return nil
	}
	what, kept := fmt.Sprintf("commit %.9s", taken.Commit), ""
	if taken.Attic != "" {
		kept = "; saved as " + taken.Attic
	}
	if late {
		text := "work after the submission: " + what + kept
		d.Progressf("%s: %s", id, text)
		return d.NoteAnomaly(ctx, id, blackboard.AnomalyLateWork, text)
	}
	d.Warn(ctx, id, blackboard.ActionCommitsRefused, prose.FirstLine(what+" was not taken over: "+taken.Refused+kept))
	return nil
}

// SettleFolders takes over what runs have left whose supervisors were killed. It returns what it did, for the log.
func (d *Service) SettleFolders(ctx context.Context) ([]string, error) {
	s, err := d.View(ctx)
	if err != nil {
		return nil, err
	}
	var did []string
	for _, id := range d.Repo.LeftFolders() {
		t := s.Task(id)
		late := t == nil || t.Status.Terminal() || atRest(t)
		taken, err := d.Repo.Settle(ctx, id, late)
		if err == nil {
			err = d.tellTaken(ctx, id, taken, late)
		}
		if err != nil {
			return did, err
		}
		if taken.Moved {
			did = append(did, fmt.Sprintf("took over commit %.9s of %s, whose run was killed", taken.Commit, id))
		}
	}
	return did, d.Repo.ClearFolders(ctx)
}

// atRest reports whether a task was submitted and no coder can be at work on it.
func atRest(t *blackboard.Task) bool {
	if t == nil || t.ReviewCommit == "" || t.Worktree == "" || !t.ChangesFiles() {
		return false
	}
	switch t.Status {
	case blackboard.ReadyForReview, blackboard.Approved, blackboard.Blocked:
		return true
	case blackboard.Rejected:
		return t.Claiming == nil
	}
	return false
}
