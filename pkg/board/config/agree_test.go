package config

import (
	"maps"
	"net"
	"slices"
	"testing"

	"liza/pkg/board/blackboard"
	"liza/pkg/run/agent"
	"liza/pkg/run/proxy"
)

// A state has each key of specs/protocol.md#2.8 with its default, and the settings have a field for each. What
// the settings call limits has its default there too. They must not drift apart.
func TestKeysAndDefaultsAreThoseOfTheState(t *testing.T) {
	t.Parallel()
	all := Default().settings(func(Origin) bool { return true })
	want := slices.Sorted(slices.Values(blackboard.SettingKeys()))
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

// A host that the settings take can be allowed, and one of the catalogue as well.
func TestHostsOfSettingsAndCatalogueAreThoseOfTheProxy(t *testing.T) {
	t.Parallel()
	takes := func(host string) bool {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		p, err := proxy.Serve(l, proxy.Options{Hosts: []string{host}})
		if err == nil {
			_ = p.Close()
		}
		return err == nil
	}
	for _, host := range []string{"a.example", "*.a.example", "a.example:8443", "*.a.example:1", "127.0.0.1", "127.0.0.1:11434", "[::1]:80", "localhost", "my_host.example"} {
		if k := (kind{is: "host"}); k.text(host) != "" || !takes(host) {
			t.Errorf("%s: the settings say %q, the proxy takes it: %v", host, k.text(host), takes(host))
		}
	}
	for _, name := range agent.Names() {
		scenario := agent.Options{Scenario: "x"}
		a, err := agent.Lookup(name, scenario)
		if err != nil {
			t.Fatal(err)
		}
		n := a.Info().Needs
		for _, host := range slices.Concat(n.Hosts, n.Quiet) {
			if !takes(host) {
				t.Errorf("%s: the proxy cannot allow %s", name, host)
			}
		}
	}
}
