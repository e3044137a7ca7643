package config

import (
	"maps"
	"slices"
	"testing"

	"liza/pkg/agent"
	"liza/pkg/blackboard"
)

// The table of specs/protocol.md#2.8 is in two places, because the settings know no
// state and the state knows no file. They must not drift apart.
func TestKeysAndDefaultsAreThoseOfTheState(t *testing.T) {
	t.Parallel()
	all := Default().settings(func(Origin) bool { return true })
	want := slices.DeleteFunc(slices.Sorted(slices.Values(blackboard.SettingKeys())), func(key string) bool {
		return key == "run_timeout" // sets the three run timeouts; in a state only
	})
	if got := slices.Sorted(maps.Keys(all)); !slices.Equal(got, want) {
		t.Errorf("the settings have %q, a state has %q", got, want)
	}
	s := &blackboard.State{}
	for key, v := range all {
		var builtin any
		switch v.(type) {
		case int:
			builtin = s.Int(key)
		case bool:
			builtin = s.Bool(key)
		case string:
			builtin = s.Text(key)
		}
		if v != builtin {
			t.Errorf("%s: the default is %v here and %v in a state", key, v, builtin)
		}
	}
}

func TestTheBuiltInProgramsAreThoseOfTheCatalogue(t *testing.T) {
	t.Parallel()
	want := slices.DeleteFunc(agent.Names(), func(name string) bool { return name == "scripted" })
	if !slices.Equal(builtinPrograms, want) {
		t.Errorf("the settings know %q, the catalogue has %q", builtinPrograms, want)
	}
}
