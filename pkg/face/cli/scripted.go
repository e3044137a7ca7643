package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"os"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/board/blackboard"
	"liza/pkg/face/dashboard"
	"liza/pkg/face/mcp"
	"liza/pkg/run/agent/scripted"
	"liza/pkg/team/assembly"
	"liza/pkg/team/supervisor"
	"liza/pkg/verb/verb"
)

type scriptedOptions struct {
	env      *Env
	scenario string
}

func newScriptedAgent(env *Env) *urfave.Command {
	o := &scriptedOptions{env: env}
	return &urfave.Command{
		Name: "scripted-agent", Category: "plumbing", Usage: "act as an agent program that follows a scenario file",
		Description: "Reads role and task from LIZA_ROLE and LIZA_TASK_ID and does what the scenario says for this attempt: shell commands, a commit,\n" +
			"a delay, and the exit command, or a way to fail. It is what `liza demo` runs; use it to try a team without a model." +
			examples("liza run --scenario scenario.yaml", "liza scripted-agent --scenario scenario.yaml < prompt.txt") + exitsText(0, 1, 2),
		Flags:  []urfave.Flag{&urfave.StringFlag{Name: "scenario", Usage: "scenario file (YAML)", Destination: &o.scenario}},
		Action: func(ctx context.Context, _ *urfave.Command) error { return o.run(ctx) },
	}
}

func (o *scriptedOptions) run(ctx context.Context) error {
	if o.scenario == "" {
		return usagef("liza help scripted-agent", "--scenario is missing")
	}
	scenario, err := scripted.Load(o.scenario)
	if err != nil {
		return usagef("liza help scripted-agent", "%v", err)
	}
	state := o.env.System.Get("LIZA_SCRIPTED") // in a wall, all that is to be seen of the project is what is meant for the run
	if state == "" {
		p, err := o.env.System.Find(ctx)
		if err != nil {
			return err
		}
		state = p.Scripted()
	}
	worktree := cmp.Or(o.env.System.Get("LIZA_WORKTREE"), o.env.System.Dir)
	task := o.env.System.Get("LIZA_TASK_ID")
	ctx, _, done := o.env.interrupts(ctx, func(string) {})
	defer done()
	code := scripted.Run(ctx, scripted.Options{Scenario: scenario, Role: o.env.System.Get("LIZA_ROLE"), TaskID: task, Worktree: worktree,
		StateDir: state, Stdout: o.env.direct.out, Stderr: o.env.direct.errs, Env: os.Environ(),
		Describe: func() (string, error) { return o.env.description(ctx, task) }})
	if code != 0 {
		return &errDone{code}
	}
	return nil
}

// description is that of a task. Inside a run the supervisor is asked.
func (e *Env) description(ctx context.Context, task string) (string, error) {
	var out bytes.Buffer
	inner := *e
	inner.System.Stdout, inner.JSON = &out, false
	args := []string{"--json", "show", task}
	code, over := inner.overBroker(args)
	if !over {
		inner.System.Signals = nil
		code = inner.serveLiza(ctx, args)
	}
	var shown struct {
		Result struct {
			Task struct {
				Description string `json:"description"`
			} `json:"task"`
		} `json:"result"`
	}
	if code != 0 {
		return "", nil // a messenger's run has no verbs
	}
	err := json.Unmarshal(out.Bytes(), &shown)
	return shown.Result.Task.Description, err
}

func newMCP(env *Env) *urfave.Command {
	return &urfave.Command{
		Name: "mcp", Category: "plumbing", Usage: "serve the verbs and views to programs that speak the Model Context Protocol",
		Description: "A server on stdin and stdout, started by an agent program or an editor. Tools are the verbs of the same names, with the results of --json;\n" +
			"resources are liza://board, liza://task/ID, liza://spec and liza://log; prompts are those of the roles. Who calls is who started it: inside a run\n" +
			"its agent, and with LIZA_AGENT_ID and LIZA_AGENT_TOKEN that agent, with the verbs of its role; else a person, with all. A run without verbs, of a\n" +
			"messenger or a summarizer, is offered nothing. It ends when stdin does." +
			examples("liza mcp", `claude --mcp-config '{"mcpServers":{"liza":{"command":"liza","args":["mcp"]}}}'`) + exitsText(0, 1, 2, 3, 4, 130),
		Action: env.do(func(ctx context.Context, _ []string) error { return env.serveMCP(ctx) }),
	}
}

func (e *Env) serveMCP(ctx context.Context) error {
	if e.JSON {
		return usagef("liza help mcp", "--json is not possible with mcp: it speaks a protocol of its own on stdout")
	}
	// A run that has neither a broker nor a token: some programs end when a server of theirs does not start.
	if e.inside == nil && e.System.Get("LIZA_RUN") != "" && e.System.Get(brokerVariable) == "" && e.System.Get("LIZA_AGENT_TOKEN") == "" {
		return mcp.Serve(ctx, mcp.Options{Version: version}, e.System.Stdin, e.System.Stdout)
	}
	role, err := roleOfCaller(&e.System)
	if err != nil {
		return err
	}
	d, err := e.System.Service(ctx)
	if err != nil {
		return err
	}
	e.System.Lasting()
	if e.System.Ancestors != nil { // those of a server change when a parent ends
		d.Board.Proc.Ancestors = e.System.Ancestry
	}
	return mcp.Serve(ctx, mcp.Options{Version: version, Service: d, Role: role, Inside: d.Board.InRun(ctx), Task: e.System.Get("LIZA_TASK_ID"),
		Notes: e.inside.notesFor(&e.System, d),
		Explain: func(err error) mcp.Problem {
			r := explain(err)
			return mcp.Problem{Code: exitName(r.code), Message: r.message, Next: r.next}
		},
		Facts: func(s *blackboard.State) dashboard.Input { return viewFacts(d, s) },
		Prompt: func(ctx context.Context, task string) (blackboard.Role, string, error) {
			p, err := supervisor.Preview(ctx, d, adapters(d), task)
			return blackboard.Role(p.Kind), p.Text, err
		}}, e.System.Stdin, e.System.Stdout)
}

// notesFor takes the notes for the run in which a server is called; nil outside of one.
func (i *insideRun) notesFor(e *assembly.Environment, d *verb.Service) func(context.Context) []string {
	if i == nil {
		return nil
	}
	return func(ctx context.Context) []string { return newNotes(ctx, e, d, i.Run.Agent) }
}

// roleOfCaller is the role of the agent that calls, "" for a person.
func roleOfCaller(e *assembly.Environment) (blackboard.Role, error) {
	id := cmp.Or(e.Get("LIZA_AGENT_ID"), e.As)
	if id == "" {
		return "", nil
	}
	role, _, ok := blackboard.ParseAgentID(id)
	if !ok {
		return "", usagef("liza help mcp", "the agent id '%s' is malformed: it must match ^(coder|code-reviewer|planner)-[0-9]+$", id)
	}
	return role, nil
}
