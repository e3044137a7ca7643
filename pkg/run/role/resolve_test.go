package role

import (
	"strings"
	"testing"

	"liza/pkg/board/blackboard"
)

// C-01: types of tasks and their roles.
func TestTypesHaveTheirRoles(t *testing.T) {
	t.Parallel()
	for taskType, want := range map[string][2]string{"bug": {"fix", "type"}, "feature": {"implement", "type"}, "task": {"implement", "type"}, "": {"implement", "type"}, "refactor": {"refactor", "type"},
		"test": {"test", "type"}, "docs": {"implement", "type"}, "config": {"implement", "type"}, "spec": {"implement", "type"}, "weird": {"implement", "default"}} {
		got, err := Builtin().Resolve(Coder, &blackboard.Task{Type: taskType}, DefaultSettings())
		if err != nil || got.Role.Name != want[0] || got.Rule != want[1] {
			t.Errorf("type %q: %v %v, want %v", taskType, got, err, want)
		}
	}
	for k, want := range map[Kind]string{Planner: "planner", Reviewer: "review", Messenger: "messenger", Summarizer: "summarizer"} {
		if got, err := Builtin().Resolve(k, &blackboard.Task{Role: "fix"}, DefaultSettings()); err != nil || got.Role.Name != want || got.Rule != "kind" {
			t.Errorf("%s: %v %v, want %s", k, got, err, want)
		}
	}
}

// C-02: the override wins; what cannot be used is refused and never replaced.
func TestAnOverrideWinsOrIsRefused(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"refactor": "refactor", "Worker": "implement", "coder": "implement"} {
		got, err := Builtin().Resolve(Coder, &blackboard.Task{Type: "bug", Role: name}, DefaultSettings())
		if err != nil || got.Role.Name != want || got.Rule != "override" {
			t.Errorf("override %q: %v %v, want %s", name, got, err, want)
		}
	}
	l := Load(folder(t, "own.yaml", "name: own\nbase: nobody\n"))
	for name, parts := range map[string][]string{"fixx": {"no such role", "did you mean fix?"}, "worker": {"it is for a messenger, not for a coder"}, "review": {"code_reviewer"},
		"own": {"own.yaml", "'nobody' does not exist"}} {
		_, err := l.Resolve(Coder, &blackboard.Task{Role: name}, DefaultSettings())
		if err == nil {
			t.Errorf("override %q is used", name)
			continue
		}
		for _, part := range append(parts, "cannot use the role '"+name+"' (override)") {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("override %q: %v, want %q", name, err, part)
			}
		}
	}
}

// C-03: the settings are honoured, aliases in them too.
func TestTheMappingIsThatOfTheSettings(t *testing.T) {
	t.Parallel()
	s := DefaultSettings()
	s.TypeMapping["bug"], s.TypeMapping["docs"], s.Default = "Worker", "", "fix"
	for taskType, want := range map[string][2]string{"bug": {"implement", "type"}, "docs": {"fix", "default"}, "weird": {"fix", "default"}} {
		if got, err := Builtin().Resolve(Coder, &blackboard.Task{Type: taskType}, s); err != nil || got.Role.Name != want[0] || got.Rule != want[1] {
			t.Errorf("type %q: %v %v, want %v", taskType, got, err, want)
		}
	}
	s.ByKind["code_reviewer"] = "fix"
	if _, err := Builtin().Resolve(Reviewer, nil, s); err == nil || !strings.Contains(err.Error(), "it is for a coder, not for a code_reviewer") {
		t.Errorf("a coder reviews: %v", err)
	}
}

func TestTheRecordHasNameRuleAndHash(t *testing.T) {
	t.Parallel()
	got, err := Builtin().Resolve(Coder, &blackboard.Task{Type: "bug"}, DefaultSettings())
	if err != nil {
		t.Fatal(err)
	}
	if r := got.Record(); r.Name != "fix" || r.Rule != "type" || r.Hash != got.Role.Hash {
		t.Errorf("%+v", r)
	}
}

// L-07: where model and program of a run come from.
func TestModelAndProgramOfARole(t *testing.T) {
	t.Parallel()
	l := Load(folder(t, "roles.yaml", `
named: {name: named, description: d, instructions: i, llm_model: m-role, cli: codex}
pair: {name: pair, description: d, instructions: i, llm_model: "gemini:m-pair", cli: codex}
slash: {name: slash, description: d, instructions: i, llm_model: "vendor:m"}
plain: {name: plain, description: d, instructions: i, llm_model: default}
`))
	is := func(name string) bool { return name == "gemini" || name == "claude" || name == "codex" }
	models := map[string]string{"default": "m-default"}
	byKind := map[string]string{"default": "m-default", "coder": "m-kind"}
	byRole := map[string]string{"default": "m-default", "coder": "m-kind", "plain": "gemini:m-own", "review": "m-review", "Worker": "m-alias"}
	for name, tt := range map[string]struct {
		role, modelRole, cli, model string
		models                      map[string]string
		program, id                 string
	}{
		"nothing is said":                   {role: "plain", program: "claude"},
		"the default":                       {role: "plain", models: models, program: "claude", id: "m-default"},
		"the kind":                          {role: "plain", models: byKind, program: "claude", id: "m-kind"},
		"the role":                          {role: "plain", models: byRole, program: "gemini", id: "m-own"},
		"an alias of the role":              {role: "implement", models: byRole, program: "claude", id: "m-alias"},
		"its own":                           {role: "named", models: byRole, program: "codex", id: "m-role"},
		"program and model":                 {role: "pair", program: "gemini", id: "m-pair"},
		"a program, and its own choice":     {role: "plain", models: map[string]string{"coder": "codex:default"}, program: "codex"},
		"a colon that is none":              {role: "slash", program: "claude", id: "vendor:m"},
		"the option wins":                   {role: "named", cli: "claude", program: "claude", id: "m-role"},
		"another program has other models":  {role: "pair", cli: "claude", program: "claude"},
		"the model of another role":         {role: "plain", modelRole: "reviewer", models: byRole, program: "claude", id: "m-review"},
		"the option for the model wins too": {role: "named", model: "m-option", program: "codex", id: "m-option"},
	} {
		s := DefaultSettings()
		s.Models = tt.models
		program, id := l.Program(get(t, l, tt.role), &blackboard.Task{ModelRole: tt.modelRole}, s, tt.cli, tt.model, is)
		if program != tt.program || id != tt.id {
			t.Errorf("%s: %s %q, want %s %q", name, program, id, tt.program, tt.id)
		}
	}
}

func TestContradictionsOfTheSettings(t *testing.T) {
	t.Parallel()
	l := Load(folder(t, "own.yaml", own+"applicable_task_types: [docs]\n"))
	s := DefaultSettings()
	s.TypeMapping["bug"], s.TypeMapping["spec"], s.ByKind["planner"], s.Default = "own", "nobody", "fix", "review"
	var said []string
	for _, f := range l.Contradictions(s) {
		said = append(said, string(f.Level)+" "+f.Key+" "+f.Reason)
	}
	for i, part := range []string{"warning roles.type_mapping.bug the role says that it is for docs", "error roles.type_mapping.spec there is no such role", "error roles.default it is for a code_reviewer",
		"error roles.by_kind.planner it is for a coder"} {
		if i >= len(said) || !strings.HasPrefix(said[i], part) {
			t.Errorf("got %q, want %q", said, part)
		}
	}
	if again := Builtin().Contradictions(DefaultSettings()); len(again) > 0 {
		t.Errorf("the built-in settings contradict the built-in roles: %v", again)
	}
}

// N-37: where each value comes from.
func TestOrigins(t *testing.T) {
	t.Parallel()
	l := Load(folder(t, "fix.yaml", "name: fix\nbase: fix\nllm_model: big\n", "own.yaml", own))
	r := get(t, l, "fix")
	shown := r.YAML(true)
	for _, part := range []string{"# .liza/roles/fix.yaml:3\nllm_model: big\n", "# built-in:implement:", "instructions: |\n  You are a coder."} {
		if !strings.Contains(shown, part) {
			t.Errorf("%q is missing in\n%s", part, shown)
		}
	}
	again := get(t, Load(folder(t, "x.yaml", r.YAML(false))), "fix")
	if again.Instructions != r.Instructions || again.Model != "big" {
		t.Error("what is shown is not a role file that says the same")
	}
}
