package cli

import (
	"context"
	"strings"

	"liza/pkg/prose"

	urfave "github.com/urfave/cli/v3"
)

type archiveOptions struct {
	env   *Env
	older string
}

func newArchive(env *Env) *urfave.Command {
	o := &archiveOptions{env: env}
	return &urfave.Command{
		Name: "archive", Category: "people", Usage: "move tasks that ended long ago off the board",
		Description: "Moves MERGED, ABANDONED and SUPERSEDED tasks to .liza/archive, into the file of the sprint, byte for byte. They still count as what they\n" +
			"were: for dependencies, for ids, and in `liza show`, `liza log` and `liza report`. A task that an open one depends on stays." +
			examples("liza archive", "liza archive --older 0s") + exitsText(0, 2, 3, 4, 5, 7),
		Flags: []urfave.Flag{
			&urfave.StringFlag{Name: "older", Value: "7d", Usage: "`AGE` since the task ended, such as 90m, 12h or 7d", Destination: &o.older},
		},
		Action: env.do(o.run),
	}
}

func (o *archiveOptions) run(ctx context.Context, _ []string) error {
	older, ok := ageText(o.older)
	if !ok {
		return usagef("liza help archive", "--older '%s' must be an age such as 90m, 12h or 7d", o.older)
	}
	d, err := o.env.Desk(ctx)
	if err != nil {
		return err
	}
	done, err := d.Archive(ctx, older)
	if err != nil {
		return err
	}
	return o.env.Print(done, "%s moved to %s: %s\n", prose.Count(len(done.Tasks), "task"), done.File, strings.Join(done.Tasks, ", "))
}
