package plan

import (
	"strings"
	"testing"
)

// The refusal of a plan names the rule that was broken and gives an example (issue 25, 4.5).
func TestTheRefusalOfAPlanNamesTheRuleAndAnExample(t *testing.T) {
	t.Parallel()
	for problem, want := range map[string]string{
		"tasks[0].scope: is missing":                           `; scope has to be the files that the task may change, for example "scope": "greet.go, greet_test.go"`,
		"tasks[3].done_when: repeats the description":          `for example "done_when": "greet --name Ada prints`,
		"tasks: is empty; a plan has tasks or decisions":       `for example "tasks": [{"id": "greet-name"`,
		"tasks[1].depends_on: task task-9 does not exist":      `for example "depends_on": ["greet"]`,
		"decisions[0].by: is missing":                          `for example "by": ["greet-name"]`,
		"tasks[0].dependson: unknown key; nearest: depends_on": "",
	} {
		b := &planBuild{problems: []string{problem}}
		got := b.refusal().Error()
		if !strings.Contains(got, problem) || !strings.Contains(got, want) || want == "" && strings.Contains(got, "for example") {
			t.Errorf("%s: %s", problem, got)
		}
	}
}
