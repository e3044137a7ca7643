package supervisor_test

import (
	"context"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/store"
	"liza/pkg/run/agent"
)

// A coder was killed and nobody starts another one: the reviewer's supervisor gives its claim back when the lease has run
// out, and leaves everything alone for which there is no such proof.
func TestTheClaimOfADeadCoderIsGivenBackWhereNoCoderIsLeft(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(s *blackboard.State, task *blackboard.Task, now time.Time)
		want   blackboard.Status
	}{
		{"the lease has run out", func(*blackboard.State, *blackboard.Task, time.Time) {}, blackboard.Unclaimed},
		{"the lease still holds", func(s *blackboard.State, task *blackboard.Task, now time.Time) {
			task.LeaseExpires, s.Agents["coder-1"].LeaseExpires = blackboard.TimeOf(now.Add(time.Hour)), blackboard.TimeOf(now.Add(time.Hour))
			s.Agents["coder-1"].Host = "another-machine" // where nothing is known of processes
		}, blackboard.Claimed},
		{"another coder is at work", func(s *blackboard.State, _ *blackboard.Task, now time.Time) {
			s.Agents["coder-2"] = &blackboard.Agent{Role: blackboard.RoleCoder, Status: blackboard.AgentWaiting, Host: "another-machine", Generation: "g-2",
				LeaseExpires: blackboard.TimeOf(now.Add(time.Hour)), Heartbeat: blackboard.TimeOf(now)}
		}, blackboard.Claimed},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(w *clockwork) {
				w.task("task-1")
				s := w.supervisor(blackboard.RoleReviewer, func(context.Context, agent.Spec) agent.Result { return agent.Result{} })
				err := w.memory.Update(context.Background(), store.Op{Name: "test"}, func(st *blackboard.State) error {
					past := blackboard.TimeOf(time.Now().Add(-time.Hour))
					st.Agents = map[string]*blackboard.Agent{"coder-1": {Role: blackboard.RoleCoder, Status: "WORKING", CurrentTask: "task-1", Generation: "g-1",
						Host: s.Service.Board.Proc.Host, BootID: s.Service.Board.Proc.BootID, PID: 1 << 30, LeaseExpires: past, Heartbeat: past}}
					task := st.Task("task-1")
					task.Status, task.AssignedTo, task.ClaimGeneration, task.LeaseExpires, task.Iteration, task.ClaimSeq = blackboard.Claimed, "coder-1", "g-1", past, 1, 1
					task.Worktree = ".worktrees/task-1"
					c.change(st, task, time.Now())
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
				soft, stop := context.WithTimeout(context.Background(), 3*time.Minute)
				defer stop()
				if err := s.Run(soft, context.Background()); err != nil {
					t.Fatal(err)
				}
				if got := w.state().Task("task-1"); got.Status != c.want {
					t.Errorf("the task is %s, want %s\n%q", got.Status, c.want, w.lines)
				}
			})
		})
	}
}
