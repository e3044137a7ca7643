package cli

import (
	"context"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/simulate"
)

func newRestep(env *Env) *urfave.Command {
	var to string
	return &urfave.Command{
		Name: "restep", Category: "people", ArgsUsage: "TASK", Usage: "take a task back to how it was after one of its runs",
		Description: "The task becomes UNCLAIMED, its branch and worktree are where they were after interaction N, and the next claim goes on from there.\n" +
			"What came after it is saved under refs/liza/attic first. Counters and usage stay. Numbers: liza history TASK." +
			examples("liza restep task-3 --to 2", "liza restep task-3 --to 2 --json") + exitsText(0, 1, 2, 3, 4, 5),
		Flags: []urfave.Flag{text("to", "`N`: number of the interaction", &to)},
		Action: env.do(func(ctx context.Context, args []string) error {
			if to == "" {
				return usagef("liza history "+args[0], "restep needs --to N: the number of an interaction")
			}
			d, err := env.Service(ctx)
			if err != nil {
				return err
			}
			done, err := simulate.Restep(ctx, d, args[0], to)
			return env.showResult(done, done.Done, err, "%s is %s, at %.9s as after interaction %s", done.Task, done.Status, done.Commit, to)
		}),
	}
}
