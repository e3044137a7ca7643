package supervisor_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/config"
	"liza/pkg/run/agent"
	"liza/pkg/team/supervisor"
	"liza/pkg/verb/verb"
	"liza/pkg/verb/verb/verbtest"
)

// submittedGreeter has task-1 of a cheater's project ready for review, with honest work.
func submittedGreeter(t *testing.T, in verb.SubmitInput, files map[string]string) *verbtest.Place {
	t.Helper()
	p := cheater(t, nil)
	for name, text := range files {
		verbtest.Write(t, filepath.Join(p.Repo.WorktreePath("task-1"), name), text)
	}
	p.Git(p.Repo.WorktreePath("task-1"), "add", "-A")
	p.Git(p.Repo.WorktreePath("task-1"), "commit", "-q", "-m", "work")
	in.Task = "task-1"
	if _, err := p.Service("coder-1").Submit(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	return p
}

var polite = map[string]string{"greet.py": "def greet(name):\n    return \"Good day, \" + name\n", "test_greet.py": strings.ReplaceAll(greeter["test_greet.py"], "Hello", "Good day")}

// C-12: when the coder is done, one reviewer is started, however many wait for work: under
// another id, with the diff stat, what the checks found, and the checklist.
func TestOneReviewByAnotherAgent(t *testing.T) {
	t.Parallel()
	p := cheater(t, nil)
	p.Config.Review.Checks["lint_passes"] = config.Check{Enabled: true, Severity: "warning", Command: "echo 'greet.py:2:1: odd'; exit 1"}
	type run struct{ role, env, prompt string }
	var mu sync.Mutex
	var runs []run
	start := func(role blackboard.Role) *supervisor.Supervisor {
		return &supervisor.Supervisor{Service: p.Service(""), Role: role, CLI: "fake", PID: os.Getpid(), Liza: "/bin/true", Once: true,
			Adapter: func(string) (agent.Adapter, error) { return nil, nil },
			Start: func(_ context.Context, _ agent.Adapter, s agent.Spec) agent.Result {
				mu.Lock()
				runs = append(runs, run{s.Role, strings.Join(s.Env, "\n"), s.Prompt})
				mu.Unlock()
				if err := s.Started(agent.Process{Pid: os.Getpid()}); err != nil {
					return agent.Result{Outcome: agent.Killed, Error: err.Error()}
				}
				if s.Role == "coder" {
					for name, text := range polite {
						verbtest.Write(t, filepath.Join(s.Dir, name), text)
					}
					p.Git(s.Dir, "commit", "-q", "-a", "-m", "work")
					return finished(completes)
				}
				return finished(approves)
			}}
	}
	if _, err := p.Service("coder-1").Release(t.Context(), verb.ReleaseInput{Task: "task-1", Reason: "for another"}); err != nil {
		t.Fatal(err)
	}
	if err := start(blackboard.RoleCoder).Run(t.Context(), t.Context()); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 2 {
		s := start(blackboard.RoleReviewer)
		all.Go(func() { _ = s.Run(t.Context(), t.Context()) }) // the one that comes too late has nothing to do
	}
	all.Wait()
	if len(runs) != 2 || runs[0].role != "coder" || runs[1].role != "code_reviewer" {
		t.Fatalf("%d runs: %+v", len(runs), runs)
	}
	if !strings.Contains(runs[1].env, "LIZA_AGENT_ID=code-reviewer-") {
		t.Errorf("the reviewer is %s", runs[1].env)
	}
	wantPrompt(t, []string{runs[1].prompt}, 1, "2 files changed", " greet.py      | 2 +-", "- lint_passes: failed (warning)", "- [ ] Tests: are new functions tested", "- [ ] Scope: anything outside",
		"finding [warning] greet.py:2 lint_passes: \"echo 'greet.py:2:1: odd'; exit 1\" ended with exit code 1: greet.py:2:1: odd")
	task := p.State().Task("task-1")
	if task.Review == nil || !slices.ContainsFunc(task.Review.Checks, func(c *blackboard.Check) bool {
		return c.Name == "lint_passes" && c.Status == "failed" && c.ExitCode == 1 && c.Commit == task.ReviewCommit && c.Log == ".liza/output/task-1.check-lint_passes.log"
	}) {
		t.Errorf("%+v", task.Review)
	}
	if left, _ := filepath.Glob(filepath.Join(p.Dir, ".worktrees", ".review-*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// N-22: a waiver of tests is a finding of severity info, and the reviewer is asked to accept
// or reject its reason.
func TestAWaiverOfTestsIsToldToTheReviewer(t *testing.T) {
	t.Parallel()
	p := submittedGreeter(t, verb.SubmitInput{NoTests: "only a word changed"}, map[string]string{"greet.py": polite["greet.py"]})
	prompts, _ := reviewed(t, p, "task-1", approves)
	wantPrompt(t, prompts, 1, "[info] greet.py test_coverage: tests waived: only a word changed", "- [ ] No tests: accept or reject the coder's reason", "Submitted without tests: only a word changed")
	if got := p.State().Task("task-1"); got.Status != blackboard.Approved {
		t.Errorf("task-1 is %s", got.Status)
	}
}

// With review.skip_agent_on_error nobody reads what the checks reject.
func TestErrorsOfTheChecksRejectWithoutAReviewer(t *testing.T) {
	t.Parallel()
	p := submittedGreeter(t, verb.SubmitInput{}, polite)
	p.Config.Review.SkipAgentOnError = true
	p.Config.Review.Checks["tests_pass"] = config.Check{Enabled: true, Severity: "error", Command: "echo 'test_greet.py:4: wrong'; exit 1"}
	prompts, _ := reviewed(t, p, "task-1", approves)
	task := p.State().Task("task-1")
	if len(prompts) != 0 || task.Status != blackboard.Rejected || !strings.Contains(task.RejectionReason.Summary, "the checks found errors: test_greet.py: ") || len(task.Fixes) != 1 {
		t.Errorf("%d runs, task-1 is %s, %+v", len(prompts), task.Status, task.RejectionReason)
	}
}

// Checks that cannot be done are a review that failed, not one without checks.
func TestChecksThatCannotBeDoneAreAFailedReview(t *testing.T) {
	t.Parallel()
	p := submittedGreeter(t, verb.SubmitInput{}, polite)
	p.Config.Review.Checks["tests_pass"] = config.Check{Enabled: true, Severity: "error", Command: "exit 0"}
	verbtest.Write(t, filepath.Join(p.Dir, ".liza", "output", "task-1.check-tests_pass.log", "a folder"), "in the place of the log\n")
	prompts, lines := reviewed(t, p, "task-1", approves)
	task := p.State().Task("task-1")
	if len(prompts) != 0 || task.Status != blackboard.ReadyForReview || task.ReviewFailures != 1 || task.ReviewingBy != "" {
		t.Errorf("%d runs, task-1 is %s after %d failures, reviewed by %q: %s", len(prompts), task.Status, task.ReviewFailures, task.ReviewingBy, fmt.Sprint(lines))
	}
}
