package merge_test

import (
	"context"
	"strings"
	"testing"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/config"
	"liza/pkg/verb/verb"
	"liza/pkg/verb/verb/verbtest"
)

// In a train a task that lacks an approval goes back to review and the others go on; each merge names all who approved.
func TestATrainTakesOnlyWhatItsQuorumApproved(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	for _, id := range []string{"task-1", "task-2", "task-3"} {
		p.Approved(id)
	}
	p.Config.Review.Quorum = []config.QuorumRule{{Paths: []string{"task-[12].md"}, Reviewers: 2}}
	second := func(id string) {
		t.Helper()
		d := p.Service("code-reviewer-2")
		if _, err := d.Reviews.ClaimReview(context.Background(), id); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Reviews.Verdict(context.Background(), verb.VerdictInput{Task: id, Verdict: verb.Approve}); err != nil {
			t.Fatal(err)
		}
	}
	p.Config.Merge.Train = 3
	if _, err := p.Service("").Merges.Merge(context.Background(), ""); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]blackboard.Status{"task-1": blackboard.ReadyForReview, "task-2": blackboard.ReadyForReview, "task-3": blackboard.Merged} {
		if task := p.State().Task(id); task.Status != want {
			t.Errorf("%s is %s, want %s: %s", id, task.Status, want, task.ApprovalsText())
		}
	}
	second("task-2")
	if _, err := p.Service("").Merges.Merge(context.Background(), ""); err != nil {
		t.Fatal(err)
	}
	body := p.Git(p.Dir, "log", "-1", "--format=%B", "integration")
	if !strings.Contains(body, "Liza-Task: task-2\n") || !strings.Contains(body, "Liza-Approved-By: code-reviewer-2\nLiza-Approved-By: code-reviewer-9") {
		t.Errorf("the last merge is %q", body)
	}
	if st := p.State().Task("task-1").Status; st != blackboard.ReadyForReview {
		t.Errorf("task-1 is %s without its second approval", st)
	}
	p.Sound("task-1")
}
