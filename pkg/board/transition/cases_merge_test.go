package transition

import (
	"slices"
	"strconv"
	"testing"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/blackboard/audit"
)

// The cases about merges and figures, as far as the state shows them.

func TestMerges(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.ready("x", 2)
	intend := func(a Actor, change func(*MergeFacts)) func() error {
		in := mergeable(commitOf(901))
		if change != nil {
			change(in.Merge)
		}
		return func() error { return IntendMerge(b.State, "x", a, in, b.now) }
	}
	b.refused("G06", ExitRefused, "x is READY_FOR_REVIEW; merge needs APPROVED", intend(system, nil))
	b.claimReview("x", "code-reviewer-1")
	b.approve("x")
	for _, id := range []string{"coder-1", "planner-1"} { // P-119
		b.refused("G61", ExitRefused, "may not merge; human, system or the supervisor of a code_reviewer may", intend(programOf(id), nil))
		b.refused("G61", ExitRefused, "may not merge", func() error { return FinishMerge(b.State, "x", supervisorOf(id), mergeable(commitOf(901)), b.now) })
	}
	b.refused("G62", ExitFailure, "of task x is gone", intend(system, func(f *MergeFacts) { f.CommitGone = true }))
	b.refused("G63", ExitRefused, "the branch integration does not exist", intend(system, func(f *MergeFacts) { f.Tip = "" }))
	b.refused("G64", ExitRefused, "integration is checked out in /home/ada/project", intend(system, func(f *MergeFacts) { f.CheckedOutAt = "/home/ada/project" }))
	b.refused("", ExitFailure, "does not contain the work of x", func() error { return FinishMerge(b.State, "x", system, Input{}, b.now) })
	b.refused("", ExitFailure, "no failure of the integration of x is shown", func() error { return FailIntegration(b.State, "x", system, Input{}, b.now) })
	b.TakeEntries(0)
	b.must(intend(supervisorOf("code-reviewer-1"), nil)())
	want(t, "the number of journal entries of an intent", len(b.Entries()), 0)
	b.valid()
	in := mergeable(commitOf(901))
	in.Merge.Drift, in.AsAgent = 2, "code-reviewer-1"
	b.must(HoldTask(b.State, "x", person, Input{Reason: "too late"}, b.now))
	b.TakeEntries(0)
	b.must(FinishMerge(b.State, "x", system, in, b.now))
	x := b.status("x", blackboard.Merged)
	want(t, "merge_commit", x.MergeCommit, commitOf(901))
	want(t, "worktree", x.Worktree, "")
	want(t, "drift", x.Last().DriftCommits, 2)
	want(t, "the journal's author", b.Entries()[0].Agent, "code-reviewer-1")
	want(t, "the journal's commit", b.Entries()[0].Extra["merge_commit"], any(commitOf(901)))
	b.valid()
	b.already("the merge", func() error { return FinishMerge(b.State, "x", system, in, b.now) })
	b.already("the merge by another", func() error { return FinishMerge(b.State, "x", person, in, b.now) })
	b.already("the intent", intend(system, nil))
	b.refused("G06", ExitRefused, "x is MERGED", func() error { return FinishMerge(b.State, "x", system, mergeable(commitOf(7)), b.now) })

	t.Run("a failure", func(t *testing.T) {
		b := team(t)
		b.ready("y", 2)
		b.claimReview("y", "code-reviewer-1")
		b.approve("y")
		b.must(IntendMerge(b.State, "y", system, mergeable(commitOf(901)), b.now))
		b.TakeEntries(0)
		b.must(FailIntegration(b.State, "y", system, Input{Merge: &MergeFacts{Reason: "checks", Log: "a.log", Files: blackboard.List{"a.go"}}}, b.now))
		y := b.status("y", blackboard.IntegrationFailed)
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
	b.must(Claim(b.State, "c", supervisorOf("coder-1"), kept("c"), b.now))
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
	_, err := Abandon(b.State, "d", person, Input{Reason: "r"}, b.now)
	b.must(err)
	want(t, "the outcome rate with one abandoned", *m.TaskOutcomeApprovalRatePercent, 75)

	t.Run("archived tasks still count", func(t *testing.T) {
		first := b.TaskList()[:2]
		b.RemoveTasks(func(t *blackboard.Task) bool { return slices.Contains(first, t) })
		b.UseArchive(taskArchive{"a": blackboard.Merged, "b": blackboard.Merged, "of-another-sprint": blackboard.Merged})
		b.must(Create(b.State, codeTask("e"), false, person, Input{}, b.now))
		_, err := Abandon(b.State, "e", person, Input{Reason: "r"}, b.now)
		b.must(err)
		want(t, "the outcome rate: 3 of 5", *m.TaskOutcomeApprovalRatePercent, 60)
	})
	t.Run("P-169 five approvals of five are suspicious, four are not", func(t *testing.T) {
		b := team(t)
		for n := 1; n <= 5; n++ {
			b.done("task-"+strconv.Itoa(n), n+1)
			var found []string
			for _, v := range audit.Validate(b.State, nil, audit.Evidence{Now: b.now}) {
				if v.Rule == "V64" {
					found = append(found, v.Message)
				}
			}
			want(t, "warnings after "+strconv.Itoa(n), len(found), n/5)
		}
	})
	t.Run("a person's approval is no verdict", func(t *testing.T) {
		b := team(t)
		b.approvedStrict("x")
		b.must(ApproveMerge(b.State, "x", person, Input{}, b.now))
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
