package plan

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/config"
	"liza/pkg/board/transition"
	"liza/pkg/run/exitcmd"
)

// Each key that belongs to one kind is refused with every other one.
func TestKeysOfOneKindAreRefusedWithTheOthers(t *testing.T) {
	t.Parallel()
	seconds := 60
	keys := map[string]func(*exitcmd.PlanTask){
		"command":         func(x *exitcmd.PlanTask) { x.Command = "make docs" },
		"skill":           func(x *exitcmd.PlanTask) { x.Skill = "reader" },
		"args":            func(x *exitcmd.PlanTask) { x.Args = map[string]any{"text": "a"} },
		"secrets":         func(x *exitcmd.PlanTask) { x.Secrets = []string{"token"} },
		"writes":          func(x *exitcmd.PlanTask) { x.Writes = true },
		"timeout_seconds": func(x *exitcmd.PlanTask) { x.TimeoutSeconds = &seconds },
	}
	fits := map[string]string{"command": "exec", "skill": "skill", "args": "skill", "secrets": "skill", "writes": "code exec skill", "timeout_seconds": "exec skill"}
	for key, set := range keys {
		for _, kind := range []string{"code", "exec", "msg", "skill"} {
			x := itemOf("a", func(x *exitcmd.PlanTask) { x.Kind = kind })
			if kind == "skill" {
				x.Skill, x.Args, x.Secrets = "writer", map[string]any{"text": "a"}, []string{"token"}
			}
			set(&x)
			if key == "skill" && kind == "skill" {
				x.Args, x.Secrets = nil, nil
			}
			_, err := apply(rules(), boardOf(), planOf(x))
			want := fmt.Sprintf("tasks[0].%s: goes with kind %s only, not with %s", key, strings.ReplaceAll(strings.TrimPrefix(fits[key], "code "), " ", " or "), kind)
			switch told := err != nil && strings.Contains(err.Error(), want); {
			case strings.Contains(fits[key], kind) && err != nil:
				t.Errorf("%s with kind %s: %v, want it accepted", key, kind, err)
			case !strings.Contains(fits[key], kind) && !told:
				t.Errorf("%s with kind %s: %v, want %q", key, kind, err, want)
			}
		}
	}
}

func TestATimeLimitIsOneSecondToAnHour(t *testing.T) {
	t.Parallel()
	for seconds, good := range map[int]bool{-1: false, 0: false, 1: true, 2: true, 3600: true, 3601: false} {
		s := boardOf()
		_, err := apply(rules(), s, planOf(exitcmd.PlanTask{ID: "a", Kind: "exec", Detail: "make docs", TimeoutSeconds: &seconds}))
		if !good {
			wantProblem(t, fmt.Sprint(seconds, " s"), err, fmt.Sprintf("tasks[0].timeout_seconds: %d must be 1 to 3600", seconds))
		} else if err != nil || s.Task("a").TimeoutSeconds != seconds {
			t.Errorf("%d s: %v, want it accepted and kept", seconds, err)
		}
	}
}

// What each kind of task says of itself when the plan leaves it out.
func TestATaskOfAnotherKindIsFilledInForEveryReader(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		x    exitcmd.PlanTask
		want blackboard.Task
	}{
		{"a command", exitcmd.PlanTask{Kind: "exec", Detail: "make docs"},
			blackboard.Task{Command: "make docs", Description: "make docs", DoneWhen: "exit code 0", Scope: "no code changes", SpecRef: "specs/vision.md"}},
		{"a command beside words", exitcmd.PlanTask{Kind: "exec", Detail: "Write the manual", Command: "make docs"},
			blackboard.Task{Command: "make docs", Description: "Write the manual", DoneWhen: "exit code 0", Scope: "no code changes", SpecRef: "specs/vision.md"}},
		{"a message", exitcmd.PlanTask{Kind: "msg", Detail: "Half is done", SpecRef: "specs/other.md"},
			blackboard.Task{Description: "Half is done", DoneWhen: "message delivered", Scope: "no code changes", SpecRef: "specs/other.md"}},
		{"a skill that reads", exitcmd.PlanTask{Kind: "skill", Skill: "reader"},
			blackboard.Task{Skill: "reader", Description: "skill reader with {}", DoneWhen: "exit code 0", Scope: "no code changes", SpecRef: "specs/vision.md"}},
		{"a skill that writes", exitcmd.PlanTask{Kind: "skill", Skill: "writer", Args: map[string]any{"text": "hello"}, Expect: "the file a.txt says hello"},
			blackboard.Task{Skill: "writer", Description: `skill writer with {"text":"hello","times":2}`, DoneWhen: "the file a.txt says hello", Scope: "IN: what the skill writer changes with these arguments",
				SpecRef: "specs/vision.md", Writes: true, ReviewRequired: true, TimeoutSeconds: 90, Secrets: blackboard.List{"token"}}},
		{"a command that writes", exitcmd.PlanTask{Kind: "exec", Detail: "make docs", Writes: true, Expect: "docs/a.md says hello", Scope: "IN: docs"},
			blackboard.Task{Command: "make docs", Description: "make docs", DoneWhen: "docs/a.md says hello", Scope: "IN: docs", SpecRef: "specs/vision.md", Writes: true, ReviewRequired: true}},
		{"code, in Kiso's form", exitcmd.PlanTask{Type: "code", Detail: "Print a word", DoneWhen: "greet prints hello", Scope: "IN: a.go", SpecRef: "specs/vision.md", Writes: true},
			blackboard.Task{Description: "Print a word", DoneWhen: "greet prints hello", Scope: "IN: a.go", SpecRef: "specs/vision.md"}},
	} {
		s := boardOf()
		c.x.ID = "a"
		if _, err := apply(rules(), s, planOf(c.x)); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		form := func(t *blackboard.Task) string {
			return fmt.Sprintf("command %q skill %q text %q done %q scope %q spec %q writes %t reviewed %t timeout %d secrets %v", t.Command, t.Skill, t.Description, t.DoneWhen, t.Scope, t.SpecRef, t.Writes,
				t.ReviewRequired, t.TimeoutSeconds, t.Secrets)
		}
		if got, want := form(s.Task("a")), form(&c.want); got != want {
			t.Errorf("%s:\n%s, want\n%s", c.name, got, want)
		}
		if p := s.Task("a").Priority; p == nil || *p != 1 {
			t.Errorf("%s has priority %v, want 1", c.name, p)
		}
	}
}

func TestASkillIsUsedAsItsManifestSays(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		x    exitcmd.PlanTask
		want string
	}{
		"none named":                        {exitcmd.PlanTask{}, "tasks[0].skill: is missing"},
		"one that is not there":             {exitcmd.PlanTask{Skill: "painter"}, "tasks[0].skill: "},
		"a missing argument":                {exitcmd.PlanTask{Skill: "writer"}, "tasks[0].args: "},
		"an unknown argument":               {exitcmd.PlanTask{Skill: "reader", Args: map[string]any{"txt": "a"}}, "tasks[0].args: "},
		"an argument of another type":       {exitcmd.PlanTask{Skill: "writer", Args: map[string]any{"text": 7}}, "tasks[0].args: "},
		"a secret that it does not declare": {exitcmd.PlanTask{Skill: "writer", Args: map[string]any{"text": "a"}, Secrets: []string{"key"}}, "tasks[0].secrets: the skill writer does not declare 'key'"},
		"no review of what it writes":       {exitcmd.PlanTask{Skill: "writer", Args: map[string]any{"text": "a"}, Review: new(bool)}, "tasks[0].review: what changes files is always reviewed"},
		"no criterion for the reviewer":     {exitcmd.PlanTask{Skill: "writer", Args: map[string]any{"text": "a"}}, "tasks[0].expect: is required for what is reviewed"},
	} {
		c.x.ID, c.x.Kind = "a", "skill"
		_, err := apply(rules(), boardOf(), planOf(c.x))
		wantProblem(t, name, err, c.want)
	}
}

// Whether a reviewer judges a result: always what changes files; anything else when the plan asks for it.
func TestWhatIsReviewed(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	for _, c := range []struct {
		kind   string
		writes bool
		review *bool
		want   bool
		fails  string
	}{
		{"code", false, nil, false, ""}, {"code", false, &yes, false, ""}, {"code", false, &no, false, "review: what changes files is always reviewed"},
		{"exec", false, nil, false, ""}, {"exec", false, &yes, true, ""}, {"exec", false, &no, false, ""},
		{"exec", true, nil, true, ""}, {"exec", true, &yes, true, ""}, {"exec", true, &no, false, "review: what changes files is always reviewed"},
		{"msg", false, nil, false, ""}, {"msg", false, &yes, true, ""}, {"msg", false, &no, false, ""},
	} {
		s := boardOf()
		_, err := apply(rules(), s, planOf(itemOf("a", func(x *exitcmd.PlanTask) { x.Kind, x.Writes, x.Review = c.kind, c.writes, c.review })))
		switch {
		case c.fails != "":
			wantProblem(t, fmt.Sprintf("%+v", c), err, "tasks[0]."+c.fails)
		case err != nil || s.Task("a").ReviewRequired != c.want:
			t.Errorf("%+v: %v, want review_required %t", c, err, c.want)
		}
	}
}

// A user's limits stay below the project's; an admin's may be anything that is a number of 0 or more.
func TestTheLimitsOfATask(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		role, key string
		value     int
		want      string
	}{
		{"admin", "max_iterations", 10, ""}, {"admin", "max_iterations", 99, ""}, {"admin", "max_iterations", -1, "limits: max_iterations: -1 must be 0 or more"},
		{"user", "max_iterations", 9, ""}, {"user", "max_iterations", 10, ""}, {"user", "max_iterations", 11, "limits: max_iterations: 11 is above the project's 10; that takes the role admin, and ada is user"},
		{"user", "max_iterations", 0, "limits: max_iterations: 0 is above the project's 10"},
		{"admin", "max_iterations", 0, ""},
		{"user", "max_coder_iterations", 1, "limits: 'max_coder_iterations' is unknown; there are: max_iterations, max_review_cycles, max_agent_runs"},
		{"user", "cost_cents", 100, ""}, {"user", "cost_cents", -1, "limits: cost_cents: -1 must be 0 or more"},
	} {
		r, s := rules(), boardOf()
		r.Caller.Role = c.role
		_, err := apply(r, s, planOf(itemOf("a", func(x *exitcmd.PlanTask) { x.Limits = map[string]int{c.key: c.value} })))
		if c.want != "" {
			wantProblem(t, fmt.Sprint(c), err, "tasks[0]."+c.want)
		} else if err != nil {
			t.Errorf("%+v: %v, want it accepted", c, err)
		}
	}
	s := boardOf()
	if _, err := apply(rules(), s, planOf(itemOf("a", func(x *exitcmd.PlanTask) {
		x.Limits = map[string]int{"max_iterations": 3, "max_review_cycles": 4, "cost_cents": 500, "tokens": 9}
	}))); err != nil {
		t.Fatal(err)
	}
	if a := s.Task("a"); a.MaxIterations != 3 || a.MaxReviewCycles != 4 || fmt.Sprint(a.Limits) != "map[cost_cents:500 tokens:9]" {
		t.Errorf("the limits are %d, %d and %v; want 3, 4 and the others beside", a.MaxIterations, a.MaxReviewCycles, a.Limits)
	}
}

func TestAUserHasTheKindsThatThePolicyNames(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		role, kind string
		may        bool
	}{{"user", "code", true}, {"user", "msg", true}, {"user", "exec", false}, {"user", "skill", false}, {"admin", "exec", true}, {"admin", "skill", true}, {"", "exec", true}} {
		if got := MayUse(config.Default(), blackboard.Caller{Role: c.role}, blackboard.TaskKind(c.kind)); got != c.may {
			t.Errorf("a caller of role %q has tasks of kind %s: %t, want %t", c.role, c.kind, got, c.may)
		}
	}
	r := rules()
	r.Caller.Role = "user"
	_, err := apply(r, boardOf(), planOf(exitcmd.PlanTask{ID: "a", Kind: "exec", Detail: "make docs"}))
	wantProblem(t, "a user's command", err, "tasks[0].kind: ada, whose role is user, may have code, msg only, not exec (policy.user_kinds)")
}

func TestADeniedCommandIsRefusedBeforeItIsATask(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]exitcmd.PlanTask{"as command": {ID: "a", Kind: "exec", Detail: "Tidy", Command: "rm -rf out"}, "as its text": {ID: "a", Kind: "exec", Detail: "rm -rf out"}} {
		_, err := apply(rules(), boardOf(), planOf(x))
		wantProblem(t, name, err, "tasks[0].command: denied: `rm -rf out` removes files")
	}
	if _, err := apply(rules(), boardOf(), planOf(itemOf("a", func(x *exitcmd.PlanTask) { x.Detail = "rm -rf is named in the manual" }))); err != nil {
		t.Errorf("the words of a code task are looked at as a command: %v", err)
	}
}

// A single task that a person adds keeps to the same rules; its refusal leads to its own manual and names no place in a plan.
func TestASingleNewTaskKeepsToTheRulesOfItsKind(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		task blackboard.Task
		want string
	}{
		{"code", blackboard.Task{Description: "Print a word"}, ""},
		{"a command", blackboard.Task{Kind: "exec", Command: "make docs"}, ""},
		{"a denied command", blackboard.Task{Kind: "exec", Command: "rm -rf out"}, "command: denied: `rm -rf out` removes files; say it without this command, or let a person allow it in policy.allow of .liza/config.yaml"},
		{"a denied text", blackboard.Task{Kind: "exec", Description: "rm -rf out"}, "command: denied: `rm -rf out`"},
		{"a skill without its argument", blackboard.Task{Kind: "skill", Skill: "writer"}, "args: "},
		{"a command on code", blackboard.Task{Command: "make"}, "command: goes with kind exec only, not with code"},
		{"a long title", blackboard.Task{Title: strings.Repeat("a", 121)}, "title: has 121 bytes; 120 is the limit"},
		{"two things", blackboard.Task{Kind: "msg", Command: "make", Title: strings.Repeat("a", 121)}, "command: goes with kind exec only, not with msg; title: has 121 bytes"},
	} {
		c.task.ID = "a"
		err := rules().TaskProblem(boardOf(), &c.task)
		var r *transition.Refusal
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v, want nothing", c.name, err)
		case c.want != "" && (!errors.As(err, &r) || r.Exit != transition.ExitUsage || r.Next != "liza help add-task" || !strings.HasPrefix(r.Message, c.want)):
			t.Errorf("%s: %v, want exit 2, liza help add-task and %q", c.name, err, c.want)
		}
	}
}

// The names of secrets are kept on the board, once each; their values are not.
func TestTheBoardKeepsTheNamesOfSecretsOnly(t *testing.T) {
	t.Parallel()
	s, p := boardOf(), planOf(itemOf("a"))
	s.Secrets = blackboard.List{"token"}
	p.Secrets = map[string]string{"token": "value-1", "key": "value-2"}
	if _, err := apply(rules(), s, p); err != nil || strings.Join(s.Secrets, " ") != "token key" {
		t.Errorf("%v: the board knows %v, want token and key", err, s.Secrets)
	}
	if text := fmt.Sprintf("%+v", *s.Plans[0]); strings.Contains(text, "value-") {
		t.Errorf("the record has the value of a secret: %s", text)
	}
}
