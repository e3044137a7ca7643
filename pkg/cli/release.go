package cli

import (
	"context"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/verb"
)

func newRelease(env *Env) *urfave.Command {
	var in verb.ReleaseInput
	return &urfave.Command{
		Name: "release", Aliases: []string{"release-claim"}, Category: "people", ArgsUsage: "ID", Usage: "free a claim or a review claim",
		Description: "CLAIMED becomes UNCLAIMED (INTEGRATION_FAILED for a fix); a review becomes free for another reviewer. Work in the worktree is kept, and\n" +
			"the next claimer goes on with it. A live lease is refused without --force; with it the holder's agent program is stopped first." +
			examples("liza release task-3 --reason 'the terminal is gone'", "liza release task-3 --reviewer --force --reason 'wrong model'") + exitsText(0, 1, 2, 3, 4, 5),
		Flags: []urfave.Flag{
			flag("coder", "free the coder's claim (the default for a CLAIMED task)", &in.Coder),
			flag("reviewer", "free the review claim (the default for READY_FOR_REVIEW)", &in.Reviewer),
			flag("force", "in spite of a live lease", &in.Force),
			text("reason", "`T` why (required)", &in.Reason),
		},
		Action: env.do(func(ctx context.Context, args []string) error {
			if in.Coder && in.Reviewer {
				return usagef("liza help release", "--coder and --reviewer exclude each other")
			}
			in.Task = args[0]
			d, err := env.Service(ctx)
			if err != nil {
				return err
			}
			done, err := d.Release(ctx, in)
			return env.showDone(done, err, "%s is free again (%s)", done.Task, done.Status)
		}),
	}
}
