// Package mcp offers the verbs and the read views to programs that speak the Model Context Protocol: `liza mcp`, a server on
// stdin and stdout.
//
// It has no rules of its own. A tool parses its arguments, calls one method of verb.Service, the same as the command of that
// name, and returns the result in the form of --json: {"ok": true, "result": …} or {"ok": false, "error": {"code", "message",
// "next"}}. The service's Caller identifies the caller, and each call is checked again inside its write, so a server that
// outlives its run is refused like any late command.
//
// Names to know: Serve, and Options with the caller. The tools of an agent depend on its role; a person gets all. tools.go
// has the tools as tables, serve.go the resources under liza:// and the prompts of the roles.
package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/history"
	"liza/pkg/board/transition"
	"liza/pkg/face/dashboard"
)

// answer is the result of a tool: the output of the command of that name with --json.
type answer struct {
	OK     bool     `json:"ok"`
	Result any      `json:"result,omitempty"`
	Error  *Problem `json:"error,omitempty"`
}

// Serve answers requests, one after the other, until in ends or ctx does. Nothing but messages of the protocol is written
// to out.
func Serve(ctx context.Context, o Options, in io.Reader, out io.Writer) error {
	s := sdk.NewServer(&sdk.Implementation{Name: "liza", Title: "Liza", Version: o.Version}, &sdk.ServerOptions{
		Instructions: instructions(o),
		// What is offered does not change while a server runs, and it writes no log messages.
		Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}, Resources: &sdk.ResourceCapabilities{}, Prompts: &sdk.PromptCapabilities{}},
	})
	if o.Service != nil {
		for _, t := range tools() {
			if t.offered(o.Role, o.Inside) {
				if err := o.add(s, t); err != nil {
					return err
				}
			}
		}
		o.addResources(s)
		o.addPrompts(s)
	}
	conversation := newSequential(in, out)
	err := s.Run(ctx, &sdk.IOTransport{Reader: conversation, Writer: conversation})
	if ctx.Err() == nil && conversation.ended() {
		return nil // anyone who asked has gone, and has got his answers
	}
	return err
}

func instructions(o Options) string {
	if o.Service == nil {
		return "This run has no verbs of Liza: its answer is all that is asked for."
	}
	who := "You act as a person: every verb is offered."
	if o.Role != "" {
		who = fmt.Sprintf("You are %s. What is offered are the verbs of this role.", cmp.Or(o.Service.Board.Caller.AgentID, o.Service.Board.Caller.As))
	}
	return "Liza keeps a board of tasks that agents work on. " + who +
		" A tool is the verb of liza of the same name; a refusal says in error.next what helps. Read liza://board first."
}

// add registers a tool. It checks the arguments by their schema before the call; a problem is a usage error like any other.
func (o Options) add(s *sdk.Server, t tool) error {
	schema, err := t.schema()
	if err != nil {
		return fmt.Errorf("cannot describe the tool %s: %v", t.name, err)
	}
	plain(schema)
	checked, err := schema.Resolve(nil)
	if err != nil {
		return fmt.Errorf("cannot describe the tool %s: %v", t.name, err)
	}
	no := false
	s.AddTool(&sdk.Tool{Name: t.name, Description: t.about, InputSchema: schema, OutputSchema: answerSchema,
		Annotations: &sdk.ToolAnnotations{ReadOnlyHint: t.reads, DestructiveHint: &no, IdempotentHint: t.reads, OpenWorldHint: &no}},
		func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return o.call(ctx, t, checked, req.Params.Arguments)
		})
	return nil
}

func (o Options) call(ctx context.Context, t tool, schema *jsonschema.Resolved, arguments json.RawMessage) (*sdk.CallToolResult, error) {
	if len(arguments) == 0 || string(arguments) == "null" {
		arguments = json.RawMessage("{}")
	}
	a := answer{OK: true}
	var given any
	err := json.Unmarshal(arguments, &given)
	if err == nil {
		err = schema.Validate(given)
	}
	if err != nil {
		a = answer{Error: &Problem{Code: "usage", Message: "cannot call " + t.name + ": " + schemaError(err), Next: "liza help " + t.command()}}
	} else if a.Result, err = t.run(ctx, o, arguments); err != nil {
		p := o.Explain(err)
		a = answer{Error: &p}
	}
	text, err := json.Marshal(a)
	if err != nil {
		return nil, fmt.Errorf("cannot show the result of %s: %v", t.name, err)
	}
	content := []sdk.Content{&sdk.TextContent{Text: string(text)}}
	if o.Notes != nil {
		for _, note := range o.Notes(ctx) {
			content = append(content, &sdk.TextContent{Text: note})
		}
	}
	return &sdk.CallToolResult{IsError: !a.OK, StructuredContent: json.RawMessage(text), Content: content}, nil
}

// run calls the tool. A panic ends the call, not the server: others may be under way.
func (t tool) run(ctx context.Context, o Options, arguments json.RawMessage) (result any, err error) {
	defer func() {
		if r := recover(); r != nil {
			result, err = nil, &transition.Refusal{Exit: transition.ExitFailure, Next: "liza validate",
				Message: fmt.Sprintf("this is a bug in liza: %s: %v; nothing half done is left on the board", t.name, r)}
		}
	}()
	return t.call(ctx, o, arguments)
}

// schemaError drops where in the schema the check was.
func schemaError(err error) string {
	text := err.Error()
	if i := strings.LastIndex(text, "validating "); i >= 0 {
		if _, rest, ok := strings.Cut(text[i:], ": "); ok {
			where := strings.TrimPrefix(strings.TrimPrefix(text[i:len(text)-len(rest)-2], "validating "), "root")
			text = strings.TrimPrefix(strings.TrimPrefix(where+": "+rest, ": "), "/properties/")
		}
	}
	return text
}

// plain removes "null" from the types of lists and pointers: they can be left out instead, and not every program knows types
// that are lists.
func plain(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if rest := slices.DeleteFunc(slices.Clone(s.Types), func(t string) bool { return t == "null" }); len(s.Types) > 0 && len(rest) == 1 {
		s.Types, s.Type = nil, rest[0]
	}
	for _, p := range s.Properties {
		plain(p)
	}
	plain(s.Items)
	plain(s.AdditionalProperties)
}

// answerSchema is the form of every result.
var answerSchema = json.RawMessage(`{"type":"object","properties":{"ok":{"type":"boolean"},"result":{},` +
	`"error":{"type":"object","properties":{"code":{"type":"string"},"message":{"type":"string"},"next":{"type":"string"}},"required":["code","message","next"]}},"required":["ok"]}`)

// addPrompts offers the prompt that a run of a role would begin with; an agent gets that of its own role only
// (specs/roles-and-knowledge.md#2.4).
func (o Options) addPrompts(s *sdk.Server) {
	offer := func(role blackboard.Role, name, about string, forTask bool) {
		if o.Role != "" && o.Role != role {
			return
		}
		p := &sdk.Prompt{Name: name, Description: about}
		if forTask {
			p.Arguments = []*sdk.PromptArgument{{Name: "task", Description: "id of the task", Required: o.Task == ""}}
		}
		s.AddPrompt(p, func(ctx context.Context, req *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
			task := "_planner"
			if forTask {
				task = cmp.Or(req.Params.Arguments["task"], o.Task)
			}
			return o.prompt(ctx, role, task, about)
		})
	}
	offer(blackboard.RolePlanner, "planner", "what the planner is told when it is woken now", false)
	offer(blackboard.RoleCoder, "coder", "what the next coder of a task is told", true)
	offer(blackboard.RoleReviewer, "code-reviewer", "what the next reviewer of a task is told", true)
}

func (o Options) prompt(ctx context.Context, role blackboard.Role, task, about string) (*sdk.GetPromptResult, error) {
	text, err := o.promptText(ctx, role, task)
	if err != nil {
		return nil, wireError(o.Explain(err))
	}
	return &sdk.GetPromptResult{Description: about, Messages: []*sdk.PromptMessage{{Role: "user", Content: &sdk.TextContent{Text: text}}}}, nil
}

func (o Options) promptText(ctx context.Context, role blackboard.Role, task string) (string, error) {
	if task == "" {
		return "", usage("liza status", "the prompt of a "+string(role)+" needs the argument task")
	}
	kind, text, err := o.Prompt(ctx, task)
	if err == nil && kind != role {
		err = &transition.Refusal{Exit: transition.ExitRefused, Next: "liza show " + task, Message: task + " waits for a " + string(kind) + " now, not for a " + string(role)}
	}
	return text, err
}

// The addresses of resources.
const (
	boardURI = "liza://board"
	taskURI  = "liza://task"
	specURI  = "liza://spec"
	logURI   = "liza://log"
)

const (
	jsonType = "application/json"
	markdown = "text/markdown"
	text     = "text/plain"
)

// read returns the content of a resource; id is the rest of its address.
type read func(ctx context.Context, id string) (string, error)

func (o Options) addResources(s *sdk.Server) {
	one := func(uri, name, about, mime string, f read) {
		s.AddResource(&sdk.Resource{URI: uri, Name: name, Description: about, MIMEType: mime}, o.reading(uri, mime, f))
	}
	many := func(uri, variable, name, about, mime string, f read) {
		s.AddResourceTemplate(&sdk.ResourceTemplate{URITemplate: uri + "/" + variable, Name: name, Description: about, MIMEType: mime}, o.reading(uri, mime, f))
	}
	one(boardURI, "board", "goal, sprint, tasks, agents, and what waits for a person", jsonType, o.readBoard)
	one(logURI, "log", "the newest entries of the journal, oldest first", text, o.readLog)
	one(specURI, "spec", "the spec of your task, else that of the goal", markdown, o.readSpec)
	if o.Task != "" {
		one(taskURI, "task", "the task that you work on, whole", jsonType, o.readTask)
	}
	many(taskURI, "{id}", "a task", "one task whole, also an archived one", jsonType, o.readTask)
	many(specURI, "{task}", "the spec of a task", "the file that the task's spec_ref names", markdown, o.readSpec)
	many(logURI, "{task}", "the log of a task", "the entries of the journal about one task", text, o.readLog)
}

// reading returns the handler of a resource. A missing one is not found.
func (o Options) reading(base, mime string, f read) sdk.ResourceHandler {
	return func(ctx context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		uri := req.Params.URI
		id, err := url.PathUnescape(strings.TrimPrefix(strings.TrimPrefix(uri, base), "/"))
		if err != nil {
			return nil, sdk.ResourceNotFoundError(uri)
		}
		content, err := f(ctx, id)
		if err != nil {
			p := o.Explain(err)
			if p.Code == "refused" {
				return nil, sdk.ResourceNotFoundError(uri)
			}
			return nil, wireError(p)
		}
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: uri, MIMEType: mime, Text: content}}}, nil
	}
}

func (o Options) readBoard(ctx context.Context, _ string) (string, error) {
	v, err := o.board(ctx)
	if err != nil {
		return "", err
	}
	return indented(v)
}

func (o Options) readTask(ctx context.Context, id string) (string, error) {
	found, err := o.entry(ctx, cmp.Or(id, o.Task))
	if err == nil && found["kind"] != "task" {
		err = noTask(id)
	}
	if err != nil {
		return "", err
	}
	return indented(found["task"])
}

func noTask(id string) error {
	return &transition.Refusal{Guard: "G05", Exit: transition.ExitRefused, Next: "liza status", Message: "there is no task '" + id + "'"}
}

func (o Options) readSpec(ctx context.Context, id string) (string, error) {
	s, err := o.Service.Board.View(ctx)
	if err != nil {
		return "", err
	}
	ref := ""
	if s.Goal != nil {
		ref = s.Goal.SpecRef
	}
	switch t := s.Task(cmp.Or(id, o.Task)); {
	case t != nil:
		ref = t.SpecRef
	case id != "":
		return "", noTask(id)
	}
	body, err := o.Service.Board.SpecText(ref)
	if err != nil {
		return "", &transition.Refusal{Exit: transition.ExitFailure, Next: "liza show " + cmp.Or(id, "goal"), Message: "cannot read the spec: " + err.Error()}
	}
	return body, nil
}

func (o Options) readLog(_ context.Context, id string) (string, error) {
	entries, err := history.Journal{Path: o.Service.Board.Project.Journal()}.Read(history.Filter{Last: newest, Task: id})
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, e := range entries {
		b.WriteString(strings.TrimRight(dashboard.LogLine(e), "\n") + "\n")
	}
	return b.String(), nil
}

func indented(v any) (string, error) {
	body, err := json.MarshalIndent(v, "", "  ")
	return string(body), err
}
