package cli

import (
	"context"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/verb"
)

func newSubmit(env *Env) *urfave.Command {
	var in verb.SubmitInput
	return &urfave.Command{
		Name: "submit", Aliases: []string{"submit-for-review"}, Category: "agents", ArgsUsage: "ID", Usage: "hand in a claimed task for review (coder)",
		Description: "CLAIMED becomes READY_FOR_REVIEW and the lease ends. The worktree must be clean, the commit its HEAD and more than its base, and code must\n" +
			"come with tests. All that is missing is named at once." +
			examples("liza submit task-3 --summary 'Added --name with tests'", "liza submit task-3 --commit 4f2a91c --no-tests 'only comments changed'") + exitsText(0, 1, 2, 3, 4, 5, 6),
		Flags: []urfave.Flag{
			&urfave.StringFlag{Name: "commit", Usage: "`SHA`: commit to review", DefaultText: "HEAD of the worktree", Destination: &in.Commit},
			text("summary", "`T`: what was done, for the reviewer", &in.Summary),
			text("no-tests", "`REASON` why there are no tests; the reviewer judges it", &in.NoTests),
			texts("evidence", "`P`: file that shows it", &in.Evidence),
		},
		Action: env.do(func(ctx context.Context, args []string) error {
			in.Task = args[0]
			d, err := env.Service(ctx)
			if err != nil {
				return err
			}
			done, err := d.Submit(ctx, in)
			if done.Commit == "" {
				return env.showResult(done, done.Done, err, "%s is %s", done.Task, done.Status)
			}
			return env.showResult(done, done.Done, err, "%s is %s at %.9s", done.Task, done.Status, done.Commit)
		}),
	}
}
