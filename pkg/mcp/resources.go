package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"net/url"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"liza/pkg/dashboard"
	"liza/pkg/history"
	"liza/pkg/transition"
)

// The addresses of what can be read.
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

// read makes the content of a resource; id is what is behind its address.
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

// reading makes the handler of a resource. What cannot be read for want of it is not found.
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
	s, err := o.Service.View(ctx)
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
	body, err := o.Service.SpecText(ref)
	if err != nil {
		return "", &transition.Refusal{Exit: transition.ExitFailure, Next: "liza show " + cmp.Or(id, "goal"), Message: "cannot read the spec: " + err.Error()}
	}
	return body, nil
}

func (o Options) readLog(_ context.Context, id string) (string, error) {
	entries, err := history.Journal{Path: o.Service.Project.Journal()}.Read(history.Filter{Last: newest, Task: id})
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
