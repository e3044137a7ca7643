package transition

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/blackboard/audit"
)

// The cases about review, as far as the state shows them.

func TestP080P081AReviewIsClaimedByOne(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.ready("x", 2)
	b.claimReview("x", "code-reviewer-1")
	b.refused("G50", ExitRefused, "under review by code-reviewer-1 until", func() error { return ClaimReview(b.State, "x", supervisorOf("code-reviewer-2"), Input{}, b.now) })
	b.refused("G50", ExitRefused, "under review by code-reviewer-1 until", func() error { return ClaimReview(b.State, "x", supervisorOf("code-reviewer-1"), Input{}, b.now) })
	if task, why := NextReview(b.State, supervisorOf("code-reviewer-2"), Input{}, b.now); task != nil {
		t.Errorf("it is given out again: %s", why)
	}
	b.after(1861 * time.Second)
	b.TakeEntries(0)
	b.claimReview("x", "code-reviewer-2")
	x := b.Task("x")
	wantList(t, "history", events(x)[4:], []string{"review_claimed", "lease_expired", "review_claimed"})
	want(t, "what expired", x.History[len(x.History)-2].What, "review")
	want(t, "the holder", x.History[len(x.History)-2].Holder, "code-reviewer-1")
	wantList(t, "journal", actions(b.State, "x"), []string{"review_claimed"})
	want(t, "review_failures", x.ReviewFailures, 1)
	want(t, "the former reviewer", b.Agents["code-reviewer-1"].Status, blackboard.AgentIdle)
	b.valid()
	late := programOf("code-reviewer-1")
	for _, verdict := range []func() error{
		func() error { _, err := Approve(b.State, "x", late, b.reviewed("x"), b.now); return err },
		func() error { return Reject(b.State, "x", late, Input{Reason: "a.go"}, b.now) },
		func() error { return Replan(b.State, "x", late, Input{Reason: "no"}, b.now) },
		func() error { return ReleaseReview(b.State, "x", late, Input{What: "stuck", Reason: "no"}, b.now) },
		func() error {
			return HandOff(b.State, "x", late, Input{Handoff: &blackboard.Handoff{Summary: "a", NextAction: "b"}}, b.now)
		},
	} {
		b.refused("G53", ExitLeaseLost, "its lease expired", verdict)
	}
	b.reject("x", "a.go:1 is wrong")
	b.refused("G06", ExitLeaseLost, "x is REJECTED", func() error { return Reject(b.State, "x", programOf("code-reviewer-1"), Input{Reason: "a.go"}, b.now) })
}

func TestP082AReviewerWithoutALeaseHasToBeReleased(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.ready("x", 2).ReviewingBy = "code-reviewer-2"
	found := false
	for _, v := range audit.Validate(b.State, nil, audit.Evidence{Now: b.now}) {
		found = found || v.Rule == "V33"
	}
	want(t, "V33 is reported", found, true)
	r := b.refused("G50", ExitRefused, "reviewing_by code-reviewer-2 without a lease", func() error { return ClaimReview(b.State, "x", supervisorOf("code-reviewer-1"), Input{}, b.now) })
	want(t, "next", r.Next, "liza retry x --reason T")
	b.must(ReleaseReview(b.State, "x", person, Input{Reason: "no lease"}, b.now))
	b.claimReview("x", "code-reviewer-1")
}

// N-17: nor under another id, with the same generation or token.
func TestP083NobodyJudgesHisOwnWork(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.ready("x", 2)
	approve := func(a Actor) func() error {
		return func() error { _, err := Approve(b.State, "x", a, b.reviewed("x"), b.now); return err }
	}
	b.refused("G03", ExitRefused, "a coder may not approve; code_reviewer may", approve(programOf("coder-1")))
	b.refused("G03", ExitRefused, "human may not approve", approve(person))
	inside := personAs("code-reviewer-1")
	inside.Inside = "coder-1"
	b.refused("G04", ExitRefused, "this process runs inside coder-1 and can only act as coder-1", approve(inside))
	b.refused("G04", ExitRefused, "this process runs inside coder-1", approve(Actor{ID: blackboard.Human, Inside: "coder-1"}))

	t.Run("also not under another id", func(t *testing.T) {
		for name, same := range map[string]func(*blackboard.Agent, *blackboard.Agent){
			"generation": func(r, c *blackboard.Agent) { r.Generation = c.Generation },
			"token":      func(r, c *blackboard.Agent) { c.TokenHash = r.TokenHash },
		} {
			t.Run(name, func(t *testing.T) {
				b := team(t)
				b.ready("x", 2)
				same(b.Agents["code-reviewer-1"], b.Agents["coder-1"])
				b.refused("G51", ExitRefused, "another reviewer has to judge it", func() error {
					return ClaimReview(b.State, "x", supervisorOf("code-reviewer-1"), Input{}, b.now)
				})
			})
		}
	})
	t.Run("a reviewer judges one task at a time", func(t *testing.T) {
		b := team(t)
		b.ready("x", 2)
		b.ready("y", 3)
		b.claimReview("x", "code-reviewer-1")
		b.refused("G52", ExitRefused, "code-reviewer-1 already reviews x", func() error { return ClaimReview(b.State, "y", supervisorOf("code-reviewer-1"), Input{}, b.now) })
	})
}

func TestP084AVerdictNeedsTheReviewClaim(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.ready("x", 2)
	reject := func(id string) func() error {
		return func() error { return Reject(b.State, "x", programOf(id), Input{Reason: "a.go:1"}, b.now) }
	}
	r := b.refused("G53", ExitRefused, "has no reviewer", reject("code-reviewer-1"))
	want(t, "next", r.Next, "liza claim-review x")
	b.claimReview("x", "code-reviewer-1")
	b.refused("G53", ExitRefused, "under review by code-reviewer-1", reject("code-reviewer-2"))
	b.approve("x")
	b.refused("G06", ExitRefused, "x is APPROVED; reject needs READY_FOR_REVIEW", reject("code-reviewer-2"))
}

func TestP085ARejectionNeedsAReason(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.ready("x", 2)
	b.claimReview("x", "code-reviewer-1")
	AddAnomaly(b.State, "x", "code-reviewer-1", "scope_deviation", blackboard.Settings{"expected": "a", "actual": "b"}, b.now)
	b.refused("G57", ExitUsage, "--reason is empty", func() error { return Reject(b.State, "x", programOf("code-reviewer-1"), Input{Reason: " \n"}, b.now) })
	in := Input{Reason: "greeting.go:1 misses\nthe name", Verdict: &VerdictInput{Findings: []*blackboard.Finding{{Severity: "error", Message: "no name", Fix: "add it"}, {Message: "odd"}},
		Prior: []*blackboard.Prior{{N: 1, State: "PARTIAL"}}}}
	b.must(Reject(b.State, "x", programOf("code-reviewer-1"), in, b.now))
	x := b.status("x", blackboard.Rejected)
	want(t, "the reason", x.RejectionReason.Summary, in.Reason)
	want(t, "the reason in the history", x.Last().Reason, "greeting.go:1 misses the name")
	want(t, "the commit in the history", x.Last().Commit, commitOf(2))
	want(t, "review_cycles_current", x.ReviewCyclesCurrent, 1)
	want(t, "review_cycles_total", x.ReviewCyclesTotal, 1)
	wantList(t, "anomalies", x.RejectionReason.Anomalies, []string{"anom-1"})
	want(t, "the number of fixes, from the error findings", len(x.Fixes), 1)
	if f := x.Fixes[0]; f.N != 1 || f.Kind != "code" || f.Detail != "no name" || f.Expect != "add it" {
		t.Errorf("the fix is %+v", *f)
	}
	want(t, "assigned_to", x.AssignedTo, "coder-1")

	t.Run("P-094 injected steps are the fixes, and a submission marks them", func(t *testing.T) {
		b := team(t)
		b.ready("x", 2)
		b.claimReview("x", "code-reviewer-1")
		inject := []*blackboard.Fix{{Kind: "exec", Detail: "go generate"}, {Kind: "code", Detail: "add the name"}}
		b.must(Reject(b.State, "x", programOf("code-reviewer-1"), Input{Reason: "a.go:1", Verdict: &VerdictInput{Inject: inject}}, b.now))
		want(t, "the number of fixes", len(b.Task("x").Fixes), 2)
		want(t, "the second one's number", b.Task("x").Fixes[1].N, 2)
		want(t, "the caller's own copy", inject[1].N, 0)
		b.must(Claim(b.State, "x", supervisorOf("coder-1"), kept("x"), b.now))
		b.submit("x", 3)
		want(t, "the fix is done", b.Task("x").Fixes[1].Done, true)
		b.claimReview("x", "code-reviewer-1")
		b.approve("x")
		want(t, "the number of fixes after the approval", len(b.Task("x").Fixes), 0)
	})
}

func TestP086P087AnApprovalIsOfExactlyWhatWasSubmitted(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.ready("x", 2)
	b.claimReview("x", "code-reviewer-1")
	for name, x := range map[string]struct {
		facts       ReviewFacts
		guard, text string
	}{
		"the worktree moved": {ReviewFacts{BranchTip: commitOf(2), Head: commitOf(3)}, "G55", "HEAD moved from 000000000"},
		"the branch moved":   {ReviewFacts{BranchTip: commitOf(3), Head: commitOf(2)}, "G55", "only what was submitted can be approved"},
		"the branch is gone": {ReviewFacts{Head: commitOf(2)}, "G55", "to nothing after the submission"},
		"a file changed":     {ReviewFacts{BranchTip: commitOf(2), Head: commitOf(2), Dirty: []string{"a.go"}}, "G56", "changed during the review: a.go"},
	} {
		in := Input{Review: &x.facts}
		r := b.refused(x.guard, ExitRefused, x.text, func() error { _, err := Approve(b.State, "x", programOf("code-reviewer-1"), in, b.now); return err })
		if !strings.HasPrefix(r.Next, "git -C ") { // the reviewer may have done it: that is not a reason to reject
			t.Errorf("%s: next is %q", name, r.Next)
		}
	}
	b.reject("x", "HEAD moved: a.go")
	b.status("x", blackboard.Rejected)
}

func TestP088P089TheLastRejectionBlocks(t *testing.T) {
	t.Parallel()
	for name, limit := range map[string]int{"P-088 five by default": 5, "P-089 two of the task's own": 2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := team(t)
			x := b.add("x")
			if limit != 5 {
				x.MaxReviewCycles = limit
			}
			b.claim("x", "coder-1")
			for n := 1; n <= limit; n++ {
				b.submit("x", n+10)
				b.claimReview("x", "code-reviewer-1")
				b.TakeEntries(0)
				b.reject("x", "a.go:1 is wrong")
				if n < limit {
					b.status("x", blackboard.Rejected)
					b.must(Claim(b.State, "x", supervisorOf("coder-1"), kept("x"), b.now))
				}
			}
			b.status("x", blackboard.Blocked)
			want(t, "blocked_kind", x.BlockedKind, "review_deadlock")
			want(t, "blocked_reason", x.BlockedReason, "review_deadlock: "+strconv.Itoa(limit)+" rejections")
			wantList(t, "questions", x.BlockedQuestions, []string{"Is the criterion right?", "Should another coder or a smaller task be tried?", "Should it be dropped?"})
			wantList(t, "failed_by", x.FailedBy, []string{"coder-1"})
			want(t, "failures", x.Failures, 1)
			wantList(t, "the end of the history", events(x)[len(x.History)-2:], []string{"rejected", "blocked"})
			rejected, blocked := x.History[len(x.History)-2], x.Last()
			want(t, "the reason of the rejection", rejected.Reason, "a.go:1 is wrong")
			want(t, "the kind of the rejection", rejected.Kind, "")
			want(t, "the reason of the block", blocked.Reason, x.BlockedReason)
			want(t, "the kind of the block", blocked.Kind, "review_deadlock")
			wantList(t, "journal", actions(b.State, "x"), []string{"rejected", "blocked", "anomaly"})
			want(t, "the anomaly", b.Anomalies[0].Type, "review_deadlock")
			want(t, "the trigger", Triggers(b.State, TriggerFacts{}, b.now)[0].Kind, "BLOCKED_TASKS")
			b.valid()
		})
	}
}

func TestP090AReplanBlocksAndWakesThePlanner(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.Plans = []*blackboard.Plan{{ID: "plan-1", Goal: "g", Status: "running", Tasks: blackboard.List{"x"}}}
	b.ready("x", 2).Plan = "plan-1"
	b.claimReview("x", "code-reviewer-1")
	b.TakeEntries(0)
	b.refused("G57", ExitUsage, "--reason is empty", func() error { return Replan(b.State, "x", programOf("code-reviewer-1"), Input{}, b.now) })
	b.must(Replan(b.State, "x", programOf("code-reviewer-1"), Input{Reason: "the API does not exist"}, b.now))
	x := b.status("x", blackboard.Blocked)
	want(t, "blocked_kind", x.BlockedKind, "replan")
	want(t, "review.status", x.Review.Status, "replan")
	want(t, "the kind in the history", x.Last().Kind, "replan")
	want(t, "the number of questions", len(x.BlockedQuestions), 1)
	want(t, "plans[].failure", *Plan(b.State, "plan-1").Failure, blackboard.PlanFailure{Task: "x", Reason: "the API does not exist"})
	wantList(t, "journal", actions(b.State, "x"), []string{"blocked", "replanned"})
	want(t, "the trigger", Triggers(b.State, TriggerFacts{}, b.now)[0].Kind, "REPLAN")
	b.valid()
}

func TestP091AStuckReviewIsHeld(t *testing.T) {
	t.Parallel()
	stuck := func(t *testing.T, b *board) {
		x := b.status("x", blackboard.ReadyForReview)
		if x.Hold == nil || x.Hold.By != blackboard.System {
			t.Fatalf("the hold is %v", x.Hold)
		}
		want(t, "review.status", x.Review.Status, "stuck")
		wantList(t, "the end of the history", events(x)[len(x.History)-2:], []string{"released", "held"})
		want(t, "the anomaly", b.Anomalies[0].Type, "review_stuck")
		want(t, "the trigger", Triggers(b.State, TriggerFacts{}, b.now)[0].Kind, "REVIEW_STUCK")
		if task, _ := NextReview(b.State, supervisorOf("code-reviewer-2"), Input{}, b.now); task != nil {
			t.Error("it is given out all the same")
		}
		b.valid()
		b.must(UnholdTask(b.State, "x", person, Input{}, b.now))
		want(t, "review_failures", x.ReviewFailures, 0)
		b.claimReview("x", "code-reviewer-2")
	}
	t.Run("after one verdict stuck", func(t *testing.T) {
		t.Parallel()
		b := team(t)
		b.ready("x", 2)
		b.claimReview("x", "code-reviewer-1")
		b.TakeEntries(0)
		b.must(ReleaseReview(b.State, "x", programOf("code-reviewer-1"), Input{What: "stuck", Reason: "cannot run it"}, b.now))
		wantList(t, "journal", actions(b.State, "x"), []string{"review_stuck", "anomaly"})
		stuck(t, b)
	})
	t.Run("after three reviews without a verdict", func(t *testing.T) {
		t.Parallel()
		b := team(t)
		b.ready("x", 2)
		for n, what := range []string{"failed", "retry", "lapsed"} {
			b.claimReview("x", "code-reviewer-1")
			b.refused("G03", ExitRefused, "may only end its review with a verdict", func() error {
				return ReleaseReview(b.State, "x", programOf("code-reviewer-1"), Input{What: what, Reason: "crashed"}, b.now)
			})
			b.TakeEntries(0)
			b.must(ReleaseReview(b.State, "x", supervisorOf("code-reviewer-1"), Input{What: what, Reason: "crashed"}, b.now))
			want(t, "review_failures", b.Task("x").ReviewFailures, n+1)
			if n < 2 {
				wantList(t, "journal", actions(b.State, "x"), []string{"released"})
			}
		}
		stuck(t, b)
	})
	t.Run("not after reviews that were given up", func(t *testing.T) {
		t.Parallel()
		b := team(t)
		b.ready("x", 2)
		for range 5 {
			b.claimReview("x", "code-reviewer-1")
			b.must(ReleaseReview(b.State, "x", supervisorOf("code-reviewer-1"), Input{Reason: "quota"}, b.now))
		}
		want(t, "review_failures", b.Task("x").ReviewFailures, 0)
	})
	t.Run("the planner may replace it", func(t *testing.T) {
		t.Parallel()
		b := team(t)
		b.add("y")
		b.ready("x", 2)
		b.refused("G06", ExitRefused, "task x is READY_FOR_REVIEW: it can be dropped only when its review got stuck", func() error {
			return Supersede(b.State, "x", supervisorOf("planner-1"), Input{Reason: "r", By: blackboard.List{"y"}}, b.now)
		})
		b.claimReview("x", "code-reviewer-1")
		b.must(ReleaseReview(b.State, "x", programOf("code-reviewer-1"), Input{What: "stuck", Reason: "cannot run it"}, b.now))
		b.must(Supersede(b.State, "x", supervisorOf("planner-1"), Input{Reason: "r", By: blackboard.List{"y"}}, b.now))
		b.valid()
	})
}

func TestAPersonReleasesAReview(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.ready("x", 2)
	b.refused("G76", ExitRefused, "task x has no reviewer", func() error { return ReleaseReview(b.State, "x", person, Input{Reason: "r"}, b.now) })
	b.claimReview("x", "code-reviewer-1")
	b.refused("G09", ExitUsage, "--reason is empty", func() error { return ReleaseReview(b.State, "x", person, Input{Force: true}, b.now) })
	b.refused("G76", ExitRefused, "the review lease of code-reviewer-1 is alive until", func() error { return ReleaseReview(b.State, "x", person, Input{Reason: "r"}, b.now) })
	b.TakeEntries(0)
	b.must(ReleaseReview(b.State, "x", person, Input{Reason: "on holiday", Force: true}, b.now))
	h := b.Task("x").Last()
	if h.Event != "released" || h.What != "review" || h.Reason != "on holiday" || h.Holder != "code-reviewer-1" {
		t.Errorf("the history says %+v", h)
	}
	wantList(t, "journal", actions(b.State, "x"), []string{"released"})
	b.refused("G53", ExitLeaseLost, "released by human: on holiday", func() error { return Reject(b.State, "x", programOf("code-reviewer-1"), Input{Reason: "a.go"}, b.now) })
}

func TestP092TheReviewModes(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		mode, finding string
		auto          bool
		status        blackboard.Status
		waits         bool
		override      bool
	}{
		{mode: "", finding: "", status: blackboard.Approved},
		{mode: "", finding: "warning", status: blackboard.Approved},
		{mode: "", finding: "error", status: blackboard.Rejected},
		{mode: "strict", finding: "", status: blackboard.Approved, waits: true},
		{mode: "strict", finding: "warning", status: blackboard.Approved, waits: true, override: true},
		{mode: "strict", finding: "error", status: blackboard.Rejected},
		{mode: "normal", finding: "", status: blackboard.Approved, waits: true},
		{mode: "normal", finding: "warning", status: blackboard.Approved, waits: true},
		{mode: "normal", finding: "error", status: blackboard.Rejected},
		{mode: "normal", finding: "warning", auto: true, status: blackboard.Approved},
		{mode: "yolo", finding: "", status: blackboard.Approved},
		{mode: "yolo", finding: "warning", status: blackboard.Approved},
		{mode: "yolo", finding: "error", status: blackboard.Rejected},
		{mode: "disabled", finding: "", status: blackboard.ReadyForReview},
		{mode: "disabled", finding: "warning", status: blackboard.ReadyForReview},
		{mode: "disabled", finding: "error", status: blackboard.ReadyForReview},
	} {
		t.Run("P-092 mode "+x.mode+" with "+x.finding, func(t *testing.T) {
			t.Parallel()
			b := team(t)
			task := b.ready("x", 2)
			b.claimReview("x", "code-reviewer-1")
			if x.finding != "" { // of a check, before the review
				task.Review = &blackboard.Review{Findings: []*blackboard.Finding{{Severity: x.finding, Check: "build_passes", File: "a.go", Message: "failed"}}}
			}
			in := b.reviewed("x")
			in.ReviewMode, in.AutoMerge = blackboard.ReviewMode(x.mode), x.auto
			b.TakeEntries(0)
			if x.mode == "disabled" {
				b.disabled(in)
				return
			}
			overruled, err := Approve(b.State, "x", programOf("code-reviewer-1"), in, b.now)
			b.must(err)
			b.status("x", x.status)
			want(t, "review.mode", task.Review.Mode, blackboard.ReviewMode(x.mode))
			if x.status == blackboard.Rejected {
				want(t, "what the gate says", overruled, "rejected by the gate: check build_passes: a.go: failed")
				want(t, "the reason", task.RejectionReason.Summary, overruled)
				wantList(t, "journal", actions(b.State, "x"), []string{"rejected", "gate_overruled_ok"})
				want(t, "the level of the warning", b.Entries()[1].Extra["level"], any("warning"))
				return
			}
			wantList(t, "journal", actions(b.State, "x"), []string{"approved"})
			want(t, "the merge waits", task.MergeApproval != nil && task.MergeApproval.Required, x.waits)
			if !x.waits {
				b.must(IntendMerge(b.State, "x", system, mergeable(commitOf(901)), b.now))
				return
			}
			b.refused("G60", ExitRefused, "waits for a person's merge approval", func() error { return IntendMerge(b.State, "x", system, mergeable(commitOf(901)), b.now) })
			release := Input{Reason: "looked at it"}
			if x.override {
				b.refused("G65", ExitRefused, "1 warning against x", func() error { return ApproveMerge(b.State, "x", person, release, b.now) })
				release.Merge = &MergeFacts{Override: true}
				b.refused("G65", ExitRefused, "1 warning against x", func() error {
					return ApproveMerge(b.State, "x", person, Input{Merge: release.Merge}, b.now)
				})
			}
			b.must(ApproveMerge(b.State, "x", person, release, b.now))
			want(t, "who decided", task.MergeApproval.By, "ada")
			b.refused("G65", ExitRefused, "no merge approval is waiting for x", func() error { return ApproveMerge(b.State, "x", person, release, b.now) })
			b.must(IntendMerge(b.State, "x", system, mergeable(commitOf(901)), b.now))
			b.valid()
		})
	}
}

// disabled asserts that in mode disabled nothing but a person's decision moves task x.
func (b *board) disabled(in Input) {
	b.t.Helper()
	a := programOf("code-reviewer-1")
	say := in
	say.Reason = "a.go:1 is wrong"
	for _, verdict := range []func() error{
		func() error { _, err := Approve(b.State, "x", a, in, b.now); return err },
		func() error { return Reject(b.State, "x", a, say, b.now) },
		func() error { return Replan(b.State, "x", a, say, b.now) },
	} {
		b.refused("G65", ExitRefused, "review.mode is disabled: a person decides about x", verdict)
	}
	b.must(ReleaseReview(b.State, "x", supervisorOf("code-reviewer-1"), Input{Reason: "the mode changed"}, b.now))
	b.refused("G65", ExitRefused, "review.mode is disabled", func() error { return ClaimReview(b.State, "x", supervisorOf("code-reviewer-1"), in, b.now) })
	task, _ := NextReview(b.State, supervisorOf("code-reviewer-1"), in, b.now)
	if task != nil {
		b.t.Errorf("%s is given out for review", task.ID)
	}
	other := board{t: b.t, now: b.now, State: b.State.Clone()}
	b.TakeEntries(0)
	b.must(ApproveMerge(b.State, "x", person, in, b.now))
	x := b.status("x", blackboard.Approved)
	want(b.t, "approved_by", x.ApprovedBy, blackboard.Human)
	want(b.t, "approved_commit", x.ApprovedCommit, commitOf(2))
	want(b.t, "review", x.Review.Status+" "+string(x.Review.Mode), "ok disabled")
	want(b.t, "the decision", x.MergeApproval.Decision, "approved")
	wantList(b.t, "journal", actions(b.State, "x"), []string{"merge_approved"})
	b.must(IntendMerge(b.State, "x", system, mergeable(commitOf(901)), b.now))
	want(b.t, "the approval is the merge's time", ApprovedTasks(b.State)[0].Since.Equal(b.now), true)
	b.valid()

	other.refused("G09", ExitUsage, "--reason is empty", func() error { return RejectMerge(other.State, "x", person, in, other.now) })
	other.TakeEntries(0)
	other.must(RejectMerge(other.State, "x", person, say, other.now))
	y := other.status("x", blackboard.Rejected)
	want(b.t, "the fix", y.Fixes[0].Detail, "a.go:1 is wrong")
	want(b.t, "cycles", y.ReviewCyclesTotal, 1)
	wantList(b.t, "journal", actions(other.State, "x"), []string{"merge_rejected"})
	other.valid()
}

func TestAPersonRefusesTheMerge(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.approvedStrict("x")
	b.refused("G03", ExitRefused, "may not reject merge; human may", func() error {
		return RejectMerge(b.State, "x", supervisorOf("code-reviewer-1"), Input{Reason: "r"}, b.now)
	})
	b.must(RejectMerge(b.State, "x", person, Input{Reason: "not before the release"}, b.now))
	x := b.status("x", blackboard.Rejected)
	want(t, "approved_by", x.ApprovedBy, "")
	want(t, "the decision", x.MergeApproval.Decision, "rejected")
	want(t, "who is named", strings.Join(x.Last().By, ","), "ada")
	want(t, "review_cycles_current", x.ReviewCyclesCurrent, 1)
	t.Run("and its commit is not handed in again", func(t *testing.T) {
		b.must(Claim(b.State, "x", supervisorOf("coder-1"), kept("x"), b.now))
		b.refused("G38", ExitRefused, "was already rejected", func() error { return Submit(b.State, "x", programOf("coder-1"), submitted("x", commitOf(2)), b.now) })
	})
	t.Run("at the limit the task is blocked", func(t *testing.T) {
		b := team(t)
		b.approvedStrict("x").MaxReviewCycles = 1
		b.TakeEntries(0)
		b.must(RejectMerge(b.State, "x", person, Input{Reason: "no"}, b.now))
		x := b.status("x", blackboard.Blocked)
		want(t, "blocked_kind", x.BlockedKind, "review_deadlock")
		wantList(t, "the end of the history", events(x)[len(x.History)-2:], []string{"rejected", "blocked"})
		wantList(t, "journal", actions(b.State, "x"), []string{"merge_rejected", "blocked", "anomaly"})
		b.valid()
	})
	t.Run("where nobody asked for approval there is nothing to refuse", func(t *testing.T) {
		b := team(t)
		b.ready("x", 2)
		b.claimReview("x", "code-reviewer-1")
		b.approve("x")
		b.refused("G65", ExitRefused, "no merge approval is waiting for x, which is APPROVED", func() error { return RejectMerge(b.State, "x", person, Input{Reason: "r"}, b.now) })
		b.refused("G65", ExitRefused, "no merge approval is waiting for x, which is APPROVED", func() error { return ApproveMerge(b.State, "x", person, Input{}, b.now) })
	})
	t.Run("a reviewer comes first", func(t *testing.T) {
		b := team(t)
		b.ready("x", 2)
		b.refused("G65", ExitRefused, "a reviewer judges it first", func() error { return ApproveMerge(b.State, "x", person, b.reviewed("x"), b.now) })
		b.refused("G65", ExitRefused, "a reviewer judges it first", func() error { return RejectMerge(b.State, "x", person, Input{Reason: "r"}, b.now) })
		b.refused("G55", ExitRefused, "HEAD moved", func() error { return ApproveMerge(b.State, "x", person, Input{ReviewMode: "disabled"}, b.now) })
	})
}

func TestAnApprovalAgainstAPointThatStands(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.ready("x", 2)
	b.claimReview("x", "code-reviewer-1")
	in := b.reviewed("x")
	in.Verdict = &VerdictInput{Prior: []*blackboard.Prior{{N: 2, State: "STILL_PRESENT"}}}
	b.refused("", ExitUsage, "prior point 2 of x is STILL_PRESENT", func() error { _, err := Approve(b.State, "x", programOf("code-reviewer-1"), in, b.now); return err })
	b.refused("G53", ExitRefused, "under review by code-reviewer-1", func() error { _, err := Approve(b.State, "x", programOf("code-reviewer-2"), in, b.now); return err })
}

func TestTheOrderOfReviews(t *testing.T) {
	t.Parallel()
	b := team(t)
	three := 3
	b.ready("low", 2).Priority = &three
	b.after(time.Minute)
	b.ready("later", 3)
	b.must(HoldTask(b.State, "later", person, Input{Reason: "a minute"}, b.now))
	b.ready("last", 4)
	b.after(time.Minute)
	b.must(UnholdTask(b.State, "later", person, Input{}, b.now))
	task, _ := NextReview(b.State, supervisorOf("code-reviewer-1"), Input{}, b.now)
	want(t, "the first", task.ID, "later")

	t.Run("a review that the reviewer held last comes first", func(t *testing.T) {
		b.claimReview("low", "code-reviewer-2")
		b.must(ReleaseReview(b.State, "low", supervisorOf("code-reviewer-2"), Input{What: "retry", Reason: "once more"}, b.now))
		task, _ := NextReview(b.State, supervisorOf("code-reviewer-2"), Input{}, b.now)
		want(t, "for who held it", task.ID, "low")
		task, _ = NextReview(b.State, supervisorOf("code-reviewer-1"), Input{}, b.now)
		want(t, "for another", task.ID, "later")
	})
	t.Run("nothing to review", func(t *testing.T) {
		b := team(t)
		_, why := NextReview(b.State, supervisorOf("code-reviewer-1"), Input{}, b.now)
		want(t, "the reason", why, "nothing is ready for review")
		_, why = NextReview(b.State, supervisorOf("code-reviewer-1"), Input{Control: "paused since T"}, b.now)
		want(t, "the reason", why, "paused since T")
	})
}

func TestApprovedTasksMergeInTheOrderOfTheirApproval(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.ready("first-in-file", 2)
	b.ready("second", 3)
	b.claimReview("second", "code-reviewer-1")
	b.approve("second")
	b.after(time.Minute)
	b.claimReview("first-in-file", "code-reviewer-1")
	in := b.reviewed("first-in-file")
	in.ReviewMode = "normal"
	_, err := Approve(b.State, "first-in-file", programOf("code-reviewer-1"), in, b.now)
	b.must(err)
	b.after(time.Hour)
	b.must(ApproveMerge(b.State, "first-in-file", person, Input{}, b.now))
	list := ApprovedTasks(b.State)
	want(t, "the first", list[0].Task.ID, "second")
	want(t, "the time of the second", blackboard.TimeOf(list[1].Since), blackboard.TimeOf(boardStart.Add(time.Minute)))
}
