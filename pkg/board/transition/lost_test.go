package transition

import (
	"testing"
	"time"

	"liza/pkg/board/blackboard"
)

// specs/decisions.md#D24: who never held the task gets exit 4; who held it and lost it to an expiry, a forced
// release or another agent gets exit 6.
func TestD24WhoLostAClaimIsToldSo(t *testing.T) {
	t.Parallel()
	claim := func(b *board) { b.add("x"); b.claim("x", "coder-1") }
	expire := func(b *board) { claim(b); b.after(2 * time.Hour) }
	block := Input{Reason: "r", Questions: blackboard.List{"q?"}}
	for _, x := range []struct {
		name  string
		make  func(*board)
		agent string
		exit  Exit
		guard string
	}{
		{"never held it", func(b *board) { b.add("x") }, "coder-1", ExitRefused, "G06"},
		{"another holds it", claim, "coder-2", ExitRefused, "G31"},
		{"another took it after the expiry", func(b *board) { expire(b); b.claim("x", "coder-2") }, "coder-1", ExitLeaseLost, "G31"},
		{"another took it and submitted", func(b *board) { expire(b); b.claim("x", "coder-2"); b.submit("x", 5) }, "coder-1", ExitLeaseLost, "G06"},
		{"a person released it by force", func(b *board) {
			claim(b)
			b.must(Release(b.State, "x", person, Input{Reason: "r", Force: true}, b.now))
		}, "coder-1", ExitLeaseLost, "G06"},
		{"it released itself", func(b *board) { claim(b); b.releaseX() }, "coder-1", ExitRefused, "G06"},
		{"it released itself, another took it", func(b *board) { claim(b); b.releaseX(); b.claim("x", "coder-2") }, "coder-1", ExitRefused, "G31"},
		{"it submitted", func(b *board) { claim(b); b.submit("x", 5) }, "coder-1", ExitRefused, "G06"},
		{"it was rejected, another took it", func(b *board) {
			b.rejected("x", 5)
			b.after(time.Hour)
			b.claim("x", "coder-2")
		}, "coder-1", ExitLeaseLost, "G31"},
		{"it was halted, another took it", func(b *board) {
			claim(b)
			b.must(HaltTask(b.State, "x", system, Input{Halt: &blackboard.Halt{Kind: "cost", Value: 2, Limit: 1}}, b.now))
			b.must(Resubmit(b.State, "x", person, Input{}, b.now))
			b.claim("x", "coder-2")
		}, "coder-1", ExitLeaseLost, "G31"},
		{"it was halted", func(b *board) {
			claim(b)
			b.must(HaltTask(b.State, "x", system, Input{Halt: &blackboard.Halt{Kind: "cost", Value: 2, Limit: 1}}, b.now))
		}, "coder-1", ExitRefused, "G06"},
		{"it blocked the task", func(b *board) { claim(b); b.must(Block(b.State, "x", programOf("coder-1"), block, b.now)) }, "coder-1", ExitRefused, "G06"},
		{"its registration was replaced", func(b *board) { claim(b); b.Agents["coder-1"].Generation = "g-new" }, "coder-1", ExitLeaseLost, "G32"},
		{"it took it back", func(b *board) {
			expire(b)
			b.claim("x", "coder-2")
			b.after(2 * time.Hour)
			b.claim("x", "coder-1")
			b.submit("x", 5)
		}, "coder-1", ExitRefused, "G06"},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			b := team(t)
			x.make(b)
			late := programOf(x.agent)
			for _, event := range []func() error{
				func() error { return Submit(b.State, "x", late, submitted("x", commitOf(9)), b.now) },
				func() error {
					return Block(b.State, "x", late, Input{Reason: "late", Questions: blackboard.List{"late?"}}, b.now)
				},
				func() error {
					return RecordIntent(b.State, "x", late, Input{Intent: &blackboard.Intent{Intent: "i", Validation: "v"}}, b.now)
				},
				func() error { return Retry(b.State, "x", supervisorOf(x.agent), Input{}, b.now) },
				func() error { return RunFailed(b.State, "x", supervisorOf(x.agent), Input{Outcome: "timeout"}, b.now) },
				func() error { return Release(b.State, "x", supervisorOf(x.agent), Input{Reason: "r"}, b.now) },
			} {
				b.refused(x.guard, x.exit, "", event)
			}
		})
	}
	t.Run("P-072 the program of an earlier run", func(t *testing.T) {
		t.Parallel()
		b := team(t)
		claim(b)
		b.must(Spawned(b.State, supervisorOf("coder-1"), blackboard.Child{PID: 9, Run: 2, TokenHash: "sha256:second-run", Task: "x"}, b.now))
		b.refused("G02", ExitLeaseLost, "or its run is over; this process is no longer coder-1", func() error {
			return Submit(b.State, "x", programOf("coder-1"), submitted("x", commitOf(9)), b.now)
		})
	})
}
