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

// listing makes a command of answer that lists the questions when it has no argument.
func (e *Env) listing(answer *urfave.Command) *urfave.Command {
	needs := strings.Fields(answer.ArgsUsage)
	answer.ArgsUsage = "[" + strings.Join(needs, "] [") + "]"
	answer.Usage = "list the open questions, and answer one"
	answer.Description = "Without arguments it lists the open questions, oldest first. " + answer.Description
	one := answer.Action
	answer.Action = func(ctx context.Context, c *urfave.Command) error {
		if c.Args().Len() >= len(needs) {
			return one(ctx, c)
		}
		return e.do(func(ctx context.Context, args []string) error {
			if len(args) > 0 {
				return usagef(helpCommand(c), "%s needs %s; the command is `liza answer %s`", c.FullName(), needs[len(args)], strings.Join(needs, " "))
			}
			return e.questions(ctx)
		})(ctx, c)
	}
	return answer
}

// questions prints the open questions, oldest first.
func (e *Env) questions(ctx context.Context) error {
	s, stale, err := e.look(ctx)
	if err != nil {
		return err
	}
	found := []*blackboard.Question{}
	var b strings.Builder
	for _, q := range s.Questions {
		if q == nil || q.Status != blackboard.QuestionOpen {
			continue
		}
		found = append(found, q)
		fmt.Fprintf(&b, "%-5s %-12s %s\n", q.ID, cmp.Or(q.Task, "-"), prose.OneLine(q.Text, listWidth))
	}
	if len(found) == 0 {
		b.WriteString("no open question\n")
	}
	return e.showStale(stale, map[string]any{"questions": dashboard.Plain(found)}, b.String())
}
