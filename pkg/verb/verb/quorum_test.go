package verb_test

import (
	"context"
	"strings"
	"testing"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/config"
	"liza/pkg/verb/verb"
	"liza/pkg/verb/verb/verbtest"
)

func twoFor(paths ...string) []config.QuorumRule {
	return []config.QuorumRule{{Paths: paths, Reviewers: 2}}
}

// handedIn is task-1, whose only file is task-1.md, handed in by coder-1.
func handedIn(t *testing.T, p *verbtest.Place) {
	t.Helper()
	p.AddTask("task-1")
	coder := p.Service("coder-1")
	if _, err := coder.Claim(context.Background(), "task-1"); err != nil {
		t.Fatal(err)
	}
	p.Commit("task-1")
	if _, err := coder.Submit(context.Background(), verb.SubmitInput{Task: "task-1"}); err != nil {
		t.Fatal(err)
	}
}

func approvedBy(t *testing.T, p *verbtest.Place, reviewer string) *blackboard.Task {
	t.Helper()
	d := p.Service(reviewer)
	if _, err := d.Reviews.ClaimReview(context.Background(), "task-1"); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Reviews.Verdict(context.Background(), verb.VerdictInput{Task: "task-1", Verdict: verb.Approve}); err != nil {
		t.Fatal(err)
	}
	return p.State().Task("task-1")
}

func TestAChangeOfARiskyPathNeedsTwoReviewersAndAnyOtherOneDoesNot(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		paths string
		want  blackboard.Status
	}{{"auth/**", blackboard.Approved}, {"*.md", blackboard.ReadyForReview}, {"**", blackboard.ReadyForReview}} {
		t.Run(c.paths, func(t *testing.T) {
			t.Parallel()
			p := verbtest.New(t)
			p.Config.Review.Quorum = twoFor(c.paths)
			handedIn(t, p)
			x := approvedBy(t, p, "code-reviewer-1")
			if x.Status != c.want {
				t.Fatalf("after one approval %s, want %s: %s", x.Status, c.want, x.ApprovalsText())
			}
			if c.want == blackboard.Approved {
				if len(x.Approvals) != 0 || x.Quorum != nil {
					t.Errorf("a change that needs one reviewer has %d approvals and quorum %v", len(x.Approvals), x.Quorum)
				}
				return
			}
			if tree := p.Git(p.Dir, "rev-parse", x.ReviewCommit+"^{tree}"); x.Approvals[0].Tree != tree {
				t.Errorf("approved tree %s, the commit has %s", x.Approvals[0].Tree, tree)
			}
			if x = approvedBy(t, p, "code-reviewer-2"); x.Status != blackboard.Approved {
				t.Fatalf("after two approvals %s: %s", x.Status, x.ApprovalsText())
			}
			if results, err := p.Service("").Merges.Merge(context.Background(), "task-1"); err != nil || results[0].Status != blackboard.Merged {
				t.Errorf("merged: %+v, %v", results, err)
			}
		})
	}
}

func TestRulesThatCameAfterTheApprovalAreCountedAtTheMerge(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	handedIn(t, p)
	approvedBy(t, p, "code-reviewer-1")
	p.Config.Review.Quorum = twoFor("**")
	head := p.Git(p.Dir, "rev-parse", "integration")
	results, err := p.Service("").Merges.Merge(context.Background(), "")
	if err != nil || len(results) != 1 || results[0].Status != blackboard.ReadyForReview || !strings.Contains(results[0].Reason, "2 reviewers (**)") {
		t.Fatalf("%+v, %v", results, err)
	}
	if now := p.Git(p.Dir, "rev-parse", "integration"); now != head {
		t.Errorf("the branch moved from %s to %s", head, now)
	}
	if x := p.State().Task("task-1"); x.MissingApprovals() != 1 {
		t.Errorf("%s: %s", x.Status, x.ApprovalsText())
	}
	if x := approvedBy(t, p, "code-reviewer-2"); x.Status != blackboard.Approved {
		t.Errorf("%s: %s", x.Status, x.ApprovalsText())
	}
	if results, err := p.Service("").Merges.Merge(context.Background(), "task-1"); err != nil || results[0].Status != blackboard.Merged {
		t.Errorf("merged: %+v, %v", results, err)
	}
}

func TestAnApprovalOfAQuorumCannotBeWrittenByHand(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, pattern, with string }{
		{"another reviewer", `- reviewer: code-reviewer-1`, "- reviewer: code-reviewer-2"},
		{"no person", `        person: true\n`, ""},
		{"a program", `        person: true\n`, "        person: true\n        program: codex\n"},
		{"another tree", `(        tree): \w+`, "${1}: 1111111111111111111111111111111111111111"},
		{"a second approval", `    approvals:\n`, "    approvals:\n      - reviewer: code-reviewer-2\n        commit: COMMIT\n        at: \"2026-01-19T14:50:00Z\"\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := verbtest.New(t)
			p.Config.Review.Quorum = []config.QuorumRule{{Paths: []string{"**"}, Reviewers: 3}}
			handedIn(t, p)
			x := approvedBy(t, p, "code-reviewer-1")
			entry(t, p, "task-1", c.pattern, strings.ReplaceAll(c.with, "COMMIT", x.ReviewCommit))
			p.Open()
			wantForged(t, p, "liza verdict task-1")
			if is := p.State().Task("task-1"); len(is.Standing()) != 1 || is.Approvals[0].Reviewer != "code-reviewer-1" {
				t.Errorf("the agents go on with: %s", is.ApprovalsText())
			}
		})
	}
}

func TestAnApprovalThatARejectionRemovedCannotBePutBackByHand(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.Config.Review.Quorum = twoFor("**")
	handedIn(t, p)
	approvedBy(t, p, "code-reviewer-1")
	d := p.Service("code-reviewer-2")
	if _, err := d.Reviews.ClaimReview(context.Background(), "task-1"); err != nil {
		t.Fatal(err)
	}
	before := p.State().Task("task-1").Approvals[0]
	if _, err := d.Reviews.Verdict(context.Background(), verb.VerdictInput{Task: "task-1", Verdict: verb.Reject, Reason: "task-1.md:1 is wrong"}); err != nil {
		t.Fatal(err)
	}
	entry(t, p, "task-1", `status: REJECTED\n`, "status: REJECTED\n    approvals:\n      - reviewer: "+before.Reviewer+"\n        person: true\n        commit: "+before.Commit+
		"\n        tree: "+before.Tree+"\n        at: \""+string(before.At)+"\"\n        key: "+before.Key+"\n        mac: "+before.MAC+"\n")
	p.Open()
	wantForged(t, p, "liza verdict task-1")
}
