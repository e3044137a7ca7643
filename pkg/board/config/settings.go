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

	"liza/pkg/board/blackboard"
)

// renamed are the keys of state.yaml's section config that have another name here;
// every other one is protocol.<same name> (specs/protocol.md#2.8).
var renamed = []struct{ setting, key string }{
	{"max_coder_iterations", "limits.max_iterations"},
	{"max_review_cycles", "limits.max_review_cycles"},
	{"max_parse_retries", "limits.max_parse_retries"},
	{"task_crashes", "limits.task_crashes"},
	{"cost_cents", "limits.cost_cents"},
	{"time_minutes", "limits.time_minutes"},
	{"tokens", "limits.tokens"},
	{"sprint_cost_cents", "limits.sprint_cost_cents"},
	{"sprint_time_minutes", "limits.sprint_time_minutes"},
	{"sprint_tokens", "limits.sprint_tokens"},
	{"day_cost_cents", "limits.day_cost_cents"},
	{"run_timeout", "orchestration.agent_timeout_minutes"},
	{"poll_interval", "orchestration.poll_interval_seconds"},
	{"check_timeout", "limits.check_timeout_seconds"},
	{"tests_required", "review.checks.test_coverage.enabled"},
	{"stall_timeout", "limits.stall_minutes"},
	{"escalation_webhook", "notify.webhook_url"},
}

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
	return "", false
}

// Settings returns the values that the file or the environment sets, by their names in state.yaml's section config: the
// defaults of a state (int, string or bool; durations in seconds, time_minutes and sprint_time_minutes in minutes).
func (c *Config) Settings() map[string]any { return maps.Clone(c.set) }

// Overrides returns the part of Settings that the environment sets, and Timing. These values override the state's section config
// too (specs/roles-and-knowledge.md#10.2).
func (c *Config) Overrides() map[string]any {
	if len(c.Timing) == 0 {
		return maps.Clone(c.overrides)
	}
	all := map[string]any{}
	maps.Copy(all, c.overrides)
	for name, value := range c.Timing {
		all[name] = value
	}
	return all
}

// rules is a state that has no more than the settings.
func (c *Config) rules() *blackboard.State {
	return &blackboard.State{Defaults: c.Settings(), Overrides: c.Overrides()}
}

// LockTimeout is the longest time that a command waits for the lock of the state.
func (c *Config) LockTimeout() time.Duration { return c.rules().Duration("lock_timeout") }

// Heartbeat is the interval at which leases are extended.
func (c *Config) Heartbeat() time.Duration { return c.rules().Heartbeat() }

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
