package config

import (
	"errors"
	"strings"
	"testing"
)

// C-03, C-18: the file of the Coven document is good as it stands.
func TestTheFileOfCovenIsGood(t *testing.T) {
	t.Parallel()
	cfg, warnings, err := Parse([]byte(`{
  "orchestration": {"max_concurrent_agents": 3, "agent_timeout_minutes": 30, "poll_interval_seconds": 5},
  "review": {"mode": "normal", "checks": {"test_coverage": {"enabled": true, "severity": "warning"}, "e2e_tests": {"enabled": true, "severity": "warning"},
    "build_passes": {"enabled": true, "severity": "error"}, "lint_passes": {"enabled": true, "severity": "warning"}}, "auto_merge": false},
  "context": {"custom_instructions": "Follow our team conventions...", "excluded_paths": ["node_modules", "dist", ".git"], "relevant_files_limit": 10},
  "roles": {"default": "implement", "type_mapping": {"feature": "implement", "bug": "fix", "refactor": "refactor", "test": "test"}}
}`), ".liza/config.json", nil)
	if err != nil || len(warnings) > 0 {
		t.Fatalf("%v %v", err, warnings)
	}
	if cfg.Review.Mode != "normal" || cfg.Review.Severity("test_coverage") != "warning" || cfg.Orchestration.PollInterval.Seconds() != 5 {
		t.Errorf("%+v", cfg)
	}
}

func TestSetKeepsTheRestOfTheFile(t *testing.T) {
	t.Parallel()
	const file = "# ours\nlimits:   # money\n    cost_cents: 5   # five\n\n# programs\nagents: {default: claude}\n"
	for _, tt := range []struct{ name, file, data, key, value, want string }{
		{"no file", ".liza/config.yaml", "", "limits.cost_cents", "7", "version: 1\nlimits:\n  cost_cents: 7\n"},
		{"a value", ".liza/config.yaml", file, "limits.cost_cents", "7", strings.Replace(file, "5   # five", "7 # five", 1)},
		{"the same value", ".liza/config.yaml", file, "limits.cost_cents", "5", file},
		{"a new key", ".liza/config.yaml", file, "limits.tokens", "9", strings.Replace(file, "# five\n", "# five\n    tokens: 9\n", 1)},
		{"a list", ".liza/config.yaml", file, "worktree.setup", "npm ci, make", file + "worktree:\n  setup: [\"npm ci\", make]\n"},
		{"a list as YAML", ".liza/config.yaml", file, "worktree.setup", `["a, b"]`, file + "worktree:\n  setup: [\"a, b\"]\n"},
		{"an entry of a map", ".liza/config.yaml", file, "models.implement", "claude:big", file + "models:\n  implement: claude:big\n"},
		{"a price", ".liza/config.yaml", "", "prices.big.in", "2.5", "version: 1\nprices:\n  big: {in: 2.5}\n"},
		{"JSON", ".liza/config.json", "{\"b\": 1, \"limits\": {\"tokens\": 1, \"cost_cents\": 5}}", "limits.cost_cents", "7", "{\n  \"b\": 1,\n  \"limits\": {\n    \"tokens\": 1,\n    \"cost_cents\": 7\n  }\n}\n"},
		{"JSON, a new key", ".liza/config.json", "{}", "review.mode", "strict", "{\n  \"review\": {\n    \"mode\": \"strict\"\n  }\n}\n"},
	} {
		got, err := Set([]byte(tt.data), tt.file, tt.key, tt.value, nil)
		if err != nil || string(got) != tt.want {
			t.Errorf("%s: %v\n%s\nwant\n%s", tt.name, err, got, tt.want)
		}
	}
}

func TestSetRefusesWhatCannotBe(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ data, key, value, want string }{
		{"", "limits.cost_cent", "1", "cannot set limits.cost_cent: there is no such key; did you mean limits.cost_cents?"},
		{"", "cost_cents", "1", "did you mean limits.cost_cents?"},
		{"", "limits", "1", "it is a section"},
		{"", "limits.cost_cents.x", "1", "limits.cost_cents is a single value"},
		{"", "review.checks.scop.enabled", "true", "did you mean review.checks.scope?"},
		{"", "", "1", "there is no such key"},
		{"", "models.", "1", "single value"},
		{"", "limits.cost_cents", "-1", "cannot use limits.cost_cents of the command line: expected a whole number from 0"},
		{"", "review.mode", "loud", "expected nothing or one of strict"},
		{"", "agents.mine.prompt", "stdin", "expected a map with the key command"},
		{"review: {mode: strict}\n", "review.auto_merge", "true", "expected false in review.mode strict"},
		{"limits: [", "limits.cost_cents", "1", "cannot change a file that has errors"},
		{"limits: {tokens: x}\n", "limits.cost_cents", "1", "cannot use limits.tokens"},
	} {
		got, err := Set([]byte(tt.data), ".liza/config.yaml", tt.key, tt.value, nil)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s=%s: %v, want %q\n%s", tt.key, tt.value, err, tt.want, got)
		}
	}
	var unknown *KeyError
	if _, err := Set(nil, ".liza/config.yaml", "x", "1", nil); !errors.As(err, &unknown) {
		t.Errorf("an unknown key is %T", err)
	}
}

func TestStateSettingsAreTranslated(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{"limits.max_iterations": "max_coder_iterations", "protocol.lease_duration": "lease_duration", "limits.stall_minutes": "stall_timeout", "limits.heavy": "", "protocol.nothing": ""} {
		if got := Setting(key); got != want {
			t.Errorf("%s is %q in a state, want %q", key, got, want)
		}
	}
	c := Default()
	for _, tt := range []struct {
		key       string
		raw, want any
	}{{"limits.stall_minutes", 600, 10}, {"limits.stall_minutes", 90, 1.5}, {"limits.time_minutes", 60, 60}, {"protocol.lease_duration", 900, 900}, {"limits.max_iterations", "x", "x"}} {
		if got := c.Translate(tt.key, tt.raw); got != tt.want {
			t.Errorf("%s: %v is %v, want %v", tt.key, tt.raw, got, tt.want)
		}
	}
}

// N-40: whatever is in a file and on the command line, the rest of the file means what
// it meant before.
func FuzzSet(f *testing.F) {
	f.Add("limits: {cost_cents: 5} # x\n", "limits.cost_cents", "7")
	f.Add("settings:\n  max_facts: 1\n", "worktree.setup", "[a")
	f.Add("agents: &a {default: x}\n", "agents.default", "y")
	f.Fuzz(func(t *testing.T, data, key, value string) {
		before, _, err := Parse([]byte(data), ".liza/config.yaml", nil)
		next, problem := Set([]byte(data), ".liza/config.yaml", key, value, nil)
		if problem != nil {
			return
		}
		if err != nil {
			t.Fatalf("a broken file was changed: %v", err)
		}
		after, _, err := Parse(next, ".liza/config.yaml", nil)
		if err != nil {
			t.Fatalf("the result is broken: %v\n%s", err, next)
		}
		changed := 0
		old := map[string]string{}
		for _, v := range before.Values() {
			old[v.Key] = shownAny(v.Value)
		}
		for _, v := range after.Values() {
			if was, known := old[v.Key]; known && was != shownAny(v.Value) && v.Key != key {
				changed++
			}
		}
		if changed > 0 && key != "version" {
			t.Errorf("%d other settings changed:\n%s\n%s", changed, data, next)
		}
	})
}
