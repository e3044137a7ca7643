package merge

import (
	"context"
	"errors"
	"fmt"

	"liza/pkg/blackboard"
	"liza/pkg/git"
	"liza/pkg/transition"
)

// A mover moves the integration branch for another reason than the merge of an approved task: through
// candidate, checks, a recorded intent and a compare-and-swap, as a merge does.
type mover struct {
	*job
	intent blackboard.MoveIntent
	title  string // of the merge commit
}

// syncName and againName name candidates, check folders and logs; no task has such an id.
const (
	syncName  = "_sync"
	againName = "_again"
)

// MoveError says why the branch could not be moved. It is where it was.
type MoveError struct {
	What   string   `json:"-"`
	Reason string   `json:"reason"` // conflict or checks
	Files  []string `json:"files,omitempty"`
	Check  string   `json:"check,omitempty"`
	Log    string   `json:"log,omitempty"`
}

func (e *MoveError) Error() string {
	r := Result{Reason: e.Reason, Files: e.Files, Check: e.Check, Log: e.Log}
	return fmt.Sprintf("cannot %s: %s; nothing was moved", e.What, r.detail())
}

// begin looks where the branch is; it is refused while that is not for Liza to move.
func (m *Merger) begin(ctx context.Context, name string) (*mover, error) {
	if err := m.converge(ctx); err != nil {
		return nil, err
	}
	s, err := m.view(ctx)
	if err != nil {
		return nil, err
	}
	v := &mover{job: &job{Merger: m, state: s, name: name, branch: s.IntegrationBranch()}}
	f, err := v.facts(ctx)
	switch {
	case err != nil:
		return nil, err
	case f.Tip == "" || s.ForeignTip(f.Tip):
		return nil, refused(blackboard.DecideTip(f.Tip), "%s", blackboard.MovedText(s, f.Tip))
	}
	return v, nil
}

// free refuses while somebody has the branch checked out: moving it would make that checkout look modified.
func (v *mover) free(ctx context.Context) error {
	path, found, err := v.Repo.CheckedOutAt(ctx, v.branch)
	if found {
		return refused("git -C "+path+" switch OTHER", "%s is checked out in %s; switch it to another branch", v.branch, path)
	}
	return err
}

func refused(next, format string, args ...any) error {
	return &transition.Refusal{Guard: "G63", Exit: transition.ExitRefused, Next: next, Message: fmt.Sprintf(format, args...)}
}

// merged is the candidate that merges theirs into the branch; theirs itself when the branch has nothing
// that it lacks.
func (v *mover) merged(ctx context.Context, theirs string, forward bool) (string, error) {
	if forward {
		if ahead, err := v.Repo.IsAncestor(ctx, v.old, theirs); err != nil || ahead {
			return theirs, err
		}
	}
	candidate, err := v.candidate(ctx, theirs, v.message())
	if conflict, ok := errors.AsType[*git.ConflictError](err); ok {
		err = &MoveError{What: v.title, Reason: "conflict", Files: conflict.Files}
	}
	return candidate, err
}

// move checks the candidate and lets the branch move to it: M4 to M9 of a merge.
func (v *mover) move(ctx context.Context, candidate string) (moved string, err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, v.deleteCandidate(ctx, v.name))
		}
	}()
	if failed, log, err := v.try(ctx, candidate); err != nil {
		return "", err
	} else if failed != "" {
		return "", &MoveError{What: v.title, Reason: "checks", Check: failed, Log: log}
	}
	if len(v.unverified) > 0 && candidate != v.intent.Base { // a commit of the base branch stays what it is
		if candidate, err = v.remade(ctx, candidate, v.message()+Unverified+"\n"); err != nil {
			return "", err
		}
	}
	v.at("M6")
	v.intent.Commit, v.intent.Old, v.intent.By, v.intent.At = candidate, v.old, v.By, blackboard.TimeOf(v.Now())
	err = v.update(ctx, v.intent.Kind, func(s *blackboard.State, _ transition.Actor) error { return transition.IntendMove(s, v.intent) })
	if err != nil {
		return "", err
	}
	v.at("M7")
	if v.Remote != "" {
		if err := v.publish(ctx, v.branch, candidate, v.old, ""); err != nil {
			return "", err
		}
		v.follow(ctx, v.branch, candidate)
	} else if err := v.Repo.UpdateRef(ctx, "refs/heads/"+v.branch, candidate, v.old); err != nil {
		return "", err // the intent stays; the next converge sees that the branch did not get it
	}
	v.at("M8")
	return candidate, v.converge(ctx)
}

// converge ends a move that was interrupted: looking at the branch reports whether it took place. A branch
// that is elsewhere is decided by a person, and the intent with it.
func (m *Merger) converge(ctx context.Context) error {
	s, err := m.view(ctx)
	if err != nil || s.Integration == nil || s.Integration.Intent == nil {
		return err
	}
	i := *s.Integration.Intent
	tip, err := m.tip(ctx, s)
	if err != nil && !errors.Is(err, git.ErrNotFound) {
		return err
	}
	ours := tip == i.Commit && !s.ForeignTip(tip)
	if !ours && tip != s.Tip() {
		return nil
	}
	// The candidate goes first: anyone who finds no intent has nothing else to look for.
	if err := errors.Join(m.deleteCandidate(ctx, syncName), m.deleteCandidate(ctx, againName)); err != nil {
		return err
	}
	err = m.update(ctx, i.Kind, func(s *blackboard.State, _ transition.Actor) error {
		if ours {
			transition.FinishMove(s, m.Now())
		} else {
			transition.CancelMove(s)
		}
		return nil
	})
	if err == nil {
		m.at("M9")
	}
	return err
}

// work is the commit that was merged: the one that was reviewed, or what the lost merge brought in.
func (v *mover) work(ctx context.Context) (string, error) {
	for _, rev := range []string{v.task.ReviewCommit, v.task.MergeCommit + "^2"} {
		if commit, err := v.Repo.Resolve(ctx, rev); err == nil {
			return commit, nil
		} else if !errors.Is(err, git.ErrNotFound) {
			return "", err
		}
	}
	return "", &transition.Refusal{Guard: "G62", Exit: transition.ExitFailure, Next: "git fsck --lost-found",
		Message: fmt.Sprintf("cannot merge %s again: commit %.9s is gone", v.task.ID, v.task.ReviewCommit)}
}

func (v *mover) message() string {
	if v.task != nil {
		return v.job.message()
	}
	return fmt.Sprintf("Sync %s with %s\n\nLiza-Sync: %s\n", v.branch, v.intent.From, v.intent.Base)
}
