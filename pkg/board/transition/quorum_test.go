package transition

import (
	"fmt"
	"strings"
	"testing"

	"liza/pkg/board/blackboard"
)

func under(glob, file string) bool { return strings.HasPrefix(file, strings.TrimSuffix(glob, "**")) }

func TestTheStrictestPartOfEachRuleThatAChangeTouchesHolds(t *testing.T) {
	t.Parallel()
	rules := []blackboard.QuorumRule{
		{Paths: []string{"auth/**", "crypto/**"}, Reviewers: 2, Programs: "different"},
		{Paths: []string{"auth/keys/**"}, Reviewers: 3},
		{Paths: []string{"docs/**"}, Reviewers: 1, Programs: "different"},
	}
	for _, c := range []struct {
		files string
		want  string
	}{
		{"", "one"},
		{"main.go docs/a.md", "one"},
		{"docs/a.md auth/login.go", "2 reviewers with different programs (auth/**)"},
		{"crypto/a.go auth/b.go", "2 reviewers with different programs (auth/**, crypto/**)"},
		{"auth/keys/a.go", "3 reviewers with different programs (auth/**, auth/keys/**)"},
	} {
		got := "one"
		if q := blackboard.QuorumFor(rules, strings.Fields(c.files), under); q != nil {
			got = q.Describe()
		}
		if got != c.want {
			t.Errorf("a change of %q needs %s, want %s", c.files, got, c.want)
		}
	}
	if q := blackboard.QuorumFor(nil, []string{"auth/a"}, func(string, string) bool { t.Error("a path was looked at without rules"); return true }); q != nil {
		t.Errorf("without rules %s are asked for", q.Describe())
	}
}

// Every list of up to three approvals by three reviewers, each of a person, of one of two programs or of an unknown one,
// against every quorum: what is missing is counted a second time, in the plainest way.
func TestWhatAQuorumMissesForEveryListOfApprovals(t *testing.T) {
	t.Parallel()
	var each []*blackboard.Approval
	for _, reviewer := range []string{"r1", "r2", "r3"} {
		each = append(each, &blackboard.Approval{Reviewer: reviewer, Person: true}, &blackboard.Approval{Reviewer: reviewer}, &blackboard.Approval{Reviewer: reviewer, Program: "claude"}, &blackboard.Approval{Reviewer: reviewer, Program: "codex"})
	}
	lists := [][]*blackboard.Approval{nil}
	for n := 0; n < 3; n++ {
		for _, l := range lists {
			if len(l) == n {
				for _, a := range each {
					lists = append(lists, append(append([]*blackboard.Approval(nil), l...), a))
				}
			}
		}
	}
	tried := 0
	for _, l := range lists {
		for reviewers := 2; reviewers <= 4; reviewers++ {
			for _, programs := range []string{"any", blackboard.ProgramsDifferent} {
				tried++
				q := &blackboard.Quorum{Reviewers: reviewers, Programs: programs}
				if got, want := q.Missing(l), max(0, reviewers-plainCount(l, programs)); got != want {
					t.Fatalf("%s miss %d, want %d: %s", q.Describe(), got, want, listed(l))
				}
			}
		}
	}
	if tried != 6*(1+12+12*12+12*12*12) {
		t.Errorf("%d cases", tried)
	}
	if (*blackboard.Quorum)(nil).Missing(nil) != 0 {
		t.Error("without a quorum something is missing")
	}
}

// plainCount counts the reviewers; with different programs: the people, and the programs that are surely different.
func plainCount(l []*blackboard.Approval, programs string) int {
	first := map[string]*blackboard.Approval{}
	for _, a := range l {
		if first[a.Reviewer] == nil {
			first[a.Reviewer] = a
		}
	}
	if programs != blackboard.ProgramsDifferent {
		return len(first)
	}
	people, claude, codex, unknown := 0, 0, 0, 0
	for _, a := range first {
		switch {
		case a.Person:
			people++
		case a.Program == "claude":
			claude = 1
		case a.Program == "codex":
			codex = 1
		default:
			unknown = 1
		}
	}
	if claude+codex > 0 {
		unknown = 0
	}
	return people + claude + codex + unknown
}

func listed(l []*blackboard.Approval) string {
	var b strings.Builder
	for _, a := range l {
		fmt.Fprintf(&b, "%s %v %q; ", a.Reviewer, a.Person, a.Program)
	}
	return b.String()
}

func TestASecondReviewerCompletesAQuorumAndTheFirstCannot(t *testing.T) {
	t.Parallel()
	b := team(t)
	x := b.halfApproved("x")
	if x.Status != blackboard.ReadyForReview || x.ReviewingBy != "" || len(x.Standing()) != 1 || x.ApprovedBy != "" {
		t.Fatalf("after one of two: %s, under review by %q, %d approvals, approved by %q", x.Status, x.ReviewingBy, len(x.Standing()), x.ApprovedBy)
	}
	b.refused("G68", ExitRefused, "", func() error { return ClaimReview(b.State, "x", supervisorOf("code-reviewer-1"), Input{}, b.now) })
	if task, why := NextReview(b.State, supervisorOf("code-reviewer-1"), Input{}, b.now); task != nil || !strings.Contains(why, "has approved x already") {
		t.Errorf("the first reviewer gets %v: %s", task, why)
	}
	if task, why := NextReview(b.State, supervisorOf("code-reviewer-2"), Input{}, b.now); task == nil {
		t.Errorf("the second reviewer gets nothing: %s", why)
	}
	b.claimReview("x", "code-reviewer-2")
	_, err := Approve(b.State, "x", programOf("code-reviewer-2"), b.reviewedForTwo("x"), b.now)
	b.must(err)
	if x = b.Task("x"); x.Status != blackboard.Approved || x.ApprovedBy != "code-reviewer-2" || len(x.Standing()) != 2 {
		t.Errorf("after two: %s by %q, %d approvals", x.Status, x.ApprovedBy, len(x.Standing()))
	}
}

func TestARejectionAndANewSubmissionTakeEveryApprovalAway(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.halfApproved("x")
	b.claimReview("x", "code-reviewer-2")
	b.reject("x", "auth/login.go:3 leaks the key")
	if x := b.Task("x"); x.Status != blackboard.Rejected || len(x.Approvals) != 0 || x.Quorum != nil {
		t.Errorf("after a rejection: %s, %d approvals", x.Status, len(x.Approvals))
	}
	b.halfApproved("y")
	b.Task("y").ReviewCommit = commitOf(77)
	if n := len(b.Task("y").Standing()); n != 0 {
		t.Errorf("%d approvals stand for another commit", n)
	}
}

func TestAPersonIsOneReviewerOfAQuorumThatHasBegun(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.ready("x", 2)
	b.refused("G65", ExitRefused, "", func() error { return ApproveMerge(b.State, "x", person, b.reviewedForTwo("x"), b.now) })
	b.halfApproved("y")
	in := b.reviewedForTwo("y")
	in.Quorum.Reviewers = 3
	b.must(ApproveMerge(b.State, "y", person, in, b.now))
	if y := b.Task("y"); y.Status != blackboard.ReadyForReview || y.MissingApprovals() != 1 {
		t.Errorf("after two of three: %s, %d missing", y.Status, y.MissingApprovals())
	}
	b.refused("G68", ExitRefused, "", func() error { return ApproveMerge(b.State, "y", person, in, b.now) })
	b.halfApproved("z")
	b.must(ApproveMerge(b.State, "z", person, b.reviewedForTwo("z"), b.now))
	if z := b.Task("z"); z.Status != blackboard.Approved || z.ApprovedBy != blackboard.Human {
		t.Errorf("a person as the second reviewer: %s by %q", z.Status, z.ApprovedBy)
	}
}

func TestRulesThatAskForMoreAtTheMergePutTheWorkBackInReview(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.ready("x", 2)
	b.claimReview("x", "code-reviewer-1")
	b.approve("x")
	b.must(AskAgain(b.State, "x", system, b.reviewedForTwo("x"), b.now))
	x := b.Task("x")
	if x.Status != blackboard.ReadyForReview || x.ApprovedBy != "" || x.MissingApprovals() != 1 || !x.HasApprovalBy("code-reviewer-1") {
		t.Fatalf("%s, approved by %q, %d missing: %s", x.Status, x.ApprovedBy, x.MissingApprovals(), x.ApprovalsText())
	}
	b.claimReview("x", "code-reviewer-2")
	_, err := Approve(b.State, "x", programOf("code-reviewer-2"), b.reviewedForTwo("x"), b.now)
	b.must(err)
	if err := AskAgain(b.State, "x", system, b.reviewedForTwo("x"), b.now); err == nil {
		t.Error("enough approvals are asked for again")
	}
}

func TestARunThatContradictsItsApprovalTakesItBackAlsoWhenAnotherReviewerCameAfterIt(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.halfApproved("x")
	b.must(Spawned(b.State, supervisorOf("code-reviewer-1"), blackboard.Child{PID: 4711, Run: 2, TokenHash: "sha256:run-code-reviewer-1", Task: "x"}, b.now))
	b.claimReview("x", "code-reviewer-2")
	_, err := Approve(b.State, "x", programOf("code-reviewer-2"), b.reviewedForTwo("x"), b.now)
	b.must(err)
	if by := ApprovingRun(b.State, b.Task("x"), b.now, blackboard.ProcessFacts{}); by != "code-reviewer-1" {
		t.Errorf("the run that can still contradict is %q", by)
	}
	b.must(VoidApproval(b.State, "x", supervisorOf("code-reviewer-1"), Input{Reason: "needs_fix"}, b.now))
	if x := b.Task("x"); x.Status != blackboard.ReadyForReview || x.HasApprovalBy("code-reviewer-1") || !x.HasApprovalBy("code-reviewer-2") || x.MissingApprovals() != 1 {
		t.Errorf("%s: %s", x.Status, x.ApprovalsText())
	}
}

func TestWithDifferentProgramsAReviewerOfTheSameOneIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	b := team(t)
	b.Agents["code-reviewer-1"].CLI, b.Agents["code-reviewer-2"].CLI = "claude", "claude"
	x := b.halfApproved("x")
	if why := b.NobodyLeft(x); why != "" {
		t.Errorf("any program will do, but %s", why)
	}
	x.Quorum.Programs = blackboard.ProgramsDifferent
	if why := b.NobodyLeft(x); why != "every other reviewer runs claude" || !x.UsedPrograms().Has("claude") {
		t.Errorf("%q, used %v", why, x.UsedPrograms())
	}
	b.Agents["code-reviewer-2"].CLI = "codex"
	if why := b.NobodyLeft(x); why != "" {
		t.Errorf("codex is left, but %s", why)
	}
	if text := x.ApprovalsText(); text != "approved by code-reviewer-1 (claude); 1 more: it needs 2 reviewers with different programs (auth/**), so another one than claude" {
		t.Error(text)
	}
}
