// Package mcp offers tools, resources and prompts to programs that speak the Model Context
// Protocol. It knows the protocol and nothing of Liza: what a tool is called, what it takes
// and what it does comes from whoever serves (the command line makes tools of its own
// commands, so that both always agree; D23).
//
//	err := mcp.Serve(ctx, os.Stdin, os.Stdout, mcp.Offer{Name: "liza", Tools: tools})
package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// An Offer is what a server has.
type Offer struct {
	Name, Version string
	Instructions  string // for the model
	Tools         []Tool
	Resources     []Resource
	Prompts       []Prompt
}

// A Kind is the type of an argument's value.
type Kind string

// Kinds of arguments.
const (
	Text   Kind = "string"
	Texts  Kind = "array" // of texts
	Flag   Kind = "boolean"
	Number Kind = "integer"
	Any    Kind = "" // whatever JSON there is
)

// An Argument is a value that a tool or prompt takes.
type Argument struct {
	Name, Help string
	Kind       Kind
	Required   bool
	OneOf      []string // of a Text; nil: any
}

// A Tool does something. Call may be used by several goroutines at once. What it returns is
// one JSON object; failed says that it tells of an error, which the model is to see.
type Tool struct {
	Name, Help string
	Arguments  []Argument
	ReadOnly   bool
	Call       func(ctx context.Context, arguments map[string]json.RawMessage) (result json.RawMessage, failed bool)
}

// A Resource is a text that can be read. With {id} in its URI it stands for many.
type Resource struct {
	URI, Name, Help, MIME string
	Read                  func(ctx context.Context, id string) (string, error)
}

// A Prompt is a text for a model to begin with.
type Prompt struct {
	Name, Help string
	Arguments  []Argument
	Text       func(ctx context.Context, arguments map[string]string) (string, error)
}

// Serve speaks the protocol, one JSON message a line, until in ends or ctx does. Requests are
// answered one after the other.
func Serve(ctx context.Context, in io.Reader, out io.Writer, o Offer) error {
	server := sdk.NewServer(&sdk.Implementation{Name: o.Name, Version: o.Version}, &sdk.ServerOptions{Instructions: o.Instructions, Logger: slog.New(slog.DiscardHandler)})
	for _, t := range o.Tools {
		server.AddTool(&sdk.Tool{Name: t.Name, Description: t.Help, InputSchema: schema(t.Arguments), Annotations: &sdk.ToolAnnotations{ReadOnlyHint: t.ReadOnly}}, t.handle)
	}
	for _, r := range o.Resources {
		if _, many := r.id(""); many {
			server.AddResourceTemplate(&sdk.ResourceTemplate{URITemplate: r.URI, Name: r.Name, Description: r.Help, MIMEType: r.MIME}, r.handle)
			continue
		}
		server.AddResource(&sdk.Resource{URI: r.URI, Name: r.Name, Description: r.Help, MIMEType: r.MIME}, r.handle)
	}
	for _, p := range o.Prompts {
		prompt := &sdk.Prompt{Name: p.Name, Description: p.Help}
		for _, a := range p.Arguments {
			prompt.Arguments = append(prompt.Arguments, &sdk.PromptArgument{Name: a.Name, Description: a.Help, Required: a.Required})
		}
		server.AddPrompt(prompt, p.handle)
	}
	conversation := newOrderly(in, out)
	err := server.Run(ctx, &sdk.IOTransport{Reader: conversation, Writer: conversation})
	if ctx.Err() != nil || conversation.ended() {
		return nil // somebody ended it
	}
	if err != nil {
		return fmt.Errorf("cannot go on with the conversation: %w", err)
	}
	return nil
}

// schema describes arguments; nothing but them may be given.
func schema(arguments []Argument) map[string]any {
	properties, required := map[string]any{}, []string{}
	for _, a := range arguments {
		p := map[string]any{"description": a.Help}
		if a.Kind != Any {
			p["type"] = string(a.Kind)
		}
		if a.Kind == Texts {
			p["items"] = map[string]any{"type": "string"}
		}
		if len(a.OneOf) > 0 {
			p["enum"] = a.OneOf
		}
		properties[a.Name] = p
		if a.Required {
			required = append(required, a.Name)
		}
	}
	return map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
}

func (t Tool) handle(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	arguments := map[string]json.RawMessage{}
	if len(r.Params.Arguments) > 0 {
		if err := json.Unmarshal(r.Params.Arguments, &arguments); err != nil {
			return refused(fmt.Sprintf("the arguments of %s are no JSON object: %v", t.Name, err)), nil
		}
	}
	if problem := t.check(arguments); problem != "" {
		return refused(problem), nil
	}
	result, failed := t.Call(ctx, arguments)
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: string(result)}}, StructuredContent: result, IsError: failed}, nil
}

// refused is the answer to a call that was not made.
func refused(message string) *sdk.CallToolResult {
	text, _ := json.Marshal(map[string]any{"ok": false, "error": map[string]string{"code": "usage", "message": message, "next": "tools/list"}})
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: string(text)}}, StructuredContent: json.RawMessage(text), IsError: true}
}

// check says in one sentence what is wrong with the arguments, "" when nothing is.
func (t Tool) check(given map[string]json.RawMessage) string {
	known := map[string]bool{}
	var names []string
	for _, a := range t.Arguments {
		known[a.Name] = true
		names = append(names, a.Name)
		value, is := given[a.Name]
		if !is || string(value) == "null" {
			if a.Required {
				return fmt.Sprintf("%s needs the argument '%s'", t.Name, a.Name)
			}
			delete(given, a.Name)
			continue
		}
		if problem := a.check(value); problem != "" {
			return fmt.Sprintf("%s: the argument '%s' %s", t.Name, a.Name, problem)
		}
	}
	for name := range given {
		if !known[name] {
			return fmt.Sprintf("%s has no argument '%s'; it takes %s", t.Name, name, strings.Join(names, ", "))
		}
	}
	return ""
}

func (a Argument) check(value json.RawMessage) string {
	var into any
	what := ""
	switch a.Kind {
	case Text:
		into, what = new(string), "must be a text"
	case Texts:
		into, what = new([]string), "must be a list of texts"
	case Flag:
		into, what = new(bool), "must be true or false"
	case Number:
		into, what = new(int), "must be a whole number"
	default:
		return ""
	}
	if json.Unmarshal(value, into) != nil {
		return what
	}
	if text, is := into.(*string); is && len(a.OneOf) > 0 && !slices.Contains(a.OneOf, *text) {
		return "must be one of " + strings.Join(a.OneOf, ", ")
	}
	return ""
}

// id takes what stands for {id} out of a URI. many tells whether there is an {id} at all.
func (r Resource) id(uri string) (id string, many bool) {
	before, after, many := strings.Cut(r.URI, "{id}")
	if !many {
		return "", false
	}
	return strings.TrimSuffix(strings.TrimPrefix(uri, before), after), true
}

func (r Resource) handle(ctx context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	id, _ := r.id(req.Params.URI)
	text, err := r.Read(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", req.Params.URI, err)
	}
	return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: req.Params.URI, MIMEType: r.MIME, Text: text}}}, nil
}

func (p Prompt) handle(ctx context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
	for _, a := range p.Arguments {
		if a.Required && r.Params.Arguments[a.Name] == "" {
			return nil, fmt.Errorf("the prompt %s needs the argument '%s'", p.Name, a.Name)
		}
	}
	text, err := p.Text(ctx, r.Params.Arguments)
	if err != nil {
		return nil, fmt.Errorf("cannot make the prompt %s: %w", p.Name, err)
	}
	return &sdk.GetPromptResult{Description: p.Help, Messages: []*sdk.PromptMessage{{Role: "user", Content: &sdk.TextContent{Text: text}}}}, nil
}
