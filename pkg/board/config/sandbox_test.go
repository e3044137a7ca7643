package config

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

func TestTheSandboxOfAProgramAddsListsAndReplacesTheRest(t *testing.T) {
	t.Parallel()
	cfg := mustLoad(t, folder(t, "config.yaml", `
sandbox:
  level: partial
  require: partial
  allow: {read: [~/data], hosts: ["*.example.com"], registries: true}
  limits: {processes: 100, memory_mb: 512}
agents:
  claude:
    sandbox:
      level: open
      allow: {read: [/opt/models], write: [~/.claude/todos], env: [MY_*], registries: false}
      limits: {processes: 0}
`))
	got := cfg.SandboxOf("claude")
	want := Sandbox{Level: "open", Require: "partial",
		Allow:  Allow{Read: []string{"~/data", "/opt/models"}, Write: []string{"~/.claude/todos"}, Hosts: []string{"*.example.com"}, Env: []string{"MY_*"}},
		Limits: SandboxLimits{MemoryMB: 512, DiskMB: 4096, FileMB: 4096}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("of claude:\n got %+v\nwant %+v", got, want)
	}
	if other := cfg.SandboxOf("codex"); other.Level != "partial" || !other.Allow.Registries || len(other.Allow.Read) != 1 || other.Limits.Processes != 100 {
		t.Errorf("of codex, which has nothing of its own: %+v", other)
	}
	if len(cfg.Sandbox.Allow.Read) != 1 {
		t.Errorf("the project's own list has become %v", cfg.Sandbox.Allow.Read)
	}
}

func TestAValueOfTheSandboxThatCannotBeIsRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"sandbox: {level: strong}":                         "one of auto, closed, partial, open",
		"sandbox: {require: open}":                         "nothing or one of closed, partial",
		"sandbox: {allow: {read: [~bob/x]}}":               "a path that begins with / or ~/",
		"sandbox: {allow: {write: ['']}}":                  "a path that begins with / or ~/",
		"sandbox: {allow: {hosts: ['https://x.com/']}}":    "a host: api.example.com",
		"sandbox: {allow: {hosts: ['*']}}":                 "a host: api.example.com",
		"sandbox: {allow: {hosts: ['a.*.com']}}":           "a host: api.example.com",
		"sandbox: {allow: {env: ['*']}}":                   "the name of a variable",
		"sandbox: {allow: {env: ['A B']}}":                 "the name of a variable",
		"sandbox: {limits: {memory_mb: -1}}":               "a whole number",
		"agents: {codex: {sandbox: {level: 1}}}":           "a string",
		"agents: {codex: {sandbox: {allow: {env: [1x]}}}}": "the name of a variable",
	} {
		_, _, err := Load(folder(t, "config.yaml", text), nil)
		var wrong *ValueError
		if !errors.As(err, &wrong) || !strings.Contains(wrong.Expected, want) {
			t.Errorf("%s: %v, want that %q is expected", text, err, want)
		}
	}
	mustLoad(t, folder(t, "config.yaml", `sandbox: {allow: {read: ["~", ~/x, docs, ./a, ../b, /c], hosts: [localhost, "a.b:8080", "*.c.d", "127.0.0.1:11434", "[::1]:80"], env: [A, B_*]}}`))
}

// LIZA_SANDBOX is what people write; the regular name counts when both are set.
func TestTheLevelHasAShortVariable(t *testing.T) {
	t.Parallel()
	liza := folder(t, "config.yaml", "sandbox: {level: closed}")
	cfg := mustLoad(t, liza, "LIZA_SANDBOX=open")
	if origin := cfg.Origin("sandbox.level").String(); cfg.Sandbox.Level != "open" || origin != "LIZA_SANDBOX" {
		t.Errorf("level %s of %s, want open of LIZA_SANDBOX", cfg.Sandbox.Level, origin)
	}
	cfg = mustLoad(t, liza, "LIZA_SANDBOX=open", "LIZA_SANDBOX_LEVEL=partial")
	if origin := cfg.Origin("sandbox.level").String(); cfg.Sandbox.Level != "partial" || origin != "LIZA_SANDBOX_LEVEL" {
		t.Errorf("level %s of %s, want partial of LIZA_SANDBOX_LEVEL", cfg.Sandbox.Level, origin)
	}
	var wrong *ValueError
	if _, _, err := Load(liza, []string{"LIZA_SANDBOX=none"}); !errors.As(err, &wrong) || wrong.Variable != "LIZA_SANDBOX" {
		t.Errorf("LIZA_SANDBOX=none: %v", err)
	}
	if got := Handed([]string{"LIZA_SANDBOX=open"}); !reflect.DeepEqual(got, map[string]string{"sandbox.level": "open"}) {
		t.Errorf("handed on: %v", got)
	}
}

func TestPathsOfTheSandboxHaveOneRule(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"~": "/home/ada", "~/": "/home/ada", "~/.cache/x/": "/home/ada/.cache/x", "/opt//x/": "/opt/x",
		"docs": "/work/p/docs", "./docs": "/work/p/docs", "../q": "/work/q", "a~b": "/work/p/a~b",
	} {
		if got := Path(text, "/home/ada", "/work/p"); got != want {
			t.Errorf("%s is %s, want %s", text, got, want)
		}
	}
}
