package cli_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"liza/pkg/board/blackboard"
	"liza/pkg/verb/verb"
	"liza/pkg/verb/verb/verbtest"
)

// speak starts `liza mcp` as a program that takes an MCP configuration would, in the folder
// of a project, and speaks to it with the SDK's own client.
func speak(t *testing.T, dir string, environ ...string) *sdk.ClientSession {
	t.Helper()
	cmd := exec.Command("liza", "mcp")
	cmd.Dir = dir
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(e string) bool { return strings.HasPrefix(e, "LIZA_") }), "LIZA_SANDBOX=open")
	cmd.Env = append(cmd.Env, environ...)
	cmd.Stderr = os.Stderr
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &sdk.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatalf("cannot connect to liza mcp: %v", err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return session
}

// told is what a tool answers.
type told struct {
	OK     bool
	Result map[string]any
	Error  struct{ Code, Message, Next string }
}

func call(t *testing.T, s *sdk.ClientSession, tool string, arguments map[string]any) told {
	t.Helper()
	got, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	var a told
	structured, err := json.Marshal(got.StructuredContent)
	if err == nil {
		err = json.Unmarshal(structured, &a)
	}
	if err != nil {
		t.Fatalf("%s: the structured result is %s: %v", tool, structured, err)
	}
	var text any
	if err := json.Unmarshal([]byte(got.Content[0].(*sdk.TextContent).Text), &text); err != nil {
		t.Errorf("%s: the text is not JSON: %v", tool, err)
	}
	if got.IsError == a.OK || !a.OK && (a.Error.Message == "" || a.Error.Next == "") {
		t.Errorf("%s: isError is %t, the result %s", tool, got.IsError, structured)
	}
	return a
}

func toolNames(t *testing.T, s *sdk.ClientSession) []string {
	t.Helper()
	list, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, x := range list.Tools {
		names = append(names, x.Name)
	}
	slices.Sort(names)
	return names
}

// The program of a messenger, which has no verbs, starts the server that a person has put into its settings. Some programs end
// when it does not start; and in the wall there is no project to be found.
func TestARunWithoutVerbsIsOfferedNothing(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{t.TempDir(), verbtest.New(t).Dir} {
		s := speak(t, dir, "LIZA_RUN=g-12345678-1", "LIZA_ROLE=messenger")
		if info := s.InitializeResult(); !strings.Contains(info.Instructions, "no verbs") {
			t.Errorf("the server says %q", info.Instructions)
		}
		resources, err := s.ListResources(t.Context(), nil)
		if names := toolNames(t, s); err != nil || len(names)+len(resources.Resources) != 0 {
			t.Errorf("it is offered %v and %v, %v", names, resources, err)
		}
	}
}

func TestAPersonsProgramUsesEverythingOverMCP(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	s := speak(t, p.Dir)

	want := strings.Fields("abandon add-task anomaly answer block convert defer discover edit finalize handoff intent log merge plan-apply questions release restart show status stop submit supersede tell unblock verdict")
	if names := toolNames(t, s); !slices.Equal(names, want) {
		t.Errorf("tools are %q, want %q", names, want)
	}
	if a := call(t, s, "add-task", map[string]any{"id": "task-1", "description": "Say hello", "spec_ref": "specs/vision.md", "done_when": "hello.txt says hello", "scope": "hello.txt",
		"limits": map[string]any{"max_iterations": 3}}); !a.OK || a.Result["status"] != "UNCLAIMED" {
		t.Errorf("add-task answers %+v", a)
	}
	if task := p.State().Task("task-1"); task == nil || task.MaxIterations != 3 {
		t.Errorf("the board has %+v", task)
	}
	if a := call(t, s, "submit", map[string]any{"task": "task-1"}); a.OK || a.Error.Code != "refused" {
		t.Errorf("a submission by a person answers %+v, want refused", a)
	}
	for name, arguments := range map[string]map[string]any{
		"submit":   {},
		"block":    {"task": "task-1", "reason": "why", "questions": "one"},
		"verdict":  {"task": "task-1", "verdict": "maybe"},
		"add-task": {"id": "task-2", "limits": map[string]any{"colour": 1}},
		"tell":     {"text": "x", "unknown": true},
	} {
		if a := call(t, s, name, arguments); a.OK || a.Error.Code != "usage" {
			t.Errorf("%s with %v answers %+v, want usage", name, arguments, a)
		}
	}
	if a := call(t, s, "plan-apply", map[string]any{"goal": "More", "tasks": []any{map[string]any{"id": "t2", "description": "Say bye"}}}); a.OK || a.Error.Code != "usage" || !strings.Contains(a.Error.Message, "done_when") {
		t.Errorf("an incomplete plan answers %+v", a)
	}
	if a := call(t, s, "show", map[string]any{"id": "task-1"}); !a.OK || a.Result["kind"] != "task" {
		t.Errorf("show answers %+v", a)
	}
	if a := call(t, s, "log", map[string]any{"last": 1}); !a.OK || len(a.Result["entries"].([]any)) != 1 {
		t.Errorf("log answers %+v", a)
	}
	if a := call(t, s, "status", nil); !a.OK {
		t.Errorf("status answers %+v", a)
	}
}

func TestTheBoardAndThePromptsAreReadOverMCP(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.AddTask("task-1")
	s := speak(t, p.Dir)

	list, err := s.ListResources(t.Context(), nil)
	if err != nil || len(list.Resources) != 3 {
		t.Fatalf("resources are %+v, %v; want board, log and spec", list, err)
	}
	spec, err := os.ReadFile(filepath.Join(p.Dir, "specs", "vision.md"))
	if err != nil {
		t.Fatal(err)
	}
	for uri, want := range map[string]string{"liza://board": `"task-1"`, "liza://task/task-1": `"status": "UNCLAIMED"`, "liza://spec": string(spec), "liza://spec/task-1": string(spec), "liza://log": "task-1", "liza://log/task-1": "task-1"} {
		got, err := s.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri})
		if err != nil || !strings.Contains(got.Contents[0].Text, want) {
			t.Errorf("%s is %+v, %v; want %q in it", uri, got.Contents[0].Text, err, want)
		}
	}
	for _, uri := range []string{"liza://task/task-9", "liza://spec/task-9", "liza://secrets", "liza://spec/..%2f..%2fetc%2fpasswd"} {
		if got, err := s.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri}); err == nil {
			t.Errorf("%s is %+v, want not found", uri, got.Contents[0])
		}
	}
	got, err := s.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "coder", Arguments: map[string]string{"task": "task-1"}})
	if err != nil {
		t.Fatal(err)
	}
	preview := exec.Command("liza", "show", "task-1", "--prompt")
	preview.Dir = p.Dir
	should, err := preview.Output()
	if text := got.Messages[0].Content.(*sdk.TextContent).Text; err != nil || text != string(should) {
		t.Errorf("the coder's prompt is not that of liza show --prompt (%v): %q", err, text)
	}
	if _, err := s.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "code-reviewer", Arguments: map[string]string{"task": "task-1"}}); err == nil || !strings.Contains(err.Error(), "coder") {
		t.Errorf("a review of what nobody has submitted: %v, want a refusal", err)
	}
}

// specs/decisions.md#D5, specs/decisions.md#D24: the tools are the verbs, and each call is compared with the registration again.
func TestAnAgentHasTheVerbsOfItsRoleUntilItsClaimIsLost(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.AddTask("task-1")
	registered, err := p.Service("coder-1").Agents.Register(t.Context(), verb.RegisterInput{ID: "coder-1", Role: blackboard.RoleCoder})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Service("coder-1").Claim(t.Context(), "task-1"); err != nil {
		t.Fatal(err)
	}
	identity := []string{"LIZA_AGENT_ID=coder-1", "LIZA_AGENT_TOKEN=" + registered.Token, "LIZA_TASK_ID=task-1", "LIZA_RUN=g-00000001-1", "LIZA_ROOT=" + p.Dir}
	s := speak(t, p.Repo.WorktreePath("task-1"), identity...)

	want := strings.Fields("anomaly block discover handoff intent log questions show status submit")
	if names := toolNames(t, s); !slices.Equal(names, want) {
		t.Errorf("a coder is offered %q, want %q", names, want)
	}
	if _, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: "verdict", Arguments: map[string]any{"task": "task-1", "verdict": "approve"}}); err == nil {
		t.Error("a coder could call verdict")
	}
	if a := call(t, s, "intent", map[string]any{"task": "task-1", "intent": "Say hello", "validation": "grep hello hello.txt"}); !a.OK {
		t.Errorf("intent answers %+v", a)
	}
	p.Commit("task-1")
	thief := speak(t, p.Dir, "LIZA_AGENT_ID=coder-1", "LIZA_AGENT_TOKEN=another")
	if a := call(t, thief, "submit", map[string]any{"task": "task-1"}); a.OK || a.Error.Code != "lease_lost" {
		t.Errorf("a submission with another token answers %+v, want lease_lost", a)
	}
	if a := call(t, s, "submit", map[string]any{"task": "task-1", "summary": "Says hello", "no_tests": "a text file"}); !a.OK || a.Result["status"] != "READY_FOR_REVIEW" {
		t.Errorf("submit answers %+v", a)
	}
	if got, err := s.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "liza://task"}); err != nil || !strings.Contains(got.Contents[0].Text, "READY_FOR_REVIEW") {
		t.Errorf("the agent's own task is %+v, %v", got, err)
	}

	if err := p.Service("").Agents.Unregister(t.Context(), "coder-1", true); err != nil {
		t.Fatal(err)
	}
	if a := call(t, s, "discover", map[string]any{"text": "late", "task": "task-1"}); a.OK || a.Error.Code != "refused" && a.Error.Code != "lease_lost" {
		t.Errorf("a call after the registration has gone answers %+v", a)
	}
	if n := len(p.State().Discovered); n != 0 {
		t.Errorf("%d discoveries are on the board, want none", n)
	}
}

// A client that Liza did not start takes work, keeps it, gives it back, submits it, and another
// one judges and merges it; nobody but the registered agent is offered to.
func TestAClientThatLizaDidNotStartTakesWorkOverMCP(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.AddTask("task-1")
	register := func(id string) *sdk.ClientSession {
		r, err := p.Service(id).Agents.Register(t.Context(), verb.RegisterInput{ID: id})
		if err != nil {
			t.Fatal(err)
		}
		return speak(t, p.Dir, "XDG_STATE_HOME="+p.StateHome(), "LIZA_AGENT_ID="+id, "LIZA_AGENT_TOKEN="+r.Token)
	}
	done := func(s *sdk.ClientSession, tool string, arguments map[string]any) told {
		t.Helper()
		a := call(t, s, tool, arguments)
		if !a.OK {
			t.Fatalf("%s answers %+v", tool, a)
		}
		return a
	}
	coder, reviewer := register("coder-7"), register("code-reviewer-7")
	if names := toolNames(t, coder); !slices.Contains(names, "claim") || slices.Contains(names, "merge") || slices.Contains(names, "claim-review") {
		t.Errorf("a coder is offered %q", names)
	}
	if names := toolNames(t, reviewer); slices.Contains(names, "claim") || !slices.Contains(names, "merge") || !slices.Contains(names, "claim-review") {
		t.Errorf("a reviewer is offered %q", names)
	}
	if a := done(coder, "claim", nil); a.Result["task"] != "task-1" || a.Result["worktree"] == "" {
		t.Errorf("claim answers %+v", a)
	}
	done(coder, "heartbeat", nil)
	done(coder, "release", map[string]any{"task": "task-1", "reason": "another one first"})
	done(coder, "claim", map[string]any{"task": "task-1"})
	p.Commit("task-1")
	done(coder, "submit", map[string]any{"task": "task-1", "summary": "Says hello", "no_tests": "a text file"})
	if a := call(t, coder, "claim", nil); a.OK || a.Error.Code != "nothing" {
		t.Errorf("a claim without work answers %+v, want nothing", a)
	}
	done(reviewer, "claim-review", nil)
	done(reviewer, "verdict", map[string]any{"task": "task-1", "verdict": "approve"})
	done(reviewer, "merge", nil)
	if got := p.State().Task("task-1").Status; got != blackboard.Merged {
		t.Errorf("the task is %s", got)
	}
}
