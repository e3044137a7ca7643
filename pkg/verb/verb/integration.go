package verb

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/code/git"
	"liza/pkg/code/merge"
	"liza/pkg/verb/board"
	"liza/pkg/verb/integration"
)

// AcceptIntegration is a person's decision that the integration branch is right where it is.
func (g Merges) AcceptIntegration(ctx context.Context, reason string) (integration.Standing, error) {
	return g.decide(ctx, "accept what the integration branch has", reason, func(b *integration.Standing, s *blackboard.State) error {
		if b.Tip == "" {
			return board.Refuse("liza sync --restore", "%s: there is nothing to accept", blackboard.MovedText(s, ""))
		}
		why, err := g.verbs.Board.Repo.Whole(ctx, b.Tip, b.Known)
		if why != "" {
			return board.Refuse("liza sync --restore", "cannot accept %s at %s, which git cannot read: %s", b.Branch, blackboard.ShortCommit(b.Tip), why)
		}
		if err == nil {
			err = g.verbs.Board.Repo.SyncLoose("refs/heads/" + b.Branch)
		}
		if err == nil && b.Known != "" { // what Liza left may be on the way to be forgotten
			b.Saved, err = g.verbs.Board.Repo.Keep(ctx, integration.KeptTips, b.Known, b.Tip)
		}
		g.verbs.Board.Failpoint("I1")
		return err
	}, func(b *integration.Standing, s *blackboard.State, reason string, a transition.Actor) {
		transition.AcceptTip(s, b.Tip, reason, b.Saved, a, g.verbs.Board.Now())
	})
}

// RestoreIntegration puts the integration branch back to where Liza left it. The other tip is saved.
func (g Merges) RestoreIntegration(ctx context.Context, reason string) (integration.Standing, error) {
	return g.decide(ctx, "restore the integration branch", reason, func(b *integration.Standing, s *blackboard.State) error {
		if path, found, err := g.verbs.Board.Repo.CheckedOutAt(ctx, b.Branch); err != nil {
			return err
		} else if found {
			return board.Refuse("git -C "+path+" switch OTHER", "%s is checked out in %s; switch it to another branch", b.Branch, path)
		}
		if there, err := g.verbs.Board.Repo.CommitExists(ctx, b.Known); err != nil {
			return err
		} else if !there {
			return board.Fail("liza sync --accept", "cannot restore %s: commit %s is gone", b.Branch, blackboard.ShortCommit(b.Known))
		}
		if b.Tip != "" {
			var err error
			if b.Saved, err = g.verbs.Board.Repo.Keep(ctx, integration.KeptTips, b.Tip, b.Known); err != nil {
				return err
			}
		}
		g.verbs.Board.Failpoint("I1")
		return nil
	}, func(b *integration.Standing, s *blackboard.State, reason string, a transition.Actor) {
		transition.RestoreTip(s, b.Tip, reason, b.Saved, a, g.verbs.Board.Now())
	})
}

// decide carries out a decision about a tip under merge.lock, so that nothing merges meanwhile.
func (g Merges) decide(ctx context.Context, what, reason string, move func(*integration.Standing, *blackboard.State) error,
	record func(b *integration.Standing, s *blackboard.State, reason string, a transition.Actor)) (integration.Standing, error) {
	var b integration.Standing
	if err := g.verbs.Board.Clean(field("--reason", &reason)); err != nil {
		return b, err
	}
	if err := g.verbs.Board.PersonOnly(ctx, what); err != nil {
		return b, err
	}
	s, err := g.verbs.Board.View(ctx)
	if err != nil {
		return b, err
	}
	m := g.mergerOn(s, blackboard.Human)
	ctx, unlock, err := m.Lock(ctx, m.LockTimeout)
	if err != nil {
		return b, err
	}
	defer func() { _ = unlock() }()
	if s, err = g.verbs.Board.View(ctx); err != nil { // what the holder of the lock did
		return b, err
	}
	tip, err := g.verbs.Integration.AskedTip(ctx, s)
	if err != nil {
		return b, err
	}
	if b, err = g.verbs.Integration.NoteIntegration(ctx, s, tip); err != nil {
		return b, err
	}
	if !b.Moved {
		return b, board.NothingToDo(fmt.Sprintf("%s is where Liza left it, at %s", b.Branch, blackboard.ShortCommit(b.Tip)))
	}
	if err := move(&b, s); err != nil {
		return b, err
	}
	var to string
	err = g.verbs.Board.Update(ctx, "integration", func(s *blackboard.State, a transition.Actor) error {
		record(&b, s, reason, a)
		to = s.Tip()
		return nil
	})
	g.verbs.Board.Failpoint("I2")
	if err == nil && to != b.Tip { // the journal has it first: a look that finds the branch elsewhere says so
		if err = g.verbs.Integration.PutBranch(ctx, b.Branch, to, b.Tip); err == nil {
			err = g.verbs.Board.Repo.SyncLoose("refs/heads/" + b.Branch) // nothing is written after it that would
		}
		g.verbs.Board.Failpoint("I3")
	}
	if err != nil {
		return b, err
	}
	if s, err = g.verbs.Board.View(ctx); err != nil {
		return b, err
	}
	saved := b.Saved
	b, err = g.verbs.Integration.LookAtIntegration(ctx, s)
	b.Saved = saved
	return b, err
}

// Synced is the result of Sync.
type Synced struct {
	merge.Synced
	Guessed bool `json:"base_guessed,omitempty"` // the base branch is not recorded: what is checked out was taken
}

// Sync merges the base branch, or from, into the integration branch through the integration checks.
func (g Merges) Sync(ctx context.Context, from string, dry bool) (Synced, error) {
	var out Synced
	if err := g.verbs.Board.PersonOnly(ctx, "sync"); err != nil {
		return out, err
	}
	s, err := g.verbs.Board.View(ctx)
	if err != nil {
		return out, err
	}
	if !dry {
		if err := g.verbs.Integration.AdoptTip(ctx, s); err != nil {
			return out, err
		}
	}
	if from == "" {
		if from, out.Guessed, err = g.verbs.Integration.BaseRef(ctx, s); err != nil {
			return out, err
		}
	}
	if from == "" {
		return out, board.Refuse("liza sync --from REF", "the base branch is not recorded (base_ref), and no other branch is checked out")
	}
	base, err := g.askFor(ctx, from)
	if err != nil {
		return out, err
	}
	out.Synced, err = g.mergerOn(s, blackboard.Human).Sync(ctx, from, base, dry)
	return out, err
}

// askFor resolves what is to be merged. A branch of a remote, as origin/main, is what the remote has now; its commits are fetched, and
// no ref moves.
func (g Merges) askFor(ctx context.Context, from string) (commit string, err error) {
	remote, branch, _ := strings.Cut(from, "/")
	if _, err := g.verbs.Board.Repo.BranchTip(ctx, from); errors.Is(err, git.ErrNotFound) && branch != "" {
		if url, err := g.verbs.Board.Repo.RemoteURL(ctx, remote); err == nil && url != "" {
			return g.fetchBranch(ctx, remote, branch)
		}
	}
	commit, err = g.verbs.Board.Repo.Resolve(ctx, from)
	if errors.Is(err, git.ErrNotFound) {
		err = board.WrongUsage("liza sync --from REF", "%s does not name a commit of this repository", from)
	}
	return commit, err
}

func (g Merges) fetchBranch(ctx context.Context, remote, branch string) (commit string, err error) {
	ref := "refs/heads/" + branch
	at, err := g.verbs.Board.Repo.RemoteRefs(ctx, remote, ref)
	if err != nil {
		return "", err
	}
	if at[ref] == "" {
		return "", board.WrongUsage("liza sync --from REF", "the remote %s has no branch %s", remote, branch)
	}
	return at[ref], g.verbs.Board.Repo.Fetch(ctx, remote, at[ref])
}

// MergeAgain merges the work of a MERGED task once more that the integration branch has lost.
func (g Merges) MergeAgain(ctx context.Context, id string) (merge.Result, error) {
	if err := g.verbs.Board.PersonOnly(ctx, "merge again"); err != nil {
		return merge.Result{Task: id}, err
	}
	s, err := g.verbs.Board.View(ctx)
	if err != nil {
		return merge.Result{Task: id}, err
	}
	if s.Task(id) == nil {
		if err := g.verbs.Board.Histories().Known(ctx, id); err != nil {
			return merge.Result{Task: id}, err
		}
	}
	if err := g.verbs.Integration.AdoptTip(ctx, s); err != nil {
		return merge.Result{Task: id}, err
	}
	return g.mergerOn(s, blackboard.Human).Again(ctx, id)
}
