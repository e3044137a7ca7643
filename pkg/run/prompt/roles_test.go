package prompt

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"liza/pkg/board/blackboard"
	"liza/pkg/run/role"
)

// coven is the example of the Coven document, byte for byte: it replaces the built-in role implement.
const coven = `name: implement
description: "Implement new features or functionality"
applicable_task_types: [feature, task]

prompt_template: |
  You are implementing a feature in a software project.

  ## Task
  {{.Title}}

  {{if .Description}}
  ## Description
  {{.Description}}
  {{end}}

  {{if .AcceptanceCriteria}}
  ## Acceptance Criteria
  {{range .AcceptanceCriteria}}
  - {{.}}
  {{end}}
  {{end}}

  ## Repository Context
  {{.RepoContext}}

  ## Guidelines
  - Write clean, maintainable code
  - Include unit tests for new functionality
  - Follow existing patterns in the codebase

  {{if .CustomInstructions}}
  ## Project-Specific Instructions
  {{.CustomInstructions}}
  {{end}}

context_requirements:
  - repo_structure
  - relevant_files
  - related_tasks
`

// C-07: all data is in the prompt, and without data there is no empty heading.
func TestTheExampleOfCovenWorksAsItStands(t *testing.T) {
	t.Parallel()
	in := coder()
	in.Role = roleIn(t, "implement", coven)
	text := build(t, in).Text
	wants(t, text, "You are implementing a feature", "Greet by name", "With --name X the CLI prints", "hello --name '' exits 2", "cli.py", "Python 3.8 is the oldest", "## Relevant files", "tests/test_cli.py", "## Related tasks")
	refuses(t, text, "<no value>", "## Project instructions", "## Repository\n", "## Known facts", "## Who else is at work")
	if n := strings.Count(text, "With --name X the CLI prints"); n != 1 {
		t.Errorf("the description is there %d times", n)
	}
	bare := Input{Kind: Coder, Role: in.Role, State: &blackboard.State{}, Task: &blackboard.Task{ID: "task-1"}, Agent: "coder-1"}
	text = build(t, bare).Text
	refuses(t, text, "<no value>", "## Description", "## Acceptance Criteria", "## Project-Specific", "## Relevant files", "## Related tasks")
}

// C-06: the text of the base, then the additions; an own list of context replaces the base's.
func TestAdditionsComeAfterTheTextOfTheBase(t *testing.T) {
	t.Parallel()
	in := coder()
	in.Role = roleOf(t, "name: own\nbase: fix\nprompt_additions: |\n  Ask {{.AgentID}} about {{.Type}} tasks.\ncontext_requirements: [related_tasks]\n")
	text := build(t, in).Text
	at := -1
	for _, part := range []string{"You are a coder.", "This task is a bug.", "Ask coder-1 about feature tasks.", "## Rules"} {
		i := strings.Index(text, part)
		if i <= at {
			t.Errorf("%q is at %d, behind %d", part, i, at)
		}
		at = i
	}
	wants(t, text, "## Related tasks")
	refuses(t, text, "## Repository", "## Relevant files")
}

// N-10: a template that prints the description gets no second one; one that only pretends
// to does not remove it.
func TestTheDescriptionStandsOnce(t *testing.T) {
	t.Parallel()
	for name, template := range map[string]string{"printed": "Do: {{.Description}}", "not printed": "{{if false}}{{.Description}}{{end}}Do it.", "shortened": "{{trunc 10 .Description}}"} {
		in := coder()
		in.Role = roleOf(t, fmt.Sprintf("name: own\ndescription: d\nprompt_template: %q\n", template))
		text := build(t, in).Text
		if n := strings.Count(text, "With --name X the CLI prints \"Hello, X!\"."); n != 1 {
			t.Errorf("%s: the description is there %d times", name, n)
		}
		wants(t, text, "task-3 (feature, kind code)", "Scope: IN: flag parsing", "## Done when")
	}
}

// N-11: no template can remove what the supervisor always adds.
func TestAnEmptyTemplateLeavesTheContractAndTheTask(t *testing.T) {
	t.Parallel()
	in := coder()
	in.Role = roleOf(t, "name: own\ndescription: d\nprompt_template: \"\"\n")
	text := build(t, in).Text
	wants(t, text, "## Rules", "## Commands", "## How to finish", "## Task", "With --name X the CLI prints", "## Done when", "hello --name Bob prints", "hello --name '' exits 2", "Scope: IN:", "## This run",
		"You are coder-1.", `{"request":`, closing)
}

// C-09: the first attempt has no word about earlier ones; after a rejection reason and
// summary are told.
func TestEarlierAttemptsAreTold(t *testing.T) {
	t.Parallel()
	refuses(t, build(t, coder()).Text, "## Earlier attempts", "## Prior rejection")
	wants(t, build(t, rejectedCoder()).Text, "## Earlier attempts", "Added the flag and its tests.", "hello/cli.py:1 needs Python 3.10; the spec wants 3.8.")
}

// C-10: two tasks in work name each other, not themselves, and not what is merged.
func TestTasksInWorkNameEachOther(t *testing.T) {
	t.Parallel()
	part := func(id string) string {
		in := coder()
		in.Task = in.State.Task(id)
		in.Changed = map[string][]string{"task-3": {"unused.py"}}
		_, rest, _ := strings.Cut(build(t, in).Text, "## Who else is at work\n")
		text, _, _ := strings.Cut(rest, "\n## ")
		return text
	}
	wants(t, part("task-3"), "task-2 (CLAIMED, coder-2) Read names from a file; files: hello/names.py")
	refuses(t, part("task-3"), "task-3", "task-1")
	wants(t, part("task-2"), "task-3 (CLAIMED, coder-1) Greet by name; files: hello/cli.py, tests/**")
	refuses(t, part("task-2"), "task-2", "task-1", "unused.py")
}

// C-11: huge texts of the project do not push out what counts.
func TestHugeTextsOfTheProjectLeaveRoomForTheTask(t *testing.T) {
	t.Parallel()
	for _, taskType := range []string{"feature", "bug", "refactor", "test"} {
		in := coder()
		in.Task.Type = taskType
		tracked := []string{"README.md", "hello/cli.py"}
		in.RepoTree = Tree(tracked, strings.Repeat("readme ", 100000))
		in.Instructions = strings.Repeat("instruction ", 100000)
		in.MaxChars = 8000
		p := build(t, in)
		if len(p.Text) > 8000 || p.Over {
			t.Errorf("%s: %d bytes, over %t", taskType, len(p.Text), p.Over)
		}
		wants(t, p.Text, "bytes left out: .liza/instructions.md]", "With --name X the CLI prints", "hello --name Bob prints", "hello --name '' exits 2", in.finish(), closing)
	}
}

// N-12: what is first is the same for every task of a role in a sprint.
func TestTheBeginningIsTheSameForAllTasksOfASprint(t *testing.T) {
	t.Parallel()
	var prompts []string
	for _, id := range []string{"task-2", "task-3", "task-4"} {
		in := coder()
		in.State.Task("task-4").Type, in.State.Task("task-2").Type = "feature", "task"
		in.Task = in.State.Task(id)
		in.Agent, in.Worktree, in.Relevant = "coder-"+id, "/elsewhere/"+id, []File{{id, "x"}}
		prompts = append(prompts, build(t, in).Text)
	}
	n := len(prompts[0])
	for _, p := range prompts[1:] {
		i := 0
		for i < min(n, len(p)) && p[i] == prompts[0][i] {
			i++
		}
		n = i
	}
	wants(t, prompts[0][:n], "## Rules", "## Commands", "## How to finish", "## Project instructions", "## Goal", "## Known facts", "## Repository", "\n## Task\n")
	if n < 5<<10 {
		t.Errorf("only the first %d bytes are the same", n)
	}
}

// The limits of prompts: no prompt of the example project above 30 kB, no rules of a
// role above 8 kB.
func TestSizesOfPromptsAndRules(t *testing.T) {
	t.Parallel()
	for _, e := range role.Builtin().Entries() {
		in := withRole(flood(coder()))
		switch e.Role.Kind {
		case Reviewer:
			in = flood(secondReview())
		case Planner:
			in = flood(replanned())
		case Messenger:
			in = flood(messenger())
		case Summarizer:
			in = flood(summarizing())
		}
		in.Role, in.MaxChars = e.Role, 0
		p := build(t, in)
		if len(p.Text) > 30000 {
			t.Errorf("%s: the prompt has %d bytes", e.Name, len(p.Text))
		}
		own, err := e.Role.Render(in.data())
		if err != nil {
			t.Fatal(err)
		}
		if n := len(own) + len(in.rules()); n > 8000 {
			t.Errorf("%s: role and rules have %d bytes", e.Name, n)
		} else {
			t.Logf("%-10s role and rules %5d bytes, flooded prompt %5d bytes", e.Name, n, len(p.Text))
		}
	}
}

// Facts that do not fit: those that were used least recently are left out, the rest stays
// in order.
func TestTheLeastRecentlyUsedFactsAreLeftOut(t *testing.T) {
	t.Parallel()
	in := coder()
	in.State.Facts = nil
	for i := range 20 {
		in.State.Facts = append(in.State.Facts, &blackboard.Fact{ID: fmt.Sprintf("fact-%d", i), Status: "active", LastUsed: at(i % 7), Content: fmt.Sprintf("fact number %02d %s", i, strings.Repeat("x", 270))})
	}
	_, rest, _ := strings.Cut(build(t, in).Text, "## Known facts\n")
	text, _, _ := strings.Cut(rest, "\n## ")
	var kept []int
	for i := range 20 {
		if strings.Contains(text, fmt.Sprintf("fact number %02d ", i)) {
			kept = append(kept, i)
		}
	}
	if !slices.Equal(kept, []int{3, 4, 5, 6, 10, 11, 12, 13, 18, 19}) && !slices.Equal(kept, []int{4, 5, 6, 11, 12, 13, 18, 19, 3, 10}) {
		t.Errorf("kept %v", kept)
	}
	wants(t, text, "bytes left out: $LIZA_BIN facts]")
	if len(text) > 3010 {
		t.Errorf("%d bytes", len(text))
	}
}

func TestAPromptNamesItsSectionsAndFiles(t *testing.T) {
	t.Parallel()
	in := reviewer()
	in.MaxChars = 8000
	in = flood(in)
	p := build(t, in)
	sum := len(closing) + 1
	for _, s := range p.Sections {
		sum += s.Bytes
		if s.From == "" {
			t.Errorf("nobody knows where %s comes from", s.Name)
		}
	}
	if sum != len(p.Text) {
		t.Errorf("the sections have %d bytes, the prompt has %d", sum, len(p.Text))
	}
	if !slices.Equal(p.Files, []string{"specs/vision.md", "hello/cli.py", "tests/test_name.py"}) {
		t.Errorf("files %q", p.Files)
	}
	if p.Sections[0].From != "built-in:review" {
		t.Errorf("the role comes from %q", p.Sections[0].From)
	}
}

func TestATemplateThatFailsAtWorkIsTold(t *testing.T) {
	t.Parallel()
	in := coder()
	in.Task.Type = "odd"
	in.Role = roleOf(t, "name: own\ndescription: d\nprompt_template: |\n  {{if eq .Type \"odd\"}}{{index .DependsOn 99}}{{end}}\n")
	if _, err := Build(in); err == nil || !strings.Contains(err.Error(), "cannot use the role 'own'") {
		t.Errorf("got %v", err)
	}
}
