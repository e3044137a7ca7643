package blackboard

import (
	"slices"
	"testing"
	"time"
)

func TestASettingIsLookedUpInStateThenConfigurationThenBuiltIn(t *testing.T) {
	t.Parallel()
	s := &State{}
	if got := s.Int("lease_duration"); got != 1800 {
		t.Errorf("built-in: %d", got)
	}
	s.Defaults = Settings{"lease_duration": 900, "tests_required": false, "integration_branch": "trunk"}
	if got := s.Duration("lease_duration"); got != 15*time.Minute {
		t.Errorf("configured: %s", got)
	}
	if s.Bool("tests_required") || s.Text("integration_branch") != "trunk" {
		t.Errorf("configured: %v, %q", s.Bool("tests_required"), s.Text("integration_branch"))
	}
	s.Config = Settings{"lease_duration": 600, "tests_required": true, "integration_branch": "main"}
	if s.Int("lease_duration") != 600 || !s.Bool("tests_required") || s.Text("integration_branch") != "main" {
		t.Errorf("in the state: %d, %v, %q", s.Int("lease_duration"), s.Bool("tests_required"), s.Text("integration_branch"))
	}
	if s.Int("no_such_key") != 0 || s.Text("no_such_key") != "" || s.Bool("no_such_key") {
		t.Error("an unknown key has a value")
	}
}

func TestAValueOfAnotherTypeIsPassedOver(t *testing.T) {
	t.Parallel()
	for _, value := range []any{"60", 1.5, -1, int64(-1), -2.0, true, nil, []any{1}} {
		s := &State{Config: Settings{"stall_timeout": value}, Defaults: Settings{"stall_timeout": 20}}
		if got := s.Int("stall_timeout"); got != 20 {
			t.Errorf("%v (%T): %d, want 20", value, value, got)
		}
	}
	for _, value := range []any{7, int64(7), uint64(7), 7.0} {
		s := &State{Config: Settings{"stall_timeout": value}}
		if got := s.Int("stall_timeout"); got != 7 {
			t.Errorf("%v (%T): %d, want 7", value, value, got)
		}
	}
	s := &State{Config: Settings{"integration_branch": 7, "tests_required": "no"}}
	if s.Text("integration_branch") != "integration" || !s.Bool("tests_required") {
		t.Errorf("%q, %v", s.Text("integration_branch"), s.Bool("tests_required"))
	}
}

// A constant is no setting: only a test replaces it.
func TestAConstantIsReplacedByTheOverridesAlone(t *testing.T) {
	t.Parallel()
	s := &State{Config: Settings{"kill_grace": 1}, Defaults: Settings{"kill_grace": 2}}
	if got := s.Int("kill_grace"); got != 10 {
		t.Errorf("kill_grace is %d, want 10", got)
	}
	s.Overrides = Settings{"kill_grace": 3}
	if got := s.Int("kill_grace"); got != 3 {
		t.Errorf("kill_grace is %d, want 3", got)
	}
	for lease, want := range map[int]time.Duration{1800: time.Minute, 30: 10 * time.Second, 2: time.Second} {
		if got := (&State{Config: Settings{"lease_duration": lease}}).Heartbeat(); got != want {
			t.Errorf("a lease of %d s has a heartbeat each %s, want %s", lease, got, want)
		}
	}
}

func TestTheKeysOfSettingsAreSortedAndTyped(t *testing.T) {
	t.Parallel()
	keys := SettingKeys()
	if len(keys) != len(settings) || !slices.IsSorted(keys) {
		t.Errorf("keys are %v", keys)
	}
	for key, value := range settings {
		switch value.(type) {
		case int, string, bool:
		default:
			t.Errorf("%s has a default of type %T", key, value)
		}
	}
}
