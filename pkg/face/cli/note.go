package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/base/prose"
	"liza/pkg/board/blackboard"
	"liza/pkg/face/dashboard"
	"liza/pkg/run/activity"
	"liza/pkg/verb/verb"
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

func newQuestions(env *Env) *urfave.Command {
	var all bool
	return &urfave.Command{
		Name: "questions", Category: "people", Usage: "list the questions that agents ask",
		Description: "Open questions, oldest first. Changes nothing." +
			examples("liza questions", "liza questions --all --json") + exitsText(0, 1, 2, 3),
		Flags: []urfave.Flag{flag("all", "answered and expired ones too", &all)},
		Action: env.do(func(ctx context.Context, _ []string) error {
			s, stale, err := env.look(ctx)
			if err != nil {
				return err
			}
			found := []*blackboard.Question{}
			var b strings.Builder
			for _, q := range s.Questions {
				if q == nil || q.Status != blackboard.QuestionOpen && !all {
					continue
				}
				found = append(found, q)
				fmt.Fprintf(&b, "%-5s %-9s %-12s %s\n", q.ID, q.Status, cmp.Or(q.Task, "-"), prose.OneLine(q.Text, listWidth))
				if q.Answer != "" {
					fmt.Fprintf(&b, "      answer by %s: %s\n", q.By, prose.OneLine(q.Answer, listWidth))
				}
			}
			if len(found) == 0 {
				b.WriteString("no open question\n")
			}
			return env.showStale(stale, map[string]any{"questions": dashboard.Plain(found)}, b.String())
		}),
	}
}

func newAnswer(env *Env) *urfave.Command {
	return &urfave.Command{
		Name: "answer", Category: "people", ArgsUsage: "ID TEXT", Usage: "answer a question",
		Description: "The answer is in the task's next prompt. The answer to the last open question of a task that waits for answers only unblocks it." +
			examples("liza answer q-1 'Linux and macOS'", "liza questions") + exitsText(0, 1, 2, 3, 4, 5),
		Action: env.do(func(ctx context.Context, args []string) error {
			d, err := env.Service(ctx)
			if err != nil {
				return err
			}
			done, err := d.Answer(ctx, args[0], args[1])
			if err != nil {
				return err
			}
			if !env.JSON {
				env.Notices(done.Notices)
			}
			line := "answered " + done.Question
			if done.Unblocked {
				line += fmt.Sprintf("; %s is %s again", done.Task, done.Status)
			}
			if done.GoesOn {
				line += "; the checkpoint is over, the team goes on"
			}
			return env.Print(done, "%s\n", line)
		}),
	}
}

func newAck(env *Env) *urfave.Command {
	var (
		note string
		keep bool
	)
	return &urfave.Command{
		Name: "ack", Category: "people", Usage: "acknowledge what tripped the circuit breaker, and go on",
		Description: "The anomalies so far are acknowledged: alone they never trip the breaker again, but they still count when a new one joins them. The checkpoint ends\n" +
			"unless --keep-checkpoint is given." +
			examples("liza ack --note 'the parser is rewritten in task-9'", "liza ack --keep-checkpoint --note 'the plan has to change'") + exitsText(0, 1, 2, 3, 4, 5, 7),
		Flags: []urfave.Flag{
			text("note", "`TEXT`: what was found and decided", &note),
			flag("keep-checkpoint", "stay at the checkpoint until `liza resume`", &keep),
		},
		Action: env.onService(func(ctx context.Context, d *verb.Service, _ []string) error {
			done, err := d.Ack(ctx, note, keep)
			if err != nil {
				return err
			}
			if done.Sprint == blackboard.AtCheckpoint {
				return env.Print(done, "acknowledged up to %s; the checkpoint stays\nnext: liza resume\n", done.Watermark)
			}
			return env.Print(done, "acknowledged up to %s; work goes on\n", done.Watermark)
		}),
	}
}
