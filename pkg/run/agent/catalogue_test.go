package agent

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestTheCatalogueHasEveryProgramAndNothingIsWrongWithIt(t *testing.T) {
	t.Parallel()
	c, err := parseCatalogue(catalogueFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"claude", "codex", "gemini", "opencode", "qwen", "crush", "copilot", "cursor-agent", "amp", "vibe", "aider", "goose", "kimi", "pi", "cline", "droid"} {
		if _, ok := c.Programs[name]; !ok {
			t.Errorf("%s is not in the catalogue", name)
		}
	}
	for name, e := range c.Programs {
		if e.About == "" || len(e.Version) == 0 || len(e.Interactive) == 0 || e.Output != formatACP && (len(e.Help) == 0 || len(e.Needs) == 0) { // a protocol needs no flags
			t.Errorf("%s lacks about, version, help, needs or interactive", name)
		}
		if e.Prompt == promptArgv && e.LongPrompt == "" {
			t.Errorf("%s gets a long prompt as an argument", name)
		}
		if e.Prompt == promptFile && !mentions(e.Command, "{{.PromptFile}}") {
			t.Errorf("%s gets no prompt", name)
		}
	}
}

func TestABrokenCatalogueIsRefusedWithEverythingThatIsWrong(t *testing.T) {
	t.Parallel()
	good := "version: 1\nprograms:\n  x: {status: measured, checked: '1', command: [x], prompt: stdin, output: text}\n"
	if _, err := parseCatalogue([]byte(good)); err != nil {
		t.Fatal(err)
	}
	for want, text := range map[string]string{
		"version is 2; this program reads 1":             strings.Replace(good, "version: 1", "version: 2", 1),
		"field colour not found":                         strings.Replace(good, "prompt:", "colour: red, prompt:", 1),
		"x.status is \"guessed\"":                        strings.Replace(good, "measured", "guessed", 1),
		"x.checked names the measured version":           strings.Replace(good, "checked: '1', ", "", 1),
		"x.command is empty":                             strings.Replace(good, "[x]", "[]", 1),
		"x.prompt is \"mail\"":                           strings.Replace(good, "stdin", "mail", 1),
		"x.output: cannot read output of the form":       strings.Replace(good, "text", "csv", 1),
		"x.model has no {{.Model}}":                      strings.Replace(good, "prompt:", "model: [-m], prompt:", 1),
		"x.resume has no {{.Session}}":                   strings.Replace(good, "prompt:", "resume: [-r], prompt:", 1),
		"x.command has {{.Prompt}}, but prompt is stdin": strings.Replace(good, "[x]", "[x, '{{.Prompt}}']", 1),
		"x.off_args has no {{.Tool}}":                    strings.Replace(good, "prompt:", "off_args: [-o], prompt:", 1),
		"x.off names tools":                              strings.Replace(good, "prompt:", "off: {a: b}, prompt:", 1),
		"x: {{.Colour}} is not known":                    strings.Replace(good, "[x]", "[x, '{{.Colour}}']", 1),
		"x.end_grace is -1":                              strings.Replace(good, "prompt:", "end_grace: -1, prompt:", 1),
		"x.signatures.quota: \"(\" is not a regular":     strings.Replace(good, "prompt:", "signatures: {quota: ['(']}, prompt:", 1),
		"signatures.hunger is not known":                 strings.Replace(good, "prompt:", "signatures: {hunger: [x]}, prompt:", 1),
		"exit_codes.3: hunger is none of":                strings.Replace(good, "prompt:", "exit_codes: {3: hunger}, prompt:", 1),
		"exit_codes.0: quota is none of":                 strings.Replace(good, "prompt:", "exit_codes: {0: quota}, prompt:", 1),
		"common: signatures.network":                     "version: 1\ncommon: {signatures: {network: ['[']}}\n",
	} {
		if _, err := parseCatalogue([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	both := strings.NewReplacer("measured", "guessed", "stdin", "mail").Replace(good)
	if _, err := parseCatalogue([]byte(both)); err == nil || !strings.Contains(err.Error(), "guessed") || !strings.Contains(err.Error(), "mail") {
		t.Errorf("got %v, want both problems", err)
	}
}

// What claude, codex and qwen are told of the tools that are off.
var (
	offClaude = "--disallowedTools=" + strings.ReplaceAll("Agent AskUserQuestion CronCreate CronDelete CronList EnterWorktree ExitWorktree ListAgents Monitor ReportFindings ScheduleWakeup SendMessage Workflow", " ", " --disallowedTools=")
	offCodex  = "-c features.apps=false -c features.goals=false -c features.multi_agent=false -c features.plugins=false -c skills.bundled.enabled=false -c tools.experimental_request_user_input.enabled=false"
	offQwen   = "--exclude-tools " + strings.ReplaceAll("agent enter_worktree exit_worktree get_goal list_agents report_findings send_message update_goal", " ", " --exclude-tools ")
)

// A tool that an agent does not need is off and says why; a person turns it on, and all with a command of their own.
func TestToolsThatAnAgentDoesNotNeedAreOff(t *testing.T) {
	t.Parallel()
	argv := func(program string, own Entry, s Spec) string {
		t.Helper()
		a, err := Lookup(program, Options{Custom: map[string]Entry{program: own}})
		if err != nil {
			t.Fatal(err)
		}
		cmd, err := a.Command(s)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(append(cmd.Env, cmd.Argv...), " ")
	}
	for program, off := range map[string]string{"claude": offClaude, "codex": offCodex, "qwen": offQwen} {
		if got := argv(program, Entry{}, Spec{}); !strings.Contains(got, off) {
			t.Errorf("%s has tools on that it does not need: %s", program, got)
		}
		for name, why := range builtin().Programs[program].Off {
			if why == "" {
				t.Errorf("%s: nobody says why %s is off", program, name)
			}
			one := builtin().Programs[program].OffArgs[len(builtin().Programs[program].OffArgs)-1]
			one = strings.ReplaceAll(one, "{{.Tool}}", name)
			if got := argv(program, Entry{Off: map[string]string{name: ""}}, Spec{}); slices.Contains(strings.Fields(got), one) || strings.Count(got, " ") < strings.Count(off, " ") {
				t.Errorf("%s: a person turns on %s, and it is started by %s", program, name, got)
			}
		}
		if got := argv(program, Entry{Command: []string{"mine"}}, Spec{}); strings.Contains(got, strings.Fields(off)[len(strings.Fields(off))-1]) {
			t.Errorf("%s: a command of a person's own gets what belongs to that of the catalogue: %s", program, got)
		}
	}
	if got := argv("claude", Entry{}, Spec{}); !strings.Contains(got, "CLAUDE_CODE_DISABLE_BUNDLED_SKILLS=1") {
		t.Errorf("claude lists skills that come with it in each call: %s", got)
	}
}

// A run that only writes a text has no tools, where the program can be told so.
func TestARunThatOnlyWritesATextHasNoTools(t *testing.T) {
	t.Parallel()
	for program, want := range map[string]string{"claude": "--tools= --strict-mcp-config", "codex": "features.shell_tool=false", "opencode": `OPENCODE_PERMISSION={"*":"deny"}`, "pi": "--no-tools", "qwen": "--core-tools none"} {
		for _, none := range []bool{false, true} {
			cmd, err := catalogued(t, program).Command(Spec{NoTools: none})
			if got := strings.Join(append(cmd.Env, cmd.Argv...), " "); err != nil || strings.Contains(got, want) != none {
				t.Errorf("%s, without tools %v: %s, %v; want %s", program, none, got, err, want)
			}
		}
	}
}

// How each program is started, with a model and a conversation to resume.
func TestHowEachProgramIsStarted(t *testing.T) {
	t.Parallel()
	spec := Spec{Prompt: "do it", PromptFile: "/p/1.txt", Model: "M", Session: "S"}
	for name, want := range map[string]string{
		"claude":       "claude -p --input-format stream-json --replay-user-messages --output-format stream-json --verbose --dangerously-skip-permissions --model M " + offClaude + " --resume S",
		"codex":        "codex exec resume --json --dangerously-bypass-approvals-and-sandbox --skip-git-repo-check -c check_for_update_on_startup=false -c analytics.enabled=false -m M S - " + offCodex,
		"gemini":       "gemini --yolo --skip-trust -o stream-json -m M --resume S",
		"opencode":     "opencode run --format json --auto -m M --session S",
		"qwen":         "qwen --yolo -o stream-json -m M " + offQwen + " --resume S",
		"pi":           "pi -p --mode json --model M --session S",
		"cline":        "cline --json --auto-approve true -m M do it",
		"cursor-agent": "cursor-agent -p --output-format stream-json --force --model M --resume S",
		"amp":          "amp threads continue S --execute --stream-json --dangerously-allow-all",
		"droid":        "droid exec -o stream-json --auto high -m M -f /p/1.txt -s S",
		"crush":        "crush run -q -m M",
		"aider":        "aider --model M --yes-always --no-auto-commits --no-check-update --no-stream --no-pretty --message-file /p/1.txt",
		"goose":        "goose run -i /p/1.txt",
		"kimi":         "kimi --yolo --output-format stream-json -m M --session S -p do it",
		"vibe":         "vibe --output streaming --agent auto-approve --resume S -p do it",
	} {
		a := catalogued(t, name)
		cmd, err := a.Command(spec)
		if got := strings.Join(cmd.Argv, " "); err != nil || got != want {
			t.Errorf("got  %s, %v\nwant %s", got, err, want)
		}
		if resumes := strings.Contains(want, " S"); a.Info().Resumes != resumes {
			t.Errorf("%s resumes: %v, want %v", name, a.Info().Resumes, resumes)
		}
		if cmd.RestartCode != 0 {
			t.Errorf("%s asks for a restart with %d", name, cmd.RestartCode)
		}
	}
}

func TestALongPromptIsNeverAnArgument(t *testing.T) {
	t.Parallel()
	spec := Spec{Prompt: strings.Repeat("x", longPrompt+1), PromptFile: "/p/1.txt"}
	for name := range builtin().Programs {
		a := catalogued(t, name)
		cmd, err := a.Command(spec)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		inTerminal, err := a.Interactive(spec)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, arg := range slices.Concat(cmd.Argv, inTerminal.Argv) {
			if len(arg) > 1000 {
				t.Errorf("%s gets an argument of %d bytes", name, len(arg))
			}
		}
		if given := cmd.Stdin || mentions(cmd.Argv, "/p/1.txt"); !given {
			t.Errorf("%s gets no prompt: %q", name, cmd.Argv)
		}
		if a.Info().Interactive != mentions(inTerminal.Argv, "/p/1.txt") {
			t.Errorf("%s: in a terminal %q", name, inTerminal.Argv)
		}
	}
}

// copilot is spoken to by the Agent Client Protocol: the conversation and the prompt go over its stdin.
func TestCopilotSpeaksTheAgentClientProtocol(t *testing.T) {
	t.Parallel()
	a, spec := catalogued(t, "copilot"), Spec{Prompt: "do it", Model: "M", Session: "S"}
	cmd, err := a.Command(spec)
	if got := strings.Join(cmd.Argv, " "); err != nil || got != "copilot --model M --acp --allow-all-tools --no-ask-user --no-auto-update" || !cmd.Stdin {
		t.Errorf("got %s, %v", got, err)
	}
	if i := a.Info(); i.Output != formatACP || !i.Resumes || !i.Dialogue || !i.Interactive {
		t.Errorf("got %+v", i)
	}
	cmd, err = a.Interactive(spec)
	if got := strings.Join(cmd.Argv, " "); err != nil || got != "copilot --resume=S --model M -i do it" {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestAProgramInATerminal(t *testing.T) {
	t.Parallel()
	spec := Spec{Prompt: "do it", Model: "M", Session: "S"}
	for name, want := range map[string]string{
		"claude": "claude --model M --resume S do it",
		"codex":  "codex -m M do it",
		"gemini": "gemini -m M --resume S -i do it",
	} {
		spec := spec
		if name == "codex" {
			spec.Session = ""
		}
		cmd, err := catalogued(t, name).Interactive(spec)
		if got := strings.Join(cmd.Argv, " "); err != nil || got != want || cmd.Stdin {
			t.Errorf("got  %s, %v\nwant %s", got, err, want)
		}
	}
	own, err := newOwn("mine", Entry{Command: []string{"x"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := own.Interactive(spec); err == nil || !strings.Contains(err.Error(), "set agents.mine.interactive") {
		t.Errorf("a program without a way into a terminal gave %v", err)
	}
}

// In its sandbox codex cannot write down that a person trusts the worktree, and goes no further without an answer.
func TestCodexInATerminalIsToldThatTheWorktreeIsTrustedWhereItIsContained(t *testing.T) {
	t.Parallel()
	spec := Spec{Prompt: "go on", Session: "S", Worktree: "/w/t"}
	for _, contained := range []bool{false, true} {
		if spec.Contain = nil; contained {
			spec.Contain = func(string, []string, []string) (Contained, error) { return Contained{}, nil }
		}
		cmd, err := catalogued(t, "codex").Interactive(spec)
		if got := strings.Join(cmd.Argv, " "); err != nil || strings.Contains(got, `-c projects={"/w/t"={trust_level="trusted"}} S go on`) != contained {
			t.Errorf("contained %v: %s, %v", contained, got, err)
		}
	}
}

func TestAProgramIsToldOfTheMCPServerUnlessTheProjectSaysNo(t *testing.T) {
	t.Parallel()
	const config = `--mcp-config={"mcpServers":{"liza":{"command":"/opt/the liza","args":["mcp"]}}}`
	spec := Spec{Prompt: "do it", Liza: "/opt/the liza"}
	for what, start := range map[string]func(Spec) (Command, error){"a run": catalogued(t, "claude").Command, "a terminal": catalogued(t, "claude").Interactive} {
		if cmd, err := start(spec); err != nil || !slices.Contains(cmd.Argv, config) {
			t.Errorf("%s: %q, %v; want %s", what, cmd.Argv, err, config)
		}
	}
	if cmd, err := catalogued(t, "qwen").Command(spec); err != nil || !slices.Contains(cmd.Argv, config) {
		t.Errorf("qwen: %q, %v; want %s", cmd.Argv, err, config)
	}
	if cmd, err := catalogued(t, "codex").Command(spec); err != nil || mentions(cmd.Argv, "mcp") {
		t.Errorf("codex says each tool of a server in each call, and is told of one: %q, %v", cmd.Argv, err)
	}
	told, err := Lookup("codex", Options{Custom: map[string]Entry{"codex": {MCP: []string{"-c", "mcp_servers.liza.command={{.Liza}}", "-c", `mcp_servers.liza.args=["mcp"]`}}}})
	if err != nil {
		t.Fatal(err)
	}
	for what, spec := range map[string]Spec{"a run": spec, "a resumed run": {Prompt: "do it", Session: "S", Liza: spec.Liza}} {
		cmd, err := told.Command(spec)
		for _, want := range []string{"mcp_servers.liza.command=/opt/the liza", `mcp_servers.liza.args=["mcp"]`} {
			if i := slices.Index(cmd.Argv, want); err != nil || i < 1 || cmd.Argv[i-1] != "-c" {
				t.Errorf("%s of codex: %q, %v; want -c %s", what, cmd.Argv, err, want)
			}
		}
	}
	if cmd, err := catalogued(t, "gemini").Command(spec); err != nil || strings.Contains(strings.Join(cmd.Argv, " "), "mcp") {
		t.Errorf("a program that takes none: %q, %v", cmd.Argv, err)
	}
	quiet, err := Lookup("claude", Options{Custom: map[string]Entry{"claude": {MCP: []string{}}}})
	if err != nil {
		t.Fatal(err)
	}
	if cmd, err := quiet.Command(spec); err != nil || strings.Contains(strings.Join(cmd.Argv, " "), "mcp") {
		t.Errorf("a project that wants none: %q, %v", cmd.Argv, err)
	}
	if _, err := newOwn("mine", Entry{Command: []string{"x"}, MCP: []string{"--mcp"}}); err == nil || !strings.Contains(err.Error(), "mcp has no {{.MCPConfig}} and no {{.Liza}}") {
		t.Errorf("arguments without the configuration gave %v", err)
	}
}

// A program that enforces a schema gets that of its run, and without one no option for it; so does a resumed conversation.
func TestAProgramIsHeldToTheSchemaOfItsRun(t *testing.T) {
	t.Parallel()
	with := Spec{Prompt: "p", Schema: `{"type":"object"}`, StrictSchemaFile: "/p/strict.json"}
	for name, want := range map[string][]string{"claude": {"--json-schema", with.Schema}, "codex": {"--output-schema", "/p/strict.json"}, "opencode": nil} {
		a, err := Lookup(name, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if a.Info().Enforces != (want != nil) {
			t.Errorf("%s: Enforces is %v", name, a.Info().Enforces)
		}
		for _, session := range []string{"", "s-1"} {
			spec := with
			spec.Session = session
			held, err := a.Command(spec)
			if err != nil {
				t.Fatal(err)
			}
			spec.Schema, spec.StrictSchemaFile = "", ""
			free, err := a.Command(spec)
			if err != nil {
				t.Fatal(err)
			}
			if got := held.Argv[len(free.Argv):]; !slices.Equal(got, want) || !slices.Equal(held.Argv[:len(free.Argv)], free.Argv) {
				t.Errorf("%s, session %q: the schema adds %q to %q, want %q", name, session, got, free.Argv, want)
			}
		}
	}
}

// claude ends itself when it has cost what the limits leave; a program that cannot gets no option for it.
func TestAProgramIsToldWhatItsRunMayCost(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"claude": "--max-budget-usd 0.4213", "claude-acp": "", "codex": ""} {
		free, err := catalogued(t, name).Command(Spec{Prompt: "p"})
		if err != nil {
			t.Fatal(err)
		}
		held, err := catalogued(t, name).Command(Spec{Prompt: "p", Budget: 0.4213})
		if got := strings.Join(held.Argv[len(free.Argv):], " "); err != nil || got != want {
			t.Errorf("%s: the budget adds %q, want %q, %v", name, got, want, err)
		}
	}
}

func TestAProjectChangesABuiltInProgram(t *testing.T) {
	t.Parallel()
	change := Entry{
		Command: []string{"/opt/claude", "-p"}, Env: map[string]string{"A": "1", "CLAUDE_CODE_MAX_RETRIES": "0"}, EndGrace: 9,
		ExitCodes: map[int]Outcome{7: QuotaWindow}, Signatures: map[string][]string{"quota": {"the well is dry"}, "unusable": {"rate limit"}},
	}
	a, err := Lookup("claude", Options{Custom: map[string]Entry{"claude": change}})
	if err != nil {
		t.Fatal(err)
	}
	cmd, err := a.Command(Spec{Model: "opus"})
	if err != nil || strings.Join(cmd.Argv, " ") != "/opt/claude -p --model opus" || !cmd.Stdin || cmd.EndGrace != 9*time.Second || cmd.RestartCode != 0 {
		t.Errorf("got %+v, %v", cmd, err)
	}
	if !slices.Contains(cmd.Env, "A=1") || !slices.Contains(cmd.Env, "CLAUDE_CODE_MAX_RETRIES=0") || !slices.Contains(cmd.Env, "DISABLE_AUTOUPDATER=1") {
		t.Errorf("environment is %q", cmd.Env)
	}
	if info := a.Info(); !info.Overridden || info.Binary != "/opt/claude" || info.Provider != "anthropic" {
		t.Errorf("info is %+v", info)
	}
	for want, e := range map[Outcome]Exit{
		QuotaWindow: {Code: 7},
		Unusable:    {Code: 1, Stderr: []byte("rate limit\n")}, // the project's own come first
		Overloaded:  {Code: 124},
	} {
		if res := a.Reader(Spec{}).End(e); res.Outcome != want {
			t.Errorf("%+v gave %s by %s, want %s", e, res.Outcome, res.Signature, want)
		}
	}
	res := a.Reader(Spec{}).End(Exit{Code: 1, Stderr: []byte("Alas, THE WELL IS DRY.\n")})
	if res.Outcome != QuotaWindow || res.Signature != "quota: /the well is dry/" || res.Evidence != "Alas, THE WELL IS DRY." {
		t.Errorf("got %+v", res)
	}
	if same := catalogued(t, "claude"); same.Info().Overridden || same.Info().Binary != "claude" {
		t.Errorf("the catalogue was changed: %+v", same.Info())
	}
}

func TestAProgramSaysWhatItIs(t *testing.T) {
	t.Parallel()
	script := filepath.Join(t.TempDir(), "tool")
	writeScript(t, script, `case $1 in --version) printf '\033[1mtool 1.2\033[0m\nmore\n' ;; --help) echo 'use --json here' ;; esac`)
	a, err := newOwn("mine", Entry{Command: []string{script}, Version: []string{script, "--version"}, Help: []string{script, "--help"}, Needs: []string{"--json", "--resume"}})
	if err != nil {
		t.Fatal(err)
	}
	found, err := Probe(t.Context(), a, nil)
	if err != nil || found.Path != script || found.Version != "tool 1.2" || !slices.Equal(found.Missing, []string{"--resume"}) {
		t.Errorf("got %+v, %v", found, err)
	}
	missing, err := newOwn("gone", Entry{Command: []string{"no-such-agent-program"}, Version: []string{"no-such-agent-program"}})
	if err != nil {
		t.Fatal(err)
	}
	if found, err := Probe(t.Context(), missing, nil); err != nil || found.Path != "" {
		t.Errorf("a missing program gave %+v, %v", found, err)
	}
	writeScript(t, script, `exit 3`)
	if _, err := Probe(t.Context(), a, nil); err == nil || !strings.Contains(err.Error(), "cannot ask mine: `"+script+" --version` failed") {
		t.Errorf("a failing program gave %v", err)
	}
}

// What node and the like say of themselves is not the version of a program.
func TestTheVersionIsOnTheFirstLineWithANumber(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		"1.2.3\n": "1.2.3", "\ntool 1.2 (abc)\nmore 4.5\n": "tool 1.2 (abc)",
		"(node:31337) [DEP0040] DeprecationWarning: The `punycode` module is deprecated in 21.0.0.\n(Use `node --trace-deprecation ...` to show where, v20.1.0)\n0.61.0\n": "0.61.0",
		"npm warn EBADENGINE needs node 22.1.0\nWelcome!\nmy-agent v3.0.65\n":                                                                                              "my-agent v3.0.65",
		"/usr/lib/x.py:3: UserWarning: urllib3 2.0.1 is old\naider 0.86.1\n":                                                                                               "aider 0.86.1",
		"no number here\n": "", "": "",
	} {
		script := filepath.Join(t.TempDir(), "tool")
		writeScript(t, script, "cat <<'END'\n"+said+"END\n")
		a, err := newOwn("mine", Entry{Command: []string{script}, Version: []string{script}})
		if err != nil {
			t.Fatal(err)
		}
		number := versionNumber().FindString(want)
		if found, err := Probe(t.Context(), a, nil); err != nil || found.Version != want || (&Versions{}).Of(t.Context(), a) != number {
			t.Errorf("%q: version %q, %v; want %q", said, found.Version, err, want)
		}
	}
}

// Some programs leave files in the home folder when they are asked for their version; the shim of a version manager needs
// the person's own.
func TestAProgramIsAskedWithAnEmptyHomeFolder(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, ".config"))
	ask := func(text string) string {
		script := filepath.Join(t.TempDir(), "agent")
		writeScript(t, script, text)
		a, err := newOwn("mine", Entry{Command: []string{script}, Version: []string{script}})
		if err != nil {
			t.Fatal(err)
		}
		found, err := Probe(t.Context(), a, nil)
		if err != nil {
			t.Fatal(err)
		}
		return found.Version
	}
	if got := ask(`mkdir -p "${XDG_CONFIG_HOME:-$HOME/.config}/x" && touch "$HOME/left" && echo "1.2.3 in $HOME"`); strings.Contains(got, home) || !strings.HasPrefix(got, "1.2.3 in /") {
		t.Errorf("it says %q", got)
	} else if _, err := os.Stat(strings.TrimPrefix(got, "1.2.3 in ")); err == nil {
		t.Error("its home folder stays")
	}
	if left, _ := os.ReadDir(home); len(left) > 0 {
		t.Errorf("it leaves %v", left)
	}
	if got := ask(`[ "$HOME" = "` + home + `" ] && echo 4.5.6 || exit 1`); got != "4.5.6" {
		t.Errorf("a shim says %q", got)
	}
}
