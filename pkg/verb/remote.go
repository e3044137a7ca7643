package verb

import (
	"cmp"
	"context"
	"errors"

	"liza/pkg/blackboard"
	"liza/pkg/git"
	"liza/pkg/transition"
)

// branchTip is where the integration branch is: here, or with a remote where this host saw it there last. The remote may
// have gone on by what Liza did on another host: then it is where Liza left it.
func branchTip(ctx context.Context, repo *git.Repo, s *blackboard.State, remote string) (string, error) {
	if remote == "" {
		return repo.BranchTip(ctx, s.IntegrationBranch())
	}
	seen, err := repo.RemoteBranch(ctx, remote, s.IntegrationBranch())
	switch {
	case err != nil || seen == s.Tip():
		return seen, err
	case seen == "" && s.Tip() == "":
		return repo.BranchTip(ctx, s.IntegrationBranch())
	case seen == "" || !s.ForeignTip(seen):
		return cmp.Or(s.Tip(), seen), nil
	}
	there, err := repo.CommitExists(ctx, s.Tip())
	if err == nil && there {
		there, err = repo.IsAncestor(ctx, seen, s.Tip())
	} else if err == nil {
		there = true // what this host has not fetched yet is newer than what it has
	}
	if there {
		return s.Tip(), err
	}
	return seen, err
}

func (d *Service) branchTip(ctx context.Context, s *blackboard.State) (string, error) {
	return branchTip(ctx, d.Repo, s, d.Remote())
}

// tipHere is branchTip where its commits are needed.
func (d *Service) tipHere(ctx context.Context, s *blackboard.State) (string, error) {
	tip, err := d.branchTip(ctx, s)
	if err != nil {
		return "", err
	}
	return d.orSeen(ctx, s, tip)
}

// orSeen fetches the tip of the integration branch. The board knows what another host has merged before this one has it;
// when the remote does not give it now, the tip that this host saw last has to do.
func (d *Service) orSeen(ctx context.Context, s *blackboard.State, tip string) (string, error) {
	if d.Remote() == "" || tip == "" {
		return tip, nil
	}
	if there, err := d.Repo.CommitExists(ctx, tip); there || err != nil {
		return tip, err
	}
	if d.fetch(ctx, tip) == nil {
		if there, err := d.Repo.CommitExists(ctx, tip); there || err != nil {
			return tip, err
		}
	}
	return d.Repo.RemoteBranch(ctx, d.Remote(), s.IntegrationBranch())
}

// FollowRemote brings what other hosts have merged into this repository: the commits, and the integration branch where
// nobody has it checked out. It costs a look at two refs when there is nothing new.
func (d *Service) FollowRemote(ctx context.Context, s *blackboard.State) error {
	remote, tip, branch := d.Remote(), s.Tip(), s.IntegrationBranch()
	if remote == "" || tip == "" || d.Rehearsal {
		return nil
	}
	seen, err := d.Repo.RemoteBranch(ctx, remote, branch)
	if err != nil {
		return err
	}
	if seen == "" {
		if err := d.introduce(ctx, remote, branch, tip); err != nil {
			return err
		}
	} else if seen != tip {
		if now, err := d.branchTip(ctx, s); err != nil || now != tip {
			return err // somebody moved it there: a person decides
		}
		if err := d.Repo.Fetch(ctx, remote, tip); err != nil {
			return err
		}
		if err := d.Repo.SawRemote(ctx, remote, branch, tip); err != nil {
			return err
		}
	}
	return d.Repo.Advance(ctx, branch, tip)
}

// introduce is the first look of this repository at the branch of the remote; who has the branch gives it to a remote that
// has not.
func (d *Service) introduce(ctx context.Context, remote, branch, tip string) error {
	ref := "refs/heads/" + branch
	at, err := d.Repo.RemoteRefs(ctx, remote, ref)
	if err != nil {
		return err
	}
	there := at[ref]
	if there == "" {
		here, err := d.Repo.BranchTip(ctx, branch)
		if err != nil || here != tip {
			return Fail("git push "+remote+" "+branch, "the remote %s has no branch %s, and this repository does not have it as Liza left it", remote, branch)
		}
		if err := d.Repo.Push(ctx, remote, git.RemoteChange{Ref: ref, New: tip}); err != nil {
			return err
		}
		there = tip
	}
	if err := d.Repo.Fetch(ctx, remote, there, tip); err != nil {
		return err
	}
	return d.Repo.SawRemote(ctx, remote, branch, there)
}

// FetchTip brings what was merged, and changes no ref.
func (d *Service) FetchTip(ctx context.Context, s *blackboard.State) error {
	return d.fetch(ctx, s.Tip())
}

// fetch brings commits that the remote may have; one that it does not have is told by who needs it.
func (d *Service) fetch(ctx context.Context, commits ...string) error {
	if d.Remote() == "" || d.Rehearsal {
		return nil
	}
	for _, c := range commits { // one that is lost must not keep the others away
		if err := d.Repo.Fetch(ctx, d.Remote(), c); err != nil && !errors.Is(err, git.ErrNotFound) {
			return err
		}
	}
	return nil
}

// publish puts a commit on the task's branch of the remote, in the place of what an earlier attempt left there. The caller
// has looked whether the task is still its own: anybody who takes it over moves the branch, and this push fails then.
func (d *Service) publish(ctx context.Context, task, commit string) error {
	remote := d.Remote()
	if remote == "" || commit == "" || d.Rehearsal {
		return nil
	}
	ref := "refs/heads/" + git.TaskBranch(task)
	at, err := d.Repo.RemoteRefs(ctx, remote, ref)
	if err != nil || at[ref] == commit {
		return err
	}
	d.Failpoint("publish")
	return d.Repo.Push(ctx, remote, git.RemoteChange{Ref: ref, New: commit, Old: at[ref]})
}

// publishSubmission pushes what is handed in before the board says so, where it has to be pushed. It is not when the rules
// refuse the submission.
func (d *Service) publishSubmission(ctx context.Context, s *blackboard.State, in SubmitInput, event transition.Input) (published bool, err error) {
	if d.Remote() == "" || event.Submission == nil {
		return true, nil
	}
	who, err := d.Identify()
	if err != nil {
		return false, err
	}
	if transition.Submit(s.Clone(), in.Task, who.Actor(s), event, d.Now()) != nil {
		return false, nil // the event says why
	}
	return true, d.publish(ctx, in.Task, event.Submission.Commit)
}

// provenTip is the head of the integration branch, as far as its commits are here: what it holds may be let go.
func (d *Service) provenTip(ctx context.Context, s *blackboard.State) string {
	tip, err := d.branchTip(ctx, s)
	if err == nil && d.fetch(ctx, tip) == nil {
		if there, err := d.Repo.CommitExists(ctx, tip); err == nil && there {
			return tip
		}
	}
	if tip, err = d.Repo.BranchTip(ctx, s.IntegrationBranch()); err != nil {
		return ""
	}
	return tip
}

// putBranch moves the integration branch by a person's decision: on the remote too, if work travels over one.
func (d *Service) putBranch(ctx context.Context, branch, to, from string) error {
	ref, remote := "refs/heads/"+branch, d.Remote()
	if remote == "" {
		return d.Repo.UpdateRef(ctx, ref, to, from)
	}
	if err := d.Repo.Push(ctx, remote, git.RemoteChange{Ref: ref, New: to, Old: from}); err != nil {
		return err
	}
	if err := d.Repo.SawRemote(ctx, remote, branch, to); err != nil {
		return err
	}
	here, err := d.Repo.BranchTip(ctx, branch)
	if err == nil && here == from { // else it follows by itself, or has commits of its own
		return d.Repo.UpdateRef(ctx, ref, to, from)
	}
	return nil
}
