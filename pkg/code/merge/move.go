package merge

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"liza/pkg/base/safefile"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/code/git"
)

// A mover moves the integration branch for another reason than the merge of an approved task: with candidate, checks, a
// recorded intent and a compare-and-swap, as a merge does.
type mover struct {
	*job
	intent blackboard.MoveIntent
	title  string // title of the merge commit
}

// syncName and againName name candidates, check folders and logs; no task has such an id.
const (
	syncName  = "_sync"
	againName = "_again"
)

// MoveError is the reason why the branch could not be moved. It is unchanged.
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

// free refuses if the branch is checked out: moving it would make that checkout look modified.
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
	candidate, err := v.candidate(ctx, theirs, v.message()+v.announced())
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
	if candidate != v.intent.Base && v.checkedText() != v.announced() { // a commit of the base branch stays what it is
		if candidate, err = v.remade(ctx, candidate, v.message()+v.checkedText()); err != nil {
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

// work returns the commit that was merged: the reviewed one, or the one that the lost merge brought in.
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

// cleanUpWait is how long CleanUp waits for a running merge. Its checks may take minutes, and its files are in use, not
// remainders.
const cleanUpWait = 100 * time.Millisecond

// CleanUp removes remainders of interrupted merges and removals: check worktrees, and worktrees, branches and candidates of
// terminal tasks (M10). It may be called at any time: it does nothing during a merge. Work that is not proven to be saved
// stays, with a warning.
//
// It skips tasks that were unblocked: they can be claimed at any moment, and the next claim finds and replaces their
// remainders (7.3).
func (m *Merger) CleanUp(ctx context.Context) error {
	left, err := m.leftovers(ctx)
	if err != nil || left.none() {
		return err
	}
	unlock, err := m.lockHere(ctx, cleanUpWait) // nothing is moved, so no turn is needed
	var held *safefile.HeldError
	if errors.As(err, &held) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = unlock() }()
	if left, err = m.leftovers(ctx); err != nil { // again, now that nobody else merges
		return err
	}
	var errs []error
	if left.removals {
		errs = append(errs, m.Repo.ClearRemoved(ctx))
	}
	for _, path := range left.checks {
		errs = append(errs, m.clearCheck(ctx, path))
	}
	for _, t := range left.tasks {
		err := m.remove(ctx, t, left.branch, t.Status == blackboard.Merged)
		var unsaved *git.UnsavedError
		if errors.As(err, &unsaved) {
			m.warn("%v", err)
			if m.Unsaved != nil {
				m.Unsaved(unsaved)
			}
			err = nil
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

type leftovers struct {
	checks   []string           // paths of check worktrees
	removals bool               // removals of worktrees were killed
	tasks    []*blackboard.Task // terminal tasks with remainders
	branch   string
}

func (l leftovers) none() bool { return len(l.checks)+len(l.tasks) == 0 && !l.removals }

func (m *Merger) leftovers(ctx context.Context) (leftovers, error) {
	s, err := m.view(ctx)
	if err != nil {
		return leftovers{}, err
	}
	l := leftovers{branch: s.IntegrationBranch()}
	entries, err := os.ReadDir(m.Repo.WorktreesFolder())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return l, err
	}
	found := map[string]bool{}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".removed-") {
			l.removals = true
		}
		if strings.HasPrefix(e.Name(), ".check-") {
			l.checks = append(l.checks, m.Repo.WorktreePath(e.Name()))
		}
		found[git.TaskBranch(e.Name())] = true
	}
	branches, err := m.Repo.Branches(ctx, strings.TrimSuffix(git.TaskBranch(""), "/"))
	if err != nil {
		return l, err
	}
	for _, name := range branches {
		found[name] = true
	}
	for t := range s.Tasks() {
		if !t.Status.Terminal() || t.ClaimSeq == 0 || t.Worktree != "" {
			continue // Worktree: the removal was not decided yet
		}
		left := found[git.TaskBranch(t.ID)]
		if !left && t.Status != blackboard.Merged && t.ApprovedCommit != "" {
			// Once approved, then given up: a merge of it may have been killed in between.
			_, err := m.Repo.Ref(ctx, candidateRef(t.ID))
			if err != nil && !errors.Is(err, git.ErrNotFound) {
				return l, err
			}
			left = err == nil
		}
		if left {
			l.tasks = append(l.tasks, t)
		}
	}
	return l, nil
}

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

// bring fetches the commit of a task if it is missing. If no remote has it, the caller that needs it reports that.
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

// follow updates this repository after a merge on the remote. The merge is complete, even if that fails.
func (m *Merger) follow(ctx context.Context, branch, commit string) {
	err := errors.Join(m.Repo.SawRemote(ctx, m.Remote, branch, commit), m.Repo.Advance(ctx, branch, commit))
	if err != nil {
		m.warn("cannot bring the branch %s of this repository to %.9s: %v", branch, commit, err)
	}
}
