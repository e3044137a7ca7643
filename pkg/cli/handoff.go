package cli

import (
	"context"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/blackboard"
)

func newHandoff(env *Env) *urfave.Command {
	var (
		h            blackboard.Handoff
		files, steps []string
	)
	return &urfave.Command{
		Name: "handoff", Category: "agents", ArgsUsage: "ID", Usage: "pass half-done work on to the next run (coder, code_reviewer)",
		Description: "For an agent whose context is nearly full: commit, hand off, end. The next run on the same claim begins with the handoff in its prompt." +
			examples("liza handoff task-3 --summary 'parser done' --next-action 'write writer.go'",
				"liza handoff task-3 --summary 'half reviewed' --next-action 'look at cli.py' --file cli.py") + exitsText(0, 1, 2, 3, 4, 5, 6),
		Flags: []urfave.Flag{
			text("summary", "`T`: what is done (required)", &h.Summary),
			text("next-action", "`T`: what comes next (required)", &h.NextAction),
			text("approach", "`T`: how", &h.Approach),
			text("blockers", "`T`: what is in the way", &h.Blockers),
			texts("file", "`P`: file that was changed", &files),
			texts("step", "`T`: next steps, in order", &steps),
		},
		Action: env.do(func(ctx context.Context, args []string) error {
			h.FilesModified, h.NextSteps = files, steps
			d, err := env.Service(ctx)
			if err != nil {
				return err
			}
			done, err := d.Handoff(ctx, args[0], h)
			return env.showDone(done, err, "%s is handed off; end this run now", done.Task)
		}),
	}
}
