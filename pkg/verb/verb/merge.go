package verb

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"liza/pkg/base/safefile"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/store"
	"liza/pkg/board/transition"
	"liza/pkg/code/merge"
	"liza/pkg/code/review"
	"liza/pkg/verb/checks"
)

// Merge merges the named task, or, for id "", everything that is approved, oldest approval
// first; when all of that has to wait, there is nothing to do (exit 7). It is deterministic work of the system; a coder's or planner's token is refused (G61).
func (d *Service) Merge(ctx context.Context, id string) ([]merge.Result, error) {
	who, err := d.Identify()
	if err != nil {
		return nil, err
	}
	s, err := d.View(ctx)
	if err != nil {
		return nil, err
	}
	a := who.Actor(s)
	party, err := transition.Identify(s.Clone(), a, d.Now())
	if err != nil {
		return nil, err
	}
	if party&(transition.ByHuman|transition.ByReviewer|transition.SReviewer) == 0 {
		return nil, &transition.Refusal{Guard: "G61", Exit: transition.ExitRefused, Next: "liza status", Message: a.ID + " may not merge; human, code_reviewer or system may"}
	}
	if err := d.AdoptTip(ctx, s); err != nil {
		return nil, err
	}
	if err := d.FollowSettings(ctx); err != nil {
		return nil, err
	}
	m := d.mergerOn(s, a.ID)
	if id != "" {
		r, err := m.Task(ctx, id)
		return []merge.Result{r}, err
	}
	if len(transition.ApprovedTasks(s)) == 0 {
		return nil, NothingToDo("no task is approved")
	}
	results, err := m.All(ctx)
	if why := allWait(results); err == nil && why != "" {
		err = NothingToDo("nothing can be merged now: " + why)
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
func (d *Service) mergerOn(s *blackboard.State, by string) *merge.Merger {
	m := d.Merger(by)
	m.LockTimeout = s.Duration("lock_timeout")
	return m
}

// Merger is what merges approved work in the name of by.
func (d *Service) Merger(by string) *merge.Merger {
	cfg := d.Config()
	m := &merge.Merger{Enclose: d.Enclose, Store: d.Watched(), Sealed: d.sealed, Repo: d.Repo, Facts: d.Facts(), Now: d.Now, By: by,
		Checks: cfg.Integration.Checks, Setup: cfg.Worktree.Setup, Hooks: cfg.Hooks.PreMerge,
		LogPath: d.Project.IntegrationLog, LockPath: d.Project.MergeLock(), LockTimeout: cfg.Protocol.LockTimeout,
		Control: d.MergeControl, Prepare: d.Prepare, At: d.At, Warn: d.Progress, Unsaved: d.Unsaved, Mask: d.MaskLog}
	m.Remote, m.Turns = d.Remote(), d.Shared()
	m.Train, m.Slots, m.Rerun, m.Known, m.Remember = cfg.Merge.Train, cfg.Merge.Slots, cfg.Merge.Rerun, d.PassedBefore, d.Passes
	if len(cfg.Review.Quorum) > 0 {
		m.Quorum = d.quorumOf
	}
	if cfg.Review.Baseline {
		m.Base = func(ctx context.Context, base, command string, secrets []string) (review.End, error) {
			return d.OnBase(ctx, secrets, base, checks.IntegrationCheck, command)
		}
		m.Passed = d.Passed
		m.Waits = d.WaitsUnverified
		m.Unverified = func(ctx context.Context, candidate, command, log string, exit int) error {
			err := d.Unverified(ctx, command, true)
			if IsRefusal(err) {
				d.FailedBefore(ctx, candidate, command, log, exit)
			}
			return err
		}
	}
	return m
}

// sealed says why the approval of a task does not count.
func (d *Service) sealed(t *blackboard.Task, tree string) error {
	if s, ok := d.Store.(store.Sealed); ok {
		return s.CheckSeal(t, tree)
	}
	return nil
}

// MergeChecks says of each task, and for how long, that the checks of its merge run on this host. Only a merge that is under way
// counts, not the place of a killed one.
func (d *Service) MergeChecks() map[string]time.Duration {
	if _, held := safefile.CurrentHolder(d.Project.MergeLock()); !held {
		return nil
	}
	places, _ := filepath.Glob(filepath.Join(d.Project.Worktrees(), ".check-*", ".git"))
	run := map[string]time.Duration{}
	for _, file := range places {
		if at, err := os.Lstat(file); err == nil {
			run[strings.TrimPrefix(filepath.Base(filepath.Dir(file)), ".check-")] = max(0, d.Now().Sub(at.ModTime()))
		}
	}
	return run
}
