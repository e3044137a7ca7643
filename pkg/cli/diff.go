package cli

import (
	"context"
	"fmt"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/dashboard"
	"liza/pkg/transition"
	"liza/pkg/verb"
)

type diffOptions struct {
	env         *Env
	stat, plain bool
}

func newDiff(env *Env) *urfave.Command {
	o := &diffOptions{env: env}
	return &urfave.Command{
		Name: "diff", Category: "people", ArgsUsage: "ID [PATH…]", Usage: "show what a task changes, with what was found at its lines",
		Description: "The task's own change against the place where it left the integration branch: while it is worked on (as its worktree is now, with what is not\n" +
			"committed), under review, and after its merge. Findings of the last review and comments of people (liza comment) are below their lines. PATHs are files,\n" +
			"folders and patterns from the top of the repository. On a terminal it goes through git's pager. Secrets are masked. Changes nothing." +
			examples("liza diff task-3", "liza diff task-3 --stat", "liza diff task-3 src/", "liza diff task-3 --no-findings | git apply") + exitsText(0, 1, 2, 3, 4),
		Flags: []urfave.Flag{
			flag("stat", "only how many lines of which files", &o.stat),
			flag("no-findings", "the change alone, as git shows it", &o.plain),
		},
		Action: env.onProject(env.gitReader, o.run),
	}
}

func (o *diffOptions) run(ctx context.Context, d *verb.Service, args []string) error {
	id, paths := args[0], args[1:]
	change, err := o.env.source(d, "liza").Diff(ctx, id)
	if err != nil {
		return err
	}
	if change == nil {
		s, err := d.View(ctx)
		if err != nil {
			return err
		}
		return notThere(s, id)
	}
	if len(paths) > 0 && !change.Only(paths) {
		return &transition.Refusal{Exit: transition.ExitRefused, Next: "liza diff " + id + " --stat", Message: fmt.Sprintf("%s does not change %s", id, paths[0])}
	}
	if o.plain {
		change.Place(nil)
	}
	if o.env.JSON {
		return o.env.Print(change, "")
	}
	text := ""
	if o.stat {
		text = dashboard.DiffStat(change, o.env.width(), o.env.colour())
	} else {
		text = dashboard.DiffText(change, o.env.colour(), o.env.Terminal)
	}
	return o.env.page(ctx, text)
}
