package supervisor_test

import (
	"context"
	"os"
	"testing"
	"time"

	"liza/pkg/agent"
	"liza/pkg/blackboard"
	"liza/pkg/supervisor"
	"liza/pkg/verb/verbtest"
)

// A supervisor that is started for one unit of work merges what others left, and does its
// own work nonetheless.
func TestMergingIsNotTheOneUnitOfWork(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.Approved("task-1")
	p.AddTask("task-2")
	d := p.Service("")
	d.Now = func() time.Time { return time.Now().Add(6 * time.Second) } // long enough for any agent to merge
	ran := 0
	s := &supervisor.Supervisor{Service: d, Role: blackboard.RoleCoder, CLI: "fake", PID: os.Getpid(), Liza: "/bin/true", Task: "task-2", Once: true,
		Adapter: func(string) (agent.Adapter, error) { return nil, nil },
		Start: func(_ context.Context, _ agent.Adapter, spec agent.Spec) agent.Result {
			if err := spec.Started(agent.Process{Pid: os.Getpid()}); err != nil {
				return agent.Result{Outcome: agent.Killed, Error: err.Error()}
			}
			ran++
			p.Commit("task-2")
			return finished(completes)
		}}
	if err := s.Run(t.Context(), t.Context()); err != nil {
		t.Fatal(err)
	}
	state := p.State()
	first, second := state.Task("task-1"), state.Task("task-2")
	if ran != 1 || first.Status != blackboard.Merged || second.Status != blackboard.ReadyForReview {
		t.Errorf("the program ran %d times; task-1 is %s, task-2 is %s", ran, first.Status, second.Status)
	}
}
