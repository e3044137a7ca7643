package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/history"
	"liza/pkg/face/dashboard"
)

type logOptions struct {
	env    *Env
	follow bool
	since  string
	filter history.Filter
}

func newLog(env *Env) *urfave.Command {
	o := &logOptions{env: env}
	return &urfave.Command{
		Name: "log", Category: "look", Usage: "show what happened",
		Description: "The newest entries of .liza/log.yaml, oldest first. Changes nothing. With -f it goes on until Ctrl-C." +
			examples("liza log -n 20 --task task-3", "liza log -f --since 1h") + exitsText(0, 1, 2, 130),
		Flags: []urfave.Flag{
			flag("f", "follow: show new entries as they come", &o.follow),
			number("n", "`N` newest entries; 0 is all", 50, &o.filter.Last),
			text("task", "`ID`: entries of this task only", &o.filter.Task),
			text("agent", "`ID`: entries by this agent, by human or by system only", &o.filter.Agent),
			text("action", "`A`: entries of this action only, such as claimed or merged", (*string)(&o.filter.Action)),
			text("since", "`T`: not older than a time such as 90m, 2h, 3d or 2026-01-19T14:00:00Z", &o.since),
		},
		Action: env.do(o.run),
	}
}

func (o *logOptions) run(ctx context.Context, _ []string) error {
	if o.follow && o.env.JSON {
		return usagef("liza help log", "-f and --json exclude each other: with --json exactly one object is printed")
	}
	if o.filter.Last < 0 {
		return usagef("liza help log", "-n %d must not be negative", o.filter.Last)
	}
	var err error
	if o.filter.Since, err = sinceOf(o.since, o.env.System.Now()); err != nil {
		return err
	}
	p, err := o.env.System.Find(ctx)
	if err != nil {
		return err
	}
	journal := history.Journal{Path: p.Journal()}
	if o.follow {
		return o.tail(ctx, journal)
	}
	entries, err := journal.Read(o.filter)
	if err != nil {
		return err
	}
	var b strings.Builder
	list := []any{}
	for _, e := range entries {
		b.WriteString(strings.TrimRight(dashboard.LogLine(e), "\n") + "\n")
		list = append(list, dashboard.Plain(e))
	}
	return o.env.Print(map[string]any{"entries": list}, "%s", b.String())
}

// tail shows the newest entries and then every new one, until ctx ends.
func (o *logOptions) tail(ctx context.Context, journal history.Journal) error {
	d, err := o.env.System.Reader(ctx)
	if err != nil {
		return err
	}
	changed := d.Board.Store.Watch(ctx)
	shown := newest(journal) // what comes while the first ones are read is shown by the filter below
	for first := true; ; first = false {
		f := o.filter
		if !first {
			f.Last, f.AfterRev = 0, shown
		}
		entries, err := journal.Read(f)
		if err != nil {
			return err
		}
		for _, e := range entries {
			fmt.Fprintln(o.env.System.Stdout, strings.TrimRight(dashboard.LogLine(e), "\n"))
			shown = max(shown, e.Rev)
		}
		if _, open := <-changed; !open || ctx.Err() != nil {
			return &errDone{130}
		}
	}
}

// newest is the revision of the last entry, whatever the filter.
func newest(journal history.Journal) int {
	last, err := journal.Read(history.Filter{Last: 1})
	if err != nil || len(last) == 0 {
		return 0
	}
	return last[0].Rev
}

// sinceOf reads "90m", "2h", "3d" or a time.
func sinceOf(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if at, ok := blackboard.Time(text).At(); ok {
		return at, nil
	}
	if age, ok := ageText(text); ok {
		return now.Add(-age), nil
	}
	return time.Time{}, usagef("liza help log", "--since '%s' must be an age such as 90m, 2h or 3d, or a time such as 2026-01-19T14:00:00Z", text)
}

// ageText reads "90m", "2h" or "3d".
func ageText(text string) (time.Duration, bool) {
	if rest, ok := strings.CutSuffix(text, "d"); ok {
		days, err := strconv.ParseFloat(rest, 64)
		return time.Duration(days * 24 * float64(time.Hour)), err == nil && days >= 0 && days < 100*365
	}
	age, err := time.ParseDuration(text)
	return age, err == nil && age >= 0
}
