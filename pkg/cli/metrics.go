package cli

import (
	"context"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/dashboard"
)

type metricsOptions struct {
	env *Env
	csv string
}

func newMetrics(env *Env) *urfave.Command {
	o := &metricsOptions{env: env}
	return &urfave.Command{
		Name: "metrics", Category: "people", Usage: "show the figures of the sprint",
		Description: "Counts of tasks, iterations, verdicts and failures, lead, work, review and wait times (in seconds with --json and --csv), and costs. Changes\n" +
			"nothing but the file." + examples("liza metrics", "liza metrics --csv sprint.csv") + exitsText(0, 1, 2, 3),
		Flags:  []urfave.Flag{text("csv", "`FILE` to write the figures to; - is stdout", &o.csv)},
		Action: env.do(o.run),
	}
}

func (o *metricsOptions) run(ctx context.Context, _ []string) error {
	d, s, stale, err := o.env.lookAt(ctx)
	if err != nil {
		return err
	}
	f, err := o.env.reportFacts(d, s)
	if err != nil {
		return err
	}
	m := dashboard.MetricsOf(s, f.Tasks, f.Journal, f.Now)
	switch o.csv {
	case "":
		return o.env.showStale(stale, m, m.Text())
	case "-":
		return o.env.showStale(stale, m, string(m.CSV()))
	}
	if err := o.env.writeFile(o.csv, m.CSV()); err != nil {
		return err
	}
	return o.env.showStale(stale, m, "the figures are in "+o.csv+"\n")
}
