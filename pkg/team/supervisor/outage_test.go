package supervisor_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/store"
	"liza/pkg/run/agent"
	"liza/pkg/team/supervisor"
)

// failing is a store that cannot be read between two times.
type failing struct {
	store.Store
	from, until time.Time
}

func (f failing) View(ctx context.Context) (*blackboard.State, error) {
	if now := time.Now(); !now.Before(f.from) && now.Before(f.until) {
		return nil, fmt.Errorf("cannot read .liza/state.yaml: %w", syscall.EACCES)
	}
	return f.Store.View(ctx)
}

// away is the error of a board in a database that does not answer.
type away struct{}

func (away) Error() string     { return "cannot reach the database" }
func (away) Unreachable() bool { return true }

// cut is a store that cannot be reached between two times.
type cut struct {
	store.Store
	from, until time.Time
}

func (c cut) gone() bool { now := time.Now(); return !now.Before(c.from) && now.Before(c.until) }

func (c cut) View(ctx context.Context) (*blackboard.State, error) {
	if c.gone() {
		return nil, away{}
	}
	return c.Store.View(ctx)
}

func (c cut) Update(ctx context.Context, op store.Op, change func(*blackboard.State) error) error {
	if c.gone() {
		return away{}
	}
	return c.Store.Update(ctx, op, change)
}

// A claim that a database does not let happen never makes a coder give up, however often it is tried.
func TestClaimsWaitForADatabaseThatIsAway(t *testing.T) {
	inBubble(t, func(c *clockwork) {
		c.task("task-1")
		s := c.supervisor(blackboard.RoleCoder, func(context.Context, agent.Spec) agent.Result { return agent.Result{Outcome: agent.Overloaded} })
		s.Team, s.Service.Board.Store = true, unclaimable{c.memory, c.start.Add(time.Hour)}
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Hour)
		defer cancel()
		if err := s.Run(ctx, context.Background()); err != nil {
			t.Errorf("ended with %v", err)
		}
		if text := strings.Join(c.lines, "\n"); !strings.Contains(text, "claimed, iteration 1") {
			t.Errorf("it does not claim when the database is back:\n%s", text)
		}
	})
}

// unclaimable is a store whose database is away whenever a claim is written, until a time.
type unclaimable struct {
	store.Store
	until time.Time
}

func (u unclaimable) Update(ctx context.Context, op store.Op, change func(*blackboard.State) error) error {
	if op.Name == "claim" && time.Now().Before(u.until) {
		return away{}
	}
	return u.Store.Update(ctx, op, change)
}

// However long the board cannot be reached, a supervisor is there when it is back: under its old registration after a short
// cut, under a new one, with a heartbeat, after one that outlived its lease.
func TestASupervisorOutlivesAnyCut(t *testing.T) {
	for name, lasts := range map[string]time.Duration{"short": 5 * time.Minute, "longer than the lease": 2 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(c *clockwork) {
				s := c.supervisor(blackboard.RoleReviewer, func(context.Context, agent.Spec) agent.Result { return agent.Result{} })
				s.Team = true
				s.Service.Board.Store = cut{c.memory, c.start.Add(time.Minute), c.start.Add(time.Minute + lasts)}
				ctx, cancel := context.WithTimeout(context.Background(), lasts+2*time.Hour)
				defer cancel()
				var late atomic.Int32 // counted by the timer's goroutine
				time.AfterFunc(lasts+100*time.Minute, func() {
					st, err := c.memory.View(context.Background())
					if err != nil {
						t.Error(err)
						return
					}
					for id, a := range st.Agents {
						if live, why := st.Liveness(id, time.Now(), blackboard.ProcessFacts{}); a.Role == blackboard.RoleReviewer && live == blackboard.Alive {
							late.Add(1)
						} else {
							t.Logf("%s is %s: %s", id, live, why)
						}
					}
				})
				if err := s.Run(ctx, context.Background()); err != nil {
					t.Errorf("ended with %v", err)
				}
				if text := strings.Join(c.lines, "\n"); late.Load() != 1 || strings.Count(text, "waits for the board") != 1 || !strings.Contains(text, "the board is back") {
					t.Errorf("%d reviewers are alive long after the cut:\n%s", late.Load(), text)
				}
			})
		})
	}
}

func TestAShortOutageIsWaitedOutAndALongOneIsNot(t *testing.T) {
	for name, lasts := range map[string]time.Duration{"short": 5 * time.Second, "long": time.Hour} {
		for _, role := range []blackboard.Role{blackboard.RolePlanner, blackboard.RoleReviewer, blackboard.RoleCoder} {
			t.Run(name+" "+string(role), func(t *testing.T) {
				inBubble(t, func(c *clockwork) {
					s := c.supervisor(role, func(context.Context, agent.Spec) agent.Result {
						return agent.Result{Outcome: agent.Overloaded, RetryAfter: 10 * time.Second}
					})
					s.Team = true
					s.Service.Board.Store = failing{c.memory, c.start.Add(time.Minute), c.start.Add(time.Minute + lasts)}
					ctx, cancel := context.WithTimeout(context.Background(), 20*time.Minute)
					defer cancel()
					err := s.Run(ctx, context.Background())
					if long := lasts == time.Hour; long != errors.Is(err, syscall.EACCES) {
						t.Errorf("ended with %v", err)
					}
					if told := strings.Count(strings.Join(c.lines, "\n"), "waits for up to 5m0s: cannot read"); told > 1 || told == 0 && lasts == time.Hour {
						t.Errorf("told %d times:\n%s", told, strings.Join(c.lines, "\n"))
					}
				})
			})
		}
	}
}

// fallen is a store that cannot be read for some seconds from a moment on.
type fallen struct {
	store.Store
	since *atomic.Pointer[time.Time]
}

func (f fallen) View(ctx context.Context) (*blackboard.State, error) {
	if since := f.since.Load(); since != nil && time.Since(*since) < 5*time.Second {
		return nil, fmt.Errorf("cannot read .liza/state.yaml: %w", syscall.EACCES)
	}
	return f.Store.View(ctx)
}

// The end of a run cannot be applied in an outage. The claim was kept then, for ever: the agent could claim nothing else, and its
// heartbeats kept others away.
func TestAClaimWhoseRunEndsInAnOutageIsGivenBack(t *testing.T) {
	inBubble(t, func(c *clockwork) {
		c.task("task-1")
		var since atomic.Pointer[time.Time]
		runs := 0
		s := c.supervisor(blackboard.RoleCoder, func(context.Context, agent.Spec) agent.Result {
			if runs++; runs == 1 {
				now := time.Now()
				since.Store(&now)
			}
			return agent.Result{Outcome: agent.Overloaded, RetryAfter: time.Minute}
		})
		s.Team, s.Service.Board.Store = true, fallen{c.memory, &since}
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Minute)
		defer cancel()
		if err := s.Run(ctx, context.Background()); err != nil {
			t.Errorf("ended with %v", err)
		}
		if text := strings.Join(c.lines, "\n"); runs < 2 || !strings.Contains(text, "released: its run ended and could not be applied") {
			t.Errorf("%d runs:\n%s", runs, text)
		}
	})
}

// mistyped is a store whose board cannot be read for a while from a moment on.
type mistyped struct {
	store.Store
	since *atomic.Pointer[time.Time]
	lasts time.Duration
}

func (m mistyped) err() error {
	if since := m.since.Load(); since != nil && time.Since(*since) < m.lasts {
		return &store.InvalidError{Err: errors.New("line 3: a quote is not closed")}
	}
	return nil
}

func (m mistyped) View(ctx context.Context) (*blackboard.State, error) {
	if err := m.err(); err != nil {
		return nil, err
	}
	return m.Store.View(ctx)
}

func (m mistyped) Update(ctx context.Context, op store.Op, change func(*blackboard.State) error) error {
	if err := m.err(); err != nil {
		return err
	}
	return m.Store.Update(ctx, op, change)
}

// A person mistypes a line of the board while a run ends, and mends it: what the run has answered counts, and is not paid for twice.
func TestAnAnswerIsKeptWhileTheBoardCannotBeRead(t *testing.T) {
	for name, lasts := range map[string]time.Duration{"soon": time.Minute, "after the lease": 3 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(c *clockwork) {
				c.task("task-1")
				var since atomic.Pointer[time.Time]
				runs := 0
				s := c.supervisor(blackboard.RoleCoder, func(context.Context, agent.Spec) agent.Result {
					runs++
					now := time.Now()
					since.Store(&now)
					return finished(givesUp)
				})
				s.Team, s.Service.Board.Store = true, mistyped{c.memory, &since, lasts}
				ctx, cancel := context.WithTimeout(context.Background(), 6*time.Hour)
				defer cancel()
				if err := s.Run(ctx, context.Background()); err != nil {
					t.Errorf("ended with %v", err)
				}
				st, err := c.memory.View(context.Background())
				if err != nil {
					t.Fatal(err)
				}
				if got := st.Task("task-1"); runs != 1 || got.Status != blackboard.Blocked {
					t.Errorf("%d runs, and the task is %s:\n%s", runs, got.Status, strings.Join(c.lines, "\n"))
				}
			})
		})
	}
}

// broken is a store that fails until a time in a way that nobody knows.
type broken struct {
	store.Store
	until time.Time
}

var errStrange = errors.New("cannot read the board: a strange thing")

func (b broken) View(ctx context.Context) (*blackboard.State, error) {
	if time.Now().Before(b.until) {
		return nil, errStrange
	}
	return b.Store.View(ctx)
}

// A member of a team that ends with an error is started again; with one that stays, the run ends with it.
func TestAMemberThatEndsWithAnErrorIsStartedAgain(t *testing.T) {
	for name, lasts := range map[string]time.Duration{"a while": 45 * time.Second, "for good": 24 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(c *clockwork) {
				c.task("task-1")
				s := c.supervisor(blackboard.RoleCoder, func(context.Context, agent.Spec) agent.Result { return finished(givesUp) })
				s.Team, s.Service.Board.Store = true, broken{c.memory, c.start.Add(lasts)}
				team := &supervisor.Team{Service: c.person(), Until: "idle", Members: []*supervisor.Supervisor{s}}
				err := team.Run(context.Background(), context.Background())
				took, told := time.Since(c.start), strings.Join(c.lines, "\n")
				switch status := c.state().Task("task-1").Status; {
				case name == "a while" && (!errors.Is(err, supervisor.ErrIdle) || status != blackboard.Blocked || strings.Count(told, "started again") != 3):
					t.Errorf("after %s with %v; the task is %s:\n%s", took, err, status, told)
				case name == "for good" && (!errors.Is(err, errStrange) || strings.Count(told, "started again") != 5 || took > 10*time.Minute):
					t.Errorf("after %s with %v:\n%s", took, err, told)
				}
				if left := len(c.state().Agents); left > 1 || name == "a while" && left > 0 {
					t.Errorf("registered are %v", c.state().Agents)
				}
			})
		})
	}
}

// What one member waits for is not waited for by those that are left.
func TestATeamEndsWithTheMembersThatAreLeft(t *testing.T) {
	inBubble(t, func(c *clockwork) {
		c.task("task-1")
		team := &supervisor.Team{Service: c.person(), Until: "idle"}
		for range 2 {
			s := c.supervisor(blackboard.RoleCoder, func(context.Context, agent.Spec) agent.Result { return finished(givesUp) })
			s.Team, s.Print = true, nil
			team.Members = append(team.Members, s)
		}
		team.Members[0].Service.Board.Store = broken{c.memory, c.start.Add(24 * time.Hour)}
		soft, end := context.WithTimeout(context.Background(), time.Hour)
		defer end()
		if err := team.Run(soft, context.Background()); !errors.Is(err, errStrange) || soft.Err() != nil {
			t.Errorf("the team ends after %s with %v", time.Since(c.start), err)
		}
	})
}
