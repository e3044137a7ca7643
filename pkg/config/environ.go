package config

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// reserved are variables of the protocol, which are not configuration; a name that
// ends in _ stands for all that begin with it (specs/roles-and-knowledge.md#10.2, specs/decisions.md#D26).
var reserved = []string{
	"LIZA_AGENT_ID", "LIZA_AGENT_TOKEN", "LIZA_ROLE", "LIZA_TASK_ID", "LIZA_WORKTREE", "LIZA_ROOT",
	"LIZA_PROMPT_FILE", "LIZA_BIN", "LIZA_BROKER", "LIZA_RUN", "LIZA_RUN_ID", "LIZA_JOB", "LIZA_SECRET_", "LIZA_SKILL_",
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

// variables are those that may be settings.
func variables(environ []string) map[string]string {
	out := map[string]string{}
	for _, e := range environ {
		if name, v, ok := strings.Cut(e, "="); ok && v != "" && strings.HasPrefix(name, "LIZA_") && !isReserved(name) {
			out[name] = v
		}
	}
	return out
}

// Handed are the settings that variables of an environment make, by key. A supervisor records
// them with its registration: what its agent does with liza follows them, whatever the agent's own
// environment says. Where people are told of things is no matter of an agent's.
func Handed(environ []string) map[string]string {
	there, handed := variables(environ), map[string]string{}
	for _, l := range leaves(Default()) {
		if _, v, ok := given(there, l.key); ok && !strings.HasPrefix(l.key, "notify.") {
			handed[l.key] = v
		}
	}
	return handed
}

// Under is an environment whose settings are those that were handed, and no others.
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
var mapVariables = []string{"LIZA_AGENTS", "LIZA_LIMITS_TIMEOUT_MINUTES", "LIZA_MODELS", "LIZA_PRICES", "LIZA_POLICY_CALLERS", "LIZA_ROLES_TYPE_MAPPING", "LIZA_ROLES_BY_KIND", "LIZA_REVIEW_CHECKS"}

// strangers warns about variables that look like a setting but are none. Others
// that begin with LIZA_ may belong to somebody else.
func strangers(given map[string]string, known []string) []Warning {
	var out []Warning
	for key, now := range removed {
		if _, set := given[variable(key)]; set {
			delete(given, variable(key))
			out = append(out, Warning{Variable: variable(key), Text: "no longer a setting: " + now})
		}
	}
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
	case k.typ.Kind() == reflect.String:
		return str(text)
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Value: strings.TrimSpace(text)}
}
