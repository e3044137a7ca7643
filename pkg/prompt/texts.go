package prompt

import (
	"embed"
	"fmt"
	"io/fs"
	"strings"

	"liza/pkg/blackboard"
)

//go:embed roles/*.md rules/*.md commands/*.md finish/*.md
var files embed.FS

// text is the content of an embedded file; one that is missing is a programmer's error.
func text(name string) string {
	data, err := fs.ReadFile(files, name)
	if err != nil {
		panic("prompt: no embedded text " + name)
	}
	return strings.TrimSpace(string(data))
}

// builtin is a role that comes with Liza (roles-and-knowledge 1.3). Its text is that of
// its base, then its own.
type builtin struct {
	name string
	kind Kind
	base string
}

var builtins = []builtin{
	{"planner", Planner, ""},
	{"implement", Coder, ""},
	{"fix", Coder, "implement"},
	{"refactor", Coder, "implement"},
	{"test", Coder, "implement"},
	{"review", Reviewer, ""},
	{"messenger", Messenger, ""},
}

// typeRoles is the built-in mapping of roles-and-knowledge 1.7 where it is not implement.
var typeRoles = []struct{ taskType, role string }{
	{"feature", "implement"}, {"task", "implement"}, {"bug", "fix"}, {"refactor", "refactor"}, {"test", "test"},
	{"docs", "implement"}, {"config", "implement"}, {"spec", "implement"},
}

// aliases are the other names of roles (roles-and-knowledge 1.6), with exact case.
var aliases = []struct{ alias, role string }{
	{"Worker", "implement"}, {"coder", "implement"}, {"Coder", "implement"},
	{"Supervisor", "review"}, {"reviewer", "review"}, {"code_reviewer", "review"}, {"code-reviewer", "review"}, {"Code Reviewer", "review"},
	{"worker", "messenger"}, {"Planner", "planner"},
}

// Resolved says which role a run has, and by which rule: override, type, default or kind.
type Resolved struct{ Name, Rule string }

// Resolve finds the role of a run (roles-and-knowledge 1.7). A role that is unknown or of
// another kind is an error; nothing is put in its place.
func Resolve(k Kind, t *blackboard.Task) (Resolved, error) {
	r := Resolved{"implement", "default"}
	switch {
	case k == Planner || k == Reviewer || k == Messenger:
		r.Rule = "kind"
		for _, b := range builtins {
			if b.kind == k {
				r.Name = b.name
			}
		}
	case t != nil && t.Role != "":
		r = Resolved{t.Role, "override"}
		for _, a := range aliases {
			if a.alias == t.Role {
				r.Name = a.role
			}
		}
	case t != nil:
		for _, m := range typeRoles {
			if m.taskType == t.Type || t.Type == "" && m.taskType == "task" {
				r = Resolved{m.role, "type"}
			}
		}
	}
	b, ok := roleNamed(r.Name)
	switch {
	case !ok:
		return Resolved{}, fmt.Errorf("cannot use the role '%s' (%s): there is no such role; there are %s", r.Name, r.Rule, strings.Join(roleNames(k), ", "))
	case b.kind != k:
		return Resolved{}, fmt.Errorf("cannot use the role '%s' (%s): it is for a %s, not for a %s", r.Name, r.Rule, b.kind, k)
	}
	return r, nil
}

func roleNamed(name string) (builtin, bool) {
	for _, b := range builtins {
		if b.name == name {
			return b, true
		}
	}
	return builtin{}, false
}

// roleNames lists the roles of a kind.
func roleNames(k Kind) []string {
	var names []string
	for _, b := range builtins {
		if b.kind == k {
			names = append(names, b.name)
		}
	}
	return names
}

// role is the role body: the first section of a prompt.
func (in *Input) role() string {
	r, err := Resolve(in.Kind, in.Task)
	if err != nil {
		return "" // Build has refused it already
	}
	b, _ := roleNamed(r.Name)
	body := text("roles/" + b.name + ".md")
	if b.base != "" {
		body = text("roles/"+b.base+".md") + "\n\n" + body
	}
	return body
}

// rules is the contract of the kind (roles-and-knowledge 2.7).
func (in *Input) rules() string {
	own := text("rules/" + string(in.Kind) + ".md")
	if in.Kind == Messenger { // it has no commands and no identity
		return own
	}
	return text("rules/all.md") + "\n" + own
}

// commands are the verbs of the kind, with an example each (cli 3, D26).
func (in *Input) commands() string {
	return text("commands/intro.md") + "\n\n" + text("commands/"+string(in.Kind)+".md")
}

// finish is the exit command of the kind (roles-and-knowledge 4.1).
func (in *Input) finish() string {
	return text("finish/all.md") + "\n" + text("finish/"+string(in.Kind)+".md")
}

func (in *Input) instructions() string { return in.Instructions }

func (in *Input) repository() string { return in.RepoTree }
