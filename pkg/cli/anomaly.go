package cli

import (
	"context"
	"strings"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/blackboard"
	"liza/pkg/verb"
)

func newAnomaly(env *Env) *urfave.Command {
	var (
		in      verb.AnomalyInput
		details []string
	)
	return &urfave.Command{
		Name: "anomaly", Category: "agents", Usage: "record what went differently than it should",
		Description: "Adds to anomalies. The circuit breaker looks at once; a pattern stops the sprint at a checkpoint. Types, who records them, and the details that\n" +
			"they need (a person may record all; a type of your own begins with x-):\n\n" + anomalyTable() +
			examples("liza anomaly --type retry_loop --task task-3 --detail count=3 --detail error_pattern='undefined: Parse'",
				"liza anomaly --type spec_ambiguity --task task-3 --detail question='may a name be empty?' --detail spec_ref=specs/vision.md#name") +
			exitsText(0, 1, 2, 3, 4, 5, 6),
		Flags: []urfave.Flag{
			text("type", "`T`: what kind (required)", (*string)(&in.Type)),
			text("task", "`ID`: task that it is about (required)", &in.Task),
			texts("detail", "`k=v`: what happened", &details),
		},
		Action: env.do(func(ctx context.Context, _ []string) error {
			var err error
			switch {
			case in.Type == "":
				return usagef("liza help anomaly", "anomaly needs --type")
			case in.Task == "":
				return usagef("liza help anomaly", "anomaly needs --task")
			}
			if in.Details, err = pairs("detail", details); err != nil {
				return err
			}
			d, err := env.Service(ctx)
			if err != nil {
				return err
			}
			done, err := d.Anomaly(ctx, in)
			if err != nil {
				return err
			}
			env.Notices(done.Notices)
			return env.Print(done, "recorded as %s\n", done.ID)
		}),
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
		lines = append(lines, "   "+string(kind.Name)+" ("+who+"): "+strings.Join(kind.Details, ", "))
	}
	return strings.Join(lines, "\n")
}
