package supervisor_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"liza/pkg/board/blackboard"
	"liza/pkg/run/agent"
	"liza/pkg/team/supervisor"
	"liza/pkg/verb/verb/verbtest"
)

// What changes outside of the worktree is told with the run, and what a branch left behind is kept; nothing is put back.
func TestWhatChangesOutsideOfTheWorktreeIsTold(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.AddTask("task-1")
	main := p.Git(p.Dir, "rev-parse", "HEAD")
	p.Git(p.Dir, "branch", "precious", p.Git(p.Dir, "commit-tree", "HEAD^{tree}", "-p", "HEAD", "-m", "precious"))
	precious := p.Git(p.Dir, "rev-parse", "precious")
	p.Git(p.Dir, "branch", "untouched")
	d := p.Service("")
	told := []string{}
	d.Board.Notice = func(kind blackboard.AlertKind, _, text string) { told = append(told, string(kind)+" "+text) }
	s := &supervisor.Supervisor{Service: d, Role: blackboard.RoleCoder, CLI: "fake", PID: os.Getpid(), Liza: "/bin/true", Task: "task-1", Once: true,
		Adapter: func(string) (agent.Adapter, error) { return nil, nil },
		Start: func(_ context.Context, _ agent.Adapter, spec agent.Spec) agent.Result {
			if err := spec.Started(agent.Process{Pid: os.Getpid()}); err != nil {
				return agent.Result{Outcome: agent.Killed, Error: err.Error()}
			}
			p.Commit("task-1")
			p.Git(p.Dir, "branch", "-f", "precious", main)
			p.Git(p.Dir, "tag", "v1")
			p.Git(p.Dir, "update-ref", "refs/remotes/origin/main", "task/task-1")
			p.Git(p.Dir, "replace", precious, main)
			p.Git(p.Dir, "config", "core.fsmonitor", "evil")
			verbtest.Write(t, filepath.Join(p.Dir, ".git/hooks/pre-commit"), "evil\n")
			verbtest.Write(t, filepath.Join(p.Dir, "stray.txt"), "x\n")
			return finished(completes)
		}}
	if err := s.Run(t.Context(), t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(told) != 1 || !strings.HasPrefix(told[0], "CHECKOUT_CHANGED during the run of coder-1 on task-1: ") {
		t.Fatalf("told: %q", told)
	}
	for _, want := range []string{"refs/heads/precious moved from " + precious[:9], "kept as refs/liza/attic/moved-heads-precious/1", "refs/tags/v1 is new",
		"refs/remotes/origin/main is new", "refs/replace/" + precious + " is new", ".git/config changed", ".git/hooks/pre-commit changed", "stray.txt changed"} {
		if !strings.Contains(told[0], want) {
			t.Errorf("%q does not say %q", told[0], want)
		}
	}
	for _, other := range []string{"task/task-1 ", "untouched", "refs/heads/integration", ".liza"} {
		if strings.Contains(told[0], other) {
			t.Errorf("%q names %q", told[0], other)
		}
	}
	if kept := p.Git(p.Dir, "rev-parse", "refs/liza/attic/moved-heads-precious/1"); kept != precious {
		t.Errorf("kept is %s, want %s", kept, precious)
	}
	log, err := os.ReadFile(filepath.Join(p.Dir, ".liza/log.yaml"))
	if err != nil || !strings.Contains(string(log), "checkout_changed") {
		t.Errorf("the journal does not tell: %v", err)
	}
}
