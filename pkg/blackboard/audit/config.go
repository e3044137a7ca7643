package audit

import (
	"fmt"
	"strings"

	"liza/pkg/blackboard"
)

// The rules V47 and V48: the config section.

var checkpointModes = []string{"required", "warn", "off"}

func checkConfig(v *validation) {
	for _, key := range sortedKeys(v.s.Config) {
		value, standard := v.s.Config[key], blackboard.BuiltIn(key)
		if value == nil || standard == nil {
			continue
		}
		if problem := settingProblem(key, value, standard); problem != "" {
			v.section("config", "."+key, "config.%s %s %s", key, shown(value), problem).Lenient(v.v1)
		}
	}
	if lease, beat := v.s.Int("lease_duration"), v.s.Int("heartbeat_interval"); lease < 3*beat {
		v.section("config", ".lease_duration", "config.lease_duration %d is less than 3 × heartbeat_interval %d", lease, beat).Lenient(v.v1)
	}
}

// settingProblem says what is wrong with the value of a known key, or "".
func settingProblem(key string, value, standard any) string {
	switch standard.(type) {
	case int:
		if _, ok := blackboard.IntegerOf(value); ok {
			return ""
		}
		switch n := value.(type) {
		case int, int64:
			return "must not be negative"
		case float64:
			if n < 0 && n == float64(int64(n)) {
				return "must not be negative"
			}
		}
		return "must be an integer"
	case bool:
		if _, ok := value.(bool); !ok {
			return "must be true or false"
		}
	case string:
		text, ok := value.(string)
		switch {
		case !ok:
			return "must be a text"
		case key == "integration_branch" && !branchName(text):
			return "is not a valid branch name"
		case key == "pre_execution_checkpoint" && text != "" && !blackboard.List(checkpointModes).Has(text):
			return "must be " + blackboard.OrList(checkpointModes)
		}
	}
	return ""
}

func shown(value any) string {
	if text, ok := value.(string); ok {
		return fmt.Sprintf("%q", text)
	}
	return fmt.Sprint(value)
}

// branchName reports whether git accepts name as a branch (git check-ref-format).
func branchName(name string) bool {
	if name == "" || name == "@" || name == "HEAD" || strings.HasPrefix(name, "-") || strings.HasSuffix(name, ".") ||
		strings.Contains(name, "..") || strings.Contains(name, "@{") || strings.ContainsAny(name, " ~^:?*[\\") {
		return false
	}
	for i := range len(name) {
		if name[i] < 0x20 || name[i] == 0x7f {
			return false
		}
	}
	for _, part := range strings.Split(name, "/") {
		if part == "" || strings.HasPrefix(part, ".") || strings.HasSuffix(part, ".lock") {
			return false
		}
	}
	return true
}

func checkConfigKeys(v *validation) {
	for _, key := range sortedKeys(v.s.Config) {
		if blackboard.BuiltIn(key) == nil {
			v.section("config", "."+key, "config: unknown key '%s'%s", key, blackboard.NearestHint(key, blackboard.SettingKeys()))
		}
	}
}
