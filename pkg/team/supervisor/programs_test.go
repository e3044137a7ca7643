package supervisor_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/config"
	"liza/pkg/board/transition"
	"liza/pkg/run/agent"
	"liza/pkg/team/supervisor"
	"liza/pkg/verb/verb/verbtest"
)

// named is an agent program that has a name and, perhaps, a provider.
type named struct {
	agent.Adapter
	info agent.Info
}

func (n named) Info() agent.Info { return n.info }

// programs lets a supervisor run several agent programs, each of which is a function.
func (c *clockwork) programs(role blackboard.Role, providers map[string]string, run func(program string, s agent.Spec) agent.Result) *supervisor.Supervisor {
	s := c.supervisor(role, nil)
	s.CLI = ""
	s.Adapter = func(name string) (agent.Adapter, error) {
		provider, ok := providers[name]
		if !ok {
			return nil, fmt.Errorf("cannot find the agent program %q", name)
		}
		return named{info: agent.Info{Name: name, Provider: provider}}, nil
	}
	s.Start = func(_ context.Context, a agent.Adapter, spec agent.Spec) agent.Result {
		if err := spec.Started(agent.Process{Pid: os.Getpid()}); err != nil {
			return agent.Result{Outcome: agent.Killed, Error: err.Error()}
		}
		return run(a.Info().Name, spec)
	}
	return s
}

func unknown(names ...string) map[string]string {
	m := map[string]string{}
	for _, n := range names {
		m[n] = ""
	}
	return m
}

// A quota window: the claim goes back without an iteration or a crash, nothing of that program
// is started before the time that the provider told, and tasks of another program go on.
func TestAQuotaWindowStopsOneProgramOnly(t *testing.T) {
	inBubble(t, func(c *clockwork) {
		c.Config.Agents.Default = "one"
		verbtest.Write(t, c.Project.Roles()+"/fix.yaml", "name: fix\nbase: fix\ncli: two\n")
		c.task("task-1")
		c.task("task-2")
		c.task("task-3")
		c.change(func(s *blackboard.State) { s.Task("task-3").Type = "bug" })
		ran := []string{}
		s := c.programs(blackboard.RoleCoder, unknown("one", "two"), func(program string, spec agent.Spec) agent.Result {
			ran = append(ran, fmt.Sprintf("%s %s %s", time.Since(c.start).Round(time.Minute), program, spec.TaskID))
			if len(ran) == 1 {
				return agent.Result{Outcome: agent.QuotaWindow, Error: "usage limit reached", ResetAt: time.Now().Add(6 * time.Minute)}
			}
			return finished(givesUp)
		})
		soft, end := context.WithTimeout(context.Background(), 7*time.Minute)
		defer end()
		if err := s.Run(soft, context.Background()); err != nil {
			t.Error(err)
		}
		if got, want := strings.Join(ran, ", "), "0s one task-1, 0s two task-3, 6m0s one task-1, 6m0s one task-2"; got != want {
			t.Errorf("runs: %s\nwant %s\n%s", got, want, strings.Join(c.lines, "\n"))
		}
		st := c.state()
		task := st.Task("task-1")
		if task.Iteration != 1 || task.ClaimSeq != 2 {
			t.Errorf("iteration %d in claim %d; a quota window is not an iteration", task.Iteration, task.ClaimSeq)
		}
		if len(st.Programs) != 0 || len(c.actions("run_failed"))+len(c.actions("agent_gave_up")) != 0 {
			t.Errorf("pauses that are over: %v; failed runs %v", st.Programs, c.actions("run_failed"))
		}
		if h := task.History[3]; h.Event != "released" || !strings.Contains(h.Reason, "usage limit reached") {
			t.Errorf("the fourth entry is %+v", h)
		}
	})
}

// Without a told time the pause is 5, 10 … minutes; it shows on the board, and another
// supervisor that finds the task does not start the program either.
func TestAPauseHoldsForEverySupervisor(t *testing.T) {
	inBubble(t, func(c *clockwork) {
		c.task("task-1")
		quota := func(program string, _ agent.Spec) agent.Result {
			return agent.Result{Outcome: agent.QuotaWindow, Error: "quota exceeded"}
		}
		c.Config.Agents.Default = "one"
		c.once(c.programs(blackboard.RoleCoder, unknown("one"), quota))
		p := c.state().Programs["one"]
		if until, ok := p.PausedUntil.At(); !ok || until.Sub(c.start) < 5*time.Minute || until.Sub(c.start) > 5*time.Minute+2*time.Second || p.Reason != "quota exceeded" {
			t.Fatalf("the pause is %+v", p)
		}
		other := c.programs(blackboard.RoleCoder, unknown("one"), func(string, agent.Spec) agent.Result {
			t.Error("a program that is paused was started")
			return finished(givesUp)
		})
		other.Once = true
		if err := other.Run(context.Background(), context.Background()); !errors.Is(err, supervisor.ErrIdle) || !strings.Contains(err.Error(), "one is paused until") {
			t.Errorf("the other supervisor: %v", err)
		}
	})
}

// While a program is out of quota the first of agents.fallback that is not is started, with its
// own model.
func TestAFallBackTakesOver(t *testing.T) {
	for name, fallback := range map[string]config.Fallback{
		"for all":     {All: []string{"missing", "two", "three"}},
		"for coders":  {ByRole: map[string][]string{"coder": {"two"}, "planner": {"three"}}},
		"for a role":  {ByRole: map[string][]string{"implement": {"two"}, "coder": {"three"}}},
		"two also is": {All: []string{"four", "two"}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(c *clockwork) {
				c.Config.Agents.Default, c.Config.Agents.Fallback = "one", fallback
				c.Config.Models = map[string]config.Model{"default": {Name: "the-best"}}
				c.task("task-1")
				c.change(func(s *blackboard.State) {
					transition.Pause(s, "four", "also used up", time.Now().Add(time.Hour), time.Now())
				})
				ran := ""
				s := c.programs(blackboard.RoleCoder, unknown("one", "two", "three", "four"), func(program string, spec agent.Spec) agent.Result {
					ran += fmt.Sprintf("%s with %q; ", program, spec.Model)
					if program == "one" {
						return agent.Result{Outcome: agent.QuotaWindow, Error: "quota exceeded"}
					}
					return finished(givesUp)
				})
				s.Once = false
				soft, end := context.WithTimeout(context.Background(), 2*time.Minute)
				defer end()
				if err := s.Run(soft, context.Background()); err != nil {
					t.Error(err)
				}
				if want := `one with "the-best"; two with ""; `; ran != want {
					t.Errorf("ran %s want %s", ran, want)
				}
				if task := c.state().Task("task-1"); task.Attempts[1].CLI != "two" || task.BlockedKind == "" {
					t.Errorf("the task is %s, attempt %+v", task.Status, task.Attempts[1])
				}
			})
		})
	}
}

// A planner whose quota is used up has planned nothing: the launch does not count, and the note
// that woke it is told to the next one.
func TestAPlannersQuotaIsNoLaunch(t *testing.T) {
	inBubble(t, func(c *clockwork) {
		c.Config.Agents.Default = "one"
		var prompts []string
		s := c.programs(blackboard.RolePlanner, unknown("one"), func(_ string, spec agent.Spec) agent.Result {
			prompts = append(prompts, spec.Prompt)
			if len(prompts) <= 4 {
				return agent.Result{Outcome: agent.QuotaWindow, Error: "quota exceeded", ResetAt: time.Now().Add(time.Minute)}
			}
			return finished(`{"action":"STUCK","evidence_files":[],"summary_for_supervisor":"no"}`)
		})
		c.task("task-1")
		c.change(func(s *blackboard.State) {
			s.HumanNotes = []*blackboard.Note{{ID: "n1", Message: "MIND-THE-GAP", Timestamp: blackboard.TimeOf(time.Now())}}
		})
		soft, end := context.WithTimeout(context.Background(), 6*time.Minute)
		defer end()
		if err := s.Run(soft, context.Background()); err != nil {
			t.Error(err)
		}
		if len(prompts) != 5 || !strings.Contains(prompts[4], "MIND-THE-GAP") {
			t.Errorf("%d runs\n%s", len(prompts), strings.Join(c.lines, "\n"))
		}
	})
}

// Nobody is logged in: the claim goes back, no retry, and the supervisor ends and says why.
func TestAProgramThatCannotBeUsedEndsItsSupervisor(t *testing.T) {
	for _, role := range []blackboard.Role{blackboard.RoleCoder, blackboard.RolePlanner} {
		t.Run(string(role), func(t *testing.T) {
			inBubble(t, func(c *clockwork) {
				c.Config.Agents.Default = "one"
				if role == blackboard.RoleCoder {
					c.task("task-1")
				}
				runs := 0
				s := c.programs(role, unknown("one"), func(string, agent.Spec) agent.Result {
					runs++
					return agent.Result{Outcome: agent.Unusable, ExitCode: 1, Error: "not logged in"}
				})
				err := s.Run(context.Background(), context.Background())
				if !errors.Is(err, supervisor.ErrGaveUp) || !strings.Contains(err.Error(), "one cannot be used: not logged in") || runs != 1 {
					t.Errorf("%d runs, then %v", runs, err)
				}
				if said := c.details("agent_gave_up"); len(said) != 1 || !strings.Contains(said[0], "not logged in") {
					t.Errorf("the journal says %q", said)
				}
				if st := c.state(); len(st.Agents) != 0 || role == blackboard.RoleCoder && (st.Task("task-1").Status != blackboard.Unclaimed || st.Task("task-1").Iteration != 1) {
					t.Errorf("left: %d agents", len(st.Agents))
				}
			})
		})
	}
}

// A program that misses a variable is told once, with the setting that gives it to its runs.
func TestAMissingVariableIsToldWithItsSetting(t *testing.T) {
	inBubble(t, func(c *clockwork) {
		c.Config.Agents.Default = "one"
		c.task("task-1")
		runs := 0
		s := c.programs(blackboard.RoleCoder, unknown("one"), func(string, agent.Spec) agent.Result {
			runs++
			return agent.Result{Outcome: agent.Unusable, ExitCode: 1, Error: "Missing environment variable: `CORP_LLM_TOKEN`."}
		})
		gaveUp, is := errors.AsType[*supervisor.GaveUp](s.Run(context.Background(), context.Background()))
		if !is || runs != 1 || gaveUp.Next != "liza config agents.one.sandbox.allow.env CORP_LLM_TOKEN" || !strings.Contains(gaveUp.Why, "set CORP_LLM_TOKEN where liza runs") {
			t.Errorf("%d runs, then %+v", runs, gaveUp)
		}
	})
}

// A message is written by a program like any other: its cost counts, it waits, and it ends the
// supervisor when it cannot be used.
func TestAMessengersRunsCount(t *testing.T) {
	inBubble(t, func(c *clockwork) {
		c.task("task-1")
		c.change(func(s *blackboard.State) { s.Task("task-1").Kind = "msg" })
		runs := []time.Duration{}
		s := c.supervisor(blackboard.RoleCoder, func(_ context.Context, spec agent.Spec) agent.Result {
			runs = append(runs, time.Since(c.start).Round(time.Second))
			for _, e := range spec.Env {
				if strings.HasPrefix(e, "LIZA_AGENT_") {
					t.Errorf("a messenger was given %s", e)
				}
			}
			if len(runs) == 1 {
				return agent.Result{Outcome: agent.Overloaded, Error: "at capacity", Usage: cents(1)}
			}
			return agent.Result{Outcome: agent.Finished, Final: "All is done.", Usage: cents(3), Seconds: 2}
		})
		c.once(s)
		task := c.state().Task("task-1")
		if fmt.Sprint(runs) != "[0s 10s]" || task.Status != blackboard.Merged || task.Usage.CostCents != 4 || task.Usage.AgentRuns != 2 || c.state().Usage.CostCents != 4 {
			t.Errorf("runs at %v; the task is %s with %+v", runs, task.Status, task.Usage)
		}
		if a := task.Attempts[1]; a.Kind != "messenger" || a.CLI != "fake" {
			t.Errorf("the attempt is %+v", a)
		}
	})
}

// L-18: what the presets of the scripted agent stand for is done as 8.4 says, and every run has
// one correlation id in the history, the output log and the journal.
func TestPresetsEndAsTheyShould(t *testing.T) {
	scripted, err := agent.Lookup("scripted", agent.Options{Scenario: "scenario.yaml", Liza: "/bin/true"})
	if err != nil {
		t.Fatal(err)
	}
	ends := func(preset string) agent.Result {
		event := agent.ScriptedEvent{Event: preset}
		if preset == "rate_limit" {
			event.RetryAfter = 7
		}
		r := scripted.Reader(agent.Spec{})
		r.Line(event.Line())
		return r.End(agent.Exit{Code: 1, Stdout: event.Line(), At: time.Now()})
	}
	for preset, x := range map[string]struct {
		again []time.Duration // when the program is started
		task  string
		err   error
	}{
		"rate_limit":    {again: []time.Duration{0, 7 * time.Second, 14 * time.Second}, task: "BLOCKED 1 1"},
		"network_error": {again: []time.Duration{0, 10 * time.Second, 30 * time.Second}, task: "BLOCKED 1 1"},
		"context_full":  {again: []time.Duration{0, 0, 0}, task: "BLOCKED 1 1"},
		"auth_error":    {again: []time.Duration{0}, task: "UNCLAIMED 1 1", err: supervisor.ErrGaveUp},
	} {
		t.Run(preset, func(t *testing.T) {
			inBubble(t, func(c *clockwork) {
				c.task("task-1")
				var at []time.Duration
				var marks []string
				s := c.supervisor(blackboard.RoleCoder, func(_ context.Context, spec agent.Spec) agent.Result {
					at = append(at, time.Since(c.start).Round(time.Second))
					for _, e := range spec.Env {
						if mark, ok := strings.CutPrefix(e, "LIZA_RUN="); ok {
							marks = append(marks, mark)
						}
					}
					if len(at) == 3 {
						return finished(givesUp)
					}
					return ends(preset)
				})
				s.Once = true
				if err := s.Run(context.Background(), context.Background()); !errors.Is(err, x.err) {
					t.Errorf("ended with %v, want %v", err, x.err)
				}
				task := c.state().Task("task-1")
				if got := fmt.Sprintf("%s %d %d", task.Status, task.Iteration, task.ClaimSeq); fmt.Sprint(at) != fmt.Sprint(x.again) || got != x.task {
					t.Errorf("started at %v, want %v; the task is %s, want %s", at, x.again, got, x.task)
				}
				if len(c.actions("run_failed")) != 0 {
					t.Error("it counts as a failed run")
				}
				c.correlated("task-1", marks)
				if preset == "auth_error" {
					gaveUp := false
					for _, e := range c.memory.Journal() {
						gaveUp = gaveUp || e.Action == "agent_gave_up" && e.Extra["run"] == marks[0] && e.Extra["cause"] == "agent_unusable"
					}
					if !gaveUp {
						t.Error("the journal does not name the run")
					}
				}
			})
		})
	}
}

// correlated checks that history, output log and ledger name the runs of a task alike, and the
// journal the last one, which changed the board.
func (c *clockwork) correlated(task string, marks []string) {
	c.TB.Helper()
	list, _ := c.recorded(task)
	output, err := os.ReadFile(c.Project.Output(task))
	if err != nil {
		c.TB.Fatal(err)
	}
	ledger, err := os.ReadFile(c.Project.Usage())
	if err != nil {
		c.TB.Fatal(err)
	}
	journal := ""
	for _, e := range c.memory.Journal() {
		journal += fmt.Sprintln(e.Action, e.Extra["run"])
	}
	for i, mark := range marks {
		switch {
		case i >= len(list) || list[i].Liza.ID != mark:
			c.TB.Errorf("run %d is not %s in the history: %d entries", i+1, mark, len(list))
		case !strings.Contains(string(output), "("+mark+")"):
			c.TB.Errorf("%s is not in the output log", mark)
		case !strings.Contains(string(ledger), `"id":"`+mark+`"`):
			c.TB.Errorf("%s is not in the ledger", mark)
		case i == len(marks)-1 && !strings.Contains(journal, mark):
			c.TB.Errorf("%s is not in the journal:\n%s", mark, journal)
		}
	}
}

// With the policy a review is given only to a program of another house than the one that wrote
// the work: neither the same program nor the same provider's.
func TestAnotherHouseReviews(t *testing.T) {
	for name, x := range map[string]struct {
		wrote, reviews string
		fallback       []string
		want           string
	}{
		"the same program":    {"one", "one", nil, "waits: one wrote the work, and another program has to review it"},
		"the same provider":   {"one", "uno", nil, "uno is of the same provider, acme"},
		"another":             {"one", "two", nil, "two"},
		"no provider known":   {"two", "three", nil, "three"},
		"a fall-back is used": {"one", "one", []string{"uno", "two"}, "two"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(c *clockwork) {
				c.Config.Policy.ReviewerOtherCLI = true
				c.Config.Agents.Fallback.All = x.fallback
				c.task("task-1")
				providers := map[string]string{"one": "acme", "uno": "acme", "two": "", "three": ""}
				c.Config.Agents.Default = x.wrote
				c.once(c.programs(blackboard.RoleCoder, providers, func(string, agent.Spec) agent.Result {
					c.Commit("task-1")
					return finished(completes)
				}))
				c.Config.Agents.Default = x.reviews
				got := ""
				s := c.programs(blackboard.RoleReviewer, providers, func(program string, _ agent.Spec) agent.Result {
					got = program
					return finished(`{"action":"COMPLETED","evidence_files":[],"summary_for_supervisor":"good","review":{"status":"ok"}}`)
				})
				s.Once = true
				err := s.Run(context.Background(), context.Background())
				if got == "" {
					got = fmt.Sprint(err)
				}
				if !strings.Contains(got, x.want) {
					t.Errorf("got %s, want %s", got, x.want)
				}
			})
		})
	}
}
