package blackboard

import (
	"maps"
	"math"
	"slices"
	"strings"
	"time"
)

// settings are the keys of the config section with their built-in defaults
// (specs/protocol.md#2.8). The type of the default is the type of the key. Durations are
// integers in seconds.
var settings = map[string]any{
	"max_coder_iterations":       10,
	"max_review_cycles":          5,
	"heartbeat_interval":         60,
	"lease_duration":             1800,
	"lease_grace":                60,
	"coder_poll_interval":        30,
	"planner_poll_interval":      30,
	"reviewer_poll_interval":     30,
	"coder_max_wait":             1800,
	"planner_max_wait":           1800,
	"reviewer_max_wait":          1800,
	"integration_branch":         "integration",
	"base_ref":                   "", // the branch of HEAD at init
	"escalation_webhook":         "",
	"lock_timeout":               10,
	"claim_reserve":              120,
	"reassign_after":             300,
	"aging_step":                 1800,
	"run_timeout":                0, // 0: the three below hold
	"coder_run_timeout":          1800,
	"planner_run_timeout":        1800,
	"reviewer_run_timeout":       900,
	"stall_timeout":              600,
	"kill_grace":                 10,
	"max_handoffs":               5,
	"max_agent_runs":             50,
	"max_review_retries":         2,
	"max_parse_retries":          3,
	"task_crashes":               2,
	"crash_limit":                3,
	"crash_window":               300,
	"planner_retries":            3,
	"cost_cents":                 1000,
	"time_minutes":               60,
	"tokens":                     0,
	"sprint_cost_cents":          0,
	"sprint_time_minutes":        0,
	"sprint_tokens":              0,
	"day_cost_cents":             0,
	"pre_execution_checkpoint":   "warn",
	"tests_required":             true,
	"integration_check_timeout":  900,
	"alert_checkpoint_stale":     1800,
	"alert_checkpoint_stuck":     7200,
	"alert_checkpoint_abandoned": 28800,
	"alert_stalled":              1800,
	"alert_stale_draft":          1800,
	"alert_orphaned_rejected":    1800,
	"alert_pause_stale":          1800,
	"alert_pause_forgotten":      7200,
}

// BuiltIn is the built-in default of a setting, nil for an unknown key.
func BuiltIn(key string) any { return settings[key] }

// SettingKeys returns the known keys of the config section, sorted.
func SettingKeys() []string { return slices.Sorted(maps.Keys(settings)) }

// Int returns an integer setting: the value of state.yaml's config section, else
// of Defaults, else the built-in one. A value of another type or a negative one is
// passed over (rule V47 reports it); an unknown key is 0.
func (s *State) Int(key string) int {
	n, _ := look(s, key, IntegerOf)
	return n
}

// Duration returns an integer setting in seconds as a duration.
func (s *State) Duration(key string) time.Duration {
	return time.Duration(s.Int(key)) * time.Second
}

// Text returns a setting that is a text, looked up as in Int.
func (s *State) Text(key string) string {
	text, _ := look(s, key, func(value any) (string, bool) {
		text, ok := value.(string)
		return text, ok && text != ""
	})
	return text
}

// Bool returns a setting that is true or false, looked up as in Int.
func (s *State) Bool(key string) bool {
	is, _ := look(s, key, func(value any) (bool, bool) {
		is, ok := value.(bool)
		return is, ok
	})
	return is
}

// look finds the first value of key that read accepts. run_timeout stands for
// each of the three run timeouts that the same level does not name.
func look[T any](s *State, key string, read func(any) (T, bool)) (T, bool) {
	for _, level := range []Settings{s.Overrides, s.Config, s.Defaults} {
		if value, ok := read(level[key]); ok {
			return value, true
		}
		if strings.HasSuffix(key, "_run_timeout") {
			if value, ok := read(level["run_timeout"]); ok {
				return value, true
			}
		}
	}
	return read(settings[key])
}

// IntegerOf reads a number as YAML and JSON decoders give it; ok is false for
// another type, a fraction, and a negative number.
func IntegerOf(value any) (n int, ok bool) {
	switch x := value.(type) {
	case int:
		return x, x >= 0
	case int64:
		return int(x), x >= 0
	case uint64:
		return int(x), x <= math.MaxInt
	case float64:
		return int(x), x == math.Trunc(x) && x >= 0 && x < math.MaxInt32
	}
	return 0, false
}
