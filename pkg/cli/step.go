package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/blackboard"
	"liza/pkg/merge"
	"liza/pkg/simulate"
	"liza/pkg/supervisor"
	"liza/pkg/verb"
)

type stepOptions struct {
	env                  *Env
	cli, model, scenario string
	dryRun               bool
}

func newStep(env *Env) *urfave.Command {
	o := &stepOptions{env: env}
	return &urfave.Command{
		Name: "step", Category: "people", ArgsUsage: "TASK", Usage: "exactly one run of the agent that a task waits for",
		Description: "UNCLAIMED, REJECTED and INTEGRATION_FAILED start a coder, READY_FOR_REVIEW starts a reviewer, APPROVED is merged, and _planner starts the\n" +
			"planner. It runs in the foreground, with all limits; a claim that still holds after the run is given back." +
			examples("liza step task-3", "liza step _planner --dry-run") + exitsText(0, 1, 2, 3, 4, 5, 6, 7, 130),
		Flags: []urfave.Flag{
			text("cli", "`NAME` of the agent program", &o.cli),
			text("model", "`M`: model of the agent program", &o.model),
			text("scenario", "`FILE`: scenario of the scripted agent (sets --cli scripted)", &o.scenario),
			flag("dry-run", "say which run it would be, and change nothing", &o.dryRun),
		},
		Action: func(ctx context.Context, c *urfave.Command) error { return o.run(ctx, c.Args().First()) },
	}
}

// stepped is the result of `liza step`.
type stepped struct {
	Task   string            `json:"task"`
	Before string            `json:"status_before"`
	After  blackboard.Status `json:"status_after,omitempty"`
}

func (o *stepOptions) run(ctx context.Context, task string) error {
	d, err := o.env.Service(ctx)
	if err != nil {
		return err
	}
	next, err := simulate.Step(ctx, d, task)
	if err != nil {
		return err
	}
	if next.Merge && !o.dryRun {
		return o.merge(ctx, d, task)
	}
	c := &factory{env: o.env, service: d, cli: o.cli, model: o.model, screen: o.env.newScreen()}
	if !next.Merge {
		crewOf := o.env.readyFactory
		if o.dryRun {
			crewOf = o.env.newFactory
		}
		if c, err = crewOf(ctx, o.cli, o.model, o.scenario); err != nil {
			return err
		}
		c.screen = o.env.newScreen()
	}
	s := c.supervisor(blackboard.Role(next.Kind))
	if next.Kind != "planner" {
		s.Task = task
	}
	if o.dryRun {
		return o.foresee(ctx, s, next)
	}
	soft, hard, done := o.env.interrupts(ctx, func(text string) {
		c.screen.line(supervisor.Line{Time: o.env.Now(), Agent: s.ID, Task: task, Text: text, Warning: true})
	})
	err = s.RunStep(soft, hard)
	done()
	if err != nil {
		return err
	}
	return o.show(ctx, d, next)
}

func (o *stepOptions) merge(ctx context.Context, d *verb.Service, task string) error {
	results, err := d.Merge(ctx, task)
	if _, failed := errors.AsType[*merge.FailedError](err); err != nil && !failed || len(results) == 0 {
		return err
	}
	if err != nil && o.env.JSON {
		return err
	}
	return errors.Join(o.env.Print(map[string]any{"merges": results}, "%s\n", mergeLine(results[0])), err)
}

// show says where the task is now.
func (o *stepOptions) show(ctx context.Context, d *verb.Service, next simulate.NextStep) error {
	out := stepped{Task: next.Task, Before: string(next.Status)}
	s, err := d.View(ctx)
	if err != nil {
		return err
	}
	if t := s.Task(next.Task); t != nil {
		out.After = t.Status
		return o.env.Print(out, "%s was %s and is %s\n", out.Task, out.Before, out.After)
	}
	if s.Sprint != nil {
		out.After = blackboard.Status(s.Sprint.Status)
	}
	return o.env.Print(out, "the planner has run; the sprint is %s\n", out.After)
}

func (o *stepOptions) foresee(ctx context.Context, s *supervisor.Supervisor, next simulate.NextStep) error {
	f, err := s.Foresee(ctx, next)
	if err != nil {
		return err
	}
	if f.Merge {
		return o.env.Print(f, "%s is %s and would be merged\n", f.Task, f.Status)
	}
	var b strings.Builder
	line := func(key, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%-8s %s\n", key, value)
		}
	}
	line("task", strings.TrimSpace(f.Task+" "+string(f.Status)))
	line("agent", f.Agent)
	line("role", f.Role)
	line("program", f.Program)
	line("model", f.Model)
	line("command", strings.Join(f.Command, " "))
	return o.env.Print(f, "%s", b.String())
}
