package role

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"liza/pkg/blackboard"
)

// Settings is what the configuration says about roles, models and programs.
type Settings struct {
	Default     string            // roles.default
	TypeMapping map[string]string // roles.type_mapping
	ByKind      map[string]string // roles.by_kind
	Models      map[string]string // models
	Program     string            // agents.default
}

// Resolved is the role of a run, and the rule that chose it: override, type, default or
// kind; option for a role that a person named for one rendering.
type Resolved struct {
	Role *Role
	Rule string
}

// Record is what the board keeps of it.
func (r Resolved) Record() *blackboard.ResolvedRole {
	return &blackboard.ResolvedRole{Name: r.Role.Name, Rule: r.Rule, Hash: r.Role.Hash}
}

// Resolve finds the role of a run (specs/roles-and-knowledge.md#1.7). The error is an
// *UnusableError: a role that is unknown, unusable or of another kind is refused, and
// nothing is put in its place.
func (l *Library) Resolve(k Kind, t *blackboard.Task, s Settings) (Resolved, error) {
	name, rule := s.ByKind[string(k)], "kind"
	if k == Coder {
		name, rule = coderRole(t, s)
	}
	return l.Use(k, name, rule)
}

func coderRole(t *blackboard.Task, s Settings) (name, rule string) {
	if t != nil {
		if t.Role != "" {
			return t.Role, "override"
		}
		taskType := t.Type
		if taskType == "" {
			taskType = "task"
		}
		if name := s.TypeMapping[taskType]; name != "" {
			return name, "type"
		}
	}
	return s.Default, "default"
}

// Use is the role of that name for a run of that kind.
func (l *Library) Use(k Kind, name, rule string) (Resolved, error) {
	r, err := l.Get(name)
	if unusable, ok := err.(*UnusableError); ok {
		refused := *unusable
		refused.Rule = rule
		return Resolved{}, &refused
	}
	if r.Kind != k {
		return Resolved{}, &UnusableError{Name: name, Rule: rule, File: r.File, Why: fmt.Sprintf("it is for a %s, not for a %s", r.Kind, k)}
	}
	return Resolved{Role: r, Rule: rule}, nil
}

// Program is the agent program and the model of a run (1.7). cli and model are the options
// of the command line, "" where none was given; isProgram tells names of programs from
// the first part of a model's name.
func (l *Library) Program(r *Role, t *blackboard.Task, s Settings, cli, model string, isProgram func(string) bool) (program, id string) {
	id, whose := model, r
	if id == "" && t != nil && t.ModelRole != "" {
		if other, err := l.Get(t.ModelRole); err == nil { // a plan with another one was refused
			whose = other
		}
	}
	if id == "" {
		id = whose.model(s)
	}
	program = cmp.Or(r.CLI, s.Program, "claude")
	if prefix, rest, ok := strings.Cut(id, ":"); ok && isProgram(prefix) {
		program, id = prefix, rest
		if cli != "" && cli != prefix || id == Default {
			id = "" // another program does not know this one's models; "codex:default" leaves the choice to codex
		}
	}
	return cmp.Or(cli, program), id
}

// model is the role's model; the value Default is what the settings say for the role, for
// its kind, for all, or nothing: then the program chooses.
func (r *Role) model(s Settings) string {
	if r.Model != Default {
		return r.Model
	}
	names := []string{r.Name}
	for _, a := range aliases { // settings may name a role by its alias
		if a.role == r.Name && !Kind(a.name).Known() {
			names = append(names, a.name)
		}
	}
	for _, name := range append(names, string(r.Kind), "default") {
		if m := s.Models[name]; m != "" {
			return m
		}
	}
	return ""
}

// Contradictions are the mappings that send a type of task to a role that says it is for
// other types, and those whose role cannot be used.
func (l *Library) Contradictions(s Settings) []Finding {
	var list []Finding
	warn := func(level Level, name, key, format string, args ...any) {
		list = append(list, Finding{Level: level, File: "configuration", Role: name, Key: key, Reason: fmt.Sprintf(format, args...)})
	}
	for _, taskType := range slices.Sorted(maps.Keys(s.TypeMapping)) {
		name := s.TypeMapping[taskType]
		if name == "" {
			continue
		}
		key := "roles.type_mapping." + taskType
		used, err := l.Use(Coder, name, "type")
		if err != nil {
			warn(Error, name, key, "%s", err.(*UnusableError).Why)
			continue
		}
		if types := used.Role.Types; used.Role.File != "" && len(types) > 0 && !slices.Contains(types, taskType) {
			warn(Warning, used.Role.Name, key, "the role says that it is for %s", strings.Join(types, ", "))
		}
	}
	if _, err := l.Use(Coder, s.Default, "default"); err != nil {
		warn(Error, s.Default, "roles.default", "%s", err.(*UnusableError).Why)
	}
	for _, k := range slices.Sorted(maps.Keys(s.ByKind)) {
		if _, err := l.Use(Kind(k), s.ByKind[k], "kind"); err != nil {
			warn(Error, s.ByKind[k], "roles.by_kind."+k, "%s", err.(*UnusableError).Why)
		}
	}
	return list
}
