package cli

import (
	"context"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/verb"
)

func newNote(env *Env) *urfave.Command {
	var in verb.NoteInput
	return &urfave.Command{
		Name: "note", Category: "people", ArgsUsage: "TEXT", Usage: "leave a note for the planner, or for a task",
		Description: "Adds to human_notes. A note that names no task wakes the planner; one for a task is in that task's next prompts." +
			examples("liza note 'Keep the CLI flags stable'", "liza note 'Use argparse' --task task-3") + exitsText(0, 2, 4),
		Flags: []urfave.Flag{
			text("task", "`ID`: task that it is for", &in.Task),
			text("id", "`KEY`: id of the note; a second note with the same key changes nothing", &in.ID),
		},
		Action: env.onService(func(ctx context.Context, d *verb.Service, args []string) error {
			in.Text = args[0]
			done, err := d.Note(ctx, in)
			if err != nil {
				return err
			}
			if done.Already {
				return env.Print(done, "already done: note %s exists\n", done.ID)
			}
			return env.Print(done, "noted as %s\n", done.ID)
		}),
	}
}
