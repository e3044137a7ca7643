package cli

import (
	"context"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/verb"
)

type holdOptions struct {
	env    *Env
	reason string
}

func newHold(env *Env) *urfave.Command {
	o := &holdOptions{env: env}
	return &urfave.Command{
		Name: "hold", Category: "people", ArgsUsage: "ID", Usage: "let nobody pick the task; its status stays",
		Description: "Sets the field hold. Nobody claims, reviews or merges the task until it is taken off." +
			examples("liza hold task-3 --reason 'wait for the contract'", "liza unhold task-3") + exitsText(0, 1, 2, 3, 4, 5),
		Flags:  []urfave.Flag{text("reason", "`T` why (required)", &o.reason)},
		Action: env.onService(o.hold),
	}
}

func newUnhold(env *Env) *urfave.Command {
	o := &holdOptions{env: env}
	return &urfave.Command{
		Name: "unhold", Category: "people", ArgsUsage: "ID", Usage: "end a hold",
		Description: "Clears the field hold; the task goes on from the status that it has." +
			examples("liza unhold task-3", "liza unhold task-3 --json") + exitsText(0, 1, 2, 3, 4, 5),
		Action: env.onService(o.unhold),
	}
}

func (o *holdOptions) hold(ctx context.Context, d *verb.Service, args []string) error {
	done, err := d.Hold(ctx, args[0], o.reason)
	return o.env.showDone(done, err, "%s is on hold (%s)", done.Task, done.Status)
}

func (o *holdOptions) unhold(ctx context.Context, d *verb.Service, args []string) error {
	done, err := d.Unhold(ctx, args[0])
	return o.env.showDone(done, err, "%s is no longer on hold (%s)", done.Task, done.Status)
}
