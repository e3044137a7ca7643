package config

import (
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"liza/pkg/board/blackboard"
)

// Default returns a new copy of the built-in settings.
func Default() *Config {
	return &Config{
		Version:       1,
		Protocol:      defaultProtocol(),
		Orchestration: Orchestration{MaxConcurrentAgents: 3, AgentTimeout: 30 * time.Minute, PollInterval: 30 * time.Second},
		Agents:        Agents{Default: "claude", Custom: map[string]CustomAgent{}},
		Models: map[string]Model{
			"default": {}, "planner": {}, "coder": {}, "code_reviewer": {}, "messenger": {}, "summarizer": {},
		},
		Roles: Roles{
			Default: "implement",
			TypeMapping: Names{
				"feature": "implement", "task": "implement", "bug": "fix", "refactor": "refactor",
				"test": "test", "docs": "implement", "config": "implement", "spec": "implement",
			},
			ByKind: Names{
				"planner": "planner", "code_reviewer": "review", "messenger": "messenger", "summarizer": "summarizer",
			},
		},
		Context: Context{
			MaxChars:           30000,
			ExcludedPaths:      []string{"node_modules", "dist", ".git", "vendor", "target", "build", ".venv", "__pycache__"},
			RelevantFilesLimit: 10,
			PriorAttempts:      5,
			Messages:           10,
		},
		Plan: Plan{FinalMsg: "require"},
		Review: Review{
			Baseline:        true,
			UserFacingPaths: []string{"web/**", "ui/**", "frontend/**", "app/**", "pages/**", "routes/**", "api/**", "cmd/**", "cli/**", "**/*.html", "**/openapi*"},
			E2EPaths:        []string{"e2e/**", "**/e2e/**", "**/*.e2e.*", "cypress/**", "playwright/**", "tests/integration/**", "testdata/script/**"},
			Checks:          defaultChecks(),
			Evidence:        Exhibits{},
		},
		Services: Services{},

		Git:   Git{RemoteTimeout: time.Minute},
		Merge: Merge{Train: 1},

		Worktree: Worktree{Seed: Seed{MaxGB: 10}},

		Integration: Integration{Unverified: "ask"},
		Import:      Import{Comment: true, Close: true},
		Land:        Land{Forge: "none", Remote: "origin", Per: "goal", Merge: "none", Method: "merge", Sync: "off", MaxFixes: 5},
		Limits:      defaultLimits(),
		Prices:      map[string]Price{},
		Messenger:   Messenger{Mode: "llm"},
		History:     History{MaxMB: 100},
		Secrets:     Secrets{Store: "file"},
		Exec:        Exec{RerunAfterCrash: true},
		Sandbox:     Sandbox{Level: "auto", Limits: SandboxLimits{Processes: 4096, DiskMB: 4096, FileMB: 4096}},
		Policy:      Policy{Callers: Names{}, UserKinds: []string{"code", "msg"}, MinFreeMB: 1024},
		Notify:      Notify{RequireHTTPS: true},
		origins:     map[string]Origin{},
	}
}

// defaultProtocol returns the settings of a board without own values.
func defaultProtocol() Protocol {
	var p Protocol
	v := reflect.ValueOf(&p).Elem()
	for f := range v.Type().Fields() {
		switch is := blackboard.BuiltIn(f.Tag.Get("key")).(type) {
		case nil: // a test names it
		case int:
			n := int64(is)
			if f.Type == durationType {
				n *= int64(unitOf(f.Tag.Get("unit")))
			}
			v.FieldByIndex(f.Index).SetInt(n)
		default:
			v.FieldByIndex(f.Index).Set(reflect.ValueOf(is))
		}
	}
	return p
}

func defaultLimits() Limits {
	const m = time.Minute
	return Limits{
		MaxIterations: 10, MaxReviewCycles: 5,
		MaxPlanRetries: 2, MaxReplanDepth: 3, MaxParseRetries: 3, TaskCrashes: 2, OnReviewDepth: "escalate",
		CostCents: 1000, Time: 60 * m,
		Stall: 10 * m, ExecTimeout: 120 * time.Second, CheckTimeout: 300 * time.Second,
		MaxOutputBytes: 1 << 20, MaxPlanTasks: 20, MaxFacts: 50, SummarizeThreshold: 30,
		WarnPercent: 75,
	}
}

func defaultChecks() map[string]Check {
	return map[string]Check{
		"build_passes":   {Enabled: true, Severity: "error"},
		"lint_passes":    {Enabled: true, Severity: "warning"},
		"tests_pass":     {Enabled: true, Severity: "error"},
		"test_coverage":  {Enabled: true},
		"e2e_tests":      {Enabled: true, Severity: "warning"},
		"security":       {Enabled: true, Severity: "error"},
		"scope":          {Enabled: true, Severity: "warning"},
		"tests_weakened": {Enabled: true, Severity: "warning"},
		"merge_preview":  {Enabled: true, Severity: "info"},
		"spec_currency":  {Enabled: true, Severity: "info"},
		"code_quality":   {Enabled: true, Severity: "warning"},
		"evidence":       {Enabled: true, Severity: "error"},
	}
}

// Severity returns the effective severity of a check. Without a setting, that of test_coverage depends on the mode: error
// without a mode, warning with one.
func (r Review) Severity(check string) string {
	if s := r.Checks[check].Severity; s != "" {
		return s
	}
	if s := defaultChecks()[check].Severity; s != "" {
		return s
	}
	if check == "test_coverage" && r.Mode == "" {
		return "error"
	}
	return "warning"
}

// SandboxOf returns the settings of one program: those of the project with those of agents.NAME.sandbox. Lists are joined,
// other values replaced.
func (c *Config) SandboxOf(program string) Sandbox {
	out := c.Sandbox
	program, _, _ = strings.Cut(program, "@") // its account
	own := c.Agents.Custom[program].Sandbox
	c.overlay(reflect.ValueOf(&out).Elem(), reflect.ValueOf(own), "agents."+program+".sandbox")
	return out
}

func (c *Config) overlay(to, own reflect.Value, prefix string) {
	for i := range to.NumField() {
		key := join(prefix, to.Type().Field(i).Tag.Get("key"))
		switch at := to.Field(i); {
		case at.Kind() == reflect.Struct:
			c.overlay(at, own.Field(i), key)
		case at.Kind() == reflect.Slice:
			at.Set(reflect.ValueOf(slices.Concat(at.Interface().([]string), own.Field(i).Interface().([]string))))
		case c.IsSet(key):
			at.Set(own.Field(i))
		}
	}
}

var (
	pathForm     = lazy(`^(~(/.*)?|[^~\x00][^\x00]*)$`)
	hostForm     = lazy(`^((\*\.)?[A-Za-z0-9_]([A-Za-z0-9._-]*[A-Za-z0-9_])?|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?$`)
	rungForm     = lazy(`^[^:\s]+:\S+$`)
	serviceForm  = lazy(`^[a-z][a-z0-9_-]{0,31}$`) // also a part of names of files
	dollarForm   = lazy(`\$(\$|[A-Za-z_][A-Za-z0-9_]*|\{[A-Za-z_][A-Za-z0-9_]*\}|)`)
	variableForm = lazy(`^[A-Za-z_][A-Za-z0-9_]*\*?$`)
)

func lazy(form string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(form) })
}

// Path returns the absolute path of a text of sandbox.allow: ~/ is the person's home folder, and a relative path is in the
// project.
func Path(text, home, root string) string {
	if rest, ok := strings.CutPrefix(text, "~"); ok {
		return filepath.Join(home, rest)
	}
	if filepath.IsAbs(text) {
		return filepath.Clean(text)
	}
	return filepath.Join(root, text)
}
