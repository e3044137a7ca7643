package transition

import (
	"strings"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
)

// The cases about submission, as far as the state shows them.

func TestSubmitRefusesWhatIsNoFinishedWork(t *testing.T) {
	t.Parallel()
	base := integrationHead
	for _, x := range []struct {
		name, guard, text string
		change            func(*SubmissionFacts)
	}{
		{"P-061 a commit that does not exist", "G35", "commit abc does not exist", func(f *SubmissionFacts) { f.Commit, f.Named = "", "abc" }},
		{"P-061 a commit that is not HEAD", "G35", "HEAD of the worktree is", func(f *SubmissionFacts) { f.Head = commitOf(8) }},
		{"P-061 the base", "G36", "nothing was committed since base", func(f *SubmissionFacts) { f.Commit, f.Head = base, base }},
		{"P-061 an empty diff", "G36", "change no file", func(f *SubmissionFacts) { f.EmptyDiff = true }},
		{"P-062 a dirty worktree", "G34", "is not clean: a, b, c, d, e, f, g, h, i, j and 2 more", func(f *SubmissionFacts) { f.Dirty = strings.Split("abcdefghijkl", "") }},
		{"P-063 a detached HEAD", "G33", "is detached; it must be the branch task/x", func(f *SubmissionFacts) { f.Branch = "" }},
		{"P-063 another branch", "G33", "is the branch main; it must be task/x", func(f *SubmissionFacts) { f.Branch = "main" }},
		{"P-063 no worktree", "G33", "the worktree .worktrees/x does not exist", func(f *SubmissionFacts) { *f = SubmissionFacts{Named: "HEAD"} }},
		{"P-064 a rewritten branch", "G37", "the branch was rewritten", func(f *SubmissionFacts) { f.BaseIsAncestor = false }},
		{"P-066 code without tests", "G40", "3 code files changed, no test file", func(f *SubmissionFacts) { f.SourcesChanged, f.TestsChanged = 3, 0 }},
		{"P-073 files of Liza", "G42", "files of Liza itself: .liza/state.yaml", func(f *SubmissionFacts) { f.ForeignPaths = []string{".liza/state.yaml"} }},
		{"commits of others", "G43", "the commits cannot be taken: commit 123456789 came in by a merge", func(f *SubmissionFacts) { f.Unsound = "commit 123456789 came in by a merge" }},
		{"several at once", "G34", "is not clean: a; the commits since base", func(f *SubmissionFacts) { f.Dirty, f.EmptyDiff = []string{"a"}, true }},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			b := team(t)
			b.add("x")
			b.claim("x", "coder-1")
			in := submitted("x", commitOf(7))
			x.change(in.Submission)
			b.refused(x.guard, ExitRefused, x.text, func() error { return Submit(b.State, "x", programOf("coder-1"), in, b.now) })
		})
	}
	t.Run("P-060 by another coder, in another status, for an unknown task", func(t *testing.T) {
		t.Parallel()
		b := team(t)
		b.add("task-1")
		b.refused("G06", ExitRefused, "task-1 is UNCLAIMED; submit needs CLAIMED", func() error { return Submit(b.State, "task-1", programOf("coder-1"), submitted("task-1", base), b.now) })
		b.claim("task-1", "coder-1")
		b.refused("G31", ExitRefused, "task-1 is assigned to coder-1", func() error { return Submit(b.State, "task-1", programOf("coder-2"), submitted("task-1", base), b.now) })
		b.refused("G05", ExitRefused, "no task 'task-11'; did you mean 'task-1'?", func() error { return Submit(b.State, "task-11", programOf("coder-1"), Input{}, b.now) })
		b.UseArchive(taskArchive{"old": blackboard.Merged})
		b.refused("G05", ExitRefused, "task 'old' is archived (MERGED)", func() error { return Submit(b.State, "old", programOf("coder-1"), Input{}, b.now) })
	})
	t.Run("work that lacks the commit which it is to merge", func(t *testing.T) {
		t.Parallel()
		b := team(t)
		b.add("x")
		b.claim("x", "coder-1")
		in := submitted("x", commitOf(7))
		b.State.Writable(b.Task("x")).Merges = commitOf(9)
		b.refused("G39", ExitRefused, "merge commit", func() error { return Submit(b.State, "x", programOf("coder-1"), in, b.now) })
		in.Submission.HasMerges = true
		b.must(Submit(b.State, "x", programOf("coder-1"), in, b.now))
	})
	t.Run("P-066 code without tests by a waiver, or exempt", func(t *testing.T) {
		t.Parallel()
		b := team(t)
		b.add("x")
		b.claim("x", "coder-1")
		in := submitted("x", commitOf(7))
		in.Submission.TestsChanged, in.NoTests = 0, "only a rename"
		b.must(Submit(b.State, "x", programOf("coder-1"), in, b.now))
		want(t, "the waiver", b.Task("x").NoTests.Reason, "only a rename")
		want(t, "the waiver in the history", b.Task("x").Last().NoTests, "only a rename")
		b.add("y")
		b.claim("y", "coder-1")
		in = submitted("y", commitOf(8))
		in.Submission.TestsChanged, in.Submission.TestGateExempt = 0, true
		b.must(Submit(b.State, "y", programOf("coder-1"), in, b.now))
	})
	t.Run("P-067 without an intent where one is required", func(t *testing.T) {
		t.Parallel()
		b := team(t)
		b.Config["pre_execution_checkpoint"] = "required"
		b.add("x")
		b.claim("x", "coder-1")
		r := b.refused("G41", ExitRefused, "record the intent of x first", func() error { return Submit(b.State, "x", programOf("coder-1"), submitted("x", commitOf(7)), b.now) })
		want(t, "next", strings.HasPrefix(r.Next, "liza intent x"), true)
		b.refused("G09", ExitUsage, "--validation is empty", func() error {
			return RecordIntent(b.State, "x", programOf("coder-1"), Input{Intent: &blackboard.Intent{Intent: "add"}}, b.now)
		})
		b.must(RecordIntent(b.State, "x", programOf("coder-1"), Input{Intent: &blackboard.Intent{Intent: "add", Validation: "go test"}}, b.now))
		b.submit("x", 7)
	})
	t.Run("P-068 the rejected commit", func(t *testing.T) {
		t.Parallel()
		b := team(t)
		b.rejected("x", 7)
		b.must(Claim(b.State, "x", supervisorOf("coder-1"), kept("x"), b.now))
		b.refused("G38", ExitRefused, "was already rejected", func() error { return Submit(b.State, "x", programOf("coder-1"), submitted("x", commitOf(7)), b.now) })
		b.after(2 * time.Hour) // also after a reclaim in the same worktree
		b.must(Claim(b.State, "x", supervisorOf("coder-1"), kept("x"), b.now))
		b.refused("G38", ExitRefused, "was already rejected", func() error { return Submit(b.State, "x", programOf("coder-1"), submitted("x", commitOf(7)), b.now) })
		b.submit("x", 8)
	})
	t.Run("the commit that a check of its review failed", func(t *testing.T) {
		t.Parallel()
		b := team(t)
		b.ready("x", 7)
		b.claimReview("x", "code-reviewer-1")
		task := b.Task("x")
		task.Review = &blackboard.Review{Commit: task.ReviewCommit, Checks: []*blackboard.Check{{Name: "tests_pass", Status: blackboard.CheckFailed}}}
		b.must(Reject(b.State, "x", programOf("code-reviewer-1"), Input{Reason: "tests are red", Verdict: &VerdictInput{Checks: "sum"}}, b.now))
		if last := LastFailure(task); last.Checks != "sum" {
			t.Errorf("the rejection keeps the sum %q", last.Checks)
		}
		b.must(Claim(b.State, "x", supervisorOf("coder-1"), kept("x"), b.now))
		b.refused("G38", ExitRefused, "was already rejected", func() error { return Submit(b.State, "x", programOf("coder-1"), submitted("x", commitOf(7)), b.now) })
		changed := submitted("x", commitOf(7))
		changed.Submission.OtherChecks = true // a person changed the check that failed it
		b.must(Submit(b.State, "x", programOf("coder-1"), changed, b.now))
	})
	t.Run("the commit that failed the checks of its merge, and its files in another commit", func(t *testing.T) {
		t.Parallel()
		b := team(t)
		b.ready("x", 7)
		b.claimReview("x", "code-reviewer-1")
		b.approve("x")
		b.must(FailIntegration(b.State, "x", system, Input{Merge: &MergeFacts{Reason: "checks: \"go test\" ended with exit code 1"}}, b.now))
		b.must(Claim(b.State, "x", supervisorOf("coder-2"), kept("x"), b.now))
		same := submitted("x", commitOf(8))
		same.Submission.SameTree = true
		for _, in := range []Input{submitted("x", commitOf(7)), same} {
			b.refused("G38", ExitRefused, "nothing new since commit", func() error { return Submit(b.State, "x", programOf("coder-2"), in, b.now) })
		}
		changed := submitted("x", commitOf(7))
		changed.Submission.OtherChecks = true // a person changed the check that failed it
		b.must(Submit(b.State.Clone(), "x", programOf("coder-2"), changed, b.now))
		b.must(Submit(b.State, "x", programOf("coder-2"), submitted("x", commitOf(9)), b.now))
	})
	t.Run("P-068 unless an answer changed what is asked for", func(t *testing.T) {
		t.Parallel()
		b := team(t)
		b.rejected("x", 7)
		b.must(Block(b.State, "x", person, Input{Reason: "wrong criterion", Questions: blackboard.List{"Is it?"}}, b.now))
		b.must(Unblock(b.State, "x", person, Input{Reason: "the criterion was wrong", Answered: true, Tip: commitOf(7)}, b.now))
		b.claim("x", "coder-1")
		b.submit("x", 7)
	})
	t.Run("of a task that changes no files nothing is asked", func(t *testing.T) {
		t.Parallel()
		b := team(t)
		b.Config["pre_execution_checkpoint"] = "required"
		task := plainTask("x", "exec")
		task.ReviewRequired = true
		b.create(task)
		b.claim("x", "coder-1")
		b.must(Submit(b.State, "x", supervisorOf("coder-1"), Input{}, b.now))
		want(t, "review_commit", b.status("x", blackboard.ReadyForReview).ReviewCommit, integrationHead)
		b.claimReview("x", "code-reviewer-1")
		_, err := Approve(b.State, "x", programOf("code-reviewer-1"), Input{}, b.now)
		b.must(err)
		b.must(IntendMerge(b.State, "x", system, Input{}, b.now))
		b.must(FinishMerge(b.State, "x", system, Input{}, b.now))
		want(t, "merge_commit", b.Task("x").MergeCommit, integrationHead)
	})
}

func TestAResultWithoutReviewIsMergedAtOnce(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.create(plainTask("x", "msg"))
	b.must(Claim(b.State, "x", supervisorOf("coder-1"), Input{Claim: &ClaimFacts{Base: integrationHead}}, b.now))
	b.TakeEntries(0)
	b.must(Submit(b.State, "x", supervisorOf("coder-1"), Input{}, b.now))
	x := b.status("x", blackboard.Merged)
	wantList(t, "journal", actions(b.State, "x"), []string{"ready_for_review", "approved", "merged"})
	want(t, "approved_by", x.ApprovedBy, "auto")
	want(t, "merge_commit", x.MergeCommit, integrationHead)
	want(t, "approvals", b.Sprint.Metrics.ReviewVerdictApprovals, 0)
	b.valid()
}
