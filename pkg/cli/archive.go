package cli

import (
	"context"
	"strings"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/prose"
	"liza/pkg/sprint"
)

func newArchive(env *Env) *urfave.Command {
	var older string
	return &urfave.Command{
		Name: "archive", Category: "people", Usage: "move tasks that ended long ago off the board",
		Description: "Moves MERGED, ABANDONED and SUPERSEDED tasks to .liza/archive, into the file of the sprint, byte for byte. They still count as what they\n" +
			"were: for dependencies, for ids, and in `liza show`, `liza log` and `liza report`. A task that an open one depends on stays." +
			examples("liza archive", "liza archive --older 0s") + exitsText(0, 1, 2, 3, 4, 5, 7),
		Flags: []urfave.Flag{
			&urfave.StringFlag{Name: "older", Value: "7d", Usage: "`AGE` since the task ended, such as 90m, 12h or 7d", Destination: &older},
		},
		Action: env.do(env.slow("archiving", func(ctx context.Context, _ []string) error {
			older, ok := ageText(older)
			if !ok {
				return usagef("liza help archive", "--older '%s' must be an age such as 90m, 12h or 7d", older)
			}
			d, err := env.Service(ctx)
			if err != nil {
				return err
			}
			done, err := sprint.Archive(ctx, d, older)
			if err != nil {
				return err
			}
			return env.Print(done, "%s moved to %s: %s\n", prose.Count(len(done.Tasks), "task"), done.File, strings.Join(done.Tasks, ", "))
		})),
	}
}
