package supervisor_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/store"
	"liza/pkg/board/transition"
	"liza/pkg/run/agent"
	"liza/pkg/team/supervisor"
)

// shared is a board that several hosts have.
type shared struct{ store.Store }

func (shared) Now() time.Time             { return time.Now() }
func (shared) ClockOffset() time.Duration { return 0 }

// A person on another host who aborts stops the agents of this one within a second, in the middle of their runs.
func TestAnAbortOnAnotherHostStopsARun(t *testing.T) {
	inBubble(t, func(c *clockwork) {
		c.task("task-1")
		var stopped time.Time
		s := c.supervisor(blackboard.RoleCoder, func(ctx context.Context, _ agent.Spec) agent.Result {
			<-ctx.Done()
			stopped = time.Now()
			return agent.Result{Outcome: agent.Killed}
		})
		s.Service.Board.Store = shared{c.memory}
		at := time.Now().Add(5 * time.Minute)
		time.AfterFunc(5*time.Minute, func() {
			human := transition.Actor{ID: blackboard.Human, Name: blackboard.Human}
			err := c.memory.Update(context.Background(), store.Op{Name: "abort", Agent: blackboard.Human}, func(s *blackboard.State) error {
				return transition.AbortSprint(s, "wrong spec", human, time.Now())
			})
			if err != nil {
				t.Error(err)
			}
		})
		ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
		defer cancel()
		if err := s.Run(ctx, ctx); !errors.Is(err, supervisor.ErrAborted) {
			t.Errorf("the supervisor ended with %v", err)
		}
		if late := stopped.Sub(at); stopped.IsZero() || late < 0 || late > time.Second {
			t.Errorf("the run was stopped %s after the abort", late)
		}
		if x := c.state().Task("task-1"); x.Status != blackboard.Unclaimed {
			t.Errorf("the task is %s", x.Status)
		}
	})
}
