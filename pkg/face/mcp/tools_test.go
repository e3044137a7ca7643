package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"liza/pkg/board/blackboard"
	"liza/pkg/face/dashboard"
	"liza/pkg/face/verbs"
	"liza/pkg/verb/verb"
	"liza/pkg/verb/verb/verbtest"
)

var update = flag.Bool("update", false, "write the list of tools anew")

// session serves a caller of p in memory and returns the other end.
func session(t *testing.T, o Options) *sdk.ClientSession {
	t.Helper()
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	o.Version = "test"
	o.Explain = func(err error) Problem { return Problem{Code: "refused", Message: err.Error(), Next: "liza status"} }
	o.Facts = func(*blackboard.State) dashboard.Input { return dashboard.Input{} }
	done := make(chan error, 1)
	go func() { done <- Serve(context.WithoutCancel(t.Context()), o, fromClient, toClient) }()
	s, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &sdk.IOTransport{Reader: fromServer, Writer: toServer}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = s.Close()
		_ = toServer.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return s
}

// The schemas are what agent programs were written for: a difference is a decision.
func TestGeneratedListOfTools(t *testing.T) {
	t.Parallel()
	s := session(t, Options{Service: verbtest.New(t).Service("")})
	list, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	coder := session(t, Options{Service: verbtest.New(t).Service("coder-1"), Role: blackboard.RoleCoder})
	reviewer := session(t, Options{Service: verbtest.New(t).Service("code-reviewer-1"), Role: blackboard.RoleReviewer})
	for _, other := range []*sdk.ClientSession{coder, reviewer} {
		more, err := other.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		list.Tools = append(list.Tools, more.Tools...)
	}
	tools := map[string]any{}
	for _, tool := range list.Tools {
		tools[tool.Name] = map[string]any{"description": tool.Description, "schema": tool.InputSchema, "reads": tool.Annotations.ReadOnlyHint}
	}
	page, err := json.MarshalIndent(tools, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", "tools.json")
	if *update {
		if err := os.WriteFile(path, append(page, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	there, err := os.ReadFile(path)
	if err != nil || string(there) != string(page)+"\n" {
		t.Errorf("%s is not the list of tools (%v); run `make generate` and look at the difference", path, err)
	}
}

// named are the tools that a caller is offered.
func named(t *testing.T, s *sdk.ClientSession) []string {
	t.Helper()
	list, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	slices.Sort(names)
	return names
}

// specs/mcp.md has the same table.
func TestEachCallerIsOfferedTheVerbsOfItsRole(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	const views = " log questions show status"
	for _, c := range []struct {
		id     string
		role   blackboard.Role
		inside bool
		want   string
	}{
		{"", "", false, "abandon add-task anomaly answer block convert defer discover edit finalize handoff intent merge plan-apply release restart stop submit supersede tell unblock verdict"},
		{"coder-1", blackboard.RoleCoder, true, "anomaly block discover handoff intent submit"},
		{"coder-1", blackboard.RoleCoder, false, "anomaly block claim discover handoff heartbeat intent release submit"},
		{"code-reviewer-1", blackboard.RoleReviewer, true, "anomaly discover handoff verdict"},
		{"code-reviewer-1", blackboard.RoleReviewer, false, "anomaly claim-review discover handoff heartbeat merge release verdict"},
		{"planner-1", blackboard.RolePlanner, true, "abandon add-task anomaly convert defer finalize plan-apply supersede tell unblock"},
		{"planner-1", blackboard.RolePlanner, false, "abandon add-task anomaly convert defer finalize heartbeat plan-apply supersede tell unblock"},
	} {
		want := strings.Fields(c.want + views)
		slices.Sort(want)
		if got := named(t, session(t, Options{Service: p.Service(c.id), Role: c.role, Inside: c.inside})); !slices.Equal(got, want) {
			t.Errorf("%s (in a run: %t) is offered %q, want %q", cmp.Or(c.id, "a person"), c.inside, got, want)
		}
	}
	if got := named(t, session(t, Options{})); got != nil {
		t.Errorf("a run without verbs is offered %q", got)
	}
}

// refusal calls a tool that has to refuse and returns its code and message.
func refusal(t *testing.T, s *sdk.ClientSession, tool string, arguments any) (code, message string) {
	t.Helper()
	got, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	var a answer
	text := got.Content[0].(*sdk.TextContent).Text
	if err := json.Unmarshal([]byte(text), &a); err != nil || a.OK || !got.IsError || a.Error == nil || a.Error.Next == "" {
		t.Fatalf("%s answers %s (%v), want a refusal with the command that helps", tool, text, err)
	}
	return a.Error.Code, a.Error.Message
}

// Every verb refuses what its schema does not have, before it looks at the board: a field that is missing, one that
// nobody knows, one of another type, one that is none of the possible values.
func TestEveryVerbRefusesWhatItsSchemaDoesNotHave(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	sessions := []*sdk.ClientSession{session(t, Options{Service: p.Service("")}),
		session(t, Options{Service: p.Service("coder-1"), Role: blackboard.RoleCoder}), session(t, Options{Service: p.Service("code-reviewer-1"), Role: blackboard.RoleReviewer})}
	serves := map[string]*sdk.ClientSession{}
	for _, s := range sessions {
		for _, name := range named(t, s) {
			serves[name] = s
		}
	}
	before := p.State().Revision
	seen := 0
	for _, v := range verbs.All() {
		if v.Tool == nil {
			continue
		}
		seen++
		s := serves[v.ToolName()]
		if s == nil {
			t.Errorf("nobody is offered %s", v.ToolName())
			continue
		}
		whole := map[string]any{}
		for _, f := range v.Fields(verbs.MCP) {
			if f.Required {
				whole[f.Name] = sample(f)
			}
		}
		wrong := map[string]map[string]any{"an unknown field": with(whole, "colour", "blue")}
		for _, f := range v.Fields(verbs.MCP) {
			wrong["another type of "+f.Name] = with(whole, f.Name, map[string]any{"a": []any{1}})
			if f.Values != nil {
				wrong["another value of "+f.Name] = with(whole, f.Name, "purple")
			}
			if f.Required {
				less := maps.Clone(whole)
				delete(less, f.Name)
				wrong["no "+f.Name] = less
			}
		}
		for what, arguments := range wrong {
			if code, message := refusal(t, s, v.ToolName(), arguments); code != "usage" || !strings.HasPrefix(message, "cannot call "+v.ToolName()+": ") {
				t.Errorf("%s with %s answers %s: %s", v.ToolName(), what, code, message)
			}
		}
	}
	if seen < 20 {
		t.Errorf("looked at %d verbs", seen)
	}
	if after := p.State().Revision; after != before {
		t.Errorf("the board is at revision %d, want %d", after, before)
	}
}

func with(arguments map[string]any, name string, value any) map[string]any {
	more := maps.Clone(arguments)
	more[name] = value
	return more
}

// sample is a value of a field.
func sample(f verbs.Field) any {
	switch {
	case f.Values != nil:
		return f.Values[0]
	case f.Type.Kind() == reflect.Slice:
		return []any{"task-9"}
	}
	return "task-9"
}

// What the schema allows is for the verb to refuse: every one names what is not there, and changes nothing.
func TestEveryVerbRefusesWhatIsNotThere(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	s := session(t, Options{Service: p.Service("")})
	before := p.State().Revision
	for _, v := range verbs.All() {
		if !v.OfferedTo("", false) || v.Name == "merge" || v.Name == "add-task" { // these need nothing that is there
			continue
		}
		arguments := map[string]any{}
		for _, f := range v.Fields(verbs.MCP) {
			if f.Required {
				arguments[f.Name] = sample(f)
			}
		}
		if code, message := refusal(t, s, v.ToolName(), arguments); code == "" || message == "" {
			t.Errorf("%s with %v answers '%s': %s", v.ToolName(), arguments, code, message)
		}
	}
	if after := p.State().Revision; after != before {
		t.Errorf("the board is at revision %d, want %d", after, before)
	}
}

// A verb that is offered does what the command does: the input arrives whole.
func TestVerbsAreCarriedOut(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	s := session(t, Options{Service: p.Service("")})
	do := func(tool string, arguments map[string]any) map[string]any {
		t.Helper()
		got, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: arguments})
		if err != nil || got.IsError {
			t.Fatalf("%s answers %+v, %v", tool, got, err)
		}
		var a answer
		if err := json.Unmarshal([]byte(got.Content[0].(*sdk.TextContent).Text), &a); err != nil {
			t.Fatal(err)
		}
		result, _ := a.Result.(map[string]any)
		return result
	}
	do("add-task", map[string]any{"id": "task-1", "description": "Say hello", "spec_ref": "specs/vision.md", "done_when": "hello.txt says hello", "scope": "hello.txt",
		"limits": map[string]any{"max_iterations": 3}, "files": []any{"hello.txt"}, "legacy_tests": "an example"})
	if task := p.State().Task("task-1"); task == nil || task.MaxIterations != 3 || task.PriorityOf() != 1 || task.Type != "task" || len(task.Files) != 1 || task.LegacyTests == "" {
		t.Errorf("the board has %+v", task)
	}
	do("edit", map[string]any{"task": "task-1", "priority": 4, "title": "Hello"})
	if task := p.State().Task("task-1"); task.PriorityOf() != 4 || task.Title != "Hello" || task.Scope != "hello.txt" {
		t.Errorf("after the edit the board has %+v", task)
	}
	if noted := do("tell", map[string]any{"text": "Keep it short", "to": "task-1", "id": "n-1"}); noted["id"] != "n-1" {
		t.Errorf("the note is %v", noted)
	}
	found := do("discover", map[string]any{"text": "the docs are old", "task": "task-1"})
	if x := p.State().Discovered; len(x) != 1 || x[0].Severity != "low" || x[0].Urgency != "deferred" {
		t.Errorf("found was %+v, want low and deferred", x)
	}
	do("defer", map[string]any{"discovery": found["id"], "reason": "later"})
	do("anomaly", map[string]any{"type": "x-odd", "task": "task-1", "details": map[string]any{"what": "it hums"}})
	do("abandon", map[string]any{"task": "task-1", "reason": "not needed"})
	if task := p.State().Task("task-1"); task.Status != blackboard.Abandoned {
		t.Errorf("the task is %s", task.Status)
	}
}

// A rejection by a tool names places that the submitted commit has, in its reason and in its findings.
func TestARejectionByAToolNamesPlacesThatAreThere(t *testing.T) {
	t.Parallel()
	p := verbtest.New(t)
	p.AddTask("task-1")
	coder, reviewer := p.Supervised("coder-1"), p.Supervised("code-reviewer-1")
	if _, err := coder.Claim(t.Context(), "task-1"); err != nil {
		t.Fatal(err)
	}
	p.Commit("task-1")
	if _, err := coder.Submit(t.Context(), verb.SubmitInput{Task: "task-1"}); err != nil {
		t.Fatal(err)
	}
	if _, err := reviewer.Reviews.ClaimReview(t.Context(), "task-1"); err != nil {
		t.Fatal(err)
	}
	s := session(t, Options{Service: reviewer, Role: blackboard.RoleReviewer})
	before := p.State().Revision
	for _, c := range []struct {
		arguments map[string]any
		want      string
	}{
		{map[string]any{"reason": "task-1.md:999 says the wrong thing"}, "task-1.md:999 does not exist"},
		{map[string]any{"reason": "It says the wrong thing.", "findings": []any{map[string]any{"severity": "error", "file": "gone.md", "line": 1, "message": "says the wrong thing"}}}, "gone.md:1 does not exist"},
	} {
		c.arguments["task"], c.arguments["verdict"] = "task-1", "reject"
		if _, message := refusal(t, s, "verdict", c.arguments); !strings.Contains(message, c.want) {
			t.Errorf("%v: %s; want %s", c.arguments, message, c.want)
		}
	}
	if got := p.State().Revision; got != before {
		t.Errorf("a refused verdict wrote revision %d after %d", got, before)
	}
}
