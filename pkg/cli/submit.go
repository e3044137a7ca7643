package cli

import (
	"context"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/verb"
)

type submitOptions struct {
	env *Env
	in  verb.SubmitInput
}

func newSubmit(env *Env) *urfave.Command {
	o := &submitOptions{env: env}
	return &urfave.Command{
		Name: "submit", Aliases: []string{"submit-for-review"}, Category: "agents", ArgsUsage: "ID", Usage: "hand in a claimed task for review (coder)",
		Description: "CLAIMED becomes READY_FOR_REVIEW and the lease ends. The worktree must be clean, the commit its HEAD and more than its base, and code must\n" +
			"come with tests. All that is missing is named at once." +
			examples("liza submit task-3 --summary 'Added --name with tests'", "liza submit task-3 --commit 4f2a91c --no-tests 'only comments changed'") + exitsText(0, 2, 4, 5, 6),
		Flags: []urfave.Flag{
			&urfave.StringFlag{Name: "commit", Usage: "`SHA`: commit to review", DefaultText: "HEAD of the worktree", Destination: &o.in.Commit},
			text("summary", "`T`: what was done, for the reviewer", &o.in.Summary),
			text("no-tests", "`REASON` why there are no tests; the reviewer judges it", &o.in.NoTests),
			texts("evidence", "`P`: file that shows it", &o.in.Evidence),
		},
		Action: env.do(o.run),
	}
}

func (o *submitOptions) run(ctx context.Context, args []string) error {
	o.in.Task = args[0]
	d, err := o.env.Desk(ctx)
	if err != nil {
		return err
	}
	done, err := d.Submit(ctx, o.in)
	if done.Commit == "" {
		return o.env.showResult(done, done.Done, err, "%s is %s", done.Task, done.Status)
	}
	return o.env.showResult(done, done.Done, err, "%s is %s at %.9s", done.Task, done.Status, done.Commit)
}
