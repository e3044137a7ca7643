package merge

import (
	"context"
	"errors"

	"liza/pkg/blackboard"
	"liza/pkg/git"
)

// With a remote, that is where the integration branch is: what counts is where it is there, and a merge is one push with
// a lease. The branch of this repository follows.

// tip is where the integration branch is now; git.ErrNotFound when there is none.
func (m *Merger) tip(ctx context.Context, s *blackboard.State) (string, error) {
	branch := s.IntegrationBranch()
	if m.Remote == "" {
		return m.Repo.BranchTip(ctx, branch)
	}
	at, err := m.Repo.RemoteRefs(ctx, m.Remote, "refs/heads/"+branch)
	if err != nil {
		return "", err
	}
	tip := at["refs/heads/"+branch]
	if tip == "" {
		return m.firstPush(ctx, s)
	}
	return tip, errors.Join(m.Repo.Fetch(ctx, m.Remote, tip), m.Repo.SawRemote(ctx, m.Remote, branch, tip))
}

// firstPush gives a remote the branch that it never had.
func (m *Merger) firstPush(ctx context.Context, s *blackboard.State) (string, error) {
	branch := s.IntegrationBranch()
	seen, err := m.Repo.RemoteBranch(ctx, m.Remote, branch)
	if err != nil {
		return "", err
	}
	tip, err := m.Repo.BranchTip(ctx, branch)
	if err != nil {
		return "", err
	}
	if seen != "" || tip != s.Tip() { // somebody deleted it there, or it is not where Liza left it here
		return "", git.ErrNotFound
	}
	if err := m.Repo.Push(ctx, m.Remote, git.RemoteChange{Ref: "refs/heads/" + branch, New: tip}); err != nil {
		return "", err
	}
	return tip, m.Repo.SawRemote(ctx, m.Remote, branch, tip)
}

// known is the head of the integration branch against which work is proven to be saved: where Liza left it, once the remote has it.
func (m *Merger) known(ctx context.Context, branch string) (string, error) {
	if m.Remote == "" {
		return m.Repo.BranchTip(ctx, branch)
	}
	s, err := m.view(ctx)
	if err != nil || s.Tip() == "" {
		return "", err
	}
	return s.Tip(), m.Repo.Fetch(ctx, m.Remote, s.Tip())
}

// bring fetches the work of a task that is not here. That nobody has it is told by who needs it.
func (m *Merger) bring(ctx context.Context, t *blackboard.Task) error {
	if m.Remote == "" || t == nil || !t.ChangesFiles() {
		return nil
	}
	err := m.Repo.Fetch(ctx, m.Remote, t.ReviewCommit)
	if errors.Is(err, git.ErrNotFound) {
		return nil
	}
	return err
}

// publish moves the branch on the remote, and with it the branch of a task that is merged.
func (m *Merger) publish(ctx context.Context, branch, candidate, old, task string) error {
	if m.Remote == "" {
		return nil
	}
	changes := []git.RemoteChange{{Ref: "refs/heads/" + branch, New: candidate, Old: old}}
	if task != "" {
		ref := "refs/heads/" + git.TaskBranch(task)
		at, err := m.Repo.RemoteRefs(ctx, m.Remote, ref)
		if err != nil {
			return err
		}
		if at[ref] != "" {
			changes = append(changes, git.RemoteChange{Ref: ref, Old: at[ref]})
		}
	}
	if err := m.Repo.Push(ctx, m.Remote, changes...); err != nil {
		return err
	}
	m.at("P1")
	return nil
}

// follow lets this repository know of what the remote has. The merge took place, whatever becomes of it here.
func (m *Merger) follow(ctx context.Context, branch, commit string) {
	err := errors.Join(m.Repo.SawRemote(ctx, m.Remote, branch, commit), m.Repo.Advance(ctx, branch, commit))
	if err != nil {
		m.warn("cannot bring the branch %s of this repository to %.9s: %v", branch, commit, err)
	}
}
