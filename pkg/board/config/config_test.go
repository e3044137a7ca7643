package config

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// folder makes a .liza folder with one file in it.
func folder(t *testing.T, name, content string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), ".liza")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if name != "" {
		write(t, dir, name, content)
	}
	return dir
}

func write(t *testing.T, dir, name, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func mustLoad(t *testing.T, liza string, env ...string) *Config {
	t.Helper()
	cfg, warnings, err := Load(liza, env)
	if err != nil {
		t.Fatalf("Load: %v", err)
	}
	if len(warnings) > 0 {
		t.Fatalf("Load warned: %v", warnings)
	}
	return cfg
}

func TestWithoutAFileEverythingIsDefault(t *testing.T) {
	t.Parallel()
	cfg := mustLoad(t, folder(t, "", ""), "HOME=/root", "LIZA_AGENT_ID=coder-1", "LIZA_SECRET_X=1", "LIZA_RUN_ID=7")
	want := Default()
	want.set, want.overrides = cfg.set, cfg.overrides
	if !reflect.DeepEqual(cfg, want) {
		t.Errorf("got %+v, want the defaults", cfg)
	}
	if cfg.Origin("limits.cost_cents").String() != "default" || cfg.IsSet("limits.cost_cents") {
		t.Errorf("the origin of limits.cost_cents is %v, want default", cfg.Origin("limits.cost_cents"))
	}
	if len(cfg.Settings()) != 0 {
		t.Errorf("Settings() = %v, want none", cfg.Settings())
	}
}

func TestAnEmptyFileIsNoFile(t *testing.T) {
	t.Parallel()
	for _, content := range []string{"", "\n# only a comment\n", "null\n"} {
		mustLoad(t, folder(t, "config.yaml", content))
	}
}

const everything = `version: 1
protocol: {integration_branch: next/main, lease_duration: 900, pre_execution_checkpoint: off}
orchestration: {max_concurrent_agents: 5, agent_timeout_minutes: 45}
agents:
  default: mine
  fallback: [codex, gemini]
  mine:
    command: [bash, ./my-agent.sh, "{{.PromptFile}}"]
    env: {MY_FLAG: "1"}
  other: {command: [x], prompt: file, output: claude-stream-json}
  codex: {env: {A: "b"}}
models: {coder: "claude:sonnet", fix: opus}
roles:
  default: fix
  type_mapping: {bug: implement, weird: test}
  by_kind: {planner: my-planner}
context: {max_chars: 8000, excluded_paths: []}
plan: {final_msg: append, human_review: true}
review:
  mode: normal
  auto_merge: true
  checks:
    lint_passes: {enabled: false}
    tests_pass: {command: "make test", severity: warning}
limits: {max_iterations: 3, stall_minutes: 4, tokens: 5000000000, time_minutes: 90}
prices: {sonnet: {in: 3, out: 15.5}}
worktree: {setup: ["npm ci"]}
policy: {callers: {ada: admin}, deny: ["rm -rf"], min_free_mb: 0}
notify: {webhook_url: "https://example.org/hook", events: [blocked]}
`

func TestAFileSetsEveryKindOfValue(t *testing.T) {
	t.Parallel()
	cfg := mustLoad(t, folder(t, "config.yaml", everything))
	checks := []struct {
		name      string
		got, want any
	}{
		{"branch", cfg.Protocol.IntegrationBranch, "next/main"},
		{"seconds", cfg.Protocol.LeaseDuration, 15 * time.Minute},
		{"off is a word", cfg.Protocol.PreExecutionCheckpoint, "off"},
		{"untouched neighbour", cfg.Orchestration.PollInterval, 30 * time.Second},
		{"fallback", cfg.Agents.Fallback.For("coder"), []string{"codex", "gemini"}},
		{"agent", cfg.Agents.Custom["mine"], CustomAgent{Command: []string{"bash", "./my-agent.sh", "{{.PromptFile}}"}, Prompt: "stdin", Output: "text", Env: Names{"MY_FLAG": "1"}}},
		{"agent in one line", cfg.Agents.Custom["other"], CustomAgent{Command: []string{"x"}, Prompt: "file", Output: "claude-stream-json"}},
		{"changed agent", cfg.Agents.Custom["codex"], CustomAgent{Env: Names{"A": "b"}}},
		{"model of a kind", cfg.Models["coder"].Name, "claude:sonnet"},
		{"model of a role", cfg.Models["fix"].Name, "opus"},
		{"mapping changed", cfg.Roles.TypeMapping["bug"], "implement"},
		{"mapping added", cfg.Roles.TypeMapping["weird"], "test"},
		{"mapping kept", cfg.Roles.TypeMapping["refactor"], "refactor"},
		{"empty list", cfg.Context.ExcludedPaths, []string{}},
		{"check disabled, rest kept", cfg.Review.Checks["lint_passes"], Check{Severity: "warning"}},
		{"check changed", cfg.Review.Checks["tests_pass"], Check{Enabled: true, Severity: "warning", Command: "make test"}},
		{"check untouched", cfg.Review.Checks["security"], Check{Enabled: true, Severity: "error"}},
		{"minutes", cfg.Orchestration.AgentTimeout, 45 * time.Minute},
		{"large number", cfg.Limits.Tokens, 5_000_000_000},
		{"price", cfg.Prices["sonnet"], Price{In: 3, Out: 15.5}},
		{"callers", cfg.Policy.Callers, Names{"ada": "admin"}},
	}
	for _, c := range checks {
		if !reflect.DeepEqual(c.got, c.want) {
			t.Errorf("%s: got %#v, want %#v", c.name, c.got, c.want)
		}
	}
	for key, want := range map[string]string{
		"protocol.lease_duration":            ".liza/config.yaml:2",
		"agents.mine.command":                ".liza/config.yaml:8",
		"agents.mine":                        ".liza/config.yaml:7",
		"models.fix":                         ".liza/config.yaml:12",
		"review.checks.tests_pass.command":   ".liza/config.yaml:24",
		"review.checks.lint_passes.severity": "default",
		"limits.cost_cents":                  "default",
	} {
		if got := cfg.Origin(key).String(); got != want {
			t.Errorf("origin of %s: got %s, want %s", key, got, want)
		}
	}
}

func TestJSONIsReadLikeYAML(t *testing.T) {
	t.Parallel()
	text := "{\n\t\"review\": {\n\t\t\"mode\": \"yolo\",\n\t\t\"auto_merge\": false\n\t},\n\t\"agents\": {\"fallback\": {\"coder\": [\"codex\"]}},\n\t\"context\": {\"custom_instructions\": \"be \\ud83d\\ude00\"}\n}\n"
	cfg := mustLoad(t, folder(t, "config.json", text))
	if cfg.Review.Mode != "yolo" || cfg.Context.CustomInstructions != "be 😀" {
		t.Errorf("got %+v and %q", cfg.Review.Mode, cfg.Context.CustomInstructions)
	}
	if got := cfg.Agents.Fallback; !slices.Equal(got.For("coder"), []string{"codex"}) || got.For("planner") != nil {
		t.Errorf("fallback by role: got %+v", got)
	}
	if got := cfg.Origin("review.mode").String(); got != ".liza/config.json:3" {
		t.Errorf("origin of review.mode: got %s", got)
	}
}

func TestAllDefectsAreReportedAtOnce(t *testing.T) {
	t.Parallel()
	liza := folder(t, "config.yaml", `version: 2
protocol:
  lease_duration: "60"
  integration_branch: "a..b"
review:
  mode: loose
  checks: {security: {severity: fatal}}
limits:
  cost_cents: 1.5
  time_minutes: soon
  warn_percent: 101
agents:
  mine: {prompt: stdin}
  broken: claude
policy: {deny: ["ok", "("], user_kinds: code}
notify: {webhook_url: "https://ada:geheim@example.org", events: [blocked, lunch]}
review:
  auto_merge: true
prices: []
`)
	_, _, err := Load(liza, []string{"LIZA_LIMITS_MAX_FACTS=many"})
	if err == nil {
		t.Fatal("Load accepted a broken file")
	}
	for _, want := range []string{
		`cannot use version of .liza/config.yaml:1: expected 1, found 2`,
		`cannot use protocol.lease_duration of .liza/config.yaml:3: expected a whole number of seconds from 30 to 86400, found "60"`,
		`cannot use protocol.integration_branch of .liza/config.yaml:4: expected the name of a branch, found "a..b"`,
		`cannot use limits.cost_cents of .liza/config.yaml:9: expected a whole number from 0 to 100000000, found 1.5`,
		`cannot use limits.time_minutes of .liza/config.yaml:10: expected a whole number of minutes from 0 to 100000000, found "soon"`,
		`cannot use limits.warn_percent of .liza/config.yaml:11: expected a whole number from 0 to 100, found 101`,
		`cannot use agents.mine of .liza/config.yaml:13: expected a map with the key command: a list with the program and its arguments, found a map`,
		`cannot use agents.broken of .liza/config.yaml:14: expected a map with the keys command, prompt, output, answer, env, model, `,
		`cannot use policy.deny of .liza/config.yaml:15: expected a regular expression (RE2) in the list, found "("`,
		`cannot use policy.user_kinds of .liza/config.yaml:15: expected a list of strings, found "code"`,
		`cannot use notify.webhook_url of .liza/config.yaml:16: expected a URL that begins with https:// or http:// and has no user name, found something else`,
		`cannot use notify.events of .liza/config.yaml:16: expected one of output, `,
		`cannot use review of .liza/config.yaml:17: expected the key once, found it again (first in line 5)`,
		`cannot use prices of .liza/config.yaml:19: expected a map, found a list`,
		`cannot use limits.max_facts of LIZA_LIMITS_MAX_FACTS: expected a whole number from 0 to 100000000, found "many"`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("missing: %s", want)
		}
	}
	if strings.Contains(err.Error(), "geheim") {
		t.Errorf("the password of the webhook is in the message")
	}
	var value *ValueError
	if !errors.As(err, &value) || value.Key != "review" && value.Line == 0 {
		t.Errorf("the error has no *ValueError: %v", err)
	}
	if t.Failed() {
		t.Logf("all errors:\n%v", err)
	}
}

func TestAReadingCommandGoesOnWithDefaults(t *testing.T) {
	t.Parallel()
	liza := folder(t, "config.yaml", "limits: {cost_cents: lots, max_facts: 7}\nreview: {mode: strict, mode: yolo}\nagents: {mine: {prompt: x}}\n")
	cfg, warnings := LoadTolerant(liza, []string{"LIZA_LIMITS_TOKENS=-3"})
	if cfg.Limits.CostCents != 1000 || cfg.Limits.MaxFacts != 7 || cfg.Limits.Tokens != 0 || cfg.Review.Mode != "yolo" || len(cfg.Agents.Custom) != 0 {
		t.Errorf("got %+v, %+v, %+v", cfg.Limits, cfg.Review.Mode, cfg.Agents)
	}
	var lines []string
	for _, w := range warnings {
		lines = append(lines, w.String())
	}
	all := strings.Join(lines, "\n")
	for _, want := range []string{
		`.liza/config.yaml:1: limits.cost_cents: expected a whole number from 0 to 100000000, found "lots"; it is left out`,
		`.liza/config.yaml:2: review.mode: expected the key once, found it again (first in line 2); the later one is used`,
		`LIZA_LIMITS_TOKENS: limits.tokens: expected`,
	} {
		if !strings.Contains(all, want) {
			t.Errorf("missing: %s\nin:\n%s", want, all)
		}
	}
}

func TestAnUnknownKeyIsAWarningWithTheNearestName(t *testing.T) {
	t.Parallel()
	liza := folder(t, "config.yaml", `limits: {max_iteration: 3, zzzzzzzzzz: 1}
max_facts: 9
review: {checks: {securty: {enabled: false}}}
limits2: 1
`)
	_, warnings, err := Load(liza, []string{"LIZA_REVIEW_MOD=yolo", "LIZA_HOME=/x", "LIZA_PRICES=1"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, w := range warnings {
		got = append(got, w.String())
	}
	want := []string{
		".liza/config.yaml:1: unknown key limits.max_iteration; nearest: limits.max_iterations",
		".liza/config.yaml:1: unknown key limits.zzzzzzzzzz",
		".liza/config.yaml:2: unknown key max_facts; nearest: limits.max_facts",
		".liza/config.yaml:3: unknown key review.checks.securty; nearest: review.checks.security",
		".liza/config.yaml:4: unknown key limits2; nearest: limits",
		"LIZA_PRICES: ignored: a map cannot be set by a variable",
		"LIZA_REVIEW_MOD: no such setting; nearest: LIZA_REVIEW_MODE",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A setting of the board in the file, under its name on the board, is told with the key that counts here.
func TestASettingOfTheBoardInTheFileSaysWhereItBelongs(t *testing.T) {
	t.Parallel()
	liza := folder(t, "config.yaml", "protocol: {stall_timeout: 5}\nlease_duration: 900\nlimits: {max_coder_iterations: 3}\n")
	_, warnings, err := Load(liza, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, w := range warnings {
		got = append(got, w.String())
	}
	want := []string{
		".liza/config.yaml:1: unknown key protocol.stall_timeout; here it is limits.stall_minutes; on the board: liza config stall_timeout VALUE",
		".liza/config.yaml:2: unknown key lease_duration; here it is protocol.lease_duration; on the board: liza config lease_duration VALUE",
		".liza/config.yaml:3: unknown key limits.max_coder_iterations; here it is limits.max_iterations; on the board: liza config max_coder_iterations VALUE",
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestTheEnvironmentWinsOverTheFile(t *testing.T) {
	t.Parallel()
	liza := folder(t, "config.yaml", "review: {mode: strict}\nlimits: {cost_cents: 5}\n")
	cfg := mustLoad(t, liza, "LIZA_REVIEW_MODE=yolo", "LIZA_LIMITS_COST_CENTS=50", "LIZA_PLAN_HUMAN_REVIEW=true",
		"LIZA_REVIEW_TEST_PATHS=a/**, b/**", "LIZA_AGENTS_FALLBACK=codex,gemini", "LIZA_MODELS_CODER=opus", "LIZA_REVIEW_CHECKS_SECURITY_ENABLED=false",
		"LIZA_REVIEW_CHECKS_SECURITY_SEVERITY=warning", "LIZA_ORCHESTRATION_AGENT_TIMEOUT_MINUTES=7", "LIZA_MESSENGER_MODE=", "LIZA_AGENT_ID=coder-1")
	if cfg.Review.Mode != "yolo" || cfg.Limits.CostCents != 50 || !cfg.Plan.HumanReview || cfg.Models["coder"].Name != "opus" ||
		cfg.Orchestration.AgentTimeout != 7*time.Minute || cfg.Messenger.Mode != "llm" {
		t.Errorf("got %+v", cfg)
	}
	if !slices.Equal(cfg.Review.TestPaths, []string{"a/**", "b/**"}) || !slices.Equal(cfg.Agents.Fallback.All, []string{"codex", "gemini"}) {
		t.Errorf("lists: got %v and %v", cfg.Review.TestPaths, cfg.Agents.Fallback)
	}
	if got := cfg.Review.Checks["security"]; got != (Check{Severity: "warning"}) {
		t.Errorf("security: got %+v", got)
	}
	if got := cfg.Origin("review.mode").String(); got != "LIZA_REVIEW_MODE" {
		t.Errorf("origin: got %s", got)
	}
}

func TestFilesThatCannotBeReadAreNamedWithTheirLine(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, file, content, want string }{
		{"bad YAML", "config.yaml", "review:\n  mode: [\n", "cannot read .liza/config.yaml:"},
		{"two documents", "config.yaml", "version: 1\n---\nversion: 1\n", "more than one document"},
		{"bad JSON", "config.json", "{\n  \"version\": 1,\n}", "cannot read .liza/config.json:3: not JSON"},
		{"two values in JSON", "config.json", "{}\n{}", "cannot read .liza/config.json:2"},
		{"empty JSON", "config.json", "", "not JSON"},
		{"a list", "config.yaml", "- a\n", "cannot use the file of .liza/config.yaml:1: expected a map with the keys version, protocol"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			liza := folder(t, tt.file, tt.content)
			if _, _, err := Load(liza, nil); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
			cfg, warnings := LoadTolerant(liza, nil)
			if cfg == nil || cfg.Review.Mode != "" || len(warnings) != 1 {
				t.Errorf("tolerant: %v, %v", cfg, warnings)
			}
		})
	}
}

func TestTwoFilesAreAnError(t *testing.T) {
	t.Parallel()
	liza := folder(t, "config.yaml", "version: 1\n")
	write(t, liza, "config.json", "{}")
	_, _, err := Load(liza, nil)
	var file *FileError
	if !errors.As(err, &file) || !strings.Contains(err.Error(), "config.json is there too") {
		t.Errorf("got %v", err)
	}
	if cfg, warnings := LoadTolerant(liza, nil); cfg == nil || len(warnings) != 1 {
		t.Errorf("tolerant: %v", warnings)
	}
}

func TestValuesMustFitEachOther(t *testing.T) {
	t.Parallel()
	liza := folder(t, "config.yaml", "review: {mode: strict, auto_merge: true}\n")
	_, _, err := Load(liza, nil)
	for _, want := range []string{
		"cannot use review.auto_merge of .liza/config.yaml:1: expected false in review.mode strict, found true",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	cfg, _ := LoadTolerant(liza, nil)
	if cfg.Review.AutoMerge {
		t.Error("tolerant: the value that does not fit is in force")
	}
}

func TestSettingsHaveTheNamesOfTheState(t *testing.T) {
	t.Parallel()
	cfg := mustLoad(t, folder(t, "config.yaml", everything), "LIZA_LIMITS_COST_CENTS=50", "LIZA_TEST_TIMING=lease_grace=5,crash_limit=x,max_iterations=7")
	want := map[string]any{
		"integration_branch": "next/main", "lease_duration": 900,
		"pre_execution_checkpoint": "off",
		"max_coder_iterations":     3, "run_timeout": 2700, "stall_timeout": 240, "tokens": 5000000000,
		"time_minutes": 90, "escalation_webhook": "https://example.org/hook", "cost_cents": 50,
	}
	if got := cfg.Settings(); !maps.Equal(got, want) {
		t.Errorf("Settings: got %v, want %v", got, want)
	}
	if got := cfg.Overrides(); !maps.Equal(got, map[string]any{"cost_cents": 50, "lease_grace": 5}) {
		t.Errorf("Overrides: got %v", got)
	}
}

func TestAMissingSeverityIsThatOfTheCheck(t *testing.T) {
	t.Parallel()
	r := Default().Review
	r.Checks["security"] = Check{Enabled: true}
	if r.Severity("test_coverage") != "error" || r.Severity("security") != "error" || r.Severity("scope") != "warning" {
		t.Errorf("got %s, %s, %s", r.Severity("test_coverage"), r.Severity("security"), r.Severity("scope"))
	}
	r.Mode = "normal"
	if r.Severity("test_coverage") != "warning" {
		t.Errorf("with a mode test_coverage is %s, want warning", r.Severity("test_coverage"))
	}
}

func TestNullAndAliasesAreUnderstood(t *testing.T) {
	t.Parallel()
	cfg := mustLoad(t, folder(t, "config.yaml", "hooks: {pre_review: &c [make], pre_merge: *c}\nlimits: ~\nmodels: {coder: }\nreview: {mode: null}\n"))
	if !slices.Equal(cfg.Hooks.PreMerge, []string{"make"}) || cfg.Limits.CostCents != 1000 || cfg.Models["coder"].Name != "" {
		t.Errorf("got %+v", cfg.Hooks)
	}
}

func FuzzLoad(f *testing.F) {
	f.Add([]byte(everything), false)
	f.Add([]byte(`{"review":{"checks":{"security":1}}}`), true)
	f.Add([]byte("a: &a [*a]\nagents: *a\n"), false)
	f.Fuzz(func(t *testing.T, data []byte, asJSON bool) {
		name := "config.yaml"
		if asJSON {
			name = "config.json"
		}
		liza := folder(t, name, string(data))
		if cfg, _ := LoadTolerant(liza, nil); cfg.Review.AutoMerge && cfg.Review.Mode == "strict" {
			t.Error("a lenient reader got values that do not fit")
		}
	})
}

// 4.4: no shell reads a command, so ~ was taken for a folder of the project.
func TestCommandsBeginAtHome(t *testing.T) {
	t.Parallel()
	data := []byte("agents:\n  mine: {command: [~/bin/agent, --dir, ~/data/, a~/b, '~'], interactive: [~/bin/agent, -v]}\n  claude: {command: [~/bin/claude]}\n")
	cfg, _, err := Parse(data, ".liza/config.yaml", []string{"HOME=/home/ada"})
	if err != nil {
		t.Fatal(err)
	}
	mine := cfg.Agents.Custom["mine"]
	got := slices.Concat(mine.Command, mine.Interactive, cfg.Agents.Custom["claude"].Command)
	if want := []string{"/home/ada/bin/agent", "--dir", "/home/ada/data/", "a~/b", "~", "/home/ada/bin/agent", "-v", "/home/ada/bin/claude"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
