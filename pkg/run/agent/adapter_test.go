package agent

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestAnUnknownProgramIsRefusedWithTheKnownOnes(t *testing.T) {
	t.Parallel()
	_, err := Lookup("clade", Options{Custom: map[string]Entry{"mine": {Command: []string{"x"}}}})
	want := `cannot find the agent program "clade"; known are aider, amp, claude, claude-acp, cline, cn, codex, codex-acp, copilot, crush, cursor-agent, droid, gemini, gemini-acp, goose, kimi, mine, opencode, opencode-acp, pi, qwen, qwen-acp, scripted, vibe`
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestAProgramOfTheProjectIsCheckedWhenItIsLookedUp(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]Entry{
		"agents.mine.command is empty":                               {},
		`agents.mine.prompt is "mail", not stdin`:                    {Command: []string{"x"}, Prompt: "mail"},
		"agents.mine.output":                                         {Command: []string{"x"}, Output: "csv"},
		"known are acp, claude-stream-json, cline-json, codex-json,": {Command: []string{"x"}, Output: "csv"},
		`cannot use the agent program "mine": agents.mine.out`:       {Command: []string{"x"}, Output: "csv"},
	} {
		if _, err := Lookup("mine", Options{Custom: map[string]Entry{"mine": c}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v gave %v, want %q", c, err, want)
		}
	}
	if _, err := Lookup("scripted", Options{Liza: "/bin/liza"}); err == nil || !strings.Contains(err.Error(), "scenario") {
		t.Errorf("scripted without a scenario gave %v", err)
	}
}

func TestThePlaceholdersOfAProjectsProgram(t *testing.T) {
	t.Parallel()
	c := Entry{
		Command: []string{"bash", "x.sh", "--prompt={{.PromptFile}}", "{{.Model}}", "{{.Worktree}}/{{.Role}}", "{{.TaskID}}", "{{.Other}}"},
		Prompt:  "argv",
		Env:     map[string]string{"B": "2", "A": "1"},
	}
	a, err := Lookup("mine", Options{Custom: map[string]Entry{"mine": c}})
	if err != nil {
		t.Fatal(err)
	}
	spec := Spec{PromptFile: "/p/1.txt", Model: "{{.TaskID}}", Worktree: "/w t", Role: "coder", TaskID: "task-1", Prompt: "do it"}
	cmd, err := a.Command(spec)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"bash", "x.sh", "--prompt=/p/1.txt", "{{.TaskID}}", "/w t/coder", "task-1", "{{.Other}}", "do it"}
	if !slices.Equal(cmd.Argv, want) || cmd.Stdin || !slices.Equal(cmd.Env, []string{"A=1", "B=2"}) {
		t.Errorf("got %+v, want %q", cmd, want)
	}
	spec.Prompt = strings.Repeat("x", 200_000)
	if _, err := a.Command(spec); err == nil || !strings.Contains(err.Error(), "200000 bytes") {
		t.Errorf("a prompt that is too long for an argument gave %v", err)
	}
}

func TestThePromptIsHandedOverAsTheProjectSays(t *testing.T) {
	t.Parallel()
	for prompt, script := range map[string]string{
		"stdin": "cat",
		"file":  "cat; cat \"$0\"",
		"argv":  "cat; printf %s \"$1\"",
	} {
		a, err := newOwn("mine", Entry{Command: []string{"sh", "-c", script, "{{.PromptFile}}"}, Prompt: prompt})
		if err != nil {
			t.Fatal(err)
		}
		file := writeFile(t, "Say hello.")
		if res := Run(t.Context(), a, Spec{Prompt: "Say hello.", PromptFile: file}); res.Final != "Say hello." {
			t.Errorf("%s: got %+v, want the prompt", prompt, res)
		}
	}
}

func TestHowClaudeIsStarted(t *testing.T) {
	t.Parallel()
	claude := &entryProgram{name: "claude", entry: builtin().Programs["claude"], rules: builtin().common, root: true}
	cmd, err := claude.Command(Spec{Model: "opus", Session: "s-1"})
	if err != nil {
		t.Fatal(err)
	}
	want := "claude -p --input-format stream-json --replay-user-messages --output-format stream-json --verbose --dangerously-skip-permissions --model opus " + offClaude + " --resume s-1"
	if got := strings.Join(cmd.Argv, " "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if !cmd.Stdin || cmd.RestartCode != 0 || cmd.EndGrace != 5*time.Second {
		t.Errorf("got %+v, want the prompt on stdin, no restart code, and 5 s to end", cmd)
	}
	env := "CLAUDE_CODE_DISABLE_AUTO_MEMORY=1 CLAUDE_CODE_DISABLE_BUNDLED_SKILLS=1 CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL=1 CLAUDE_CODE_MAX_RETRIES=2 DISABLE_AUTOUPDATER=1 IS_SANDBOX=1"
	if got := strings.Join(cmd.Env, " "); got != env {
		t.Errorf("environment is %s, want %s", got, env)
	}
	for _, name := range []string{"CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT"} {
		if !slices.Contains(cmd.Unset, name) {
			t.Errorf("%s is passed on", name)
		}
	}
	claude.root = false
	cmd, err = claude.Command(Spec{})
	if err != nil || slices.Contains(cmd.Env, "IS_SANDBOX=1") || slices.Contains(cmd.Argv, "--model") || slices.Contains(cmd.Argv, "--resume") {
		t.Errorf("without root, model and session: %+v, %v", cmd, err)
	}
}

func TestAWrapperThatRanOutOfTimeIsTransient(t *testing.T) {
	t.Parallel()
	res, _ := read(reader(formatText), "", Exit{Code: 124})
	if !res.Outcome.Transient() {
		t.Errorf("got %s, want a transient outcome", res.Outcome)
	}
}

func TestTheWordsOfTheScriptedAgent(t *testing.T) {
	t.Parallel()
	for event, want := range scriptedOutcomes {
		stdout := "before\n" + string(ScriptedEvent{Event: event, RetryAfter: 2}.Line()) + "after\n"
		res, _ := read(&scriptedReader{}, stdout, Exit{Code: 1, Stderr: []byte("as the scenario says\n")})
		if res.Outcome != want || res.Final != "before\nafter\n" || res.RetryAfter.Seconds() != 2 {
			t.Errorf("%s: got %+v, want %s", event, res, want)
		}
		if !res.Usage.CostKnown || res.Usage.CostCents != 0 {
			t.Errorf("%s: usage is %+v, want a known zero", event, res.Usage)
		}
	}
	res, _ := read(&scriptedReader{}, `I print {"liza_scripted": {"event": "quota"}} within a line`+"\n", Exit{})
	if res.Outcome != Finished {
		t.Errorf("a line that only mentions an event got %s", res.Outcome)
	}
}
