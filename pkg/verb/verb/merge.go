package verb

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"liza/pkg/base/safefile"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/config"
	"liza/pkg/board/seal"
	"liza/pkg/board/store"
	"liza/pkg/board/transition"
	"liza/pkg/code/merge"
	"liza/pkg/code/review"
	"liza/pkg/verb/board"
	"liza/pkg/verb/checks"
)

// Merges has the verbs that change the integration branch.
type Merges struct{ verbs *Service }

// Merge merges the named task, or, for id "", everything that is approved, oldest approval
// first; when all of that has to wait, there is nothing to do (exit 7). It is deterministic work of the system; a coder's or planner's token is refused (G61).
func (g Merges) Merge(ctx context.Context, id string) ([]merge.Result, error) {
	who, err := g.verbs.Board.Identify()
	if err != nil {
		return nil, err
	}
	s, err := g.verbs.Board.View(ctx)
	if err != nil {
		return nil, err
	}
	a := who.Actor(s)
	party, err := transition.Identify(s.Clone(), a, g.verbs.Board.Now())
	if err != nil {
		return nil, err
	}
	if party&(transition.ByHuman|transition.ByReviewer|transition.SReviewer) == 0 {
		return nil, &transition.Refusal{Guard: "G61", Exit: transition.ExitRefused, Next: "liza status", Message: a.ID + " may not merge; human, code_reviewer or system may"}
	}
	if err := g.verbs.Integration.AdoptTip(ctx, s); err != nil {
		return nil, err
	}
	if err := g.verbs.Board.FollowSettings(ctx); err != nil {
		return nil, err
	}
	m := g.mergerOn(s, a.ID)
	if id != "" {
		r, err := m.Task(ctx, id)
		return []merge.Result{r}, err
	}
	if len(transition.ApprovedTasks(s)) == 0 {
		return nil, board.NothingToDo("no task is approved")
	}
	results, err := m.All(ctx)
	if why := allWait(results); err == nil && why != "" {
		err = board.NothingToDo("nothing can be merged now: " + why)
	}
	return results, err
}

// allWait says why each of the tasks has to wait; "" when one of them does not.
func allWait(results []merge.Result) string {
	var why []string
	for _, r := range results {
		if r.Status != blackboard.Approved || r.Reason == "" {
			return ""
		}
		if !slices.Contains(why, r.Reason) {
			why = append(why, r.Reason)
		}
	}
	return strings.Join(why, "; ")
}

// mergerOn is a Merger that waits for the lock of merges as long as the board says.
func (g Merges) mergerOn(s *blackboard.State, by string) *merge.Merger {
	m := g.Merger(by)
	m.LockTimeout = s.Duration("lock_timeout")
	return m
}

// sumOfChecks is a hash of all commands that can fail a merge. Those of a review are among them: a merge may run them again.
func sumOfChecks(cfg *config.Config) string {
	parts := [][]string{cfg.Worktree.Setup, cfg.Integration.Checks, cfg.Hooks.PreMerge}
	for _, name := range slices.Sorted(maps.Keys(cfg.Review.Checks)) {
		c := cfg.Review.Checks[name]
		parts = append(parts, []string{name, fmt.Sprint(c.Enabled), c.Severity, c.Command})
	}
	sum := sha256.New()
	for _, part := range parts {
		fmt.Fprintf(sum, "%q\n", part)
	}
	return hex.EncodeToString(sum.Sum(nil)[:6])
}

// Merger is what merges approved work in the name of by.
func (g Merges) Merger(by string) *merge.Merger {
	cfg := g.verbs.Board.Config()
	m := &merge.Merger{Enclose: g.verbs.Board.Enclose, Store: g.verbs.Board.Breaker().Watched(), Sealed: g.sealed, Repo: g.verbs.Board.Repo, Facts: g.verbs.Board.Facts(), Now: g.verbs.Board.Now, By: by,
		Checks: cfg.Integration.Checks, Setup: cfg.Worktree.Setup, Hooks: cfg.Hooks.PreMerge, Sum: sumOfChecks(cfg),
		LogPath: g.verbs.Board.Project.IntegrationLog, LockPath: g.verbs.Board.Project.MergeLock(), LockTimeout: cfg.LockTimeout(),
		Control: g.verbs.Board.MergeControl, Prepare: g.verbs.Board.Prepare, At: g.verbs.Board.At, Warn: g.verbs.Board.Progress, Unsaved: g.verbs.Board.Unsaved, Mask: g.verbs.Board.MaskLog}
	if g.verbs.Checks.KeyNamed() { // scripts of a package can build from sources: what opens the gate to the branch is made of the candidate
		m.Seed = g.verbs.Checks.Seed
	}
	m.Remote, m.Turns = g.verbs.Board.Remote(), g.verbs.Board.Shared()
	m.Train, m.Slots, m.Rerun, m.Known, m.Remember = cfg.Merge.Train, cfg.Merge.Slots, cfg.Merge.Rerun, g.verbs.Checks.PassedBefore, g.verbs.Checks.Passes
	if len(cfg.Review.Quorum) > 0 {
		m.Quorum = g.verbs.Reviews.quorumOf
	}
	m.Unable = g.verbs.Checks.Unable
	m.BaseNow = func(ctx context.Context, base, command string, secrets []string) (review.End, error) {
		return g.verbs.Checks.Now(ctx, secrets, base, checks.IntegrationCheck, command)
	}
	if cfg.Review.Baseline {
		m.Base = func(ctx context.Context, base, command string, secrets []string) (review.End, error) {
			return g.verbs.Checks.OnBase(ctx, secrets, base, checks.IntegrationCheck, command)
		}
		m.Passed = g.verbs.Checks.Passed
		m.Waits, m.Reviewed = g.verbs.Checks.WaitsUnverified, g.verbs.Checks.Reviewed
		m.Unverified = func(ctx context.Context, candidate, command, log string, exit int) error {
			err := g.verbs.Checks.Unverified(ctx, command, true)
			if board.IsRefusal(err) {
				g.verbs.Checks.FailedBefore(ctx, candidate, command, log, exit)
			}
			return err
		}
	}
	return m
}

// CanApprove returns why no approval could count, or nil: the key of the project is not in this person's state folder.
func (g Merges) CanApprove() error {
	if missing, ok := errors.AsType[*seal.NoKeyError](g.sealed(&blackboard.Task{}, "")); ok {
		return missing
	}
	return nil
}

// sealed says why the approval of a task does not count.
func (g Merges) sealed(t *blackboard.Task, tree string) error {
	if s, ok := g.verbs.Board.Store.(store.Sealed); ok {
		return s.CheckSeal(t, tree)
	}
	return nil
}

// MergeChecks says of each task, and for how long, that the checks of its merge run on this host. Only a merge that is under way
// counts, not the place of a killed one.
func (g Merges) MergeChecks() map[string]time.Duration {
	if _, held := safefile.CurrentHolder(g.verbs.Board.Project.MergeLock()); !held {
		return nil
	}
	places, _ := filepath.Glob(filepath.Join(g.verbs.Board.Project.Worktrees(), ".check-*", ".git"))
	run := map[string]time.Duration{}
	for _, file := range places {
		if at, err := os.Lstat(file); err == nil {
			run[strings.TrimPrefix(filepath.Base(filepath.Dir(file)), ".check-")] = max(0, g.verbs.Board.Now().Sub(at.ModTime()))
		}
	}
	return run
}
