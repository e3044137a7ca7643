package supervisor_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/run/agent"
	"liza/pkg/team/supervisor"
)

// A program that asks to be started again is, five times in a row; from then on it has crashed,
// and crashes like that end the supervisor as others do (specs/protocol.md#13.3.1).
func TestTheSixthRestartInARowIsACrash(t *testing.T) {
	inBubble(t, func(c *clockwork) {
		c.task("task-1")
		c.setting("task_crashes", 0) // or the task would be blocked
		runs := 0
		s := c.supervisor(blackboard.RoleCoder, func(context.Context, agent.Spec) agent.Result {
			runs++
			return agent.Result{Outcome: agent.Crashed, Restart: true, ExitCode: 42, Error: "exit code 42"}
		})
		if err := s.Run(context.Background(), context.Background()); !errors.Is(err, supervisor.ErrGaveUp) {
			t.Errorf("ended with %v, want a give-up", err)
		}
		c.wants(t, "run_failed", 0, 5*time.Second, 15*time.Second)
		if task := c.state().Task("task-1"); runs != 8 || task.Iteration != 1 {
			t.Errorf("%d runs, iteration %d; want 5 restarts, 3 crashes and one iteration", runs, task.Iteration)
		}
	})
}

// The first Ctrl-C lets a running program end; where none runs there is nothing to wait for.
func TestTheFirstInterruptEndsAWaitBetweenTwoRuns(t *testing.T) {
	for name, role := range map[string]blackboard.Role{"a coder": blackboard.RoleCoder, "a planner": blackboard.RolePlanner} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(c *clockwork) {
				if role == blackboard.RoleCoder {
					c.task("task-1")
				}
				runs := 0
				s := c.supervisor(role, func(context.Context, agent.Spec) agent.Result {
					runs++
					return agent.Result{Outcome: agent.Overloaded, RetryAfter: 5 * time.Minute}
				})
				soft, interrupt := context.WithTimeout(context.Background(), 20*time.Second)
				defer interrupt()
				if err := s.Run(soft, context.Background()); err != nil {
					t.Error(err)
				}
				if took := time.Since(c.start); runs != 1 || took > 22*time.Second {
					t.Errorf("%d runs, ended after %s", runs, took)
				}
				if task := c.state().Task("task-1"); task != nil && task.Status != blackboard.Unclaimed {
					t.Errorf("task-1 is %s", task.Status)
				}
			})
		})
	}
}
