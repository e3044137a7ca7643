package config

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"
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

// Settings gives, under their names in state.yaml's section config, the values that
// the file or the environment sets: the defaults of a state (int, string or bool;
// durations in seconds, time_minutes and sprint_time_minutes in minutes).
func (c *Config) Settings() map[string]any { return maps.Clone(c.set) }

// Overrides is the part of Settings that the environment sets. These values win
// over the state's section config too (specs/roles-and-knowledge.md#10.2).
func (c *Config) Overrides() map[string]any { return maps.Clone(c.overrides) }

// keepSettings makes what Settings and Overrides give: they are asked for whenever somebody
// looks at the board.
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
