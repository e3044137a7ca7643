package cli

import (
	"context"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/verb"
)

func newBlock(env *Env) *urfave.Command {
	var in verb.BlockInput
	return &urfave.Command{
		Name: "block", Aliases: []string{"mark-blocked"}, Category: "agents", ArgsUsage: "ID", Usage: "stop a task with questions (coder, human)",
		Description: "CLAIMED becomes BLOCKED and the questions are put to people; a person may also block what nobody works on. With --attempted the coder counts\n" +
			"as failed on the task. Work in the worktree is kept." +
			examples("liza block task-3 --reason 'the spec names two formats' --question 'ISO 8601 or RFC 2822?'",
				"liza block task-3 --reason 'tests hang' --question 'Is Redis needed?' --attempted 'mocked the client'") + exitsText(0, 1, 2, 3, 4, 5, 6),
		Flags: []urfave.Flag{
			text("reason", "`T`: what keeps the task from going on (required)", &in.Reason),
			texts("question", "`T`: 1 to 3 questions (required)", &in.Questions),
			texts("attempted", "`T`: what was tried", &in.Attempted),
		},
		Action: env.do(func(ctx context.Context, args []string) error {
			in.Task, in.ByVerb = args[0], true
			d, err := env.Service(ctx)
			if err != nil {
				return err
			}
			done, err := d.Block(ctx, in)
			return env.showDone(done, err, "%s is %s", done.Task, done.Status)
		}),
	}
}
