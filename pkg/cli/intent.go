package cli

import (
	"context"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/blackboard"
)

type intentOptions struct {
	env                       *Env
	intent, validation        string
	assumptions, risks, files []string
}

func newIntent(env *Env) *urfave.Command {
	o := &intentOptions{env: env}
	return &urfave.Command{
		Name: "intent", Category: "agents", ArgsUsage: "ID", Usage: "record what will be done, before it is done (coder)",
		Description: "Adds a checkpoint to the task's history; the reviewer compares. Do it before the first commit." +
			examples("liza intent task-3 --intent 'Add --name' --validation 'python -m pytest'",
				"liza intent task-3 --intent 'Add --name' --validation 'make test' --risk 'argparse on 3.8' --file cli.py") + exitsText(0, 2, 4, 5, 6),
		Flags: []urfave.Flag{
			text("intent", "`T`: what will be done (required)", &o.intent),
			text("validation", "`T`: how it will be checked (required)", &o.validation),
			texts("assumption", "`T`: what is taken for granted", &o.assumptions),
			texts("risk", "`T`: what may go wrong", &o.risks),
			texts("file", "`P`: file that will be changed", &o.files),
		},
		Action: env.do(o.run),
	}
}

func (o *intentOptions) run(ctx context.Context, args []string) error {
	d, err := o.env.Desk(ctx)
	if err != nil {
		return err
	}
	done, err := d.Intent(ctx, args[0], blackboard.Intent{Intent: o.intent, Validation: o.validation, Assumptions: o.assumptions, Risks: o.risks, FilesToModify: o.files})
	return o.env.showDone(done, err, "the intent for %s is recorded", done.Task)
}
