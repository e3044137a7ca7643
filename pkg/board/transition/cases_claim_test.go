package transition

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
)

// The cases about claims, as far as the state shows them.

func TestP040AClaim(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.add("x")
	b.TakeEntries(0)
	in := claimed("x")
	in.SpecHash = "sha256:7d5f"
	b.must(Claim(b.State, "x", supervisorOf("coder-1"), in, b.now))
	x := b.status("x", blackboard.Claimed)
	want(t, "assigned_to", x.AssignedTo, "coder-1")
	want(t, "claim_generation", x.ClaimGeneration, b.Agents["coder-1"].Generation)
	want(t, "claim_seq", x.ClaimSeq, 1)
	want(t, "iteration", x.Iteration, 1)
	want(t, "worktree", x.Worktree, ".worktrees/x")
	want(t, "base_commit", x.BaseCommit, integrationHead)
	want(t, "spec_hash", x.SpecHash, "sha256:7d5f")
	want(t, "the lease", x.LeaseExpires, blackboard.TimeOf(b.now.Add(1800*time.Second)))
	want(t, "the agent's lease", b.Agents["coder-1"].LeaseExpires, x.LeaseExpires)
	want(t, "the agent", b.Agents["coder-1"].Status, blackboard.AgentWorking)
	want(t, "current_task", b.Agents["coder-1"].CurrentTask, "x")
	h := x.Last()
	want(t, "the event", h.Event, "claimed")
	want(t, "its iteration", h.Iteration, 1)
	want(t, "its base", h.BaseCommit, integrationHead)
	wantList(t, "journal", actions(b.State, ""), []string{"claimed"})
	want(t, "the journal's line", b.Entries()[0].Detail, "attempt 1, iteration 1, base 000000000")
	b.valid()
}

func TestP041OnlyOneOfManyGetsTheTask(t *testing.T) {
	t.Parallel()
	b := newBoard(t, "planner-1")
	b.add("x")
	won := 0
	for n := 1; n <= 16; n++ {
		b.register("coder-" + strconv.Itoa(n))
	}
	for n := 1; n <= 16; n++ {
		a := supervisorOf("coder-" + strconv.Itoa(n))
		if task, _ := NextTask(b.State, a, Input{}, b.now); task == nil {
			continue
		}
		if Reserve(b.State, "x", a, claimed("x"), b.now) == nil {
			won++
		}
	}
	want(t, "the number of reservations", won, 1)
	b.refused("G22", ExitRefused, "coder-1 is preparing task x since", func() error { return Reserve(b.State, "x", supervisorOf("coder-2"), claimed("x"), b.now) })
	_, why := NextTask(b.State, supervisorOf("coder-2"), Input{}, b.now)
	if !strings.Contains(why, "coder-1 is preparing task x") {
		t.Errorf("coder-2 waits for %q", why)
	}
}

func TestP042ManyCodersGetDifferentTasks(t *testing.T) {
	t.Parallel()
	b := newBoard(t, "planner-1")
	seen := map[string]bool{}
	for n := 1; n <= 16; n++ {
		b.register("coder-" + strconv.Itoa(n))
		b.add("task-" + strconv.Itoa(n))
	}
	for n := 1; n <= 16; n++ {
		a := supervisorOf("coder-" + strconv.Itoa(n))
		task, why := NextTask(b.State, a, Input{}, b.now)
		if task == nil {
			t.Fatalf("coder-%d gets nothing: %s", n, why)
		}
		b.must(Reserve(b.State, task.ID, a, claimed(task.ID), b.now))
		in := claimed(task.ID)
		in.Claim.Confirm = true
		b.must(Claim(b.State, task.ID, a, in, b.now))
		seen[task.ID] = true
	}
	want(t, "the number of tasks given out", len(seen), 16)
	b.valid()
}

func TestP043AnAgentHoldsOneTask(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.add("x")
	b.add("y")
	b.claim("x", "coder-1")
	b.refused("G21", ExitRefused, "coder-1 already works on x", func() error { return Claim(b.State, "y", supervisorOf("coder-1"), claimed("y"), b.now) })
	task, _ := NextTask(b.State, supervisorOf("coder-1"), Input{}, b.now)
	if task == nil || task.ID != "y" {
		t.Errorf("without a name coder-1 is given %v, want y, so that the claim can say why not", task)
	}
}

func TestReservations(t *testing.T) {
	t.Parallel()
	reserved := func(t *testing.T) *board {
		b := team(t)
		b.add("x")
		b.must(Reserve(b.State, "x", supervisorOf("coder-1"), claimed("x"), b.now))
		return b
	}
	confirm := claimed("x")
	confirm.Claim.Confirm = true
	t.Run("phase three needs the reservation", func(t *testing.T) {
		t.Parallel()
		b := reserved(t)
		b.refused("G22", ExitRefused, "the reservation of x by coder-2 is over", func() error { return Claim(b.State, "x", supervisorOf("coder-2"), confirm, b.now) })
		b.must(Claim(b.State, "x", supervisorOf("coder-1"), confirm, b.now))
		if b.Task("x").Claiming != nil {
			t.Error("the reservation outlives the claim")
		}
	})
	t.Run("it ends by its time", func(t *testing.T) {
		t.Parallel()
		b := reserved(t)
		b.after(121 * time.Second)
		b.refused("G22", ExitRefused, "the reservation of x by coder-1 is over", func() error { return Claim(b.State, "x", supervisorOf("coder-1"), confirm, b.now) })
		b.must(Reserve(b.State, "x", supervisorOf("coder-2"), claimed("x"), b.now))
	})
	t.Run("it ends with a new registration of its agent", func(t *testing.T) {
		t.Parallel()
		b := reserved(t)
		b.Agents["coder-1"].Generation = "g-new"
		b.must(Reserve(b.State, "x", supervisorOf("coder-2"), claimed("x"), b.now))
	})
	t.Run("it ends when its agent's process is gone", func(t *testing.T) {
		t.Parallel()
		b := reserved(t)
		a := supervisorOf("coder-2")
		a.Facts = blackboard.ProcessFacts{Host: "devbox", BootID: "boot", Running: func(int, int64) (bool, bool) { return false, true }}
		b.must(Reserve(b.State, "x", a, claimed("x"), b.now))
	})
	t.Run("its agent takes it back, and nobody else", func(t *testing.T) {
		t.Parallel()
		b := reserved(t)
		CancelReserve(b.State, "x", supervisorOf("coder-2"))
		CancelReserve(b.State, "x", Actor{ID: "coder-1", TokenHash: "sha256:old"})
		if b.Task("x").Claiming == nil {
			t.Error("somebody else took the reservation back")
		}
		CancelReserve(b.State, "x", supervisorOf("coder-1"))
		if b.Task("x").Claiming != nil {
			t.Error("the reservation was not taken back")
		}
	})
	t.Run("a hold in between stops phase three", func(t *testing.T) {
		t.Parallel()
		b := reserved(t)
		b.must(HoldTask(b.State, "x", person, Input{Reason: "wait"}, b.now))
		b.refused("G08", ExitRefused, "on hold by ada", func() error { return Claim(b.State, "x", supervisorOf("coder-1"), confirm, b.now) })
	})
	t.Run("a claim without a worktree is none", func(t *testing.T) {
		t.Parallel()
		b := reserved(t)
		in := Input{Claim: &ClaimFacts{Confirm: true, Base: integrationHead}}
		b.refused("G29", ExitFailure, "no worktree was provided for task x", func() error { return Claim(b.State, "x", supervisorOf("coder-1"), in, b.now) })
	})
}

func TestP044P071AnExpiredClaimIsReclaimed(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.add("x")
	b.claim("x", "coder-1")
	lease := b.Task("x").LeaseExpires
	b.after(1860 * time.Second)
	b.refused("G27", ExitRefused, "x is held by coder-1 until "+string(lease), func() error { return Claim(b.State, "x", supervisorOf("coder-2"), claimed("x"), b.now) })
	b.after(time.Second)
	b.TakeEntries(0)
	in := claimed("x")
	in.Attic = "refs/liza/attic/x/1"
	b.must(Claim(b.State, "x", supervisorOf("coder-2"), in, b.now))
	x := b.status("x", blackboard.Claimed)
	wantList(t, "history", events(x)[2:], []string{"claimed", "lease_expired", "claimed"})
	expired, taken := x.History[len(x.History)-2], x.Last()
	want(t, "the holder", expired.Holder, "coder-1")
	want(t, "the lease that ran out", expired.Lease, lease)
	want(t, "who lets it expire", expired.Agent, blackboard.System)
	want(t, "the cause", expired.Cause, "the lease expired at "+string(lease))
	want(t, "previous_assignee", taken.PreviousAssignee, "coder-1")
	want(t, "attic", taken.Attic, "refs/liza/attic/x/1")
	want(t, "claim_seq", x.ClaimSeq, 2)
	want(t, "iteration", x.Iteration, 2)
	wantList(t, "journal", actions(b.State, "x"), []string{"lease_expired", "claimed"})
	want(t, "the journal's author of the expiry", b.Entries()[0].Agent, blackboard.System)
	lapsed := x.Attempts[len(x.Attempts)-1]
	want(t, "the former attempt", lapsed.Outcome, "lapsed")
	want(t, "its number", lapsed.ClaimSeq, 1)
	want(t, "the former holder", b.Agents["coder-1"].Status, blackboard.AgentIdle)
	want(t, "its task", b.Agents["coder-1"].CurrentTask, "")
	b.valid()

	// P-071: the former holder comes too late.
	b.refused("G31", ExitLeaseLost, "its lease expired", func() error { return Submit(b.State, "x", programOf("coder-1"), submitted("x", commitOf(2)), b.now) })
	b.submit("x", 3)
	b.refused("G06", ExitLeaseLost, "x is READY_FOR_REVIEW", func() error { return Submit(b.State, "x", programOf("coder-1"), submitted("x", commitOf(2)), b.now) })
}

func TestAnExpiredClaimOfOnesOwnGoesOn(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.add("x")
	b.claim("x", "coder-1")
	b.after(2 * time.Hour)
	b.must(Claim(b.State, "x", supervisorOf("coder-1"), kept("x"), b.now))
	x := b.status("x", blackboard.Claimed)
	want(t, "iteration", x.Iteration, 2)
	want(t, "claim_seq", x.ClaimSeq, 2)
	want(t, "previous_assignee", x.Last().PreviousAssignee, "")
	want(t, "the agent", b.Agents["coder-1"].CurrentTask, "x")
	b.valid()
}

func TestP045ADeadHolderNeedsNoWaiting(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.add("x")
	b.claim("x", "coder-1")
	gone := blackboard.ProcessFacts{Host: "devbox", BootID: "boot", Running: func(pid int, _ int64) (bool, bool) { return pid != b.Agents["coder-1"].PID, true }}
	a := supervisorOf("coder-2")
	a.Facts = gone
	b.TakeEntries(0)
	b.must(Reserve(b.State, "x", a, claimed("x"), b.now))
	wantList(t, "journal of the reservation", actions(b.State, ""), []string{"agent_lapsed"})
	over := blackboard.TimeOf(b.now.Add(-61 * time.Second))
	want(t, "the agent's lease", b.Agents["coder-1"].LeaseExpires, over)
	want(t, "the claim's lease", b.Task("x").LeaseExpires, over)
	in := claimed("x")
	in.Claim.Confirm = true
	b.must(Claim(b.State, "x", a, in, b.now))
	wantList(t, "journal", actions(b.State, ""), []string{"agent_lapsed", "lease_expired", "claimed"})
	b.valid()

	t.Run("a process that cannot be looked at is not dead", func(t *testing.T) {
		b := team(t)
		b.add("x")
		b.claim("x", "coder-1")
		a := supervisorOf("coder-2")
		a.Facts = blackboard.ProcessFacts{Host: "devbox", BootID: "boot", Running: func(int, int64) (bool, bool) { return false, false }}
		b.refused("G27", ExitRefused, "x is held by coder-1 until", func() error { return Claim(b.State, "x", a, claimed("x"), b.now) })
		a.Facts.ClockJumped = true
		b.refused("G27", ExitRefused, "the liveness of coder-1 is unknown: the clock of this machine jumped", func() error { return Claim(b.State, "x", a, claimed("x"), b.now) })
	})
	t.Run("a process that cannot be stopped keeps the task", func(t *testing.T) {
		b := team(t)
		b.add("x")
		b.claim("x", "coder-1")
		b.after(2 * time.Hour)
		in := claimed("x")
		in.Claim.ChildError = "could not stop process 4711 of coder-1"
		b.refused("G28", ExitFailure, "could not stop process 4711", func() error { return Claim(b.State, "x", supervisorOf("coder-2"), in, b.now) })
	})
}

func TestP046ALiveClaimIsNotGivenAway(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.add("x")
	x := b.claim("x", "coder-1")
	b.refused("G27", ExitRefused, "task x is held by coder-1 until "+string(x.LeaseExpires), func() error {
		return Claim(b.State, "x", supervisorOf("coder-2"), claimed("x"), b.now)
	})
	if task, _ := NextTask(b.State, supervisorOf("coder-2"), Input{}, b.now); task != nil {
		t.Errorf("coder-2 is given %s", task.ID)
	}
}

func TestP047TheSameCoderGoesOnAfterARejection(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.rejected("x", 2)
	b.must(Claim(b.State, "x", supervisorOf("coder-1"), kept("x"), b.now))
	x := b.status("x", blackboard.Claimed)
	want(t, "the event", x.Last().Event, "reclaimed_after_rejection")
	want(t, "iteration", x.Iteration, 2)
	want(t, "claim_seq", x.ClaimSeq, 2)
	want(t, "base_commit", x.BaseCommit, integrationHead)
	want(t, "worktree", x.Worktree, ".worktrees/x")
	want(t, "review_cycles_current", x.ReviewCyclesCurrent, 1)
	want(t, "review_commit", x.ReviewCommit, commitOf(2))
	if x.RejectionReason == nil {
		t.Error("the reason of the rejection is forgotten")
	}
}

func TestP048AnotherCoderBeginsAfreshAfterARejection(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.rejected("x", 2)
	b.after(2 * time.Hour) // coder-1 is gone
	in := claimed("x")
	in.Claim.Base, in.Attic = commitOf(50), "refs/liza/attic/x/1"
	b.must(Claim(b.State, "x", supervisorOf("coder-2"), in, b.now))
	x := b.status("x", blackboard.Claimed)
	want(t, "the event", x.Last().Event, "reassigned_after_rejection")
	want(t, "previous_assignee", x.Last().PreviousAssignee, "coder-1")
	want(t, "attic", x.Last().Attic, "refs/liza/attic/x/1")
	want(t, "iteration", x.Iteration, 2)
	want(t, "base_commit", x.BaseCommit, commitOf(50))
	want(t, "review_cycles_current", x.ReviewCyclesCurrent, 1)
	want(t, "review_cycles_total", x.ReviewCyclesTotal, 1)
	if x.RejectionReason == nil {
		t.Error("the reason of the rejection is forgotten")
	}
	b.refused("G31", ExitLeaseLost, "reclaimed by coder-2", func() error { return Submit(b.State, "x", programOf("coder-1"), submitted("x", commitOf(3)), b.now) })
	b.refused("G31", ExitLeaseLost, "", func() error { return Retry(b.State, "x", supervisorOf("coder-1"), Input{}, b.now) })
}

func TestP049ARejectedTaskWaitsForItsLiveCoder(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.rejected("x", 2)
	b.add("y")
	until := blackboard.TimeOf(b.now.Add(300 * time.Second))
	b.refused("G24", ExitRefused, "task x is kept for coder-1 until "+string(until), func() error {
		return Claim(b.State, "x", supervisorOf("coder-2"), claimed("x"), b.now)
	})
	task, _ := NextTask(b.State, supervisorOf("coder-2"), Input{}, b.now)
	want(t, "what coder-2 takes", task.ID, "y")
	task, _ = NextTask(b.State, supervisorOf("coder-1"), Input{}, b.now)
	want(t, "what coder-1 takes", task.ID, "x")

	t.Run("a person who names it need not wait", func(t *testing.T) {
		c := board{t: t, now: b.now, State: b.State.Clone()}
		in := claimed("x")
		in.Claim.Named = true
		c.must(Claim(c.State, "x", personAs("coder-2"), in, c.now))
	})
	b.claim("y", "coder-2")
	b.submit("y", 9)
	b.after(300 * time.Second)
	b.must(Beat(b.State, supervisorOf("coder-1"), b.now))
	task, _ = NextTask(b.State, supervisorOf("coder-2"), Input{}, b.now)
	want(t, "what coder-2 takes later", task.ID, "x")
	b.must(Claim(b.State, "x", supervisorOf("coder-2"), claimed("x"), b.now))
}

func TestP050AnIntegrationFailureIsClaimedForAFix(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.failed("x", 2)
	in := kept("x")
	in.Claim.Base = commitOf(60)
	b.must(Claim(b.State, "x", supervisorOf("coder-2"), in, b.now))
	x := b.status("x", blackboard.Claimed)
	want(t, "the event", x.Last().Event, "claimed_for_integration_fix")
	want(t, "integration_fix", x.IntegrationFix, true)
	want(t, "fix_onto", x.FixOnto, commitOf(60))
	want(t, "base_commit", x.BaseCommit, integrationHead)
	want(t, "approved_by", x.ApprovedBy, "")
	want(t, "approved_commit", x.ApprovedCommit, commitOf(2))
	want(t, "iteration", x.Iteration, 2)
	b.valid()

	t.Run("P-069 and contains the head that it was to be merged with", func(t *testing.T) {
		facts := submitted("x", commitOf(3))
		facts.Submission.HasFixOnto = false
		b.refused("G39", ExitRefused, "merge the integration branch", func() error { return Submit(b.State, "x", programOf("coder-2"), facts, b.now) })
		b.must(Submit(b.State, "x", programOf("coder-2"), submitted("x", commitOf(3)), b.now))
	})
	t.Run("a release gives it back as INTEGRATION_FAILED", func(t *testing.T) {
		b := team(t)
		b.failed("x", 2)
		b.must(Claim(b.State, "x", supervisorOf("coder-1"), kept("x"), b.now))
		b.must(Release(b.State, "x", supervisorOf("coder-1"), Input{Reason: "its supervisor ended", HasWork: true}, b.now))
		b.status("x", blackboard.IntegrationFailed)
		b.valid()
	})
	t.Run("who begins afresh fixes no integration any more", func(t *testing.T) {
		b := team(t)
		b.failed("x", 2)
		b.must(Claim(b.State, "x", supervisorOf("coder-1"), kept("x"), b.now))
		b.after(2 * time.Hour)
		b.must(Claim(b.State, "x", supervisorOf("coder-2"), claimed("x"), b.now))
		want(t, "integration_fix", b.Task("x").IntegrationFix, false)
		want(t, "fix_onto", b.Task("x").FixOnto, "")
		b.valid()
	})
}

func TestP051ARecoveredWorktreeIsTold(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.rejected("x", 2)
	in, no := claimed("x"), false
	in.Recovered = &no
	b.must(Claim(b.State, "x", supervisorOf("coder-1"), in, b.now))
	if r := b.Task("x").Last().Recovered; r == nil || *r {
		t.Error("the entry does not say recovered: false")
	}
}

func TestP056AHeldTaskIsNotChosen(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.add("x")
	b.must(HoldTask(b.State, "x", person, Input{Reason: "wait for the customer"}, b.now))
	task, why := NextTask(b.State, supervisorOf("coder-1"), Input{}, b.now)
	if task != nil {
		t.Errorf("%s is chosen", task.ID)
	}
	want(t, "the reason", why, "every open task is on hold (1)")
	b.refused("G08", ExitRefused, "task x is on hold by ada: wait for the customer", func() error {
		return Claim(b.State, "x", supervisorOf("coder-1"), claimed("x"), b.now)
	})
}

func TestP057ATaskWithoutOverlapComesFirst(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.add("busy").Files = blackboard.List{"hello/**"}
	b.claim("busy", "coder-1")
	b.add("near").Files = blackboard.List{"hello/cli.py"}
	b.add("far").Files = blackboard.List{"docs/*.md"}
	task, _ := NextTask(b.State, supervisorOf("coder-2"), Input{}, b.now)
	want(t, "the task", task.ID, "far")
	t.Run("within the same priority only", func(t *testing.T) {
		zero := 0
		b.Task("near").Priority = &zero
		task, _ := NextTask(b.State, supervisorOf("coder-2"), Input{}, b.now)
		want(t, "the task", task.ID, "near")
	})
	t.Run("without hints what its attempts meant to change counts", func(t *testing.T) {
		one := 1
		near := b.Task("near")
		near.Priority, near.Files = &one, nil
		near.History = append(near.History, &blackboard.HistoryEntry{Event: "checkpoint", Checkpoint: &blackboard.Intent{FilesToModify: blackboard.List{"hello/cli.py"}}})
		task, _ := NextTask(b.State, supervisorOf("coder-2"), Input{}, b.now)
		want(t, "the task", task.ID, "far")
	})
	t.Run("globs meet", func(t *testing.T) {
		for _, x := range []struct {
			a, b  string
			meets bool
		}{
			{"hello/**", "hello/cli.py", true}, {"*.go", "cmd/main.go", true}, {"cmd/a.go", "cmd/a.go", true}, {"cmd", "cmd/a.go", true},
			{"cmd/a.go", "cmd/a.go.txt", false}, {"docs/**", "src/**", false}, {"cmd/a.go", "cmd/b.go", false},
		} {
			want(t, x.a+" meets "+x.b, globsMeet(x.a, x.b), x.meets)
			want(t, x.b+" meets "+x.a, globsMeet(x.b, x.a), x.meets)
		}
	})
}

func TestP058ACoderThatFailedATaskLeavesItToOthers(t *testing.T) {
	t.Parallel()
	b := newBoard(t, "planner-1", "coder-1", "coder-10", "coder-2", "coder-3")
	b.add("x").FailedBy = blackboard.List{"coder-1", "coder-1"}[:1]
	for range 20 { // whatever order the map of agents has
		r := b.refused("G25", ExitRefused, "coder-1 failed task x; coder-2 takes it", func() error {
			return Claim(b.State, "x", supervisorOf("coder-1"), claimed("x"), b.now)
		})
		if r == nil {
			return
		}
	}
	if task, _ := NextTask(b.State, supervisorOf("coder-1"), Input{}, b.now); task != nil {
		t.Errorf("coder-1 is given %s", task.ID)
	}
	t.Run("the next live one when that failed too", func(t *testing.T) {
		c := board{t: t, now: b.now, State: b.State.Clone()}
		c.Agents["coder-2"].LeaseExpires = blackboard.TimeOf(c.now.Add(-time.Hour))
		c.refused("G25", ExitRefused, "coder-3 takes it", func() error { return Claim(c.State, "x", supervisorOf("coder-1"), claimed("x"), c.now) })
	})
	b.after(2 * time.Hour)
	b.must(Beat(b.State, supervisorOf("coder-1"), b.now)) // the others are gone
	task, _ := NextTask(b.State, supervisorOf("coder-1"), Input{}, b.now)
	if task == nil || task.ID != "x" {
		t.Fatalf("coder-1 alone is given %v", task)
	}
	b.must(Claim(b.State, "x", supervisorOf("coder-1"), claimed("x"), b.now))
}

func TestStartedWorkComesBeforeNewWork(t *testing.T) {
	t.Parallel()
	b := team(t)
	zero := 0
	b.rejected("mine", 2)
	b.add("urgent").Priority = &zero
	task, _ := NextTask(b.State, supervisorOf("coder-1"), Input{}, b.now)
	want(t, "what its coder takes", task.ID, "mine")
	task, _ = NextTask(b.State, supervisorOf("coder-2"), Input{}, b.now)
	want(t, "what another takes", task.ID, "urgent")

	t.Run("a task that was handed off too", func(t *testing.T) {
		b := team(t)
		b.add("half")
		b.claim("half", "coder-1")
		b.must(Release(b.State, "half", supervisorOf("coder-1"), Input{Reason: "quota", HasWork: true}, b.now))
		b.add("urgent").Priority = &zero
		task, _ := NextTask(b.State, supervisorOf("coder-1"), Input{}, b.now)
		want(t, "what its coder takes", task.ID, "half")
	})
	t.Run("an integration failure is new work", func(t *testing.T) {
		b := team(t)
		b.failed("x", 2)
		b.add("urgent").Priority = &zero
		task, _ := NextTask(b.State, supervisorOf("coder-1"), Input{}, b.now)
		want(t, "the task", task.ID, "urgent")
	})
}

func TestWhyNothingIsClaimable(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		name, want string
		make       func(*board) Input
	}{
		{"no task", "no task exists yet; the planner has to plan", func(*board) Input { return Input{} }},
		{"paused", "paused since T: lunch", func(b *board) Input { b.add("x"); return Input{Control: "paused since T: lunch"} }},
		{"the sprint is over", "the sprint is COMPLETED", func(b *board) Input { b.Sprint.Status = blackboard.Completed; return Input{} }},
		{"the disk is full", "the disk is nearly full: 300 MB free, 1024 needed", func(b *board) Input { b.add("x"); return Input{FreeMB: 300, MinFreeMB: 1024} }},
		{"a dependency", "y waits for x (CLAIMED)", func(b *board) Input { b.add("x"); b.add("y", "x"); b.claim("x", "coder-2"); return Input{} }},
		{"drafts", "drafts are not finalized (1)", func(b *board) Input {
			b.must(Create(b.State, codeTask("x"), true, person, Input{}, b.now))
			return Input{}
		}},
		{"all done", "every task is terminal", func(b *board) Input { b.done("x", 2); return Input{} }},
		{"under review", "nothing is claimable: 1 READY_FOR_REVIEW", func(b *board) Input { b.ready("x", 2); return Input{} }},
		{"kept for another", "task x is kept for coder-1 until 2026-01-19T14:05:00Z", func(b *board) Input { b.rejected("x", 2); return Input{} }},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			b := team(t)
			in := x.make(b)
			task, why := NextTask(b.State, supervisorOf("coder-2"), in, b.now)
			if task != nil || why != x.want {
				t.Errorf("task %v, reason %q; want %q", task, why, x.want)
			}
		})
	}
}

func TestNothingNewStartsWhileStopped(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.add("x")
	stopped := claimed("x")
	stopped.Control = "paused since T: lunch"
	b.refused("G07", ExitRefused, "paused since T: lunch", func() error { return Claim(b.State, "x", supervisorOf("coder-1"), stopped, b.now) })
	for status, next := range map[string]string{blackboard.AtCheckpoint: "liza resume", blackboard.Aborted: "liza resume", blackboard.Completed: "liza resume"} {
		b.Sprint.Status = status
		r := b.refused("G07", ExitRefused, "the sprint is "+status, func() error { return Claim(b.State, "x", supervisorOf("coder-1"), claimed("x"), b.now) })
		want(t, "next", r.Next, next)
	}
}

// A task that was made of red CI goes to the coder whose work it is, while that one can take it.
func TestATaskIsLeftToTheCoderItPrefers(t *testing.T) {
	t.Parallel()
	b := newBoard(t, "planner-1", "coder-1", "coder-2")
	b.add("other")
	b.add("x")
	b.Task("x").Prefer = "coder-2"
	next := func(coder string) string {
		task, _ := NextTask(b.State, supervisorOf(coder), Input{}, b.now)
		if task == nil {
			return ""
		}
		return task.ID
	}
	b.Agents["coder-2"].Status = blackboard.AgentIdle
	want(t, "what coder-2 is given", next("coder-2"), "x")
	want(t, "what coder-1 is given", next("coder-1"), "other")
	b.claim("other", "coder-1")
	b.Agents["coder-1"].Status = blackboard.AgentIdle // as if it looked for more
	want(t, "what coder-1 is given while coder-2 is idle", next("coder-1"), "")
	b.Agents["coder-2"].Status = blackboard.AgentWaiting
	want(t, "what coder-1 is given while coder-2 waits for its quota", next("coder-1"), "x")
	delete(b.Agents, "coder-2")
	want(t, "what coder-1 is given before coder-2 has registered", next("coder-1"), "")
	b.now = b.now.Add(time.Minute)
	want(t, "what coder-1 is given when coder-2 does not come", next("coder-1"), "x")
}

// Every pair of statuses: the later task in work is told of earlier work that is not merged, and of nothing else.
func TestTheLaterOfTwoTasksIsToldOfTheirCommonFiles(t *testing.T) {
	t.Parallel()
	for _, own := range blackboard.Statuses {
		for _, other := range blackboard.Statuses {
			for _, x := range []struct {
				name            string
				setting         blackboard.Settings
				changes, others blackboard.List
				first           bool // the other one was claimed first
				want            bool
			}{
				{"the later one", nil, blackboard.List{"a", "b"}, blackboard.List{"b", "c"}, true, own == blackboard.Claimed},
				{"the earlier one", nil, blackboard.List{"a", "b"}, blackboard.List{"b", "c"}, false, own == blackboard.Claimed && other != blackboard.Claimed},
				{"other files", nil, blackboard.List{"a"}, blackboard.List{"b"}, true, false},
				{"nothing seen", nil, nil, blackboard.List{"b"}, true, false},
				{"off", blackboard.Settings{"overlap": "off"}, blackboard.List{"b"}, blackboard.List{"b"}, true, false},
			} {
				b := team(t)
				b.Config = x.setting
				at := func(id string, st blackboard.Status, minute int, files blackboard.List) {
					task := b.add(id)
					task.Status, task.Changes = st, files
					task.History = append(task.History, &blackboard.HistoryEntry{Time: ahead(minute), Event: blackboard.HistoryClaimed})
				}
				minutes := map[bool]int{true: 1, false: 3}
				at("own", own, 2, x.changes)
				at("other", other, minutes[x.first], x.others)
				counts := other == blackboard.Claimed || other == blackboard.ReadyForReview || other == blackboard.Approved
				got := Overlaps(b.State, b.Task("own"))
				if want := x.want && counts; (len(got) == 1) != want {
					t.Errorf("%s, %s beside %s: %v", x.name, own, other, got)
				} else if want && (got[0].Other.ID != "other" || !slices.Equal(got[0].Files, blackboard.List{"b"})) {
					t.Errorf("%s, %s beside %s: %v", x.name, own, other, got)
				}
			}
		}
	}
}

// With overlap: wait what is not begun waits for what is, for an hour at most; nothing that is begun waits.
func TestATaskWaitsForTheFilesOfAnotherOne(t *testing.T) {
	t.Parallel()
	for _, other := range append(slices.Clone(blackboard.Statuses), "reserved") {
		begun := other == "reserved" || slices.Contains([]blackboard.Status{blackboard.Claimed, blackboard.ReadyForReview, blackboard.Rejected, blackboard.Approved, blackboard.IntegrationFailed}, other)
		for _, x := range []struct {
			setting string
			own     blackboard.Status
			files   blackboard.List
			age     time.Duration
			held    bool
			waits   bool
		}{
			{"wait", blackboard.Unclaimed, blackboard.List{"a/**"}, time.Minute, false, begun},
			{"wait", blackboard.Unclaimed, blackboard.List{"a/**"}, time.Hour, false, false},
			{"wait", blackboard.Unclaimed, blackboard.List{"b"}, time.Minute, false, false},
			{"wait", blackboard.Unclaimed, blackboard.List{"a/**"}, time.Minute, true, false},
			{"wait", blackboard.Rejected, blackboard.List{"a/**"}, time.Minute, false, false},
			{"tell", blackboard.Unclaimed, blackboard.List{"a/**"}, time.Minute, false, false},
			{"off", blackboard.Unclaimed, blackboard.List{"a/**"}, time.Minute, false, false},
		} {
			b := team(t)
			b.Config = blackboard.Settings{"overlap": x.setting}
			own := b.add("own")
			own.Status, own.Files = x.own, x.files
			o := b.add("other")
			o.Status, o.Changes = other, blackboard.List{"a/x"}
			if other == "reserved" {
				o.Status, o.Claiming = blackboard.Unclaimed, &blackboard.Claiming{By: "coder-2", Expires: ahead(120)}
			}
			if x.held {
				o.Hold = &blackboard.Hold{By: "ada"}
			}
			got := waitsForOverlap(b.State, own, indexed(b.State, Input{}), claimableSince(b.State, own, indexed(b.State, Input{})).Add(x.age))
			if (got != nil) != x.waits {
				t.Errorf("%s, %s for %s of age %s, %s: %v", x.setting, x.own, x.files, x.age, other, got)
			}
		}
	}
}
