package cli

import (
	"context"
	"strings"

	urfave "github.com/urfave/cli/v3"
)

type finalizeOptions struct {
	env         *Env
	noSpecFiles bool
}

func newFinalize(env *Env) *urfave.Command {
	o := &finalizeOptions{env: env}
	return &urfave.Command{
		Name: "finalize", Category: "agents", ArgsUsage: "ID…", Usage: "make drafts claimable, all or none (planner, human)",
		Description: "DRAFT becomes UNCLAIMED. Every gate of every task is checked first; one gap, and none is changed." +
			examples("liza finalize task-1 task-2", "liza finalize task-3 --no-spec-files") + exitsText(0, 2, 3, 4, 5, 6),
		Flags:  []urfave.Flag{flag("no-spec-files", "do not look for spec files", &o.noSpecFiles)},
		Action: env.do(o.run),
	}
}

func (o *finalizeOptions) run(ctx context.Context, args []string) error {
	d, err := o.env.Desk(ctx)
	if err != nil {
		return err
	}
	d.NoSpecFiles = d.NoSpecFiles || o.noSpecFiles
	done, err := d.Finalize(ctx, args)
	if err != nil {
		return err
	}
	if !o.env.JSON {
		o.env.Notices(done.Warnings)
	}
	return o.env.Print(done, "claimable now: %s\n", strings.Join(done.Tasks, ", "))
}
