package config

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// What git puts into the working tree makes no gate and no limit of a team weaker; what a person writes does.
func TestHoldKeepsWhatGitWouldWeaken(t *testing.T) {
	t.Parallel()
	const strict = `integration: {checks: [make test], unverified: refuse}
limits: {cost_cents: 60, sprint_cost_cents: 200}
sandbox: {require: closed, allow: {hosts: [a.example]}}
review: {mode: strict, checks: {tests_pass: {command: make test}}}
policy: {reviewer_other_cli: true}
`
	for name, c := range map[string]struct {
		committed, file string
		held            []string
	}{
		"the same":                     {strict, strict, nil},
		"an older file of git":         {"models: {coder: m}", "models: {coder: m}", []string{"review.mode", "review.checks.tests_pass.command", "limits.cost_cents", "limits.sprint_cost_cents", "integration.checks", "integration.unverified", "sandbox.require", "policy.reviewer_other_cli"}},
		"a limit that git took away":   {"limits: {cost_cents: 0}\n" + without(strict, "limits"), "limits: {cost_cents: 0}\n" + without(strict, "limits"), []string{"limits.cost_cents", "limits.sprint_cost_cents"}},
		"a host that git brought":      {"sandbox: {require: closed, allow: {hosts: [a.example, b.example]}}\n" + without(strict, "sandbox"), "sandbox: {require: closed, allow: {hosts: [a.example, b.example]}}\n" + without(strict, "sandbox"), []string{"sandbox.allow.hosts"}},
		"stronger ones of git":         {"limits: {cost_cents: 50, sprint_cost_cents: 200}\n" + without(strict, "limits"), "limits: {cost_cents: 50, sprint_cost_cents: 200}\n" + without(strict, "limits"), nil},
		"a limit that a person raised": {strict, "limits: {cost_cents: 900, sprint_cost_cents: 200}\n" + without(strict, "limits"), nil},
		"a check that a person removed from an older file": {"integration: {checks: [make test]}", "integration: {checks: []}",
			[]string{"review.mode", "review.checks.tests_pass.command", "limits.cost_cents", "limits.sprint_cost_cents", "integration.unverified", "sandbox.require", "policy.reviewer_other_cli"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before, committed, now := parsed(t, strict), parsed(t, c.committed), parsed(t, c.file)
			held := now.Hold(before, committed)
			slices.Sort(held)
			slices.Sort(c.held)
			if !slices.Equal(held, c.held) {
				t.Fatalf("held %q, want %q", held, c.held)
			}
			for _, key := range held {
				if was, is := byKey(before)[key].get(), byKey(now)[key].get(); !reflect.DeepEqual(was.Interface(), is.Interface()) {
					t.Errorf("%s is %v, want %v", key, is, was)
				}
			}
			if slices.Contains(held, "limits.cost_cents") && now.Settings()["cost_cents"] != 60 {
				t.Errorf("the board is told %v", now.Settings()["cost_cents"])
			}
		})
	}
}

func parsed(t *testing.T, text string) *Config {
	t.Helper()
	c, _, err := Parse([]byte(text), ".liza/config.yaml", nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// without is a text less the line of a section.
func without(text, section string) string {
	var kept string
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, section+":") {
			kept += line
		}
	}
	return kept
}
