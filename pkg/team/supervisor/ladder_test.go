package supervisor_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/config"
	"liza/pkg/run/agent"
	"liza/pkg/team/supervisor"
)

// climber runs the coder of a ladder with the ends given for each run; what ran is "one a, two b".
func (c *clockwork) climber(ran *[]string, ends ...agent.Result) *supervisor.Supervisor {
	c.Config.Models = map[string]config.Model{"coder": {Name: "one:a", Ladder: []string{"one:a", "two:b", "two:default"}}}
	return c.programs(blackboard.RoleCoder, unknown("one", "two"), func(program string, spec agent.Spec) agent.Result {
		now := strings.TrimSpace(program + " " + spec.Model)
		if last := len(*ran) - 1; spec.Session != "" && (last < 0 || (*ran)[last] != now) {
			c.TB.Errorf("%s goes on in the conversation %s of the rung before", now, spec.Session)
		}
		*ran = append(*ran, now)
		return ends[min(len(*ran), len(ends))-1]
	})
}

// Each way of failing to complete brings the next rung, one at a time; above the last it is as without a ladder: the task is blocked.
func TestTheNextRungTakesOver(t *testing.T) {
	crash := agent.Result{Outcome: agent.Crashed, ExitCode: 1, Error: "exit code 1"}
	for name, x := range map[string]struct {
		end  agent.Result
		most int // runs until the task is blocked
	}{
		"crashed": {crash, 4},
		"stuck":   {finished(givesUp), 3},
		"invalid": {finished("I am done."), 12},
		"refused": {agent.Result{Outcome: agent.Refused, Error: "no", Question: &agent.Question{Type: "input", Text: "May it?"}}, 3},
		"timeout": {agent.Result{Outcome: agent.TimedOut, Error: "too long"}, 4},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(c *clockwork) {
				c.task("task-1")
				var ran []string
				x.end.Session = "talk-1" // which no other rung goes on with
				s := c.climber(&ran, x.end)
				soft, end := context.WithTimeout(context.Background(), 10*time.Minute)
				defer end()
				if err := s.Run(soft, context.Background()); err != nil {
					t.Error(err)
				}
				task, climbs := c.state().Task("task-1"), c.details(blackboard.ActionModelEscalated)
				if task.Status != blackboard.Blocked || len(ran) != x.most {
					t.Errorf("%s after %q", task.Status, ran)
				}
				if order := strings.Join(ran, ","); !strings.HasPrefix(order, "one a,") || strings.Index(order, "two b") > strings.LastIndex(order, ",two") || !strings.HasSuffix(order, ",two") {
					t.Errorf("ran %s", order)
				}
				if len(climbs) != 2 || !strings.Contains(climbs[0], "rung 2 of 3, two b: the run before ended "+name) || !strings.Contains(climbs[1], "rung 3 of 3, two: ") {
					t.Errorf("the journal says %q", climbs)
				}
				if len(c.state().Agents) != 0 || len(c.actions("agent_gave_up")) != 0 {
					t.Error("the supervisor gave up")
				}
			})
		})
	}
}

// A rejection stays on the rung that did the work, and the next task begins at the bottom.
func TestARejectionStaysOnItsRung(t *testing.T) {
	inBubble(t, func(c *clockwork) {
		c.task("task-1")
		var ran []string
		s := c.climber(&ran)
		n := 0
		s.Start = func(_ context.Context, a agent.Adapter, spec agent.Spec) agent.Result {
			if err := spec.Started(agent.Process{Pid: 1}); err != nil {
				return agent.Result{Outcome: agent.Killed, Error: err.Error()}
			}
			ran = append(ran, fmt.Sprintf("%s %s", spec.TaskID, a.Info().Name))
			if n++; n == 1 {
				return agent.Result{Outcome: agent.ContextFull, Error: "full"}
			}
			c.Git(c.Repo.WorktreePath(spec.TaskID), "commit", "-q", "--allow-empty", "-m", spec.TaskID+" again")
			if n != 3 {
				c.Commit(spec.TaskID)
			}
			return finished(completes)
		}
		c.once(s)
		c.reject("task-1", "code-reviewer-1")
		again := c.climber(&ran)
		again.Start = s.Start
		c.once(again)
		c.task("task-2")
		last := c.climber(&ran)
		last.Start = s.Start
		c.once(last)
		if got, want := strings.Join(ran, ", "), "task-1 one, task-1 two, task-1 two, task-2 one"; got != want {
			t.Errorf("ran %s, want %s\n%s", got, want, strings.Join(c.lines, "\n"))
		}
	})
}

// A reviewer begins at the rung of the coder whose work it judges.
func TestAReviewerIsNotWeakerThanTheCoder(t *testing.T) {
	inBubble(t, func(c *clockwork) {
		c.task("task-1")
		var ran []string
		s := c.climber(&ran)
		c.Config.Models["code_reviewer"] = config.Model{Name: "one:r", Ladder: []string{"one:r", "two:s", "two:t"}}
		s.Start = func(_ context.Context, a agent.Adapter, spec agent.Spec) agent.Result {
			if err := spec.Started(agent.Process{Pid: 1}); err != nil {
				return agent.Result{Outcome: agent.Killed, Error: err.Error()}
			}
			if a.Info().Name == "one" {
				return agent.Result{Outcome: agent.Stalled, Error: "silent"}
			}
			c.Git(c.Repo.WorktreePath("task-1"), "commit", "-q", "--allow-empty", "-m", "x")
			c.Commit("task-1")
			return finished(completes)
		}
		c.once(s)
		r := c.programs(blackboard.RoleReviewer, unknown("one", "two"), func(program string, spec agent.Spec) agent.Result {
			ran = append(ran, program+" "+spec.Model)
			return finished(`{"action":"COMPLETED","evidence_files":[],"summary_for_supervisor":"Good.","review":{"status":"ok"}}`)
		})
		c.once(r)
		if got := strings.Join(ran, ", "); got != "two s" {
			t.Errorf("the reviewer ran %s\n%s", got, strings.Join(c.lines, "\n"))
		}
	})
}

// What the command line says comes before the ladder, and a person who works with the program is not a rung; both are told.
func TestALadderWithoutEffectIsTold(t *testing.T) {
	for name, set := range map[string]func(*supervisor.Supervisor){
		"the command line names": func(s *supervisor.Supervisor) { s.CLI = "one" },
		"a person works with":    func(s *supervisor.Supervisor) { s.Interactive = &agent.Terminal{} },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(c *clockwork) {
				c.task("task-1")
				var ran []string
				s := c.climber(&ran, finished(givesUp))
				set(s)
				c.once(s)
				if lines := strings.Join(c.lines, "\n"); !strings.Contains(lines, "the ladder of models.coder has no effect: "+name) || len(ran) != 1 {
					t.Errorf("ran %q\n%s", ran, lines)
				}
			})
		})
	}
}
