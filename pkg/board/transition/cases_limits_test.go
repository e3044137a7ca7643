package transition

import (
	"strconv"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
)

// The cases about limits and ways out.

func TestP100TheIterationsAreLimited(t *testing.T) {
	t.Parallel()
	for name, limit := range map[string]int{"P-100 ten by default": 10, "P-100 three of the task's own": 3} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := team(t)
			x := b.add("x")
			if limit != 10 {
				x.MaxIterations = limit
			}
			b.claim("x", "coder-1")
			for n := 2; n <= limit; n++ {
				b.refused("G23", ExitRefused, "task x has used", func() error { return LimitIterations(b.State, "x", supervisorOf("coder-1"), Input{}, b.now) })
				b.must(Retry(b.State, "x", supervisorOf("coder-1"), Input{}, b.now))
			}
			want(t, "iteration", x.Iteration, limit)
			used := strconv.Itoa(limit) + " of " + strconv.Itoa(limit) + " iterations of x are used"
			b.refused("G23", ExitRefused, used, func() error { return Retry(b.State, "x", supervisorOf("coder-1"), Input{}, b.now) })
			b.refused("G31", ExitRefused, "assigned to coder-1", func() error { return LimitIterations(b.State, "x", supervisorOf("coder-2"), Input{}, b.now) })
			b.must(LimitIterations(b.State, "x", supervisorOf("coder-1"), Input{Reason: "undefined: Foo."}, b.now))
			b.status("x", blackboard.Blocked)
			want(t, "blocked_kind", x.BlockedKind, "max_iterations")
			want(t, "halt", *x.Halt, blackboard.Halt{Kind: "iteration", Value: blackboard.Amount(limit), Limit: limit, At: blackboard.TimeOf(b.now)})
			want(t, "the halt in the history", *x.Last().Halt, *x.Halt)
			wantList(t, "question", x.BlockedQuestions, []string{"What makes " + strconv.Itoa(limit) + " iterations fail: undefined: Foo?"})
			wantList(t, "failed_by", x.FailedBy, []string{"coder-1"})
			b.valid()

			c := board{t: t, now: b.now, State: b.State.Clone()}
			c.must(Unblock(c.State, "x", supervisorOf("planner-1"), Input{Reason: "use Bar"}, c.now))
			want(t, "iteration after an unblock", c.Task("x").Iteration, 0)
			c.valid()

			more := strconv.Itoa(limit) + " of " + strconv.Itoa(limit) + " iterations; --limit max_iterations=" + strconv.Itoa(2*limit)
			r := b.refused("G78", ExitRefused, more, func() error { return Resubmit(b.State, "x", person, Input{}, b.now) })
			want(t, "next", r.Next, "liza retry x --limit max_iterations="+strconv.Itoa(2*limit))
			b.must(Resubmit(b.State, "x", person, Input{Limits: blackboard.Settings{"max_iterations": limit + 2}}, b.now))
			want(t, "iteration after a resubmit", x.Iteration, limit)
			b.refused("G25", ExitRefused, "coder-1 failed task x; coder-2 takes it", func() error { return Claim(b.State, "x", supervisorOf("coder-1"), kept("x"), b.now) })
			b.must(Unregister(b.State, "coder-2", supervisorOf("coder-2"), false, b.now))
			b.must(Claim(b.State, "x", supervisorOf("coder-1"), kept("x"), b.now))
			want(t, "iteration of the same coder", x.Iteration, limit+1)
			b.valid()
		})
	}
	t.Run("whoever works", func(t *testing.T) {
		t.Parallel()
		b := team(t)
		x := b.rejected("x", 2)
		x.MaxIterations = 1
		b.after(time.Hour)
		for _, coder := range []string{"coder-1", "coder-2"} {
			b.refused("G23", ExitRefused, "1 of 1 iterations of x are used", func() error { return Claim(b.State, "x", supervisorOf(coder), kept("x"), b.now) })
		}
		b.must(LimitIterations(b.State, "x", system, Input{Reason: "no test"}, b.now))
		b.status("x", blackboard.Blocked)
	})
	t.Run("given back", func(t *testing.T) {
		t.Parallel()
		b := team(t)
		b.add("x").MaxIterations = 1
		b.claim("x", "coder-1")
		b.releaseX()
		b.refused("G23", ExitRefused, "1 of 1 iterations of x are used", func() error { return Claim(b.State, "x", supervisorOf("coder-2"), kept("x"), b.now) })
		b.must(LimitIterations(b.State, "x", system, Input{Reason: "no test"}, b.now))
		b.status("x", blackboard.Blocked)
	})
}

func TestIterationsAreCountedAsProtocol44Says(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		name   string
		before func(*board) // x is claimed by coder-1, iteration 3
		coder  string
		want   int
	}{
		{"a release and the same coder", func(b *board) { b.releaseX() }, "coder-1", 4},
		{"a release and another coder", func(b *board) { b.releaseX() }, "coder-2", 4},
		{"an unblock and the same coder", func(b *board) { b.blockX(); b.must(Unblock(b.State, "x", person, Input{Reason: "r"}, b.now)) }, "coder-1", 1},
		{"an unblock and another coder", func(b *board) { b.blockX(); b.must(Unblock(b.State, "x", person, Input{Reason: "r"}, b.now)) }, "coder-2", 1},
		{"a halt, a resubmit and the same coder", func(b *board) { b.haltX() }, "coder-1", 4},
		{"a halt, a resubmit and another coder", func(b *board) { b.haltX() }, "coder-2", 4},
		{"an expiry and the same coder", func(b *board) { b.after(2 * time.Hour) }, "coder-1", 4},
		{"an expiry and another coder", func(b *board) { b.after(2 * time.Hour) }, "coder-2", 4},
		{"a rejection and the same coder", func(b *board) { b.rejectX() }, "coder-1", 4},
		{"a rejection and another coder", func(b *board) { b.rejectX(); b.after(time.Hour) }, "coder-2", 4},
		{"an integration failure and the same coder", func(b *board) { b.failX() }, "coder-1", 4},
		{"an integration failure and another coder", func(b *board) { b.failX() }, "coder-2", 4},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			b := team(t)
			b.add("x")
			b.claim("x", "coder-1")
			b.must(Retry(b.State, "x", supervisorOf("coder-1"), Input{}, b.now))
			b.must(RunFailed(b.State, "x", supervisorOf("coder-1"), Input{Outcome: "timeout"}, b.now))
			b.must(RunFailed(b.State, "x", supervisorOf("coder-1"), Input{Outcome: "crashed"}, b.now))
			want(t, "iteration before", b.Task("x").Iteration, 3)
			x.before(b)
			b.must(Claim(b.State, "x", supervisorOf(x.coder), kept("x"), b.now))
			want(t, "iteration", b.Task("x").Iteration, x.want)
			b.valid()
		})
	}
}

func (b *board) releaseX() {
	b.must(Release(b.State, "x", supervisorOf("coder-1"), Input{Reason: "quota", HasWork: true}, b.now))
}

func (b *board) blockX() {
	b.must(Block(b.State, "x", programOf("coder-1"), Input{Reason: "r", Questions: blackboard.List{"q?"}}, b.now))
}

func (b *board) haltX() {
	b.must(HaltTask(b.State, "x", supervisorOf("coder-1"), Input{Halt: &blackboard.Halt{Kind: "cost", Value: 3, Limit: 2}}, b.now))
	b.must(Resubmit(b.State, "x", person, Input{}, b.now))
}

func (b *board) rejectX() {
	b.submit("x", 5)
	b.claimReview("x", "code-reviewer-1")
	b.reject("x", "a.go:1")
}

func (b *board) failX() {
	b.submit("x", 5)
	b.claimReview("x", "code-reviewer-1")
	b.approve("x")
	b.must(FailIntegration(b.State, "x", system, Input{Merge: &MergeFacts{Reason: "conflict"}}, b.now))
}

func TestATimeoutOfTheLastIterationBlocks(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.add("x").MaxIterations = 1
	b.claim("x", "coder-1")
	b.TakeEntries(0)
	b.must(RunFailed(b.State, "x", supervisorOf("coder-1"), Input{Outcome: "crashed", Reason: "exit code 2"}, b.now))
	b.status("x", blackboard.Claimed)
	b.must(RunFailed(b.State, "x", supervisorOf("coder-1"), Input{Outcome: "stalled", Reason: "600 s without output"}, b.now))
	x := b.status("x", blackboard.Blocked)
	want(t, "the halt", x.Halt.Value, 1)
	wantList(t, "journal", actions(b.State, "x"), []string{"run_failed", "run_failed", "blocked"})
	want(t, "the first line", b.Entries()[0].Detail, "crashed: exit code 2")
	want(t, "iterations_total: one claim and one stalled run", b.Sprint.Metrics.IterationsTotal, 2)
	b.valid()
}

func TestP101TwoCodersExhaustATask(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.add("other")
	x := b.add("x")
	for _, coder := range []string{"coder-1", "coder-2"} {
		b.claim("x", coder)
		b.TakeEntries(0)
		b.must(Block(b.State, "x", programOf(coder), Input{Reason: "nothing works", Questions: blackboard.List{"What else?"}, Attempted: blackboard.List{"this"}}, b.now))
		want(t, "blocked_kind", x.BlockedKind, "stuck")
		if coder == "coder-1" {
			b.must(Unblock(b.State, "x", person, Input{Reason: "try that"}, b.now))
		}
	}
	want(t, "exhausted", x.Exhausted(), true)
	wantList(t, "journal", actions(b.State, "x"), []string{"blocked", "anomaly"})
	a := b.Anomalies[len(b.Anomalies)-1]
	want(t, "the anomaly", a.Type, "hypothesis_exhaustion")
	want(t, "its reporter", a.Reporter, "planner-1")
	want(t, "its journal line", b.Entries()[1].Detail, "hypothesis_exhaustion: coder-1, coder-2")
	kinds := []string{}
	for _, tr := range Triggers(b.State, TriggerFacts{}, b.now) {
		kinds = append(kinds, string(tr.Kind))
	}
	wantList(t, "the triggers", kinds, []string{"BLOCKED_TASKS", "HYPOTHESIS_EXHAUSTED"})

	b.refused("G71", ExitRefused, "x is exhausted: failed by coder-1, coder-2; supersede or abandon it", func() error {
		return Unblock(b.State, "x", supervisorOf("planner-1"), Input{Reason: "once more"}, b.now)
	})
	cut := Input{Reason: "the API is gone", By: blackboard.List{"other"}}
	b.refused("G72", ExitUsage, "--root-cause is required", func() error { return Supersede(b.State, "x", supervisorOf("planner-1"), cut, b.now) })
	b.refused("G72", ExitUsage, "--root-cause is required", func() error { _, err := Abandon(b.State, "x", person, cut, b.now); return err })
	cut.RootCause = "the vendor removed it"
	b.TakeEntries(0)
	b.must(Supersede(b.State, "x", supervisorOf("planner-1"), cut, b.now))
	b.status("x", blackboard.Superseded)
	want(t, "root_cause", x.RootCause, "the vendor removed it")
	want(t, "the journal", b.Entries()[0].Detail, "by other: the API is gone; root cause: the vendor removed it")
	last := b.Goal.AlignmentHistory[len(b.Goal.AlignmentHistory)-1]
	want(t, "the alignment history", last.Summary, "x superseded by other: the API is gone; root cause: the vendor removed it")
	b.valid()
}

func TestP102OneCoderExhaustsATaskByThreeFailures(t *testing.T) {
	t.Parallel()
	b := newBoard(t, "coder-1")
	b.must(Create(b.State, codeTask("x"), false, person, Input{}, b.now))
	x := b.Task("x")
	for n := 1; n <= 3; n++ {
		want(t, "exhausted before failure "+strconv.Itoa(n), x.Exhausted(), false)
		b.must(Claim(b.State, "x", supervisorOf("coder-1"), claimed("x"), b.now))
		b.must(Block(b.State, "x", programOf("coder-1"), Input{Reason: "nothing works", Questions: blackboard.List{"What else?"}, Attempted: blackboard.List{"this"}}, b.now))
		if n < 3 {
			b.must(Unblock(b.State, "x", person, Input{Reason: "try that"}, b.now))
		}
	}
	want(t, "exhausted", x.Exhausted(), true)
	want(t, "the reporter", b.Anomalies[0].Reporter, blackboard.System)
	b.refused("G71", ExitRefused, "failed by coder-1 3 times", func() error { return Unblock(b.State, "x", person, Input{Reason: "once more"}, b.now) })
}

func TestAQuestionIsNoFailure(t *testing.T) {
	t.Parallel()
	b := team(t)
	x := b.blocked("x")
	want(t, "failures", x.Failures, 0)
	want(t, "blocked_kind", x.BlockedKind, "question")
	b.must(Unblock(b.State, "x", person, Input{Reason: "no"}, b.now))
	b.claim("x", "coder-1")
	b.must(Block(b.State, "x", person, Input{Reason: "stop", Questions: blackboard.List{"Is it wanted?"}, Attempted: blackboard.List{"this"}}, b.now))
	want(t, "failures", x.Failures, 0)
	want(t, "blocked_kind of a person", x.BlockedKind, "human")
	want(t, "the coder is free", b.Agents["coder-1"].CurrentTask, "")
}

func TestP103TheCostIsLimited(t *testing.T) {
	t.Parallel()
	spent := func(t *testing.T, limit int, costs ...blackboard.Amount) (*board, *blackboard.Task) {
		b := team(t)
		x := b.add("x")
		x.Limits = blackboard.Settings{"cost_cents": limit}
		b.claim("x", "coder-1")
		for _, c := range costs {
			b.must(EndRun(b.State, supervisorOf("coder-1"), RunResult{Task: "x", Cost: &c, Seconds: 10, Attempt: blackboard.Attempt{Kind: "coder"}}, b.now))
		}
		return b, x
	}
	t.Run("100 of 100 cents", func(t *testing.T) {
		t.Parallel()
		b, x := spent(t, 100, 60, 40)
		h := Reached(b.State, x, b.now)
		want(t, "what is reached", *h, blackboard.Halt{Kind: "cost", Value: 100, Limit: 100, At: blackboard.TimeOf(b.now)})
		b.must(HaltTask(b.State, "x", system, Input{Halt: h, Attic: "refs/liza/attic/x/1"}, b.now))
		b.status("x", blackboard.Blocked)
		want(t, "blocked_reason", x.BlockedReason, "cost limit reached: 100 of 100 cents")
		want(t, "blocked_kind", x.BlockedKind, "halt")
		want(t, "the worktree", x.Worktree, ".worktrees/x")
		want(t, "handoff_pending", x.HandoffPending, true)
		want(t, "attic", x.Last().Attic, "refs/liza/attic/x/1")
		if x.Halt == h || x.Halt == x.Last().Halt {
			t.Error("the halt is shared")
		}
		b.valid()
		b.refused("G80", ExitRefused, "task x is halted: cost 100 of 100 cents", func() error { return Unblock(b.State, "x", person, Input{Reason: "r"}, b.now) })
		r := b.refused("G78", ExitRefused, "cost 100 of 100 cents; --limit cost_cents=200", func() error { return Resubmit(b.State, "x", person, Input{}, b.now) })
		want(t, "next", r.Next, "liza retry x --limit cost_cents=200")
		b.must(Resubmit(b.State, "x", person, Input{Limits: blackboard.Settings{"cost_cents": 200}}, b.now))
		want(t, "the stored limit", LimitOf(b.State, x, "cost_cents"), 200)
		want(t, "the worktree", x.Worktree, ".worktrees/x")
		want(t, "handoff_pending", x.HandoffPending, true)
		b.must(Claim(b.State, "x", supervisorOf("coder-2"), kept("x"), b.now))
		want(t, "the base", x.BaseCommit, integrationHead)
		b.valid()
	})
	t.Run("80 of 100 after two runs of 40", func(t *testing.T) {
		t.Parallel()
		b, x := spent(t, 100, 40, 40)
		want(t, "what is reached", Reached(b.State, x, b.now).Value, 80)
		b.releaseX()
		b.refused("G23", ExitRefused, "task x has reached a limit: cost 80 of 100 cents", func() error { return Claim(b.State, "x", supervisorOf("coder-1"), kept("x"), b.now) })
	})
	t.Run("a review is reserved as a review", func(t *testing.T) {
		t.Parallel()
		b, x := spent(t, 100, 40, 40)
		b.must(Submit(b.State, "x", supervisorOf("coder-1"), submitted("x", commitOf(2)), b.now))
		if h := Reached(b.State, x, b.now); h != nil {
			t.Errorf("%v is reached before the first review", h)
		}
	})
	t.Run("unknown cost adds nothing", func(t *testing.T) {
		t.Parallel()
		b, x := spent(t, 100)
		b.must(EndRun(b.State, supervisorOf("coder-1"), RunResult{Task: "x", Attempt: blackboard.Attempt{Kind: "coder"}}, b.now))
		want(t, "unknown_cost_runs", x.Usage.UnknownCostRuns, 1)
		if h := Reached(b.State, x, b.now); h != nil {
			t.Errorf("%v is reached", h)
		}
	})
	t.Run("the other limits", func(t *testing.T) {
		t.Parallel()
		for _, x := range []struct {
			key    string
			usage  blackboard.Usage
			kind   string
			reason string
		}{
			{"time_minutes", blackboard.Usage{Seconds: 600}, "time", "time limit reached: 10 of 10 minutes"},
			{"tokens", blackboard.Usage{TokensIn: 4, TokensOut: 6}, "cost", "cost limit reached: 10 of 10 tokens"},
			{"max_agent_runs", blackboard.Usage{AgentRuns: 10}, "iteration", "iteration limit reached: 10 of 10 runs"},
		} {
			b := team(t)
			task := b.add("x")
			task.Limits, task.Usage = blackboard.Settings{x.key: 10}, &x.usage
			h := Reached(b.State, task, b.now)
			want(t, "the kind of "+x.key, h.Kind, x.kind)
			b.must(HaltTask(b.State, "x", supervisorOf("planner-1"), Input{Halt: h}, b.now))
			want(t, "blocked_reason", task.BlockedReason, x.reason)
			b.valid()
			r := b.refused("G78", ExitRefused, "10 of 10", func() error { return Resubmit(b.State, "x", person, Input{}, b.now) })
			want(t, "next", r.Next, "liza retry x --limit "+x.key+"=20")
		}
	})
	t.Run("what is not a limit halts nothing", func(t *testing.T) {
		t.Parallel()
		b, _ := spent(t, 100)
		b.refused("G23", ExitRefused, "no limit of task x is reached", func() error { return HaltTask(b.State, "x", system, Input{}, b.now) })
		b.refused("G23", ExitRefused, "patience 2 of 1 is not a limit", func() error {
			return HaltTask(b.State, "x", system, Input{Halt: &blackboard.Halt{Kind: "patience", Value: 2, Limit: 1}}, b.now)
		})
		b.blockX()
		b.refused("G78", ExitRefused, "task x is not halted by a limit", func() error { return Resubmit(b.State, "x", person, Input{}, b.now) })
	})
	t.Run("without a worktree the next claim starts at the last commit", func(t *testing.T) {
		t.Parallel()
		b, x := spent(t, 100, 100)
		x.Attempts[0].Commit = commitOf(5)
		b.releaseX()
		x.Worktree = ""
		b.must(HaltTask(b.State, "x", system, Input{Halt: Reached(b.State, x, b.now)}, b.now))
		b.must(Resubmit(b.State, "x", person, Input{Limits: blackboard.Settings{"cost_cents": 300}}, b.now))
		want(t, "restart_from", x.RestartFrom, commitOf(5))
		want(t, "handoff_pending", x.HandoffPending, false)
		b.must(Claim(b.State, "x", supervisorOf("coder-1"), claimed("x"), b.now))
		want(t, "restart_from after the claim", x.RestartFrom, "")
	})
}

func TestP104ABlockNeedsOneToThreeQuestions(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.add("x")
	b.claim("x", "coder-1")
	for _, x := range []struct {
		text string
		in   Input
	}{
		{"--reason is empty", Input{Questions: blackboard.List{"a?"}}},
		{"give 1 to 3 questions with --question, not 0", Input{Reason: "r"}},
		{"give 1 to 3 questions with --question, not 4", Input{Reason: "r", Questions: blackboard.List{"a?", "b?", "c?", "d?"}}},
		{"a --question is empty", Input{Reason: "r", Questions: blackboard.List{"a?", " "}}},
		{`--question "??" asks nothing`, Input{Reason: "r", Questions: blackboard.List{"??"}}},
	} {
		b.refused("G70", ExitUsage, x.text, func() error { return Block(b.State, "x", programOf("coder-1"), x.in, b.now) })
	}
	b.must(Block(b.State, "x", programOf("coder-1"), Input{Reason: "r", Questions: blackboard.List{"a?", "b?", "c?"}}, b.now))
	x := b.status("x", blackboard.Blocked)
	want(t, "the open questions", len(b.Questions), 3)
	want(t, "the second one", b.Questions[1].ID+" "+b.Questions[1].Text+" "+string(b.Questions[1].Status), "q-2 b? open")
	want(t, "assigned_to", x.AssignedTo, "coder-1")
	want(t, "the worktree", x.Worktree, ".worktrees/x")
	b.valid()
}

func TestP105AnUnblockedTaskStartsOver(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.rejected("x", 2)
	b.must(Block(b.State, "x", person, Input{Reason: "r", Questions: blackboard.List{"a?"}}, b.now))
	b.refused("G75", ExitFailure, "cannot save the work of x: no space", func() error {
		return Unblock(b.State, "x", person, Input{Reason: "go on", SaveError: "no space"}, b.now)
	})
	b.refused("G09", ExitUsage, "--reason is empty", func() error { return Unblock(b.State, "x", person, Input{}, b.now) })
	b.must(Unblock(b.State, "x", person, Input{Reason: "go on", Attic: "refs/liza/attic/x/1"}, b.now))
	x := b.status("x", blackboard.Unclaimed)
	want(t, "worktree", x.Worktree, "")
	want(t, "base_commit", x.BaseCommit, "")
	want(t, "review_commit", x.ReviewCommit, "")
	want(t, "assigned_to", x.AssignedTo, "")
	want(t, "review_cycles_current", x.ReviewCyclesCurrent, 0)
	want(t, "review_cycles_total", x.ReviewCyclesTotal, 1)
	want(t, "iteration", x.Iteration, 0)
	want(t, "blocked_reason", x.BlockedReason, "")
	want(t, "the attic in the history", x.Last().Attic, "refs/liza/attic/x/1")
	want(t, "restart_from", x.RestartFrom, "")
	b.valid()
	for _, event := range []func(in Input) error{
		func(in Input) error { return Supersede(b.State, "x", person, in, b.now) },
		func(in Input) error { _, err := Abandon(b.State, "x", person, in, b.now); return err },
	} {
		b.RemoveTasks(func(t *blackboard.Task) bool { return t.ID != b.TaskAt(0).ID })
		b.AddTasks(codeTask("other"))
		b.Task("other").Status = blackboard.Unclaimed
		b.refused("G75", ExitFailure, "cannot save the work of x: no space", func() error {
			return event(Input{Reason: "r", By: blackboard.List{"other"}, SaveError: "no space"})
		})
	}
}

func TestTheLastAnswerUnblocks(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.add("x")
	b.claim("x", "coder-1")
	b.must(Block(b.State, "x", programOf("coder-1"), Input{Reason: "r", Questions: blackboard.List{"a?", "b?"}}, b.now))
	b.refused("G05", ExitRefused, "no question 'q-9'", func() error { _, _, err := AnswerQuestion(b.State, "q-9", "yes", person, b.now); return err })
	b.refused("G09", ExitUsage, "the answer is empty", func() error { _, _, err := AnswerQuestion(b.State, "q-1", " ", person, b.now); return err })
	b.refused("G03", ExitRefused, "a coder may not answer", func() error {
		_, _, err := AnswerQuestion(b.State, "q-1", "yes", programOf("coder-1"), b.now)
		return err
	})
	b.refused("G04", ExitRefused, "runs inside coder-1", func() error {
		_, _, err := AnswerQuestion(b.State, "q-1", "yes", Actor{ID: blackboard.Human, Inside: "coder-1"}, b.now)
		return err
	})
	_, unblock, err := AnswerQuestion(b.State, "q-1", "yes", person, b.now)
	b.must(err)
	want(t, "unblock after the first", unblock, false)
	b.refused("G06", ExitRefused, "question q-1 is answered", func() error { _, _, err := AnswerQuestion(b.State, "q-1", "no", person, b.now); return err })
	task, unblock, err := AnswerQuestion(b.State, "q-2", "no", person, b.now)
	b.must(err)
	want(t, "unblock after the last", unblock, true)
	want(t, "the task", task, "x")
	b.must(Unblock(b.State, task, person, Input{Reason: "answered", Answered: true, Tip: commitOf(6)}, b.now))
	want(t, "restart_from", b.Task("x").RestartFrom, commitOf(6))
	want(t, "the question", b.Questions[0].Status, "answered")

	t.Run("not of a task that waits for more than answers", func(t *testing.T) {
		b := team(t)
		b.add("x")
		b.claim("x", "coder-1")
		b.must(HaltTask(b.State, "x", system, Input{Halt: &blackboard.Halt{Kind: "cost", Value: 2, Limit: 1}}, b.now))
		_, unblock, err := AnswerQuestion(b.State, "q-1", "drop it", person, b.now)
		b.must(err)
		want(t, "unblock", unblock, false)
	})
	t.Run("questions of a task that goes on are withdrawn", func(t *testing.T) {
		b := team(t)
		b.blocked("x")
		b.Questions = append(b.Questions, &blackboard.Question{ID: "q-7", Task: "x", Kind: "prompted", Text: "Proceed?", Status: "open"})
		_, err := Abandon(b.State, "x", person, Input{Reason: "r"}, b.now)
		b.must(err)
		want(t, "the block's question", b.Questions[0].Status, "expired")
		want(t, "the prompted one", b.Questions[1].Status, "expired")
		want(t, "blocked_reason is kept", b.Task("x").BlockedReason, "the spec is silent")
	})
}

func TestP109ARetryIsAnIterationOfTheSameClaim(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.add("x")
	b.claim("x", "coder-1")
	b.must(Retry(b.State, "x", supervisorOf("coder-1"), Input{}, b.now))
	b.must(Retry(b.State, "x", supervisorOf("coder-1"), Input{}, b.now))
	x := b.submit("x", 2)
	want(t, "iteration", x.Iteration, 3)
	want(t, "claim_seq", x.ClaimSeq, 1)
	want(t, "iterations_total", b.Sprint.Metrics.IterationsTotal, 3)
	b.refused("G03", ExitRefused, "may not retry", func() error { return Retry(b.State, "x", programOf("coder-1"), Input{}, b.now) })
}
