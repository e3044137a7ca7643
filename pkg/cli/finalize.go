package cli

import (
	"context"
	"strings"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/verb"
)

func newFinalize(env *Env) *urfave.Command {
	var noSpecFiles bool
	return &urfave.Command{
		Name: "finalize", Category: "agents", ArgsUsage: "ID…", Usage: "make drafts claimable, all or none (planner, human)",
		Description: "DRAFT becomes UNCLAIMED. Every gate of every task is checked first; one gap, and none is changed." +
			examples("liza finalize task-1 task-2", "liza finalize task-3 --no-spec-files") + exitsText(0, 1, 2, 3, 4, 5, 6),
		Flags: []urfave.Flag{flag("no-spec-files", "do not look for spec files", &noSpecFiles)},
		Action: env.onService(func(ctx context.Context, d *verb.Service, args []string) error {
			d.NoSpecFiles = d.NoSpecFiles || noSpecFiles
			done, err := d.Finalize(ctx, args)
			if err != nil {
				return err
			}
			if !env.JSON {
				env.Notices(done.Warnings)
			}
			return env.Print(done, "claimable now: %s\n", strings.Join(done.Tasks, ", "))
		}),
	}
}
