package cli

import (
	"context"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/verb"
)

type noteOptions struct {
	env *Env
	in  verb.NoteInput
}

func newNote(env *Env) *urfave.Command {
	o := &noteOptions{env: env}
	return &urfave.Command{
		Name: "note", Category: "people", ArgsUsage: "TEXT", Usage: "leave a note for the planner, or for a task",
		Description: "Adds to human_notes. A note that names no task wakes the planner; one for a task stands in that task's next prompts." +
			examples("liza note 'Keep the CLI flags stable'", "liza note 'Use argparse' --task task-3") + exitsText(0, 2, 4),
		Flags: []urfave.Flag{
			text("task", "`ID`: task that it is for", &o.in.Task),
			text("id", "`KEY`: id of the note; a second note with the same key changes nothing", &o.in.ID),
		},
		Action: env.do(o.run),
	}
}

func (o *noteOptions) run(ctx context.Context, args []string) error {
	o.in.Text = args[0]
	d, err := o.env.Desk(ctx)
	if err != nil {
		return err
	}
	done, err := d.Note(ctx, o.in)
	if err != nil {
		return err
	}
	if done.Already {
		return o.env.Print(done, "already done: note %s exists\n", done.ID)
	}
	return o.env.Print(done, "noted as %s\n", done.ID)
}
