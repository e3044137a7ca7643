package merge_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/code/merge"
	"liza/pkg/verb/verb/verbtest"
)

// tool makes a program of the project that is not of the repository, and returns its path.
func tool(t *testing.T, p *verbtest.Place) string {
	t.Helper()
	path := filepath.Join(p.Dir, ".git", "tool")
	if err := os.WriteFile(path, []byte("#!/bin/sh\ntest ! -e task-2.md\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// waits merges and returns the refusal that was expected: the task stays approved.
func waits(t *testing.T, p *verbtest.Place, id string) *transition.Refusal {
	t.Helper()
	_, err := merger(p).Task(context.Background(), id)
	refused, is := errors.AsType[*transition.Refusal](err)
	if !is || refused.Guard != merge.WaitsForChecks || p.State().Task(id).Status != blackboard.Approved {
		t.Fatalf("the merge of %s was to wait: %v, it is %s", id, err, p.State().Task(id).Status)
	}
	return refused
}

// A check that cannot run fails no work, although it was green before: merges stop, a person is asked once with the cause, and the next
// merge after the mend takes the work.
func TestACheckThatCannotRunStopsMergesAndAsksOnce(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	program := tool(t, p)
	p.Config.Integration.Checks, p.Config.Integration.Unverified = []string{program}, "allow"
	for _, id := range []string{"task-1", "task-2", "task-3"} {
		p.AddTask(id)
	}
	approve(t, p, "task-1", "task-1.md")
	mustMerge(t, p, "task-1")
	approve(t, p, "task-2", "task-2.md")
	approve(t, p, "task-3", "task-3.md")
	failedAt(t, merger(p), "task-2") // the branch without it is known to be green
	before := head(p)
	if err := os.Rename(program, program+".away"); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		refused := waits(t, p, "task-3")
		if !strings.Contains(refused.Message, "exit code 127") || !strings.Contains(refused.Next, "liza answer q-1") {
			t.Errorf("the refusal says %q, next %q", refused.Message, refused.Next)
		}
	}
	asked := p.State().Questions
	if len(asked) != 1 || asked[0].Kind != blackboard.QuestionUnable || asked[0].Status != blackboard.QuestionOpen || !strings.Contains(asked[0].Text, "exit code 127") {
		t.Fatalf("a person is asked %+v", asked)
	}
	if head(p) != before || len(transition.Triggers(p.State(), transition.TriggerFacts{}, time.Now())) > 0 {
		t.Error("the branch moved, or the planner is woken")
	}
	if err := os.Rename(program+".away", program); err != nil {
		t.Fatal(err)
	}
	mustMerge(t, p, "task-3")
	if q := p.State().Questions[0]; q.Status != blackboard.QuestionExpired || len(p.State().Task("task-3").Unverified) > 0 {
		t.Errorf("the check runs again, and the question is %s", q.Status)
	}
}

// A person can merge without a check that cannot run; the merge says so.
func TestAPersonMergesWithoutACheckThatCannotRun(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.Config.Integration.Checks = []string{"no-such-program-here"}
	p.Approved("task-1")
	waits(t, p, "task-1")
	if _, err := p.Service("").Answer(context.Background(), "q-1", blackboard.AnswerGoOn); err != nil {
		t.Fatal(err)
	}
	if r, err := merger(p).Task(context.Background(), "task-1"); err != nil || r.Status != blackboard.Merged || len(r.Unverified) != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}

// Work that takes away what a check needs has failed it: the check can run without the work.
func TestWorkThatTakesTheProgramOfACheckAwayFails(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.Config.Integration.Checks = []string{"test ! -e task-1.md || no-such-program-here"}
	p.Approved("task-1")
	if r := failedAt(t, merger(p), "task-1"); !strings.Contains(r.Check, "exit code 127") || len(p.State().Questions) > 0 {
		t.Errorf("%+v, %+v", r, p.State().Questions)
	}
}

// A setup that fails with the work and without it fails no work either.
func TestASetupThatFailsWithoutTheWorkFailsNoWork(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.Config.Integration.Checks = []string{"true"}
	p.Approved("task-1")
	p.Config.Worktree.Setup = []string{"echo registry is away; exit 1"}
	if refused := waits(t, p, "task-1"); !strings.Contains(refused.Message, "worktree.setup fails") {
		t.Error(refused.Message)
	}
	p.Config.Worktree.Setup = []string{"test ! -e task-1.md"}
	failedAt(t, merger(p), "task-1")
}
