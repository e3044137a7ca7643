package merge_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"liza/pkg/base/safefile"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/verb/verb"
	"liza/pkg/verb/verb/verbtest"
)

// Of several approved tasks the oldest approval is merged first; those that wait or fail do
// not stop the others.
func TestAllMergesWhatItCan(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.Config.Review.Mode = "strict"
	p.Approved("waits")
	p.Config.Review.Mode = ""
	for _, id := range []string{"held", "fails", "fine"} {
		p.Approved(id)
	}
	p.Outside("fails.md", "another word\n")
	if _, err := p.Service("").Hold(context.Background(), "held", "not yet"); err != nil {
		t.Fatal(err)
	}
	results, err := merger(p).All(context.Background())
	var order []string
	got := map[string]blackboard.Status{}
	for _, r := range results {
		order = append(order, r.Task)
		got[r.Task] = r.Status
		if r.Status == blackboard.Approved && r.Reason == "" {
			t.Errorf("%s waits without a reason", r.Task)
		}
	}
	if want := []string{"waits", "held", "fails", "fine"}; !slices.Equal(order, want) {
		t.Errorf("merged in the order %v, want that of approval %v", order, want)
	}
	if got["waits"] != blackboard.Approved || got["held"] != blackboard.Approved || got["fails"] != blackboard.IntegrationFailed || got["fine"] != blackboard.Merged {
		t.Errorf("they ended as %v", got)
	}
	if err == nil || !strings.Contains(err.Error(), "cannot merge fails: conflict") || strings.Contains(err.Error(), "waits") {
		t.Errorf("the failure is not told: %v", err)
	}
}

// P-118: a reviewer that is gone stops nothing; anyone who comes merges, and the journal says who approved.
func TestAnotherMergesWhenTheReviewerIsGone(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.Approved("task-1")
	if err := p.Service("").Agents.Unregister(context.Background(), "code-reviewer-9", true); err != nil {
		t.Fatal(err)
	}
	m := merger(p)
	m.By = blackboard.System
	if r, err := m.Task(context.Background(), "task-1"); err != nil || r.Status != blackboard.Merged {
		t.Fatalf("%+v, %v", r, err)
	}
	if body := p.Git(p.Dir, "log", "-1", "--format=%B", "integration"); !strings.Contains(body, "Liza-Approved-By: code-reviewer-9") {
		t.Errorf("the merge commit does not say who approved:\n%s", body)
	}
}

func TestAPauseStopsMerges(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.Approved("task-1")
	m := merger(p)
	m.Control = func() string { return "paused since noon: lunch" }
	_, err := m.Task(context.Background(), "task-1")
	var refused *transition.Refusal
	if !errors.As(err, &refused) || refused.Guard != "G07" || !strings.Contains(refused.Message, "lunch") {
		t.Errorf("a merge during a pause: %v", err)
	}
}

// B24: without the integration branch approved tasks wait.
func TestAMissingBranchIsNotMadeAgain(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.Approved("task-1")
	was := head(p)
	p.Git(p.Dir, "update-ref", "-d", "refs/heads/integration")
	_, err := merger(p).Task(context.Background(), "task-1")
	var refused *transition.Refusal
	if !errors.As(err, &refused) || refused.Guard != "G63" {
		t.Errorf("a merge without a branch: %v", err)
	}
	p.Git(p.Dir, "branch", "integration", was)
	mustMerge(t, p, "task-1")
}

func TestAMergeInProgressIsNamed(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.Approved("task-1")
	unlock, err := safefile.Lock(context.Background(), p.Project.MergeLock(), safefile.Holder{PID: os.Getpid(), Agent: "code-reviewer-1", Op: "merge"})
	if err != nil {
		t.Fatal(err)
	}
	m := merger(p)
	m.LockTimeout = 50 * time.Millisecond
	_, err = m.Task(context.Background(), "task-1")
	var held *safefile.HeldError
	if !errors.As(err, &held) || !strings.Contains(err.Error(), "code-reviewer-1") {
		t.Errorf("the holder is not named: %v", err)
	}
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	mustMerge(t, p, "task-1")
}

// 4.5: a task without files that a reviewer approved is recorded; no ref moves, also when a
// person rewrote the branch meanwhile.
func TestATaskWithoutFilesMovesNothing(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	ctx, done := context.Background(), must(t)
	done(p.Service("").AddTask(ctx, verb.NewTask{Task: blackboard.Task{ID: "task-1", Description: "Measure", SpecRef: "specs/vision.md", DoneWhen: "prints 42", Scope: "IN: a number",
		Kind: "exec", Command: "echo 42", ReviewRequired: true}}))
	done(p.Service("coder-9").Claim(ctx, "task-1"))
	done(p.Service("coder-9").Deliver(ctx, "task-1", blackboard.Output{Text: "42"}, ""))
	done(p.Service("code-reviewer-9").Reviews.ClaimReview(ctx, "task-1"))
	done(p.Service("code-reviewer-9").Reviews.Verdict(ctx, verb.VerdictInput{Task: "task-1", Verdict: "approve"}))
	p.Git(p.Dir, "update-ref", "refs/heads/integration", p.Git(p.Dir, "commit-tree", "-m", "rewritten", "main^{tree}"))
	before := head(p)
	r := mustMerge(t, p, "task-1")
	if task := p.State().Task("task-1"); head(p) != before || task.MergeCommit != task.BaseCommit || r.MergeCommit != task.BaseCommit {
		t.Errorf("merged as %s (base %s), the branch is at %s, was at %s", task.MergeCommit, task.BaseCommit, head(p), before)
	}
	p.Sound()
}

// B25: the work is merged from its commit, whatever became of folder and branch.
func TestAWorktreeRemovedByHandStopsNothing(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.Approved("task-1")
	if err := os.RemoveAll(p.Repo.WorktreePath("task-1")); err != nil {
		t.Fatal(err)
	}
	mustMerge(t, p, "task-1")
	if refs := p.Git(p.Dir, "for-each-ref", "refs/heads/task"); refs != "" {
		t.Errorf("the branch is left: %s", refs)
	}
	if entries, _ := os.ReadDir(filepath.Join(p.Dir, ".worktrees")); len(entries) > 0 {
		t.Errorf("folders are left: %v", entries)
	}
}

// A branch that was set back after the approval holds nothing that the merge does not bring:
// no late work.
func TestABranchSetBackIsNoLateWork(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.AddTask("task-1")
	approve(t, p, "task-1", "one.md", "two.md")
	p.Git(p.Repo.WorktreePath("task-1"), "reset", "-q", "--hard", "HEAD~1")
	mustMerge(t, p, "task-1")
	if text := p.Git(p.Dir, "show", "integration:two.md"); text != "a word of task-1" {
		t.Errorf("the reviewed commit was not merged whole: %q", text)
	}
	if list := p.State().Anomalies; len(list) != 0 {
		t.Errorf("anomalies %+v, want none", list)
	}
	p.Sound()
}
