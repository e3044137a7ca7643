package role

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"

	"liza/pkg/base/yamldoc"
	"liza/pkg/board/blackboard"
)

// Level is the severity of a finding. An error makes its role unusable.
type Level string

// The levels.
const (
	Error   Level = "error"
	Warning Level = "warning"
	Info    Level = "info"
)

// Diagnostic is a message for the author of a role file.
type Diagnostic struct {
	Level  Level  `json:"level"`
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
	Role   string `json:"role,omitempty"`
	Key    string `json:"key,omitempty"`
	Reason string `json:"reason"`
}

func (f Diagnostic) String() string {
	text := Origin{f.File, f.Line}.String() + ": "
	if f.Role != "" {
		text += "role " + f.Role + ": "
	}
	if f.Key != "" {
		text += f.Key + ": "
	}
	return text + f.Reason
}

const (
	maxFile         = 256 << 10
	maxDescription  = 300
	maxInstructions = 6000
)

// keys of a role file, in the order in which roles are shown.
var keys = []string{"name", "description", "kind", "base", "applicable_task_types", "llm_model", "cli",
	"instructions", "prompt_template", "prompt_additions", "context_requirements"}

var nameSyntax = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9-]{0,62}$`) })

// taskTypes are the types of tasks that are known (0.2).
var taskTypes = []string{"feature", "task", "bug", "refactor", "test", "docs", "config", "spec"}

// definition is one role as its file has it, before it inherits.
type definition struct {
	name    string // canonical
	file    string // name for people
	line    int
	overlay bool // a Markdown file
	builtin bool
	values  map[string]*yaml.Node

	unreadable string // why only the name of the file is known
	twice      string // other places that define the name

	findings []Diagnostic
}

func (d *definition) note(level Level, n *yaml.Node, key, format string, args ...any) {
	line := d.line
	if n != nil {
		line = n.Line
	}
	d.findings = append(d.findings, Diagnostic{Level: level, File: d.file, Line: line, Role: d.name, Key: key, Reason: fmt.Sprintf(format, args...)})
}

// text is the value of a key that is a string.
func (d *definition) text(key string) string {
	if n := d.values[key]; n != nil {
		return n.Value
	}
	return ""
}

func (d *definition) origin(key string) Origin {
	if n := d.values[key]; n != nil {
		return Origin{d.file, n.Line}
	}
	return Origin{}
}

// parseFile reads the definitions of one file. broken is set when the file is none: then
// the roles that it seems to define are named, so that no other one takes their place.
func parseFile(file string, data []byte) (list []*definition, broken *Diagnostic) {
	refuse := func(line int, format string, args ...any) ([]*definition, *Diagnostic) {
		return nil, &Diagnostic{Level: Error, File: file, Line: line, Reason: fmt.Sprintf(format, args...)}
	}
	if len(data) > maxFile {
		return refuse(0, "the file has %d bytes; %d are allowed", len(data), maxFile)
	}
	ext := path.Ext(file)
	if ext == ".md" {
		return []*definition{overlay(file, string(data))}, nil
	}
	read := yamldoc.Node
	if ext == ".json" {
		read = yamldoc.JSONNode
	}
	root, err := read(data)
	if bad := (*yamldoc.SyntaxError)(nil); errors.As(err, &bad) {
		return refuse(bad.Line, "%s", bad.Reason)
	}
	if err != nil {
		return refuse(0, "%v", err)
	}
	switch {
	case root == nil:
		return refuse(0, "the file has no role")
	case root.Kind != yaml.MappingNode:
		return refuse(root.Line, "the file must be a map with the keys of a role, or a map of name to role")
	case isManifest(root):
		for i := 0; i+1 < len(root.Content); i += 2 {
			list = append(list, define(file, root.Content[i], deref(root.Content[i+1])))
		}
		return list, nil
	}
	return []*definition{define(file, nil, root)}, nil
}

// overlay is a Markdown file: the instructions of the role that its name names.
func overlay(file, text string) *definition {
	name := Canonical(strings.TrimSuffix(path.Base(file), path.Ext(file)))
	str := func(s string) *yaml.Node {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s, Line: 1}
	}
	d := &definition{name: name, file: file, line: 1, overlay: true, values: map[string]*yaml.Node{"name": str(name), "base": str(name), "instructions": str(text)}}
	if !nameSyntax().MatchString(name) {
		d.note(Error, nil, "name", "'%s' must match %s", name, nameSyntax())
	}
	if len(text) > maxInstructions {
		d.note(Error, nil, "instructions", "has %d bytes; %d are allowed", len(text), maxInstructions)
	}
	return d
}

// isManifest reports whether a map is one of name to role.
func isManifest(root *yaml.Node) bool {
	for i := 0; i+1 < len(root.Content); i += 2 {
		if deref(root.Content[i+1]).Kind != yaml.MappingNode {
			return false
		}
	}
	return len(root.Content) > 0
}

func deref(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// define reads one role. key is its key in a manifest, or nil.
func define(file string, key, n *yaml.Node) *definition {
	d := &definition{file: file, line: n.Line, values: map[string]*yaml.Node{}}
	d.identify(key, n)
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], deref(n.Content[i+1])
		if first, twice := seen[k.Value]; twice {
			d.note(Error, k, k.Value, "is here a second time (first in line %d)", first)
			continue
		}
		seen[k.Value] = k.Line
		switch {
		case k.Value == "mcp_servers":
			d.note(Warning, k, k.Value, "is not supported: servers are those of the agent program")
		case !slices.Contains(keys, k.Value):
			reason := "unknown key"
			if near := blackboard.Nearest(k.Value, keys); near != "" {
				reason += "; did you mean " + near + "?"
			}
			d.note(Warning, k, k.Value, "%s", reason)
		case v.ShortTag() == "!!null":
			// The same as if the key were absent.
		default:
			d.set(k.Value, v)
		}
	}
	return d
}

// identify finds the name before anything else: findings are about a role.
func (d *definition) identify(key, n *yaml.Node) {
	if key != nil {
		d.line = key.Line
		d.name = Canonical(key.Value)
		d.values["name"] = key
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], deref(n.Content[i+1])
		if k.Value != "name" || v.ShortTag() == "!!null" {
			continue
		}
		switch {
		case v.Kind != yaml.ScalarNode || v.ShortTag() != "!!str":
			d.note(Error, v, "name", "must be a string, not %s", shape(v))
		case key != nil && v.Value != key.Value:
			d.note(Error, v, "name", "'%s' differs from the key '%s'", v.Value, key.Value)
		case key == nil:
			d.name, d.values["name"] = Canonical(v.Value), v
		}
	}
	if d.name != "" && !nameSyntax().MatchString(d.name) {
		d.note(Error, d.values["name"], "name", "'%s' must match %s", d.name, nameSyntax())
	}
}

// set checks the value of a key and keeps it.
func (d *definition) set(key string, v *yaml.Node) {
	switch key {
	case "name":
		return // identify has it
	case "applicable_task_types", "context_requirements":
		d.list(key, v)
		return
	}
	if v.Kind != yaml.ScalarNode || v.ShortTag() != "!!str" {
		d.note(Error, v, key, "must be a string, not %s", shape(v))
		return
	}
	most := map[string]int{"description": maxDescription, "instructions": maxInstructions}[key]
	switch {
	case strings.TrimSpace(v.Value) == "" && key != "prompt_template" && key != "prompt_additions":
		d.note(Error, v, key, "is empty")
	case most > 0 && len(v.Value) > most:
		d.note(Error, v, key, "has %d bytes; %d are allowed", len(v.Value), most)
	case key == "kind":
		if _, ok := KindOf(v.Value); !ok {
			d.note(Error, v, key, "'%s' is unknown: %s", v.Value, oneOf(v.Value, kindNames()))
			return
		}
	}
	d.values[key] = v
}

func (d *definition) list(key string, v *yaml.Node) {
	if v.Kind != yaml.SequenceNode {
		d.note(Error, v, key, "must be a list, not %s", shape(v))
		return
	}
	known := taskTypes
	if key == "context_requirements" {
		known = pieceNames()
	}
	for _, item := range v.Content {
		item = deref(item)
		switch {
		case item.Kind != yaml.ScalarNode || item.ShortTag() != "!!str":
			d.note(Error, item, key, "must be a list of strings, but has %s", shape(item))
			return
		case slices.Contains(known, item.Value):
		case key == "context_requirements":
			d.note(Error, item, key, "'%s' is not a piece of context: %s", item.Value, oneOf(item.Value, known))
		default:
			d.note(Warning, item, key, "'%s' is not a type of task: %s", item.Value, oneOf(item.Value, known))
		}
	}
	d.values[key] = v
}

func strs(n *yaml.Node) []string {
	if n == nil {
		return nil
	}
	list := []string{}
	for _, item := range n.Content {
		list = append(list, deref(item).Value)
	}
	return list
}

func kindNames() []string {
	var names []string
	for _, k := range Kinds {
		names = append(names, string(k))
	}
	return names
}

// oneOf returns a hint for a word: the nearest known one, or all.
func oneOf(word string, known []string) string {
	if near := blackboard.Nearest(word, known); near != "" {
		return "did you mean " + near + "?"
	}
	return "there are " + strings.Join(known, ", ")
}

func shape(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a map"
	case yaml.SequenceNode:
		return "a list"
	}
	return fmt.Sprintf("%s (without quotes it is not a text)", n.Value)
}

var nameLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^\s*"?name"?\s*:\s*"?([A-Za-z][A-Za-z0-9_-]*)`) })

// namesIn guesses which roles a file is about that cannot be read.
func namesIn(file string, data []byte) []string {
	var names []string
	for _, m := range nameLine().FindAllSubmatch(data[:min(len(data), maxFile)], -1) {
		names = append(names, Canonical(string(m[1])))
	}
	slices.Sort(names)
	names = slices.DeleteFunc(slices.Compact(names), func(n string) bool { return !nameSyntax().MatchString(n) })
	if len(names) == 0 {
		names = append(names, Canonical(strings.TrimSuffix(path.Base(file), path.Ext(file))))
	}
	return names
}
