// Package skill reads the skills under .liza/skills, checks the arguments of a task against them, and describes them for the
// planner (specs/roles-and-knowledge.md#9.3).
//
// A skill is a folder with a manifest skill.yaml and a program. It is read again for each planner run and each start, so that
// a change needs no restart. A broken manifest disables only its own skill. The supervisor starts the program.
package skill

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"

	"liza/pkg/base/safefile"
)

// Skill is one installed skill: its manifest, checked.
type Skill struct {
	Name           string         `yaml:"name"`
	Version        string         `yaml:"version"`
	Description    string         `yaml:"description"`
	Summary        string         `yaml:"summary"`
	Run            []string       `yaml:"run"`
	Writes         bool           `yaml:"writes"`
	TimeoutSeconds int            `yaml:"timeout_seconds"`
	Secrets        []string       `yaml:"secrets"`
	Env            map[string]Env `yaml:"env"`
	Args           map[string]Arg `yaml:"args"`

	Dir string `yaml:"-"` // its folder
}

// Env is a variable that a skill may receive.
type Env struct {
	Required    bool   `yaml:"required"`
	Default     string `yaml:"default"`
	Description string `yaml:"description"`
}

// Arg is an argument: its type is string, int, float, bool, list, enum or path.
type Arg struct {
	Type        string   `yaml:"type"`
	Required    bool     `yaml:"required"`
	Default     any      `yaml:"default"`
	Description string   `yaml:"description"`
	Min         *float64 `yaml:"min"`
	Max         *float64 `yaml:"max"`
	Values      []string `yaml:"values"`
}

// Library has the installed skills by name.
type Library struct {
	Skills []*Skill
	Broken []*BrokenError
}

// BrokenError is returned for a folder whose manifest cannot be used.
type BrokenError struct {
	Name    string
	Problem string
}

func (e *BrokenError) Error() string {
	return fmt.Sprintf("the skill %s cannot be used: %s", e.Name, e.Problem)
}

const maxManifest = 64 << 10

var (
	goodName   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9-]{0,62}$`) })
	secretName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`) })
	argName    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,62}$`) })
	envName    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Z][A-Z0-9_]{0,62}$`) })
	types      = []string{"string", "int", "float", "bool", "list", "enum", "path"}
)

// Load reads the skills of a folder, which need not exist. Files and hidden folders in it are not skills.
func Load(dir string) Library {
	var l Library
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		l.Broken = append(l.Broken, &BrokenError{dir, err.Error()})
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		folder := filepath.Join(dir, e.Name())
		if info, err := os.Stat(folder); err != nil || !info.IsDir() {
			continue
		}
		s, err := read(folder, e.Name())
		if err != nil {
			l.Broken = append(l.Broken, &BrokenError{e.Name(), err.Error()})
			continue
		}
		l.Skills = append(l.Skills, s)
	}
	return l
}

// Find returns the skill of that name. Otherwise the error lists the installed ones, or is the reason why it cannot be used.
func (l Library) Find(name string) (*Skill, error) {
	var names []string
	for _, s := range l.Skills {
		if s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	for _, b := range l.Broken {
		if b.Name == name {
			return nil, b
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("no skill '%s' is installed; there is none at all", name)
	}
	return nil, fmt.Errorf("no skill '%s' is installed; there are: %s", name, strings.Join(names, ", "))
}

func read(folder, name string) (*Skill, error) {
	path := filepath.Join(folder, "skill.yaml")
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, errors.New("skill.yaml is missing")
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular() || info.Size() > maxManifest:
		return nil, fmt.Errorf("skill.yaml must be a file of at most %d bytes", maxManifest)
	}
	data, err := safefile.Read(path)
	if err != nil {
		return nil, err
	}
	s := &Skill{Dir: folder}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	if err := dec.Decode(s); err != nil {
		return nil, fmt.Errorf("skill.yaml: %s", strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if bad := s.check(name); len(bad) > 0 {
		return nil, errors.New(strings.Join(bad, "; "))
	}
	return s, nil
}

// check says everything that is wrong with a manifest.
func (s *Skill) check(folder string) (bad []string) {
	add := func(format string, args ...any) { bad = append(bad, fmt.Sprintf(format, args...)) }
	if !goodName().MatchString(s.Name) {
		add("name: '%s' must be of a-z, 0-9 and -, at most 63 characters, beginning with a letter", s.Name)
	} else if s.Name != folder {
		add("name: '%s' must be that of the folder", s.Name)
	}
	if n := len(s.Summary); n > 120 {
		add("summary: has %d bytes; 120 is the limit", n)
	}
	if s.TimeoutSeconds < 0 || s.TimeoutSeconds > 3600 {
		add("timeout_seconds: %d must be 1 to 3600", s.TimeoutSeconds)
	}
	for _, name := range s.Secrets {
		if !secretName().MatchString(name) {
			add("secrets: '%s' is not allowed", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		if !envName().MatchString(name) {
			add("env: '%s' must be of A-Z, 0-9 and _", name)
		}
	}
	if len(s.Run) == 0 || s.Run[0] == "" {
		add("run: is empty; it is the program and its arguments")
	} else if _, err := s.Command(""); err != nil {
		add("run: %v", err)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Args)) {
		for _, problem := range s.Args[name].check(name) {
			add("args.%s: %s", name, problem)
		}
	}
	return bad
}

func (a Arg) check(name string) (bad []string) {
	if !argName().MatchString(name) {
		bad = append(bad, "the name is not allowed")
	}
	if !slices.Contains(types, a.Type) {
		return append(bad, fmt.Sprintf("type: '%s' must be one of %s", a.Type, strings.Join(types, ", ")))
	}
	if (a.Type == "enum") != (len(a.Values) > 0) {
		bad = append(bad, "values: go with the type enum, and only with it")
	}
	if a.Default != nil {
		if _, why := a.value(a.Default); why != "" {
			bad = append(bad, "default: "+why)
		}
	}
	return bad
}

// Command returns the argv of a skill. A program in the skill's folder is named by its absolute path; another one is searched
// in path, a list of folders (not if path is "").
func (s *Skill) Command(path string) ([]string, error) {
	argv := slices.Clone(s.Run)
	own := filepath.Join(s.Dir, filepath.FromSlash(argv[0]))
	if info, err := os.Stat(own); err == nil && info.Mode().IsRegular() && filepath.IsLocal(argv[0]) {
		if info.Mode()&0o111 == 0 {
			return nil, fmt.Errorf("%s is not executable", argv[0])
		}
		argv[0] = own
	} else if strings.Contains(argv[0], "/") && !filepath.IsAbs(argv[0]) {
		return nil, fmt.Errorf("%s is not in the skill's folder", argv[0])
	} else if path != "" {
		found, err := lookFor(argv[0], path)
		if err != nil {
			return nil, err
		}
		argv[0] = found
	}
	for i, arg := range argv[1:] { // a file of the skill, wherever the program runs
		if file := filepath.Join(s.Dir, filepath.FromSlash(arg)); arg != "" && filepath.IsLocal(arg) {
			if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
				argv[i+1] = file
			}
		}
	}
	return argv, nil
}

func lookFor(name, path string) (string, error) {
	if filepath.IsAbs(name) {
		return exec.LookPath(name)
	}
	for _, dir := range filepath.SplitList(path) {
		if filepath.IsAbs(dir) {
			if found, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
				return found, nil
			}
		}
	}
	return "", fmt.Errorf("the program %s is not on PATH", name)
}

// value returns v in its type, or the problem with it.
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

// Fill checks arguments and adds the defaults. problems has one text for each wrong argument, with skill and argument; only
// whole numbers are converted.
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

// Typed converts the arguments of a command line, which are texts, to the declared types: numbers, true and false, lists with
// commas. A text that cannot be converted stays a text.
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

// Text returns the description for a planner: for each skill its one-liner and its arguments
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

// Variables returns the variables of a skill, as NAME=value: from environ under the same name, else the default. The error
// names a required one that is missing.
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
