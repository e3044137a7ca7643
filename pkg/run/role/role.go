// Package role reads role files and resolves the role of a run (specs/roles-and-knowledge.md#1, specs/decisions.md#D8).
//
// A role is a named prompt profile of one kind of agent: who the agent is, how it works, which context it gets, which model
// and program it runs on. Built-in roles are embedded; files of the project (.liza/roles/) replace or extend them.
//
//	l := role.Load(".liza/roles")
//	used, err := l.Resolve(role.Coder, task, settings) // *UnusableError
//	text, err := used.Role.Render(data)
//
// Load never fails: a problem of a file makes the roles of that file unusable, is among the Findings, and is the error of
// every request for such a role. A broken role is never replaced by another one.
//
// Matrix has the pieces of context for each kind of agent (2.4); package prompt gathers by it, and the templates of roles are
// checked against it. A template is data of the project: it reads no file, no environment and no clock, its loops and its
// output are bounded, and it is executed twice on sample data before its use (1.5).
package role

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"liza/pkg/board/blackboard"
)

// The sources of a role.
const (
	FromBuiltin  = "built-in"
	FromProject  = "project"
	FromReplaced = "project (replaces built-in)"
	FromExtended = "project (extends built-in)"
)

// Default as a model means that of the settings, else the program's own.
const Default = "default"

// Role is an effective role, with its inherited values.
type Role struct {
	Name         string
	Description  string
	Instructions string
	Model        string // llm_model: a model, ADAPTER:MODEL, or Default
	Kind         Kind
	Base         string
	Types        []string // applicable_task_types
	Template     string   // prompt_template
	Additions    []string // prompt_additions, those of the base first
	Context      []Piece  // context_requirements; see Wants
	CLI          string

	Source  string            // FromBuiltin …
	File    string            // file of the project, as named for people; "" for a built-in role
	Hash    string            // first 12 hex digits of SHA-256 over the effective role
	Origins map[string]Origin // origin of the value of each key

	chosen    bool // context_requirements were given
	templates []*compiled
}

// Origin is the file and line of a value; the zero Origin is a default.
type Origin struct {
	File string
	Line int
}

func (o Origin) String() string {
	switch {
	case o.File == "":
		return "default"
	case o.Line == 0:
		return o.File
	}
	return fmt.Sprintf("%s:%d", o.File, o.Line)
}

// DefaultTemplate is the default prompt_template.
const DefaultTemplate = "{{.Instructions}}"

// Wants reports whether a run of this role gathers an optional piece.
func (r *Role) Wants(p Piece) bool { return !r.chosen || slices.Contains(r.Context, p) }

// Uses reports whether the template or an addition names the field.
func (r *Role) Uses(field string) bool {
	for _, c := range r.templates {
		if slices.ContainsFunc(c.uses(), func(u use) bool { return u.name == field }) {
			return true
		}
	}
	return false
}

// Prints reports whether the template or an addition names a field of the piece.
func (r *Role) Prints(p Piece) bool {
	return p != "" && slices.ContainsFunc(Fields, func(f Field) bool { return f.Piece == p && r.Uses(f.Name) })
}

// Stable reports whether the role's text is the same for every task.
func (r *Role) Stable() bool {
	return !slices.ContainsFunc(Fields, func(f Field) bool {
		return f.Piece != "" && f.Piece != "custom_instructions" && f.Piece != "skills" && r.Uses(f.Name)
	})
}

// Render returns the role's text for a run. data has the fields of the kind (Fields); it may omit those of the role itself.
func (r *Role) Render(data map[string]any) (string, error) {
	return r.render(data, maxRender)
}

func (r *Role) render(data map[string]any, most int) (string, error) {
	all := map[string]any{"Instructions": strings.TrimSpace(r.Instructions), "RoleName": r.Name, "Kind": string(r.Kind)}
	for k, v := range data {
		if _, own := all[k]; !own {
			all[k] = v
		}
	}
	var parts []string
	for i, c := range r.templates {
		text, err := c.render(all, most)
		if err != nil {
			key := "prompt_template"
			if i > 0 {
				key = "prompt_additions"
			}
			return "", &UnusableError{Name: r.Name, File: r.File, Why: fmt.Sprintf("%s: %v", key, err)}
		}
		if text = strings.TrimSpace(text); text != "" {
			parts = append(parts, text)
		}
		most -= len(text)
	}
	return strings.Join(parts, "\n\n"), nil
}

// canonical has the hashed fields.
type canonical struct {
	Name         string   `json:"name"`
	Description  string   `json:"description"`
	Instructions string   `json:"instructions"`
	Model        string   `json:"llm_model"`
	Kind         Kind     `json:"kind"`
	Types        []string `json:"applicable_task_types"`
	Template     string   `json:"prompt_template"`
	Additions    []string `json:"prompt_additions"`
	Context      []Piece  `json:"context_requirements"` // null: all that the matrix allows
	CLI          string   `json:"cli"`
}

func (r *Role) hash() string {
	c := canonical{r.Name, r.Description, r.Instructions, r.Model, r.Kind, r.Types, r.Template, r.Additions, nil, r.CLI}
	if r.chosen {
		c.Context = append([]Piece{}, r.Context...)
	}
	data, err := json.Marshal(c)
	if err != nil {
		panic("role: " + err.Error()) // strings and lists always encode
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:6])
}

// UnusableError is returned for a role that cannot be used. Rule is the rule of 1.7 that named it, or "" for a role requested
// by name.
type UnusableError struct {
	Name, Rule, File, Why string
}

func (e *UnusableError) Error() string {
	text := fmt.Sprintf("cannot use the role '%s'", e.Name)
	if e.Rule != "" {
		text += fmt.Sprintf(" (%s)", e.Rule)
	}
	if e.File != "" {
		text += " of " + e.File
	}
	return text + ": " + e.Why
}

// trial renders the role on sample data: every field filled, and every one that can be
// empty empty (1.5).
func (r *Role) trial() (key, problem string) {
	for _, full := range []bool{true, false} {
		if _, err := r.render(samples(r.Kind, full), maxTrial); err != nil {
			with := "all data"
			if !full {
				with = "no data"
			}
			key, why, _ := strings.Cut(err.(*UnusableError).Why, ": ")
			return key, fmt.Sprintf("cannot be rendered with %s: %s", with, why)
		}
	}
	return "", ""
}

// Settings has the configuration of roles, models and programs.
type Settings struct {
	Default     string            // roles.default
	TypeMapping map[string]string // roles.type_mapping
	ByKind      map[string]string // roles.by_kind
	Models      map[string]string // models
	Program     string            // agents.default
}

// Resolved is the role of a run, and the rule that chose it: override, type, default or kind; option for a role that a person
// named for one rendering.
type Resolved struct {
	Role *Role
	Rule string
}

// Record returns the board's record of it.
func (r Resolved) Record() *blackboard.ResolvedRole {
	return &blackboard.ResolvedRole{Name: r.Role.Name, Rule: r.Rule, Hash: r.Role.Hash}
}

// Resolve returns the role of a run (specs/roles-and-knowledge.md#1.7). The error is an *UnusableError: a role that is
// unknown, unusable or of another kind is refused, not replaced.
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

// Use returns the role of that name for a run of that kind.
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

// Program returns the agent program and the model of a run (1.7). cli and model are the options of the command line, or "";
// isProgram distinguishes names of programs from the first part of a model's name.
func (l *Library) Program(r *Role, t *blackboard.Task, s Settings, cli, model string, isProgram func(string) bool) (program, id string) {
	id = model
	if id == "" {
		id = l.modelRole(r, t).model(s)
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

// modelRole is the role whose model a run gets: its own, or that which the task names.
func (l *Library) modelRole(r *Role, t *blackboard.Task) *Role {
	if t != nil && t.ModelRole != "" {
		if other, err := l.Get(t.ModelRole); err == nil { // a plan with another one was refused
			return other
		}
	}
	return r
}

// ModelSetting returns the entry of the setting models from which Program takes the model of a run; "" when none has it.
func (l *Library) ModelSetting(r *Role, t *blackboard.Task, s Settings) string {
	return l.modelRole(r, t).modelSetting(s)
}

// model returns the role's model; for Default that of the settings for the role, for its kind, or for all, or "": then the
// program chooses.
func (r *Role) model(s Settings) string {
	if r.Model != Default {
		return r.Model
	}
	return s.Models[r.modelSetting(s)]
}

func (r *Role) modelSetting(s Settings) string {
	if r.Model != Default {
		return ""
	}
	names := []string{r.Name}
	for _, a := range aliases { // settings may name a role by its alias
		if a.role == r.Name && !Kind(a.name).Known() {
			names = append(names, a.name)
		}
	}
	for _, name := range append(names, string(r.Kind), "default") {
		if s.Models[name] != "" {
			return name
		}
	}
	return ""
}

// Contradictions returns findings about mappings of a type of task to a role for other types, or to an unusable one.
func (l *Library) Contradictions(s Settings) []Diagnostic {
	var list []Diagnostic
	warn := func(level Level, name, key, format string, args ...any) {
		list = append(list, Diagnostic{Level: level, File: "configuration", Role: name, Key: key, Reason: fmt.Sprintf(format, args...)})
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

// YAML returns the effective role as a role file. With origins a comment on each key names the origin of its value.
func (r *Role) YAML(origins bool) string {
	root := &yaml.Node{Kind: yaml.MappingNode}
	add := func(key string, value *yaml.Node) {
		name := &yaml.Node{Kind: yaml.ScalarNode, Value: key}
		if origins {
			name.HeadComment = r.Origins[key].String()
		}
		root.Content = append(root.Content, name, value)
	}
	text := func(key, value string) {
		if value == "" {
			return
		}
		n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value}
		if strings.Contains(value, "\n") {
			n.Style = yaml.LiteralStyle
		}
		add(key, n)
	}
	text("name", r.Name)
	text("description", r.Description)
	text("kind", string(r.Kind))
	if r.Types != nil {
		add("applicable_task_types", flow(r.Types))
	}
	text("llm_model", r.Model)
	text("cli", r.CLI)
	text("instructions", r.Instructions)
	if r.Template != DefaultTemplate {
		text("prompt_template", r.Template)
	}
	text("prompt_additions", strings.Join(r.Additions, "\n"))
	if r.chosen {
		var names []string
		for _, p := range r.Context {
			names = append(names, string(p))
		}
		add("context_requirements", flow(names))
	}
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(root); err != nil {
		panic("role: " + err.Error()) // texts and lists always encode
	}
	return b.String()
}

func flow(list []string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
	for _, s := range list {
		n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s})
	}
	return n
}
