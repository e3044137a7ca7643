package cli

import (
	"context"
	"fmt"
	"strings"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/landing"
	"liza/pkg/verb"
)

func newLand(env *Env) *urfave.Command {
	var watch bool
	return &urfave.Command{
		Name: "land", Category: "people", Usage: "bring merged work onto a forge, as pull or merge requests", ArgsUsage: "[TASK]",
		Description: "Pushes what is merged into the integration branch, opens one request for the goal or for each task (land.per), and looks at those that are open: red\n" +
			"checks, with the end of their log, and what people ask for in reviews become tasks for the coder whose work it is; a request whose checks have passed is\n" +
			"merged, if land.merge says so. Interrupted, it goes on where it was. The settings are those of the section land." +
			examples("liza land", "liza land task-3", "liza land --watch") + exitsText(0, 1, 2, 3, 4, 5),
		Flags: []urfave.Flag{flag("watch", "look again until nothing is to come from the forge by itself", &watch)},
		Action: env.onService(func(ctx context.Context, d *verb.Service, args []string) error {
			id := ""
			if len(args) > 0 {
				id = args[0]
			}
			l, err := env.lander(ctx, d)
			if err != nil {
				return err
			}
			for {
				landed, err := l.Round(ctx, id, true)
				if err != nil {
					return forgeTrouble(err)
				}
				if !watch || len(landed.Made) > 0 || !landed.Waiting(d.Config().Land) {
					told, err := env.returner(d).Round(ctx, true)
					if err != nil {
						told = append(told, err.Error())
					}
					landed.Problems = append(landed.Problems, told...)
					return env.Print(landed, "%s", landedText(landed))
				}
				if err := pause(ctx, landPoll); err != nil {
					return err
				}
			}
		}),
	}
}

func landedText(l landing.Landed) string {
	var t strings.Builder
	for _, r := range l.Requests {
		fmt.Fprintln(&t, r.Text())
	}
	for _, p := range l.Problems {
		fmt.Fprintf(&t, "! %s\n", p)
	}
	if len(l.Requests) == 0 {
		fmt.Fprintln(&t, "nothing to land: no work is merged that the base branch lacks")
	}
	if len(l.Made) > 0 {
		fmt.Fprintf(&t, "made: %s\nnext: liza run\n", strings.Join(l.Made, ", "))
	}
	return t.String()
}
