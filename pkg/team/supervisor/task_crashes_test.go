package supervisor_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/run/agent"
	"liza/pkg/team/supervisor"
)

// crashes is a program that one task ends, and that does the others.
func crashes(task string, ended *[]string) func(context.Context, agent.Spec) agent.Result {
	return func(_ context.Context, s agent.Spec) agent.Result {
		*ended = append(*ended, s.TaskID)
		if s.TaskID == task {
			return agent.Result{Outcome: agent.Crashed, ExitCode: 3, Error: "exit code 3: segmentation fault", Tail: []string{"reads the file", "\x1b[31msegmentation fault"}}
		}
		return agent.Result{Outcome: agent.Finished, Final: `{"action": "STUCK", "summary_for_supervisor": "Nothing can be done here at all.", "evidence_files": [], "blocked_questions": ["What is to be done with it?"], "attempted": ["to read it"]}`}
	}
}

func TestATaskThatCrashesItsProgramIsBlockedAndTheOthersGoOn(t *testing.T) {
	inBubble(t, func(c *clockwork) {
		for _, id := range []string{"deadly", "deadly-too", "fine"} {
			c.task(id)
		}
		var runs []string
		s := c.supervisor(blackboard.RoleCoder, func(ctx context.Context, spec agent.Spec) agent.Result {
			if strings.HasPrefix(spec.TaskID, "deadly") {
				return crashes(spec.TaskID, &runs)(ctx, spec)
			}
			return crashes("", &runs)(ctx, spec)
		})
		soft, stop := context.WithTimeout(context.Background(), time.Minute)
		defer stop()
		if err := s.Run(soft, context.Background()); err != nil {
			t.Errorf("ended with %v; the crashes of two tasks are not those of the team\n%s", err, strings.Join(c.lines, "\n"))
		}
		if got, want := strings.Join(runs, " "), "deadly deadly deadly-too deadly-too fine"; got != want {
			t.Errorf("ran %s, want %s", got, want)
		}
		st := c.state()
		for _, id := range []string{"deadly", "deadly-too"} {
			x := st.Task(id)
			if x.Status != blackboard.Blocked || x.Crashes != 2 || !strings.Contains(x.BlockedReason, "crashed 2 times in a row, last: crashed: exit code 3") {
				t.Errorf("%s is %s after %d crashes: %s", id, x.Status, x.Crashes, x.BlockedReason)
			}
			if !strings.Contains(x.BlockedReason, "\n  reads the file\n  [31msegmentation fault") {
				t.Errorf("%s does not show the last output: %q", id, x.BlockedReason)
			}
		}
		if q := st.Questions[0]; !q.Synthetic || q.Task != "deadly" || q.Agent != blackboard.System {
			t.Errorf("the question is %+v", q)
		}
		if due, _ := transition.DueTriggers(st, transition.TriggerFacts{}, time.Now()); len(due) != 1 || strings.Join(due[0].IDs, " ") != "fine" { // issue 25, 6.5
			t.Errorf("a person is asked about the two, and the planner is woken for %+v", due)
		}
	})
}

// A program that can do none of the tasks ends its supervisor before it has blocked all of them.
func TestAProgramThatCrashesOnEveryTaskEndsItsSupervisor(t *testing.T) {
	inBubble(t, func(c *clockwork) {
		for _, id := range []string{"a", "b", "c", "d"} {
			c.task(id)
		}
		s := c.supervisor(blackboard.RoleCoder, func(context.Context, agent.Spec) agent.Result {
			return agent.Result{Outcome: agent.Crashed, ExitCode: 3, Error: "exit code 3: no library"}
		})
		if err := s.Run(context.Background(), context.Background()); !errors.Is(err, supervisor.ErrGaveUp) {
			t.Errorf("ended with %v, want a give-up", err)
		}
		st := c.state()
		for id, want := range map[string]blackboard.Status{"a": blackboard.Blocked, "b": blackboard.Blocked, "c": blackboard.Unclaimed, "d": blackboard.Unclaimed} {
			if got := st.Task(id).Status; got != want {
				t.Errorf("%s is %s, want %s", id, got, want)
			}
		}
	})
}

// The count lasts over a supervisor that ends, is of crashes in a row, and begins again when a
// person lets the task go on; what a provider refuses does not count.
func TestWhatCountsAsACrashOfATask(t *testing.T) {
	inBubble(t, func(c *clockwork) {
		c.task("task-1")
		ends := []agent.Outcome{agent.Crashed, agent.Overloaded, agent.Network, agent.RateLimited, agent.Crashed}
		run := func(context.Context, agent.Spec) agent.Result {
			o := ends[0]
			if ends = ends[1:]; len(ends) == 0 {
				ends = []agent.Outcome{agent.Crashed}
			}
			return agent.Result{Outcome: o, Error: string(o)}
		}
		for c.state().Task("task-1").Status != blackboard.Blocked {
			soft, stop := context.WithTimeout(context.Background(), 2*time.Second) // a supervisor for each run
			if err := c.supervisor(blackboard.RoleCoder, run).Run(soft, context.Background()); err != nil {
				t.Fatal(err)
			}
			stop()
		}
		if x := c.state().Task("task-1"); x.Crashes != 2 || x.Usage.AgentRuns != 5 {
			t.Errorf("blocked after %d crashes and %d runs, want 2 and 5", x.Crashes, x.Usage.AgentRuns)
		}
		d := c.Service("")
		d.Board.Store = c.memory
		err := d.Board.Update(context.Background(), "test", func(s *blackboard.State, a transition.Actor) error {
			return transition.Unblock(s, "task-1", transition.Actor{ID: blackboard.Human}, transition.Input{Reason: "the program is repaired"}, time.Now())
		})
		if err != nil {
			t.Fatal(err)
		}
		if x := c.state().Task("task-1"); x.Crashes != 0 || x.Status != blackboard.Unclaimed {
			t.Errorf("after unblock it is %s with %d crashes", x.Status, x.Crashes)
		}
	})
}
