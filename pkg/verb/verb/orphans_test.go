package verb_test

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/store"
	"liza/pkg/board/transition"
	"liza/pkg/run/agent"
	"liza/pkg/verb/board"
	"liza/pkg/verb/verb"
	"liza/pkg/verb/verb/verbtest"
)

// A killed is a supervisor that was killed with SIGKILL, and the agent program that it left.
type killed struct {
	*verbtest.Place
	id      string
	service *verb.Service
	stand   *exec.Cmd     // stands for the supervisor's process
	program *exec.Cmd     // the program
	ended   chan struct{} // closed when the program has ended
}

// supervise registers an agent whose supervisor is a process that can be killed.
func supervise(p *verbtest.Place, id string) *killed {
	p.TB.Helper()
	k := &killed{Place: p, id: id, service: p.Service(""), stand: exec.Command("tail", "-f", "/dev/null"), ended: make(chan struct{})}
	if err := k.stand.Start(); err != nil {
		p.TB.Fatal(err)
	}
	p.TB.Cleanup(k.kill)
	start, _ := agent.ProcessStart(k.stand.Process.Pid)
	r, err := k.service.Agents.Register(p.TB.Context(), verb.RegisterInput{ID: id, PID: k.stand.Process.Pid, PIDStart: start})
	if err != nil {
		p.TB.Fatal(err)
	}
	k.service.Board.Caller = board.Caller{AgentID: r.Agent, Token: r.Token}
	return k
}

// spawn starts a program as the supervisor's child; recorded says whether the board knows.
func (k *killed) spawn(task string, recorded bool) {
	k.TB.Helper()
	s := k.State()
	run := transition.NextRun(s, k.id)
	mark := board.RunMark(s.Agents[k.id].Generation, run)
	k.start("LIZA_AGENT_ID="+k.id, "LIZA_RUN="+mark)
	pid := k.program.Process.Pid
	start, _ := agent.ProcessStart(pid)
	if recorded {
		k.record(blackboard.Child{PID: pid, PIDStart: start, PGID: pid, Run: run, RunID: mark, Task: task})
	}
}

func (k *killed) record(c blackboard.Child) {
	k.TB.Helper()
	c.Started = blackboard.TimeOf(time.Now())
	k.update(func(s *blackboard.State) { s.Agents[k.id].Child = &c })
}

// start starts a program with these variables.
func (k *killed) start(env ...string) {
	k.TB.Helper()
	k.program = exec.Command("tail", "-f", "/dev/null")
	k.program.Env = append(os.Environ(), env...)
	k.program.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := k.program.Start(); err != nil {
		k.TB.Fatal(err)
	}
	go func() {
		_ = k.program.Wait()
		close(k.ended)
	}()
}

func (k *killed) update(change func(*blackboard.State)) {
	k.TB.Helper()
	err := k.Store.Update(k.TB.Context(), store.Op{Name: "test"}, func(s *blackboard.State) error {
		change(s)
		return nil
	})
	if err != nil {
		k.TB.Fatal(err)
	}
}

// die ends the supervisor, not its program.
func (k *killed) die() {
	_ = k.stand.Process.Kill()
	_ = k.stand.Wait()
}

func (k *killed) kill() {
	_ = k.stand.Process.Kill()
	_ = k.stand.Wait()
	if k.program != nil {
		_ = k.program.Process.Kill()
		<-k.ended
	}
}

// leaseIsPast moves the leases so far into the past that nobody has to find the agent dead.
func (k *killed) leaseIsPast(by time.Duration) {
	k.TB.Helper()
	k.update(func(s *blackboard.State) {
		over := blackboard.TimeOf(time.Now().Add(-by))
		s.Agents[k.id].LeaseExpires = over
		for t := range s.Tasks() {
			if t.AssignedTo == k.id && t.Status == blackboard.Claimed {
				s.Task(t.ID).LeaseExpires = over
			}
			if t.ReviewingBy == k.id {
				s.Task(t.ID).ReviewLeaseExpires = over
			}
		}
	})
}

// stopped fails the test unless the program has ended.
func (k *killed) stopped(when string) {
	k.TB.Helper()
	select {
	case <-k.ended:
	case <-time.After(time.Minute):
		k.TB.Errorf("%s: the program of %s still runs", when, k.id)
	}
}

func (k *killed) runs() bool {
	select {
	case <-k.ended:
		return false
	default:
		return true
	}
}

func must[T any](p *verbtest.Place) func(T, error) T {
	return func(v T, err error) T {
		p.TB.Helper()
		if err != nil {
			p.TB.Fatal(err)
		}
		return v
	}
}

// P-144: a supervisor was killed, its agent program lives. Anyone who takes the task over has
// stopped that before: when nobody has noticed yet, when the lease is over long since, when
// the killed supervisor had no time to write down what it started, and when a new
// supervisor has taken the id.
func TestTheProgramOfAKilledSupervisorIsStoppedBeforeItsTaskIsGivenAway(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		recorded bool
		past     time.Duration
		next     string
	}{
		{"at once", true, 0, "coder-2"},
		{"after the lease", true, time.Hour, "coder-2"},
		{"not written down", false, 0, "coder-2"},
		{"after the lease, by a new supervisor of that id", true, time.Hour, "coder-1"},
		{"at once, by a new supervisor of that id", true, 0, "coder-1"},
		{"not written down, by a new supervisor of that id", false, 0, "coder-1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := verbtest.New(t)
			p.AddTask("task-1")
			k := supervise(p, "coder-1")
			must[verb.Claimed](p)(k.service.Claim(t.Context(), "task-1"))
			k.spawn("task-1", c.recorded)
			k.die()
			if c.past > 0 {
				k.leaseIsPast(c.past)
			}
			next := p.Supervised(c.next)
			got := must[verb.Claimed](p)(next.Claim(t.Context(), "task-1"))
			k.stopped("task-1 was given to " + got.Agent)
			p.Sound("task-1")
			if child := p.State().Agents["coder-1"].Child; child != nil {
				t.Errorf("the board still has the program %+v", child)
			}
		})
	}
}

// A person who acts for an agent takes the place of its killed supervisor as well.
func TestAPersonWhoActsForAKilledAgentStopsItsProgram(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.AddTask("task-1")
	k := supervise(p, "coder-1")
	must[verb.Claimed](p)(k.service.Claim(t.Context(), "task-1"))
	k.spawn("task-1", true)
	k.die()
	k.leaseIsPast(time.Hour)
	must[verb.Claimed](p)(p.Service("coder-1").Claim(t.Context(), "task-1"))
	k.stopped("a person claimed for coder-1")
}

// P-144, of a review: its reviewer was killed, and the next one gets the review when the first
// one's program is gone.
func TestTheProgramOfAKilledReviewerIsStoppedBeforeTheReviewIsGivenAway(t *testing.T) {
	t.Parallel()
	for name, past := range map[string]time.Duration{"at once": 0, "after the lease": time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := verbtest.New(t)
			p.AddTask("task-1")
			coder := p.Service("coder-9")
			must[verb.Claimed](p)(coder.Claim(t.Context(), "task-1"))
			p.Commit("task-1")
			must[verb.Submitted](p)(coder.Submit(t.Context(), verb.SubmitInput{Task: "task-1"}))
			k := supervise(p, "code-reviewer-1")
			must[verb.Claimed](p)(k.service.Reviews.ClaimReview(t.Context(), "task-1"))
			k.spawn("task-1", true)
			k.die()
			if past > 0 {
				k.leaseIsPast(past)
			}
			next := p.Supervised("code-reviewer-2")
			must[verb.Claimed](p)(next.Reviews.ClaimReview(t.Context(), ""))
			k.stopped("the review was given to code-reviewer-2")
			if by := p.State().Task("task-1").ReviewingBy; by != "code-reviewer-2" {
				t.Errorf("the review is %s's", by)
			}
		})
	}
}

// P-145: the pid of the dead program was given to another one, which nobody touches.
func TestAnotherProgramWithThePidOfADeadOneIsNotStopped(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.AddTask("task-1")
	k := supervise(p, "coder-1")
	must[verb.Claimed](p)(k.service.Claim(t.Context(), "task-1"))
	k.start() // a program that has nothing to do with Liza
	pid := k.program.Process.Pid
	start, _ := agent.ProcessStart(pid)
	k.record(blackboard.Child{PID: pid, PIDStart: start - 1, PGID: pid, Run: 1, RunID: "g-1", Task: "task-1"})
	k.die()
	next := p.Supervised("coder-2")
	must[[]string](p)(next.Agents.Recover(t.Context()))
	must[verb.Claimed](p)(next.Claim(t.Context(), "task-1"))
	if !k.runs() {
		t.Error("a program that only has the pid of a dead one was killed")
	}
}

// What a dead planner left is stopped by the next recovery, also when its lease is past, and
// its entry goes when it is old enough.
func TestRecoveryStopsWhatAnyDeadAgentLeft(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	k := supervise(p, "planner-1")
	k.spawn("", true)
	k.die()
	k.leaseIsPast(time.Minute)
	d := p.Supervised("coder-1")
	must[[]string](p)(d.Agents.Recover(t.Context()))
	k.stopped("after a recovery")
	if e := p.State().Agents["planner-1"]; e == nil || e.Child != nil {
		t.Errorf("planner-1 is %+v, want an entry without a program", e)
	}
	k.leaseIsPast(2 * time.Hour)
	must[[]string](p)(d.Agents.Recover(t.Context()))
	if p.State().Agents["planner-1"] != nil {
		t.Error("the entry of planner-1 is kept for ever")
	}
	before := p.State().Revision
	if did := must[[]string](p)(d.Agents.Recover(t.Context())); len(did) > 0 || p.State().Revision != before {
		t.Errorf("a recovery with nothing to do did %q, revision %d to %d", did, before, p.State().Revision)
	}
}

// After a reboot no program of before can run: nothing is stopped, and the work is free at once.
func TestAfterARebootWorkIsFreeAtOnce(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.AddTask("task-1")
	k := supervise(p, "coder-1")
	must[verb.Claimed](p)(k.service.Claim(t.Context(), "task-1"))
	k.spawn("task-1", true)
	next := p.Service("")
	next.Board.Proc.BootID = "the next boot"
	did := must[[]string](p)(next.Agents.Recover(t.Context()))
	if !slices.Contains(did, "coder-1 is gone; its work can be taken over") {
		t.Errorf("did %q", did)
	}
	if e := p.State().Agents["coder-1"]; e.Child != nil {
		t.Errorf("the program of the former boot is still on the board: %+v", e.Child)
	}
	if !k.runs() {
		t.Error("a process was stopped that has nothing to do with the former boot")
	}
}

// P-146: the machine was suspended for two hours. Until the clocks are believed again nobody
// takes anything over; a heartbeat renews the leases.
func TestAfterASuspensionNothingIsGivenAway(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.AddTask("task-1")
	holder := p.Supervised("coder-1")
	must[verb.Claimed](p)(holder.Claim(t.Context(), "task-1"))
	later := func() time.Time { return time.Now().Add(2 * time.Hour) }
	jumped := true
	other := p.Supervised("coder-2")
	for _, d := range []*verb.Service{holder, other} {
		d.Board.Now, d.Board.Proc.ClockJumped = later, func() bool { return jumped }
	}
	must[[]string](p)(other.Agents.Recover(t.Context()))
	if _, err := other.Claim(t.Context(), "task-1"); err == nil || !strings.Contains(err.Error(), "the clock of this machine jumped") {
		t.Fatalf("right after a suspension a claim ended with %v", err)
	}
	if a := p.State().Agents; a["coder-1"] == nil || a["coder-2"] == nil {
		t.Error("a registration was forgotten right after a suspension")
	}
	must[verb.Beat](p)(holder.Agents.Heartbeat(t.Context()))
	jumped = false
	if _, err := other.Claim(t.Context(), "task-1"); err == nil {
		t.Fatal("the task was given away although its holder has renewed the lease")
	}
	if by := p.State().Task("task-1").AssignedTo; by != "coder-1" {
		t.Errorf("task-1 is %s's", by)
	}
}
