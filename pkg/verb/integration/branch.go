// Package integration is the integration branch of a project as this host sees it, here or on the remote over which work travels.
//
// A Branch finds the tip (TipHere, IntegrationHead), compares it with where the board says that Liza left it (Standing), brings what other
// hosts have merged (FollowRemote), and finds what a merge of a task would change on it (Proposal). It merges nothing, and it moves
// the branch only by a person's decision (PutBranch).
package integration

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/code/git"
	"liza/pkg/verb/board"
)

// A Branch is the integration branch of a project, as this host sees it.
type Branch struct {
	board *board.Session
}

// New returns the integration branch of the project of a session.
func New(b *board.Session) *Branch { return &Branch{b} }

// ContainsBase reports whether a commit contains the base; one that is lost tells nothing.
func (i *Branch) ContainsBase(ctx context.Context, base, commit string) (bool, error) {
	if there, err := i.board.Repo.CommitExists(ctx, base); base == "" || err != nil || !there {
		return err == nil, err
	}
	return i.board.Repo.IsAncestor(ctx, base, commit)
}

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

func (i *Branch) branchTip(ctx context.Context, s *blackboard.State) (string, error) {
	return branchTip(ctx, i.board.Repo, s, i.board.Remote())
}

// TipHere is branchTip where its commits are needed.
func (i *Branch) TipHere(ctx context.Context, s *blackboard.State) (string, error) {
	tip, err := i.branchTip(ctx, s)
	if err != nil {
		return "", err
	}
	return i.orSeen(ctx, s, tip)
}

// orSeen fetches the tip of the integration branch. The board knows what another host has merged before this one has it;
// when the remote does not give it now, the tip that this host saw last has to do.
func (i *Branch) orSeen(ctx context.Context, s *blackboard.State, tip string) (string, error) {
	if i.board.Remote() == "" || tip == "" {
		return tip, nil
	}
	if there, err := i.board.Repo.CommitExists(ctx, tip); there || err != nil {
		return tip, err
	}
	if i.Fetch(ctx, tip) == nil {
		if there, err := i.board.Repo.CommitExists(ctx, tip); there || err != nil {
			return tip, err
		}
	}
	return i.board.Repo.RemoteBranch(ctx, i.board.Remote(), s.IntegrationBranch())
}

// FollowRemote brings what other hosts have merged into this repository: the commits, and the integration branch where
// nobody has it checked out. It costs a look at two refs when there is nothing new.
func (i *Branch) FollowRemote(ctx context.Context, s *blackboard.State) error {
	remote, tip, branch := i.board.Remote(), s.Tip(), s.IntegrationBranch()
	if remote == "" || tip == "" || i.board.Rehearsal {
		return nil
	}
	seen, err := i.board.Repo.RemoteBranch(ctx, remote, branch)
	if err != nil {
		return err
	}
	if seen == "" {
		if err := i.introduce(ctx, remote, branch, tip); err != nil {
			return err
		}
	} else if seen != tip {
		if now, err := i.branchTip(ctx, s); err != nil || now != tip {
			return err // somebody moved it there: a person decides
		}
		if err := i.board.Repo.Fetch(ctx, remote, tip); err != nil {
			return err
		}
		if err := i.board.Repo.SawRemote(ctx, remote, branch, tip); err != nil {
			return err
		}
	}
	return i.board.Repo.Advance(ctx, branch, tip)
}

// introduce is the first look of this repository at the branch of the remote; who has the branch gives it to a remote that
// has not.
func (i *Branch) introduce(ctx context.Context, remote, branch, tip string) error {
	ref := "refs/heads/" + branch
	at, err := i.board.Repo.RemoteRefs(ctx, remote, ref)
	if err != nil {
		return err
	}
	there := at[ref]
	if there == "" {
		here, err := i.board.Repo.BranchTip(ctx, branch)
		if err != nil || here != tip {
			return board.Fail("git push "+remote+" "+branch, "the remote %s has no branch %s, and this repository does not have it as Liza left it", remote, branch)
		}
		if err := i.board.Repo.Push(ctx, remote, git.RemoteChange{Ref: ref, New: tip}); err != nil {
			return err
		}
		there = tip
	}
	if err := i.board.Repo.Fetch(ctx, remote, there, tip); err != nil {
		return err
	}
	return i.board.Repo.SawRemote(ctx, remote, branch, there)
}

// Fetch brings commits that the remote may have; one that it does not have is told by who needs it.
func (i *Branch) Fetch(ctx context.Context, commits ...string) error {
	if i.board.Remote() == "" || i.board.Rehearsal {
		return nil
	}
	for _, c := range commits { // one that is lost must not keep the others away
		if err := i.board.Repo.Fetch(ctx, i.board.Remote(), c); err != nil && !errors.Is(err, git.ErrNotFound) {
			return err
		}
	}
	return nil
}

// ProvenTip is the head of the integration branch, as far as its commits are here: what it holds may be let go.
func (i *Branch) ProvenTip(ctx context.Context, s *blackboard.State) string {
	tip, err := i.branchTip(ctx, s)
	if err == nil && i.Fetch(ctx, tip) == nil {
		if there, err := i.board.Repo.CommitExists(ctx, tip); err == nil && there {
			return tip
		}
	}
	if tip, err = i.board.Repo.BranchTip(ctx, s.IntegrationBranch()); err != nil {
		return ""
	}
	return tip
}

// PutBranch moves the integration branch by a person's decision: on the remote too, if work travels over one.
func (i *Branch) PutBranch(ctx context.Context, branch, to, from string) error {
	ref, remote := "refs/heads/"+branch, i.board.Remote()
	if remote == "" {
		return i.board.Repo.UpdateRef(ctx, ref, to, from)
	}
	if err := i.board.Repo.Push(ctx, remote, git.RemoteChange{Ref: ref, New: to, Old: from}); err != nil {
		return err
	}
	if err := i.board.Repo.SawRemote(ctx, remote, branch, to); err != nil {
		return err
	}
	here, err := i.board.Repo.BranchTip(ctx, branch)
	if err == nil && here == from { // else it follows by itself, or has commits of its own
		return i.board.Repo.UpdateRef(ctx, ref, to, from)
	}
	return nil
}

// IntegrationTip is where the integration branch is, on the remote if work travels over one, "" when it does not exist. The snapshot is older than the
// look at the branch: what a merge left meanwhile is not foreign, and s is told its own tip.
func IntegrationTip(ctx context.Context, repo *git.Repo, s *blackboard.State, remote string, view func(context.Context) (*blackboard.State, error)) (string, error) {
	tip, err := branchTip(ctx, repo, s, remote)
	if errors.Is(err, git.ErrNotFound) {
		tip, err = "", nil
	}
	if err != nil || !s.ForeignTip(tip) {
		return tip, err
	}
	later, err := view(ctx)
	if err == nil && later.Revision > s.Revision && (later.Tip() != s.Tip() || !later.ForeignTip(tip)) { // else s is an edit by hand
		return s.Tip(), nil
	}
	return tip, nil
}

// TipOf is IntegrationTip for the board of the service.
func (i *Branch) TipOf(ctx context.Context, s *blackboard.State) (string, error) {
	return IntegrationTip(ctx, i.board.Repo, s, i.board.Remote(), i.board.Store.View)
}

// AskedTip is where the integration branch is on the remote at this moment, if work travels over one. What this host has seen of it does
// not say whether somebody has put it back.
func (i *Branch) AskedTip(ctx context.Context, s *blackboard.State) (string, error) {
	remote, ref := i.board.Remote(), "refs/heads/"+s.IntegrationBranch()
	if remote == "" {
		return i.TipOf(ctx, s)
	}
	at, err := i.board.Repo.RemoteRefs(ctx, remote, ref)
	if err != nil || at[ref] == "" {
		return "", err
	}
	return at[ref], errors.Join(i.board.Repo.Fetch(ctx, remote, at[ref]), i.board.Repo.SawRemote(ctx, remote, s.IntegrationBranch(), at[ref]))
}

// IntegrationHead is what new work is based on: the tip of the integration branch, and where somebody moved
// that, the tip at which Liza left it. Work on commits that nobody has decided about would bring them
// back with its own merge; work on the known tip can go on whatever the person decides.
func (i *Branch) IntegrationHead(ctx context.Context, s *blackboard.State) (string, error) {
	branch := s.IntegrationBranch()
	head, err := i.branchTip(ctx, s)
	if s.ForeignTip(head) {
		if there, err := i.board.Repo.CommitExists(ctx, s.Tip()); err == nil && there {
			return s.Tip(), nil
		}
		return "", board.Refuse(blackboard.DecideTip(head), "%s", blackboard.MovedText(s, head))
	}
	if err != nil {
		return "", &transition.Refusal{Guard: "G63", Exit: transition.ExitRefused, Next: "git branch " + branch + " COMMIT",
			Message: fmt.Sprintf("the integration branch %s does not exist", branch)}
	}
	return head, nil
}

// NewerHead is IntegrationHead as it is now, after a look at the remote. base, which was read before, may lack what was merged
// meanwhile, and with it made a task claimable; it is returned when the head cannot be read.
func (i *Branch) NewerHead(ctx context.Context, base string) string {
	s, err := i.board.View(ctx)
	if err != nil || i.FollowRemote(ctx, s) != nil {
		return base
	}
	if head, err := i.IntegrationHead(ctx, s); err == nil {
		return head
	}
	return base
}

// KnownTip is where the integration branch is, or was left by Liza when somebody else has moved it; "" without one. Its
// commits are here.
func (i *Branch) KnownTip(ctx context.Context, s *blackboard.State) (string, error) {
	tip, err := i.TipHere(ctx, s)
	if err != nil && !errors.Is(err, git.ErrNotFound) {
		return "", err
	}
	if s.ForeignTip(tip) { // commits that nobody has decided about are not known yet
		return i.orSeen(ctx, s, s.Tip())
	}
	return tip, nil
}
