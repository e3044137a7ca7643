package cli

import (
	"context"
	"strings"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/blackboard"
	"liza/pkg/verb"
)

type anomalyOptions struct {
	env     *Env
	in      verb.AnomalyInput
	details []string
}

func newAnomaly(env *Env) *urfave.Command {
	o := &anomalyOptions{env: env}
	return &urfave.Command{
		Name: "anomaly", Category: "agents", Usage: "record what went differently than it should",
		Description: "Adds to anomalies. The circuit breaker looks at once; a pattern stops the sprint at a checkpoint. Types, who records them, and the details that\n" +
			"they need (a person may record all; a type of your own begins with x-):\n\n" + anomalyTable() +
			examples("liza anomaly --type retry_loop --task task-3 --detail count=3 --detail error_pattern='undefined: Parse'",
				"liza anomaly --type spec_ambiguity --task task-3 --detail question='may a name be empty?' --detail spec_ref=specs/vision.md#name") +
			exitsText(0, 2, 4, 5, 6),
		Flags: []urfave.Flag{
			text("type", "`T`: what kind (required)", &o.in.Type),
			text("task", "`ID`: task that it is about (required)", &o.in.Task),
			texts("detail", "`k=v`: what happened", &o.details),
		},
		Action: env.do(o.run),
	}
}

// anomalyTable lists the types that agents record, for the help text.
func anomalyTable() string {
	var lines []string
	for _, kind := range blackboard.AnomalyTypes {
		who := strings.Join(kind.Reporters, ", ")
		switch who {
		case blackboard.System:
			continue // Liza records it itself
		case "":
			who = "anybody"
		}
		lines = append(lines, "   "+kind.Name+" ("+who+"): "+strings.Join(kind.Details, ", "))
	}
	return strings.Join(lines, "\n")
}

func (o *anomalyOptions) run(ctx context.Context, _ []string) error {
	var err error
	switch {
	case o.in.Type == "":
		return usagef("liza help anomaly", "anomaly needs --type")
	case o.in.Task == "":
		return usagef("liza help anomaly", "anomaly needs --task")
	}
	if o.in.Details, err = pairs("detail", o.details); err != nil {
		return err
	}
	d, err := o.env.Desk(ctx)
	if err != nil {
		return err
	}
	done, err := d.Anomaly(ctx, o.in)
	if err != nil {
		return err
	}
	o.env.Notices(done.Notices)
	return o.env.Print(done, "recorded as %s\n", done.ID)
}
