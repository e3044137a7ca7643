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
	"liza/pkg/run/prompt"
	"liza/pkg/team/assembly"
	"liza/pkg/verb/verb"
)

// tellNotes tells the agent of a run, at the end of a command of it, what people have written since its prompt.
func (e *Env) tellNotes(ctx context.Context) {
	if e.inside == nil {
		return
	}
	for _, text := range newNotes(ctx, &e.System, e.inside.Service, e.inside.Run.Agent) {
		fmt.Fprintln(e.System.Stderr, text)
	}
}

// newNotes takes the notes that a run has not got yet. A failure is not the command's: the next one tries again.
func newNotes(ctx context.Context, e *assembly.Environment, d *verb.Service, agent string) (texts []string) {
	taken, err := e.ServiceOn(d.Board).TakeNotes(context.WithoutCancel(ctx), agent)
	if err != nil {
		e.Log().Debug("cannot look for notes: " + err.Error())
	}
	for _, n := range taken {
		if n.Receipt != nil {
			texts = append(texts, prompt.Said(n))
		} else {
			texts = append(texts, "note from a person: "+n.Message)
		}
		activity.Append(d.Board.Project.Activity(n.For), activity.Event{At: e.Now(), Kind: activity.Note, Text: d.Board.Mask(n.Message)})
	}
	return texts
}

func newQuestions(env *Env) *urfave.Command {
	var all bool
	return &urfave.Command{
		Name: "questions", Category: "decide", Usage: "list the questions that agents ask",
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
