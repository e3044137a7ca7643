package verb_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/run/exitcmd"
	"liza/pkg/verb/plan"
	"liza/pkg/verb/verb"
	"liza/pkg/verb/verb/verbtest"
)

func apply(t *testing.T, d *verb.Service, text string) (plan.Applied, error) {
	t.Helper()
	p, err := exitcmd.ParsePlan([]byte(text))
	if err != nil {
		return plan.Applied{}, err
	}
	return d.ApplyPlan(context.Background(), p)
}

const task = `{"id": "%s", "description": "Print a word", "done_when": "prints hello", "scope": "IN: one file", "spec_ref": "specs/vision.md"`

func item(id, rest string) string { return strings.Replace(task, "%s", id, 1) + rest + "}" }

func TestAPlanIsAppliedWhole(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	d := p.Service("planner-1")
	plan := `{"goal": "Words", "tasks": [` + item("b", `, "depends_on": ["a"]`) + "," + item("a", `, "depends_on": []`) +
		`, {"id": "tell", "kind": "msg", "detail": "It is done", "notify": true}]}`
	out, err := apply(t, d, plan)
	if err != nil || out.Plan != "plan-1" || strings.Join(out.Tasks, " ") != "b a tell" {
		t.Fatalf("applied %+v, %v", out, err)
	}
	s := p.State()
	if s.TaskAt(0).ID != "b" || s.TaskAt(0).DependsOn[0] != "a" || !s.TaskAt(2).AfterPlan || s.TaskAt(2).SpecRef != "specs/vision.md" {
		t.Errorf("the tasks are %+v, %+v, %+v", s.TaskAt(0), s.TaskAt(1), s.TaskAt(2))
	}
	var refused *transition.Refusal
	if _, err := apply(t, d, plan); !errors.As(err, &refused) || refused.Exit != transition.ExitNothing {
		t.Errorf("the same plan again: %v, want exit 7", err)
	}
}

func TestAPersonsPlanInYAMLGetsAClosingMessage(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	out, err := apply(t, p.Service(""), "goal: Words\ntasks:\n  - detail: Print a word\n    expect: prints hello\n    scope: one file\n    spec_ref: specs/vision.md\n  - detail: Print another\n    expect: prints bye\n    scope: another file\n    spec_ref: specs/vision.md\n")
	if err != nil || strings.Join(out.Tasks, " ") != "task-1 task-2 final-msg" {
		t.Fatalf("applied %+v, %v", out, err)
	}
	if dep := p.State().Task("task-2").DependsOn; len(dep) != 1 || dep[0] != "task-1" {
		t.Errorf("a plan without dependencies is sequential; task-2 depends on %v", dep)
	}
}

func TestTasksWithoutIdsGetTheLowestNumbersAboveAllUsedOnes(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	without := func(text string) string { return strings.Replace(text, `"id": "a", `, "", 1) }
	out, err := apply(t, p.Service(""), planOf(item("first", ""), without(item("a", "")), item("task-3", ""), without(item("a", "")), tell))
	if err != nil || strings.Join(out.Tasks[:4], " ") != "first task-4 task-3 task-5" {
		t.Errorf("applied %+v, %v", out, err)
	}
}

// A plan that says nothing of an order is a chain, and says so: who wanted the tasks side by side reads the word for it.
func TestAChainThatNobodyAskedForIsTold(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		plan string
		told bool
	}{
		{planOf(item("a", ""), item("b", ""), tell), true},
		{planOf(item("a", ""), tell), false},
		{planOf(item("a", ""), item("b", `, "depends_on": []`), tell), false},
		{strings.Replace(planOf(item("a", ""), item("b", ""), tell), `{`, `{"order": "sequential", `, 1), false},
	} {
		out, err := apply(t, verbtest.New(t).Service(""), c.plan)
		if err != nil {
			t.Fatal(err)
		}
		if told := strings.Contains(strings.Join(out.Warnings, "\n"), "are done one after the other; order: graph"); told != c.told {
			t.Errorf("of %s: %q", c.plan, out.Warnings)
		}
	}
}

func TestAnInvalidPlanChangesNothingAndSaysEverything(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	d := p.Service("planner-1")
	for _, c := range []struct {
		name, plan string
		want       []string
	}{
		{"no plan at all", "[1, 2", []string{"neither JSON nor YAML"}},
		{"unknown key", `{"goal": "x", "tasks": [` + item("a", `, "depend_on": ["b"]`) + `]}`, []string{"tasks[0].depend_on: unknown key 'depend_on'", "depends_on"}},
		{"problems of form and of content", `{"goal": 7, "secrets": {"a b": "hunter22", "n": 22122122}, "tasks": [{"id": "a", "detail": 5, "bogus": 1}, {"id": "b", "priority": 1.5, "depends_on": "a"}, ` + item("c", "") + `, 8], "decisions": [{"task": "a", "do": "abandon", "why": 1}]}`,
			[]string{"goal: must be a text, is a number", "secrets.a b: the name must match", "secrets.n: must be a text, is a number", "tasks[0].detail: must be a text, is a number", "tasks[0].bogus: unknown key",
				"tasks[1].priority: must be an integer, is a number", "tasks[1].depends_on: must be a list, is a text", "tasks[1].detail: is missing", "tasks[3]: must be an object, is a number", "decisions[0].why: unknown key"}},
		{"a key twice", `{"goal": "x", "goal": "y", "tasks": [` + tell + `]}`, []string{"the key 'goal' is there twice"}},
		{"what it supersedes is not there", `{"goal": "x", "tasks": [` + item("a", `, "supersedes": ["zz"]`) + `, ` + tell + `]}`, []string{"tasks[0].supersedes", "no task 'zz'"}},
		{"no closing message", `{"goal": "x", "tasks": [` + item("a", "") + `]}`, []string{"kind msg with notify"}},
		{"several defects", `{"goal": "x", "tasks": [{"id": "a", "description": "d", "done_when": "d", "spec_ref": "specs/vision.md"}, ` + item("a", `, "review": false`) + `]}`,
			[]string{"tasks[0].done_when", "tasks[0].scope: is missing", "tasks[1].review", "is that of tasks[0] too", "notify"}},
		{"a cycle", `{"goal": "x", "order": "graph", "tasks": [` + item("a", `, "depends_on": ["b"]`) + "," + item("b", `, "depends_on": ["a"]`) + `, {"kind": "msg", "detail": "d", "notify": true}]}`, []string{"cycle"}},
		{"unknown dependency", `{"goal": "x", "tasks": [` + item("a", `, "depends_on": ["zz"]`) + `, {"kind": "msg", "detail": "d", "notify": true}]}`, []string{"tasks[0].depends_on: no task 'zz'"}},
		{"a bad id", `{"goal": "x", "tasks": [` + item("../x", "") + `, {"kind": "msg", "detail": "d", "notify": true}]}`, []string{"tasks[0].id: '../x' is not allowed"}},
		{"a missing spec", `{"goal": "x", "tasks": [` + strings.Replace(item("a", ""), "vision", "nope", 1) + `, {"kind": "msg", "detail": "d", "notify": true}]}`, []string{"tasks[0].spec_ref: the spec file specs/nope.md"}},
		{"a secret that is a number", `{"goal": "x", "secrets": {"k": 22122122}, "tasks": [` + item("a", "") + `]}`, []string{"secrets", "text"}},
		{"bad secrets", `{"goal": "x", "secrets": {"K": "hunter22", "a b": "hunter22", "empty": " "}, "tasks": [` + item("a", "") + `]}`,
			[]string{"secrets.K: the name must match", "secrets.a b: the name", "secrets.empty: is empty"}},
		{"a secret that is not known any more", `{"goal": "x", "secrets": {"k": "[REDACTED:k]"}, "tasks": [` + item("a", "") + `]}`, []string{"secrets.k is masked"}},
		{"a list", "[]", []string{"must be an object"}},
		{"too many items", planOf(strings.TrimSuffix(strings.Repeat(`{"kind": "exec", "detail": "x"}, `, 21), ", ")), []string{"tasks: has 21 items; 20 is the limit"}},
		{"the same id in other letters", planOf(`{"id": "a", "kind": "exec", "detail": "x"}`, `{"id": "A", "kind": "exec", "detail": "x"}`), []string{"tasks[1].id: 'A' is that of tasks[0] too"}},
		{"a spec outside", planOf(`{"id": "a", "detail": "x", "expect": "prints 42", "scope": "a", "spec_ref": "../x"}`), []string{"tasks[0].spec_ref"}},
		{"nothing", `{"goal": "x", "tasks": []}`, []string{"tasks or decisions"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := verbtest.Read(t, p.Project.State())
			_, err := apply(t, d, c.plan)
			var refused *transition.Refusal
			if !errors.As(err, &refused) || refused.Exit != transition.ExitUsage {
				t.Fatalf("got %v, want exit 2", err)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			}
			if strings.Contains(err.Error(), "hunter22") || strings.Contains(err.Error(), "22122122") {
				t.Error("the value of a secret is shown")
			}
			if verbtest.Read(t, p.Project.State()) != before {
				t.Error("the board was changed")
			}
		})
	}
}

func TestAPlanDecidesAboutExistingTasks(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	ctx := context.Background()
	p.AddTask("task-1")
	p.AddTask("task-2", "task-1")
	coder := p.Service("coder-1")
	if _, err := coder.Claim(ctx, "task-1"); err != nil {
		t.Fatal(err)
	}
	p.Commit("task-1")
	if _, err := coder.Block(ctx, verb.BlockInput{Task: "task-1", Reason: "too large", Questions: []string{"Which half first?"}}); err != nil {
		t.Fatal(err)
	}
	_, err := apply(t, p.Service("planner-1"), `{"goal": "Halves", "reason": "one task was two", "tasks": [`+item("half-1", `, "supersedes": ["task-1"], "depends_on": []`)+","+
		item("half-2", `, "supersedes": ["task-1"], "depends_on": []`)+`, {"id": "tell", "kind": "msg", "detail": "d", "notify": true}]}`)
	if err != nil {
		t.Fatal(err)
	}
	s := p.State()
	if st := s.Task("task-1"); st.Status != blackboard.Superseded || strings.Join(st.SupersededBy, " ") != "half-1 half-2" {
		t.Errorf("task-1 is %s by %v", st.Status, st.SupersededBy)
	}
	if dep := strings.Join(s.Task("task-2").DependsOn, " "); dep != "half-1 half-2" {
		t.Errorf("task-2 depends on %s", dep)
	}
	if text := p.Git(p.Dir, "show", "refs/liza/attic/task-1/1:task-1.md"); text != "a word of task-1" {
		t.Errorf("the attic has %q", text)
	}
	p.Sound()
}
