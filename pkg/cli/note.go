package cli

import (
	"context"
	"fmt"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/activity"
	"liza/pkg/verb"
)

// notedText says who gets a note.
func notedText(done verb.Noted) string {
	if done.Already {
		return fmt.Sprintf("already done: note %s exists\n", done.ID)
	}
	return fmt.Sprintf("noted as %s\n%s\n", done.ID, done.Reaches)
}

// tellNotes tells the agent of a run, at the end of a command of it, what people have written since its prompt.
func (e *Env) tellNotes(ctx context.Context) {
	if e.inside == nil {
		return
	}
	for _, text := range e.newNotes(ctx, e.inside.service, e.inside.run.Agent) {
		fmt.Fprintln(e.Stderr, text)
	}
}

// newNotes takes the notes that a run has not got yet. A failure is not the command's: the next one tries again.
func (e *Env) newNotes(ctx context.Context, d *verb.Service, agent string) (texts []string) {
	taken, err := e.serviceOn(d).TakeNotes(context.WithoutCancel(ctx), agent)
	if err != nil {
		e.Log().Debug("cannot look for notes: " + err.Error())
	}
	for _, n := range taken {
		texts = append(texts, "note from a person: "+n.Message)
		activity.Append(d.Project.Activity(n.For), activity.Event{At: e.Now(), Kind: activity.Note, Text: d.Mask(n.Message)})
	}
	return texts
}

func newNote(env *Env) *urfave.Command {
	var in verb.NoteInput
	return &urfave.Command{
		Name: "note", Category: "people", ArgsUsage: "TEXT", Usage: "leave a note for the planner, or for a task",
		Description: "Adds to human_notes. A note that names no task wakes the planner; one for a task is in that task's next prompts.\n" +
			"An agent that works on the task now gets it with its next liza command." +
			examples("liza note 'Keep the CLI flags stable'", "liza note 'Use argparse' --task task-3") + exitsText(0, 1, 2, 3, 4, 5),
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
			return env.Print(done, "%s", notedText(done))
		}),
	}
}
