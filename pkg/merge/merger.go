package merge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"liza/pkg/blackboard"
	"liza/pkg/git"
	"liza/pkg/review"
	"liza/pkg/safefile"
	"liza/pkg/store"
	"liza/pkg/transition"
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

	// Base says how a command ends on a commit without the work that is merged; nil: nobody asks. What
	// fails there in the same way stops no merge. Passed is told of a command that passed.
	Base   func(ctx context.Context, commit, command string, secrets []string) (review.End, error)
	Passed func(ctx context.Context, commit, command string)

	// Unverified refuses to merge a candidate of which a check says nothing, because it fails in the same way without the
	// work; Waits does so before the checks of a candidate run again. Both may be nil.
	Unverified func(ctx context.Context, candidate, command, log string, exit int) error
	Waits      func(ctx context.Context, candidate string) error

	Train int  // how many approved tasks All checks side by side; 0 and 1: one after the other
	Slots int  // how many checks of a train run at a time; 0: half of the processors
	Rerun bool // checks that fail run once more on the same tree, and only a second failure counts

	// Known reports whether all checks passed on the tree of a commit before; Remember is told that they did. Of
	// trains only; both may be nil.
	Known    func(ctx context.Context, commit string) bool
	Remember func(ctx context.Context, commit string)

	Turns  bool   // several hosts have the board, and merge in turns
	Remote string // name of the git remote that has the integration branch; "": it is in this repository

	LogPath     func(task string, n int) string
	LockPath    string // merge.lock
	LockTimeout time.Duration
	Control     func() string                               // why nothing may merge now; "" when open
	Sealed      func(t *blackboard.Task, tree string) error // why an approval does not count; nil: seals are not looked at
	Prepare     func(*blackboard.State)                     // gives a state the configuration's defaults
	At          func(point string)                          // failpoints of tests: M0 to M10, P1 after a push
	Warn        func(text string)
	Lasts       func(task string, d time.Duration) // told now and then how long the checks of a merge have run; may be nil
	Unsaved     func(err error)                    // work could not be let go because it is saved nowhere else; may be nil
	Mask        func(log io.Writer) io.WriteCloser // takes secrets out of the checks' output; nil: nothing is masked
	Enclose     review.Enclose                     // of each command; nil: nothing contains them

	// Quorum is what review.quorum asks for the change that a merge onto a commit would make; nil: one reviewer is enough.
	Quorum func(ctx context.Context, t *blackboard.Task, onto string) (*blackboard.Quorum, error)

	term int // of the present turn; 0: there are none
}

// Result says what became of one task.
type Result struct {
	Task        string            `json:"task"`
	Status      blackboard.Status `json:"status"`
	MergeCommit string            `json:"merge_commit,omitempty"`
	Already     bool              `json:"already_done,omitempty"`
	Drift       int               `json:"drift_commits,omitempty"`
	Reason      string            `json:"reason,omitempty"` // conflict, checks, commit_lost; of All also why a task waits
	Files       []string          `json:"files,omitempty"`
	Check       string            `json:"check,omitempty"` // the command that failed, and how
	Log         string            `json:"log,omitempty"`
	Unverified  []string          `json:"unverified,omitempty"` // checks that are red before and after the merge
	Asked       bool              `json:"-"`                    // it waits because a check verifies nothing
	With        string            `json:"with,omitempty"`       // a task of the same train: without its work this one merges
}

// WaitsForChecks is the guard that keeps work from being merged of which a check says nothing.
const WaitsForChecks = "G69"

// FailedError says that a merge ended as INTEGRATION_FAILED: the branch is where it was.
type FailedError struct{ Result Result }

func (e *FailedError) Error() string {
	return fmt.Sprintf("cannot merge %s: %s", e.Result.Task, e.Result.detail())
}

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

// together says what it collides with, "" when that is nothing else in its train.
func (r Result) together() string {
	if r.With == "" {
		return ""
	}
	return " (with the work of " + r.With + ", not without it)"
}

// Why is the reason, with what it collides with.
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
		if m.term != 0 && !s.HasTurn(m.term) {
			return errTurnOver
		}
		return change(s, transition.SystemActor(m.Facts))
	})
}

// again repeats what lost the branch to somebody who moved it at the same moment: the second try says where
// that is now.
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
