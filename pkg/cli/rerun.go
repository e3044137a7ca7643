package cli

import (
	"context"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/simulate"
	"liza/pkg/verb"
)

func newRerun(env *Env) *urfave.Command {
	var cleanGit, keepFiles bool
	return &urfave.Command{
		Name: "rerun", Category: "people", ArgsUsage: "TASK", Usage: "start a task again from nothing",
		Description: "The task becomes UNCLAIMED with its counters and usage at zero; its history goes to .liza/archive/TASK. Its work is saved under\n" +
			"refs/liza/attic and stays for the next claim, unless --clean-git is given: then that starts at the integration branch." +
			examples("liza rerun task-3", "liza rerun task-3 --clean-git --keep-files") + exitsText(0, 1, 2, 3, 4, 5),
		Flags: []urfave.Flag{
			flag("clean-git", "remove worktree and branch", &cleanGit),
			flag("keep-files", "copy evidence and files that are not committed to the archive", &keepFiles),
		},
		Action: env.onService(func(ctx context.Context, d *verb.Service, args []string) error {
			done, err := simulate.Rerun(ctx, d, simulate.RerunInput{Task: args[0], CleanGit: cleanGit, KeepFiles: keepFiles})
			return env.showResult(done, done.Done, err, "%s is %s and starts again; what was is in %s", done.Task, done.Status, done.Archive)
		}),
	}
}
