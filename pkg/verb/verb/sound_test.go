package verb_test

import (
	"context"
	"strings"
	"testing"

	"liza/pkg/verb/verb"
	"liza/pkg/verb/verb/verbtest"
)

// A merge of a neighbour's branch would bring a commit that nobody reviewed; a merge of the integration branch is honest.
func TestASubmissionBringsNobodyElsesCommits(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := verbtest.New(t)
	p.AddTask("task-1")
	p.AddTask("task-2")
	one, two := p.Service("coder-1"), p.Service("coder-2")
	for id, service := range map[string]*verb.Service{"task-1": one, "task-2": two} {
		if _, err := service.Claim(ctx, id); err != nil {
			t.Fatal(err)
		}
	}
	p.Commit("task-1")
	theirs := p.Commit("task-2")
	p.Outside("later.md", "a word\n")
	dir := p.Repo.WorktreePath("task-1")
	p.Git(dir, "merge", "-q", "-m", "honest", "integration")
	honest := p.Git(dir, "rev-parse", "HEAD")
	p.Git(dir, "merge", "-q", "-s", "ours", "-m", "neighbour", "task/task-2")
	_, err := one.Submit(ctx, verb.SubmitInput{Task: "task-1"})
	if err == nil || !strings.Contains(err.Error(), "commit "+theirs[:9]+" came in by a merge and is not on the integration branch") {
		t.Fatalf("with a neighbour's commit: %v", err)
	}
	p.Git(dir, "reset", "-q", "--hard", honest)
	if _, err := one.Submit(ctx, verb.SubmitInput{Task: "task-1"}); err != nil {
		t.Errorf("with the integration branch merged: %v", err)
	}
}
