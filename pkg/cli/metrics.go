package cli

import (
	"context"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/dashboard"
)

func newMetrics(env *Env) *urfave.Command {
	var csv string
	return &urfave.Command{
		Name: "metrics", Category: "plumbing", Usage: "show the figures of the sprint",
		Description: "Counts of tasks, iterations, verdicts and failures, lead, work, review and wait times (in seconds with --json and --csv), and costs. Changes\n" +
			"nothing but the file." + examples("liza metrics", "liza metrics --csv sprint.csv") + exitsText(0, 1, 2, 3),
		Flags: []urfave.Flag{text("csv", "`FILE` to write the figures to; - is stdout", &csv)},
		Action: env.do(func(ctx context.Context, _ []string) error {
			d, s, stale, err := env.lookAt(ctx)
			if err != nil {
				return err
			}
			f, err := env.reportFacts(d, s)
			if err != nil {
				return err
			}
			m := dashboard.MetricsOf(s, f.Tasks, f.Journal, f.Now)
			switch csv {
			case "":
				return env.showStale(stale, m, m.Text())
			case "-":
				return env.showStale(stale, m, string(m.CSV()))
			}
			if err := env.writeFile(csv, m.CSV()); err != nil {
				return err
			}
			return env.showStale(stale, m, "the figures are in "+csv+"\n")
		}),
	}
}
