package merge_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/store"
	"liza/pkg/board/transition"
	"liza/pkg/code/merge"
	"liza/pkg/code/review"
	"liza/pkg/verb/verb/verbtest"
)

// failedAt merges and returns the failure that was expected.
func failedAt(t *testing.T, m *merge.Merger, id string) merge.Result {
	t.Helper()
	r, err := m.Task(context.Background(), id)
	var failed *merge.FailedError
	if !errors.As(err, &failed) || r.Status != blackboard.IntegrationFailed {
		t.Fatalf("the merge of %s was to fail: %+v, %v", id, r, err)
	}
	return failed.Result
}

// P-114: a failing check after a task of three commits leaves the branch where it was; log
// and command are named.
func TestAFailingCheckLeavesTheBranch(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.Config.Integration.Checks = []string{"true", "echo broken; exit 7", "touch " + filepath.Join(p.Dir, ".git", "never")}
	p.AddTask("task-1")
	approve(t, p, "task-1", "one.md", "two.md", "three.md")
	before := head(p)
	if n := p.Git(p.Dir, "rev-list", "--count", before+"..task/task-1"); n != "3" {
		t.Fatalf("the task has %s commits, want 3", n)
	}
	r := failedAt(t, merger(p), "task-1")
	if head(p) != before {
		t.Error("the branch moved")
	}
	if r.Reason != "checks" || !strings.Contains(r.Check, "echo broken") || !strings.Contains(r.Check, "exit code 7") {
		t.Errorf("the failure is told as %+v", r)
	}
	if log, err := os.ReadFile(filepath.Join(p.Dir, r.Log)); err != nil || !strings.Contains(string(log), "broken\n") {
		t.Errorf("the log has %q (%v)", log, err)
	}
	task := p.State().Task("task-1")
	if last := task.History[len(task.History)-1]; last.Log != r.Log || !strings.Contains(last.Reason, "exit code 7") || task.MergeIntent != nil {
		t.Errorf("the history ends with %+v", last)
	}
	if _, err := os.Stat(filepath.Join(p.Dir, ".git", "never")); err == nil {
		t.Error("a check ran after the one that failed")
	}
	p.Sound("task-1")
	approve(t, p, "task-1", "fix.md")
	if second := failedAt(t, merger(p), "task-1"); second.Log == r.Log {
		t.Errorf("the second try wrote over the log %s", r.Log)
	}
}

// Setup, checks and hooks run in this order, on the candidate, in a worktree of its own.
func TestChecksRunOnTheCandidate(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	out := filepath.Join(p.Dir, ".git", "out")
	p.Approved("task-1")
	p.Outside("outside.txt", "pushed\n")
	m := merger(p)
	m.Setup = []string{"echo setup >> " + out}
	m.Checks = []string{"test -f task-1.md && test -f outside.txt && git rev-parse HEAD >> " + out, "pwd >> " + out}
	m.Hooks = []string{"echo hook >> " + out}
	r, err := m.Task(context.Background(), "task-1")
	if err != nil {
		t.Fatal(err)
	}
	text, _ := os.ReadFile(out)
	if want := strings.Join([]string{"setup", r.MergeCommit, filepath.Join(p.Dir, ".worktrees", ".check-task-1"), "hook", ""}, "\n"); string(text) != want {
		t.Errorf("ran %q, want %q", text, want)
	}
	p.Sound()
}

// The script of the candidate's own tree is the check when none is configured, if it is executable.
func TestTheScriptOfTheCandidateIsTheCheck(t *testing.T) {
	t.Parallel()
	for _, mode := range []os.FileMode{0o755, 0o644} {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			p := verbtest.New(t)
			outside(p, "scripts/integration-test.sh", "#!/bin/sh\necho the script; test ! -f task-1.md\n", mode)
			p.Approved("task-1")
			r, err := merger(p).Task(context.Background(), "task-1")
			if mode == 0o644 {
				if err != nil || r.Status != blackboard.Merged {
					t.Errorf("a script that is not executable ran: %+v, %v", r, err)
				}
				return
			}
			if r.Status != blackboard.IntegrationFailed || !strings.Contains(r.Check, "integration-test.sh") {
				t.Errorf("the script did not run: %+v, %v", r, err)
			}
		})
	}
}

// What a check leaves running, also outside of its process group, is ended with it.
func TestACheckLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.Config.Integration.Checks = []string{"tail -f /dev/null & echo $! > group; cp group " + filepath.Join(p.Dir, ".git", "group"),
		"setsid sh -c 'echo $$ > " + filepath.Join(p.Dir, ".git", "escaped") + "; exec tail -f /dev/null' > /dev/null 2>&1 & while ! test -s " +
			filepath.Join(p.Dir, ".git", "escaped") + "; do :; done"}
	p.Approved("task-1")
	mustMerge(t, p, "task-1")
	for _, name := range []string{"group", "escaped"} {
		pid, err := os.ReadFile(filepath.Join(p.Dir, ".git", name))
		if err != nil {
			t.Fatal(err)
		}
		n, err := strconv.Atoi(strings.TrimSpace(string(pid)))
		if err != nil {
			t.Fatal(err)
		}
		if cwd, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", n)); err == nil && strings.Contains(cwd, ".check-task-1") {
			t.Errorf("the process %d of a check is still there", n)
			_ = syscall.Kill(n, syscall.SIGKILL)
		}
	}
	p.Sound()
}

// Checks do not see what is secret. It changes the environment, so it does not run beside others.
func TestChecksDoNotSeeSecrets(t *testing.T) {
	p := verbtest.New(t)
	p.Config.Integration.Checks = []string{"env > " + filepath.Join(p.Dir, ".git", "env")}
	p.Approved("task-1")
	err := p.Store.Update(context.Background(), store.Op{Name: "plan apply"}, func(s *blackboard.State) error {
		s.Secrets = []string{"DEPLOY_KEY"}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("LIZA_AGENT_TOKEN", "hidden-one")
	t.Setenv("DEPLOY_KEY", "hidden-two")
	mustMerge(t, p, "task-1")
	if env, err := os.ReadFile(filepath.Join(p.Dir, ".git", "env")); err != nil || strings.Contains(string(env), "hidden") {
		t.Errorf("a check sees secrets (%v):\n%s", err, env)
	}
}

// T21 is refused: the branch does not move, and no candidate is kept.
func TestAHoldDuringTheChecksStopsTheMerge(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.Approved("task-1")
	before := head(p)
	m := merger(p)
	m.At = func(point string) {
		if point == "M6" {
			if _, err := p.Service("").Hold(context.Background(), "task-1", "wait for the release"); err != nil {
				t.Error(err)
			}
		}
	}
	_, err := m.Task(context.Background(), "task-1")
	var refused *transition.Refusal
	if !errors.As(err, &refused) || refused.Guard != "G08" {
		t.Fatalf("a held task was merged: %v", err)
	}
	if head(p) != before || p.State().Task("task-1").MergeIntent != nil {
		t.Error("something moved")
	}
	p.Sound("task-1")
}

// A commit that is not in the object store cannot be merged: T23, nothing moves.
func TestALostCommitFailsTheIntegration(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.Approved("task-1")
	before := head(p)
	commit := p.State().Task("task-1").ReviewCommit
	if err := os.Remove(filepath.Join(p.Project.GitDir, "objects", commit[:2], commit[2:])); err != nil {
		t.Fatal(err)
	}
	if r := failedAt(t, merger(p), "task-1"); r.Reason != "commit_lost" || head(p) != before {
		t.Errorf("%+v, the branch is at %s, was at %s", r, head(p), before)
	}
}

// The services of a project run beside its checks and hooks, and not beside what sets the folder up; their data is that of the branch, but for
// what a person brings in.
func TestServicesRunBesideChecksAndHooks(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.Approved("task-1")
	commit := base(p, "later.md", "later\n")
	var ran []string
	with := func(seeded bool) *merge.Merger {
		m := merger(p)
		ran, m.Setup, m.Checks, m.Hooks = nil, []string{"true 1"}, []string{"true 2"}, []string{"true 3"}
		m.Seed = func(context.Context, string, string, string) bool { return seeded }
		m.Enclose = func(_ context.Context, c *review.Command) (func(), error) {
			ran = append(ran, fmt.Sprintf("%s,%s,%t", c.Shell, c.Services, c.DataOf != ""))
			return func() {}, nil
		}
		return m
	}
	if _, err := with(false).Task(t.Context(), "task-1"); err != nil || !slices.Equal(ran, []string{"true 1,,false", "true 2,task-1,false", "true 3,task-1,false"}) {
		t.Errorf("of a merge: %q, %v", ran, err)
	}
	if _, err := with(true).Sync(t.Context(), "later", commit, false); err != nil || !slices.Equal(ran, []string{"true 2,_sync,true", "true 3,_sync,true"}) {
		t.Errorf("of a sync into a folder that is laid out from a seed: %q, %v", ran, err)
	}
}
