package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"liza/pkg/base/safefile"
	"liza/pkg/base/yamldoc"
	"liza/pkg/board/blackboard"
)

// Load reads the settings from the folder .liza (config.yaml, else config.json, else only defaults) and the environment. The
// error joins a *FileError or all *ValueErrors; the Config is then nil (specs/roles-and-knowledge.md#10.3).
func Load(liza string, environment []string) (*Config, []Warning, error) {
	root, file, err := read(liza)
	return strict(root, file, environment, err)
}

// Parse is Load for the content data of a file that does not exist yet, with the name file (.liza/config.yaml).
func Parse(data []byte, file string, environment []string) (*Config, []Warning, error) {
	parse := yamldoc.Node
	if filepath.Ext(file) == ".json" {
		parse = yamldoc.JSONNode
	}
	root, err := parse(data)
	root, file, err = tree(root, err, file)
	return strict(root, file, environment, err)
}

func strict(root *yaml.Node, file string, environment []string, err error) (*Config, []Warning, error) {
	if err != nil {
		return nil, nil, err
	}
	cfg, warnings, problems := load(root, file, environment)
	if len(problems) == 0 {
		return cfg, warnings, nil
	}
	errs := make([]error, len(problems))
	for i, p := range problems {
		errs[i] = p
	}
	return nil, warnings, errors.Join(errs...)
}

// LoadTolerant is Load for commands that only read: it replaces invalid values by their defaults, and warns.
func LoadTolerant(liza string, environment []string) (*Config, []Warning) {
	root, file, err := read(liza)
	if err != nil {
		root = nil
	}
	cfg, warnings, problems := load(root, file, environment)
	if err != nil {
		warnings = append(warnings, Warning{Text: err.Error() + "; the defaults are used"})
		if bad := (*FileError)(nil); errors.As(err, &bad) {
			warnings[len(warnings)-1] = Warning{File: bad.File, Line: bad.Line, Text: bad.Reason + "; the defaults are used"}
		}
	}
	for _, p := range problems {
		instead := "it is left out"
		if p.again {
			instead = "the later one is used"
		}
		warnings = append(warnings, Warning{
			Key: p.Key, File: p.File, Line: p.Line, Variable: p.Variable,
			Text: fmt.Sprintf("%s: expected %s, found %s; %s", p.Key, p.Expected, p.Found, instead),
		})
	}
	return cfg, warnings
}

// load always gives a Config in which every value is a good one.
func load(root *yaml.Node, file string, environment []string) (*Config, []Warning, []*ValueError) {
	d := decoder{cfg: Default(), file: file}
	if root != nil {
		d.structure(root, reflect.ValueOf(d.cfg).Elem(), "")
	}
	d.cfg.atHome(environment)
	d.errs = append(d.errs, d.cfg.together()...)

	errs, warnings := environ(d.cfg, environment)
	d.cfg.Timing = timing(environment)
	d.errs = append(d.errs, errs...)
	d.errs = append(d.errs, d.cfg.together()...)
	d.cfg.keepSettings()
	return d.cfg, append(d.warnings, warnings...), d.errs
}

// atHome puts the person's home folder in the place of ~/ at the beginning of the words of commands: no shell reads them.
func (c *Config) atHome(environment []string) {
	home := ""
	for _, pair := range environment {
		if value, ok := strings.CutPrefix(pair, "HOME="); ok {
			home = value
		}
	}
	for _, a := range c.Agents.Custom {
		for account, folder := range a.Accounts {
			if strings.HasPrefix(folder, "~/") && home != "" {
				a.Accounts[account] = home + folder[1:]
			}
		}
		for _, words := range [][]string{a.Command, a.Interactive, a.Reopen} {
			for i, word := range words {
				if strings.HasPrefix(word, "~/") && home != "" {
					words[i] = home + word[1:]
				}
			}
		}
	}
}

// together checks values that depend on each other and replaces conflicting ones by their defaults.
func (c *Config) together() []*ValueError {
	var errs []*ValueError
	wrong := func(key, other, expected, found string) {
		o := c.origins[key]
		if o == (Origin{}) {
			o = c.origins[other]
		}
		errs = append(errs, &ValueError{Key: key, File: o.File, Line: o.Line, Variable: o.Variable, Expected: expected, Found: found})
		delete(c.origins, key)
	}
	if r := &c.Review; r.AutoMerge && (r.Mode == "strict" || r.Mode == "disabled") {
		wrong("review.auto_merge", "review.mode", "false in review.mode "+r.Mode, "true")
		r.AutoMerge = false
	}
	for _, name := range slices.Sorted(maps.Keys(c.Models)) {
		expected, found := c.climbable(name)
		if expected != "" {
			wrong("models."+name, "", expected, found)
			c.Models[name] = Model{}
		}
	}
	return errs
}

// climbable describes what the ladder of a role or kind should be, and what it is instead; "" when it is a good one.
func (c *Config) climbable(name string) (expected, found string) {
	m := c.Models[name]
	if m.Ladder != nil && slices.Contains([]string{"planner", "messenger", "summarizer"}, name) {
		return "one model: a ladder is for coders and reviewers", "a ladder"
	}
	for _, rung := range m.Ladder {
		program, _, _ := strings.Cut(rung, ":")
		if !c.HasProgram(program) {
			return "rungs of programs that there are", strconv.Quote(rung)
		}
	}
	return "", ""
}

// OneFile refuses a folder that has both config.yaml and config.json.
func OneFile(liza string) error {
	_, errYAML := os.Stat(filepath.Join(liza, "config.yaml"))
	_, errJSON := os.Stat(filepath.Join(liza, "config.json"))
	if errYAML == nil && errJSON == nil {
		return &FileError{File: filepath.Base(liza) + "/config.yaml", Reason: "config.json is there too; keep one of them"}
	}
	return nil
}

// read finds and parses the file; root is nil when there is none or it is empty.
func read(liza string) (root *yaml.Node, file string, err error) {
	if err := OneFile(liza); err != nil {
		return nil, "", err
	}
	shown := func(name string) string { return filepath.Base(liza) + "/" + name }
	asYAML, errYAML := safefile.Read(filepath.Join(liza, "config.yaml"))
	asJSON, errJSON := safefile.Read(filepath.Join(liza, "config.json"))
	switch {
	case errYAML != nil && !errors.Is(errYAML, fs.ErrNotExist):
		return nil, "", &FileError{File: shown("config.yaml"), Reason: cause(errYAML)}
	case errJSON != nil && !errors.Is(errJSON, fs.ErrNotExist):
		return nil, "", &FileError{File: shown("config.json"), Reason: cause(errJSON)}
	case errYAML == nil:
		root, err = yamldoc.Node(asYAML)
		return tree(root, err, shown("config.yaml"))
	case errJSON == nil:
		root, err = yamldoc.JSONNode(asJSON)
		return tree(root, err, shown("config.json"))
	}
	return nil, "", nil
}

// cause is an error of the file system without the path, which is named already.
func cause(err error) string {
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}

// tree turns an error of the reader into one that names the file.
func tree(root *yaml.Node, err error, file string) (*yaml.Node, string, error) {
	if broken := (*yamldoc.SyntaxError)(nil); errors.As(err, &broken) {
		err = &FileError{File: file, Line: broken.Line, Reason: broken.Reason}
	}
	return root, file, err
}

// decoder puts the values of one file into a Config. It collects errors; a key with an error keeps its former value.
type decoder struct {
	cfg      *Config
	file     string
	errs     []*ValueError
	warnings []Warning
}

type pair struct{ key, value *yaml.Node }

// pairs lists a map's entries; of a key that is there twice the later one.
func (d *decoder) pairs(n *yaml.Node, prefix string) []pair {
	var out []pair
	at := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		first, again := at[k.Value]
		if !again {
			at[k.Value] = len(out)
			out = append(out, pair{k, v})
			continue
		}
		d.errs = append(d.errs, &ValueError{
			Key: join(prefix, k.Value), File: d.file, Line: k.Line,
			Expected: "the key once", Found: fmt.Sprintf("it again (first in line %d)", out[first].key.Line), again: true,
		})
		out[first] = pair{k, v}
	}
	return out
}

// structure reads a map into a struct of settings.
func (d *decoder) structure(n *yaml.Node, v reflect.Value, key string) {
	n = deref(n)
	if n.Kind != yaml.MappingNode {
		d.wrong(key, n, "a map with the keys "+strings.Join(fieldNames(v.Type()), ", "))
		return
	}
	for _, p := range d.pairs(n, key) {
		name := join(key, p.key.Value)
		f, ok := fieldOf(v.Type(), p.key.Value)
		rest, open := fieldOf(v.Type(), "*")
		switch {
		case !ok && open:
			d.entry(p, v.FieldByIndex(rest.Index), kindOf(rest), name)
		case !ok:
			d.unknown(name, p.key, fieldNames(v.Type()))
		case deref(p.value).ShortTag() == "!!null":
			// The same as if the key were absent.
		default:
			d.field(p.value, v.FieldByIndex(f.Index), kindOf(f), name)
		}
	}
}

func (d *decoder) field(n *yaml.Node, v reflect.Value, k kind, key string) {
	switch {
	case k.typ.Kind() == reflect.Struct && !single(k.typ):
		d.structure(n, v, key)
	case k.typ.Kind() == reflect.Map:
		d.table(n, v, k, key)
	default:
		d.leaf(n, v.Set, k, key)
	}
}

// table reads a map of named entries: they are added to those of the default.
func (d *decoder) table(n *yaml.Node, v reflect.Value, k kind, key string) {
	if n = deref(n); n.Kind != yaml.MappingNode {
		d.wrong(key, n, "a map")
		return
	}
	if v.IsNil() {
		v.Set(reflect.MakeMap(k.typ))
	}
	known := mapKeys(v)
	for _, p := range d.pairs(n, key) {
		name := join(key, p.key.Value)
		if k.closed && !slices.Contains(known, p.key.Value) {
			d.unknown(name, p.key, known)
			continue
		}
		d.entry(p, v, k, name)
	}
}

// entry reads one entry of a map of strings or structs.
func (d *decoder) entry(p pair, v reflect.Value, k kind, key string) {
	if deref(p.value).ShortTag() == "!!null" {
		return
	}
	name := reflect.ValueOf(p.key.Value)
	set := func(e reflect.Value) { v.SetMapIndex(name, e) }
	elem := k.of(k.typ.Elem())
	if elem.typ.Kind() != reflect.Struct || single(elem.typ) {
		d.leaf(p.value, set, elem, key)
		return
	}
	e := reflect.New(elem.typ).Elem()
	if old := v.MapIndex(name); old.IsValid() {
		e.Set(old)
	}
	before := len(d.errs)
	d.structure(p.value, e, key)
	d.cfg.origins[key] = Origin{File: d.file, Line: p.key.Line}
	if agent, ok := e.Addr().Interface().(*CustomAgent); ok && !slices.Contains(builtinPrograms, p.key.Value) {
		if len(agent.Command) == 0 && len(d.errs) == before {
			d.wrong(key, p.value, "a map with the key command: a list with the program and its arguments")
		}
		if len(agent.Command) == 0 {
			delete(d.cfg.origins, key)
			return
		}
		agent.complete()
	}
	if named, ok := e.Addr().Interface().(interface{ wanting(name string) string }); ok {
		if expected := named.wanting(p.key.Value); expected != "" {
			if len(d.errs) == before {
				d.errs = append(d.errs, &ValueError{Key: key, File: d.file, Line: p.key.Line, Expected: expected, Found: shown(p.value)})
			}
			delete(d.cfg.origins, key)
			return
		}
	}
	set(e)
}

// complete sets the fields that a project may omit.
func (a *CustomAgent) complete() {
	if a.Prompt == "" {
		a.Prompt = "stdin"
	}
	if a.Output == "" {
		a.Output = "text"
	}
}

func (d *decoder) leaf(n *yaml.Node, set func(reflect.Value), k kind, key string) {
	v, expected, at := value(n, k)
	if at != nil {
		d.errs = append(d.errs, &ValueError{Key: key, File: d.file, Line: at.Line, Expected: expected, Found: k.shown(at)})
		return
	}
	set(v)
	d.cfg.origins[key] = Origin{File: d.file, Line: n.Line}
}

func (d *decoder) wrong(key string, n *yaml.Node, expected string) {
	if key == "" {
		key = "the file"
	}
	d.errs = append(d.errs, &ValueError{Key: key, File: d.file, Line: n.Line, Expected: expected, Found: shown(n)})
}

func (d *decoder) unknown(key string, n *yaml.Node, siblings []string) {
	text := fmt.Sprintf("unknown key %s", key)
	if here, known := ofBoard(n.Value); known {
		if here != "" {
			text += "; here it is " + here
		}
		text += "; on the board: liza config " + n.Value + " VALUE"
	} else if near := nearest(n.Value, siblings); near != "" {
		text += "; nearest: " + join(parent(key), near)
	} else if near := elsewhere(n.Value); near != "" {
		text += "; nearest: " + near
	}
	d.warnings = append(d.warnings, Warning{Key: key, File: d.file, Line: n.Line, Text: text})
}

// reserved are variables of the protocol, which are not configuration; a name that
// ends in _ stands for all that begin with it (specs/roles-and-knowledge.md#10.2, specs/decisions.md#D26).
var reserved = []string{
	"LIZA_AGENT_ID", "LIZA_AGENT_TOKEN", "LIZA_ROLE", "LIZA_TASK_ID", "LIZA_WORKTREE", "LIZA_ROOT", "LIZA_SCRIPTED",
	"LIZA_PROMPT_FILE", "LIZA_BIN", "LIZA_BROKER", "LIZA_PORT", "LIZA_PORTS", "LIZA_RUN", "LIZA_RUN_ID", "LIZA_JOB", "LIZA_SECRET_", "LIZA_SKILL_",
}

func isReserved(name string) bool {
	return slices.ContainsFunc(reserved, func(r string) bool {
		return name == r || strings.HasSuffix(r, "_") && strings.HasPrefix(name, r)
	})
}

// variable is the environment variable that sets a key.
func variable(key string) string {
	return "LIZA_" + strings.ToUpper(strings.ReplaceAll(key, ".", "_"))
}

// shortVariables are further names of variables; the regular one counts when both are set.
var shortVariables = map[string]string{"sandbox.level": "LIZA_SANDBOX"}

// testTiming is the variable by which tests of the whole program replace constants of the protocol, as NAME=NUMBER,…
// (specs/testing.md).
const testTiming = "LIZA_TEST_TIMING"

func timing(environment []string) map[string]int {
	var out map[string]int
	for pair := range strings.SplitSeq(variables(environment)[testTiming], ",") {
		name, text, _ := strings.Cut(pair, "=")
		_, is := blackboard.Fixed(name)
		if n, err := strconv.Atoi(text); is && err == nil {
			if out == nil {
				out = map[string]int{}
			}
			out[name] = n
		}
	}
	return out
}

// given is the text that a variable sets a key to, and the variable's name.
func given(variables map[string]string, key string) (name, text string, ok bool) {
	for _, name := range []string{variable(key), shortVariables[key]} {
		if text, ok := variables[name]; ok {
			return name, text, true
		}
	}
	return variable(key), "", false
}

// environ applies the variables LIZA_… to cfg. Lists are separated by commas; maps
// cannot be set, but the entries that a default map has can. An empty variable is
// the same as none. A value that cannot be used leaves the key as it is.
func environ(cfg *Config, environ []string) (errs []*ValueError, warnings []Warning) {
	there := variables(environ)
	if len(there) == 0 {
		return nil, nil
	}
	settable := map[string]bool{}
	for _, l := range leaves(Default()) {
		settable[l.key] = true
	}
	var known []string
	for _, l := range leaves(cfg) {
		if !settable[l.key] {
			continue
		}
		known = append(known, variable(l.key))
		name, text, ok := given(there, l.key)
		if !ok {
			continue
		}
		delete(there, variable(l.key))
		delete(there, shortVariables[l.key])
		v, expected, at := value(nodeOf(text, l.kind), l.kind)
		if at != nil {
			errs = append(errs, &ValueError{Key: l.key, Variable: name, Expected: expected, Found: l.kind.shown(at)})
			continue
		}
		l.set(v)
		cfg.origins[l.key] = Origin{Variable: name}
	}
	return errs, strangers(there, known)
}

// variables returns the variables that may be settings.
func variables(environ []string) map[string]string {
	out := map[string]string{}
	for _, e := range environ {
		if name, v, ok := strings.Cut(e, "="); ok && v != "" && strings.HasPrefix(name, "LIZA_") && !isReserved(name) {
			out[name] = v
		}
	}
	return out
}

// Handed returns the settings, by key, that variables of an environment set. A supervisor records them with its registration:
// verbs of its agent follow them, whatever the agent's own environment has. It omits notifications, which are not an agent's
// concern.
func Handed(environ []string) map[string]string {
	there, handed := variables(environ), map[string]string{}
	if len(there) == 0 {
		return handed
	}
	if v := there[testTiming]; v != "" {
		handed["test_timing"] = v
	}
	for _, l := range leaves(Default()) {
		if _, v, ok := given(there, l.key); ok && !strings.HasPrefix(l.key, "notify.") {
			handed[l.key] = v
		}
	}
	return handed
}

// Under returns an environment with the settings handed, and no others.
func Under(environ []string, handed map[string]string) []string {
	var out []string
	for _, pair := range environ {
		if name, _, _ := strings.Cut(pair, "="); !strings.HasPrefix(name, "LIZA_") || isReserved(name) {
			out = append(out, pair)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(handed)) {
		out = append(out, variable(key)+"="+handed[key])
	}
	return out
}

// mapVariables are the variables of settings that are maps.
var mapVariables = []string{"LIZA_AGENTS", "LIZA_MODELS", "LIZA_PRICES", "LIZA_POLICY_CALLERS", "LIZA_ROLES_TYPE_MAPPING", "LIZA_ROLES_BY_KIND", "LIZA_REVIEW_CHECKS"}

// strangers warns about variables that resemble a setting. Others with the prefix LIZA_ may belong to other programs.
func strangers(given map[string]string, known []string) []Warning {
	var out []Warning
	for name := range given {
		if near := nearest(name, known); near != "" && distance(name, near) <= 2 {
			out = append(out, Warning{Variable: name, Text: "no such setting; nearest: " + near})
		} else if slices.ContainsFunc(mapVariables, func(m string) bool { return name == m || strings.HasPrefix(name, m+"_") }) {
			out = append(out, Warning{Variable: name, Text: "ignored: a map cannot be set by a variable"})
		}
	}
	slices.SortFunc(out, func(a, b Warning) int { return strings.Compare(a.Variable+a.Text, b.Variable+b.Text) })
	return out
}

// nodeOf makes of a variable's text the node that the file would have in its place.
func nodeOf(text string, k kind) *yaml.Node {
	str := func(s string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s} }
	switch {
	case k.typ.Kind() == reflect.Slice || k.typ == fallbackType:
		n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		for item := range strings.SplitSeq(text, ",") {
			if item = strings.TrimSpace(item); item != "" {
				n.Content = append(n.Content, str(item))
			}
		}
		return n
	case k.typ.Kind() == reflect.String || k.typ == modelType:
		return str(text)
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Value: strings.TrimSpace(text)}
}

// HasProgram reports whether name is an agent program: of the project, or built in.
func (c *Config) HasProgram(name string) bool {
	_, own := c.Agents.Custom[name]
	return own || name == "scripted" || slices.Contains(builtinPrograms, name)
}
