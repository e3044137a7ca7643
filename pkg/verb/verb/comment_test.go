package verb_test

import (
	"errors"
	"strings"
	"testing"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/config"
	"liza/pkg/board/transition"
	"liza/pkg/verb/verb"
	"liza/pkg/verb/verb/verbtest"
)

// underReview brings a new task to READY_FOR_REVIEW, with a review under way.
func underReview(t *testing.T, p *verbtest.Place, id string) {
	t.Helper()
	p.AddTask(id)
	ctx, coder := t.Context(), p.Service("coder-1")
	_, err := coder.Claim(ctx, id)
	p.Commit(id)
	_, err2 := coder.Submit(ctx, verb.SubmitInput{Task: id})
	_, err3 := p.Service("code-reviewer-1").Reviews.ClaimReview(ctx, id)
	if err := errors.Join(err, err2, err3); err != nil {
		t.Fatal(err)
	}
}

func TestACommentKeepsApprovedWorkFromBeingMerged(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	ctx, person := t.Context(), p.Service("")
	underReview(t, p, "a")
	if _, err := person.Reviews.Comment(ctx, verb.Comment{Task: "a", Path: "./a.md", Line: 1, Text: "say it in one word"}); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Service("code-reviewer-1").Reviews.Verdict(ctx, verb.VerdictInput{Task: "a", Verdict: verb.Approve}); err != nil {
		t.Fatal(err)
	}
	if _, err := person.Merges.Merge(ctx, "a"); err == nil || !strings.Contains(err.Error(), "waits for a person's merge approval") {
		t.Fatalf("the merge in spite of an open comment: %v", err)
	}
	if _, err := person.Reviews.Comment(ctx, verb.Comment{Task: "a", Text: "and shorter"}); err != nil {
		t.Fatal(err)
	}
	done, err := person.Reviews.RejectMerge(ctx, verb.MergeDecision{Task: "a"})
	if err != nil || done.Status != blackboard.Rejected {
		t.Fatal(done, err)
	}
	task := p.State().Find("a")
	found := task.RejectionReason.Findings
	if len(found) != 2 || *found[0] != (blackboard.Finding{Severity: "error", Check: "comment of ada", File: "a.md", Line: 1, Message: "say it in one word"}) || found[1].Message != "and shorter" {
		t.Errorf("the findings: %+v", found)
	}
	if len(task.Fixes) != 2 || task.Fixes[0].N != 1 || task.Fixes[1].Detail != "and shorter" || task.RejectionReason.Summary != "see the comments" {
		t.Errorf("what is to be fixed: %q, %+v", task.RejectionReason.Summary, task.Fixes)
	}
	coder := p.Service("coder-1")
	if _, err := coder.Claim(ctx, "a"); err != nil {
		t.Fatal(err)
	}
	p.Shell(p.Repo.WorktreePath("a"), "echo word > a.md; git commit -qam again")
	if _, err := coder.Submit(ctx, verb.SubmitInput{Task: "a"}); err != nil {
		t.Fatal(err)
	}
	s := p.State()
	if open := s.OpenComments(s.Find("a")); len(open) != 0 {
		t.Errorf("after another submission these are open: %v", open)
	}
	p.Sound("a")
}

func TestACommentOnApprovedWorkAsksForAPerson(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	ctx, person := t.Context(), p.Service("")
	p.Approved("a")
	if _, err := person.Reviews.Comment(ctx, verb.Comment{Task: "a", Path: "a.md", Text: "why?"}); err != nil {
		t.Fatal(err)
	}
	if _, err := person.Merges.Merge(ctx, "a"); err == nil {
		t.Fatal("merged in spite of the comment")
	}
	done, err := person.Reviews.ApproveMerge(ctx, verb.MergeDecision{Task: "a"})
	if err != nil || len(done.Notices) != 1 || !strings.Contains(done.Notices[0], "1 open comment on a") {
		t.Fatalf("%+v, %v", done, err)
	}
	if _, err := person.Reviews.Comment(ctx, verb.Comment{Task: "a", Text: "too late"}); err == nil || !strings.Contains(err.Error(), "was approved by ada") {
		t.Errorf("a comment after the person's approval: %v", err)
	}
	if _, err := person.Merges.Merge(ctx, "a"); err != nil {
		t.Fatal(err)
	}
	if _, err := person.Reviews.Comment(ctx, verb.Comment{Task: "a", Text: "too late"}); err == nil || !strings.Contains(err.Error(), "is MERGED") {
		t.Errorf("a comment on merged work: %v", err)
	}
	p.Sound()
}

func TestAReviewersRejectionTellsTheComments(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	underReview(t, p, "a")
	if _, err := p.Service("").Reviews.Comment(t.Context(), verb.Comment{Task: "a", Path: "a.md", Line: 1, Text: "say it in one word"}); err != nil {
		t.Fatal(err)
	}
	reject := verb.VerdictInput{Task: "a", Verdict: verb.Reject, Reason: "a.md:1 has no full stop"}
	if _, err := p.Service("code-reviewer-1").Reviews.Verdict(t.Context(), reject); err != nil {
		t.Fatal(err)
	}
	task := p.State().Find("a")
	if found := task.RejectionReason.Findings; len(found) != 1 || found[0].Message != "say it in one word" {
		t.Errorf("the findings: %+v", found)
	}
	if !task.RejectedFor(p.State().HumanNotes[0]) {
		t.Error("the comment would be told twice")
	}
}

func TestACommentNeedsAPlaceThatIsInTheChange(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	underReview(t, p, "a")
	p.AddTask("later")
	before := p.State().Revision
	for _, c := range []struct {
		in   verb.Comment
		want string
	}{
		{verb.Comment{Task: "a", Path: "README.md", Text: "x"}, "a does not change README.md"},
		{verb.Comment{Task: "a", Path: "../a.md", Text: "x"}, "does not change"},
		{verb.Comment{Task: "a", Path: "a.md", Line: 2, Text: "x"}, "a.md has no line 2"},
		{verb.Comment{Task: "a", Path: "a.md", Line: -1, Text: "x"}, "must be 1 or more"},
		{verb.Comment{Task: "a", Line: 1, Text: "x"}, "a line without a file"},
		{verb.Comment{Task: "a", Path: "a.md", Text: " \n"}, "is empty"},
		{verb.Comment{Task: "a", Text: strings.Repeat("x", 1<<17)}, "is the limit"},
		{verb.Comment{Task: "later", Text: "x"}, "nothing of it was handed in yet"},
		{verb.Comment{Task: "none", Text: "x"}, "none"},
	} {
		_, err := p.Service("").Reviews.Comment(t.Context(), c.in)
		var r *transition.Refusal
		if !errors.As(err, &r) || !strings.Contains(r.Message, c.want) || r.Next == "" {
			t.Errorf("%+v: %v", c.in, err)
		}
	}
	if _, err := p.Supervised("coder-2").Reviews.Comment(t.Context(), verb.Comment{Task: "a", Text: "x"}); err == nil {
		t.Error("an agent may comment as a person")
	}
	if s := p.State(); len(s.HumanNotes) != 0 {
		t.Errorf("refused comments are on the board: revision %d, was %d", s.Revision, before)
	}
}

// Either of the two settings says that a project needs no tests: the rule of submit and the check follow both.
func TestOneSettingSaysThatNoTestsAreNeeded(t *testing.T) {
	t.Parallel()
	for name, off := range map[string]func(*verbtest.Place) error{
		"tests_required": func(p *verbtest.Place) error {
			_, err := p.Service("").SetSetting(t.Context(), "tests_required", "false")
			return err
		},
		"review.checks.test_coverage": func(p *verbtest.Place) error {
			p.Config.Review.Checks = map[string]config.Check{"test_coverage": {}}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, ctx := verbtest.New(t), t.Context()
			must := func(_ any, err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			must(p.Service("").AddTask(ctx, verb.NewTask{Task: blackboard.Task{ID: "a", Description: "Write a.go", SpecRef: "specs/vision.md", DoneWhen: "a.go contains main", Scope: "IN: a.go"}}))
			coder, reviewer := p.Service("coder-1"), p.Service("code-reviewer-1")
			must(coder.Claim(ctx, "a"))
			verbtest.Write(t, p.Repo.WorktreePath("a")+"/a.go", "package main\n")
			p.Commit("a")
			if _, err := coder.Submit(ctx, verb.SubmitInput{Task: "a"}); err == nil || !strings.Contains(err.Error(), "no test file") {
				t.Fatalf("without a test: %v", err)
			}
			must(nil, off(p))
			must(coder.Submit(ctx, verb.SubmitInput{Task: "a"}))
			must(reviewer.Reviews.ClaimReview(ctx, "a"))
			checked, err := reviewer.Reviews.Check(ctx, "a")
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range checked.Checks {
				if c.Name == "test_coverage" {
					t.Errorf("the check says %s: %s", c.Status, c.Message)
				}
			}
		})
	}
}

// What a person does for a planner leaves no registration behind: nobody would wait for, move or list a planner without a process.
func TestAPersonsActForAPlannerRegistersNobody(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	_, err := p.Service("planner-1").AddTask(t.Context(), verb.NewTask{Task: blackboard.Task{ID: "a", Description: "Write a", SpecRef: "specs/vision.md", DoneWhen: "a.md contains a word", Scope: "IN: a.md"}})
	if err != nil {
		t.Fatal(err)
	}
	if s := p.State(); len(s.Agents) > 0 {
		t.Errorf("registered are %v", s.AgentIDs())
	}
}
