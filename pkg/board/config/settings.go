package config

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"gopkg.in/yaml.v3"
)

// renamed are the keys of state.yaml's section config that have another name here;
// every other one is protocol.<same name> (specs/protocol.md#2.8).
var renamed = []struct{ setting, key string }{
	{"max_coder_iterations", "limits.max_iterations"},
	{"max_review_cycles", "limits.max_review_cycles"},
	{"max_agent_runs", "limits.max_agent_runs"},
	{"max_review_retries", "limits.max_review_retries"},
	{"max_parse_retries", "limits.max_parse_retries"},
	{"task_crashes", "limits.task_crashes"},
	{"cost_cents", "limits.cost_cents"},
	{"time_minutes", "limits.time_minutes"},
	{"tokens", "limits.tokens"},
	{"sprint_cost_cents", "limits.sprint_cost_cents"},
	{"sprint_time_minutes", "limits.sprint_time_minutes"},
	{"sprint_tokens", "limits.sprint_tokens"},
	{"day_cost_cents", "limits.day_cost_cents"},
	{"coder_run_timeout", "limits.timeout_minutes.coder"},
	{"planner_run_timeout", "limits.timeout_minutes.planner"},
	{"reviewer_run_timeout", "limits.timeout_minutes.code_reviewer"},
	{"stall_timeout", "limits.stall_minutes"},
	{"escalation_webhook", "notify.webhook_url"},
}

// boardOnly are the keys of state.yaml's section config that no key here stands for.
var boardOnly = []string{"run_timeout"}

// ofBoard reports whether state.yaml's section config has that key, and the key that stands for it here, "" for none.
func ofBoard(setting string) (key string, known bool) {
	for _, r := range renamed {
		if r.setting == setting {
			return r.key, true
		}
	}
	if slices.Contains(fieldNames(reflect.TypeFor[Protocol]()), setting) {
		return "protocol." + setting, true
	}
	return "", slices.Contains(boardOnly, setting)
}

// Settings returns the values that the file or the environment sets, by their names in state.yaml's section config: the
// defaults of a state (int, string or bool; durations in seconds, time_minutes and sprint_time_minutes in minutes).
func (c *Config) Settings() map[string]any { return maps.Clone(c.set) }

// Overrides returns the part of Settings that the environment sets. These values override the state's section config too
// (specs/roles-and-knowledge.md#10.2).
func (c *Config) Overrides() map[string]any { return maps.Clone(c.overrides) }

// keepSettings stores the results of Settings and Overrides, which each look at the board needs.
func (c *Config) keepSettings() {
	c.set = c.settings(func(o Origin) bool { return o != Origin{} })
	c.overrides = c.settings(func(o Origin) bool { return o.Variable != "" })
}

func (c *Config) settings(wanted func(Origin) bool) map[string]any {
	names := map[string]string{}
	for _, r := range renamed {
		names[r.key] = r.setting
	}
	out := map[string]any{}
	for _, l := range leaves(c) {
		name, ok := names[l.key]
		if same, found := strings.CutPrefix(l.key, "protocol."); found {
			name, ok = same, true
		}
		if ok && wanted(c.origins[l.key]) {
			out[name] = plain(name, l.get())
		}
	}
	return out
}

// plain is a value as the state's section config has it.
func plain(setting string, v reflect.Value) any {
	switch x := v.Interface().(type) {
	case time.Duration:
		if strings.HasSuffix(setting, "_minutes") {
			return int(x / time.Minute)
		}
		return int(x / time.Second)
	default:
		return x
	}
}

// aliases are keys of other documents and the keys that they stand for
// (specs/roles-and-knowledge.md#10.1).
var aliases = []struct{ alias, key string }{
	{"models.worker", "models.messenger"},
	{"models.reviewer", "models.code_reviewer"},
	{"settings.max_review_depth", "limits.max_review_cycles"},
	{"settings.max_replan_depth", "limits.max_replan_depth"},
	{"settings.max_parse_retries", "limits.max_parse_retries"},
	{"settings.summarize_threshold", "limits.summarize_threshold"},
	{"settings.knowledge_max_facts", "limits.max_facts"},
	{"settings.exec_timeout", "limits.exec_timeout_seconds"},
	{"settings.worker_idle_timeout", "protocol.coder_max_wait"},
	{"max_review_depth", "limits.max_review_cycles"},
	{"max_replan_depth", "limits.max_replan_depth"},
	{"max_parse_retries", "limits.max_parse_retries"},
	{"summarize_threshold", "limits.summarize_threshold"},
	{"knowledge_max_facts", "limits.max_facts"},
	{"limits.cost_threshold", "limits.cost_cents"},
	{"cost_threshold", "limits.cost_cents"},
	{"limits.time_threshold_minutes", "limits.time_minutes"},
	{"time_threshold_minutes", "limits.time_minutes"},
	{"max_allowed_iterations", "limits.max_agent_runs"},
	{"agent", "agents.default"},
}

// Canonical returns the key of an alias, or the key itself.
func Canonical(key string) string {
	for _, a := range aliases {
		if a.alias == key {
			return a.key
		}
	}
	return key
}

// Alias returns the alias that the file uses for the key, or "".
func (c *Config) Alias(key string) string { return c.aliases[key] }

// rename puts the values of aliases into the places of the keys that they stand for. A
// value that is under both names must be the same.
func (d *decoder) rename(root *yaml.Node) {
	root = deref(root)
	if root.Kind != yaml.MappingNode {
		return
	}
	for _, a := range aliases {
		value, _ := lookUp(root, a.alias)
		if value == nil {
			continue
		}
		remove(root, a.alias)
		own, _ := lookUp(root, a.key)
		switch {
		case own == nil:
			put(root, a.key, value)
			d.cfg.aliases[a.key] = a.alias
		case shown(own) != shown(value) || own.Kind != yaml.ScalarNode:
			d.errs = append(d.errs, &ValueError{Key: a.alias, File: d.file, Line: value.Line,
				Expected: fmt.Sprintf("the value of %s in line %d (%s), which it stands for", d.nameOf(a.key), own.Line, shown(own)), Found: shown(value)})
		}
	}
	d.runner(root)
	d.leftSettings(root)
}

func (d *decoder) nameOf(key string) string {
	if a := d.cfg.aliases[key]; a != "" {
		return a
	}
	return key
}

// runner is a key of Logist that has one value only.
func (d *decoder) runner(root *yaml.Node) {
	value, _ := lookUp(root, "runner")
	if value == nil {
		return
	}
	remove(root, "runner")
	if value.Value != "direct" || value.Kind != yaml.ScalarNode {
		d.wrong("runner", value, "only direct")
	}
}

// leftSettings warns about keys of Kiso's section settings that are not aliases.
func (d *decoder) leftSettings(root *yaml.Node) {
	value, _ := lookUp(root, "settings")
	if value == nil || value.Kind != yaml.MappingNode {
		return
	}
	var known []string
	for _, a := range aliases {
		if name, ok := strings.CutPrefix(a.alias, "settings."); ok {
			known = append(known, name)
		}
	}
	for i := 0; i+1 < len(value.Content); i += 2 {
		d.unknown("settings."+value.Content[i].Value, value.Content[i], known)
	}
	remove(root, "settings")
}

// lookUp finds the value of a path in a tree of maps.
func lookUp(n *yaml.Node, path string) (value, key *yaml.Node) {
	name, rest, deeper := strings.Cut(path, ".")
	n = deref(n)
	if n.Kind != yaml.MappingNode {
		return nil, nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value != name {
			continue
		}
		if deeper {
			return lookUp(n.Content[i+1], rest)
		}
		return deref(n.Content[i+1]), n.Content[i]
	}
	return nil, nil
}

// remove takes a path out of a tree of maps.
func remove(n *yaml.Node, path string) {
	name, rest, deeper := strings.Cut(path, ".")
	n = deref(n)
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value != name {
			continue
		}
		if deeper {
			remove(n.Content[i+1], rest)
			return
		}
		n.Content = slices.Delete(n.Content, i, i+2)
		return
	}
}

// put gives a path a value; maps on the way are made.
func put(n *yaml.Node, path string, value *yaml.Node) {
	name, rest, deeper := strings.Cut(path, ".")
	n = deref(n)
	if n.Kind != yaml.MappingNode {
		return // what is wrong there is said elsewhere
	}
	key := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: name, Line: value.Line}
	if !deeper {
		n.Content = append(n.Content, key, value)
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			put(n.Content[i+1], rest, value)
			return
		}
	}
	below := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: value.Line}
	n.Content = append(n.Content, key, below)
	put(below, rest, value)
}

// leaf is one setting with a single value: a scalar or a list.
type leaf struct {
	key  string
	kind kind
	get  func() reflect.Value
	set  func(reflect.Value)
}

// leaves lists the settings of c in the order of the types; of maps, the entries
// that are there.
func leaves(c *Config) []leaf {
	return slices.DeleteFunc(allOf(c), func(l leaf) bool { return l.set == nil })
}

// allOf are the leaves and the maps without entries, which cannot be set.
func allOf(c *Config) []leaf {
	var out []leaf
	v := reflect.ValueOf(c).Elem()
	walk(v, func(reflect.Value) {}, "", &out)
	return out
}

// walk visits the fields of a struct. written is called with the struct after one
// of its leaves was set, so that an entry of a map gets back into its map.
func walk(v reflect.Value, written func(reflect.Value), prefix string, out *[]leaf) {
	for _, f := range keysOf(v.Type()) {
		key := join(prefix, f.name)
		if f.name == "*" {
			key = prefix
		}
		fv, k := v.Field(f.at), f.kind
		switch {
		case k.typ.Kind() == reflect.Struct && !single(k.typ):
			walk(fv, func(reflect.Value) { written(v) }, key, out)
		case k.typ.Kind() == reflect.Map && fv.Len() == 0 && f.name != "*":
			*out = append(*out, leaf{key: key, kind: k, get: func() reflect.Value { return fv }})
		case k.typ.Kind() == reflect.Map:
			walkMap(fv, k, key, out)
		default:
			*out = append(*out, leaf{key, k, func() reflect.Value { return fv }, func(x reflect.Value) { fv.Set(x); written(v) }})
		}
	}
}

// A keyed is a field of a struct that has a key.
type keyed struct {
	name string
	at   int
	kind kind
}

// keysOf returns the fields of t that have keys. Tags are read once for each type: every command walks the settings.
func keysOf(t reflect.Type) []keyed {
	if known, ok := keysKnown.Load(t); ok {
		return known.([]keyed)
	}
	var fields []keyed
	for i := range t.NumField() {
		if f := t.Field(i); f.Tag.Get("key") != "" {
			fields = append(fields, keyed{f.Tag.Get("key"), i, kindOf(f)})
		}
	}
	keysKnown.Store(t, fields)
	return fields
}

var keysKnown sync.Map // []keyed by reflect.Type

func walkMap(m reflect.Value, k kind, key string, out *[]leaf) {
	elem := k.of(k.typ.Elem())
	for _, name := range mapKeys(m) {
		at := reflect.ValueOf(name)
		set := func(x reflect.Value) { m.SetMapIndex(at, x) }
		if elem.typ.Kind() == reflect.Struct && !single(elem.typ) {
			e := reflect.New(elem.typ).Elem()
			e.Set(m.MapIndex(at))
			walk(e, set, join(key, name), out)
			continue
		}
		*out = append(*out, leaf{join(key, name), elem, func() reflect.Value { return m.MapIndex(at) }, set})
	}
}

// Nearest returns the setting or section most similar to a mistyped key, or "".
func Nearest(key string) string {
	var known []string
	for _, l := range allOf(Default()) {
		for at := l.key; at != ""; at = parent(at) {
			known = append(known, at)
		}
	}
	if near := nearest(key, known); near != "" {
		return near
	}
	return elsewhere(key[strings.LastIndex(key, ".")+1:])
}

// elsewhere finds a setting of that name in another section.
func elsewhere(name string) string {
	for _, l := range leaves(Default()) {
		if l.key[strings.LastIndexByte(l.key, '.')+1:] == name {
			return l.key
		}
	}
	return ""
}

// A Hidden is a setting that another place overrides.
type Hidden struct {
	Key     string
	At      Origin // origin of the setting without effect
	Message string
	Next    string // next command for a person
}

// Hidden returns the settings that the environment or the board overrides. dir is the folder of the configuration files,
// board the section config of state.yaml; it may be nil. A configuration that cannot be read has none.
func (c *Config) Hidden(dir string, board map[string]any) []Hidden {
	var list []Hidden
	file, _, err := Load(dir, nil)
	if err != nil {
		return nil
	}
	plain := map[string]any{}
	for _, v := range file.Values() {
		plain[v.Key] = v.Value
	}
	inFile, overrides := file.Settings(), c.Overrides()
	for _, v := range c.Values() {
		above, below := c.Origin(v.Key), file.Origin(v.Key)
		if above.Variable != "" && below.File != "" && fmt.Sprint(v.Value) != fmt.Sprint(plain[v.Key]) {
			list = append(list, Hidden{v.Key, below, fmt.Sprintf("%s hides %s (%v) of %s", above, v.Key, plain[v.Key], below), "unset " + above.Variable})
		}
		name := Setting(v.Key)
		if name == "" || board[name] == nil {
			continue
		}
		mine := fmt.Sprint(board[name])
		switch {
		case above.Variable != "" && fmt.Sprint(overrides[name]) != mine:
			list = append(list, Hidden{v.Key, Origin{File: ".liza/state.yaml"}, fmt.Sprintf("%s hides config.%s (%s) of .liza/state.yaml", above, name, mine), "unset " + above.Variable})
		case above.Variable == "" && below.File != "" && fmt.Sprint(inFile[name]) != mine:
			list = append(list, Hidden{v.Key, below, fmt.Sprintf("config.%s (%s) of .liza/state.yaml hides %s (%v) of %s", name, mine, v.Key, plain[v.Key], below), "liza config " + name + " null"})
		}
	}
	return list
}
