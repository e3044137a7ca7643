package merge

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"liza/pkg/review"
)

// check runs the integration checks on the candidate in a throw-away worktree (8.4). log
// is where their output is; ok is false when one failed.
func (j *job) check(ctx context.Context, candidate string) (log string, ok bool, err error) {
	path := filepath.Join(j.Repo.Root(), ".worktrees", ".check-"+j.task.ID)
	if len(j.Checks)+len(j.Setup)+len(j.Hooks) == 0 {
		// The script is looked up in the candidate itself; without it nothing is checked out.
		if _, err := j.Repo.ReadFile(ctx, candidate, script); err != nil {
			return "", true, nil
		}
	}
	if err := j.clearCheck(ctx, path); err != nil {
		return "", false, err
	}
	if _, err := j.Repo.CheckoutDetached(ctx, path, candidate); err != nil {
		return "", false, err
	}
	defer func() {
		if e := j.Repo.RemoveDetached(context.WithoutCancel(ctx), path); e != nil {
			j.warn("cannot remove %s: %v", j.rel(path), e)
		}
	}()
	file, err := j.nextLog()
	if err != nil {
		return "", false, err
	}
	ok, err = j.runAll(ctx, path, file)
	return j.rel(file), ok, err
}

const script = "scripts/integration-test.sh"

// runAll runs setup, checks and hooks one after the other within one time limit.
func (j *job) runAll(ctx context.Context, path, log string) (bool, error) {
	limit := j.Timeout
	if limit <= 0 {
		s, err := j.view(ctx)
		if err != nil {
			return false, err
		}
		limit = s.Duration("integration_check_timeout")
	}
	checks := j.Checks
	if info, err := os.Stat(filepath.Join(path, script)); len(checks) == 0 && err == nil && info.Mode()&0o111 != 0 {
		checks = []string{"./" + script}
	}
	end := time.Now().Add(limit)
	for _, list := range [][]string{j.Setup, checks, j.Hooks} {
		for _, shell := range list {
			left := time.Until(end)
			if left <= 0 {
				return false, nil
			}
			r := review.Command{Shell: shell, Dir: path, Log: log, Timeout: left}.Run(ctx)
			if ctx.Err() != nil {
				return false, context.Cause(ctx)
			}
			if r.Failed() {
				j.warn("the check %q of %s failed with exit code %d, see %s", shell, j.task.ID, r.ExitCode, j.rel(log))
				return false, nil
			}
		}
	}
	return true, nil
}

// nextLog names a log that is not there yet.
func (j *job) nextLog() (string, error) {
	for n := 1; ; n++ {
		path := j.LogPath(j.task.ID, n)
		_, err := os.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) {
			return path, nil
		}
		if err != nil {
			return "", fmt.Errorf("cannot open the log of the integration checks: %v", err)
		}
	}
}

// clearCheck removes a check worktree that an interrupted merge left, and its processes.
func (m *Merger) clearCheck(ctx context.Context, path string) error {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := stopInside(ctx, path); err != nil {
		return err
	}
	return m.Repo.RemoveDetached(ctx, path)
}
