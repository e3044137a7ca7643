package verb_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/verb/verb"
	"liza/pkg/verb/verb/verbtest"
)

// From the second review on a verdict says what became of the earlier points: none said is
// told, and what is still there cannot be approved (specs/protocol.md#13.12).
func TestASecondReviewSaysWhatBecameOfTheFirst(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	ctx := context.Background()
	p.AddTask("task-1")
	coder, reviewer := p.Service("coder-1"), p.Service("code-reviewer-1")
	submit := func() {
		t.Helper()
		_, err := coder.Claim(ctx, "task-1")
		if err == nil {
			p.Commit("task-1")
			_, err = coder.Submit(ctx, verb.SubmitInput{Task: "task-1"})
		}
		if err == nil {
			_, err = reviewer.Reviews.ClaimReview(ctx, "task-1")
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	submit()
	first, err := reviewer.Reviews.Verdict(ctx, verb.VerdictInput{Task: "task-1", Verdict: "reject", Reason: "task-1.md:1 has the wrong word"})
	if err != nil || len(first.Notices) != 0 {
		t.Fatalf("the first verdict gives %q, %v", first.Notices, err)
	}
	verbtest.Write(t, p.Repo.WorktreePath("task-1")+"/more.md", "another word\n")
	submit()
	var refused *transition.Refusal
	_, err = reviewer.Reviews.Verdict(ctx, verb.VerdictInput{Task: "task-1", Verdict: "approve", Prior: []*blackboard.Prior{{N: 1, State: "STILL_PRESENT"}}})
	if !errors.As(err, &refused) || refused.Exit != transition.ExitUsage {
		t.Errorf("an approval of what is still there gives %v, want exit 2", err)
	}
	second, err := reviewer.Reviews.Verdict(ctx, verb.VerdictInput{Task: "task-1", Verdict: "approve"})
	if err != nil || len(second.Notices) != 1 || !strings.Contains(second.Notices[0], "not the first review") || second.Status != blackboard.Approved {
		t.Errorf("the second verdict gives %q, %s, %v", second.Notices, second.Status, err)
	}
}

// What a reviewer changed does not become the coder's: before a rejection the worktree is put back, and the verdict says so.
func TestARejectionPutsBackWhatItsReviewerChanged(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	ctx := t.Context()
	p.AddTask("task-1")
	coder, reviewer := p.Service("coder-1"), p.Service("code-reviewer-1")
	p.Must(coder.Claim(ctx, "task-1"))
	commit := p.Commit("task-1")
	p.Must(coder.Submit(ctx, verb.SubmitInput{Task: "task-1"}))
	p.Must(reviewer.Reviews.ClaimReview(ctx, "task-1"))
	dir := p.Repo.WorktreePath("task-1")
	verbtest.Write(t, dir+"/task-1.md", "the reviewer's word\n")
	out, err := reviewer.Reviews.Verdict(ctx, verb.VerdictInput{Task: "task-1", Verdict: "reject", Reason: "task-1.md:1 has the wrong word"})
	if err != nil || len(out.Notices) != 1 || !strings.HasPrefix(out.Notices[0], "the worktree is back at what was submitted; ") || !strings.Contains(out.Notices[0], "refs/liza/attic/task-1/") {
		t.Errorf("the verdict says %q, %v", out.Notices, err)
	}
	if p.Git(dir, "status", "--porcelain") != "" || p.Git(dir, "rev-parse", "HEAD") != commit {
		t.Error("the worktree is not at what was submitted")
	}
}

// By verb the sizes are those of the exit command (specs/roles-and-knowledge.md#5.3).
func TestAVerdictThatIsTooBigIsRefused(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.AddTask("task-1")
	reviewer := p.Service("code-reviewer-1")
	many := func(n int) []string { return strings.Fields(strings.Repeat("word ", n)) }
	for name, in := range map[string]verb.VerdictInput{
		"reason":      {Verdict: "reject", Reason: strings.Repeat("x", 4001)},
		"inject":      {Verdict: "reject", Reason: "a.md:1 is wrong", Inject: make([]*blackboard.Fix, 11)},
		"findings":    {Verdict: "approve", Findings: make([]*blackboard.Finding, 51)},
		"suggestions": {Verdict: "approve", Suggestions: many(21)},
	} {
		in.Task = "task-1"
		for i := range in.Inject {
			in.Inject[i] = &blackboard.Fix{Detail: "do it"}
		}
		for i := range in.Findings {
			in.Findings[i] = &blackboard.Finding{Message: "look"}
		}
		_, err := reviewer.Reviews.Verdict(t.Context(), in)
		var refused *transition.Refusal
		if !errors.As(err, &refused) || refused.Exit != transition.ExitUsage || !strings.Contains(refused.Message, "is the limit") {
			t.Errorf("%s: got %v, want exit 2", name, err)
		}
	}
	// It is characters that are counted, as there.
	_, err := reviewer.Reviews.Verdict(t.Context(), verb.VerdictInput{Task: "task-1", Verdict: "reject", Reason: strings.Repeat("ü", 4000)})
	if err == nil || strings.Contains(err.Error(), "is the limit") {
		t.Errorf("4,000 characters of two bytes: got %v, want a refusal because nothing is to be reviewed", err)
	}
}
