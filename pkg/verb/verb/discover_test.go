package verb_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/verb/verb"
	"liza/pkg/verb/verb/verbtest"
)

func discover(t *testing.T, d *verb.Service, during, urgency string) string {
	t.Helper()
	out, err := d.Discover(context.Background(), blackboard.Discovery{During: during, Description: "the helper swallows errors", Severity: "high", Urgency: urgency})
	if err != nil {
		t.Fatal(err)
	}
	return out.ID
}

// A plan decides about discoveries as the verbs do (specs/roles-and-knowledge.md#3.4); what one is
// converted to may be a task of the same plan.
func TestAPlanDecidesAboutDiscoveries(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.AddTask("task-1")
	coder, planner := p.Supervised("coder-1"), p.Service("planner-1")
	first, second := discover(t, coder, "task-1", "immediate"), discover(t, coder, "task-1", "")
	_, err := apply(t, planner, `{"goal": "Errors", "tasks": [`+item("task-2", "")+`, {"id": "tell", "kind": "msg", "detail": "It is done", "notify": true}],
		"decisions": [{"discovery": "`+first+`", "do": "convert", "by": ["task-2"]}, {"discovery": "`+second+`", "do": "defer", "reason": "next sprint"}]}`)
	if err != nil {
		t.Fatal(err)
	}
	s := p.State()
	if d := s.Discovered[0]; d.ConvertedToTask != "task-2" || d.Deferred != nil {
		t.Errorf("%s is %+v", first, d)
	}
	if d := s.Discovered[1]; d.Deferred == nil || d.Deferred.By != "planner-1" || d.Deferred.Reason != "next sprint" {
		t.Errorf("%s is %+v", second, d)
	}
	if _, err := apply(t, planner, `{"goal": "", "tasks": [], "decisions": [{"discovery": "disc-1", "do": "convert", "by": ["task-2"]}]}`); err != nil {
		t.Errorf("the same decision again: %v", err)
	}
	before := p.State().Revision
	for _, c := range []struct{ decision, want string }{
		{`{"discovery": "disc-1", "do": "convert", "by": ["task-1"]}`, "decisions[0] (convert disc-1): disc-1 was converted to task-2"},
		{`{"discovery": "disc-2", "do": "convert"}`, "by: must name one task, has 0"},
		{`{"discovery": "disc-2", "do": "convert", "by": ["task-1", "task-2"]}`, "by: must name one task, has 2"},
		{`{"discovery": "disc-2", "do": "abandon", "reason": "x"}`, "must be convert or defer"},
		{`{"discovery": "disc-2", "task": "task-1", "do": "defer", "reason": "x"}`, "names the task task-1 too"},
		{`{"discovery": "disc-2", "do": "defer"}`, "--reason is empty"},
		{`{"discovery": "disc-9", "do": "defer", "reason": "x"}`, "no discovery 'disc-9'"},
	} {
		_, err := apply(t, planner, `{"goal": "", "tasks": [], "decisions": [`+c.decision+`]}`)
		var refused *transition.Refusal
		if !errors.As(err, &refused) || refused.Exit != transition.ExitUsage || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s gives %v, want exit 2 with …%s…", c.decision, err, c.want)
		}
	}
	if now := p.State().Revision; now != before {
		t.Errorf("refused plans made %d writes", now-before)
	}
}

// P-093: a spec that changed between claim and review has two hashes on the task, and the
// latter is that of the file as it is now.
func TestTheHashOfTheSpecIsTakenAtClaimAndAtReview(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	ctx := context.Background()
	p.AddTask("task-1")
	p.AddTask("task-2")
	coder, reviewer, person := p.Service("coder-1"), p.Service("code-reviewer-1"), p.Service("")
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(coder.Claim(ctx, "task-1"))
	p.Commit("task-1")
	must(coder.Submit(ctx, verb.SubmitInput{Task: "task-1"}))
	was := p.State().Task("task-1").SpecHash
	verbtest.Write(t, filepath.Join(p.Dir, "specs", "vision.md"), "# Vision\nNames may contain spaces.\n")
	out, err := person.SpecChange(ctx, "specs/vision.md#names", "names may contain spaces", "")
	if err != nil || !slices.Equal(out.Affected, []string{"task-1", "task-2"}) || out.Hash == was || out.Hash != person.Board.SpecHash("specs/vision.md") {
		t.Errorf("recorded %+v, %v", out, err)
	}
	if again, err := person.SpecChange(ctx, "specs/vision.md#names", "names may contain spaces", ""); err != nil || !again.Already {
		t.Errorf("again: %+v, %v", again, err)
	}
	must(reviewer.Reviews.ClaimReview(ctx, "task-1"))
	task := p.State().Task("task-1")
	if task.SpecHash != was || task.ReviewSpecHash != out.Hash {
		t.Errorf("claimed with %s and reviewed with %s, want %s and %s", task.SpecHash, task.ReviewSpecHash, was, out.Hash)
	}
}
