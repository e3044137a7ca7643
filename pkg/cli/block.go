package cli

import (
	"context"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/verb"
)

type blockOptions struct {
	env *Env
	in  verb.BlockInput
}

func newBlock(env *Env) *urfave.Command {
	o := &blockOptions{env: env}
	return &urfave.Command{
		Name: "block", Aliases: []string{"mark-blocked"}, Category: "agents", ArgsUsage: "ID", Usage: "stop a task with questions (coder, human)",
		Description: "CLAIMED becomes BLOCKED and the questions are put to people; a person may also block what nobody works on. With --attempted the coder counts\n" +
			"as failed on the task. Work in the worktree is kept." +
			examples("liza block task-3 --reason 'the spec names two formats' --question 'ISO 8601 or RFC 2822?'",
				"liza block task-3 --reason 'tests hang' --question 'Is Redis needed?' --attempted 'mocked the client'") + exitsText(0, 2, 4, 5, 6),
		Flags: []urfave.Flag{
			text("reason", "`T`: what keeps the task from going on (required)", &o.in.Reason),
			texts("question", "`T`: 1 to 3 questions (required)", &o.in.Questions),
			texts("attempted", "`T`: what was tried", &o.in.Attempted),
		},
		Action: env.do(o.run),
	}
}

func (o *blockOptions) run(ctx context.Context, args []string) error {
	o.in.Task, o.in.ByVerb = args[0], true
	d, err := o.env.Desk(ctx)
	if err != nil {
		return err
	}
	done, err := d.Block(ctx, o.in)
	return o.env.showDone(done, err, "%s is %s", done.Task, done.Status)
}
