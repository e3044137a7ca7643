package cli

import (
	"context"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/blackboard"
)

func newResubmit(env *Env) *urfave.Command {
	var limits []string
	return &urfave.Command{
		Name: "resubmit", Category: "people", ArgsUsage: "ID", Usage: "let a task go on that a limit has stopped",
		Description: "BLOCKED by a limit becomes UNCLAIMED with the limits given; counters and worktree are kept, so the next\n" +
			"coder goes on where the last one was stopped. Refused while a limit is still reached." +
			examples("liza resubmit task-3 --limit cost_cents=2000", "liza resubmit task-3 --limit max_iterations=20") + exitsText(0, 1, 2, 3, 4, 5),
		Flags: []urfave.Flag{texts("limit", "`k=v` new limit of this task, such as cost_cents=2000", &limits)},
		Action: env.do(func(ctx context.Context, args []string) error {
			given, err := limitsOf(limits)
			if err != nil {
				return err
			}
			limits := blackboard.Settings{}
			for k, n := range given {
				limits[k] = n
			}
			d, err := env.Service(ctx)
			if err != nil {
				return err
			}
			done, err := d.Resubmit(ctx, args[0], limits)
			return env.showDone(done, err, "%s goes on (%s)", done.Task, done.Status)
		}),
	}
}
