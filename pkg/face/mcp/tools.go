package mcp

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/history"
	"liza/pkg/board/transition"
	"liza/pkg/face/dashboard"
	"liza/pkg/face/verbs"
	"liza/pkg/run/exitcmd"
	"liza/pkg/verb/verb"
)

// Options has the caller and the functions of a server.
type Options struct {
	Version string
	Service *verb.Service   // service of the caller; nil: a run without verbs, to which nothing is offered
	Role    blackboard.Role // role of the caller; "" for a person
	Inside  bool            // the caller is in a run of an agent program: its supervisor claims, merges and keeps the leases
	Task    string          // task of the caller's run, or ""

	// Notes returns the notes of people since the prompt of the caller's run; nil: there are none.
	Notes func(context.Context) []string
	// Explain returns the output of a failed command for an error.
	Explain func(error) Problem
	// Facts returns the facts of the board's view besides the state.
	Facts func(*blackboard.State) dashboard.Input
	// Prompt returns the text that the next run on a task would begin with, and its role; _planner stands for the planner.
	Prompt func(ctx context.Context, task string) (blackboard.Role, string, error)
}

// Problem is an error in the form for agents.
type Problem struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Next    string `json:"next"`
}

// tool is a verb or a view under the name that it has on the command line.
type tool struct {
	name, about, help string // help: the command that explains it
	reads             bool   // changes nothing
	offered           func(role blackboard.Role, inside bool) bool
	schema            func() (*jsonschema.Schema, error)
	call              func(ctx context.Context, o Options, arguments json.RawMessage) (any, error)
}

// tools are the verbs that are offered over MCP (specs/cli.md#3), and the views.
func tools() []tool {
	list := []tool{planApply()}
	for _, v := range verbs.All() {
		if v.Tool != nil {
			list = append(list, ofVerb(v))
		}
	}
	return append(list, views()...)
}

// ofVerb makes a tool of a verb.
func ofVerb(v *verbs.Verb) tool {
	return tool{name: v.ToolName(), help: v.Command(), about: v.About(), reads: v.Reads, offered: v.OfferedTo,
		schema: func() (*jsonschema.Schema, error) { return schemaOf(v) },
		call: func(ctx context.Context, o Options, arguments json.RawMessage) (any, error) {
			in, err := v.Decode(verbs.MCP, arguments, nil)
			if err != nil {
				return nil, usage("liza help "+v.Command(), "cannot read the arguments of "+v.ToolName()+": "+err.Error())
			}
			return v.Run(ctx, o.Service, in)
		}}
}

// schemaOf describes the fields of a verb's input.
func schemaOf(v *verbs.Verb) (*jsonschema.Schema, error) {
	schema, err := jsonschema.ForType(v.Input(), nil)
	if err != nil {
		return nil, err
	}
	fields := v.Fields(verbs.MCP)
	known := map[string]*jsonschema.Schema{}
	schema.Required = nil
	for _, f := range fields {
		p := schema.Properties[f.Name]
		p.Description = f.Help
		if f.Unset != "" {
			p.Description += "; left out: " + f.Unset
		}
		for _, value := range f.Values {
			p.Enum = append(p.Enum, value)
		}
		if f.Required {
			schema.Required = append(schema.Required, f.Name)
		}
		known[f.Name] = p
	}
	if len(known) > 0 {
		schema.Properties = known
	}
	schema.PropertyOrder = slices.DeleteFunc(schema.PropertyOrder, func(name string) bool { return known[name] == nil })
	return schema, nil
}

func usage(next, message string) error {
	return &transition.Refusal{Exit: transition.ExitUsage, Next: next, Message: message}
}

// command is the command of the command line that does the same.
func (t tool) command() string { return t.help }

// wireError returns a problem as an error of the protocol: one sentence, and the problem as its data. A problem that the
// caller can correct is an error of the parameters.
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

// planApply has a plan as its arguments; the verb's own reader knows all its forms.
func planApply() tool {
	return tool{name: "plan-apply", help: "plan apply", about: "Put a whole plan on the board, all or nothing. All problems are named at once. The same plan again is refused with the code nothing.",
		offered: func(role blackboard.Role, _ bool) bool { return role == "" || role == blackboard.RolePlanner },
		schema:  func() (*jsonschema.Schema, error) { return jsonschema.For[exitcmd.Plan](nil) },
		call: func(ctx context.Context, o Options, arguments json.RawMessage) (any, error) {
			p, err := exitcmd.ParsePlan(arguments)
			if err != nil {
				return nil, err
			}
			return o.Service.ApplyPlan(ctx, p)
		}}
}

// view makes a tool that everybody is offered and that changes nothing.
func view[In any](name, about string, call func(ctx context.Context, o Options, in In) (any, error)) tool {
	return tool{name: name, help: name, about: about, reads: true, offered: func(blackboard.Role, bool) bool { return true },
		schema: func() (*jsonschema.Schema, error) { return jsonschema.For[In](nil) },
		call: func(ctx context.Context, o Options, arguments json.RawMessage) (any, error) {
			var in In
			if err := json.Unmarshal(arguments, &in); err != nil {
				return nil, usage("liza help "+name, "cannot read the arguments of "+name+": "+err.Error())
			}
			return call(ctx, o, in)
		}}
}

// views are the read views as tools, for programs that read no resources.
func views() []tool {
	return []tool{
		view("status", "The board on one screen: goal, sprint, counts, tasks, agents, and what waits for a person.",
			func(ctx context.Context, o Options, _ struct{}) (any, error) { return o.board(ctx) }),
		view("show", "One task, agent, question, plan or discovery, whole.",
			func(ctx context.Context, o Options, in showArgs) (any, error) { return o.entry(ctx, in.ID) }),
		view("log", "What happened: the newest entries of the journal, oldest first.",
			func(_ context.Context, o Options, in logArgs) (any, error) {
				f := history.Filter{Last: newest, Task: in.Task, Agent: in.Agent, Action: blackboard.Action(in.Action)}
				if in.Last != nil {
					f.Last = *in.Last
				}
				return o.log(f)
			}),
		view("questions", "The open questions of agents, oldest first.",
			func(ctx context.Context, o Options, _ struct{}) (any, error) { return o.questions(ctx) }),
	}
}

// newest is how many entries of the journal are shown when nobody says how many.
const newest = 50

type showArgs struct {
	ID string `json:"id" jsonschema:"id of what to show"`
}

type logArgs struct {
	Last   *int   `json:"last,omitempty" jsonschema:"how many entries; 0 is all; left out: 50"`
	Task   string `json:"task,omitempty" jsonschema:"entries of this task only"`
	Agent  string `json:"agent,omitempty" jsonschema:"entries by this agent, by human or by system only"`
	Action string `json:"action,omitempty" jsonschema:"entries of this action only, such as claimed or merged"`
}

func (o Options) board(ctx context.Context) (dashboard.View, error) {
	s, err := o.Service.Board.View(ctx)
	if err != nil {
		return dashboard.View{}, err
	}
	return dashboard.Build(s, o.Facts(s)), nil
}

// entry returns the result of `liza show ID --json`.
func (o Options) entry(ctx context.Context, id string) (map[string]any, error) {
	s, err := o.Service.Board.View(ctx)
	if err != nil {
		return nil, err
	}
	if t := s.Task(id); t != nil {
		if err := o.Service.Board.Apart(s, t); err != nil {
			return nil, err
		}
	}
	if entry, what, ok := dashboard.Find(s, id); ok {
		return map[string]any{"kind": what, what: dashboard.Plain(entry)}, nil
	}
	t, sprint, err := o.Service.Board.Histories().ArchivedTask(id)
	switch {
	case err != nil:
		return nil, err
	case t == nil:
		return nil, &transition.Refusal{Guard: "G05", Exit: transition.ExitRefused, Next: "liza status", Message: "nothing on the board has the id '" + id + "'"}
	}
	return map[string]any{"kind": "task", "task": dashboard.Plain(t), "archived": sprint}, nil
}

func (o Options) log(f history.Filter) (map[string]any, error) {
	if f.Last < 0 {
		return nil, usage("liza help log", "last must not be negative")
	}
	entries, err := history.Journal{Path: o.Service.Board.Project.Journal()}.Read(f)
	if err != nil {
		return nil, err
	}
	list := []any{}
	for _, e := range entries {
		list = append(list, dashboard.Plain(e))
	}
	return map[string]any{"entries": list}, nil
}

func (o Options) questions(ctx context.Context) (map[string]any, error) {
	s, err := o.Service.Board.View(ctx)
	if err != nil {
		return nil, err
	}
	open := []*blackboard.Question{}
	for _, q := range s.Questions {
		if q != nil && q.Status == blackboard.QuestionOpen {
			open = append(open, q)
		}
	}
	return map[string]any{"questions": dashboard.Plain(open)}, nil
}
