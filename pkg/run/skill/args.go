package skill

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Fill checks arguments and puts in the defaults. There is one problem for each argument that
// is wrong, naming skill and argument; nothing is converted but whole numbers.
func (s *Skill) Fill(args map[string]any) (filled map[string]any, problems []string) {
	filled = map[string]any{}
	bad := func(name, format string, a ...any) {
		problems = append(problems, fmt.Sprintf("argument '%s' of the skill %s %s", name, s.Name, fmt.Sprintf(format, a...)))
	}
	for _, name := range slices.Sorted(maps.Keys(args)) {
		a, known := s.Args[name]
		if !known {
			bad(name, "is unknown%s", s.known())
			continue
		}
		v, why := a.value(args[name])
		if why != "" {
			bad(name, "%s", why)
			continue
		}
		filled[name] = v
	}
	for _, name := range slices.Sorted(maps.Keys(s.Args)) {
		_, given := args[name]
		switch a := s.Args[name]; {
		case given:
		case a.Default != nil:
			filled[name], _ = a.value(a.Default)
		case a.Required:
			bad(name, "is missing")
		}
	}
	return filled, problems
}

// Typed reads the arguments of a command line, which are texts, as the types that the skill
// declares: numbers, true and false, lists with commas. What cannot be read stays a text.
func (s *Skill) Typed(args map[string]any) map[string]any {
	typed := map[string]any{}
	for name, v := range args {
		typed[name] = v
		text, ok := v.(string)
		if !ok {
			continue
		}
		switch s.Args[name].Type {
		case "int", "float", "bool":
			var read any
			if json.Unmarshal([]byte(text), &read) == nil && read != nil {
				typed[name] = read
			}
		case "list":
			var items []any
			for item := range strings.SplitSeq(text, ",") {
				items = append(items, strings.TrimSpace(item))
			}
			typed[name] = items
		}
	}
	return typed
}

func (s *Skill) known() string {
	if len(s.Args) == 0 {
		return "; it has none"
	}
	return "; it has: " + strings.Join(slices.Sorted(maps.Keys(s.Args)), ", ")
}

// Text is what a planner is told: for each skill its one-liner and its arguments
// (specs/roles-and-knowledge.md#2.5).
func (l Library) Text() string {
	var b strings.Builder
	for _, s := range l.Skills {
		about := s.Summary
		if about == "" {
			about, _, _ = strings.Cut(strings.TrimSpace(s.Description), "\n")
		}
		fmt.Fprintf(&b, "%s: %s\n", s.Name, about)
		for _, name := range slices.Sorted(maps.Keys(s.Args)) {
			fmt.Fprintf(&b, "  %s (%s)", name, s.Args[name].told())
			if about := strings.Join(strings.Fields(s.Args[name].Description), " "); about != "" {
				b.WriteString(": " + about)
			}
			b.WriteByte('\n')
		}
		if len(s.Secrets) > 0 {
			fmt.Fprintf(&b, "  secrets: %s\n", strings.Join(s.Secrets, ", "))
		}
		if s.Writes {
			b.WriteString("  changes files: always reviewed\n")
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func (a Arg) told() string {
	text := a.Type
	if a.Type == "enum" {
		text += " of " + strings.Join(a.Values, "|")
	}
	switch {
	case a.Default != nil:
		v, err := json.Marshal(a.Default)
		if err != nil {
			v = []byte(fmt.Sprint(a.Default))
		}
		text += ", default " + string(v)
	case a.Required:
		text += ", required"
	}
	if a.Min != nil {
		text += fmt.Sprintf(", at least %v", *a.Min)
	}
	if a.Max != nil {
		text += fmt.Sprintf(", at most %v", *a.Max)
	}
	return text
}

// Variables are the variables of a skill, as NAME=value: from environ under the same name,
// else the default. An error names a required one that is missing.
func (s *Skill) Variables(environ []string) ([]string, error) {
	prefix := "LIZA_SKILL_" + strings.ToUpper(strings.ReplaceAll(s.Name, "-", "_")) + "_"
	var out []string
	for _, key := range slices.Sorted(maps.Keys(s.Env)) {
		name := prefix + key
		i := slices.IndexFunc(environ, func(v string) bool { return strings.HasPrefix(v, name+"=") })
		switch e := s.Env[key]; {
		case i >= 0:
			out = append(out, environ[i])
		case e.Default != "":
			out = append(out, name+"="+e.Default)
		case e.Required:
			return nil, fmt.Errorf("the skill %s needs the variable %s in the environment of Liza", s.Name, name)
		}
	}
	return out, nil
}
