package transition

import (
	"strings"
	"testing"

	"liza/pkg/board/blackboard"
)

// The examples of specs/roles-and-knowledge.md#3.4, and one for each rule and mark.
func TestLintOfDoneWhen(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		text string
		bad  string // part of the reason; "" when it passes
	}{
		{"GET /users returns 200 with JSON array containing user objects", ""},
		{"429 responses trigger exponential backoff starting at 1s", ""},
		{"all tests pass, exit code 0", ""},
		{"tests pass", "is vague"},
		{"Rate limiting is handled appropriately", "is vague"},
		{"works correctly", "is vague"},
		{"login implemented", "is vague"},
		{"TBD", "is shorter than 8 characters"},

		{"  ok   ", "is shorter than 8 characters"},
		{"löschen", "is shorter than 8 characters"},
		{"Add a parser!", "repeats the description"},
		{"the Parser, of flags", "repeats the description"},
		{"to be decided later", "is not decided yet"},
		{"returns 200, TODO the rest", "is not decided yet"},
		{"prints 'a' or ???", "is not decided yet"},
		{"everything is done", "is vague (\"done\")"},
		{"the code is clean and robust", "is vague"},
		{"errors are handled gracefully", "is vague"},
		{"it supports everything", "is vague"},
		{"a user-friendly screen", "is vague (\"user-friendly\")"},
		{"the abandoned branch is gone", ""}, // no whole word
		{"handled: 3 errors", ""},
		{"the word \"handled\" appears", ""},
		{"robust as `make lint` says", ""},
		{"works as docs/api says", ""},
		{"works as in main.go", ""},
		{"POST works", ""},
		{"handled by parse_flags", ""},
		{"handled by parse()", ""},
		{"handled by pkg::parse", ""},
		{"handled by parseFlags", ""},
		{"works with --name", ""},
		{"works when a<b", ""},
		{"works and prints a greeting", ""},
		{"works and prints", "is vague"},
		{"zeigt die Liste der Nutzer", ""},
		{"用户列表按名称排序显示", ""},
	} {
		why := blackboard.LintDoneWhen(x.text, "Add a parser", "The parser of flags")
		if x.bad == "" && why != "" || x.bad != "" && !strings.Contains(why, x.bad) {
			t.Errorf("%q: %q, want %q", x.text, why, x.bad)
		}
	}
}

func TestTheGates(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		name   string
		change func(*blackboard.Task)
		want   []string // beginnings
	}{
		{"a good task", func(*blackboard.Task) {}, nil},
		{"nothing at all", func(x *blackboard.Task) { *x = blackboard.Task{ID: "x"} }, []string{"missing: description", "missing: spec_ref", "missing: done_when", "missing: scope"}},
		{"blank texts", func(x *blackboard.Task) { x.Scope, x.DoneWhen = " \n", "\t" }, []string{"missing: done_when", "missing: scope"}},
		{"a message", func(x *blackboard.Task) { x.Kind, x.Scope, x.DoneWhen = "msg", "", "message delivered" }, nil},
		{"a message without what readers of Liza v1 need", func(x *blackboard.Task) { *x = blackboard.Task{Kind: "msg", Description: "hi"} }, []string{"missing: spec_ref", "missing: done_when"}},
		{"a command that writes", func(x *blackboard.Task) { x.Kind, x.Writes, x.DoneWhen = "exec", true, "works correctly" }, []string{"done_when is vague"}},
		{"the same scope in other words", func(x *blackboard.Task) { x.Scope = strings.ToUpper(x.Description) + "!" }, []string{"scope repeats"}},
		{"tests_included: type test", func(x *blackboard.Task) { x.Type = "test" }, []string{"tests belong"}},
		{"tests_included: with a reason", func(x *blackboard.Task) { x.Type, x.LegacyTests = "test", "the code has none yet" }, nil},
		{"tests_included: add tests", func(x *blackboard.Task) { x.Title = "Add tests" }, []string{"tests belong"}},
		{"tests_included: write unit tests", func(x *blackboard.Task) { x.Title = "Write unit tests for the parser" }, []string{"tests belong"}},
		{"tests_included: create an end-to-end test", func(x *blackboard.Task) { x.Title = "Create an end-to-end test" }, []string{"tests belong"}},
		{"tests_included: docs are exempt", func(x *blackboard.Task) { x.Title, x.Type = "Write tests guide", "docs" }, nil},
		{"code with its tests", func(x *blackboard.Task) { x.Title = "Add a login with tests" }, nil},
		{"code for tests", func(x *blackboard.Task) { x.Title = "Create a helper for tests" }, nil},
		{"a test server", func(x *blackboard.Task) { x.Title = "Fix the tests" }, nil},
		{"a protest", func(x *blackboard.Task) { x.Title = "Add contests" }, nil},
		{"one word", func(x *blackboard.Task) { x.Title = "Add" }, nil},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			task := codeTask("x")
			x.change(task)
			got := task.Gates()
			if len(got) != len(x.want) {
				t.Fatalf("%q, want %q", got, x.want)
			}
			for i := range got {
				if !strings.HasPrefix(got[i].String(), x.want[i]) {
					t.Errorf("%q, want %q", got[i], x.want[i])
				}
			}
		})
	}
}
