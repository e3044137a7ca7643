package cli

import (
	"context"
	"fmt"
	"strings"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/prose"
	"liza/pkg/sprint"
	"liza/pkg/verb"
)

type sprintOptions struct {
	env     *Env
	planned string
}

func newSprint(env *Env) *urfave.Command {
	o := &sprintOptions{env: env}
	return &urfave.Command{
		Name: "sprint", Category: "people", Usage: "start the next sprint",
		Description: "A sprint ends by itself when every task is terminal, or by `liza abort`." + examples("liza sprint next", "liza report") + exitsText(0, 1, 2, 3, 4, 5),
		Commands: []*urfave.Command{{
			Name: "next", Usage: "close the sprint that has ended and start the next one",
			Description: "Needs a sprint that is COMPLETED or ABORTED, and that nobody works. Its terminal tasks, its figures and decisions go to .liza/archive; open\n" +
				"tasks go on in the next sprint, and so do facts, discoveries and notes. Figures and costs begin at zero. A COMPLETED goal opens again." +
				examples("liza sprint next", "liza sprint next --planned task-4,task-7") + exitsText(0, 1, 2, 3, 4, 5),
			Flags:  []urfave.Flag{text("planned", "`IDS` of open tasks that are the plan; the other open ones are stretch", &o.planned)},
			Action: env.onService(o.next),
		}},
	}
}

func (o *sprintOptions) next(ctx context.Context, d *verb.Service, _ []string) error {
	done, err := sprint.Next(ctx, d, commaList(o.planned))
	if err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s starts; %s and %s are in %s\n", done.Sprint, done.Before, prose.Count(len(done.Archived), "task"), done.File)
	if n := len(done.Planned) + len(done.Stretch); n > 0 {
		fmt.Fprintf(&b, "on go %s: planned %s", prose.Count(n, "open task"), orNone(done.Planned))
		if len(done.Stretch) > 0 {
			fmt.Fprintf(&b, "; stretch %s", strings.Join(done.Stretch, ", "))
		}
		b.WriteString("\n")
	}
	if s, err := d.View(ctx); err == nil {
		if lag, err := d.Behind(ctx, s); err == nil && lag.Behind > 0 {
			fmt.Fprintf(&b, "%s; liza sync merges them\n", lag)
		}
	}
	b.WriteString("next: liza run\n")
	return o.env.Print(done, "%s", b.String())
}

func orNone(ids []string) string {
	if len(ids) == 0 {
		return "none"
	}
	return strings.Join(ids, ", ")
}
