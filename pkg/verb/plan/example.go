package plan

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// A keyRule is what a key of a plan has to say, with an example that keeps to it.
type keyRule struct{ rule, example string }

const exampleTask = `{"id": "greet-name", "detail": "Greet by name", "done_when": "greet --name Ada prints Hello, Ada!", "scope": "greet.go, greet_test.go", "spec_ref": "specs/vision.md#names"}`

var keyRules = map[string]keyRule{
	"goal":        {"one sentence that says what the tasks are for", `"goal": "A greeting command with tests"`},
	"tasks":       {"a list of tasks", `"tasks": [` + exampleTask + `]`},
	"decisions":   {"a list of what is to become of tasks that are there", `"decisions": [{"task": "task-3", "do": "abandon", "reason": "the vision does not ask for it any more"}]`},
	"order":       {"sequential, or graph with depends_on", `"order": "graph"`},
	"id":          {"a name that no task of the board has", `"id": "greet-name"`},
	"detail":      {"what is to be done", `"detail": "Print a greeting by name"`},
	"description": {"what is to be done", `"description": "Print a greeting by name"`},
	"done_when":   {"what a reviewer can run or see when the task is done", `"done_when": "greet --name Ada prints Hello, Ada!"`},
	"expect":      {"what a reviewer can run or see when the task is done", `"expect": "greet --name Ada prints Hello, Ada!"`},
	"scope":       {"the files that the task may change", `"scope": "greet.go, greet_test.go"`},
	"spec_ref":    {"a file of the project, and a heading in it", `"spec_ref": "specs/vision.md#names"`},
	"depends_on":  {"ids of tasks of this plan or of the board", `"depends_on": ["greet"]`},
	"kind":        {"code, exec, msg or skill", `"kind": "exec"`},
	"command":     {"a command of a task of kind exec", `"kind": "exec", "command": "make docs"`},
	"limits":      {"limits of this task, as numbers", `"limits": {"cost_cents": 100}`},
	"reason":      {"why it is decided so", `"reason": "the vision does not ask for it any more"`},
	"by":          {"the tasks that take its place", `"by": ["greet-name"]`},
}

var indexed = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\[[0-9]+\]`) })

// exampleFor says what the rule of the first problem's key is, with an example, "" when the problem says it all.
func exampleFor(problems []string) string {
	for _, text := range problems {
		key, _, _ := strings.Cut(text, ": ")
		key = indexed().ReplaceAllString(key[strings.LastIndexByte(key, '.')+1:], "")
		if r, known := keyRules[key]; known {
			return fmt.Sprintf("; %s has to be %s, for example %s", key, r.rule, r.example)
		}
	}
	return ""
}
