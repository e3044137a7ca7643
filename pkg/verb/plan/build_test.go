package plan

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/config"
	"liza/pkg/board/transition"
	"liza/pkg/run/exitcmd"
	"liza/pkg/run/policy"
	"liza/pkg/run/skill"
)

var noon = time.Date(2026, 1, 19, 12, 0, 0, 0, time.UTC)

var (
	planner = transition.Actor{ID: "planner-1", Via: true, Register: &blackboard.Agent{}}
	person  = transition.Actor{ID: blackboard.Human, Name: "ada"}
)

// skills has one skill with an argument of each kind that matters here.
var skills = sync.OnceValue(func() skill.Library {
	dir, err := os.MkdirTemp("", "plan-skills-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	for name, manifest := range map[string]string{
		"writer": "name: writer\nrun: [touch, a]\nwrites: true\nsecrets: [token]\ntimeout_seconds: 90\nargs:\n  text: {type: string, required: true}\n  times: {type: int, default: 2}\n",
		"reader": "name: reader\nrun: [cat, a]\n",
	} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			panic(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name, "skill.yaml"), []byte(manifest), 0o644); err != nil {
			panic(err)
		}
	}
	return skill.Load(dir)
})

// rules are those of a project with the default settings; each call makes new ones.
func rules() *Rules {
	return &Rules{Config: config.Default(), Caller: blackboard.Caller{Name: "ada", Role: "admin"}, Skills: skills,
		Input: transition.Input{SpecExists: func(path string) bool { return strings.HasPrefix(path, "specs/") }},
		MayRun: func(_, command string) error {
			if strings.HasPrefix(command, "rm ") {
				return &policy.Denial{Segment: command, Why: "removes files"}
			}
			return nil
		},
		RoleProblem: func(t *blackboard.Task) string {
			if t.Role == "unknown" {
				return "role: there is no role 'unknown'"
			}
			return ""
		},
		Clean: func(t *blackboard.Task) error {
			if strings.Contains(t.Description, "\x1b") {
				return errors.New("has a control character")
			}
			return nil
		}}
}

// boardOf is a board with a goal and tasks.
func boardOf(tasks ...*blackboard.Task) *blackboard.State {
	s := &blackboard.State{Goal: &blackboard.Goal{ID: "goal-1", Description: "Measure", SpecRef: "specs/vision.md"},
		Sprint: &blackboard.Sprint{ID: "sprint-1", Status: "IN_PROGRESS"}, Agents: map[string]*blackboard.Agent{}}
	return s.With(tasks...)
}

func onBoard(id string, st blackboard.Status, change ...func(*blackboard.Task)) *blackboard.Task {
	t := &blackboard.Task{ID: id, Description: "Do " + id, DoneWhen: "prints 42", Scope: "IN: " + id, SpecRef: "specs/vision.md", Status: st}
	for _, c := range change {
		c(t)
	}
	return t
}

func blockedForReplan(of string) func(*blackboard.Task) {
	return func(t *blackboard.Task) {
		t.Plan, t.BlockedKind, t.BlockedReason = of, blackboard.BlockedForReplan, "the parser cannot hold comments of several lines"
	}
}

func after(ids ...string) *[]string { return &ids }

// item is a code task that passes every gate.
func itemOf(id string, change ...func(*exitcmd.PlanTask)) exitcmd.PlanTask {
	x := exitcmd.PlanTask{ID: id, Detail: "Print the word " + id, DoneWhen: "greet prints " + id, Scope: "IN: " + id + ".go", SpecRef: "specs/vision.md"}
	for _, c := range change {
		c(&x)
	}
	return x
}

var tellUser = exitcmd.PlanTask{ID: "tell", Kind: "msg", Detail: "It is done", Notify: true}

func planOf(items ...exitcmd.PlanTask) *exitcmd.Plan {
	return &exitcmd.Plan{Goal: "Words", Tasks: append(items, tellUser)}
}

// apply applies a plan as its planner, on the board.
func apply(r *Rules, s *blackboard.State, p *exitcmd.Plan) (Applied, error) {
	return r.Apply(s, planner, p, "sha256:1", nil, noon)
}

// wantProblem wants a refusal with exit 2 whose problems contain each text, and a board as before.
func wantProblem(t *testing.T, what string, err error, texts ...string) {
	t.Helper()
	var r *transition.Refusal
	if !errors.As(err, &r) || r.Exit != transition.ExitUsage || r.Next != "liza help plan" {
		t.Errorf("%s: %v, want a refusal with exit 2 that leads to liza help plan", what, err)
		return
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("%s: the refusal is %q, want %q in it", what, err, text)
		}
	}
}

// Each length and number has its limit at exactly the value that the schema tells the planner.
func TestEachLimitOfAPlanHoldsAtItsValue(t *testing.T) {
	t.Parallel()
	text := func(n int) string { return strings.Repeat("a", n) }
	words := func(n int) string { return "greet prints " + text(n-len("greet prints ")) }
	set := func(f func(*exitcmd.PlanTask, int)) func(*exitcmd.Plan, int) {
		return func(p *exitcmd.Plan, n int) { f(&p.Tasks[0], n) }
	}
	for _, c := range []struct {
		key  string
		most int
		set  func(*exitcmd.Plan, int)
		told string
	}{
		{"goal", 2000, func(p *exitcmd.Plan, n int) { p.Goal = text(n) }, "goal: has 2001 bytes; 2000 is the limit"},
		{"reason", 1000, func(p *exitcmd.Plan, n int) { p.Reason = text(n) }, "reason: has 1001 bytes; 1000 is the limit"},
		{"title", 120, set(func(x *exitcmd.PlanTask, n int) { x.Title = text(n) }), "tasks[0].title: has 121 bytes; 120 is the limit"},
		{"detail", 5000, set(func(x *exitcmd.PlanTask, n int) { x.Detail = text(n) }), "tasks[0].detail: has 5001 bytes; 5000 is the limit"},
		{"description", 5000, set(func(x *exitcmd.PlanTask, n int) { x.Detail, x.Description = "", text(n) }), "tasks[0].detail: has 5001 bytes"},
		{"expect", 1500, set(func(x *exitcmd.PlanTask, n int) { x.DoneWhen, x.Expect = "", words(n) }), "tasks[0].expect: has 1501 bytes"},
		{"done_when", 1500, set(func(x *exitcmd.PlanTask, n int) { x.DoneWhen = words(n) }), "tasks[0].expect: has 1501 bytes"},
		{"scope", 1500, set(func(x *exitcmd.PlanTask, n int) { x.Scope = text(n) }), "tasks[0].scope: has 1501 bytes"},
		{"criteria", 20, set(func(x *exitcmd.PlanTask, n int) { x.AcceptanceCriteria = slices.Repeat([]string{"a"}, n) }), "acceptance_criteria: has 21 entries; 20 is the limit"},
		{"criterion", 500, set(func(x *exitcmd.PlanTask, n int) { x.AcceptanceCriteria = []string{"a", text(n)} }), "entry 2 has 501 bytes; 500 is the limit"},
		{"criteria together", 4000, set(func(x *exitcmd.PlanTask, n int) {
			x.AcceptanceCriteria = append(slices.Repeat([]string{text(400)}, 9), text(n-3600))
		}), "acceptance_criteria: has 4001 bytes; 4000 is the limit"},
		{"timeout", 3600, set(func(x *exitcmd.PlanTask, n int) { x.Kind, x.Command, x.TimeoutSeconds = "exec", "true", &n }), "timeout_seconds: 3601 must be 1 to 3600"},
		{"decisions", 20, func(p *exitcmd.Plan, n int) {
			for i := range n {
				p.Decisions = append(p.Decisions, exitcmd.Decision{Task: fmt.Sprint("old-", i), Do: exitcmd.DoAbandon, Reason: "not wanted"})
			}
		}, "decisions: has 21 items; 20 is the limit"},
		{"reason of a decision", 1000, func(p *exitcmd.Plan, n int) {
			p.Decisions = []exitcmd.Decision{{Task: "old-1", Do: exitcmd.DoAbandon, Reason: text(n)}}
		}, "decisions[0].reason: has 1001 bytes; 1000 is the limit"},
	} {
		for _, n := range []int{c.most - 1, c.most, c.most + 1} {
			var old []*blackboard.Task
			for i := range 21 {
				old = append(old, onBoard(fmt.Sprint("old-", i), blackboard.Unclaimed))
			}
			p := planOf(itemOf("a"))
			c.set(p, n)
			_, err := apply(rules(), boardOf(old...), p)
			if n <= c.most && err != nil {
				t.Errorf("%s of %d: %v, want it accepted", c.key, n, err)
			}
			if n > c.most {
				wantProblem(t, fmt.Sprint(c.key, " of ", n), err, c.told)
			}
		}
	}
}

func TestAPlanHasAtMostAsManyTasksAsTheProjectSays(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		most, tasks int
		refused     bool
	}{{3, 2, false}, {3, 3, false}, {3, 4, true}, {0, 40, false}} {
		r := rules()
		r.Config.Limits.MaxPlanTasks = c.most
		var items []exitcmd.PlanTask
		for i := range c.tasks - 1 {
			items = append(items, itemOf(fmt.Sprint("t", i)))
		}
		_, err := apply(r, boardOf(), planOf(items...))
		if c.refused {
			wantProblem(t, fmt.Sprint(c), err, "tasks: has 4 items; 3 is the limit (limits.max_plan_tasks)")
		} else if err != nil {
			t.Errorf("%d tasks where %d are allowed (0: any number): %v", c.tasks, c.most, err)
		}
	}
}

// The problems of a plan come all at once, each with the place that has to be changed.
func TestWhatIsWrongWithAPlanIsToldWithItsPlace(t *testing.T) {
	t.Parallel()
	no, one := false, -1
	item := func(change func(*exitcmd.PlanTask)) *exitcmd.Plan { return planOf(itemOf("a", change)) }
	decide := func(x exitcmd.Decision) *exitcmd.Plan {
		return &exitcmd.Plan{Goal: "Words", Decisions: []exitcmd.Decision{x}}
	}
	for _, c := range []struct {
		name string
		plan *exitcmd.Plan
		want string
	}{
		{"nothing in it", &exitcmd.Plan{Goal: "Words"}, "tasks: is empty; a plan has tasks or decisions"},
		{"no goal", &exitcmd.Plan{Goal: " \n", Tasks: []exitcmd.PlanTask{itemOf("a"), tellUser}}, "goal: is missing"},
		{"an unknown order", &exitcmd.Plan{Goal: "Words", Order: "random", Tasks: []exitcmd.PlanTask{tellUser}}, "order: 'random' must be sequential or graph"},
		{"no closing message", &exitcmd.Plan{Goal: "Words", Tasks: []exitcmd.PlanTask{itemOf("a")}}, "tasks: the last one must be of kind msg with notify: true"},
		{"a closing message for nobody", &exitcmd.Plan{Goal: "Words", Tasks: []exitcmd.PlanTask{{Kind: "msg", Detail: "It is done"}}}, "tasks: the last one must be"},
		{"an id that is there", planOf(itemOf("old")), "tasks[0].id: task old exists (UNCLAIMED)"},
		{"an id twice", planOf(itemOf("a"), itemOf("a")), "tasks[1].id: 'a' is that of tasks[0] too"},
		{"an id twice but for its case", planOf(itemOf("a"), itemOf("A")), "tasks[1].id: 'A' is that of tasks[0] too"},
		{"an id that is a path", planOf(itemOf("../a")), "tasks[0].id: '../a' is not allowed for a task"},
		{"a priority below 0", item(func(x *exitcmd.PlanTask) { x.Priority = &one }), "tasks[0].priority: -1 must be 0 or more"},
		{"an unknown role", item(func(x *exitcmd.PlanTask) { x.Role = "unknown" }), "tasks[0].role: there is no role 'unknown'"},
		{"an unknown kind", item(func(x *exitcmd.PlanTask) { x.Kind = "walk" }), "tasks[0].kind: 'walk' must be code, exec, msg or skill"},
		{"two kinds", item(func(x *exitcmd.PlanTask) { x.Kind, x.Type = "exec", "msg" }), "tasks[0].kind: 'exec' and type 'msg' differ"},
		{"two details", item(func(x *exitcmd.PlanTask) { x.Description = "Print another word" }), "tasks[0].detail: differs from description, which means the same"},
		{"two criteria", item(func(x *exitcmd.PlanTask) { x.Expect = "greet prints bye" }), "tasks[0].expect: differs from done_when"},
		{"a control character", item(func(x *exitcmd.PlanTask) { x.Detail = "Print \x1b[31m" }), "tasks[0].detail: has a control character"},
		{"code that nobody reviews", item(func(x *exitcmd.PlanTask) { x.Review = &no }), "tasks[0].review: what changes files is always reviewed"},
		{"no scope", item(func(x *exitcmd.PlanTask) { x.Scope = "" }), "tasks[0].scope: is missing"},
		{"no criterion", item(func(x *exitcmd.PlanTask) { x.DoneWhen = "" }), "tasks[0].done_when: is missing"},
		{"no detail", item(func(x *exitcmd.PlanTask) { x.Detail = "" }), "tasks[0].detail: is missing"},
		{"a spec that is not there", item(func(x *exitcmd.PlanTask) { x.SpecRef = "docs/a.md#part" }), "tasks[0].spec_ref: the spec file docs/a.md does not exist in the project"},
		{"tests alone", item(func(x *exitcmd.PlanTask) { x.Type = "test" }), "tasks[0].legacy_tests: tests belong to the task whose code they test"},
		{"a scope that says nothing", item(func(x *exitcmd.PlanTask) { x.Scope = x.Detail }), "tasks[0].scope: repeats the description"},
		{"a dependency that is not there", item(func(x *exitcmd.PlanTask) { x.DependsOn = after("zz") }), "tasks[0].depends_on: no task 'zz'"},
		{"a dependency that was given up", item(func(x *exitcmd.PlanTask) { x.DependsOn = after("gone") }), "tasks[0].depends_on: task gone is ABANDONED; nothing can depend on it"},
		{"a circle", planOf(itemOf("a", func(x *exitcmd.PlanTask) { x.DependsOn = after("b") }), itemOf("b", func(x *exitcmd.PlanTask) { x.DependsOn = after("a") })),
			"tasks: their depends_on make a dependency cycle: a, b"},
		{"a circle of one", item(func(x *exitcmd.PlanTask) { x.DependsOn = after("a") }), "dependency cycle: a"},
		{"a decision about nothing", decide(exitcmd.Decision{Do: exitcmd.DoAbandon}), "decisions[0].task: name a task or a discovery"},
		{"a decision of another word", decide(exitcmd.Decision{Task: "old", Do: "drop"}), "decisions[0].do: 'drop' must be one of unblock, supersede, abandon, finalize"},
		{"a decision without a reason", decide(exitcmd.Decision{Task: "old", Do: exitcmd.DoAbandon, Reason: " "}), "decisions[0].reason: is missing"},
		{"a replacement by nothing", decide(exitcmd.Decision{Task: "old", Do: exitcmd.DoSupersede, Reason: "better"}), "decisions[0].by: is missing: name what takes its place"},
		{"a decision that cannot be carried out", decide(exitcmd.Decision{Task: "gone", Do: exitcmd.DoAbandon, Reason: "not wanted"}), "decisions[0] (abandon gone): "},
		{"a decision about an unknown task", decide(exitcmd.Decision{Task: "zz", Do: exitcmd.DoAbandon, Reason: "not wanted"}), "decisions[0] (abandon zz): no task 'zz'"},
		{"a task that replaces an unknown one", item(func(x *exitcmd.PlanTask) { x.Supersedes = []string{"zz"} }), "tasks[0].supersedes (supersede zz): no task 'zz'"},
		{"a discovery and a task", decide(exitcmd.Decision{Discovery: "disc-1", Task: "old", Do: exitcmd.DoDefer, Reason: "later"}), "it names the task old too; decide about one of them"},
		{"a discovery given up", decide(exitcmd.Decision{Discovery: "disc-1", Do: exitcmd.DoAbandon, Reason: "later"}), "do: 'abandon' must be convert or defer for a discovery"},
		{"a discovery of two tasks", decide(exitcmd.Decision{Discovery: "disc-1", Do: exitcmd.DoConvert, By: []string{"old", "b"}}), "by: must name one task, has 2"},
	} {
		s := boardOf(onBoard("old", blackboard.Unclaimed), onBoard("gone", blackboard.Abandoned))
		s.Discovered = []*blackboard.Discovery{{ID: "disc-1", Description: "A leak"}}
		_, err := apply(rules(), s, c.plan)
		wantProblem(t, c.name, err, c.want)
	}
}

func TestEveryProblemOfAPlanIsToldAtOnce(t *testing.T) {
	t.Parallel()
	_, err := apply(rules(), boardOf(), &exitcmd.Plan{Order: "x", Tasks: []exitcmd.PlanTask{itemOf("a", func(x *exitcmd.PlanTask) { x.Scope = "" }), itemOf("a")}})
	wantProblem(t, "five things wrong", err, "goal: is missing", "order: 'x'", "tasks[0].scope: is missing", "tasks[1].id: 'a'", "tasks: the last one must be")
}

// What could not be read is not told twice: its value is empty only because its form was wrong.
func TestAKeyWithAProblemOfFormHasNoOtherProblem(t *testing.T) {
	t.Parallel()
	p, err := exitcmd.ParsePlan([]byte(`{"goal": 7, "tasks": [{"id": "a", "detail": "Print a word", "done_when": "prints 42", "scope": [1], "spec_ref": "specs/vision.md"},
		{"kind": "msg", "detail": "It is done", "notify": true}]}`))
	if err != nil {
		t.Fatal(err)
	}
	_, err = apply(rules(), boardOf(), p)
	wantProblem(t, "a goal that is a number", err, "goal: must be a text, is a number", "tasks[0].scope: must be a text, is a list")
	if got := err.Error(); strings.Contains(got, "goal: is missing") || strings.Contains(got, "scope: is missing") {
		t.Errorf("a value that was not read is called missing: %s", got)
	}
}

// Only a planner and a person plan. Everybody else is told who may.
func TestOnlyAPlannerOrAPersonAppliesAPlan(t *testing.T) {
	t.Parallel()
	for id, may := range map[string]bool{"planner-1": true, "coder-1": false, "code-reviewer-1": false, blackboard.Human: true, blackboard.System: false} {
		a := transition.Actor{ID: id}
		if id != blackboard.Human && id != blackboard.System {
			a.Via, a.Register = true, &blackboard.Agent{}
		}
		_, err := rules().Apply(boardOf(), a, planOf(itemOf("a")), "h", nil, noon)
		var r *transition.Refusal
		switch {
		case may && err != nil:
			t.Errorf("%s: %v", id, err)
		case !may && (!errors.As(err, &r) || r.Exit != transition.ExitRefused || r.Guard != "G03" || r.Next != "liza status" || r.Message != id+" may not apply a plan; planner or human may"):
			t.Errorf("%s: %v, want a refusal by G03 that names who may", id, err)
		}
	}
}

func TestTheSamePlanTwiceIsNothingToDoWhileItRuns(t *testing.T) {
	t.Parallel()
	for status, want := range map[string]transition.Exit{"running": transition.ExitNothing, "done": 0, "failed": 0, "superseded": 0} {
		s := boardOf()
		s.Plans = []*blackboard.Plan{{ID: "plan-1", Hash: "sha256:1", Status: status}, {ID: "plan-2", Hash: "sha256:2", Status: "running"}}
		out, err := apply(rules(), s, planOf(itemOf("a")))
		var r *transition.Refusal
		switch {
		case want == 0 && (err != nil || out.Plan != "plan-3"):
			t.Errorf("a plan as one that is %s: %+v, %v, want plan-3", status, out, err)
		case want != 0 && (!errors.As(err, &r) || r.Exit != want || r.Message != "the plan is already applied as plan-1"):
			t.Errorf("a plan as one that is %s: %v, want exit %d that names plan-1", status, err, want)
		}
	}
}

// What a refused plan leaves on the board is nothing: its caller undoes what it applied to a copy, and refuses before that what he can.
func TestAPlanWhoseFormIsWrongLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	s := boardOf(onBoard("old", blackboard.Unclaimed))
	p := planOf(itemOf("a"), itemOf("a"))
	if _, err := apply(rules(), s, p); err == nil {
		t.Fatal("a plan with an id twice was applied")
	}
	if s.TaskCount() != 1 || len(s.Plans) != 0 || len(s.Sprint.EnsureScope().Planned) != 0 || p.Order != "" {
		t.Errorf("left: %d tasks, %d plans, order %q; want the board and the plan as before", s.TaskCount(), len(s.Plans), p.Order)
	}
}

func TestTasksAreOnTheBoardInThePlansOrderWhateverTheyWaitFor(t *testing.T) {
	t.Parallel()
	dep := func(ids ...string) func(*exitcmd.PlanTask) {
		return func(x *exitcmd.PlanTask) { x.DependsOn = after(ids...) }
	}
	s := boardOf(onBoard("old", blackboard.Unclaimed))
	out, err := apply(rules(), s, planOf(itemOf("c", dep("b", "a")), itemOf("b", dep("a")), itemOf("a", dep())))
	if err != nil || strings.Join(out.Tasks, " ") != "c b a tell" {
		t.Fatalf("applied %+v, %v; want c b a tell", out, err)
	}
	var ids, waits []string
	for x := range s.Tasks() {
		ids, waits = append(ids, x.ID), append(waits, strings.Join(x.DependsOn, "+"))
	}
	if got := strings.Join(ids, " "); got != "old c b a tell" {
		t.Errorf("the board has %s, want old c b a tell", got)
	}
	if got := strings.Join(waits, " "); got != " b+a a  " {
		t.Errorf("they wait for %q", got)
	}
	if p := s.Plans[0]; strings.Join(p.Tasks, " ") != "c b a tell" || p.Order != "graph" || p.Status != "running" || p.Hash != "sha256:1" || p.By != "planner-1" || s.Task("c").Plan != "plan-1" {
		t.Errorf("the record is %+v", p)
	}
}

// The order of a plan: given dependencies are a graph, none are a chain, and the message comes last in both.
func TestWhatATaskWaitsForWhenThePlanDoesNotSay(t *testing.T) {
	t.Parallel()
	free := func(x *exitcmd.PlanTask) { x.DependsOn = after() }
	for _, c := range []struct {
		name, order string
		items       []exitcmd.PlanTask
		want        string // what each waits for
		warned      bool
		becomes     string
	}{
		{"a chain", "", []exitcmd.PlanTask{itemOf("a"), itemOf("b")}, "|a|", true, "sequential"},
		{"a chain that was asked for", "sequential", []exitcmd.PlanTask{itemOf("a"), itemOf("b")}, "|a|", false, "sequential"},
		{"one task and its message", "", []exitcmd.PlanTask{itemOf("a")}, "|", false, "sequential"},
		{"a graph that was asked for", "graph", []exitcmd.PlanTask{itemOf("a"), itemOf("b")}, "||", false, "graph"},
		{"one with an empty list", "", []exitcmd.PlanTask{itemOf("a"), itemOf("b", free)}, "||", false, "graph"},
		{"a chain with one that says that it waits for nothing", "sequential", []exitcmd.PlanTask{itemOf("a"), itemOf("b", free), itemOf("c")}, "||b|", false, "sequential"},
	} {
		s, p := boardOf(), planOf(c.items...)
		p.Order = c.order
		out, err := apply(rules(), s, p)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var waits []string
		for x := range s.Tasks() {
			waits = append(waits, strings.Join(x.DependsOn, "+"))
		}
		if got := strings.Join(waits, "|"); got != c.want || s.Plans[0].Order != c.becomes {
			t.Errorf("%s: they wait for %q, order %s; want %q, %s", c.name, got, s.Plans[0].Order, c.want, c.becomes)
		}
		if got := strings.Contains(strings.Join(out.Warnings, ""), "are done one after the other; order: graph lets them begin at once"); got != c.warned {
			t.Errorf("%s: warned %t (%v), want %t", c.name, got, out.Warnings, c.warned)
		}
		if last := s.TaskAt(s.TaskCount() - 1); !last.AfterPlan {
			t.Errorf("%s: the message does not wait for the plan", c.name)
		}
	}
}

// How a plan ends, for each setting and each kind of caller.
func TestTheClosingMessageOfAPlan(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		mode            string
		human, scripted bool
		given           bool
		want            string // the tasks; "" for a refusal
	}{
		{mode: "require", want: ""},
		{mode: "require", given: true, want: "a tell"},
		{mode: "require", human: true, want: "a final-msg"},
		{mode: "require", scripted: true, want: "a final-msg"},
		{mode: "append", want: "a final-msg"},
		{mode: "append", given: true, want: "a tell"},
		{mode: "off", want: "a"},
		{mode: "off", human: true, want: "a"},
	} {
		r, s := rules(), boardOf()
		r.Config.Plan.FinalMsg, r.Human, r.Scripted = c.mode, c.human, c.scripted
		p := &exitcmd.Plan{Goal: "Words", Tasks: []exitcmd.PlanTask{itemOf("a")}}
		if c.given {
			p.Tasks = append(p.Tasks, tellUser)
		}
		out, err := apply(r, s, p)
		if c.want == "" {
			wantProblem(t, fmt.Sprintf("%+v", c), err, "tasks: the last one must be of kind msg with notify: true")
			continue
		}
		if err != nil || strings.Join(out.Tasks, " ") != c.want {
			t.Errorf("%+v: %v, %v", c, out.Tasks, err)
			continue
		}
		added := strings.Contains(c.want, "final-msg")
		if told := strings.Contains(strings.Join(out.Warnings, ""), "final-msg was added"); told != added {
			t.Errorf("%+v: the warnings are %v", c, out.Warnings)
		}
		if m := s.Task("final-msg"); added && (m.KindOf() != blackboard.MessageTask || !m.Notify || !m.AfterPlan || m.Description != "Tell the user what was done for: Words" || m.DoneWhen != "message delivered") {
			t.Errorf("%+v: the message is %+v", c, m)
		}
	}
}

type archived map[string]blackboard.Archived

func (a archived) Archived() map[string]blackboard.Archived { return a }

func TestTheAddedMessageHasAnIdThatNoTaskEverHad(t *testing.T) {
	t.Parallel()
	r := rules()
	r.Config.Plan.FinalMsg = "append"
	s := boardOf(onBoard("final-msg", blackboard.Merged))
	s.UseArchive(archived{"final-msg-2": {Status: blackboard.Merged}})
	out, err := apply(r, s, &exitcmd.Plan{Goal: "Words", Tasks: []exitcmd.PlanTask{itemOf("final-msg-3")}})
	if err != nil || strings.Join(out.Tasks, " ") != "final-msg-3 final-msg-4" {
		t.Errorf("tasks %v, %v; want final-msg-4, the first that no board, archive or plan has", out.Tasks, err)
	}
}

func TestATaskWhoseIdIsInTheArchiveGetsAnother(t *testing.T) {
	t.Parallel()
	s := boardOf(onBoard("parser-2", blackboard.Unclaimed))
	s.UseArchive(archived{"Parser": {Status: blackboard.Merged}, "task-8": {Status: blackboard.Merged}})
	second, third := itemOf("docs"), itemOf("")
	second.DependsOn = &[]string{"parser"}
	out, err := apply(rules(), s, planOf(itemOf("parser"), second, third))
	if err != nil || strings.Join(out.Tasks, " ") != "parser-3 docs task-9 tell" || strings.Join(s.Task("docs").DependsOn, " ") != "parser-3" {
		t.Errorf("tasks %v, %v", out.Tasks, err)
	}
	if len(out.Warnings) == 0 || out.Warnings[0] != "task parser of the plan is parser-3: the archive has a task parser" {
		t.Errorf("warnings are %q", out.Warnings)
	}
}

// A plan is tried on a copy of the board first, and written again when another write came between.
func TestAPlanIsTheSameAfterItWasTried(t *testing.T) {
	t.Parallel()
	second := itemOf("docs")
	second.DependsOn = &[]string{"parser"}
	p := planOf(itemOf("parser"), second)
	for range 2 {
		s := boardOf()
		s.UseArchive(archived{"parser": {Status: blackboard.Merged}})
		if out, err := apply(rules(), s, p); err != nil || len(out.Warnings) == 0 || out.Tasks[0] != "parser-2" || s.Task("docs").DependsOn[0] != "parser-2" {
			t.Errorf("got %+v, %v", out, err)
		}
	}
	if p.Tasks[0].ID != "parser" || (*second.DependsOn)[0] != "parser" {
		t.Errorf("the plan has %s and %v now", p.Tasks[0].ID, *second.DependsOn)
	}
}

func TestTasksWithoutAnIdAreNumberedAboveAllOthers(t *testing.T) {
	t.Parallel()
	out, err := apply(rules(), boardOf(onBoard("task-7", blackboard.Merged), onBoard("task-x", blackboard.Merged)), planOf(itemOf(""), itemOf("task-12"), itemOf("")))
	if err != nil || strings.Join(out.Tasks, " ") != "task-13 task-12 task-14 tell" {
		t.Errorf("tasks %v, %v; want task-13 and task-14", out.Tasks, err)
	}
	for ids, want := range map[string]string{"": "task-1", "a b": "task-1", "task-1 task-3": "task-4", "task-03": "task-4", "my-task-9": "task-1"} {
		var tasks []*blackboard.Task
		for _, id := range strings.Fields(ids) {
			tasks = append(tasks, onBoard(id, blackboard.Unclaimed))
		}
		if got := FreeID(boardOf(tasks...)); got != want {
			t.Errorf("the next id beside %q is %s, want %s", ids, got, want)
		}
	}
}

func TestADraftMayMissItsGatesAndStaysADraft(t *testing.T) {
	t.Parallel()
	s := boardOf()
	draft := exitcmd.PlanTask{ID: "d", Detail: "Something with words", Draft: true}
	if _, err := apply(rules(), s, planOf(draft, itemOf("a"))); err != nil {
		t.Fatal(err)
	}
	if d, a := s.Task("d").Status, s.Task("a").Status; d != blackboard.Draft || a != blackboard.Unclaimed {
		t.Errorf("d is %s and a is %s; want DRAFT and UNCLAIMED", d, a)
	}
	draft.Draft = false
	_, err := apply(rules(), boardOf(), planOf(draft))
	wantProblem(t, "the same without draft", err, "tasks[0].scope: is missing", "tasks[0].done_when: is missing")
}

// A doubt about a criterion is a warning with its place, and stops nothing.
func TestAVaguePhraseBesideSomethingConcreteIsAWarning(t *testing.T) {
	t.Parallel()
	out, err := apply(rules(), boardOf(), planOf(itemOf("a", func(x *exitcmd.PlanTask) { x.DoneWhen = "works correctly: `greet` prints hello" })))
	if err != nil || len(out.Warnings) != 1 || !strings.HasPrefix(out.Warnings[0], "tasks[0].done_when: ") || !strings.Contains(out.Warnings[0], "a reviewer will judge by the rest") {
		t.Errorf("warnings %v, %v", out.Warnings, err)
	}
}
