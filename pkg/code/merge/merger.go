// Package merge merges approved work into the integration branch, exactly once (specs/decisions.md#D6, specs/protocol.md#8).
//
// A merge is computed without a checkout, checked in a throw-away worktree, announced in the state, and carried out by a
// compare-and-swap of the branch; only then the state becomes MERGED. After an interruption at any point the next Merger
// looks at git and completes it: if the branch contains the work, it records the merge, else it begins again. It never
// touches the user's checkout, index, HEAD and stash.
package merge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"liza/pkg/base/safefile"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/store"
	"liza/pkg/board/transition"
	"liza/pkg/code/git"
	"liza/pkg/code/review"
)

// Merger merges approved tasks. Store, Repo, Now, LogPath and LockPath are required.
type Merger struct {
	Store store.Store
	Repo  *git.Repo
	Facts blackboard.ProcessFacts
	Now   func() time.Time
	By    string // actor in merge_intent: an agent id, human or system

	Checks  []string                                                // commands on the candidate; none: scripts/integration-test.sh of the candidate, if it is executable
	Setup   []string                                                // commands before the checks
	Hooks   []string                                                // commands after the checks
	Seed    func(ctx context.Context, dir, commit, log string) bool // does what Setup would do; false: Setup runs. nil: it always runs
	Timeout time.Duration                                           // of all commands together; 0: State.MergeCheckTimeout
	Sum     string                                                  // of all commands that can fail work; the failure of a check keeps it

	// Base returns the result of a command on a commit without the work that is merged; nil: there are no baselines. A check
	// that fails there in the same way stops no merge. Passed is called for a command that passed.
	Base   func(ctx context.Context, commit, command string, secrets []string) (review.End, error)
	Passed func(ctx context.Context, commit, command string)

	// BaseNow is Base here and now, whatever is known of the commit, for a command that could not run; "" is the setup alone. Unable
	// refuses to merge because a command cannot run, for the reason why, with the work and without it; without why it has run. Both may be nil.
	BaseNow func(ctx context.Context, commit, command string, secrets []string) (review.End, error)
	Unable  func(ctx context.Context, command, why string) error

	// Unverified refuses to merge a candidate that a check does not verify, because it fails in the same way without the
	// work; Waits does so before the checks of a candidate run again. Both may be nil.
	Unverified func(ctx context.Context, candidate, command, log string, exit int) error
	Waits      func(ctx context.Context, candidate string) error
	// Reviewed returns the commands of a review that fail with the work and without it. For a merge without checks of its own
	// they are the only verification; the error is that of Unverified. nil: reviews are ignored.
	Reviewed func(ctx context.Context, t *blackboard.Task) ([]string, error)

	Train int  // number of approved tasks that All checks side by side; 0 and 1: one after the other
	Slots int  // number of checks of a train that run at a time; 0: half of the processors
	Rerun bool // failed checks run once more on the same tree, and only a second failure counts

	// Known reports whether all checks passed on the tree of a commit before; Remember records that they did. For trains
	// only; both may be nil.
	Known    func(ctx context.Context, commit string) bool
	Remember func(ctx context.Context, commit string)

	Turns  bool   // several hosts share the board, and merge in turns
	Remote string // git remote of the integration branch; "": it is in this repository

	LogPath     func(task string, n int) string
	LockPath    string // merge.lock
	LockTimeout time.Duration
	Control     func() string                               // why nothing may merge now, or ""
	Sealed      func(t *blackboard.Task, tree string) error // why an approval is not valid; nil: seals are not checked
	Prepare     func(*blackboard.State)                     // sets a state's defaults from the configuration
	At          func(point string)                          // failpoints of tests: M0 to M10, P1 after a push
	Warn        func(text string)
	Lasts       func(task string, d time.Duration) // reports from time to time how long the checks of a merge have run; may be nil
	Unsaved     func(err error)                    // called for work that was not removed, because it is saved nowhere else; may be nil
	Mask        func(log io.Writer) io.WriteCloser // masks secrets in the checks' output; nil: nothing is masked
	Enclose     review.Enclose                     // contains each command; nil: they run without a sandbox

	// Quorum returns the quorum of review.quorum for the change that a merge onto a commit would make; nil: one reviewer is
	// enough.
	Quorum func(ctx context.Context, t *blackboard.Task, onto string) (*blackboard.Quorum, error)

	term int // term of the present turn; 0: there are no turns
}

// Result is the result of the merge of one task.
type Result struct {
	Task        string            `json:"task"`
	Status      blackboard.Status `json:"status"`
	MergeCommit string            `json:"merge_commit,omitempty"`
	Already     bool              `json:"already_done,omitempty"`
	Drift       int               `json:"drift_commits,omitempty"`
	Reason      string            `json:"reason,omitempty"` // conflict, checks, commit_lost; in results of All also why a task waits
	Files       []string          `json:"files,omitempty"`
	Check       string            `json:"check,omitempty"` // the command that failed, and how
	Log         string            `json:"log,omitempty"`
	Unverified  []string          `json:"unverified,omitempty"` // checks that fail before and after the merge
	Asked       bool              `json:"-"`                    // it waits because a check verifies nothing
	With        string            `json:"with,omitempty"`       // a task of the same train, without whose work this one merges
}

// WaitsForChecks is the guard against the merge of work that no check verifies.
const WaitsForChecks = "G69"

// FailedError is returned for a merge that ended as INTEGRATION_FAILED: the branch did not move.
type FailedError struct{ Result Result }

func (e *FailedError) Error() string {
	return fmt.Sprintf("cannot merge %s: %s", e.Result.Task, e.Result.detail())
}

// RedError is returned by Reviewed for a check of the review that could not run then, and fails now.
type RedError struct{ Check, Log string }

func (e *RedError) Error() string { return "cannot merge: the check of the review fails: " + e.Check }

// detail is the cause with the files of a conflict, or the log of a check.
func (r Result) detail() string {
	text := r.cause()
	if len(r.Files) > 0 {
		text += " in " + strings.Join(r.Files, ", ")
	}
	if r.Log != "" {
		text += ", see " + r.Log
	}
	return text
}

// cause is the reason in one line, with the command that failed.
func (r Result) cause() string {
	text := r.Reason
	if r.Check != "" {
		text += ": " + strings.Join(strings.Fields(r.Check), " ")
	}
	return text + r.together()
}

// together names the task of the train that it collides with, or "".
func (r Result) together() string {
	if r.With == "" {
		return ""
	}
	return " (with the work of " + r.With + ", not without it)"
}

// Why returns the reason, with the task that it collides with.
func (r Result) Why() string { return r.Reason + r.together() }

const lockTimeout = 10 * time.Second

func (m *Merger) holder() safefile.Holder {
	return safefile.Holder{PID: os.Getpid(), Host: m.Facts.Host, Agent: m.By, Op: "merge", Since: m.Now()}
}

func (m *Merger) view(ctx context.Context) (*blackboard.State, error) {
	s, err := m.Store.View(ctx)
	if err == nil && m.Prepare != nil {
		m.Prepare(s)
	}
	return s, err
}

func (m *Merger) update(ctx context.Context, op string, change func(*blackboard.State, transition.Actor) error) error {
	return m.Store.Update(ctx, store.Op{Name: op, Agent: m.By}, func(s *blackboard.State) error {
		if m.Prepare != nil {
			m.Prepare(s)
		}
		if m.term != 0 && !s.Integration.HasTurn(m.term) {
			return errTurnOver
		}
		return change(s, transition.SystemActor(m.Facts))
	})
}

// again repeats a round that lost the branch to a concurrent move: the second try reports the new commit.
func again[T any](round func() (T, error)) (T, error) {
	r, err := round()
	if errors.Is(err, git.ErrRefMoved) {
		r, err = round()
	}
	return r, err
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

// errTurnOver is why a merge stops whose turn another host has.
var errTurnOver = errors.New("another host merges now")

// Task merges one approved task (specs/protocol.md#8.2).
func (m *Merger) Task(ctx context.Context, id string) (Result, error) {
	ctx, unlock, err := m.Lock(ctx, m.LockTimeout)
	if err != nil {
		return Result{Task: id}, err
	}
	defer func() { _ = unlock() }()
	m.at("M0")
	if err := m.converge(ctx); err != nil {
		return Result{Task: id}, err
	}
	return m.task(ctx, id)
}

// All merges all approved tasks, the oldest approval first (specs/decisions.md#D25), or in trains. A task that waits or fails
// does not stop the others; other errors are joined.
func (m *Merger) All(ctx context.Context) ([]Result, error) {
	ctx, unlock, err := m.Lock(ctx, m.LockTimeout)
	if err != nil {
		return nil, err
	}
	defer func() { _ = unlock() }()
	m.at("M0")
	if err := m.converge(ctx); err != nil {
		return nil, err
	}
	if m.Train > 1 {
		return m.inTrains(ctx)
	}
	s, err := m.view(ctx)
	if err != nil {
		return nil, err
	}
	var results []Result
	var errs []error
	for _, c := range transition.ApprovedTasks(s) {
		r, err := m.task(ctx, c.Task.ID)
		var refused *transition.Refusal
		if errors.As(err, &refused) {
			r.Reason, r.Asked = refused.Message, refused.Guard == WaitsForChecks
		} else if err != nil {
			errs = append(errs, err)
		}
		results = append(results, r)
		if ctx.Err() != nil {
			break
		}
	}
	return results, errors.Join(errs...)
}

// task is a merge under merge.lock.
func (m *Merger) task(ctx context.Context, id string) (Result, error) {
	return again(func() (Result, error) { return m.round(ctx, id) })
}

// job is one round: the merge of a candidate onto a commit.
type job struct {
	*Merger
	state  *blackboard.State // state at the beginning of the round
	name   string            // name of candidate, check and log: the task's id, or another reason to move the branch
	task   *blackboard.Task  // nil: no task is merged
	branch string
	old    string // head of the integration branch
	base   string // commit to compare a failed check with; "": old
	drift  int
	result Result

	excused    []string // checks that failed, and fail without the work in the same way
	unverified []string // their commands
	unran      []string // commands that could not run, with the work and without it; a person said that it is merged all the same
	passed     []string // commands that passed
	reviewed   []string // those of the review, if the merge has no checks
}

// lasting is how long checks run before that is said; it is said again after a minute, and each time that has doubled.
const lasting = 10 * time.Second

// checked is check, and says it when that takes long.
func (j *job) checked(ctx context.Context, candidate string) (failed, log string, err error) {
	if j.Lasts != nil {
		ended := make(chan struct{})
		defer close(ended)
		go j.sayHowLong(ended)
	}
	return j.check(ctx, candidate)
}

func (j *job) sayHowLong(ended <-chan struct{}) {
	began := time.Now()
	for after := lasting; ; after = max(time.Minute, 2*after) {
		select {
		case <-time.After(after - time.Since(began)):
			j.Lasts(j.name, after)
		case <-ended:
			return
		}
	}
}

func candidateRef(id string) string { return "refs/liza/candidate/" + id }

func (j *job) setCandidate(ctx context.Context, commit string) error {
	ref := candidateRef(j.name)
	old, err := j.Repo.Ref(ctx, ref)
	if err != nil && !errors.Is(err, git.ErrNotFound) {
		return err
	}
	if old == commit {
		return nil
	}
	return j.Repo.UpdateRef(ctx, ref, commit, old)
}

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

// save puts everything of a task that head does not contain in the attic.
func (m *Merger) save(ctx context.Context, id, head string) (ref string, err error) {
	ref, _, err = m.Repo.Save(ctx, git.Work{ID: id, Path: m.Repo.WorktreeOf(id), Reason: "late work", Integration: head})
	return ref, err
}

// remove removes candidate, worktree and branch of a task, with proof (8.6). The candidate goes first, so that a task without
// a branch has none. It saves unsaved work first; of merged tasks that is late work: exactly the commit under review was
// merged.
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
	if err != nil && !errors.As(err, &unsaved) && ctx.Err() == nil && m.Repo.ClearPlace(ctx, t.ID, proof) {
		err = m.Repo.Remove(ctx, t.ID, proof)
	}
	if !errors.As(err, &unsaved) {
		return err
	}
	ref, err := m.save(ctx, t.ID, head)
	if err != nil {
		return fmt.Errorf("%w; it could not be saved: %v", unsaved, err)
	}
	if ref != "" && merged {
		err := m.update(ctx, "merge", func(s *blackboard.State, _ transition.Actor) error {
			transition.AddAnomalyOnce(s, t.ID, blackboard.AnomalyLateWork, "work after the submission, saved as "+ref, m.Now())
			return nil
		})
		if err != nil {
			return err
		}
	}
	return m.Repo.Remove(ctx, t.ID, proof)
}

// finish records MERGED (M9) and removes what the task no longer needs (M10). tip is the present commit of the branch,
// recorded in the same write.
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
	j.result.Unverified = j.notVerified()
	j.result.Status, j.result.MergeCommit, j.result.Drift = blackboard.Merged, commit, j.drift
	if err := j.remove(ctx, j.task, j.branch, true); err != nil {
		if ctx.Err() == nil { // the next merge or liza gc removes what an interrupt leaves, as after a kill
			j.warn("%v", err)
		}
		if unsaved := new(git.UnsavedError); errors.As(err, &unsaved) && j.Unsaved != nil {
			j.Unsaved(unsaved)
		}
	}
	j.at("M10")
	return j.result, nil
}

// turnLength is how long a host may be silent before another one may merge. A merge renews its turn, checks may take long.
const turnLength = time.Minute

// A TurnError is returned while another host merges.
type TurnError struct{ Turn blackboard.MergeTurn }

func (e *TurnError) Error() string {
	return fmt.Sprintf("cannot merge: %s on host %s does, until %s at the latest", e.Turn.By, e.Turn.Host, e.Turn.Until)
}

// Next returns the next command for a person.
func (e *TurnError) Next() string { return "liza status" }

// Lock keeps all others from merging until unlock: on this host by a lock of its own, and for a board of several hosts by a
// turn, whose end stops the merge.
func (m *Merger) Lock(ctx context.Context, wait time.Duration) (work context.Context, unlock func() error, err error) {
	if wait <= 0 {
		wait = lockTimeout
	}
	waiting, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	end, err := m.lockHere(waiting, wait)
	if err != nil || !m.Turns {
		return ctx, end, err
	}
	term, err := m.takeTurn(waiting, ctx)
	if err != nil {
		return ctx, nil, errors.Join(err, end())
	}
	m.term = term
	work, stop := context.WithCancelCause(ctx)
	var renewing sync.WaitGroup
	renewing.Go(func() { m.keepTurn(work, term, stop) })
	return work, func() error {
		stop(nil)
		renewing.Wait()
		m.term = 0
		return errors.Join(m.endTurn(context.WithoutCancel(ctx), term), end())
	}, nil
}

// lockHere is the part of the lock that keeps others on this host away.
func (m *Merger) lockHere(ctx context.Context, wait time.Duration) (func() error, error) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	return safefile.LockIn(ctx, m.LockPath, m.holder())
}

// takeTurn waits for the end of another host's turn.
func (m *Merger) takeTurn(waiting, ctx context.Context) (term int, err error) {
	for {
		var held *blackboard.MergeTurn
		err := m.write(ctx, "merge turn", func(s *blackboard.State) error {
			if term, held = transition.TakeTurn(s, m.Facts.Host, m.By, turnLength, m.Now()); held != nil {
				return store.ErrUnchanged
			}
			return nil
		})
		if err != nil || held == nil {
			return term, err
		}
		select {
		case <-waiting.Done():
			return 0, &TurnError{*held}
		case <-time.After(turnPoll):
		}
	}
}

// turnPoll is how often a waiting merge looks whether the other host's turn is over.
const turnPoll = 300 * time.Millisecond

// keepTurn renews the turn and ends the work when that cannot be done in time.
func (m *Merger) keepTurn(ctx context.Context, term int, stop context.CancelCauseFunc) {
	renewed := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(turnLength / 4):
		}
		at := time.Now()
		kept := false
		err := m.write(ctx, "merge turn", func(s *blackboard.State) error {
			if kept = transition.KeepTurn(s, term, turnLength, m.Now()); !kept {
				return store.ErrUnchanged
			}
			return nil
		})
		switch {
		case err == nil && kept:
			renewed = at
		case err == nil || time.Since(renewed) > turnLength*3/4:
			stop(errTurnOver)
			return
		}
	}
}

func (m *Merger) endTurn(ctx context.Context, term int) error {
	ctx, cancel := context.WithTimeout(ctx, turnLength)
	defer cancel()
	return m.write(ctx, "merge turn", func(s *blackboard.State) error {
		if !s.Integration.HasTurn(term) {
			return store.ErrUnchanged
		}
		transition.EndTurn(s, term, m.Now())
		return nil
	})
}

func (m *Merger) write(ctx context.Context, op string, change func(*blackboard.State) error) error {
	err := m.Store.Update(ctx, store.Op{Name: op, Agent: m.By}, change)
	if errors.Is(err, store.ErrUnchanged) {
		return nil
	}
	return err
}
