package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/blackboard"
	"liza/pkg/dashboard"
	"liza/pkg/prose"
)

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
			return env.Print(done, "%s\n", line)
		}),
	}
}
