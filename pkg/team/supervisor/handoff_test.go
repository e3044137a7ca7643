package supervisor_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/store"
	"liza/pkg/board/transition"
	"liza/pkg/run/agent"
	"liza/pkg/team/supervisor"
	"liza/pkg/verb/verb"
	"liza/pkg/verb/verb/verbtest"
)

const (
	givesUp   = `{"action":"STUCK","evidence_files":[],"summary_for_supervisor":"the header of the answer is not said"}`
	completes = `{"action":"COMPLETED","evidence_files":[],"summary_for_supervisor":"it is there"}`
	retries   = `{"action":"RETRY","evidence_files":[],"summary_for_supervisor":"half done"}`
)

// answers are the ends of an agent's runs, one after the other; before is called in each run.
func answers(prompts *[]string, before func(run int), results ...agent.Result) func(context.Context, agent.Spec) agent.Result {
	return func(_ context.Context, s agent.Spec) agent.Result {
		*prompts = append(*prompts, s.Prompt)
		n := len(*prompts)
		if before != nil {
			before(n)
		}
		return results[min(n, len(results))-1]
	}
}

func finished(text string) agent.Result { return agent.Result{Outcome: agent.Finished, Final: text} }

func wantPrompt(t *testing.T, prompts []string, n int, texts ...string) {
	t.Helper()
	if len(prompts) < n {
		t.Fatalf("%d runs, want %d", len(prompts), n)
	}
	for _, text := range texts {
		if !strings.Contains(prompts[n-1], text) {
			t.Errorf("the prompt of run %d lacks %q", n, text)
		}
	}
}

// P-150: a program whose context is full is followed by a new run on the same claim, whose
// prompt has what can be seen of the work; the iteration stays.
func TestAFullContextIsHandedToANewRun(t *testing.T) {
	inBubble(t, func(c *clockwork) {
		c.task("task-1")
		var prompts []string
		s := c.supervisor(blackboard.RoleCoder, answers(&prompts, func(n int) {
			if n == 1 {
				c.Commit("task-1")
				verbtest.Write(t, c.Repo.WorktreePath("task-1")+"/open.txt", "not committed\n")
			}
		}, agent.Result{Outcome: agent.ContextFull, Error: "prompt is too long", Tail: []string{"reading", "WRITING-THE-PARSER"}}, finished(givesUp)))
		s.Once = true
		if err := s.Run(context.Background(), context.Background()); err != nil {
			t.Error(err)
		}
		wantPrompt(t, prompts, 2, "ran out of context", "WRITING-THE-PARSER", "task-1.md | 1 +", "Files modified: task-1.md", "1 files are not committed", "Look at the worktree")
		st := c.state()
		task, h := st.Task("task-1"), st.Handoff["task-1"]
		if task.Iteration != 1 || task.ClaimSeq != 1 || h == nil || h.ConsumedBy != "coder-1" {
			t.Errorf("iteration %d, attempt %d, handoff %+v", task.Iteration, task.ClaimSeq, h)
		}
		c.wants(t, "handoff", 0)
		c.wants(t, "claimed", 0)
	})
}

func TestTheAgentsOwnHandoffStands(t *testing.T) {
	inBubble(t, func(c *clockwork) {
		c.task("task-1")
		var prompts []string
		s := c.supervisor(blackboard.RoleCoder, answers(&prompts, func(n int) {
			if n > 1 {
				return
			}
			h := blackboard.Handoff{Summary: "PARSER-DONE", NextAction: "WRITE-WRITER"}
			err := c.memory.Update(context.Background(), store.Op{Name: "test"}, func(s *blackboard.State) error {
				return transition.HandOff(s, "task-1", transition.Actor{ID: "coder-1", Via: true}, transition.Input{Handoff: &h,
					Texts: []transition.Text{{Option: "--summary", Value: h.Summary}, {Option: "--next-action", Value: h.NextAction}}}, time.Now())
			})
			if err != nil {
				t.Error(err)
			}
		}, agent.Result{Outcome: agent.ContextFull, Error: "prompt is too long"}, finished(givesUp)))
		s.Once = true
		if err := s.Run(context.Background(), context.Background()); err != nil {
			t.Error(err)
		}
		wantPrompt(t, prompts, 2, "PARSER-DONE", "WRITE-WRITER")
		c.wants(t, "handoff", 0)
	})
}

// A program whose context is full again and again uses up the iterations in the end.
func TestHandoffsWithoutEndAreStopped(t *testing.T) {
	inBubble(t, func(c *clockwork) {
		c.Config.Timing = map[string]int{"max_handoffs": 2, "max_agent_runs": 0}
		c.task("task-1")
		err := c.memory.Update(context.Background(), store.Op{Name: "test"}, func(s *blackboard.State) error {
			s.Config["max_coder_iterations"] = 2
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		var prompts []string
		s := c.supervisor(blackboard.RoleCoder, answers(&prompts, nil, agent.Result{Outcome: agent.ContextFull, Error: "prompt is too long"}))
		s.Once = true
		if err := s.Run(context.Background(), context.Background()); err != nil {
			t.Error(err)
		}
		task := c.state().Task("task-1")
		if task.Status != blackboard.Blocked || task.BlockedKind != "max_iterations" || len(prompts) != 4 {
			t.Errorf("task-1 is %s (%s) after %d runs, want BLOCKED (max_iterations) after 4", task.Status, task.BlockedKind, len(prompts))
		}
	})
}

// P-109: RETRY twice, then COMPLETED: three iterations of one claim.
func TestRetriesAreIterationsOfOneClaim(t *testing.T) {
	inBubble(t, func(c *clockwork) {
		c.task("task-1")
		var prompts []string
		s := c.supervisor(blackboard.RoleCoder, answers(&prompts, func(n int) {
			if n == 3 {
				c.Commit("task-1")
			}
		}, finished(retries), finished(retries), finished(completes)))
		s.Once = true
		if err := s.Run(context.Background(), context.Background()); err != nil {
			t.Error(err)
		}
		task := c.state().Task("task-1")
		if task.Status != blackboard.ReadyForReview || task.Iteration != 3 || task.ClaimSeq != 1 {
			t.Errorf("task-1 is %s, iteration %d, attempt %d\n%s", task.Status, task.Iteration, task.ClaimSeq, strings.Join(c.lines, "\n"))
		}
		c.wants(t, "claimed", 0)
		c.wants(t, "retried", 0, 0)
		wantPrompt(t, prompts, 3, "half done")
	})
}

// P-151: an immediate discovery wakes the planner once; what it decided wakes it no more.
func TestAnImmediateDiscoveryWakesThePlannerOnce(t *testing.T) {
	inBubble(t, func(c *clockwork) {
		c.task("task-1")
		err := c.memory.Update(context.Background(), store.Op{Name: "test"}, func(s *blackboard.State) error {
			return transition.Discover(s, &blackboard.Discovery{During: "task-1", Description: "SWALLOWED-ERRORS", Urgency: "immediate"}, transition.Actor{ID: blackboard.Human}, time.Now())
		})
		if err != nil {
			t.Fatal(err)
		}
		var prompts []string
		s := c.supervisor(blackboard.RolePlanner, answers(&prompts, nil,
			finished(`{"action":"COMPLETED","evidence_files":[],"summary_for_supervisor":"it is task-1","plan":{"goal":"","tasks":[],"decisions":[{"discovery":"disc-1","do":"convert","by":["task-1"]}]}}`)))
		if err := s.Run(context.Background(), context.Background()); err != nil {
			t.Error(err)
		}
		c.wants(t, "planner_launched", 0)
		c.wants(t, "discovery_converted", 0)
		wantPrompt(t, prompts, 1, "IMMEDIATE_DISCOVERY", "SWALLOWED-ERRORS")
		st := c.state()
		if st.Discovered[0].ConvertedToTask != "task-1" || st.Planner.LastRun.Result != "changed" || len(prompts) != 1 {
			t.Errorf("%+v after %d runs, the last %+v\n%s", st.Discovered[0], len(prompts), st.Planner.LastRun, strings.Join(c.lines, "\n"))
		}
	})
}

// The reviewer is told whether the intent came before the first commit of the attempt (13.11).
func TestAnIntentAfterTheFirstCommitIsTold(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		intents []time.Duration // when, counted from the commit
		want    string
	}{
		"after the first commit":  {[]time.Duration{time.Minute}, "recorded after the first commit, not before"},
		"before the first commit": {[]time.Duration{-time.Minute}, "recorded before the work"},
		"before, and once more":   {[]time.Duration{-time.Minute, time.Minute}, "recorded before the work"},
		"never":                   {nil, "No intent was recorded"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := verbtest.New(t)
			ctx := context.Background()
			p.AddTask("task-1")
			coder := p.Service("coder-1")
			must := func(_ any, err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			must(coder.Claim(ctx, "task-1"))
			p.Commit("task-1")
			for i, after := range c.intents {
				coder.Board.Now = func() time.Time { return time.Now().Add(after) }
				must(coder.Intent(ctx, "task-1", blackboard.Intent{Intent: "Write a word " + strings.Repeat("again ", i), Validation: "cat task-1.md"}))
			}
			coder.Board.Now = time.Now
			must(coder.Submit(ctx, verb.SubmitInput{Task: "task-1"}))
			var prompts []string
			run := answers(&prompts, nil, finished(`{"action":"COMPLETED","evidence_files":[],"summary_for_supervisor":"good","review":{"status":"ok"}}`))
			s := &supervisor.Supervisor{Service: p.Service(""), Role: blackboard.RoleReviewer, CLI: "fake", PID: os.Getpid(), Liza: "/bin/true", Once: true, Task: "task-1",
				Adapter: func(string) (agent.Adapter, error) { return nil, nil },
				Start: func(ctx context.Context, _ agent.Adapter, s agent.Spec) agent.Result {
					if err := s.Started(agent.Process{Pid: os.Getpid()}); err != nil {
						return agent.Result{Outcome: agent.Killed, Error: err.Error()}
					}
					return run(ctx, s)
				}}
			if err := s.Run(ctx, ctx); err != nil {
				t.Error(err)
			}
			wantPrompt(t, prompts, 1, c.want)
		})
	}
}
