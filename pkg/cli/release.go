package cli

import (
	"context"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/verb"
)

type releaseOptions struct {
	env *Env
	in  verb.ReleaseInput
}

func newRelease(env *Env) *urfave.Command {
	o := &releaseOptions{env: env}
	return &urfave.Command{
		Name: "release", Aliases: []string{"release-claim"}, Category: "people", ArgsUsage: "ID", Usage: "free a claim or a review claim",
		Description: "CLAIMED becomes UNCLAIMED (INTEGRATION_FAILED for a fix); a review becomes free for another reviewer. Work in the worktree is kept, and\n" +
			"the next claimer goes on with it. A live lease is refused without --force; with it the holder's agent program is stopped first." +
			examples("liza release task-3 --reason 'the terminal is gone'", "liza release task-3 --reviewer --force --reason 'wrong model'") + exitsText(0, 1, 2, 4),
		Flags: []urfave.Flag{
			flag("coder", "free the coder's claim (the default for a CLAIMED task)", &o.in.Coder),
			flag("reviewer", "free the review claim (the default for READY_FOR_REVIEW)", &o.in.Reviewer),
			flag("force", "in spite of a live lease", &o.in.Force),
			text("reason", "`T` why (required)", &o.in.Reason),
		},
		Action: env.do(o.run),
	}
}

func (o *releaseOptions) run(ctx context.Context, args []string) error {
	if o.in.Coder && o.in.Reviewer {
		return usagef("liza help release", "--coder and --reviewer exclude each other")
	}
	o.in.Task = args[0]
	d, err := o.env.Desk(ctx)
	if err != nil {
		return err
	}
	done, err := d.Release(ctx, o.in)
	return o.env.showDone(done, err, "%s is free again (%s)", done.Task, done.Status)
}
