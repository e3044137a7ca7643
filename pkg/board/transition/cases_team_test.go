package transition

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
)

// The cases about registrations and runs.

func TestP141P142ARegistrationIsExclusive(t *testing.T) {
	t.Parallel()
	b := newBoard(t)
	entry := func(generation string) *blackboard.Agent {
		return &blackboard.Agent{Generation: generation, TokenHash: "sha256:" + generation, Host: "devbox", BootID: "boot", PID: 41233, PIDStart: 7}
	}
	b.must(Register(b.State, "coder-1", entry("g-1"), person, b.now))
	e := b.Agents["coder-1"]
	want(t, "status", e.Status, blackboard.AgentStarting)
	want(t, "lease", e.LeaseExpires, blackboard.TimeOf(b.now.Add(300*time.Second)))
	want(t, "terminal", e.Terminal, "unknown")
	want(t, "the free id", FreeAgentID(b.State, blackboard.RoleCoder, b.now), "coder-2")
	r := b.refused("G01", ExitRefused, "coder-1 is registered until 2026-01-19T14:05:00Z by process 41233 on devbox", func() error {
		return Register(b.State, "coder-1", entry("g-2"), person, b.now)
	})
	want(t, "next", r.Next, "liza unregister --force --as coder-1")
	for _, id := range []string{"coder", "coder1", "my-coder-1", "Coder-1"} {
		b.refused("G01", ExitUsage, "is malformed", func() error { return Register(b.State, id, entry("g-2"), person, b.now) })
	}
	b.refused("G01", ExitUsage, "agent id 'planner-1' is not that of a coder", func() error {
		x := entry("g-2")
		x.Role = blackboard.RoleCoder
		return Register(b.State, "planner-1", x, person, b.now)
	})
	b.refused("G04", ExitRefused, "runs inside coder-1", func() error {
		return Register(b.State, "coder-2", entry("g-2"), Actor{ID: blackboard.Human, Inside: "coder-1"}, b.now)
	})

	b.after(300*time.Second + time.Second)
	want(t, "the free id later", FreeAgentID(b.State, blackboard.RoleCoder, b.now), "coder-1")
	b.must(Register(b.State, "coder-1", entry("g-2"), person, b.now))
	want(t, "the generation", b.Agents["coder-1"].Generation, "g-2")
	b.refused("G02", ExitLeaseLost, "the registration of coder-1 was replaced at", func() error {
		return Beat(b.State, Actor{ID: "coder-1", TokenHash: "sha256:g-1"}, b.now)
	})

	t.Run("unknown is not over", func(t *testing.T) {
		b.Agents["coder-1"].LeaseExpires = ""
		b.refused("G01", ExitRefused, "coder-1 is registered without a lease", func() error { return Register(b.State, "coder-1", entry("g-3"), person, b.now) })
		want(t, "the free id", FreeAgentID(b.State, blackboard.RoleCoder, b.now), "coder-2")
	})
	t.Run("who replaces a process that is gone can take its claim at once", func(t *testing.T) {
		b := team(t)
		b.add("x")
		b.claim("x", "coder-1")
		a := Actor{ID: blackboard.Human, Facts: blackboard.ProcessFacts{Host: "devbox", BootID: "boot", Running: func(pid int, _ int64) (bool, bool) { return pid != b.Agents["coder-1"].PID, true }}}
		b.TakeEntries(0)
		b.must(Register(b.State, "coder-1", &blackboard.Agent{Generation: "g-new", TokenHash: "sha256:registration-coder-1", Host: "devbox", BootID: "boot", PID: 1}, a, b.now))
		wantList(t, "journal", actions(b.State, ""), []string{"agent_lapsed", "registered"})
		b.must(Claim(b.State, "x", supervisorOf("coder-1"), kept("x"), b.now))
		wantList(t, "history", events(b.Task("x"))[2:], []string{"claimed", "lease_expired", "claimed"})
	})
}

func TestP147AHeartbeatExtendsAgentAndClaim(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.ready("y", 2)
	b.claimReview("y", "code-reviewer-1")
	b.add("x")
	b.claim("x", "coder-1")
	b.after(10 * time.Minute)
	b.TakeEntries(0)
	b.must(Beat(b.State, supervisorOf("coder-1"), b.now))
	b.must(Beat(b.State, supervisorOf("code-reviewer-1"), b.now))
	lease := blackboard.TimeOf(b.now.Add(1800 * time.Second))
	want(t, "the agent's lease", b.Agents["coder-1"].LeaseExpires, lease)
	want(t, "the claim's lease", b.Task("x").LeaseExpires, lease)
	want(t, "the review's lease", b.Task("y").ReviewLeaseExpires, lease)
	want(t, "the heartbeat", b.Agents["coder-1"].Heartbeat, blackboard.TimeOf(b.now))
	want(t, "the number of journal entries", len(b.Entries()), 0)
	b.refused("G03", ExitRefused, "a coder may not do this; the supervisor of coder-1 may", func() error { return Beat(b.State, programOf("coder-1"), b.now) })
	b.refused("G03", ExitRefused, "human may not do this", func() error { return Beat(b.State, person, b.now) })

	t.Run("not the claim of an earlier registration", func(t *testing.T) {
		b.Task("x").ClaimGeneration = "g-old"
		b.after(time.Minute)
		b.must(Beat(b.State, supervisorOf("coder-1"), b.now))
		want(t, "the claim's lease", b.Task("x").LeaseExpires, lease)
	})
	t.Run("and no lease of a registration that is STARTING", func(t *testing.T) {
		b := newBoard(t)
		b.must(Register(b.State, "coder-1", &blackboard.Agent{TokenHash: "sha256:registration-coder-1"}, person, b.now))
		was := b.Agents["coder-1"].LeaseExpires
		b.after(time.Minute)
		b.must(Beat(b.State, supervisorOf("coder-1"), b.now))
		want(t, "the lease", b.Agents["coder-1"].LeaseExpires, was)
	})
}

func TestAPersonActsForAnAgent(t *testing.T) {
	t.Parallel()
	b := newBoard(t)
	b.must(Create(b.State, codeTask("x"), false, person, Input{}, b.now))
	a := personAs("coder-1")
	b.refused("G06", ExitRefused, "x is UNCLAIMED", func() error { return Submit(b.State, "x", a, submitted("x", commitOf(2)), b.now) }) // specs/decisions.md#D24: no registration
	b.TakeEntries(0)
	b.must(Claim(b.State, "x", a, claimed("x"), b.now))
	want(t, "the agent", b.Agents["coder-1"].Status, blackboard.AgentWorking)
	wantList(t, "journal", actions(b.State, ""), []string{"registered", "claimed"})
	for _, e := range b.Entries() {
		want(t, "via in "+string(e.Action), e.Extra["via"], any(blackboard.Human))
	}
	want(t, "via in the history", b.Task("x").Last().Via, blackboard.Human)
	want(t, "the agent in the history", b.Task("x").Last().Agent, "coder-1")
	b.valid()
	b.must(Create(b.State, codeTask("y"), false, person, Input{}, b.now))
	b.refused("G21", ExitRefused, "coder-1 already works on x", func() error { return Claim(b.State, "y", a, claimed("y"), b.now) })
}

func TestAPersonsOwnRegistrationThatRanOutKeepsItsClaim(t *testing.T) {
	t.Parallel()
	b := newBoard(t)
	b.must(Create(b.State, codeTask("x"), false, person, Input{}, b.now))
	first := personAs("coder-1")
	b.must(Claim(b.State, "x", first, claimed("x"), b.now))
	b.after(3 * time.Hour)
	second := personAs("coder-1")
	second.Register.Generation = "g-second"
	b.must(Submit(b.State, "x", second, submitted("x", commitOf(2)), b.now))
	want(t, "the generation", b.Agents["coder-1"].Generation, first.Register.Generation)
	b.valid()

	t.Run("unless somebody else took it", func(t *testing.T) {
		b := newBoard(t)
		b.must(Create(b.State, codeTask("x"), false, person, Input{}, b.now))
		b.must(Claim(b.State, "x", personAs("coder-1"), claimed("x"), b.now))
		b.after(3 * time.Hour)
		b.must(Claim(b.State, "x", personAs("coder-2"), claimed("x"), b.now))
		b.refused("G31", ExitLeaseLost, "its lease expired", func() error { return Submit(b.State, "x", personAs("coder-1"), submitted("x", commitOf(2)), b.now) })
	})
	t.Run("unlike the registration of a supervisor", func(t *testing.T) {
		b := team(t)
		b.add("x")
		b.claim("x", "coder-1")
		b.after(3 * time.Hour)
		b.refused("G32", ExitLeaseLost, "belongs to an earlier registration of coder-1", func() error {
			return Submit(b.State, "x", personAs("coder-1"), submitted("x", commitOf(2)), b.now)
		})
		want(t, "the pid", b.Agents["coder-1"].PID != 0, true)
	})
}

func TestAnAgentLapsesAndIsForgotten(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.add("x")
	b.claim("x", "coder-1")
	rebooted := blackboard.ProcessFacts{Host: "devbox", BootID: "another", Running: func(int, int64) (bool, bool) { return true, true }}
	elsewhere := blackboard.ProcessFacts{Host: "laptop", BootID: "another"}
	want(t, "from another host", Lapse(b.State, "coder-1", elsewhere, b.now), false)
	want(t, "after a reboot", Lapse(b.State, "coder-1", rebooted, b.now), true)
	want(t, "once more", Lapse(b.State, "coder-1", rebooted, b.now), false)
	want(t, "of nobody", Lapse(b.State, "coder-9", rebooted, b.now), false)
	want(t, "the status stays", b.Agents["coder-1"].Status, blackboard.AgentWorking)

	b.after(40 * time.Minute)
	b.TakeEntries(0)
	want(t, "something is forgotten", Forget(b.State, blackboard.ProcessFacts{}, b.now), false) // they have children, and leases were 30 minutes
	for _, e := range b.Agents {
		e.Child = nil
	}
	b.after(time.Hour)
	want(t, "something is forgotten", Forget(b.State, blackboard.ProcessFacts{}, b.now), true)
	if b.Agents["coder-1"] == nil || b.Agents["coder-2"] != nil {
		t.Error("forgotten are those who hold nothing")
	}
	var said []string
	for _, e := range b.Entries() {
		said = append(said, strings.Fields(e.Detail)[0])
	}
	wantList(t, "the order", said, []string{"code-reviewer-1:", "code-reviewer-2:", "coder-2:", "planner-1:"})
}

func TestUnregister(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.add("x")
	b.claim("x", "coder-1")
	b.refused("G01", ExitRefused, "'coder-9' is not registered", func() error { return Unregister(b.State, "coder-9", person, true, b.now) })
	b.refused("G03", ExitRefused, "coder-1 may not unregister coder-2", func() error { return Unregister(b.State, "coder-2", supervisorOf("coder-1"), false, b.now) })
	b.refused("G03", ExitRefused, "the supervisor of coder-2 may", func() error { return Unregister(b.State, "coder-2", programOf("coder-2"), false, b.now) })
	b.refused("G04", ExitRefused, "runs inside coder-1", func() error {
		return Unregister(b.State, "coder-2", Actor{ID: blackboard.Human, Inside: "coder-1"}, true, b.now)
	})
	b.refused("G76", ExitRefused, "coder-2 is registered until", func() error { return Unregister(b.State, "coder-2", person, false, b.now) })
	b.refused("G21", ExitRefused, "coder-1 still holds x", func() error { return Unregister(b.State, "coder-1", supervisorOf("coder-1"), false, b.now) })
	b.TakeEntries(0)
	b.must(Unregister(b.State, "coder-2", person, true, b.now))
	b.must(Unregister(b.State, "planner-1", supervisorOf("planner-1"), false, b.now))
	wantList(t, "journal", actions(b.State, ""), []string{"unregistered", "unregistered"})
	b.submit("x", 2)
	b.claimReview("x", "code-reviewer-1")
	b.refused("G21", ExitRefused, "code-reviewer-1 still reviews x", func() error { return Unregister(b.State, "code-reviewer-1", person, true, b.now) })

	t.Run("a person's own needs no force", func(t *testing.T) {
		b := newBoard(t)
		_, err := Identify(b.State, personAs("coder-1"), b.now)
		b.must(err)
		b.refused("G76", ExitRefused, "coder-1 is registered until", func() error { return Unregister(b.State, "coder-1", person, false, b.now) })
		b.must(Unregister(b.State, "coder-1", personAs("coder-1"), false, b.now))
	})
}

func TestWaiting(t *testing.T) {
	t.Parallel()
	b := team(t)
	a := supervisorOf("coder-1")
	b.must(SetWaiting(b.State, a, "nothing to do", b.now))
	want(t, "status", b.Agents["coder-1"].Status, blackboard.AgentWaiting)
	b.must(SetWaiting(b.State, a, "", b.now))
	want(t, "status", b.Agents["coder-1"].Status, blackboard.AgentIdle)
	want(t, "waiting_for", b.Agents["coder-1"].WaitingFor, "")
	b.add("x")
	b.claim("x", "coder-1")
	b.must(SetWaiting(b.State, a, "nothing to do", b.now))
	want(t, "status of one that works", b.Agents["coder-1"].Status, blackboard.AgentWorking)
}

// Limits of the sprint and of the day warn once each, those of a day again on the next one.
func TestTheSprintAndTheDayWarnOfTheirLimits(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.WarnPercent = 75
	b.Overrides = blackboard.Settings{"sprint_cost_cents": 400, "day_cost_cents": 100, "sprint_tokens": 1000}
	spend := func(cents blackboard.Amount, tokens int) (warnings []string) {
		t.Helper()
		b.TakeEntries(0)
		b.must(EndRun(b.State, supervisorOf("coder-1"), RunResult{Cost: &cents, TokensIn: tokens}, b.now))
		for _, e := range b.Entries() {
			if e.Action == "limit_warning" {
				warnings = append(warnings, fmt.Sprintf("%v: %s", e.Extra["limit"], e.Detail))
			}
		}
		return warnings
	}
	for n, x := range []struct {
		cents  blackboard.Amount
		tokens int
		want   []string
	}{
		{74, 100, nil},
		{1, 0, []string{"limits.day_cost_cents: 75 of 100 cents of the day are used; limits.day_cost_cents changes the limit"}},
		{20, 700, []string{"limits.sprint_tokens: 800 of 1000 tokens of the sprint are used; limits.sprint_tokens changes the limit"}},
		{5, 0, nil},
	} {
		if got := spend(x.cents, x.tokens); !slices.Equal(got, x.want) {
			t.Errorf("run %d: warnings %q, want %q", n+1, got, x.want)
		}
	}
	b.after(24 * time.Hour)
	b.must(Beat(b.State, supervisorOf("coder-1"), b.now))
	if got := spend(80, 0); len(got) != 1 || !strings.HasPrefix(got[0], "limits.day_cost_cents: 80 of 100") {
		t.Errorf("on the next day: warnings %q", got)
	}
}

func TestRunsLeaveTheirTraces(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.add("x")
	b.claim("x", "coder-1")
	b.Config = blackboard.Settings{"task_crashes": 0} // or the crashes of one task in a row count once
	cost := blackboard.Amount(12)
	for n := range 12 {
		b.must(EndRun(b.State, supervisorOf("coder-1"), RunResult{Task: "x", Cost: &cost, Seconds: 60, Crashed: n > 9, Attempt: blackboard.Attempt{Run: n, Kind: "coder", Outcome: "crashed"},
			Outcome: &blackboard.LastOutcome{Action: "RETRY"}}, b.now))
		b.after(4 * time.Minute)
	}
	x := b.Task("x")
	want(t, "the attempts that are kept", len(x.Attempts), 10)
	want(t, "the newest", x.Attempts[9].Seq, 12)
	want(t, "its agent", x.Attempts[9].Agent, "coder-1")
	want(t, "its claim", x.Attempts[9].ClaimSeq, 1)
	want(t, "cost of the task", x.Usage.CostCents, 144)
	want(t, "cost of the sprint", b.Usage.CostCents, 144)
	want(t, "cost of the day", b.Usage.Day.CostCents, 144)
	want(t, "crashes within the window", len(b.Agents["coder-1"].Crashes), 2)
	want(t, "iterations_total of the agent", b.Agents["coder-1"].IterationsTotal, 12)
	want(t, "the next run", NextRun(b.State, "coder-1"), 13)
	want(t, "the next run of nobody", NextRun(b.State, "coder-9"), 1)

	t.Run("a run that outlived its claim belongs to it all the same", func(t *testing.T) {
		b.after(2 * time.Hour)
		b.must(Claim(b.State, "x", supervisorOf("coder-2"), claimed("x"), b.now))
		b.must(EndRun(b.State, supervisorOf("coder-1"), RunResult{Task: "x"}, b.now))
		want(t, "its claim", x.Attempts[len(x.Attempts)-1].ClaimSeq, 1)
	})
}

// The registration that a person attaches to is left by its supervisor first; claim and generation stay, and what the former process
// writes is refused.
func TestAPersonAttachesToACoderAtWork(t *testing.T) {
	t.Parallel()
	b := talking(t)
	e := b.Agents["coder-1"]
	here := person
	here.Facts.Host, here.Facts.BootID, here.Facts.Running = e.Host, e.BootID, func(int, int64) (bool, bool) { return true, true }
	by := &blackboard.Agent{PID: 99, TokenHash: "sha256:new"}
	elsewhere := here
	elsewhere.Facts.Host = "another"
	for want, act := range map[string]func() error{
		"'coder-7' is not registered":     func() error { return AttachAgent(b.State, "coder-7", here, b.now) },
		"coder-2 runs no program":         func() error { return AttachAgent(b.State, "coder-2", here, b.now) },
		"coder-1 works on":                func() error { return AttachAgent(b.State, "coder-1", elsewhere, b.now) },
		"coder-1 was not left to anybody": func() error { return TakeAgent(b.State, "coder-1", by, here, b.now) },
	} {
		b.refused("G01", ExitRefused, want, act)
	}
	generation, seq := e.Generation, b.Task("x").ClaimSeq
	b.must(AttachAgent(b.State, "coder-1", here, b.now))
	b.refused("G01", ExitRefused, "coder-1 was not left to anybody", func() error { return TakeAgent(b.State, "coder-1", by, here, b.now) })
	former := supervisorOf("coder-1")
	b.must(LeaveAgent(b.State, former, b.now))
	b.must(TakeAgent(b.State, "coder-1", by, here, b.now))
	want(t, "what it is", fmt.Sprint(e.PID, e.Generation, len(b.Stopped), b.Task("x").AssignedTo, b.Task("x").ClaimSeq), fmt.Sprint(99, generation, 0, "coder-1", seq))
	b.refused("G02", ExitLeaseLost, "no longer coder-1", func() error { return Beat(b.State, former, b.now) })
}
