package mcp

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"liza/pkg/blackboard"
	"liza/pkg/dashboard"
	"liza/pkg/transition"
	"liza/pkg/verb"
)

// Options says who is served, and with what.
type Options struct {
	Version string
	Service *verb.Service   // of the caller; nil: a run without verbs calls, and nothing is offered
	Role    blackboard.Role // of the caller; "" for a person
	Inside  bool            // the caller is in a run of an agent program: its supervisor claims, merges and keeps the leases
	Task    string          // that the caller's run is about; may be ""

	// Notes takes what people have written since the prompt of the caller's run; nil: nobody does.
	Notes func(context.Context) []string
	// Explain is what a failed command would say of an error.
	Explain func(error) Problem
	// Facts is what the board shows besides the state.
	Facts func(*blackboard.State) dashboard.Facts
	// Prompt is the text that the next run on a task would begin with, and the role that it
	// is for; _planner stands for the planner.
	Prompt func(ctx context.Context, task string) (blackboard.Role, string, error)
}

// Problem is an error as agents read it.
type Problem struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Next    string `json:"next"`
}

// tool is a verb or a view under the name that it has on the command line.
type tool struct {
	name, about string
	roles       []blackboard.Role // that are offered it; none: all
	people      bool              // offered to people: only, or besides roles that are named
	outside     bool              // not offered inside a run: there the supervisor does it
	agents      bool              // nothing for a person without an agent's id
	reads       bool              // changes nothing
	values      map[string][]any  // arguments with few possible values
	schema      func() (*jsonschema.Schema, error)
	call        func(ctx context.Context, o Options, arguments json.RawMessage) (any, error)
}

// takes makes the call of a tool from a function whose argument has the tool's schema.
func takes[In any](t tool, call func(ctx context.Context, o Options, in In) (any, error)) tool {
	t.schema = func() (*jsonschema.Schema, error) { return jsonschema.For[In](nil) }
	t.call = func(ctx context.Context, o Options, arguments json.RawMessage) (any, error) {
		var in In
		if err := json.Unmarshal(arguments, &in); err != nil {
			return nil, usage("liza help "+t.command(), "cannot read the arguments of "+t.name+": "+err.Error())
		}
		return call(ctx, o, in)
	}
	return t
}

func usage(next, message string) error {
	return &transition.Refusal{Exit: transition.ExitUsage, Next: next, Message: message}
}

// command is the command of the command line that does the same.
func (t tool) command() string { return strings.Replace(t.name, "plan-", "plan ", 1) }

// wireError is a problem where the protocol has an error of its own: one sentence, and the
// problem as its data. What the caller can mend is an error of his parameters.
func wireError(p Problem) error {
	e := &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: p.Message + "; next: " + p.Next}
	if p.Code == "failure" || p.Code == "invalid" || p.Code == "locked" {
		e.Code = jsonrpc.CodeInternalError
	}
	if data, err := json.Marshal(p); err == nil {
		e.Data = data
	}
	return e
}
