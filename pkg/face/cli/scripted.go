package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"os"
	"path/filepath"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/code/project"
	"liza/pkg/run/agent/scripted"
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
	root := o.env.System.Get("LIZA_ROOT") // in a wall, all that is to be seen of the project is what is meant for the run
	if root == "" {
		p, err := o.env.System.Find(ctx)
		if err != nil {
			return err
		}
		root = p.Root
	}
	worktree := cmp.Or(o.env.System.Get("LIZA_WORKTREE"), o.env.System.Dir)
	task := o.env.System.Get("LIZA_TASK_ID")
	ctx, _, done := o.env.interrupts(ctx, func(string) {})
	defer done()
	code := scripted.Run(ctx, scripted.Options{Scenario: scenario, Role: o.env.System.Get("LIZA_ROLE"), TaskID: task, Worktree: worktree,
		StateDir: (&project.Project{Root: root, Liza: filepath.Join(root, ".liza")}).Scripted(), Stdout: o.env.direct.out, Stderr: o.env.direct.errs, Env: os.Environ(),
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
