package cli

import (
	"context"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/blackboard"
	"liza/pkg/verb"
)

func newAck(env *Env) *urfave.Command {
	var (
		note string
		keep bool
	)
	return &urfave.Command{
		Name: "ack", Category: "people", Usage: "acknowledge what tripped the circuit breaker, and go on",
		Description: "The anomalies so far are acknowledged: alone they never trip the breaker again, but they still count when a new one joins them. The checkpoint ends\n" +
			"unless --keep-checkpoint is given." +
			examples("liza ack --note 'the parser is rewritten in task-9'", "liza ack --keep-checkpoint --note 'the plan has to change'") + exitsText(0, 1, 2, 3, 4, 5, 7),
		Flags: []urfave.Flag{
			text("note", "`TEXT`: what was found and decided", &note),
			flag("keep-checkpoint", "stay at the checkpoint until `liza resume`", &keep),
		},
		Action: env.onService(func(ctx context.Context, d *verb.Service, _ []string) error {
			done, err := d.Ack(ctx, note, keep)
			if err != nil {
				return err
			}
			if done.Sprint == blackboard.AtCheckpoint {
				return env.Print(done, "acknowledged up to %s; the checkpoint stays\nnext: liza resume\n", done.Watermark)
			}
			return env.Print(done, "acknowledged up to %s; work goes on\n", done.Watermark)
		}),
	}
}
