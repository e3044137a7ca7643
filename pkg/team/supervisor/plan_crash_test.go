package supervisor_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"liza/pkg/board/history"
	"liza/pkg/board/transition"
	"liza/pkg/run/exitcmd"
	"liza/pkg/verb/plan"
	"liza/pkg/verb/verb"
	"liza/pkg/verb/verb/verbtest"
)

// wholePlan does everything that a plan can do: tasks, a secret, a decision that gives up work.
const wholePlan = `{"goal": "Publish", "secrets": {"github_token": "` + secretValue + `"}, "tasks": [
	{"id": "a", "detail": "Write a.md", "type": "docs", "done_when": "a.md contains a word", "scope": "IN: a.md", "spec_ref": "specs/vision.md"},
	{"id": "b", "kind": "exec", "detail": "cat a.md"}, {"id": "tell", "kind": "msg", "detail": "It is out", "notify": true}],
	"decisions": [{"task": "asked", "do": "supersede", "by": ["a"], "reason": "there is a better way"}]}`

func applyWhole(d *verb.Service) (plan.Applied, error) {
	p, err := exitcmd.ParsePlan([]byte(wholePlan))
	if err != nil {
		return plan.Applied{}, err
	}
	return d.ApplyPlan(context.Background(), p)
}

// askedBoard is a project with one task, which has committed work and waits for the planner.
func askedBoard(t *testing.T) *verbtest.Place {
	t.Helper()
	p := verbtest.New(t)
	p.AddTask("asked")
	coder := p.Service("coder-1")
	if _, err := coder.Claim(t.Context(), "asked"); err != nil {
		t.Fatal(err)
	}
	p.Commit("asked")
	if _, err := coder.Block(t.Context(), verb.BlockInput{Task: "asked", Reason: "unclear", Questions: []string{"Which?"}}); err != nil {
		t.Fatal(err)
	}
	return p
}

// planTraces are what a plan leaves on the board and in the journal, one line each.
func planTraces(t *testing.T, p *verbtest.Place) string {
	t.Helper()
	s := p.State()
	traces := []string{"secrets " + strings.Join(s.Secrets, " "), "in force " + s.Goal.PlanID, fmt.Sprint("aligned ", len(s.Goal.AlignmentHistory))}
	for _, x := range s.Plans {
		traces = append(traces, x.ID+" "+x.Status+" "+strings.Join(x.Tasks, " "))
	}
	for x := range s.Tasks() {
		traces = append(traces, fmt.Sprintf("%s %s %s after %v by %v", x.ID, x.Status, x.Plan, x.DependsOn, x.SupersededBy))
	}
	entries, err := history.Journal{Path: p.Project.Journal()}.Read(history.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Rev <= s.Revision { // the next write cuts what never became the state's
			traces = append(traces, fmt.Sprintf("%s %s", e.Action, e.Task))
		}
	}
	return strings.Join(traces, "\n")
}

// N-07: a plan is on the board whole or not at all: with an error in its last task, killed at
// each step of applying it, and given twice.
func TestAPlanIsAppliedWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	whole := askedBoard(t)
	before := planTraces(t, whole)
	bad, err := exitcmd.ParsePlan([]byte(strings.Replace(wholePlan, `"id": "tell"`, `"id": "tell", "depends_on": ["nowhere"]`, 1)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := whole.Service("").ApplyPlan(t.Context(), bad); exitOf(err) != transition.ExitUsage || !strings.Contains(err.Error(), "tasks[2].depends_on") {
		t.Errorf("an error in the last task: %v", err)
	}
	if now := planTraces(t, whole); now != before {
		t.Errorf("a plan with an error in its last task has left\n%s\nbefore it was\n%s", now, before)
	}
	if _, err := applyWhole(whole.Service("")); err != nil {
		t.Fatal(err)
	}
	after := planTraces(t, whole)
	if _, err := applyWhole(whole.Service("")); exitOf(err) != transition.ExitNothing || !strings.Contains(err.Error(), "already applied as plan-1") {
		t.Errorf("the same plan again: %v", err)
	}
	if now := planTraces(t, whole); now != after || after == before {
		t.Errorf("after the same plan twice there is\n%s\nafter the first\n%s", now, after)
	}
	for point, want := range map[string]string{"secrets.stored": before, "secrets.scrubbed": before, "plan.saved": before,
		"W1": before, "W2": before, "W3": before, "W4": before, "W5": before, "W6": "", "W7": "", "W8": "", "W9": "", "W10": after, "plan.applied": after, "drop.worktree": after} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			p := askedBoard(t)
			crash(p, "plan", point)
			p.Open()
			d := p.Service("")
			if _, err := d.Agents.Recover(t.Context()); err != nil {
				t.Fatal(err)
			}
			found := planTraces(t, p)
			if found != before && found != after || want != "" && found != want {
				t.Errorf("after a kill at %s there is\n%s\nwant\n%s", point, found, want)
			}
			_, err := applyWhole(d)
			if found == before && err != nil || found == after && exitOf(err) != transition.ExitNothing {
				t.Errorf("the plan again: %v", err)
			}
			if now := planTraces(t, p); now != after {
				t.Errorf("in the end there is\n%s\nwant\n%s", now, after)
			}
			if _, err := d.Agents.Recover(t.Context()); err != nil {
				t.Fatal(err)
			}
			p.Sound()
			if text := p.Git(p.Dir, "show", p.Git(p.Dir, "for-each-ref", "--format=%(refname)", "--count=1", "refs/liza/attic/asked")+":asked.md"); text != "a word of asked" {
				t.Errorf("the work that was given up is %q", text)
			}
			if left := holders(t, p); len(left) > 0 {
				t.Errorf("the secret stands in %q", left)
			}
		})
	}
}

func exitOf(err error) transition.Exit {
	var r *transition.Refusal
	if errors.As(err, &r) {
		return r.Exit
	}
	return 0
}
