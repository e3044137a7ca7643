package cli

import (
	"context"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/blackboard"
	"liza/pkg/verb"
)

func newIntent(env *Env) *urfave.Command {
	var (
		intent, validation        string
		assumptions, risks, files []string
	)
	return &urfave.Command{
		Name: "intent", Category: "agents", ArgsUsage: "ID", Usage: "record what will be done, before it is done (coder)",
		Description: "Adds a checkpoint to the task's history; the reviewer compares. Do it before the first commit." +
			examples("liza intent task-3 --intent 'Add --name' --validation 'python -m pytest'",
				"liza intent task-3 --intent 'Add --name' --validation 'make test' --risk 'argparse on 3.8' --file cli.py") + exitsText(0, 1, 2, 3, 4, 5, 6),
		Flags: []urfave.Flag{
			text("intent", "`T`: what will be done (required)", &intent),
			text("validation", "`T`: how it will be checked (required)", &validation),
			texts("assumption", "`T`: what is taken for granted", &assumptions),
			texts("risk", "`T`: what may go wrong", &risks),
			texts("file", "`P`: file that will be changed", &files),
		},
		Action: env.onService(func(ctx context.Context, d *verb.Service, args []string) error {
			done, err := d.Intent(ctx, args[0], blackboard.Intent{Intent: intent, Validation: validation, Assumptions: assumptions, Risks: risks, FilesToModify: files})
			return env.showDone(done, err, "the intent for %s is recorded", done.Task)
		}),
	}
}
