package cli

import (
	"context"
	"fmt"
	"strings"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/verb"
)

// The ways out of BLOCKED; supersede and abandon also out of other statuses.
type wayOptions struct {
	env         *Env
	in          verb.WayOut
	by, depends string
}

func newUnblock(env *Env) *urfave.Command {
	o := &wayOptions{env: env}
	return &urfave.Command{
		Name: "unblock", Category: "agents", ArgsUsage: "ID", Usage: "let a blocked task start over (planner, human)",
		Description: "BLOCKED becomes UNCLAIMED; the next claim starts from the integration branch. Work of the worktree is saved under refs/liza/attic/ first." +
			examples("liza unblock task-3 --reason 'the spec says ISO 8601 now'", "liza unblock task-3 --reason 'without the cache' --depends task-1") + exitsText(0, 1, 2, 3, 4, 5, 6),
		Flags: []urfave.Flag{
			text("reason", "`T` why (required)", &o.in.Reason),
			text("depends", "`a,b`: new dependencies; '' is none", &o.depends),
		},
		Action: func(ctx context.Context, c *urfave.Command) error {
			if c.IsSet("depends") {
				o.in.DependsOn = commaList(o.depends)
			}
			return env.do(o.unblock)(ctx, c)
		},
	}
}

func newSupersede(env *Env) *urfave.Command {
	o := &wayOptions{env: env}
	return &urfave.Command{
		Name: "supersede", Category: "agents", ArgsUsage: "ID", Usage: "replace a task by others (planner, human)",
		Description: "The task becomes SUPERSEDED; what depends on it depends on the replacements. From BLOCKED, DRAFT, UNCLAIMED, REJECTED and\n" +
			"INTEGRATION_FAILED. Work is saved under refs/liza/attic/ first." +
			examples("liza supersede task-3 --by task-7,task-8 --reason 'parser and writer apart'",
				"liza supersede task-3 --by task-9 --reason 'another library' --root-cause 'libfoo has no streaming'") + exitsText(0, 1, 2, 3, 4, 5, 6),
		Flags: []urfave.Flag{
			text("by", "`a,b`: tasks that replace it (required)", &o.by),
			text("reason", "`T` why (required)", &o.in.Reason),
			text("root-cause", "`T`: required after two coders failed", &o.in.RootCause),
		},
		Action: env.do(o.supersede),
	}
}

func newAbandon(env *Env) *urfave.Command {
	o := &wayOptions{env: env}
	return &urfave.Command{
		Name: "abandon", Category: "agents", ArgsUsage: "ID", Usage: "drop a task (planner, human)",
		Description: "The task becomes ABANDONED; UNCLAIMED tasks that depend on it are BLOCKED with a question. From BLOCKED, DRAFT, UNCLAIMED, REJECTED and\n" +
			"INTEGRATION_FAILED. Work is saved under refs/liza/attic/ first." +
			examples("liza abandon task-3 --reason 'out of scope'", "liza abandon task-3 --reason 'dead end' --root-cause 'the API has no such call'") + exitsText(0, 1, 2, 3, 4, 5, 6),
		Flags: []urfave.Flag{
			text("reason", "`T` why (required)", &o.in.Reason),
			text("root-cause", "`T`: required after two coders failed", &o.in.RootCause),
		},
		Action: env.do(o.abandon),
	}
}

func (o *wayOptions) unblock(ctx context.Context, args []string) error {
	return o.leave(ctx, args[0], (*verb.Service).Unblock)
}

func (o *wayOptions) supersede(ctx context.Context, args []string) error {
	o.in.By = commaList(o.by)
	if len(o.in.By) == 0 {
		return usagef("liza help supersede", "--by is empty: name the tasks that replace %s; `liza abandon` drops it", args[0])
	}
	return o.leave(ctx, args[0], (*verb.Service).Supersede)
}

func (o *wayOptions) abandon(ctx context.Context, args []string) error {
	return o.leave(ctx, args[0], (*verb.Service).Abandon)
}

func (o *wayOptions) leave(ctx context.Context, id string, way func(*verb.Service, context.Context, verb.WayOut) (verb.Done, error)) error {
	o.in.Task = id
	d, err := o.env.Service(ctx)
	if err != nil {
		return err
	}
	done, err := way(d, ctx, o.in)
	line := fmt.Sprintf("%s is %s", done.Task, done.Status)
	if len(o.in.By) > 0 {
		line += " by " + strings.Join(o.in.By, ", ")
	}
	return o.env.showDone(done, err, "%s", line)
}
