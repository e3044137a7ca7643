package supervisor_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/store"
	"liza/pkg/board/transition"
	"liza/pkg/run/agent"
	"liza/pkg/run/broker"
	"liza/pkg/team/supervisor"
	"liza/pkg/verb/sprint"
	"liza/pkg/verb/verb/verbtest"
)

// clockwork is a supervisor in a bubble with a fake clock: a real repository, a store in
// memory, and an agent program that is a function.
type clockwork struct {
	*verbtest.Place
	memory *store.Memory
	mu     sync.Mutex // of lines, while the supervisor works
	lines  []string
	start  time.Time
}

// inBubble runs do with a project whose clock is fake. The repository is made outside,
// because a process holds a bubble's clock still only while it runs.
func inBubble(t *testing.T, do func(c *clockwork)) {
	t.Parallel()
	p := verbtest.New(t)
	state := p.State()
	synctest.Test(t, func(t *testing.T) {
		now := blackboard.TimeOf(time.Now())
		state.Goal.Created, state.Sprint.Timeline.Started = now, now
		do(&clockwork{Place: p, memory: store.NewMemory(state), start: time.Now()})
	})
}

func (c *clockwork) supervisor(role blackboard.Role, run func(context.Context, agent.Spec) agent.Result) *supervisor.Supervisor {
	d := c.Service("")
	d.Board.Store = c.memory
	return &supervisor.Supervisor{Service: d, Role: role, CLI: "fake", PID: os.Getpid(), Liza: "/bin/true",
		Adapter: func(string) (agent.Adapter, error) { return nil, nil },
		Start: func(ctx context.Context, _ agent.Adapter, s agent.Spec) agent.Result {
			if s.Started != nil {
				if err := s.Started(agent.Process{Pid: os.Getpid()}); err != nil {
					return agent.Result{Outcome: agent.Killed, Error: err.Error()}
				}
			}
			return run(ctx, s)
		},
		Print: func(l supervisor.Line) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.lines = append(c.lines, l.Text)
			if want := kindOf(l.Text); l.Kind != want && !l.Warning {
				c.TB.Errorf("the line %q is of kind %d, want %d", l.Text, l.Kind, want)
			}
		}}
}

// kindOf is the kind that a line has to be of, by the words that people read.
func kindOf(text string) supervisor.Kind {
	for begin, kind := range map[string]supervisor.Kind{"ready, runs ": supervisor.Ready, "waits: ": supervisor.Waits, "reviews ": supervisor.Reviews,
		"checks: nothing found": supervisor.Clean, "goal completed": supervisor.Completed} {
		if strings.HasPrefix(text, begin) {
			return kind
		}
	}
	return supervisor.Plain
}

func (c *clockwork) task(id string) {
	c.TB.Helper()
	err := c.memory.Update(context.Background(), store.Op{Name: "test"}, func(s *blackboard.State) error {
		return transition.Create(s, &blackboard.Task{ID: id, Description: "Do " + id, SpecRef: "specs/vision.md", DoneWhen: "prints 42", Scope: "IN: one file", Type: "docs"}, false,
			transition.Actor{ID: blackboard.Human}, transition.Input{}, time.Now())
	})
	if err != nil {
		c.TB.Fatal(err)
	}
}

func (c *clockwork) setting(key string, value any) {
	c.TB.Helper()
	if _, is := blackboard.Fixed(key); is {
		c.Config.Timing = map[string]int{key: value.(int)}
		return
	}
	err := c.memory.Update(context.Background(), store.Op{Name: "test"}, func(s *blackboard.State) error {
		if s.Config == nil {
			s.Config = blackboard.Settings{}
		}
		s.Config[key] = value
		return nil
	})
	if err != nil {
		c.TB.Fatal(err)
	}
}

func (c *clockwork) state() *blackboard.State {
	s, err := c.memory.View(context.Background())
	if err != nil {
		c.TB.Fatal(err)
	}
	return s
}

func (c *clockwork) actions(action blackboard.Action) (at []time.Duration) {
	for _, e := range c.memory.Journal() {
		if e.Action == action {
			when, _ := e.Timestamp.At()
			at = append(at, when.Sub(c.start))
		}
	}
	return at
}

func (c *clockwork) wants(t *testing.T, action blackboard.Action, want ...time.Duration) {
	t.Helper()
	got := c.actions(action)
	ok := len(got) == len(want)
	for i := range want {
		ok = ok && got[i] >= want[i] && got[i] <= want[i]+2*time.Second
	}
	if !ok {
		t.Errorf("%s at %v, want about %v\n%s", action, got, want, strings.Join(c.lines, "\n"))
	}
}

// P-138: three crashes in five minutes, 5 and 10 seconds apart, are a give-up: the claim is released.
func TestThreeCrashesEndASupervisor(t *testing.T) {
	inBubble(t, func(c *clockwork) {
		c.task("task-1")
		c.setting("task_crashes", 0) // or the task would be blocked
		s := c.supervisor(blackboard.RoleCoder, func(context.Context, agent.Spec) agent.Result {
			return agent.Result{Outcome: agent.Crashed, ExitCode: 3, Error: "exit code 3: segmentation fault"}
		})
		err := s.Run(context.Background(), context.Background())
		if !errors.Is(err, supervisor.ErrGaveUp) || !strings.Contains(err.Error(), "segmentation fault") {
			t.Errorf("ended with %v, want a give-up that names the last error", err)
		}
		c.wants(t, "run_failed", 0, 5*time.Second, 15*time.Second)
		c.wants(t, "agent_gave_up", 15*time.Second)
		c.wants(t, "released", 15*time.Second)
		st := c.state()
		if len(st.Agents) != 0 || st.Task("task-1").Status != blackboard.Unclaimed || st.Task("task-1").Iteration != 1 {
			t.Errorf("left: %d agents, task %s, iteration %d", len(st.Agents), st.Task("task-1").Status, st.Task("task-1").Iteration)
		}
	})
}

// P-137: an agent at a checkpoint says what it waits for, and the command that ends it.
func TestAnAgentAtACheckpointNamesTheWayOut(t *testing.T) {
	inBubble(t, func(c *clockwork) {
		c.task("task-1")
		s := c.supervisor(blackboard.RoleCoder, func(context.Context, agent.Spec) agent.Result {
			t.Error("a program was started")
			return agent.Result{Outcome: agent.Finished}
		})
		if _, err := sprint.Checkpoint(context.Background(), s.Service, "half time"); err != nil {
			t.Fatal(err)
		}
		soft, stop := context.WithTimeout(context.Background(), time.Minute)
		defer stop()
		if err := s.Run(soft, context.Background()); err != nil {
			t.Error(err)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if !slices.ContainsFunc(c.lines, func(l string) bool {
			return strings.HasPrefix(l, "waits: at a checkpoint since 2") && strings.HasSuffix(l, ": half time; next: liza resume")
		}) {
			t.Errorf("it says %q", c.lines)
		}
	})
}

// P-132: two runs in a row that hang are counted, then a person is asked; where task_crashes is 0
// the claim is given back.
func TestTwoHangsInARowBlockTheTask(t *testing.T) {
	for limit, want := range map[int]blackboard.Status{2: blackboard.Blocked, 0: blackboard.Unclaimed} {
		t.Run(fmt.Sprint("limit ", limit), func(t *testing.T) {
			inBubble(t, func(c *clockwork) {
				c.task("task-1")
				c.setting("task_crashes", limit)
				ends := []agent.Outcome{agent.TimedOut, agent.Stalled}
				s := c.supervisor(blackboard.RoleCoder, func(context.Context, agent.Spec) agent.Result {
					r := agent.Result{Outcome: ends[0], ExitCode: -1, Error: "no sign of life", Tail: []string{"asks for a password"}}
					ends = ends[1:]
					return r
				})
				s.Once = true
				if err := s.Run(context.Background(), context.Background()); err != nil {
					t.Error(err)
				}
				c.wants(t, "run_failed", 0, 5*time.Second)
				x := c.state().Task("task-1")
				if x.Status != want || x.Iteration != 3 {
					t.Errorf("task-1 is %s in iteration %d, want %s in 3", x.Status, x.Iteration, want)
				}
				if limit == 0 {
					c.wants(t, "released", 5*time.Second)
					return
				}
				if !strings.Contains(x.BlockedReason, "crashed or hung 2 times in a row, last: stalled: no sign of life") || !strings.Contains(x.BlockedReason, "\n  asks for a password") {
					t.Errorf("blocked because %q", x.BlockedReason)
				}
			})
		})
	}
}

// deaf is a store whose changes are told to nobody.
type deaf struct{ *store.Memory }

func (deaf) Watch(context.Context) <-chan struct{} { return make(chan struct{}) }

// An idle agent looks at the board after its poll interval, also where no event says that there is something new.
func TestAnIdleAgentLooksAgainAfterItsPollInterval(t *testing.T) {
	inBubble(t, func(c *clockwork) {
		c.setting("poll_interval", 40)
		soft, stop := context.WithCancel(context.Background())
		s := c.supervisor(blackboard.RoleCoder, func(context.Context, agent.Spec) agent.Result {
			stop()
			return agent.Result{Outcome: agent.Crashed, ExitCode: 3}
		})
		s.Service.Board.Store = deaf{c.memory}
		time.AfterFunc(50*time.Second, func() { c.task("task-1") })
		_ = s.Run(soft, context.Background()) // how it ends is the matter of other tests
		c.wants(t, "claimed", 80*time.Second)
	})
}

// A rate limit costs no iteration and no crash; the provider's own time is respected, else the waits double.
func TestARateLimitIsWaitedOut(t *testing.T) {
	inBubble(t, func(c *clockwork) {
		c.task("task-1")
		var at []time.Duration
		s := c.supervisor(blackboard.RoleCoder, func(context.Context, agent.Spec) agent.Result {
			at = append(at, time.Since(c.start).Round(time.Second))
			switch len(at) {
			case 1:
				return agent.Result{Outcome: agent.RateLimited, RetryAfter: 7 * time.Second}
			case 2, 3:
				return agent.Result{Outcome: agent.Overloaded}
			}
			return agent.Result{Outcome: agent.Finished, Final: `{"action":"STUCK","evidence_files":[],"summary_for_supervisor":"the header of the answer is not said"}`}
		})
		s.Once = true
		if err := s.Run(context.Background(), context.Background()); err != nil {
			t.Error(err)
		}
		want := []time.Duration{0, 7 * time.Second, 27 * time.Second, 67 * time.Second}
		if len(at) != len(want) {
			t.Fatalf("runs at %v, want %v", at, want)
		}
		for i := range want {
			if at[i] != want[i] {
				t.Errorf("run %d at %s, want %s", i+1, at[i], want[i])
			}
		}
		task := c.state().Task("task-1")
		if task.Status != blackboard.Blocked || task.Iteration != 1 {
			t.Errorf("task-1 is %s, iteration %d", task.Status, task.Iteration)
		}
	})
}

// P-131: a planner that changes nothing is launched once more after 60 seconds; that it changed nothing again ends the waking.
func TestAnUnchangedReasonLaunchesThePlannerTwice(t *testing.T) {
	inBubble(t, func(c *clockwork) {
		c.task("task-1")
		err := c.memory.Update(context.Background(), store.Op{Name: "test"}, func(s *blackboard.State) error {
			err := transition.Block(s, "task-1", transition.Actor{ID: blackboard.Human}, transition.Input{Reason: "unclear", Questions: blackboard.List{"What now?"}}, time.Now())
			s.Questions = nil // nobody is asked, as in a block that was written by hand
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		s := c.supervisor(blackboard.RolePlanner, func(context.Context, agent.Spec) agent.Result {
			return agent.Result{Outcome: agent.Finished, Final: `{"action":"COMPLETED","evidence_files":[],"summary_for_supervisor":"nothing to do"}`}
		})
		err = s.Run(context.Background(), context.Background())
		c.wants(t, "planner_launched", 0, 60*time.Second)
		c.wants(t, "planner_suppressed", 60*time.Second)
		if err != nil || time.Since(c.start) < 30*time.Minute {
			t.Errorf("ended after %s with %v; an idle planner that has worked ends well after max_wait", time.Since(c.start), err)
		}
	})
}

// Issue 25, 6.5: a planner that has looked at a block and changed nothing is not launched again while a person is asked about it.
func TestAPlannerLeavesABlockToThePersonWhoIsAsked(t *testing.T) {
	inBubble(t, func(c *clockwork) {
		c.task("task-1")
		err := c.memory.Update(context.Background(), store.Op{Name: "test"}, func(s *blackboard.State) error {
			return transition.Block(s, "task-1", transition.Actor{ID: blackboard.Human}, transition.Input{Reason: "unclear", Questions: blackboard.List{"What now?"}}, time.Now())
		})
		if err != nil {
			t.Fatal(err)
		}
		s := c.supervisor(blackboard.RolePlanner, func(context.Context, agent.Spec) agent.Result {
			return agent.Result{Outcome: agent.Finished, Final: `{"action":"COMPLETED","evidence_files":[],"summary_for_supervisor":"nothing to do"}`}
		})
		if err := s.Run(context.Background(), context.Background()); err != nil {
			t.Error(err)
		}
		c.wants(t, "planner_launched", 0)
		if got := c.state().Planner.Triggers["BLOCKED_TASKS"]; got.Outcome != "left" || got.Suppressed {
			t.Errorf("the trigger is %+v", got)
		}
	})
}

// A supervisor that has had nothing to do for max_wait ends and says what it waited for.
func TestAnIdleSupervisorEnds(t *testing.T) {
	inBubble(t, func(c *clockwork) {
		s := c.supervisor(blackboard.RoleCoder, nil)
		err := s.Run(context.Background(), context.Background())
		if !errors.Is(err, supervisor.ErrIdle) || !strings.Contains(err.Error(), "no task exists yet") {
			t.Errorf("ended with %v", err)
		}
		if d := time.Since(c.start); d < 30*time.Minute || d > 31*time.Minute {
			t.Errorf("ended after %s, want max_wait", d)
		}
	})
}

// P-147: while the child lives, the supervisor's heartbeat extends the leases of agent and task together.
func TestHeartbeatsKeepTheLeases(t *testing.T) {
	inBubble(t, func(c *clockwork) {
		c.task("task-1")
		var agentLease, taskLease blackboard.Time
		s := c.supervisor(blackboard.RoleCoder, func(context.Context, agent.Spec) agent.Result {
			time.Sleep(90 * time.Minute) // three leases long
			st := c.state()
			agentLease, taskLease = st.Agents["coder-1"].LeaseExpires, st.Task("task-1").LeaseExpires
			return agent.Result{Outcome: agent.Finished, Final: `{"action":"STUCK","evidence_files":[],"summary_for_supervisor":"the header of the answer is not said"}`}
		})
		s.Once = true
		if err := s.Run(context.Background(), context.Background()); err != nil {
			t.Error(err)
		}
		until, _ := agentLease.At()
		if agentLease != taskLease || until.Sub(c.start) < 118*time.Minute {
			t.Errorf("leases %s and %s after 90 minutes, started %s", agentLease, taskLease, c.start)
		}
	})
}

// A claim that was given away while the agent worked ends the work: the child is stopped, and nothing is written for it.
func TestALostRegistrationStopsTheChild(t *testing.T) {
	inBubble(t, func(c *clockwork) {
		c.task("task-1")
		var stopped time.Duration
		s := c.supervisor(blackboard.RoleCoder, func(ctx context.Context, _ agent.Spec) agent.Result {
			err := c.memory.Update(ctx, store.Op{Name: "test"}, func(s *blackboard.State) error {
				s.Agents["coder-1"].TokenHash, s.Agents["coder-1"].Generation = "sha256:other", "g-other"
				return nil
			})
			if err != nil {
				t.Error(err)
			}
			lost := time.Now()
			<-ctx.Done()
			stopped = time.Since(lost)
			return agent.Result{Outcome: agent.Killed}
		})
		s.Once = true
		soft, stop := context.WithTimeout(context.Background(), 10*time.Minute)
		defer stop()
		if err := s.Run(soft, context.Background()); err != nil {
			t.Error(err)
		}
		if beat := c.state().Heartbeat(); stopped <= 0 || stopped > beat {
			t.Errorf("the child was stopped %v after its registration was lost, want within a heartbeat, %v", stopped, beat)
		}
		if st := c.state().Task("task-1"); len(st.Attempts) != 0 || st.Status != blackboard.Claimed {
			t.Errorf("something was written for the lost claim: %s, %d attempts", st.Status, len(st.Attempts))
		}
	})
}

// An agent that has nothing to do and whose registration was taken away finds out by its heartbeat, and registers again: nothing
// that it does meanwhile would fail.
func TestAnIdleAgentWhoseRegistrationIsGoneRegistersAgain(t *testing.T) {
	inBubble(t, func(c *clockwork) {
		s := c.supervisor(blackboard.RoleReviewer, func(context.Context, agent.Spec) agent.Result { return agent.Result{} })
		soft, stop := context.WithTimeout(context.Background(), 20*time.Minute)
		defer stop()
		gone := time.AfterFunc(5*time.Minute, func() {
			err := c.memory.Update(context.Background(), store.Op{Name: "test"}, func(s *blackboard.State) error { clear(s.Agents); return nil })
			if err != nil {
				t.Error(err)
			}
		})
		defer gone.Stop()
		var back atomic.Int64
		look := time.AfterFunc(15*time.Minute, func() { back.Store(int64(len(c.state().Agents))) })
		defer look.Stop()
		if err := s.Run(soft, context.Background()); err != nil {
			t.Error(err)
		}
		if back.Load() != 1 {
			t.Errorf("ten minutes later the board has %d agents, want the one that was taken away", back.Load())
		}
	})
}

// N-38: a clock that is set back: times in the history fall, its numbers do not, and no time
// of work is negative or ends a task.
func TestAClockThatIsSetBackTakesNoTimeAway(t *testing.T) {
	inBubble(t, func(c *clockwork) {
		c.task("task-1")
		var back atomic.Int64
		runs := 0
		s := c.supervisor(blackboard.RoleCoder, func(context.Context, agent.Spec) agent.Result {
			runs++
			back.Add(int64(time.Hour))
			time.Sleep(3 * time.Minute)
			if runs == 1 {
				r := finished(`{"action":"RETRY","evidence_files":[],"summary_for_supervisor":"Once more."}`)
				r.Seconds = -3420
				return r
			}
			r := finished(`{"action":"STUCK","evidence_files":[],"summary_for_supervisor":"No name is given."}`)
			r.Seconds = 180
			return r
		})
		s.Service.Board.Now = func() time.Time { return time.Now().Add(-time.Duration(back.Load())) }
		s.Once = true
		if err := s.Run(context.Background(), context.Background()); err != nil {
			t.Error(err)
		}
		list := c.wantsRecorded("task-1", "PENDING UNCLAIMED to CLAIMED: SUCCESS RETRY\nRUNNING CLAIMED to BLOCKED: SUCCESS STUCK\n")
		if len(list) != 2 || list[1].Timestamp >= list[0].Timestamp {
			t.Fatalf("the history is %+v", list)
		}
		task := c.state().Task("task-1")
		if task.Usage.Seconds != 180 || task.Attempts[0].Seconds != 0 || list[0].Liza.Seconds != 0 || task.Halt != nil {
			t.Errorf("the runs took %d s, the first %d s, in the history %d s; halt %v", task.Usage.Seconds, task.Attempts[0].Seconds, list[0].Liza.Seconds, task.Halt)
		}
	})
}

// noHeartbeats is a store in which the lease cannot be renewed from some moment on.
type noHeartbeats struct {
	store.Store
	failing atomic.Bool
}

func (s *noHeartbeats) Update(ctx context.Context, op store.Op, change func(*blackboard.State) error) error {
	if s.failing.Load() && op.Name == "heartbeat" {
		return errors.New("cannot write: input/output error")
	}
	return s.Store.Update(ctx, op, change)
}

// A lease that cannot be renewed is trusted until a tenth of it is left, counted from the start
// of the last renewal that worked, also when none ever did: the work has ended before somebody
// else may have the task.
func TestALeaseIsTrustedForLessTimeThanItLasts(t *testing.T) {
	for name, renewals := range map[string]time.Duration{"no renewal ever worked": 0, "some renewals worked": 5*time.Minute + 30*time.Second} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(c *clockwork) {
				c.task("task-1")
				broken := &noHeartbeats{Store: c.memory}
				var stopped, expires time.Time
				s := c.supervisor(blackboard.RoleCoder, func(ctx context.Context, _ agent.Spec) agent.Result {
					time.Sleep(renewals)
					broken.failing.Store(true)
					expires, _ = c.state().Task("task-1").LeaseExpires.At()
					<-ctx.Done()
					stopped = time.Now()
					return agent.Result{Outcome: agent.Killed}
				})
				s.Service.Board.Store, s.Once = broken, true
				soft, stop := context.WithTimeout(context.Background(), 2*time.Hour)
				defer stop()
				_ = s.Run(soft, context.Background())
				margin := c.state().Duration("lease_duration") / 10
				if early := expires.Sub(stopped); early < margin-2*time.Second || early > margin+2*time.Second {
					t.Errorf("the work ended %v before its lease, want %v", early, margin)
				}
			})
		})
	}
}

// The token of a run is worth as much as the run: its program does not have it, so that nothing it does
// can show it. What it does comes over the broker, which knows whose run it is.
func TestTheTokenOfARunStaysWithItsSupervisor(t *testing.T) {
	inBubble(t, func(c *clockwork) {
		c.task("task-1")
		var of supervisor.InRun
		socket := ""
		s := c.supervisor(blackboard.RoleCoder, func(_ context.Context, spec agent.Spec) agent.Result {
			for _, v := range spec.Env {
				if path, ok := strings.CutPrefix(v, "LIZA_BROKER="); ok {
					socket = path
				}
			}
			if info, err := os.Stat(socket); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("the socket: %v, %v", info, err)
			}
			all := fmt.Sprint("all that I have is ", spec.Env, spec.Prompt)
			if strings.Contains(all, of.Token) {
				t.Errorf("a program gets the token: %s", all)
			}
			if _, err := spec.Output.Write([]byte(all + "\n")); err != nil {
				t.Error(err)
			}
			return agent.Result{Outcome: agent.Finished, Final: `{"action":"STUCK","evidence_files":[],"summary_for_supervisor":"All that I have is nothing.","blocked_questions":["What for?"]}`}
		})
		s.Once, s.RunBase = true, broker.Base("")
		s.Commands = func(r supervisor.InRun) broker.Handler {
			of = r
			return nil
		}
		if err := s.Run(context.Background(), context.Background()); err != nil {
			t.Error(err)
		}
		if len(of.Token) < 8 || of.Agent != "coder-1" || of.Task != "task-1" || of.Root != c.Project.Root || !strings.HasPrefix(of.Mark, "g-") {
			t.Fatalf("the run is %+v", of)
		}
		if _, err := os.Stat(filepath.Dir(socket)); !os.IsNotExist(err) {
			t.Errorf("the folder of the run stays: %v", err)
		}
		_ = filepath.WalkDir(c.Project.Liza, func(path string, e os.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() {
				return nil
			}
			if data, _ := os.ReadFile(path); strings.Contains(string(data), of.Token) {
				t.Errorf("%s shows the token", path)
			}
			return nil
		})
		for _, e := range c.memory.Journal() {
			if strings.Contains(e.Detail, of.Token) {
				t.Errorf("the journal shows the token: %s", e.Detail)
			}
		}
	})
}

// After each review in a row that failed, a reviewer waits longer; one that it could give ends the row.
func TestAnAnswerEndsTheRowOfReviewsThatFailed(t *testing.T) {
	inBubble(t, func(c *clockwork) {
		for _, id := range []string{"task-1", "task-2"} {
			c.task(id)
			c.once(c.supervisor(blackboard.RoleCoder, func(context.Context, agent.Spec) agent.Result {
				c.Commit(id)
				return finished(completes)
			}))
		}
		var at []time.Duration
		s := c.supervisor(blackboard.RoleReviewer, func(context.Context, agent.Spec) agent.Result {
			at = append(at, time.Since(c.start))
			if len(at) == 3 || len(at) == 5 {
				return finished(`{"action":"COMPLETED","evidence_files":[],"summary_for_supervisor":"good","review":{"status":"ok"}}`)
			}
			return agent.Result{Outcome: agent.Crashed, Error: "exit code 1"}
		})
		soft, stop := context.WithTimeout(context.Background(), 10*time.Minute)
		defer stop()
		_ = s.Run(soft, context.Background())
		if len(at) != 5 {
			t.Fatalf("reviews began at %v, want five", at)
		}
		for i, want := range map[int]time.Duration{1: 5 * time.Second, 2: 10 * time.Second, 4: 5 * time.Second} {
			if wait := at[i] - at[i-1]; wait < want || wait > want+2*time.Second {
				t.Errorf("review %d began %v after the one before, want %v", i+1, wait, want)
			}
		}
	})
}
