package blackboard_test

import (
	"reflect"
	"testing"

	"liza/pkg/board/blackboard"
)

func TestAFinishedTaskSaysEachThingOnce(t *testing.T) {
	t.Parallel()
	const commit = "1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e"
	long := func() *blackboard.Task {
		return &blackboard.Task{ID: "task-1", Status: blackboard.Merged, ReviewCommit: commit, ApprovedBy: "code-reviewer-1", SpecHash: "sha256:aa", ReviewSpecHash: "sha256:aa",
			ResolvedRole: &blackboard.ResolvedRole{Name: "implement"}, LastOutcome: &blackboard.LastOutcome{Action: "COMPLETED", Summary: "It is done.", At: "2026-01-19T14:14:00Z"},
			Attempts: []*blackboard.Attempt{{Seq: 1, Kind: "coder", Role: "implement", Action: "COMPLETED", Summary: "It is done.", Ended: "2026-01-19T14:14:00Z"}},
			Review: &blackboard.Review{Status: "ok", By: "code-reviewer-1", Commit: commit, Checks: []*blackboard.Check{
				{Name: "lint_passes", Status: blackboard.CheckFailed, Severity: "warning", Message: "1 finding", Commit: commit},
				{Name: "tests_pass", Status: blackboard.CheckPassed, Seconds: 12, Commit: commit},
				{Name: "scope", Status: blackboard.CheckPassed, Commit: commit},
				{Name: "e2e_tests", Status: blackboard.CheckSkipped, Commit: commit},
				{Name: "test_coverage", Status: blackboard.CheckExempt, Commit: commit},
			}}}
	}
	task, before := long(), long()
	task.Shorten()
	if r := task.Review; task.LastOutcome != nil || task.SpecHash+task.ReviewSpecHash+r.By+r.Commit != "" || len(r.Checks) != 1 || r.Checks[0].Commit != "" || len(r.Passed) != 2 || len(r.Exempt) != 1 {
		t.Errorf("the short task is %+v with the review %+v", task, task.Review)
	}
	whole := task.WholeReview()
	whole.Passed, whole.Skipped, whole.Exempt = nil, nil, nil
	if !reflect.DeepEqual(whole, before.Review) {
		t.Errorf("the whole review is %+v, it was %+v", whole, before.Review)
	}
	text, at := task.LastSummary()
	if text != before.LastOutcome.Summary || at != before.LastOutcome.At || task.RoleName() != "implement" {
		t.Errorf("the last summary is %q at %s, the role %q", text, at, task.RoleName())
	}
	once := *task.Review
	task.Shorten()
	if !reflect.DeepEqual(&once, task.Review) {
		t.Errorf("shortened again the review is %+v", task.Review)
	}

	person := long()
	person.Attempts = nil
	person.Shorten()
	if text, _ := person.LastSummary(); text != "It is done." {
		t.Errorf("what a person handed in without a run says %q", text)
	}
}
