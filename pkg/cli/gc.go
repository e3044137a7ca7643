package cli

import (
	"context"
	"fmt"
	"strings"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/prose"
	"liza/pkg/upkeep"
)

func newGC(env *Env) *urfave.Command {
	var (
		dryRun, attic bool
		older         string
	)
	return &urfave.Command{
		Name: "gc", Category: "people", Usage: "remove what is left over, if nothing is lost",
		Description: "Removes worktrees, branches and merge candidates of tasks that ended or that no board has, when all that they hold is merged or saved under\n" +
			"refs/liza/attic; prompts and outputs from before the last sprint; old histories (history.retention_days); temporary files. Everything else\n" +
			"is kept, and listed with the reason. Saved work itself is removed with --attic alone, of tasks that ended, and only when it is old enough." +
			examples("liza gc --dry-run", "liza gc --attic --older 30d") + exitsText(0, 1, 2, 3, 4, 5),
		Flags: []urfave.Flag{
			flag("dry-run", "only say what would be removed, and what kept", &dryRun),
			flag("attic", "remove saved work of tasks that ended as well; needs --older", &attic),
			&urfave.StringFlag{Name: "older", Usage: "`AGE` of saved work since it was saved and its task ended, such as 12h or 30d", Destination: &older},
		},
		Action: env.do(env.slow("looking for what can be removed", func(ctx context.Context, _ []string) error {
			in := upkeep.CollectInput{DryRun: dryRun, Attic: attic}
			if attic != (older != "") {
				return usagef("liza gc --attic --older 30d", "--attic and --older belong together: saved work is removed only when it is old enough")
			}
			if attic {
				age, ok := ageText(older)
				if !ok {
					return usagef("liza help gc", "--older '%s' must be an age such as 90m, 12h or 30d", older)
				}
				in.Older = age
			}
			d, err := env.Service(ctx)
			if err != nil {
				return err
			}
			done, err := upkeep.CollectGarbage(ctx, d, in)
			if err != nil {
				return err
			}
			return env.Print(done, "%s", collectedText(done))
		})),
	}
}

func collectedText(c upkeep.Collected) string {
	word := "removed"
	if c.DryRun {
		word = "would remove"
	}
	var b strings.Builder
	for _, g := range c.Removed {
		fmt.Fprintf(&b, "%-12s %-9s %s: %s\n", word, g.Kind, g.Name, g.Why)
	}
	for _, g := range c.Kept {
		fmt.Fprintf(&b, "%-12s %-9s %s: %s%s\n", "kept", g.Kind, g.Name, prose.OneLine(g.Why, listWidth), nextText(g.Next))
	}
	fmt.Fprintf(&b, "%s %d, kept %d\n", word, len(c.Removed), len(c.Kept))
	return b.String()
}

func nextText(command string) string {
	if command == "" {
		return ""
	}
	return "; next: " + command
}
