package merge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/code/git"
	"liza/pkg/code/review"
)

// Script is the default check of a merge, if it exists and is executable.
const Script = "scripts/integration-test.sh"

// check runs the integration checks on the candidate in a throw-away worktree (8.4). failed
// names the command that failed, and how, "" when all is well; log is where the output is.
func (j *job) check(ctx context.Context, candidate string) (failed, log string, err error) {
	path := j.Repo.WorktreePath(".check-" + j.name)
	if err := j.clearCheck(ctx, path); err != nil {
		return "", "", err
	}
	if checks, err := j.hasChecks(ctx, candidate); err != nil || !checks {
		return "", "", err // nothing is checked out
	}
	if j.Waits != nil {
		if err := j.Waits(ctx, candidate); err != nil {
			return "", "", err
		}
	}
	defer func() { // also what left its process group, and what a failed checkout left
		if e := j.clearCheck(context.WithoutCancel(ctx), path); e != nil {
			j.warn("cannot remove %s: %v", j.rel(path), e)
		}
	}()
	var before map[string]string
	for {
		file, err := j.nextLog()
		if err != nil {
			return "", "", err
		}
		failed, changed, err := j.checkOnce(ctx, path, file, candidate)
		if err != nil || len(changed) == 0 {
			return failed, j.rel(file), err
		}
		names := strings.Join(slices.Sorted(maps.Keys(changed)), ", ")
		switch {
		case before == nil: // it may have been a neighbour
			j.warn("tracked files of %s changed while the checks of %s ran: %s; they run once more in a fresh checkout", j.rel(path), j.name, names)
			before = changed
			if err := j.clearCheck(ctx, path); err != nil {
				return "", "", err
			}
		case maps.Equal(before, changed):
			j.warn("the checks of %s change tracked files: %s; what worktree.setup changes is expected, so do it there", j.name, names)
			return failed, j.rel(file), nil
		default:
			return "", "", fmt.Errorf("cannot trust the checks of %s: tracked files of %s changed twice while they ran, not in the same way: %s; "+
				"something else writes there, or the checks do: stop it, then try again", j.name, j.rel(path), names)
		}
	}
}

// hasChecks reports whether there is a command to run on the candidate: one that is configured, or the script in the candidate.
func (j *job) hasChecks(ctx context.Context, candidate string) (bool, error) {
	if len(j.Checks)+len(j.Setup)+len(j.Hooks) > 0 {
		return true, nil
	}
	_, err := j.Repo.ReadFile(ctx, candidate, Script)
	if errors.Is(err, git.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// checkOnce checks the candidate out and runs the commands there. changed are the tracked files that differ from their state
// after setup.
func (j *job) checkOnce(ctx context.Context, path, log, candidate string) (failed string, changed map[string]string, err error) {
	warnings, err := j.Repo.CheckoutDetached(ctx, path, candidate)
	if err != nil {
		return "", nil, err
	}
	for _, w := range warnings {
		j.warn("the checks of %s: %s", j.name, w)
	}
	failed, changed, err = j.runAll(ctx, path, log, candidate)
	if err != nil {
		return "", nil, err
	}
	after, err := j.Repo.Changed(ctx, path)
	if err != nil {
		return "", nil, err
	}
	return failed, git.Disturbed(changed, after), nil
}

// runAll runs setup, checks and hooks one after the other within one time limit. expected are
// the tracked files that setup changed.
func (j *job) runAll(ctx context.Context, path, log, candidate string) (failed string, expected map[string]string, err error) {
	limit := j.Timeout
	if limit <= 0 {
		limit = j.state.MergeCheckTimeout()
	}
	checks := j.Checks
	if info, err := os.Stat(filepath.Join(path, Script)); len(checks) == 0 && err == nil && info.Mode()&0o111 != 0 {
		checks = []string{"./" + Script}
	}
	j.excused, j.unverified, j.unran, j.passed = nil, nil, nil, nil
	var waits error
	end := time.Now().Add(limit)
	setup := j.Setup
	if j.Seed != nil && j.Seed(ctx, path, candidate, log) {
		setup = nil
	}
	for i, shell := range slices.Concat(setup, checks, j.Hooks) {
		// What setup changes, such as a lock file of dependencies, is not a change by the checks.
		if i > 0 && i == len(setup) {
			if expected, err = j.Repo.Changed(ctx, path); err != nil {
				return "", nil, err
			}
		}
		// One limit for all commands together: each of its own would let a list of checks take any time.
		left := max(time.Until(end), time.Nanosecond) // 0 would mean: no limit
		c := review.Command{Shell: shell, Dir: path, Log: log, Timeout: left, Hide: j.state.Secrets, Mask: j.Mask}
		if i >= len(setup) {
			c.Services = j.name
			if j.name == syncName {
				c.DataOf = candidate // what comes in is the person's own, and may be what makes the data
			}
		}
		r := c.RunIn(ctx, j.Enclose)
		end = end.Add(r.Waited)
		if why, err := j.prevented(ctx, candidate, shell, log, i < len(setup), r); err != nil {
			return "", nil, err
		} else if why != "" {
			if err := j.Unable(ctx, shell, why); err != nil {
				return "", nil, err
			}
			j.unran = append(j.unran, shell)
			if i < len(setup) { // a person said that work is merged all the same
				return "", expected, nil
			}
			continue
		}
		excused, broken := j.onBase(ctx, i < len(setup), candidate, shell, log, r)
		if excused {
			if j.Unverified != nil {
				waits = cmp.Or(waits, j.Unverified(ctx, candidate, shell, log, r.ExitCode))
			}
			continue // a later check may still find what the work breaks
		}
		switch {
		case r.TimedOut:
			return fmt.Sprintf("%q did not end within %s", shell, limit), expected, nil
		case r.Err != nil:
			return "", nil, fmt.Errorf("cannot run the check %q of %s: %w", shell, j.name, r.Err)
		case r.ExitCode != 0:
			return exitOf(shell, r) + broken + r.Unreached(), expected, nil
		}
		if i >= len(setup) {
			j.passed = append(j.passed, shell)
		}
	}
	return "", expected, waits
}

// prevented returns why a command could not run on the candidate, and cannot run on the branch without the work either; "" if it
// ran, or the work is the cause. A person is asked about it, no coder.
func (j *job) prevented(ctx context.Context, candidate, shell, log string, setup bool, r review.Ran) (string, error) {
	output := review.OutputOf(log, shell)
	why := r.Unable(output)
	asked := j.state.CheckQuestion(blackboard.QuestionUnable, shell) != nil
	switch {
	case j.Unable == nil || ctx.Err() != nil:
		return "", nil
	case why == "" && asked:
		return "", j.Unable(ctx, shell, "")
	case why == "" && !(setup && r.Failed()):
		return "", nil
	}
	base, command := cmp.Or(j.base, j.old), shell
	if setup {
		command = ""
	}
	end, err := j.BaseNow(ctx, base, command, j.state.Secrets)
	if err != nil {
		return "", err
	}
	changes, err := j.Repo.ChangedFiles(ctx, base, candidate)
	if err != nil {
		return "", err
	}
	return end.Prevented(r, command, output, pathsOf(changes)), nil
}

func pathsOf(changes []git.Change) (paths []string) {
	for _, c := range changes {
		paths = append(paths, c.Path)
	}
	return paths
}

func exitOf(shell string, r review.Ran) string {
	return fmt.Sprintf("%q ended with exit code %d", shell, r.ExitCode)
}

// onBase compares a check that failed on the candidate with its result on the branch without it. It is excused if all its
// failures occur there too: the work is not the cause. broken describes the failures that the work caused. Setup has no
// baseline: without it nothing is checked.
func (j *job) onBase(ctx context.Context, setup bool, candidate, shell, log string, r review.Ran) (excused bool, broken string) {
	if setup || r.Err != nil || r.TimedOut || j.Base == nil {
		return false, ""
	}
	if !r.Failed() {
		j.Passed(ctx, candidate, shell)
		return false, ""
	}
	base := cmp.Or(j.base, j.old)
	end, err := j.Base(ctx, base, shell, j.state.Secrets)
	if err != nil {
		return false, ""
	}
	changes, err := j.Repo.ChangedFiles(ctx, base, candidate)
	if err != nil {
		return false, ""
	}
	output := review.OutputOf(log, shell)
	red, isNew := end.NewFailures(r, shell, output, pathsOf(changes))
	switch {
	case len(isNew) > 0:
		return false, "; it breaks " + review.Names(isNew)
	case !red:
		return false, ""
	}
	j.unverified = append(j.unverified, shell)
	j.excused = append(j.excused, exitOf(shell, r))
	for _, name := range review.Failures(output) {
		j.excused = append(j.excused, exitOf(shell, r)+"; it breaks "+name)
	}
	what := j.name
	if j.task == nil {
		what = "the " + strings.TrimPrefix(j.name, "_")
	}
	j.warn("the check %q fails on %s without %s too, with the same failures, so it has not verified the merge: see %s", shell, j.branch, what, j.rel(end.Log))
	return true, ""
}

// nextLog names a log that is not there yet.
func (j *job) nextLog() (string, error) {
	for n := 1; ; n++ {
		path := j.LogPath(j.name, n)
		_, err := os.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) {
			return path, nil
		}
		if err != nil {
			return "", fmt.Errorf("cannot open the log of the integration checks: %w", err)
		}
	}
}

// clearCheck removes a check worktree that an interrupted merge left, and its processes.
func (m *Merger) clearCheck(ctx context.Context, path string) error {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	// A killed merge leaves its checks running: removed under them, the folder would come back.
	if err := review.StopInside(ctx, path); err != nil {
		return err
	}
	return m.Repo.RemoveDetached(ctx, path)
}

// noteFlaky records that checks failed and passed on the same tree; t is nil when no task is merged.
func (m *Merger) noteFlaky(ctx context.Context, t *blackboard.Task, failed string, logs ...string) error {
	id := ""
	if t != nil {
		id = t.ID
	}
	what := fmt.Sprintf("%s, and passed when it ran once more on the same tree: see %s and %s", failed, logs[0], logs[1])
	m.warn("a flaky check: %s", what)
	return m.update(ctx, "merge", func(s *blackboard.State, _ transition.Actor) error {
		transition.AddAnomaly(s, id, blackboard.System, blackboard.AnomalyFlakyCheck, blackboard.Settings{"what": what}, m.Now())
		return nil
	})
}
