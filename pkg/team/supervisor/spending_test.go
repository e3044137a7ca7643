package supervisor_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/config"
	"liza/pkg/board/store"
	"liza/pkg/board/transition"
	"liza/pkg/run/agent"
	"liza/pkg/team/supervisor"
	"liza/pkg/verb/sprint"
	"liza/pkg/verb/verb"
	"liza/pkg/verb/verb/verbtest"
)

// change changes the board as a person's editor would.
func (c *clockwork) change(do func(*blackboard.State)) {
	c.TB.Helper()
	err := c.memory.Update(context.Background(), store.Op{Name: "test"}, func(s *blackboard.State) error {
		do(s)
		return nil
	})
	if err != nil {
		c.TB.Fatal(err)
	}
}

// person is the service of a person on the board in memory.
func (c *clockwork) person() *verb.Service {
	d := c.Service("")
	d.Board.Store = c.memory
	return d
}

func (c *clockwork) details(action blackboard.Action) (list []string) {
	for _, e := range c.memory.Journal() {
		if e.Action == action {
			list = append(list, e.Detail)
		}
	}
	return list
}

// once lets a supervisor do one unit of work.
func (c *clockwork) once(s *supervisor.Supervisor) {
	c.TB.Helper()
	s.Once = true
	if err := s.Run(context.Background(), context.Background()); err != nil {
		c.TB.Errorf("%v\n%s", err, strings.Join(c.lines, "\n"))
	}
}

func cents(n float64) agent.Usage { return agent.Usage{CostKnown: true, CostCents: n} }

// L-12: at 100 of 100 nothing is started and the task is BLOCKED with its halt; with a limit of
// 200 and resubmit it runs; at 76 % there is one warning, which names the key.
func TestEveryLimitOfATaskStopsWarnsAndLetsGoOn(t *testing.T) {
	for name, x := range map[string]struct {
		key, halt, warns string
		used, more       blackboard.Usage
		run              agent.Result
	}{
		"cost": {"cost_cents", "cost", "76 of 100 cents are used; tasks.task-1.limits.cost_cents changes the limit",
			blackboard.Usage{CostCents: 100}, blackboard.Usage{CostCents: 70}, agent.Result{Usage: cents(6)}},
		"time": {"time_minutes", "time", "76 of 100 minutes are used; tasks.task-1.limits.time_minutes changes the limit",
			blackboard.Usage{Seconds: 6000}, blackboard.Usage{Seconds: 4200}, agent.Result{Seconds: 360, Usage: cents(0)}},
		"tokens": {"tokens", "cost", "76 of 100 tokens are used; tasks.task-1.limits.tokens changes the limit",
			blackboard.Usage{TokensIn: 90, TokensOut: 10}, blackboard.Usage{TokensIn: 70}, agent.Result{Usage: agent.Usage{CostKnown: true, TokensKnown: true, TokensIn: 4, TokensOut: 2}}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(c *clockwork) {
				c.Config.Limits.CostCents = 0
				c.task("full")
				c.task("task-1")
				limits := blackboard.Settings{x.key: 100}
				c.change(func(s *blackboard.State) {
					full, near := x.used, x.more
					s.Task("full").Limits, s.Task("full").Usage = limits, &full
					s.Task("task-1").Limits, s.Task("task-1").Usage, s.Task("task-1").Hold = limits, &near, &blackboard.Hold{By: "human", At: blackboard.TimeOf(time.Now()), Reason: "later"}
				})
				runs := 0
				s := func(answer string) *supervisor.Supervisor {
					return c.supervisor(blackboard.RoleCoder, func(context.Context, agent.Spec) agent.Result {
						runs++
						r := x.run
						r.Outcome, r.Final = agent.Finished, answer
						if answer == retries && runs%2 == 0 {
							r.Final = givesUp
						}
						return r
					})
				}
				c.once(s(givesUp))
				full := c.state().Task("full")
				if runs != 0 || full.Status != blackboard.Blocked || full.Halt == nil || full.Halt.Kind != x.halt || full.Halt.Value != 100 || full.Halt.Limit != 100 || full.Worktree != "" {
					t.Fatalf("%d runs; the task is %s with halt %+v", runs, full.Status, full.Halt)
				}
				for _, limit := range []int{90, 100} {
					if _, err := c.person().Resubmit(context.Background(), "full", blackboard.Settings{x.key: limit}); err == nil || !strings.Contains(err.Error(), "--limit "+x.key+"=") {
						t.Errorf("resubmit with %d: %v", limit, err)
					}
				}
				if _, err := c.person().Resubmit(context.Background(), "full", blackboard.Settings{x.key: 200}); err != nil {
					t.Fatal(err)
				}
				c.once(s(givesUp))
				if runs != 1 || c.state().Task("full").BlockedKind == "halt" {
					t.Errorf("after the resubmission: %d runs, %+v", runs, c.state().Task("full").Halt)
				}
				runs = 0
				c.change(func(s *blackboard.State) { s.Task("task-1").Hold = nil })
				c.once(s(retries))
				if got := c.details("limit_warning"); runs != 2 || len(got) != 1 || got[0] != x.warns {
					t.Errorf("%d runs, warnings %q, want one: %q", runs, got, x.warns)
				}
			})
		})
	}
}

// L-12, of iterations.
func TestIterationsStopWarnAndGoOn(t *testing.T) {
	inBubble(t, func(c *clockwork) {
		c.task("task-1")
		c.change(func(s *blackboard.State) { s.Task("task-1").MaxIterations = 50 })
		runs := 0
		s := func() *supervisor.Supervisor {
			return c.supervisor(blackboard.RoleCoder, func(context.Context, agent.Spec) agent.Result {
				if runs++; runs == 1 || runs == 3 {
					c.change(func(s *blackboard.State) { s.Task("task-1").Iteration = map[int]int{1: 37, 3: 50}[runs] })
				}
				if runs == 4 {
					return finished(givesUp)
				}
				return finished(retries)
			})
		}
		c.once(s())
		task := c.state().Task("task-1")
		if runs != 3 || task.Status != blackboard.Blocked || task.Halt == nil || task.Halt.Kind != "iteration" || task.Halt.Limit != 50 {
			t.Fatalf("%d runs; the task is %s with halt %+v", runs, task.Status, task.Halt)
		}
		if got := c.details("limit_warning"); len(got) != 1 || got[0] != "38 of 50 iterations are used; tasks.task-1.limits.max_iterations changes the limit" {
			t.Errorf("warnings: %q", got)
		}
		if _, err := c.person().Resubmit(context.Background(), "task-1", blackboard.Settings{"max_iterations": 100}); err != nil {
			t.Fatal(err)
		}
		c.once(s())
		if runs != 4 {
			t.Errorf("%d runs, want 4", runs)
		}
	})
}

// A program that tells no cost is unknown, which a limit that somebody set warns of once; with
// a price its tokens are cost.
func TestUnknownCostIsWarnedOfOnceAndPricedWhenItCan(t *testing.T) {
	for name, price := range map[string]string{"unknown": "other", "by the program's name": "fake", "by the model": "big-model"} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(c *clockwork) {
				c.Config.Prices = map[string]config.Price{price: {In: 30, Out: 100}}
				c.task("task-1")
				c.change(func(s *blackboard.State) { s.Config["cost_cents"] = 1000 })
				var prompts []string
				s := c.supervisor(blackboard.RoleCoder, answers(&prompts, nil,
					agent.Result{Outcome: agent.Finished, Final: retries, Usage: agent.Usage{TokensKnown: true, TokensIn: 10_000, TokensOut: 1_000}}, finished(givesUp)))
				s.Model = "some-Big-Model-2"
				c.once(s)
				u := c.state().Task("task-1").Usage
				warnings := c.details("limit_warning")
				if name == "unknown" {
					if u.CostCents != 0 || u.UnknownCostRuns != 2 || len(warnings) != 1 || !strings.Contains(warnings[0], "tells no cost, so limits.cost_cents (1000 cents)") {
						t.Errorf("usage %+v, warnings %q", u, warnings)
					}
					return
				}
				if u.CostCents != 40 || u.UnknownCostRuns != 1 { // 10,000 × 30 $ and 1,000 × 100 $ a million
					t.Errorf("usage %+v, want 40 cents and one unknown run", u)
				}
			})
		})
	}
}

// A limit that is hit while the program runs stops it; its work is in the attic and in the
// worktree, and the task is halted, not lost.
func TestALimitStopsARunningProgram(t *testing.T) {
	for name, x := range map[string]struct {
		key  string
		halt string
		uses func(spend func(agent.Usage))
		used agent.Result
	}{
		"cost": {"cost_cents", "cost", func(spend func(agent.Usage)) { spend(cents(40)); spend(cents(80)); spend(cents(120)) }, agent.Result{Usage: cents(120)}},
		"tokens": {"tokens", "cost", func(spend func(agent.Usage)) { spend(agent.Usage{TokensKnown: true, TokensIn: 90, TokensOut: 20}) },
			agent.Result{Usage: agent.Usage{TokensKnown: true, TokensIn: 90, TokensOut: 20}}},
		"time": {"time_minutes", "time", func(func(agent.Usage)) {}, agent.Result{Seconds: 6001}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(c *clockwork) {
				c.Config.Limits.CostCents = 0
				c.task("task-1")
				c.change(func(s *blackboard.State) { s.Task("task-1").Limits = blackboard.Settings{x.key: 100} })
				runs := 0
				s := c.supervisor(blackboard.RoleCoder, func(ctx context.Context, spec agent.Spec) agent.Result {
					runs++
					verbtest.Write(t, spec.Dir+"/half.txt", "half of it\n")
					x.uses(func(u agent.Usage) { spec.Event(agent.Event{Kind: agent.EventUsage, Usage: u}) })
					<-ctx.Done()
					r := x.used
					r.Outcome, r.Error, r.ExitCode = agent.Killed, "stopped: "+context.Cause(ctx).Error(), -1
					return r
				})
				c.once(s)
				task := c.state().Task("task-1")
				if runs != 1 || task.Status != blackboard.Blocked || task.Halt == nil || task.Halt.Kind != x.halt || task.Halt.Value < 100 || task.AssignedTo == "" && !task.HandoffPending {
					t.Fatalf("%d runs; the task is %s with halt %+v\n%s", runs, task.Status, task.Halt, strings.Join(c.lines, "\n"))
				}
				attic := task.History[len(task.History)-1].Attic
				if attic == "" || c.Git(c.Dir, "show", attic+":half.txt") != "half of it" {
					t.Errorf("the attic is %q", attic)
				}
				c.Git(c.Repo.WorktreePath("task-1"), "status", "--porcelain", "half.txt")
				if _, err := c.person().Resubmit(context.Background(), "task-1", blackboard.Settings{x.key: 1000}); err != nil {
					t.Fatal(err)
				}
				there := ""
				c.once(c.supervisor(blackboard.RoleCoder, func(_ context.Context, spec agent.Spec) agent.Result {
					there = c.Git(spec.Dir, "status", "--porcelain")
					return finished(givesUp)
				}))
				if there != "?? half.txt" {
					t.Errorf("the next coder finds %q in the worktree", there)
				}
			})
		})
	}
}

// A program that counts its own cost gets what the limits leave, and ends itself there: that is the limit and not a crash, unless it was
// raised meanwhile or the program has answered all the same. The program's own limit of turns stays a crash.
func TestAProgramEndsItselfAtTheLimitOfItsCost(t *testing.T) {
	stopped := func(spent float64) agent.Result {
		return agent.Result{Outcome: agent.Stopped, ExitCode: 1, Error: "Reached maximum budget", Usage: cents(spent)}
	}
	done := stopped(61)
	done.Final = givesUp
	for name, x := range map[string]struct {
		sprint  int // limits.sprint_cost_cents
		ends    []agent.Result
		raise   bool
		budgets string
		status  blackboard.Status
		halt    bool
		crash   bool
	}{
		"the limit of the task":   {ends: []agent.Result{stopped(60)}, budgets: "[0.6]", status: blackboard.Blocked, halt: true},
		"the limit of the sprint": {sprint: 50, ends: []agent.Result{stopped(50.5)}, budgets: "[0.5]", status: blackboard.Unclaimed},
		"raised meanwhile":        {ends: []agent.Result{stopped(60), finished(givesUp)}, raise: true, budgets: "[0.6 1]", status: blackboard.Blocked},
		"answered all the same":   {ends: []agent.Result{done}, budgets: "[0.6]", status: blackboard.Blocked},
		"a limit of turns":        {ends: []agent.Result{stopped(7), finished(givesUp)}, budgets: "[0.6 0.53]", status: blackboard.Blocked, crash: true},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(c *clockwork) {
				c.task("task-1")
				c.change(func(s *blackboard.State) {
					s.Config["sprint_cost_cents"] = x.sprint
					s.Task("task-1").Limits, s.Task("task-1").Usage = blackboard.Settings{"cost_cents": 100}, &blackboard.Usage{CostCents: 40}
				})
				var budgets []float64
				c.once(c.supervisor(blackboard.RoleCoder, func(_ context.Context, spec agent.Spec) agent.Result {
					if budgets = append(budgets, spec.Budget); x.raise {
						c.change(func(s *blackboard.State) { s.Task("task-1").Limits = blackboard.Settings{"cost_cents": 200} })
					}
					return x.ends[min(len(budgets), len(x.ends))-1]
				}))
				task, out := c.state().Task("task-1"), strings.Join(c.lines, "\n")
				if fmt.Sprint(budgets) != x.budgets || task.Status != x.status || (task.Halt != nil) != x.halt || x.halt && task.Halt.Kind != "cost" || strings.Contains(out, "crashed: ") != x.crash {
					t.Errorf("budgets %v; the task is %s with halt %+v\n%s", budgets, task.Status, task.Halt, out)
				}
			})
		})
	}
}

// A program that tells with its last words that a limit is reached has done its work: it is not stopped for them.
func TestWorkIsNotCutOffByItsLastFigure(t *testing.T) {
	inBubble(t, func(c *clockwork) {
		c.task("task-1")
		c.change(func(s *blackboard.State) { s.Task("task-1").Limits = blackboard.Settings{"cost_cents": 100} })
		c.once(c.supervisor(blackboard.RoleCoder, func(ctx context.Context, spec agent.Spec) agent.Result {
			spec.Event(agent.Event{Kind: agent.EventUsage, Usage: cents(100)})
			select {
			case <-ctx.Done():
				return agent.Result{Outcome: agent.Killed, Error: "stopped", Usage: cents(100)}
			case <-time.After(200 * time.Millisecond):
			}
			r := finished(givesUp)
			r.Usage = cents(100)
			return r
		}))
		task := c.state().Task("task-1")
		if task.Status != blackboard.Blocked || task.Halt != nil {
			t.Errorf("the task is %s with halt %+v, want what its coder said\n%s", task.Status, task.Halt, strings.Join(c.lines, "\n"))
		}
	})
}

// N-29: a limit of the sprint or of the day that is reached before a start is a CHECKPOINT, and
// nothing new starts.
func TestReachedLimitsOfTheSprintLetNothingStart(t *testing.T) {
	for key, used := range map[string]blackboard.Usage{
		"sprint_cost_cents":   {CostCents: 100},
		"sprint_time_minutes": {Seconds: 6000},
		"sprint_tokens":       {TokensIn: 60, TokensOut: 40},
		"day_cost_cents":      {Day: &blackboard.UsageDay{CostCents: 100}},
	} {
		for _, role := range []blackboard.Role{blackboard.RoleCoder, blackboard.RolePlanner} {
			t.Run(fmt.Sprint(key, " of a ", role), func(t *testing.T) {
				inBubble(t, func(c *clockwork) {
					if role == blackboard.RoleCoder {
						c.task("task-1")
					}
					c.change(func(s *blackboard.State) {
						s.Config[key] = 100
						own := used
						if used.Day != nil {
							own.Day = &blackboard.UsageDay{Date: time.Now().UTC().Format("2006-01-02"), CostCents: used.Day.CostCents}
						}
						s.Usage = &own
					})
					s := c.supervisor(role, func(context.Context, agent.Spec) agent.Result {
						t.Error("a program was started")
						return finished(givesUp)
					})
					soft, stop := context.WithTimeout(context.Background(), 2*time.Second)
					defer stop()
					if err := s.Run(soft, context.Background()); err != nil {
						t.Error(err)
					}
					st := c.state()
					if st.Sprint.Status != blackboard.AtCheckpoint || len(st.Sprint.Checkpoints) != 1 || !strings.Contains(st.Sprint.Checkpoints[0].Message, "limits."+key) {
						t.Errorf("the sprint is %s: %+v", st.Sprint.Status, st.Sprint.Checkpoints)
					}
					if len(c.actions("planner_launched"))+len(c.actions("claimed")) != 0 {
						t.Error("something was begun")
					}
				})
			})
		}
	}
}

// N-29: two programs that run together reach the sprint's limit: both are stopped, their work
// is saved and their claims given back, and the sprint is at a CHECKPOINT. With a higher limit
// and resume both go on where they were.
func TestTheSprintsLimitStopsWhatRuns(t *testing.T) {
	inBubble(t, func(c *clockwork) {
		c.task("task-1")
		c.task("task-2")
		c.change(func(s *blackboard.State) { s.Config["sprint_cost_cents"] = 100 })
		var mu sync.Mutex
		stopped, after := map[string]string{}, map[string]string{}
		work := func(ctx context.Context, spec agent.Spec) agent.Result {
			mu.Lock()
			again := stopped[spec.TaskID] != ""
			mu.Unlock()
			if again {
				mu.Lock()
				defer mu.Unlock()
				after[spec.TaskID] = c.Git(spec.Dir, "status", "--porcelain")
				return finished(givesUp)
			}
			verbtest.Write(t, spec.Dir+"/half.txt", "half\n")
			time.Sleep(3 * time.Second)
			spec.Event(agent.Event{Kind: agent.EventUsage, Usage: cents(60)})
			<-ctx.Done()
			mu.Lock()
			defer mu.Unlock()
			stopped[spec.TaskID] = context.Cause(ctx).Error()
			return agent.Result{Outcome: agent.Killed, Error: "stopped", Usage: cents(60)}
		}
		team := &supervisor.Team{Service: c.person(), Until: "goal"}
		for range 2 {
			m := c.supervisor(blackboard.RoleCoder, work)
			m.Team = true
			m.Print = nil
			team.Members = append(team.Members, m)
		}
		soft, end := context.WithCancel(context.Background())
		result := make(chan error, 1)
		go func() { result <- team.Run(soft, context.Background()) }()
		time.Sleep(20 * time.Second)
		synctest.Wait()
		st := c.state()
		for _, id := range []string{"task-1", "task-2"} {
			task := st.Task(id)
			if !strings.Contains(stopped[id], "120 of 100 cents") || task.Status != blackboard.Unclaimed || !task.HandoffPending || task.Halt != nil {
				t.Errorf("%s was stopped by %q and is %s, halt %v", id, stopped[id], task.Status, task.Halt)
			}
			if h := task.History[len(task.History)-1]; h.Event != "released" || h.Attic == "" {
				t.Errorf("the last entry of %s is %+v", id, h)
			}
		}
		if st.Sprint.Status != blackboard.AtCheckpoint || st.Usage.CostCents != 120 || len(st.Sprint.Checkpoints) != 1 {
			t.Errorf("the sprint is %s after %s cents, %d checkpoints", st.Sprint.Status, st.Usage.CostCents, len(st.Sprint.Checkpoints))
		}
		c.change(func(s *blackboard.State) { s.Config["sprint_cost_cents"] = 1000 })
		if _, err := sprint.Resume(context.Background(), c.person(), "", ""); err != nil {
			t.Error(err)
		}
		time.Sleep(40 * time.Second)
		synctest.Wait()
		end()
		if err := <-result; err != nil {
			t.Error(err)
		}
		if len(after) != 2 || after["task-1"] != "?? half.txt" || after["task-2"] != "?? half.txt" {
			t.Errorf("after resume the coders find %q", after)
		}
	})
}

// Two runs that start together do not share the same rest of the sprint's money: what each may
// cost is reserved before it starts, and settled when it has ended.
func TestWhatARunMayCostIsReserved(t *testing.T) {
	inBubble(t, func(c *clockwork) {
		forty := blackboard.Amount(40)
		c.task("task-1")
		c.task("task-2")
		c.change(func(s *blackboard.State) {
			s.Config["sprint_cost_cents"] = 100
			s.Usage = &blackboard.Usage{CostCents: 30}
			for _, id := range []string{"task-1", "task-2"} {
				s.Task(id).Attempts = []*blackboard.Attempt{{Seq: 1, Kind: "coder", Agent: "coder-9", Outcome: "retry", CostCents: &forty}}
			}
		})
		var mu sync.Mutex
		at, now, most := []time.Duration{}, 0, 0
		work := func(_ context.Context, spec agent.Spec) agent.Result {
			mu.Lock()
			at = append(at, time.Since(c.start))
			now++
			most = max(most, now)
			mu.Unlock()
			if got := transition.Reserved(c.state(), ""); got != 40 {
				t.Errorf("%s cents are reserved while one runs, want 40", got)
			}
			time.Sleep(10 * time.Second)
			mu.Lock()
			now--
			mu.Unlock()
			return agent.Result{Outcome: agent.Finished, Final: givesUp, Usage: cents(5)}
		}
		team := &supervisor.Team{Service: c.person(), Until: "idle"}
		for range 2 {
			m := c.supervisor(blackboard.RoleCoder, work)
			m.Team, m.Print = true, nil
			team.Members = append(team.Members, m)
		}
		soft, end := context.WithTimeout(context.Background(), time.Hour)
		defer end()
		if err := team.Run(soft, context.Background()); !errors.Is(err, supervisor.ErrIdle) { // the blocked tasks wait for a planner that is not there
			t.Errorf("the team ends with %v", err)
		}
		if len(at) != 2 || most != 1 || at[1]-at[0] < 10*time.Second {
			t.Errorf("runs began at %v, %d at a time; want two, one after the other", at, most)
		}
		st := c.state()
		if st.Sprint.Status != blackboard.InProgress || st.Usage.CostCents != 40 || transition.Reserved(st, "") != 0 {
			t.Errorf("the sprint is %s after %s cents, %s reserved", st.Sprint.Status, st.Usage.CostCents, transition.Reserved(st, ""))
		}
	})
}
