package merge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"liza/pkg/base/prose"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/code/git"
)

func (m *Merger) round(ctx context.Context, id string) (Result, error) {
	j, facts, err := m.begun(ctx, id)
	if err != nil || facts == nil {
		return j.result, err
	}
	return j.merge(ctx, *facts)
}

// begun prepares a candidate (M0 to M2): facts are nil if the task needs none, or cannot have one.
func (m *Merger) begun(ctx context.Context, id string) (*job, *transition.MergeFacts, error) {
	j := &job{Merger: m, name: id, result: Result{Task: id}}
	s, err := m.view(ctx)
	if err != nil {
		return j, nil, err
	}
	j.state, j.task, j.branch = s, s.Task(id), s.IntegrationBranch()
	if j.task != nil {
		j.result.Status = j.task.Status
	}
	// Not an error: who asks for a merge twice, or after a crash, gets the same answer.
	if j.task != nil && j.task.Status == blackboard.Merged {
		j.result.MergeCommit, j.result.Already = j.task.MergeCommit, true
		return j, nil, nil
	}
	if err := j.bring(ctx, j.task); err != nil {
		return j, nil, err
	}
	// Before a candidate is made: what no verb approved leaves no trace, neither in git nor on the board.
	if err := j.sealed(ctx); err != nil {
		return j, nil, err
	}
	facts, err := j.facts(ctx)
	if err != nil {
		return j, nil, err
	}
	if err := j.allowed(facts); err != nil {
		return j, nil, err
	}
	if !j.task.ChangesFiles() { // nothing to merge, no branch moves (4.5)
		_, err := j.finish(ctx, j.task.BaseCommit, "")
		return j, nil, err
	}
	// Before the commit is looked at: an interrupted merge ends here, also when the reviewed commit is gone since.
	if commit, contained, err := j.contained(ctx); err != nil || contained {
		if err == nil {
			_, err = j.finish(ctx, commit, j.old)
		}
		return j, nil, err
	}
	if err := j.usable(ctx); err != nil {
		return j, nil, err
	}
	// Now, and not only at the approval: the rules, or the branch that the change is compared with, may be others since.
	if asked, err := j.askAgain(ctx); err != nil || asked {
		return j, nil, err
	}
	err = j.lookAtReview(ctx)
	if red, is := errors.AsType[*RedError](err); is {
		_, err = j.fail(ctx, Result{Reason: "checks", Check: red.Check, Log: red.Log})
	}
	if err != nil {
		return j, nil, err
	}
	j.countDrift(ctx, j.old)
	return j, &facts, nil
}

// lookAtReview records commands that the review could not verify, if the merge has no checks, and refuses the merge while a
// person has to be asked about it (specs/protocol.md#8.4).
func (j *job) lookAtReview(ctx context.Context) error {
	if j.Reviewed == nil || len(j.Checks) > 0 {
		return nil
	}
	for _, commit := range []string{j.old, j.task.ReviewCommit} {
		if _, err := j.Repo.ReadFile(ctx, commit, Script); err == nil {
			return nil
		} else if !errors.Is(err, git.ErrNotFound) {
			return err
		}
	}
	var err error
	j.reviewed, err = j.Reviewed(ctx, j.task)
	return err
}

// usable fails a task whose commit is missing or not sound.
func (j *job) usable(ctx context.Context) error {
	t := j.task
	if there, err := j.Repo.CommitExists(ctx, t.ReviewCommit); err != nil {
		return err
	} else if !there {
		_, err := j.fail(ctx, Result{Reason: "commit_lost"})
		return err
	}
	// what was submitted was looked at then; what is on the board now may be another commit
	why, err := j.Repo.Unsound(ctx, git.Line{ID: t.ID, Commit: t.ReviewCommit, Known: []string{j.old, t.Merges}})
	if err == nil && why != "" {
		_, err = j.fail(ctx, Result{Reason: "unsound", Check: why})
	}
	return err
}

// sealed refuses a task whose approval no verb made, or whose commit is not the approved one.
func (j *job) sealed(ctx context.Context) error {
	t := j.task
	if j.Sealed == nil || t == nil || t.Status != blackboard.Approved {
		return nil
	}
	tree := ""
	if t.ChangesFiles() && t.ReviewCommit != "" {
		there, err := j.Repo.CommitExists(ctx, t.ReviewCommit)
		if err != nil {
			return err
		}
		if there {
			if tree, err = j.Repo.TreeOf(ctx, t.ReviewCommit); err != nil {
				return err
			}
		} else if t.Seal != nil { // that the commit is lost is told further on
			tree = t.Seal.Tree
		}
	}
	why := j.Sealed(t, tree)
	if why == nil {
		return nil
	}
	return &transition.Refusal{Guard: "G66", Exit: transition.ExitRefused, Next: cmp.Or(transition.NextOf(why), "liza validate"), Message: fmt.Sprintf("task %s is not merged: %v", t.ID, why)}
}

// askAgain puts work back in review when the rules that hold now ask for more approvals than it has.
func (j *job) askAgain(ctx context.Context) (bool, error) {
	if j.Quorum == nil {
		return false, nil
	}
	q, err := j.Quorum(ctx, j.task, j.old)
	if err != nil || q == nil {
		return false, err
	}
	tree, err := j.Repo.TreeOf(ctx, j.task.ReviewCommit)
	if err != nil {
		return false, err
	}
	missing := q.Missing(j.task.Given(j.state, tree))
	if missing == 0 {
		return false, nil
	}
	in := transition.Input{Quorum: q, Review: &transition.ReviewFacts{Tree: tree}}
	err = j.update(ctx, "ask again", func(s *blackboard.State, a transition.Actor) error {
		return transition.AskAgain(s, j.task.ID, a, in, j.Now())
	})
	if err != nil {
		return false, err
	}
	j.result.Status, j.result.Reason = blackboard.ReadyForReview, "review.quorum asks for "+q.Describe()
	return true, nil
}

// facts are those of G62 to G64.
func (j *job) facts(ctx context.Context) (transition.MergeFacts, error) {
	f := transition.MergeFacts{By: j.By}
	head, err := j.tip(ctx, j.state)
	switch {
	case err == nil:
		f.Tip, j.old = head, head
	case !errors.Is(err, git.ErrNotFound):
		return f, err
	}
	f.CheckedOutAt, _, err = j.Repo.CheckedOutAt(ctx, j.branch)
	return f, err
}

// allowed tries the guards of T21 on a copy.
func (j *job) allowed(f transition.MergeFacts) error {
	f.Candidate, f.Old = j.old, j.old
	return transition.IntendMerge(j.state.Clone(), j.result.Task, transition.SystemActor(j.Facts), j.input(f), j.Now())
}

func (j *job) input(f transition.MergeFacts) transition.Input {
	in := transition.Input{Merge: &f}
	if j.Control != nil {
		in.Control = j.Control()
	}
	return in
}

// contained looks whether the branch has the work already: an interrupted merge, or one
// that a person made by hand (M1).
func (j *job) contained(ctx context.Context) (commit string, yes bool, err error) {
	t := j.task
	j.at("M1")
	// The branch has moved before the board was told (M8): the intent names the commit, so nothing is merged twice.
	if i := t.MergeIntent; i != nil && i.Commit != "" {
		if has, err := j.reachable(ctx, i.Commit); err != nil || has {
			j.countDrift(ctx, i.Old)
			return i.Commit, has, err
		}
	}
	has, err := j.reachable(ctx, t.ReviewCommit)
	if err != nil || !has {
		return "", false, err
	}
	commit, err = j.Repo.FirstParentContaining(ctx, j.old, t.ReviewCommit)
	return commit, err == nil, err
}

func (j *job) reachable(ctx context.Context, commit string) (bool, error) {
	if commit == "" {
		return false, nil
	}
	if there, err := j.Repo.CommitExists(ctx, commit); err != nil || !there {
		return false, err
	}
	return j.Repo.IsAncestor(ctx, commit, j.old)
}

// countDrift counts the commits on the branch between the task's base and the merge. It is for people only: a missing base is
// not a reason to stop.
func (j *job) countDrift(ctx context.Context, old string) {
	if j.task.BaseCommit == "" || old == "" {
		return
	}
	if n, err := j.Repo.CountBetween(ctx, j.task.BaseCommit, old); err == nil {
		j.drift = n
	}
}

// merge is M3 to M9.
func (j *job) merge(ctx context.Context, f transition.MergeFacts) (Result, error) {
	candidate, err := j.candidate(ctx, j.task.ReviewCommit, j.message()+j.announced())
	if conflict, ok := errors.AsType[*git.ConflictError](err); ok {
		return j.fail(ctx, Result{Reason: "conflict", Files: conflict.Files})
	}
	if raw, ok := errors.AsType[*git.UnfilteredError](err); ok {
		return j.fail(ctx, Result{Reason: "unfiltered", Check: raw.Error()})
	}
	if err != nil {
		return j.result, err
	}
	// An error of ours, such as a full disk, says nothing about the work: the task stays APPROVED.
	if failed, log, err := j.try(ctx, candidate); err != nil {
		if e := j.deleteCandidate(ctx, j.name); e != nil {
			err = errors.Join(err, e)
		}
		return j.result, err
	} else if failed != "" {
		return j.fail(ctx, Result{Reason: "checks", Check: failed, Log: log})
	}
	j.unverified = append(j.unverified, j.reviewed...)
	if candidate, err = j.marked(ctx, candidate); err != nil {
		return j.result, err
	}
	j.at("M6")
	return j.move(ctx, candidate, f)
}

// candidate makes the commit that merges theirs into the branch (M2, M3); a conflict is a *git.ConflictError. A file that its
// filter would have changed is not merged.
func (j *job) candidate(ctx context.Context, theirs, message string) (string, error) {
	j.at("M2")
	tree, err := j.Repo.MergeTree(ctx, j.old, theirs)
	if err != nil {
		return "", err
	}
	j.at("M3")
	candidate, err := j.Repo.CommitMerge(ctx, tree, []string{j.old, theirs}, message)
	if err == nil && j.task != nil {
		err = j.Repo.Unfiltered(ctx, j.old, candidate)
	}
	if off, ok := errors.AsType[*git.UnfilteredError](err); ok && off.Off {
		err = &transition.Refusal{Exit: transition.ExitRefused, Next: off.Next(), Message: fmt.Sprintf("task %s is not merged: %v", j.task.ID, off)}
	}
	return candidate, err
}

// marked is the candidate, whose message says that its checks have passed, or the same one with what they gave instead.
func (j *job) marked(ctx context.Context, candidate string) (string, error) {
	if j.checkedText() == j.announced() {
		return candidate, nil
	}
	return j.remade(ctx, candidate, j.message()+j.checkedText())
}

// announced are the trailers of a candidate whose checks will all pass.
func (j *job) announced() string {
	all := job{passed: slices.Concat(j.Checks, j.Hooks)}
	return all.checkedText()
}

// checkedText are the trailers that say what has been checked, and what not.
func (j *job) checkedText() (text string) {
	if len(j.passed) > 0 {
		text += Verified + prose.OneLine(strings.Join(j.passed, "; "), 500) + "\n"
	}
	if len(j.unverified) > 0 {
		text += Unverified + "\n"
	}
	if len(j.unran) > 0 {
		text += Unran + prose.OneLine(strings.Join(j.unran, "; "), 500) + "\n"
	}
	return text
}

// notVerified are the commands that verify nothing of the work.
func (j *job) notVerified() []string {
	list := slices.Clone(j.unverified)
	for _, shell := range j.unran {
		list = append(list, shell+" (could not run)")
	}
	return list
}

// remade is a commit with the tree of the candidate, on the head of the branch, in the candidate's place.
func (j *job) remade(ctx context.Context, candidate, message string) (string, error) {
	tree, err := j.Repo.TreeOf(ctx, candidate)
	if err != nil {
		return "", err
	}
	theirs, err := j.Repo.Resolve(ctx, candidate+"^2")
	if err != nil {
		return "", err
	}
	if candidate, err = j.Repo.CommitMerge(ctx, tree, []string{j.old, theirs}, message); err != nil {
		return "", err
	}
	return candidate, j.setCandidate(ctx, candidate)
}

// The trailers of a merge: what passed, that checks were red before and after, and what could not run.
const (
	Verified   = "Liza-Checks: passed: "
	Unverified = "Liza-Checks: red before and after, not verified"
	Unran      = "Liza-Checks: could not run, not verified: "
)

// try runs the checks on the candidate (M4, M5).
func (j *job) try(ctx context.Context, candidate string) (failed, log string, err error) {
	j.at("M4")
	// The checks may take an hour, and git collects commits that nothing names. Without checks the branch names it at once.
	checks, err := j.hasChecks(ctx, candidate)
	if err == nil && checks {
		err = j.setCandidate(ctx, candidate)
	} else if err == nil {
		err = j.deleteCandidate(ctx, j.name) // of a merge that was killed when there were checks
	}
	if err != nil {
		return "", "", err
	}
	j.at("M5")
	failed, log, err = j.checked(ctx, candidate)
	if err != nil || failed == "" || !j.Rerun {
		return failed, log, err
	}
	first, before := failed, log
	if failed, log, err = j.checked(ctx, candidate); err == nil && failed == "" {
		err = j.noteFlaky(ctx, j.task, first, before, log)
	}
	return failed, log, err
}

// move announces the candidate and lets the branch move to it (M7 to M9).
func (j *job) move(ctx context.Context, candidate string, f transition.MergeFacts) (Result, error) {
	f.Candidate, f.Old, f.Unverified = candidate, j.old, j.notVerified()
	in := j.input(f)
	err := j.update(ctx, "merge", func(s *blackboard.State, a transition.Actor) error {
		if j.Remote != "" && s.Tip() != j.state.Tip() { // another host merged meanwhile
			return fmt.Errorf("cannot merge %s: %w", j.task.ID, git.ErrRefMoved)
		}
		return transition.IntendMerge(s, j.task.ID, a, in, j.Now())
	})
	if err != nil {
		return j.result, errors.Join(err, j.deleteCandidate(ctx, j.name))
	}
	// The intent is on the board before the branch moves: a crash in between leaves a branch that Converge can explain.
	j.at("M7")
	if err := j.moveBranch(ctx, candidate); err != nil {
		return j.result, errors.Join(err, j.deleteCandidate(ctx, j.name))
	}
	j.at("M8")
	return j.finish(ctx, candidate, candidate)
}

// moveBranch lets the branch have the candidate.
func (j *job) moveBranch(ctx context.Context, candidate string) error {
	if j.Remote == "" { // its own ref goes in the same transaction
		return j.Repo.MoveBranch(ctx, j.branch, candidate, j.old, candidateRef(j.name))
	}
	return j.publish(ctx, j.branch, candidate, j.old, j.task.ID)
}

func (j *job) message() string {
	t := j.task
	text := fmt.Sprintf("Merge %s: %s\n\nLiza-Task: %s\nLiza-Attempt: %d\nLiza-Approved-By: %s\n", t.ID, t.TitleText(), t.ID, t.ClaimSeq, t.ApprovedBy)
	for _, a := range t.Standing() { // of a quorum
		if a.Reviewer != t.ApprovedBy {
			text += "Liza-Approved-By: " + a.Reviewer + "\n"
		}
	}
	if level := t.WeakestSandbox(); level != "" {
		text += "Liza-Sandbox: " + level + "\n"
	}
	return text
}

// fail records INTEGRATION_FAILED (T23); the branch is where it was. The candidate goes
// first: whatever becomes of the task, no ref of it is forgotten.
func (j *job) fail(ctx context.Context, why Result) (Result, error) {
	if err := j.deleteCandidate(ctx, j.task.ID); err != nil {
		return j.result, err
	}
	f := transition.MergeFacts{Reason: why.cause(), Files: why.Files, Log: why.Log}
	if why.Reason == "checks" {
		f.Checks = j.Sum
	}
	err := j.update(ctx, "merge", func(s *blackboard.State, a transition.Actor) error {
		err := transition.FailIntegration(s, j.task.ID, a, transition.Input{Merge: &f}, j.Now())
		why.Status, _ = s.StatusOf(j.task.ID)
		return err
	})
	if err != nil {
		return j.result, err
	}
	why.Task, why.Drift = j.task.ID, j.drift
	j.result = why
	return j.result, &FailedError{why}
}
