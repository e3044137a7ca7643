package e2e_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"

	"liza/pkg/run/agent"
)

const told = `You are a coder. {"request":{"action":"run","job_id":"readme","role":"coder","iteration":1,"options":{"model":"default"}}} End with exactly one exit command.`

const shellSchema = `{"type": "object", "properties": {"command": {"type": "string"}, "background": {"type": "boolean"}}, "required": ["command", "background"]}`

// wires are the same conversation in each dialect: the prompt, a call of a tool, its result.
// %s in path and body is for what differs when the answer is streamed.
var wires = []struct {
	name, path, streamPath string
	first, second          string   // the body before and after the tool has run
	call, final            []string // what the answers have in them
}{
	{
		name: "anthropic", path: "/v1/messages?beta=true", streamPath: "/v1/messages?beta=true",
		first:  `{"model": "m", "stream": %t, "messages": [{"role": "user", "content": [{"type": "text", "text": %q}]}], "tools": [{"name": "Read", "input_schema": {}}, {"name": "Bash", "input_schema": ` + shellSchema + `}]}`,
		second: `{"model": "m", "stream": %t, "messages": [{"role": "user", "content": %q}, {"role": "assistant", "content": [{"type": "tool_use"}]}, {"role": "user", "content": [{"type": "tool_result", "content": "done"}]}], "tools": [{"name": "Bash", "input_schema": ` + shellSchema + `}]}`,
		call:   []string{`"tool_use"`, `"Bash"`}, final: []string{`"end_turn"`, `"text"`},
	},
	{
		name: "openai chat", path: "/v1/chat/completions", streamPath: "/v1/chat/completions",
		first:  `{"model": "m", "stream": %t, "messages": [{"role": "user", "content": %q}], "tools": [{"type": "function", "function": {"name": "bash", "parameters": ` + shellSchema + `}}]}`,
		second: `{"model": "m", "stream": %t, "messages": [{"role": "user", "content": %q}, {"role": "assistant", "tool_calls": []}, {"role": "tool", "content": "done"}], "tools": [{"type": "function", "function": {"name": "bash", "parameters": ` + shellSchema + `}}]}`,
		call:   []string{`"tool_calls"`, `"bash"`}, final: []string{`"stop"`, `"content"`},
	},
	{
		name: "openai responses", path: "/v1/responses", streamPath: "/v1/responses",
		first:  `{"model": "m", "stream": %t, "input": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": %q}]}], "tools": [{"type": "function", "name": "exec_command", "parameters": ` + shellSchema + `}]}`,
		second: `{"model": "m", "stream": %t, "input": [{"role": "user", "content": %q}, {"type": "function_call"}, {"type": "function_call_output", "output": "done"}], "tools": [{"type": "function", "name": "exec_command", "parameters": ` + shellSchema + `}]}`,
		call:   []string{`"function_call"`, `"exec_command"`}, final: []string{`"output_text"`, `"completed"`},
	},
	{
		name: "gemini", path: "/v1beta/models/m:generateContent", streamPath: "/v1beta/models/m:streamGenerateContent?alt=sse",
		first:  `{"x": %t, "contents": [{"role": "user", "parts": [{"text": %q}]}], "tools": [{"functionDeclarations": [{"name": "run_shell_command", "parametersJsonSchema": ` + shellSchema + `}]}]}`,
		second: `{"x": %t, "contents": [{"role": "user", "parts": [{"text": %q}]}, {"role": "model", "parts": [{"functionCall": {}}]}, {"role": "user", "parts": [{"functionResponse": {"name": "run_shell_command"}}]}], "tools": [{"functionDeclarations": [{"name": "run_shell_command", "parameters": ` + shellSchema + `}]}]}`,
		call:   []string{`"functionCall"`, `"run_shell_command"`}, final: []string{`"STOP"`, `"text"`},
	},
}

func post(t *testing.T, url, body string) (*http.Response, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return http.DefaultClient.Do(req)
}

// said is a whole answer: one JSON object, or a stream of events that all are JSON.
func said(t *testing.T, url, body string, stream bool) string {
	t.Helper()
	resp, err := post(t, url, body)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("got %s, %v: %s", resp.Status, err, text)
	}
	if !stream {
		if !json.Valid(text) {
			t.Errorf("no JSON: %s", text)
		}
		return string(text)
	}
	events := 0
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		if events++; data != "[DONE]" && !json.Valid([]byte(data)) {
			t.Errorf("no JSON: %s", data)
		}
	}
	if events == 0 || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		t.Errorf("%d events of %s", events, resp.Header.Get("Content-Type"))
	}
	return string(text)
}

func TestTheServerCallsTheShellAndAnswersInEachDialect(t *testing.T) {
	t.Parallel()
	for _, w := range wires {
		for _, stream := range []bool{false, true} {
			s := newServer(t, sprint(byExit))
			path := w.path
			if stream {
				path = w.streamPath
			}
			call := said(t, s.url+path, fmt.Sprintf(w.first, stream, told), stream)
			final := said(t, s.url+path, fmt.Sprintf(w.second, stream, told), stream)
			for _, want := range append(w.call, "README.md", "background") {
				if !strings.Contains(call, want) {
					t.Errorf("%s, streamed %v: the call has no %s: %s", w.name, stream, want, call)
				}
			}
			for _, want := range append(w.final, "summary_for_supervisor") {
				if !strings.Contains(final, want) {
					t.Errorf("%s, streamed %v: the answer has no %s: %s", w.name, stream, want, final)
				}
			}
			calls := s.seen()
			if len(calls) != 2 || calls[0].ask != (ask{role: "coder", task: "readme", iteration: 1}) || calls[1].ask.step != 1 || s.problem() != nil {
				t.Errorf("%s: the server saw %+v, %v", w.name, calls, s.problem())
			}
		}
	}
}

func TestAQuestionWithoutAToolOrAPromptIsAnsweredInWords(t *testing.T) {
	t.Parallel()
	s := newServer(t, sprint(byExit))
	for _, body := range []string{
		`{"model": "m", "messages": [{"role": "user", "content": "Find a title"}], "tools": [{"function": {"name": "bash", "parameters": ` + shellSchema + `}}]}`,
		fmt.Sprintf(`{"model": "m", "messages": [{"role": "user", "content": %q}]}`, told),
	} {
		if got := said(t, s.url+"/v1/chat/completions", body, false); !strings.Contains(got, "A task of the project") {
			t.Errorf("got %s", got)
		}
	}
}

func TestTheServerCallsLizasToolsAsEachProgramOffersThem(t *testing.T) {
	t.Parallel()
	const found = `"messages": [{"role": "user", "content": %q}, {"role": "tool", "content": "done"}, {"role": "tool", "content": "found"}]`
	for name, c := range map[string]struct {
		path, body, tools string
		want              []string
	}{
		"chat":       {"/v1/chat/completions", `{"model": "m", ` + found + `, "tools": [%s]}`, `{"function": {"name": "liza_submit"}}`, []string{`"liza_submit"`, `readme`}},
		"underlines": {"/v1/chat/completions", `{"model": "m", ` + found + `, "tools": [%s]}`, `{"function": {"name": "mcp_liza_submit"}}`, []string{`"mcp_liza_submit"`}},
		"kept back":  {"/v1/chat/completions", `{"model": "m", ` + found + `, "tools": [%s]}`, `{"function": {"name": "tool_call"}}`, []string{`"tool_call"`, `mcp__liza__submit`, `arguments`}},
		"namespace": {"/v1/responses", `{"model": "m", "input": [{"role": "user", "content": %q}, {"type": "function_call_output"}, {"type": "function_call_output"}], "tools": [%s]}`,
			`{"type": "namespace", "name": "mcp__liza", "tools": [{"type": "function", "name": "submit"}]}`, []string{`"namespace":"mcp__liza"`, `"name":"submit"`}},
	} {
		s := newServer(t, sprint(byTools))
		tools := c.tools + `, {"name": "bash", "parameters": ` + shellSchema + `, "function": {"name": "bash", "parameters": ` + shellSchema + `}}`
		got := said(t, s.url+c.path, fmt.Sprintf(c.body, told, tools), false)
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: no %s in %s", name, want, got)
			}
		}
		if calls := s.seen(); len(calls) != 1 || !calls[0].tool || s.problem() != nil {
			t.Errorf("%s: the server saw %+v, %v", name, calls, s.problem())
		}
	}
}

func TestAToolThatIsNotOfferedIsAProblem(t *testing.T) {
	t.Parallel()
	s := newServer(t, sprint(byTools))
	body := fmt.Sprintf(`{"model": "m", "messages": [{"role": "user", "content": %q}, {"role": "tool"}, {"role": "tool"}], "tools": [{"function": {"name": "bash", "parameters": %s}}]}`, told, shellSchema)
	said(t, s.url+"/v1/chat/completions", body, false)
	if err := s.problem(); err == nil || !strings.Contains(err.Error(), "coder is not told of liza's tool submit, only of bash") {
		t.Errorf("got %v", err)
	}
}

func TestAResumedConversationIsKnownByItsLastPrompt(t *testing.T) {
	t.Parallel()
	s := newServer(t, sprint(byVerbs))
	again := strings.Replace(told, `"readme"`, `"hello"`, 1)
	body := fmt.Sprintf(`{"model": "m", "messages": [{"role": "user", "content": %q}, {"role": "tool", "content": "done"}, {"role": "user", "content": %q}], "tools": [{"function": {"name": "bash", "parameters": %s}}]}`, told, again, shellSchema)
	said(t, s.url+"/v1/chat/completions", body, false)
	if got := s.seen()[0].ask; got.task != "hello" || got.step != 0 || s.resumed() != 1 {
		t.Errorf("got %+v, %d resumed", got, s.resumed())
	}
}

func TestTheServerRefusesAsTheProvidersDo(t *testing.T) {
	t.Parallel()
	for _, w := range wires {
		s := newServer(t, sprint(byExit))
		s.fail = &failure{name: "429", status: 429, retryAfter: "2", once: true}
		resp, err := post(t, s.url+w.path, fmt.Sprintf(w.first, false, told))
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != 429 || resp.Header.Get("Retry-After") != "2" || !bytes.Contains(text, []byte(`"error"`)) {
			t.Errorf("%s: got %s, %v, %s", w.name, resp.Status, resp.Header, text)
		}
		said(t, s.url+w.path, fmt.Sprintf(w.first, false, told), false) // once only
	}
}

func TestTheServerBreaksOffInMidStream(t *testing.T) {
	t.Parallel()
	for _, w := range wires {
		for _, name := range []string{"malformed", "reset"} {
			s := newServer(t, sprint(byExit))
			s.fail = &failure{name: name, after: 1}
			resp, err := post(t, s.url+w.streamPath, fmt.Sprintf(w.second, true, told))
			var text []byte
			if err == nil {
				text, err = io.ReadAll(resp.Body)
				resp.Body.Close()
			}
			if regexp.MustCompile(`message_stop|\[DONE\]|response\.completed|"STOP"`).Match(text) {
				t.Errorf("%s, %s: the answer came whole: %s", w.name, name, text)
			}
			if broken := bytes.Contains(text, []byte("no JSON")); broken != (name == "malformed") || (err != nil) != (name == "reset") {
				t.Errorf("%s, %s: got %s, %v", w.name, name, text, err)
			}
		}
	}
}

func TestTheServerHangsUntilItIsStopped(t *testing.T) {
	t.Parallel()
	s := newServer(t, sprint(byExit))
	s.fail = &failure{name: "hang", after: 1}
	resp, err := post(t, s.url+"/v1/chat/completions", fmt.Sprintf(wires[1].second, true, told))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	line, err := bufio.NewReader(resp.Body).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "data: ") {
		t.Errorf("got %q, %v", line, err)
	}
}

func TestWhoeverCallsTheOutsideIsSeenAndRefused(t *testing.T) {
	t.Parallel()
	s := newServer(t, sprint(byExit))
	proxy, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(proxy)}}
	for _, to := range []string{"http://telemetry.example/", "https://telemetry.example/"} {
		if resp, err := client.Get(to); err == nil {
			if resp.Body.Close(); resp.StatusCode != http.StatusForbidden {
				t.Errorf("%s answered %s", to, resp.Status)
			}
		}
	}
	if got := strings.Join(s.outsiders(), " "); got != "telemetry.example telemetry.example:443" {
		t.Errorf("the server saw %s", got)
	}
}

var pinned = regexp.MustCompile(`(?m)^([a-z]+) +(\S+) +(\d\S*) +\S+$`)

// What is installed is what the catalogue calls measured.
func TestThePinnedVersionsAreThoseOfTheCatalogue(t *testing.T) {
	t.Parallel()
	list, err := os.ReadFile("testdata/programs.txt")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, m := range pinned.FindAllStringSubmatch(string(list), -1) {
		if m[1] == "node" {
			continue
		}
		a, err := agent.Lookup(m[1], agent.Options{})
		if err != nil {
			t.Error(err)
			continue
		}
		if found++; a.Info().Checked != m[3] {
			t.Errorf("%s is pinned to %s; the catalogue has measured %s", m[1], m[3], a.Info().Checked)
		}
	}
	if found < 5 {
		t.Errorf("only %d programs are pinned", found)
	}
}
