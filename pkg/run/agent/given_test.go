package agent

import (
	"slices"
	"strings"
	"testing"
)

// eventsOf are the events of some lines, without those that only say that the work goes on.
func eventsOf(t *testing.T, format, dir string, lines ...string) (events []Event) {
	t.Helper()
	r := newReader(format, builtin().common, readerOptions{dir: dir, listen: func(e Event) {
		if e.Kind != EventTurn && e.Kind != EventUsage && e.Kind != EventSession {
			events = append(events, e)
		}
	}})
	for _, line := range lines {
		r.Line([]byte(line))
	}
	return events
}

func TestToolsTellWhatTheyWereGivenInOneLine(t *testing.T) {
	t.Parallel()
	claude := func(name, input string) string {
		return `{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","name":"` + name + `","input":` + input + `}]}}`
	}
	for name, c := range map[string]struct{ format, line, tool, input string }{
		"a command":                  {"claude-stream-json", claude("Bash", `{"command":"go test ./...\n  && echo done","description":"Run the tests"}`), "Bash", "go test ./... && echo done"},
		"a path in the worktree":     {"claude-stream-json", claude("Edit", `{"file_path":"/w/task-1/pkg/a.go","old_string":"x","new_string":"y"}`), "Edit", "pkg/a.go"},
		"a path elsewhere":           {"claude-stream-json", claude("Read", `{"file_path":"/etc/hosts"}`), "Read", "/etc/hosts"},
		"the worktree in a command":  {"claude-stream-json", claude("Bash", `{"command":"cd /w/task-1 && cat /w/task-1/a"}`), "Bash", "cd . && cat a"},
		"what is looked for":         {"claude-stream-json", claude("Grep", `{"pattern":"TODO","path":"/w/task-1/pkg"}`), "Grep", "TODO in pkg"},
		"a pattern alone":            {"claude-stream-json", claude("Glob", `{"pattern":"**/*.go"}`), "Glob", "**/*.go"},
		"other arguments":            {"claude-stream-json", claude("mcp__liza__submit", `{"summary":"Done","commit":"abc"}`), "mcp__liza__submit", "commit=abc summary=Done"},
		"arguments of any kind":      {"claude-stream-json", claude("Odd", `{"b":[1,{"c":2}],"a":true}`), "Odd", `a=true b=[1,{"c":2}]`},
		"no arguments":               {"claude-stream-json", claude("Odd", `null`), "Odd", ""},
		"arguments that are none":    {"claude-stream-json", claude("Odd", `[7]`), "Odd", ""},
		"escape sequences":           {"claude-stream-json", claude("Bash", `{"command":"printf '\u001b[2J\u0007'"}`), "Bash", "printf ''"},
		"very long":                  {"claude-stream-json", claude("Bash", `{"command":"`+strings.Repeat("x", 9000)+`"}`), "Bash", strings.Repeat("x", 500) + "…"},
		"qwen":                       {"qwen-stream-json", claude("run_shell_command", `{"command":"ls"}`), "run_shell_command", "ls"},
		"cursor-agent":               {"claude-stream-json", `{"type":"tool_call","subtype":"started","tool_call":{"shellToolCall":{"args":{"command":"ls"}}}}`, "shell", "ls"},
		"codex, a command":           {"codex-json", `{"type":"item.started","item":{"type":"command_execution","command":"/bin/bash -lc \"echo \\\"a\\\" > b\""}}`, "shell", `echo "a" > b`},
		"codex, in single quotes":    {"codex-json", `{"type":"item.started","item":{"type":"command_execution","command":"bash -lc 'exec tail -f x'"}}`, "shell", "exec tail -f x"},
		"codex, files":               {"codex-json", `{"type":"item.started","item":{"type":"file_change","changes":[{"path":"/w/task-1/a"},{"path":"b"}]}}`, "edit", "a b"},
		"codex, a tool":              {"codex-json", `{"type":"item.started","item":{"type":"mcp_tool_call","server":"liza","tool":"submit","arguments":{"summary":"Done"}}}`, "submit", "summary=Done"},
		"gemini":                     {"gemini-stream-json", `{"type":"tool_use","tool_name":"write_file","parameters":{"absolute_path":"/w/task-1/a.md"}}`, "write_file", "a.md"},
		"opencode":                   {"opencode-json", `{"type":"tool_use","part":{"tool":"edit","state":{"input":{"filePath":"/w/task-1/x.go"}}}}`, "edit", "x.go"},
		"pi":                         {"pi-json", `{"type":"tool_execution_start","toolName":"bash","args":{"command":"make"}}`, "bash", "make"},
		"lines of JSON":              {"json-lines", `{"type":"tool_call","toolName":"Execute","parameters":{"command":"make"}}`, "Execute", "make"},
		"lines of JSON, OpenAI":      {"json-lines", `{"role":"assistant","tool_calls":[{"id":"x","function":{"name":"bash","arguments":"{\"command\":[\"git\",\"status\"]}"}}]}`, "bash", "git status"},
		"lines of JSON, plain words": {"json-lines", `{"type":"tool_use","name":"ask","input":"what now?"}`, "ask", "what now?"},
	} {
		events := eventsOf(t, c.format, "/w/task-1", c.line)
		i := slices.IndexFunc(events, func(e Event) bool { return e.Kind == EventTool })
		if i < 0 || events[i].Text != c.tool || events[i].Input != c.input {
			t.Errorf("%s: got %+v, want %s %q", name, events, c.tool, c.input)
		}
	}
}

func TestAnswersOfToolsAreTold(t *testing.T) {
	t.Parallel()
	for format, line := range map[string]string{
		"claude-stream-json": `{"type":"user","message":{"content":[{"type":"tool_result","content":[{"type":"text","text":"ok\n"}]}]}}`,
		"qwen-stream-json":   `{"type":"user","message":{"content":[{"type":"tool_result","content":"ok"}]}}`,
		"codex-json":         `{"type":"item.completed","item":{"type":"command_execution","aggregated_output":"ok\n","exit_code":0}}`,
		"gemini-stream-json": `{"type":"tool_result","status":"success","output":"ok"}`,
		"opencode-json":      `{"type":"tool_use","part":{"tool":"bash","state":{"output":"ok"}}}`,
		"pi-json":            `{"type":"tool_execution_end","toolName":"bash","result":{"content":[{"type":"text","text":"ok"}]}}`,
		"json-lines":         `{"role":"tool","content":"ok"}`,
	} {
		events := eventsOf(t, format, "", line)
		if n := len(events); n == 0 || events[n-1].Kind != EventResult || events[n-1].Text != "ok" {
			t.Errorf("%s: got %+v", format, events)
		}
	}
	long := eventsOf(t, "gemini-stream-json", "", `{"type":"tool_result","output":"begin`+strings.Repeat("ä", 5000)+`end"}`)
	if text := long[0].Text; len(text) > maxResult+20 || !strings.HasPrefix(text, "begin") || !strings.HasSuffix(text, "end") || !strings.Contains(text, "\n[…]\n") {
		t.Errorf("a long answer has %d bytes", len(text))
	}
}

func TestProgramsThatPrintTextTellTheirLines(t *testing.T) {
	t.Parallel()
	lines := []string{"\x1b[32mreading\x1b[0m a file", "", "  ", "done"}
	for _, format := range []string{"text", "claude-stream-json"} { // and words of a program that prints events
		var got []string
		for _, e := range eventsOf(t, format, "", lines...) {
			got = append(got, string(e.Kind)+" "+e.Text)
		}
		if !slices.Equal(got, []string{"output reading a file", "output done"}) {
			t.Errorf("%s: got %q", format, got)
		}
	}
	var got []string
	r := scripted{}.Reader(Spec{Event: func(e Event) { got = append(got, e.Text) }})
	r.Line([]byte("I work"))
	r.Line(ScriptedEvent{Event: "quota"}.Line())
	if !slices.Equal(got, []string{"I work"}) {
		t.Errorf("the scripted agent told %q", got)
	}
}
