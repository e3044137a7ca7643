package merge

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"liza/pkg/blackboard"
	"liza/pkg/git"
	"liza/pkg/safefile"
	"liza/pkg/store"
)

// Merger merges approved tasks. Store, Repo, Now, LogPath and LockPath are required.
type Merger struct {
	Store store.Store
	Repo  *git.Repo
	Facts blackboard.ProcessFacts
	Now   func() time.Time
	By    string // who is recorded in merge_intent: an agent id, human or system

	Checks  []string      // commands on the candidate; none: scripts/integration-test.sh of the candidate, if it is executable
	Setup   []string      // commands before the checks
	Hooks   []string      // commands after the checks
	Timeout time.Duration // of all of them together; 0: integration_check_timeout

	LogPath     func(task string, n int) string
	LockPath    string // merge.lock
	LockTimeout time.Duration
	Control     func() string           // why nothing may merge now; "" when open
	Prepare     func(*blackboard.State) // gives a state the configuration's defaults
	At          func(point string)      // failpoints M0 to M10 of tests
	Warn        func(text string)
}

// Result says what became of one task.
type Result struct {
	Task        string            `json:"task"`
	Status      blackboard.Status `json:"status"`
	MergeCommit string            `json:"merge_commit,omitempty"`
	Already     bool              `json:"already_done,omitempty"`
	Drift       int               `json:"drift_commits,omitempty"`
	Reason      string            `json:"reason,omitempty"` // conflict, checks, commit_lost
	Files       []string          `json:"files,omitempty"`
	Log         string            `json:"log,omitempty"`
}

// FailedError says that a merge ended as INTEGRATION_FAILED: the branch stands where it was.
type FailedError struct{ Result Result }

func (e *FailedError) Error() string {
	r := e.Result
	text := fmt.Sprintf("cannot merge %s: %s", r.Task, r.Reason)
	if len(r.Files) > 0 {
		text += " in " + strings.Join(r.Files, ", ")
	}
	if r.Log != "" {
		text += ", see " + r.Log
	}
	return text
}

const (
	rounds      = 5 // of a merge whose branch moves under it
	lockTimeout = 10 * time.Second
)

// errMoved: the branch moved in every round; the task stays APPROVED for the next try.
var errMoved = errors.New("the integration branch keeps moving; the merge is tried again")

// Task merges one approved task (protocol 8.2).
func (m *Merger) Task(ctx context.Context, id string) (Result, error) {
	unlock, err := m.lock(ctx)
	if err != nil {
		return Result{Task: id}, err
	}
	defer func() { _ = unlock() }()
	m.at("M0")
	return m.task(ctx, id)
}

// All merges everything that is approved, oldest approval first (D25). A task that waits
// or fails does not stop the others; the errors of the rest are joined.
func (m *Merger) All(ctx context.Context) ([]Result, error) {
	unlock, err := m.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = unlock() }()
	s, err := m.view(ctx)
	if err != nil {
		return nil, err
	}
	var results []Result
	var errs []error
	for _, c := range s.ApprovedTasks() {
		r, err := m.task(ctx, c.Task.ID)
		results = append(results, r)
		var refused *blackboard.Refusal
		if err != nil && !errors.As(err, &refused) {
			errs = append(errs, err)
		}
		if ctx.Err() != nil {
			break
		}
	}
	return results, errors.Join(errs...)
}

func (m *Merger) lock(ctx context.Context) (func() error, error) {
	wait := m.LockTimeout
	if wait <= 0 {
		wait = lockTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	return safefile.Lock(ctx, m.LockPath, safefile.Holder{PID: os.Getpid(), Host: m.Facts.Host, Agent: m.By, Op: "merge", Since: m.Now()})
}

func (m *Merger) view(ctx context.Context) (*blackboard.State, error) {
	s, err := m.Store.View(ctx)
	if err == nil && m.Prepare != nil {
		m.Prepare(s)
	}
	return s, err
}

func (m *Merger) update(ctx context.Context, op string, change func(*blackboard.State, blackboard.Actor) error) error {
	return m.Store.Update(ctx, store.Op{Name: op, Agent: m.By}, func(s *blackboard.State) error {
		if m.Prepare != nil {
			m.Prepare(s)
		}
		return change(s, blackboard.SystemActor(m.Facts))
	})
}

// task is a merge under merge.lock.
func (m *Merger) task(ctx context.Context, id string) (Result, error) {
	for range rounds {
		r, err := m.round(ctx, id)
		if !errors.Is(err, git.ErrRefMoved) {
			return r, err
		}
	}
	return Result{Task: id, Status: blackboard.Approved}, errMoved
}

// job is one round: what is merged, onto what.
type job struct {
	*Merger
	task   *blackboard.Task
	branch string
	old    string // head of the integration branch
	drift  int
	result Result
}

func (m *Merger) round(ctx context.Context, id string) (Result, error) {
	s, err := m.view(ctx)
	if err != nil {
		return Result{Task: id}, err
	}
	j := &job{Merger: m, task: s.Task(id), branch: s.IntegrationBranch(), result: Result{Task: id}}
	if j.task != nil {
		j.result.Status = j.task.Status
	}
	if j.task != nil && j.task.Status == blackboard.Merged {
		j.result.MergeCommit, j.result.Already = j.task.MergeCommit, true
		return j.result, nil
	}
	facts, err := j.facts(ctx)
	if err != nil {
		return j.result, err
	}
	if err := j.allowed(s, facts); err != nil {
		return j.result, err
	}
	if commit, contained, err := j.contained(ctx); err != nil || contained {
		if err != nil {
			return j.result, err
		}
		return j.finish(ctx, commit)
	}
	return j.merge(ctx, facts)
}

// facts are those of G62 to G64.
func (j *job) facts(ctx context.Context) (blackboard.MergeFacts, error) {
	f := blackboard.MergeFacts{By: j.By}
	head, err := j.Repo.BranchTip(ctx, j.branch)
	switch {
	case err == nil:
		f.IntegrationExists, j.old = true, head
	case !errors.Is(err, git.ErrNotFound):
		return f, err
	}
	f.CheckedOutAt, _, err = j.Repo.CheckedOutAt(ctx, j.branch)
	return f, err
}

// allowed tries the guards of T21 on a copy.
func (j *job) allowed(s *blackboard.State, f blackboard.MergeFacts) error {
	in := blackboard.Input{Merge: &f}
	if j.Control != nil {
		in.Control = j.Control()
	}
	f.Candidate, f.Old = j.old, j.old
	return s.Clone().IntendMerge(j.result.Task, blackboard.SystemActor(j.Facts), in, j.Now())
}

// contained looks whether the branch has the work already: an interrupted merge, or one
// that a person made by hand (M1).
func (j *job) contained(ctx context.Context) (commit string, yes bool, err error) {
	t := j.task
	j.at("M1")
	if i := t.MergeIntent; i != nil && i.Commit != "" {
		if has, err := j.reachable(ctx, i.Commit); err != nil || has {
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

// merge is M2 to M9.
func (j *job) merge(ctx context.Context, f blackboard.MergeFacts) (Result, error) {
	t := j.task
	if there, err := j.Repo.CommitExists(ctx, t.ReviewCommit); err != nil {
		return j.result, err
	} else if !there {
		return j.fail(ctx, "commit_lost", nil, "")
	}
	if t.BaseCommit != "" {
		if n, err := j.Repo.CountBetween(ctx, t.BaseCommit, j.old); err == nil {
			j.drift = n
		}
	}
	j.at("M2")
	tree, err := j.Repo.MergeTree(ctx, j.old, t.ReviewCommit)
	var conflict *git.ConflictError
	if errors.As(err, &conflict) {
		return j.fail(ctx, "conflict", conflict.Files, "")
	}
	if err != nil {
		return j.result, err
	}
	j.at("M3")
	candidate, err := j.Repo.CommitTree(ctx, tree, []string{j.old, t.ReviewCommit}, j.message())
	if err != nil {
		return j.result, err
	}
	j.at("M4")
	if err := j.setCandidate(ctx, candidate); err != nil {
		return j.result, err
	}
	j.at("M5")
	if log, ok, err := j.check(ctx, candidate); err != nil {
		return j.result, err
	} else if !ok {
		return j.fail(ctx, "checks", nil, log)
	}
	j.at("M6")
	return j.move(ctx, candidate, f)
}

// move announces the candidate and lets the branch move to it (M7 to M9).
func (j *job) move(ctx context.Context, candidate string, f blackboard.MergeFacts) (Result, error) {
	f.Candidate, f.Old = candidate, j.old
	in := blackboard.Input{Merge: &f}
	if j.Control != nil {
		in.Control = j.Control()
	}
	err := j.update(ctx, "merge", func(s *blackboard.State, a blackboard.Actor) error {
		return s.IntendMerge(j.task.ID, a, in, j.Now())
	})
	if err != nil {
		return j.result, errors.Join(err, j.dropCandidate(ctx))
	}
	j.at("M7")
	if err := j.Repo.UpdateRef(ctx, "refs/heads/"+j.branch, candidate, j.old); err != nil {
		return j.result, err
	}
	j.at("M8")
	return j.finish(ctx, candidate)
}

func (j *job) message() string {
	t := j.task
	return fmt.Sprintf("Merge %s: %s\n\nLiza-Task: %s\nLiza-Attempt: %d\nLiza-Approved-By: %s\n", t.ID, t.TitleText(), t.ID, t.ClaimSeq, t.ApprovedBy)
}

func candidateRef(id string) string { return "refs/liza/candidate/" + id }

func (j *job) setCandidate(ctx context.Context, commit string) error {
	ref := candidateRef(j.task.ID)
	old, err := j.Repo.Ref(ctx, ref)
	if err != nil && !errors.Is(err, git.ErrNotFound) {
		return err
	}
	return j.Repo.UpdateRef(ctx, ref, commit, old)
}

func (j *job) dropCandidate(ctx context.Context) error { return j.deleteCandidate(ctx, j.task.ID) }

func (m *Merger) deleteCandidate(ctx context.Context, id string) error {
	old, err := m.Repo.Ref(ctx, candidateRef(id))
	if errors.Is(err, git.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return m.Repo.DeleteRef(ctx, candidateRef(id), old)
}

// fail records INTEGRATION_FAILED (T23); the branch stands where it was.
func (j *job) fail(ctx context.Context, reason string, files []string, log string) (Result, error) {
	err := j.update(ctx, "merge", func(s *blackboard.State, a blackboard.Actor) error {
		return s.FailIntegration(j.task.ID, a, blackboard.Input{Merge: &blackboard.MergeFacts{Reason: reason, Files: files, Log: log}}, j.Now())
	})
	if err != nil {
		return j.result, err
	}
	j.result.Status, j.result.Reason, j.result.Files, j.result.Log = blackboard.IntegrationFailed, reason, files, log
	return j.result, errors.Join(&FailedError{j.result}, j.dropCandidate(ctx))
}

// finish records MERGED (M9) and removes what the task needs no more (M10).
func (j *job) finish(ctx context.Context, commit string) (Result, error) {
	late, err := j.lateWork(ctx)
	if err != nil {
		return j.result, err
	}
	err = j.update(ctx, "merge", func(s *blackboard.State, a blackboard.Actor) error {
		f := blackboard.MergeFacts{Contained: true, Commit: commit, Drift: j.drift}
		if err := s.FinishMerge(j.task.ID, a, blackboard.Input{Merge: &f}, j.Now()); err != nil {
			return err
		}
		if late != "" {
			s.AddAnomaly(j.task.ID, blackboard.System, "late_work", blackboard.Settings{"what": late}, j.Now())
		}
		return nil
	})
	if err != nil {
		return j.result, err
	}
	j.at("M9")
	j.result.Status, j.result.MergeCommit, j.result.Drift = blackboard.Merged, commit, j.drift
	if err := j.remove(ctx, j.task.ID, j.branch); err != nil {
		j.warn("cannot remove the worktree of %s: %v", j.task.ID, err)
	}
	j.at("M10")
	return j.result, nil
}

// lateWork saves what came into the worktree after the submission: exactly review_commit
// is merged, the rest is kept in the attic.
func (j *job) lateWork(ctx context.Context) (string, error) {
	t := j.task
	w, err := j.Repo.Inspect(ctx, j.Repo.WorktreePath(t.ID))
	if err != nil {
		return "", err
	}
	tip, err := j.Repo.BranchTip(ctx, git.TaskBranch(t.ID))
	if errors.Is(err, git.ErrNotFound) {
		tip = t.ReviewCommit
	} else if err != nil {
		return "", err
	}
	if tip == t.ReviewCommit && len(w.Dirty) == 0 && (!w.Exists || w.Head == t.ReviewCommit) {
		return "", nil
	}
	path := ""
	if w.Exists {
		path = j.Repo.WorktreePath(t.ID)
	}
	ref, _, err := j.Repo.Save(ctx, git.Work{ID: t.ID, Path: path, Reason: "late work", Integration: j.old, Base: t.ReviewCommit})
	if err != nil {
		j.warn("cannot save late work of %s: %v", t.ID, err)
		return "work after the submission, still in the worktree", nil
	}
	if ref == "" {
		return "", nil
	}
	return "work after the submission, saved as " + ref, nil
}

// remove takes worktree, branch and candidate of a merged task away, with proof (8.6).
func (m *Merger) remove(ctx context.Context, id, branch string) error {
	head, err := m.Repo.BranchTip(ctx, branch)
	if err != nil {
		return err
	}
	return errors.Join(m.Repo.Remove(ctx, id, git.Proof{Integration: head}), m.deleteCandidate(ctx, id))
}

func (m *Merger) at(point string) {
	if m.At != nil {
		m.At(point)
	}
}

func (m *Merger) warn(format string, args ...any) {
	if m.Warn != nil {
		m.Warn(fmt.Sprintf(format, args...))
	}
}

// rel is a path as people know it: relative to the project root.
func (m *Merger) rel(path string) string {
	if r, err := filepath.Rel(m.Repo.Root(), path); err == nil {
		return filepath.ToSlash(r)
	}
	return path
}
