package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"liza/pkg/transition"
)

// answer is the result of a tool: what the command of that name prints with --json.
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
		for _, t := range slices.Concat(tools(), views()) {
			if o.offers(t) {
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
		who = fmt.Sprintf("You are %s. What is offered are the verbs of this role.", cmp.Or(o.Service.Caller.AgentID, o.Service.Caller.As))
	}
	return "Liza keeps a board of tasks that agents work on. " + who +
		" A tool is the verb of liza of the same name; a refusal says in error.next what helps. Read liza://board first."
}

// offers reports whether the caller is shown a tool. Whether he may use it is the verb's to say.
func (o Options) offers(t tool) bool {
	switch {
	case t.outside && o.Inside:
		return false
	case o.Role == "":
		return !t.agents
	case len(t.roles) == 0:
		return !t.people
	}
	return slices.Contains(t.roles, o.Role)
}

// add registers a tool. The schema of its arguments is checked before it is called, and what
// is wrong with them is a usage error like any other.
func (o Options) add(s *sdk.Server, t tool) error {
	schema, err := t.schema()
	if err != nil {
		return fmt.Errorf("cannot describe the tool %s: %v", t.name, err)
	}
	plain(schema)
	for name, values := range t.values {
		schema.Properties[name].Enum = values
	}
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

// plain takes "null" out of what lists and pointers may be: it can be left out instead, and
// not every program knows types that are lists.
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
