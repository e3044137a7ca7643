package cli

import (
	"context"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/blackboard"
	"liza/pkg/dashboard"
	"liza/pkg/safefile"
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
	m = append(m, lockMetrics(d.Project.Lock())...)
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

// lockMetrics are what the lock of the state tells of itself: how often it was taken, and how
// long it was waited for and held.
func lockMetrics(lock string) dashboard.Metrics {
	stats, err := safefile.ReadLockStats(lock)
	if err != nil {
		return nil
	}
	figure := func(name, unit string, n int64) dashboard.Metric {
		value := blackboard.Amount(n)
		return dashboard.Metric{Name: name, Value: &value, Unit: unit}
	}
	return dashboard.Metrics{
		figure("state_lock_uses", "", int64(stats.Count)),
		figure("state_lock_wait_p99", "us", stats.Wait.Percentile(99).Microseconds()),
		figure("state_lock_wait_max", "us", stats.Wait.Max.Microseconds()),
		figure("state_lock_hold_p99", "us", stats.Hold.Percentile(99).Microseconds()),
		figure("state_lock_hold_max", "us", stats.Hold.Max.Microseconds()),
	}
}
