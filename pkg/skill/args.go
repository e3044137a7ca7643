package skill

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"path/filepath"
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

// value is v as its type wants it, or what is wrong with it.
func (a Arg) value(v any) (any, string) {
	switch a.Type {
	case "bool":
		if b, ok := v.(bool); ok {
			return b, ""
		}
		return nil, wants("true or false", v)
	case "int", "float":
		return a.number(v)
	case "list":
		return texts(v)
	}
	text, ok := v.(string)
	switch {
	case !ok:
		return nil, wants("a text", v)
	case a.Type == "enum" && !slices.Contains(a.Values, text):
		return nil, fmt.Sprintf("is '%s'; it must be one of %s", text, strings.Join(a.Values, ", "))
	case a.Type == "path" && !filepath.IsLocal(text):
		return nil, fmt.Sprintf("is '%s'; it must be a relative path inside of the workspace", text)
	}
	return text, ""
}

func (a Arg) number(v any) (any, string) {
	what := "a number"
	if a.Type == "int" {
		what = "a whole number"
	}
	n, ok := toFloat(v)
	switch {
	case !ok || a.Type == "int" && (n != math.Trunc(n) || math.Abs(n) > 1<<53):
		return nil, wants(what, v)
	case a.Min != nil && n < *a.Min:
		return nil, fmt.Sprintf("is %v; it must be at least %v", v, *a.Min)
	case a.Max != nil && n > *a.Max:
		return nil, fmt.Sprintf("is %v; it must be at most %v", v, *a.Max)
	case a.Type == "int":
		return int(n), ""
	}
	return n, ""
}

func toFloat(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, !math.IsNaN(v) && !math.IsInf(v, 0)
	case int:
		return float64(v), true
	case int64:
		return float64(v), true
	}
	return 0, false
}

func texts(v any) (any, string) {
	list := []string{}
	switch v := v.(type) {
	case []string:
		return slices.Clone(v), ""
	case []any:
		for _, x := range v {
			text, ok := x.(string)
			if !ok {
				return nil, wants("a list of texts", v)
			}
			list = append(list, text)
		}
		return list, ""
	}
	return nil, wants("a list of texts", v)
}

func wants(what string, v any) string {
	text, err := json.Marshal(v)
	if err != nil || len(text) > 100 {
		text = []byte("something else")
	}
	return fmt.Sprintf("is %s; it must be %s", text, what)
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
