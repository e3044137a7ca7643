package blackboard

import (
	"strings"
	"testing"
	"time"
)

// The cases of protocol 15 about registrations, the planner, completion, merges and figures.

func TestP141P142ARegistrationIsExclusive(t *testing.T) {
	t.Parallel()
	b := newBoard(t)
	entry := func(generation string) *Agent {
		return &Agent{Generation: generation, TokenHash: "sha256:" + generation, Host: "devbox", BootID: "boot", PID: 41233, PIDStart: 7}
	}
	b.must(b.Register("coder-1", entry("g-1"), person, b.now))
	e := b.Agents["coder-1"]
	want(t, "status", e.Status, AgentStarting)
	want(t, "lease", e.LeaseExpires, TimeOf(b.now.Add(300*time.Second)))
	want(t, "terminal", e.Terminal, "unknown")
	want(t, "the free id", b.FreeAgentID(RoleCoder, b.now), "coder-2")
	r := b.refused("G01", ExitRefused, "coder-1 is registered until 2026-01-19T14:05:00Z by process 41233 on devbox", func() error {
		return b.Register("coder-1", entry("g-2"), person, b.now)
	})
	want(t, "next", r.Next, "liza unregister --force --as coder-1")
	for _, id := range []string{"coder", "coder1", "my-coder-1", "Coder-1"} {
		b.refused("G01", ExitUsage, "is malformed", func() error { return b.Register(id, entry("g-2"), person, b.now) })
	}
	b.refused("G01", ExitUsage, "agent id 'planner-1' is not that of a coder", func() error {
		x := entry("g-2")
		x.Role = RoleCoder
		return b.Register("planner-1", x, person, b.now)
	})
	b.refused("G04", ExitRefused, "runs inside coder-1", func() error { return b.Register("coder-2", entry("g-2"), Actor{ID: Human, Inside: "coder-1"}, b.now) })

	b.after(300*time.Second + time.Second)
	want(t, "the free id later", b.FreeAgentID(RoleCoder, b.now), "coder-1")
	b.must(b.Register("coder-1", entry("g-2"), person, b.now))
	want(t, "the generation", b.Agents["coder-1"].Generation, "g-2")
	b.refused("G02", ExitLeaseLost, "the registration of coder-1 was replaced at", func() error {
		return b.Beat(Actor{ID: "coder-1", TokenHash: "sha256:g-1"}, b.now)
	})

	t.Run("unknown is not over", func(t *testing.T) {
		b.Agents["coder-1"].LeaseExpires = ""
		b.refused("G01", ExitRefused, "coder-1 is registered without a lease", func() error { return b.Register("coder-1", entry("g-3"), person, b.now) })
		want(t, "the free id", b.FreeAgentID(RoleCoder, b.now), "coder-2")
	})
	t.Run("who replaces a process that is gone can take its claim at once", func(t *testing.T) {
		b := team(t)
		b.add("x")
		b.claim("x", "coder-1")
		a := Actor{ID: Human, Facts: ProcessFacts{Host: "devbox", BootID: "boot", Running: func(pid int, _ int64) (bool, bool) { return pid != b.Agents["coder-1"].PID, true }}}
		b.ClearEntries()
		b.must(b.Register("coder-1", &Agent{Generation: "g-new", TokenHash: "sha256:registration-coder-1", Host: "devbox", BootID: "boot", PID: 1}, a, b.now))
		wantList(t, "journal", actions(b.State, ""), []string{"agent_lapsed", "registered"})
		b.must(b.Claim("x", supervisorOf("coder-1"), kept("x"), b.now))
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
	b.ClearEntries()
	b.must(b.Beat(supervisorOf("coder-1"), b.now))
	b.must(b.Beat(supervisorOf("code-reviewer-1"), b.now))
	lease := TimeOf(b.now.Add(1800 * time.Second))
	want(t, "the agent's lease", b.Agents["coder-1"].LeaseExpires, lease)
	want(t, "the claim's lease", b.Task("x").LeaseExpires, lease)
	want(t, "the review's lease", b.Task("y").ReviewLeaseExpires, lease)
	want(t, "the heartbeat", b.Agents["coder-1"].Heartbeat, TimeOf(b.now))
	want(t, "the number of journal entries", len(b.Entries()), 0)
	b.refused("G03", ExitRefused, "a coder may not do this; the supervisor of coder-1 may", func() error { return b.Beat(programOf("coder-1"), b.now) })
	b.refused("G03", ExitRefused, "human may not do this", func() error { return b.Beat(person, b.now) })

	t.Run("not the claim of an earlier registration", func(t *testing.T) {
		b.Task("x").ClaimGeneration = "g-old"
		b.after(time.Minute)
		b.must(b.Beat(supervisorOf("coder-1"), b.now))
		want(t, "the claim's lease", b.Task("x").LeaseExpires, lease)
	})
	t.Run("and no lease of a registration that is STARTING", func(t *testing.T) {
		b := newBoard(t)
		b.must(b.Register("coder-1", &Agent{TokenHash: "sha256:registration-coder-1"}, person, b.now))
		was := b.Agents["coder-1"].LeaseExpires
		b.after(time.Minute)
		b.must(b.Beat(supervisorOf("coder-1"), b.now))
		want(t, "the lease", b.Agents["coder-1"].LeaseExpires, was)
	})
}

func TestAPersonActsForAnAgent(t *testing.T) {
	t.Parallel()
	b := newBoard(t)
	b.must(b.Create(codeTask("x"), false, person, Input{}, b.now))
	a := personAs("coder-1")
	b.refused("G06", ExitRefused, "x is UNCLAIMED", func() error { return b.Submit("x", a, submitted("x", commitOf(2)), b.now) }) // D24: no registration
	b.ClearEntries()
	b.must(b.Claim("x", a, claimed("x"), b.now))
	want(t, "the agent", b.Agents["coder-1"].Status, AgentWorking)
	wantList(t, "journal", actions(b.State, ""), []string{"registered", "claimed"})
	for _, e := range b.Entries() {
		want(t, "via in "+e.Action, e.Extra["via"], any(Human))
	}
	want(t, "via in the history", b.Task("x").last().Via, Human)
	want(t, "the agent in the history", b.Task("x").last().Agent, "coder-1")
	b.valid()
	b.must(b.Create(codeTask("y"), false, person, Input{}, b.now))
	b.refused("G21", ExitRefused, "coder-1 already works on x", func() error { return b.Claim("y", a, claimed("y"), b.now) })
}

func TestAPersonsOwnRegistrationThatRanOutKeepsItsClaim(t *testing.T) {
	t.Parallel()
	b := newBoard(t)
	b.must(b.Create(codeTask("x"), false, person, Input{}, b.now))
	first := personAs("coder-1")
	b.must(b.Claim("x", first, claimed("x"), b.now))
	b.after(3 * time.Hour)
	second := personAs("coder-1")
	second.Register.Generation = "g-second"
	b.must(b.Submit("x", second, submitted("x", commitOf(2)), b.now))
	want(t, "the generation", b.Agents["coder-1"].Generation, first.Register.Generation)
	b.valid()

	t.Run("unless somebody else took it", func(t *testing.T) {
		b := newBoard(t)
		b.must(b.Create(codeTask("x"), false, person, Input{}, b.now))
		b.must(b.Claim("x", personAs("coder-1"), claimed("x"), b.now))
		b.after(3 * time.Hour)
		b.must(b.Claim("x", personAs("coder-2"), claimed("x"), b.now))
		b.refused("G31", ExitLeaseLost, "its lease expired", func() error { return b.Submit("x", personAs("coder-1"), submitted("x", commitOf(2)), b.now) })
	})
	t.Run("unlike the registration of a supervisor", func(t *testing.T) {
		b := team(t)
		b.add("x")
		b.claim("x", "coder-1")
		b.after(3 * time.Hour)
		b.refused("G32", ExitLeaseLost, "belongs to an earlier registration of coder-1", func() error {
			return b.Submit("x", personAs("coder-1"), submitted("x", commitOf(2)), b.now)
		})
		want(t, "the pid", b.Agents["coder-1"].PID != 0, true)
	})
}

func TestAnAgentLapsesAndIsForgotten(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.add("x")
	b.claim("x", "coder-1")
	rebooted := ProcessFacts{Host: "devbox", BootID: "another", Running: func(int, int64) (bool, bool) { return true, true }}
	elsewhere := ProcessFacts{Host: "laptop", BootID: "another"}
	want(t, "from another host", b.Lapse("coder-1", elsewhere, b.now), false)
	want(t, "after a reboot", b.Lapse("coder-1", rebooted, b.now), true)
	want(t, "once more", b.Lapse("coder-1", rebooted, b.now), false)
	want(t, "of nobody", b.Lapse("coder-9", rebooted, b.now), false)
	want(t, "the status stays", b.Agents["coder-1"].Status, AgentWorking)

	b.after(40 * time.Minute)
	b.ClearEntries()
	want(t, "something is forgotten", b.Forget(b.now), false) // they have children, and leases were 30 minutes
	for _, e := range b.Agents {
		e.Child = nil
	}
	b.after(time.Hour)
	want(t, "something is forgotten", b.Forget(b.now), true)
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
	b.refused("G01", ExitRefused, "'coder-9' is not registered", func() error { return b.Unregister("coder-9", person, true, b.now) })
	b.refused("G03", ExitRefused, "coder-1 may not unregister coder-2", func() error { return b.Unregister("coder-2", supervisorOf("coder-1"), false, b.now) })
	b.refused("G03", ExitRefused, "the supervisor of coder-2 may", func() error { return b.Unregister("coder-2", programOf("coder-2"), false, b.now) })
	b.refused("G04", ExitRefused, "runs inside coder-1", func() error { return b.Unregister("coder-2", Actor{ID: Human, Inside: "coder-1"}, true, b.now) })
	b.refused("G76", ExitRefused, "coder-2 is registered until", func() error { return b.Unregister("coder-2", person, false, b.now) })
	b.refused("G21", ExitRefused, "coder-1 still holds x", func() error { return b.Unregister("coder-1", supervisorOf("coder-1"), false, b.now) })
	b.ClearEntries()
	b.must(b.Unregister("coder-2", person, true, b.now))
	b.must(b.Unregister("planner-1", supervisorOf("planner-1"), false, b.now))
	wantList(t, "journal", actions(b.State, ""), []string{"unregistered", "unregistered"})
	b.submit("x", 2)
	b.claimReview("x", "code-reviewer-1")
	b.refused("G21", ExitRefused, "code-reviewer-1 still reviews x", func() error { return b.Unregister("code-reviewer-1", person, true, b.now) })

	t.Run("a person's own needs no force", func(t *testing.T) {
		b := newBoard(t)
		_, err := b.Identify(personAs("coder-1"), b.now)
		b.must(err)
		b.refused("G76", ExitRefused, "coder-1 is registered until", func() error { return b.Unregister("coder-1", person, false, b.now) })
		b.must(b.Unregister("coder-1", personAs("coder-1"), false, b.now))
	})
}

func TestWaiting(t *testing.T) {
	t.Parallel()
	b := team(t)
	a := supervisorOf("coder-1")
	b.must(b.SetWaiting(a, "nothing to do", b.now))
	want(t, "status", b.Agents["coder-1"].Status, AgentWaiting)
	b.must(b.SetWaiting(a, "", b.now))
	want(t, "status", b.Agents["coder-1"].Status, AgentIdle)
	want(t, "waiting_for", b.Agents["coder-1"].WaitingFor, "")
	b.add("x")
	b.claim("x", "coder-1")
	b.must(b.SetWaiting(a, "nothing to do", b.now))
	want(t, "status of one that works", b.Agents["coder-1"].Status, AgentWorking)
}

func TestRunsLeaveTheirTraces(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.add("x")
	b.claim("x", "coder-1")
	cost := 12
	for n := range 12 {
		b.must(b.EndRun(supervisorOf("coder-1"), RunResult{Task: "x", Cost: &cost, Seconds: 60, Crashed: n > 9, Attempt: Attempt{Run: n, Kind: "coder", Outcome: "crashed"},
			Outcome: &LastOutcome{Action: "RETRY"}}, b.now))
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
	want(t, "the next run", b.NextRun("coder-1"), 13)
	want(t, "the next run of nobody", b.NextRun("coder-9"), 1)

	t.Run("a run that outlived its claim belongs to it all the same", func(t *testing.T) {
		b.after(2 * time.Hour)
		b.must(b.Claim("x", supervisorOf("coder-2"), claimed("x"), b.now))
		b.must(b.EndRun(supervisorOf("coder-1"), RunResult{Task: "x"}, b.now))
		want(t, "its claim", x.Attempts[len(x.Attempts)-1].ClaimSeq, 1)
	})
}

func TestP131AnUnchangedTriggerLaunchesThePlannerThreeTimes(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.blocked("x")
	a := supervisorOf("planner-1")
	began := b.now
	var launches []time.Duration
	for range 100 {
		due, next := b.DueTriggers(TriggerFacts{}, b.now)
		if len(due) > 0 {
			launches = append(launches, b.now.Sub(began))
			b.must(b.BeginPlanning(a, due, b.now))
			want(t, "the agent", b.Agents["planner-1"].Status, AgentPlanning)
			b.must(b.EndPlanning(a, due, false, false, b.now))
			continue
		}
		if next.IsZero() {
			break
		}
		b.now = next
	}
	if len(launches) != 3 || launches[0] != 0 || launches[1] != time.Minute || launches[2] != 6*time.Minute {
		t.Errorf("launched after %v, want at once, 60 s later, and 300 s after that", launches)
	}
	r := b.Planner.Triggers["BLOCKED_TASKS"]
	want(t, "suppressed", r.Suppressed, true)
	want(t, "outcome", r.Outcome, "no_op")
	wantList(t, "the end of the journal", actions(b.State, "")[len(b.Entries())-2:], []string{"planner_launched", "planner_suppressed"})
	want(t, "completion", b.CompletionOf(CompletionFacts{}, b.now), CompletionOpen)

	t.Run("an answer launches it again", func(t *testing.T) {
		c := board{t: t, now: b.now, State: b.State.Clone()}
		c.Questions[0].Status, c.Questions[0].Answer = "answered", "no"
		due, _ := c.DueTriggers(TriggerFacts{}, c.now)
		want(t, "the number of due triggers", len(due), 1)
	})
	t.Run("a note lifts the suppression", func(t *testing.T) {
		c := board{t: t, now: b.now, State: b.State.Clone()}
		c.must(c.AddNote(&Note{Message: "look again"}, person, c.now))
		due, _ := c.DueTriggers(TriggerFacts{}, c.now)
		if len(due) != 2 || due[0].Kind != "BLOCKED_TASKS" || due[1].Kind != "HUMAN_NOTE" {
			t.Errorf("due are %v", due)
		}
	})
	t.Run("a planner that ends STUCK suppresses at once", func(t *testing.T) {
		b := team(t)
		b.blocked("x")
		due, _ := b.DueTriggers(TriggerFacts{}, b.now)
		b.must(b.BeginPlanning(a, due, b.now))
		b.must(b.EndPlanning(a, due, false, true, b.now))
		due, next := b.DueTriggers(TriggerFacts{}, b.now.Add(time.Hour))
		want(t, "the number of due triggers", len(due), 0)
		want(t, "nothing is waited for", next.IsZero(), true)
	})
	t.Run("the last launch that resolved it suppresses nothing", func(t *testing.T) {
		b := team(t)
		b.Config["planner_retries"] = 1
		b.blocked("x")
		due, _ := b.DueTriggers(TriggerFacts{}, b.now)
		b.must(b.BeginPlanning(a, due, b.now))
		b.must(b.Unblock("x", a, Input{Reason: "no"}, b.now))
		b.must(b.EndPlanning(a, due, true, false, b.now))
		want(t, "suppressed", b.Planner.Triggers["BLOCKED_TASKS"].Suppressed, false)
	})
}

func TestOnePlannerPlansAtATime(t *testing.T) {
	t.Parallel()
	b := newBoard(t, "planner-1", "planner-2", "coder-1")
	due, _ := b.DueTriggers(TriggerFacts{}, b.now)
	want(t, "the trigger", due[0].Kind, "INITIAL_PLANNING")
	b.refused("G03", ExitRefused, "coder-1 may not plan", func() error { return b.BeginPlanning(supervisorOf("coder-1"), due, b.now) })
	b.refused("", ExitNothing, "no reason to plan", func() error { return b.BeginPlanning(supervisorOf("planner-1"), nil, b.now) })
	b.must(b.BeginPlanning(supervisorOf("planner-1"), due, b.now))
	b.refused("G21", ExitRefused, "planner-1 is planning", func() error { return b.BeginPlanning(supervisorOf("planner-2"), due, b.now) })
	b.after(2 * time.Hour)
	b.must(b.BeginPlanning(supervisorOf("planner-2"), due, b.now))
}

func TestTheTriggers(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		kind string
		make func(*board)
		ids  []string
		then func(*board) // changes the fingerprint or ends the trigger
	}{
		{"INITIAL_PLANNING", func(*board) {}, []string{"goal-1"}, func(b *board) { b.add("x") }},
		{"REPLAN", func(b *board) {
			b.ready("x", 2)
			b.claimReview("x", "code-reviewer-1")
			b.must(b.Replan("x", programOf("code-reviewer-1"), Input{Reason: "another way"}, b.now))
		}, []string{"x"}, func(b *board) { b.Task("x").BlockedReason = "yet another way" }},
		{"BLOCKED_TASKS", func(b *board) { b.blocked("x") }, []string{"x"}, func(b *board) { b.Questions[0].Answer = "no" }},
		{"INTEGRATION_FAILED", func(b *board) { b.failed("x", 2) }, []string{"x"}, func(b *board) { b.Task("x").last().Time = "2026-01-19T18:00:00Z" }},
		{"IMMEDIATE_DISCOVERY", func(b *board) {
			b.add("x")
			b.Discovered = []*Discovery{nil, {ID: "disc-1", Urgency: "immediate"}, {ID: "disc-2", Urgency: "deferred"}, {ID: "disc-3", Urgency: "immediate", ConvertedToTask: "x"}}
		}, []string{"disc-1"}, func(b *board) { b.Discovered[1].Deferred = &Deferred{By: "ada"} }},
		{"HUMAN_NOTE", func(b *board) {
			b.add("x")
			b.must(b.AddNote(&Note{Message: "keep it small"}, person, b.now))
			b.must(b.AddNote(&Note{Message: "for the coder", For: "x"}, person, b.now))
			b.HumanNotes[0].SeenBy = List{"coder-1"}
			b.Questions = []*Question{{ID: "q-1", Agent: "planner-1", Text: "Which?", Status: "answered", Answer: "this"}}
		}, []string{"note-1", "q-1"}, func(b *board) {
			due, _ := b.DueTriggers(TriggerFacts{}, b.now)
			b.must(b.BeginPlanning(supervisorOf("planner-1"), due, b.now))
			b.must(b.EndPlanning(supervisorOf("planner-1"), due, true, false, b.now))
		}},
		{"SPEC_CHANGED", func(b *board) {
			b.add("x")
			b.SpecChanges = []*SpecChange{nil, {Timestamp: TimeOf(b.now), Spec: "specs/vision.md", Change: "more"}}
		}, []string{"specs/vision.md@2026-01-19T14:00:00Z"}, func(b *board) { b.Planner = &Planner{LastRun: &PlannerRun{At: TimeOf(b.now)}} }},
		{"DRAFTS_PENDING", func(b *board) { b.must(b.Create(codeTask("x"), true, person, Input{}, b.now)) }, []string{"x"}, func(b *board) {
			b.Agents["planner-1"].Status = AgentPlanning
		}},
		{"REVIEW_STUCK", func(b *board) {
			b.ready("x", 2)
			b.claimReview("x", "code-reviewer-1")
			b.must(b.ReleaseReview("x", supervisorOf("code-reviewer-1"), Input{What: "stuck", Reason: "r"}, b.now))
		}, []string{"x"}, func(b *board) { b.must(b.UnholdTask("x", person, Input{}, b.now)) }},
	} {
		t.Run(x.kind, func(t *testing.T) {
			t.Parallel()
			b := team(t)
			x.make(b)
			all := b.Triggers(TriggerFacts{SpecHash: "sha256:1"}, b.now)
			if len(all) != 1 || all[0].Kind != x.kind {
				t.Fatalf("the triggers are %v", all)
			}
			wantList(t, "the ids", all[0].IDs, x.ids)
			b.after(time.Second)
			b.must(b.Beat(supervisorOf("coder-1"), b.now))
			want(t, "the fingerprint after a heartbeat", b.Triggers(TriggerFacts{SpecHash: "sha256:1"}, b.now)[0].Fingerprint, all[0].Fingerprint)
			x.then(b)
			after := b.Triggers(TriggerFacts{SpecHash: "sha256:1"}, b.now)
			if len(after) == 1 && after[0].Fingerprint == all[0].Fingerprint {
				t.Error("it is still true unchanged")
			}
		})
	}
	t.Run("all in their order, blocked tasks by priority", func(t *testing.T) {
		t.Parallel()
		b := team(t)
		two := 2
		b.blocked("low").Priority = &two
		b.blocked("high")
		b.must(b.Create(codeTask("draft"), true, person, Input{}, b.now))
		b.must(b.AddNote(&Note{Message: "keep it small"}, person, b.now))
		var kinds []string
		for _, tr := range b.Triggers(TriggerFacts{}, b.now) {
			kinds = append(kinds, tr.Kind)
		}
		wantList(t, "the kinds", kinds, []string{"BLOCKED_TASKS", "HUMAN_NOTE", "DRAFTS_PENDING"})
		wantList(t, "the blocked ones", b.Triggers(TriggerFacts{}, b.now)[0].IDs, []string{"high", "low"})
		b.Goal.Status = Completed
		want(t, "the number of triggers of a completed goal", len(b.Triggers(TriggerFacts{}, b.now)), 0)
	})
	t.Run("with plan.human_review drafts wait for people", func(t *testing.T) {
		t.Parallel()
		b := team(t)
		b.must(b.Create(codeTask("draft"), true, person, Input{}, b.now))
		want(t, "the number of triggers", len(b.Triggers(TriggerFacts{HumanReview: true}, b.now)), 0)
	})
	t.Run("an archived task is a task", func(t *testing.T) {
		t.Parallel()
		b := team(t)
		want(t, "the number of triggers", len(b.Triggers(TriggerFacts{Archived: map[string]Status{"old": Merged}}, b.now)), 0)
	})
	t.Run("what changes while the planner runs is news", func(t *testing.T) {
		t.Parallel()
		b := team(t)
		b.blocked("x")
		due, _ := b.DueTriggers(TriggerFacts{}, b.now)
		b.must(b.BeginPlanning(supervisorOf("planner-1"), due, b.now))
		b.after(time.Minute)
		b.SpecChanges = []*SpecChange{{Timestamp: TimeOf(b.now), Spec: "specs/vision.md", Change: "more"}}
		b.after(time.Minute)
		b.must(b.EndPlanning(supervisorOf("planner-1"), due, false, false, b.now))
		all := b.Triggers(TriggerFacts{}, b.now)
		want(t, "the last trigger", all[len(all)-1].Kind, "SPEC_CHANGED")
	})
}

func TestP139P140Completion(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.done("x", 2)
	for name, f := range map[string]func(*board){
		"P-140 a REJECTED task":    func(b *board) { b.rejected("y", 3) },
		"P-140 a BLOCKED task":     func(b *board) { b.blocked("y") },
		"P-140 a DRAFT":            func(b *board) { b.must(b.Create(codeTask("y"), true, supervisorOf("planner-1"), Input{}, b.now)) },
		"a note for the planner":   func(b *board) { b.must(b.AddNote(&Note{Message: "one more thing"}, person, b.now)) },
		"a planner that plans":     func(b *board) { b.Agents["planner-1"].Status = AgentPlanning },
		"a sprint at a checkpoint": func(b *board) { b.must(b.CheckpointSprint("look", "f", person, b.now)) },
		"an aborted goal":          func(b *board) { b.must(b.AbortGoal("no", person, b.now)) },
		"no sprint":                func(b *board) { b.Sprint = nil },
	} {
		t.Run(name, func(t *testing.T) {
			c := &board{t: t, now: b.now, State: b.State.Clone()}
			f(c)
			got, changed := c.CompleteGoal(CompletionFacts{}, c.now)
			if got != CompletionOpen || changed {
				t.Errorf("completion is %q", got)
			}
		})
	}
	want(t, "with a control file", b.CompletionOf(CompletionFacts{Control: true}, b.now), CompletionOpen)
	b.ClearEntries()
	got, changed := b.CompleteGoal(CompletionFacts{}, b.now)
	if got != CompletionComplete || !changed {
		t.Fatalf("completion is %q", got)
	}
	want(t, "the goal", b.Goal.Status, Completed)
	want(t, "completed_at", b.Goal.CompletedAt, TimeOf(b.now))
	want(t, "the sprint", b.Sprint.Status, Completed)
	want(t, "its end", b.Sprint.Timeline.Ended, TimeOf(b.now))
	wantList(t, "journal", actions(b.State, ""), []string{"goal_completed", "sprint_completed"})
	want(t, "the alignment history", b.Goal.AlignmentHistory[len(b.Goal.AlignmentHistory)-1].Event, "completed")
	_, changed = b.CompleteGoal(CompletionFacts{}, b.now)
	want(t, "a second time", changed, false)

	t.Run("a person's new task reopens the goal", func(t *testing.T) {
		c := &board{t: t, now: b.now, State: b.State.Clone()}
		c.refused("G12", ExitUsage, "missing", func() error { return c.Create(&Task{ID: "z"}, false, person, Input{}, c.now) })
		c.must(c.Create(codeTask("z"), false, person, Input{}, c.now))
		want(t, "the goal", c.Goal.Status, InProgress)
		want(t, "completed_at", c.Goal.CompletedAt, "")
		want(t, "the alignment history", c.Goal.AlignmentHistory[len(c.Goal.AlignmentHistory)-1].Event, "reopened")
	})
	t.Run("a closing message alone completes nothing", func(t *testing.T) {
		b := team(t)
		msg := plainTask("final-msg", "msg")
		msg.AfterPlan = true
		b.create(msg)
		b.must(b.Claim("final-msg", supervisorOf("coder-1"), Input{Claim: &ClaimFacts{Base: integrationHead}}, b.now))
		b.must(b.Submit("final-msg", supervisorOf("coder-1"), Input{}, b.now))
		got, _ := b.CompleteGoal(CompletionFacts{}, b.now)
		want(t, "completion", got, CompletionNothingMerged)
		want(t, "the goal", b.Goal.Status, InProgress)
		want(t, "the sprint", b.Sprint.Status, Completed)
	})
	t.Run("nothing at all is not completed", func(t *testing.T) {
		b := team(t)
		want(t, "completion", b.CompletionOf(CompletionFacts{}, b.now), CompletionOpen)
		old := CompletionFacts{Triggers: TriggerFacts{Archived: map[string]Status{"old": Merged}}}
		want(t, "completion with an archive", b.CompletionOf(old, b.now), CompletionComplete)
	})
}

func TestCheckpointsAndDecisions(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.must(b.CheckpointSprint("look at it", ".liza/checkpoints/001.md", person, b.now))
	want(t, "the sprint", b.Sprint.Status, AtCheckpoint)
	b.refused("G06", ExitRefused, "the sprint is CHECKPOINT", func() error { return b.CheckpointSprint("again", "", person, b.now) })
	b.refused("G09", ExitUsage, "decision 'MAYBE' is unknown", func() error { return b.ResumeSprint("MAYBE", "", person, b.now) })
	b.CircuitBreaker = &CircuitBreaker{Status: BreakerTripped}
	r := b.refused("G07", ExitRefused, "the circuit breaker is TRIGGERED", func() error { return b.ResumeSprint("", "", person, b.now) })
	want(t, "next", r.Next, "liza ack")
	b.CircuitBreaker.Status = BreakerOK
	b.ClearEntries()
	for _, x := range []struct {
		decision, want string
		journal        []string
	}{
		{"", "CONTINUE", []string{"checkpoint_decision", "sprint_resumed"}},
		{"REPLAN", "REPLAN", []string{"checkpoint_decision", "sprint_resumed", "note"}},
		{"ADJUST_SPECS", "ADJUST_SPECS", []string{"checkpoint_decision", "sprint_resumed"}},
		{"STOP", "STOP", []string{"checkpoint_decision", "goal_aborted", "aborted", "sprint_aborted"}},
	} {
		c := &board{t: t, now: b.now, State: b.State.Clone()}
		c.must(c.ResumeSprint(x.decision, "as agreed", person, c.now))
		want(t, "the decision", c.Sprint.Checkpoints[0].Decision, x.want)
		want(t, "who decided", c.Sprint.Checkpoints[0].DecidedBy, "ada")
		wantList(t, "journal of "+x.want, actions(c.State, ""), x.journal)
		switch x.want {
		case "STOP":
			want(t, "the goal", c.Goal.Status, Aborted)
			want(t, "the sprint", c.Sprint.Status, Aborted)
		case "REPLAN":
			want(t, "the note", c.HumanNotes[0].Message, "REPLAN: as agreed")
		default:
			want(t, "the sprint", c.Sprint.Status, InProgress)
			want(t, "checkpoint_at", c.Sprint.Timeline.CheckpointAt, "")
		}
	}
	t.Run("resume after an abort", func(t *testing.T) {
		b := team(t)
		b.must(b.AbortSprint("fire", person, b.now))
		want(t, "the sprint", b.Sprint.Status, Aborted)
		b.must(b.ResumeSprint("", "", person, b.now))
		want(t, "the sprint", b.Sprint.Status, InProgress)
		want(t, "its end", b.Sprint.Timeline.Ended, "")
		b.must(b.AbortGoal("enough", person, b.now))
		b.refused("G06", ExitRefused, "the goal is ABORTED", func() error { return b.AbortGoal("enough", person, b.now) })
		b.refused("G06", ExitRefused, "the goal is ABORTED and cannot be stopped", func() error { return b.ResumeSprint("STOP", "", person, b.now) })
		b.must(b.ResumeSprint("", "", person, b.now))
		want(t, "the sprint of an aborted goal", b.Sprint.Status, Aborted)
	})
}

func TestNotes(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.must(b.AddNote(&Note{ID: "mail-1", Message: "keep it small"}, person, b.now))
	b.already("the note", func() error { return b.AddNote(&Note{ID: "mail-1", Message: "other"}, person, b.now) })
	b.refused("G09", ExitUsage, "the note is empty", func() error { return b.AddNote(&Note{Message: " "}, person, b.now) })
	b.refused("G05", ExitRefused, "no task 'x'", func() error { return b.AddNote(&Note{Message: "m", For: "x"}, person, b.now) })
	b.refused("G03", ExitRefused, "notes are for people", func() error { return b.AddNote(&Note{Message: "m"}, programOf("coder-1"), b.now) })
	b.refused("G04", ExitRefused, "runs inside coder-1", func() error { return b.AddNote(&Note{Message: "m"}, Actor{ID: Human, Inside: "coder-1"}, b.now) })
	b.must(b.AddNote(&Note{Message: "next"}, person, b.now))
	want(t, "the next id", b.HumanNotes[1].ID, "note-1")
	want(t, "who wrote it", b.HumanNotes[1].By, "ada")
}

func TestMerges(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.ready("x", 2)
	intend := func(a Actor, change func(*MergeFacts)) func() error {
		in := mergeable(commitOf(901))
		if change != nil {
			change(in.Merge)
		}
		return func() error { return b.IntendMerge("x", a, in, b.now) }
	}
	b.refused("G06", ExitRefused, "x is READY_FOR_REVIEW; merge intent needs APPROVED", intend(system, nil))
	b.claimReview("x", "code-reviewer-1")
	b.approve("x")
	for _, id := range []string{"coder-1", "planner-1"} { // P-119
		b.refused("G61", ExitRefused, "may not merge intent; human, system or S(code_reviewer) may", intend(programOf(id), nil))
		b.refused("G61", ExitRefused, "may not merge", func() error { return b.FinishMerge("x", supervisorOf(id), mergeable(commitOf(901)), b.now) })
	}
	b.refused("G62", ExitFailure, "of task x is gone", intend(system, func(f *MergeFacts) { f.CommitGone = true }))
	b.refused("G63", ExitRefused, "the branch integration does not exist", intend(system, func(f *MergeFacts) { f.IntegrationExists = false }))
	b.refused("G64", ExitRefused, "integration is checked out in /home/ada/project", intend(system, func(f *MergeFacts) { f.CheckedOutAt = "/home/ada/project" }))
	b.refused("", ExitFailure, "does not contain the work of x", func() error { return b.FinishMerge("x", system, Input{}, b.now) })
	b.refused("", ExitFailure, "no failure of the integration of x is shown", func() error { return b.FailIntegration("x", system, Input{}, b.now) })
	b.ClearEntries()
	b.must(intend(supervisorOf("code-reviewer-1"), nil)())
	want(t, "the number of journal entries of an intent", len(b.Entries()), 0)
	b.valid()
	in := mergeable(commitOf(901))
	in.Merge.Drift, in.AsAgent = 2, "code-reviewer-1"
	b.must(b.HoldTask("x", person, Input{Reason: "too late"}, b.now))
	b.ClearEntries()
	b.must(b.FinishMerge("x", system, in, b.now))
	x := b.status("x", Merged)
	want(t, "merge_commit", x.MergeCommit, commitOf(901))
	want(t, "worktree", x.Worktree, "")
	want(t, "drift", x.last().DriftCommits, 2)
	want(t, "the journal's author", b.Entries()[0].Agent, "code-reviewer-1")
	want(t, "the journal's commit", b.Entries()[0].Extra["merge_commit"], any(commitOf(901)))
	b.valid()
	b.already("the merge", func() error { return b.FinishMerge("x", system, in, b.now) })
	b.already("the merge by another", func() error { return b.FinishMerge("x", person, in, b.now) })
	b.already("the intent", intend(system, nil))
	b.refused("G06", ExitRefused, "x is MERGED", func() error { return b.FinishMerge("x", system, mergeable(commitOf(7)), b.now) })

	t.Run("a failure", func(t *testing.T) {
		b := team(t)
		b.ready("y", 2)
		b.claimReview("y", "code-reviewer-1")
		b.approve("y")
		b.must(b.IntendMerge("y", system, mergeable(commitOf(901)), b.now))
		b.ClearEntries()
		b.must(b.FailIntegration("y", system, Input{Merge: &MergeFacts{Reason: "checks", Log: "a.log", Files: List{"a.go"}}}, b.now))
		y := b.status("y", IntegrationFailed)
		if y.MergeIntent != nil || y.ApprovedBy != "" || y.ApprovedCommit != commitOf(2) || y.Worktree == "" {
			t.Errorf("the task is %+v", y)
		}
		e := b.Entries()[0]
		want(t, "the journal", e.Detail, "checks: a.go, see a.log")
		want(t, "the journal's log", e.Extra["log"], any("a.log"))
		b.valid()
	})
}

func TestP168P169TheFiguresOfASprint(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.done("a", 2)
	b.done("b", 3)
	b.rejected("c", 4)
	b.must(b.Claim("c", supervisorOf("coder-1"), kept("c"), b.now))
	b.submit("c", 5)
	b.claimReview("c", "code-reviewer-1")
	b.approve("c")
	b.merge("c")
	m := b.Sprint.Metrics
	for what, x := range map[string][2]int{
		"approvals": {m.ReviewVerdictApprovals, 3}, "rejections": {m.ReviewVerdictRejections, 1}, "verdicts": {m.ReviewVerdictCount, 4},
		"submissions": {m.TaskSubmittedForReviewCount, 4}, "iterations": {m.IterationsTotal, 4}, "cycles": {m.ReviewCyclesTotal, 1},
		"done": {m.TasksDone, 3}, "in progress": {m.TasksInProgress, 0}, "blocked": {m.TasksBlocked, 0},
		"approval rate": {*m.ReviewVerdictApprovalRatePercent, 75}, "outcome rate": {*m.TaskOutcomeApprovalRatePercent, 100},
	} {
		want(t, what, x[0], x[1])
	}
	b.add("d")
	_, err := b.Abandon("d", person, Input{Reason: "r"}, b.now)
	b.must(err)
	want(t, "the outcome rate with one abandoned", *m.TaskOutcomeApprovalRatePercent, 75)

	t.Run("archived tasks still count", func(t *testing.T) {
		b.Tasks = b.Tasks[2:]
		in := Input{Archived: map[string]Status{"a": Merged, "b": Merged, "of-another-sprint": Merged}}
		b.must(b.Create(codeTask("e"), false, person, in, b.now))
		in.Reason = "r"
		_, err := b.Abandon("e", person, in, b.now)
		b.must(err)
		want(t, "the outcome rate: 3 of 5", *m.TaskOutcomeApprovalRatePercent, 60)
	})
	t.Run("P-169 five approvals of five are suspicious, four are not", func(t *testing.T) {
		b := team(t)
		for n := 1; n <= 5; n++ {
			b.done("task-"+itoa(n), n+1)
			var found []string
			for _, v := range Validate(b.State, nil, Facts{Now: b.now}) {
				if v.Rule == "V64" {
					found = append(found, v.Message)
				}
			}
			want(t, "warnings after "+itoa(n), len(found), n/5)
		}
	})
	t.Run("a person's approval is no verdict", func(t *testing.T) {
		b := team(t)
		b.approvedStrict("x")
		b.must(b.ApproveMerge("x", person, Input{}, b.now))
		want(t, "approvals", b.Sprint.Metrics.ReviewVerdictApprovals, 1)
	})
	t.Run("nothing of nothing is no rate", func(t *testing.T) {
		b := team(t)
		b.add("x")
		if m := b.Sprint.Metrics; m.ReviewVerdictApprovalRatePercent != nil || m.TaskOutcomeApprovalRatePercent != nil {
			t.Error("0 of 0 has a rate")
		}
	})
}
