package transition

import (
	"testing"
	"time"

	"liza/pkg/board/blackboard"
)

// Guards that no case tells of.
func TestTheOtherGuards(t *testing.T) {
	t.Parallel()
	claim := func(change func(*Input)) func(b *board) error {
		return func(b *board) error {
			in := claimed("x")
			change(&in)
			return Claim(b.State, "x", supervisorOf("coder-1"), in, b.now)
		}
	}
	for _, x := range []struct {
		name  string
		guard string
		exit  Exit
		text  string
		next  string
		make  func(*board)
		event func(*board) error
	}{
		{"the disk is nearly full", "G29", ExitFailure, "only 300 MB are free, 1024 are needed", "liza doctor",
			func(b *board) { b.add("x") }, claim(func(in *Input) { in.FreeMB, in.MinFreeMB = 300, 1024 })},
		{"the worktree could not be provided", "G29", ExitFailure, "read-only file system", "liza doctor",
			func(b *board) { b.add("x") }, claim(func(in *Input) { in.Claim.WorktreeErr = "read-only file system" })},
		{"the role cannot be used", "G30", ExitRefused, "role 'x' is unusable", "liza roles",
			func(b *board) { b.add("x") }, claim(func(in *Input) { in.RoleProblem = "role 'x' is unusable" })},
		{"two coders failed it", "G26", ExitRefused, "exhausted: failed by coder-2, coder-3", "liza abandon x --by ID --reason T --root-cause T",
			func(b *board) { b.add("x").FailedBy = blackboard.List{"coder-2", "coder-3"} }, claim(func(*Input) {})},
		{"it failed three times", "G26", ExitRefused, "exhausted: failed by coder-2 3 times", "",
			func(b *board) { x := b.add("x"); x.FailedBy, x.Failures = blackboard.List{"coder-2"}, 3 }, claim(func(*Input) {})},
		{"the work was not saved before another takes it", "G75", ExitFailure, "cannot save the work of x: no space", "liza doctor",
			func(b *board) { b.add("x"); b.claim("x", "coder-2"); b.after(2 * time.Hour) }, claim(func(in *Input) { in.SaveError = "no space" })},
		{"a reviewer of whom nothing is known", "G50", ExitRefused, "whose liveness is unknown", "",
			func(b *board) {
				b.ready("x", 2)
				b.claimReview("x", "code-reviewer-2")
				b.Agents["code-reviewer-2"].LeaseExpires = "tomorrow"
			},
			func(b *board) error {
				return ClaimReview(b.State, "x", supervisorOf("code-reviewer-1"), Input{}, b.now)
			}},
		{"a reviewer of whom nothing is known, for a person", "G76", ExitRefused, "--force releases the review all the same", "liza retry x --force --reason T",
			func(b *board) {
				b.ready("x", 2)
				b.claimReview("x", "code-reviewer-2")
				b.Agents["code-reviewer-2"].LeaseExpires = "tomorrow"
			},
			func(b *board) error { return ReleaseReview(b.State, "x", person, Input{Reason: "r"}, b.now) }},
		{"an old registration's review", "G54", ExitLeaseLost, "belongs to an earlier registration of code-reviewer-1", "",
			func(b *board) {
				b.ready("x", 2)
				b.claimReview("x", "code-reviewer-1")
				b.Agents["code-reviewer-1"].Generation = "g-new"
			},
			func(b *board) error {
				return Reject(b.State, "x", programOf("code-reviewer-1"), Input{Reason: "a.go"}, b.now)
			}},
		{"no replacement", "G73", ExitInvalid, "--by names no replacement of x", "", func(b *board) { b.add("x") },
			func(b *board) error { return Supersede(b.State, "x", person, Input{Reason: "r"}, b.now) }},
		{"an unknown replacement", "G73", ExitInvalid, "no task 'y' to replace x", "", func(b *board) { b.add("x") },
			func(b *board) error {
				return Supersede(b.State, "x", person, Input{Reason: "r", By: blackboard.List{"y"}}, b.now)
			}},
		{"itself as replacement", "G73", ExitInvalid, "task x cannot replace itself", "", func(b *board) { b.add("x") },
			func(b *board) error {
				return Supersede(b.State, "x", person, Input{Reason: "r", By: blackboard.List{"x"}}, b.now)
			}},
		{"an abandoned replacement", "G73", ExitInvalid, "task y is ABANDONED and cannot replace x", "", func(b *board) {
			b.add("x")
			b.add("y")
			_, err := Abandon(b.State, "y", person, Input{Reason: "r"}, b.now)
			b.must(err)
		}, func(b *board) error {
			return Supersede(b.State, "x", person, Input{Reason: "r", By: blackboard.List{"y"}}, b.now)
		}},
		{"an unblock for an unknown dependency", "G14", ExitInvalid, "depends_on of x: no task 'y'", "", func(b *board) { b.blocked("x") },
			func(b *board) error {
				return Unblock(b.State, "x", person, Input{Reason: "r", DependsOn: blackboard.List{"y"}}, b.now)
			}},
		{"an unblock that makes a cycle", "G14", ExitInvalid, "dependency cycle: x → y → x", "liza status --graph", func(b *board) { b.blocked("x"); b.add("y", "x") },
			func(b *board) error {
				return Unblock(b.State, "x", person, Input{Reason: "r", DependsOn: blackboard.List{"y"}}, b.now)
			}},
		{"an unblock of what misses a gate", "G12", ExitRefused, "x: missing: scope", "", func(b *board) { b.blocked("x").Scope = "" },
			func(b *board) error { return Unblock(b.State, "x", person, Input{Reason: "r"}, b.now) }},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			b := team(t)
			x.make(b)
			r := b.refused(x.guard, x.exit, x.text, func() error { return x.event(b) })
			if x.next != "" {
				want(t, "next", r.Next, x.next)
			}
		})
	}
}

// Nothing that an event is given becomes part of the state, or is changed by it: an Update
// may run again on another copy.
func TestTheStateSharesNothingWithItsInput(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.add("spare")
	b.add("x")
	b.claim("x", "coder-1")
	intent := &blackboard.Intent{Intent: "i", Validation: "v", Risks: blackboard.List{"r"}}
	b.must(RecordIntent(b.State, "x", programOf("coder-1"), Input{Intent: intent}, b.now))
	handoff := &blackboard.Handoff{Summary: "s", NextAction: "n", NextSteps: blackboard.List{"next"}}
	b.must(HandOff(b.State, "x", programOf("coder-1"), Input{Handoff: handoff}, b.now))
	b.submit("x", 2)
	b.claimReview("x", "code-reviewer-1")
	said := &VerdictInput{Findings: []*blackboard.Finding{{Severity: "error", Message: "m"}}, Inject: []*blackboard.Fix{{Detail: "d"}}, Prior: []*blackboard.Prior{{N: 1, State: "PARTIAL"}}, Suggestions: blackboard.List{"s"}}
	b.must(Reject(b.State, "x", programOf("code-reviewer-1"), Input{Reason: "r", Verdict: said}, b.now))
	questions, by := blackboard.List{"q?"}, blackboard.List{"spare"}
	b.must(Block(b.State, "x", person, Input{Reason: "r", Questions: questions}, b.now))
	b.must(Supersede(b.State, "x", person, Input{Reason: "r", By: by}, b.now))
	before := b.State.Clone()
	intent.Risks[0], handoff.NextSteps[0], said.Suggestions[0], questions[0], by[0] = "changed", "changed", "changed", "changed", "changed"
	said.Findings[0].Message, said.Inject[0].Detail, said.Prior[0].State = "changed", "changed", "changed"
	intent.Intent, handoff.Summary = "changed", "changed"
	if diff := difference(before, b.State); diff != "" {
		t.Errorf("the state shares something with its input: %s", diff)
	}
	want(t, "the caller's handoff", handoff.Agent, "")
	want(t, "the caller's fix", said.Inject[0].N, 0)
}

func TestWaitingSinceTheLastDependencyWasMerged(t *testing.T) {
	t.Parallel()
	b := team(t)
	two := 2
	b.ready("first", 2)
	b.add("x", "first").Priority = &two
	b.after(10 * time.Hour)
	b.claimReview("first", "code-reviewer-1")
	b.approve("first")
	b.merge("first")
	x := b.Task("x")
	want(t, "the priority just now", effectivePriority(b.State, x, indexed(b.State, Input{}), b.now), 2)
	b.after(b.Duration("aging_step"))
	want(t, "the priority one step later", effectivePriority(b.State, x, indexed(b.State, Input{}), b.now), 1)
	b.Overrides = blackboard.Settings{"aging_step": 0}
	want(t, "the priority without aging", effectivePriority(b.State, x, indexed(b.State, Input{}), b.now), 2)
}

func TestAJournalLineIsShort(t *testing.T) {
	t.Parallel()
	long := ""
	for range 200 {
		long += "word\n"
	}
	want(t, "the length in characters", len([]rune(oneLine(long))), 500)
	want(t, "the line", oneLine(" a\n\tb "), "a b")
}
