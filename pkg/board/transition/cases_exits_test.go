package transition

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
)

// The cases about holds, releases and starting again.

func TestP107AHoldChangesNoStatus(t *testing.T) {
	t.Parallel()
	for _, s := range free {
		if s.status == "" || s.status.Terminal() {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			b := situated(t, s)
			if b.Task("x").Hold != nil {
				b.refused("G77", ExitRefused, "task x is on hold already, by system", func() error { return HoldTask(b.State, "x", person, Input{Reason: "r"}, b.now) })
				return
			}
			b.refused("G09", ExitUsage, "--reason is empty", func() error { return HoldTask(b.State, "x", person, Input{}, b.now) })
			b.must(HoldTask(b.State, "x", person, Input{Reason: "wait"}, b.now))
			b.status("x", s.status)
			b.valid()
			for _, id := range []string{"coder-1", "coder-2"} {
				if task, _ := NextTask(b.State, supervisorOf(id), Input{}, b.now); task != nil && task.ID == "x" {
					t.Error("it is given to " + id)
				}
			}
			if task, _ := NextReview(b.State, supervisorOf("code-reviewer-2"), Input{}, b.now); task != nil {
				t.Error("its review is given out")
			}
			if s.status == blackboard.Approved {
				b.refused("G08", ExitRefused, "on hold by ada: wait", func() error { return run(b.State, evMergeIntent, "x", system, mergeable(commitOf(9)), b.now) })
			}
			b.must(UnholdTask(b.State, "x", person, Input{}, b.now))
			b.status("x", s.status)
			wantList(t, "the end of the history", events(b.Task("x"))[len(b.Task("x").History)-2:], []string{"held", "unheld"})
		})
	}
}

func TestP108ALiveClaimIsReleasedByForceOnly(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.add("x")
	b.claim("x", "coder-1")
	r := b.refused("G76", ExitRefused, "the lease of coder-1 is alive until", func() error { return Release(b.State, "x", person, Input{Reason: "r"}, b.now) })
	want(t, "next", r.Next, "liza retry x --force --reason T")
	b.refused("G09", ExitUsage, "--reason is empty", func() error { return Release(b.State, "x", person, Input{Force: true}, b.now) })
	b.refused("G31", ExitRefused, "assigned to coder-1", func() error {
		return Release(b.State, "x", supervisorOf("coder-2"), Input{Reason: "r", Force: true}, b.now)
	})
	b.refused("G03", ExitRefused, "a coder may not release", func() error { return Release(b.State, "x", programOf("coder-1"), Input{Reason: "r"}, b.now) })
	b.refused("G28", ExitFailure, "could not stop", func() error {
		return Release(b.State, "x", person, Input{Reason: "r", Force: true, Claim: &ClaimFacts{ChildError: "could not stop process 4711"}}, b.now)
	})
	b.must(Release(b.State, "x", person, Input{Reason: "on holiday", Force: true, HasWork: true, Attic: "refs/liza/attic/x/1"}, b.now))
	x := b.status("x", blackboard.Unclaimed)
	want(t, "assigned_to", x.AssignedTo, "")
	want(t, "worktree", x.Worktree, ".worktrees/x")
	want(t, "handoff_pending", x.HandoffPending, true)
	want(t, "iteration", x.Iteration, 1)
	h := x.Last()
	want(t, "the entry", strings.Join([]string{string(h.Event), h.What, h.Reason, h.Holder, h.Attic}, "|"), "released|claim|on holiday|coder-1|refs/liza/attic/x/1")
	want(t, "the attempt", x.Attempts[0].Outcome, "released")
	b.refused("G06", ExitLeaseLost, "released by human: on holiday", func() error { return Submit(b.State, "x", programOf("coder-1"), submitted("x", commitOf(2)), b.now) })
	b.must(Claim(b.State, "x", supervisorOf("coder-2"), kept("x"), b.now))
	want(t, "base_commit", x.BaseCommit, integrationHead)
	b.valid()

	t.Run("an expired one without force", func(t *testing.T) {
		b := team(t)
		b.add("x")
		b.claim("x", "coder-1")
		b.after(2 * time.Hour)
		b.must(Release(b.State, "x", person, Input{Reason: "gone"}, b.now))
		want(t, "handoff_pending without work", b.Task("x").HandoffPending, false)
	})
	t.Run("unknown is not expired", func(t *testing.T) {
		b := team(t)
		b.add("x")
		b.claim("x", "coder-1")
		b.Agents["coder-1"].LeaseExpires = ""
		b.refused("G76", ExitRefused, "the liveness of coder-1 is unknown", func() error { return Release(b.State, "x", person, Input{Reason: "gone"}, b.now) })
	})
	t.Run("its own supervisor any time", func(t *testing.T) {
		b := team(t)
		b.add("x")
		b.claim("x", "coder-1")
		b.must(Release(b.State, "x", supervisorOf("coder-1"), Input{Reason: "its supervisor ended"}, b.now))
		want(t, "the number of attempts: the run told of it", len(b.Task("x").Attempts), 0)
		b.refused("G06", ExitRefused, "x is UNCLAIMED", func() error { return Submit(b.State, "x", programOf("coder-1"), submitted("x", commitOf(2)), b.now) })
	})
}

func TestHandoffs(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.add("x")
	x := b.claim("x", "coder-1")
	say := func(n int) Input {
		return Input{Handoff: &blackboard.Handoff{Summary: "part " + strconv.Itoa(n), NextAction: "part " + strconv.Itoa(n+1)}}
	}
	b.refused("G09", ExitUsage, "--next-action is empty", func() error {
		return HandOff(b.State, "x", programOf("coder-1"), Input{Handoff: &blackboard.Handoff{Summary: "half"}}, b.now)
	})
	b.refused("G09", ExitUsage, "--summary is empty", func() error { return HandOff(b.State, "x", programOf("coder-1"), Input{}, b.now) })
	for n := 1; n <= 6; n++ {
		b.must(HandOff(b.State, "x", programOf("coder-1"), say(n), b.now))
		want(t, "the agent", b.Agents["coder-1"].Status, blackboard.AgentHandoff)
		want(t, "handoff_pending", x.HandoffPending, true)
		b.valid()
		b.must(Spawned(b.State, supervisorOf("coder-1"), blackboard.Child{PID: 5, Run: n + 1, TokenHash: "sha256:run-coder-1", Task: "x"}, b.now))
		want(t, "the agent of the next run", b.Agents["coder-1"].Status, blackboard.AgentWorking)
		want(t, "handoff_pending of the next run", x.HandoffPending, false)
		want(t, "consumed_by", b.Handoff["x"].ConsumedBy, "coder-1")
		iteration := 1
		if n > 5 { // more than max_handoffs
			iteration = 2
		}
		want(t, "iteration after handoff "+strconv.Itoa(n), x.Iteration, iteration)
	}
	t.Run("of a reviewer", func(t *testing.T) {
		b := team(t)
		b.ready("x", 2)
		b.claimReview("x", "code-reviewer-1")
		b.must(HandOff(b.State, "x", programOf("code-reviewer-1"), say(1), b.now))
		b.status("x", blackboard.ReadyForReview)
		b.must(Spawned(b.State, supervisorOf("code-reviewer-1"), blackboard.Child{PID: 5, Run: 2, Task: "x"}, b.now))
		want(t, "the agent of the next run", b.Agents["code-reviewer-1"].Status, blackboard.AgentReviewing)
		b.valid()
	})
}
