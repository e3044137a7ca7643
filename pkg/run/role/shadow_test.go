package role

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// replacing is a role file that takes the place of a built-in role, with a template of its own.
const replacing = `name: implement
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

  {{if .CustomInstructions}}
  ## Project-Specific Instructions
  {{.CustomInstructions}}
  {{end}}

context_requirements:
  - repo_structure
  - relevant_files
  - related_tasks
`

func loadOne(t *testing.T, name, text string) *Library {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return Load(dir)
}

func TestARoleThatReplacesABuiltInOneLeavesTheOthersAlone(t *testing.T) {
	t.Parallel()
	l := loadOne(t, "implement.yaml", replacing)
	if l.Failed() {
		t.Errorf("findings: %v", l.Findings())
	}
	for _, name := range []string{"fix", "refactor", "test"} {
		got, err := l.Get(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		want, _ := Builtin().Get(name)
		if got.Hash != want.Hash {
			t.Errorf("%s is another role than without the project's file", name)
		}
	}
	if r, err := l.Get("implement"); err != nil || r.Source != FromReplaced {
		t.Errorf("implement: %+v, %v", r, err)
	}
}

func TestWhatAProjectAddsToARoleReachesThoseThatExtendIt(t *testing.T) {
	t.Parallel()
	l := loadOne(t, "implement.yaml", "name: implement\nbase: implement\nprompt_additions: |\n  Always wear a hat.\n")
	r, err := l.Get("fix")
	if err != nil || l.Failed() {
		t.Fatalf("%v, %v", err, l.Findings())
	}
	if text := strings.Join(r.Additions, "\n"); !strings.Contains(text, "wear a hat") || !strings.Contains(text, "This task is a bug") {
		t.Errorf("fix has the additions %q", text)
	}
}
