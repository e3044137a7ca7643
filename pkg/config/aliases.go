package config

import (
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

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

// Canonical is the key that a key or an alias stands for.
func Canonical(key string) string {
	for _, a := range aliases {
		if a.alias == key {
			return a.key
		}
	}
	return key
}

// Alias is the name by which the file gives the key, "" when it uses the key's own.
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

// leftSettings warns about what Kiso's section settings has besides the aliases.
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
