package supervisor_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/run/agent"
	"liza/pkg/team/supervisor"
)

func TestAPanicEndsTheWorkOfOneMemberAlone(t *testing.T) {
	inBubble(t, func(c *clockwork) {
		c.task("task-1")
		runs := 0
		s := c.supervisor(blackboard.RoleCoder, func(context.Context, agent.Spec) agent.Result {
			if runs++; runs == 1 {
				var nothing *blackboard.Task
				_ = nothing.ID
			}
			return agent.Result{Outcome: agent.Overloaded, RetryAfter: time.Hour}
		})
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := s.Run(ctx, context.Background()); err != nil {
			t.Fatal(err)
		}
		if runs != 2 {
			t.Errorf("%d runs, want the one that panicked and one more", runs)
		}
		log, err := os.ReadFile(filepath.Join(c.Dir, ".liza", "output", "coder-1.panic.log"))
		if err != nil || !strings.Contains(string(log), "panic_test.go") || !strings.Contains(string(log), "nil pointer") {
			t.Errorf("the stack is not in the log: %v\n%s", err, log)
		}
		told := strings.Join(c.lines, "\n")
		if !strings.Contains(told, "a mistake in Liza: runtime error: invalid memory address or nil pointer dereference (see .liza/output/coder-1.panic.log)") || !strings.Contains(told, "released: a mistake in Liza") {
			t.Errorf("told was\n%s", told)
		}
	})
}

func TestTheThirdPanicEndsTheMember(t *testing.T) {
	inBubble(t, func(c *clockwork) {
		c.task("task-1")
		runs := 0
		s := c.supervisor(blackboard.RoleCoder, func(context.Context, agent.Spec) agent.Result {
			runs++
			panic("again")
		})
		if err := s.Run(context.Background(), context.Background()); !errors.Is(err, supervisor.ErrGaveUp) || !strings.Contains(err.Error(), "a mistake in Liza: again") {
			t.Errorf("ended with %v, want a give-up that says why", err)
		}
		task := c.state().Task("task-1")
		if runs > 3 || task.Status == blackboard.Claimed || len(c.state().Agents) > 0 {
			t.Errorf("%d runs; the task is %s, registered are %v", runs, task.Status, c.state().Agents)
		}
	})
}
