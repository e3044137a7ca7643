package cli

import (
	"context"
	"strings"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/board/blackboard"
	"liza/pkg/verb/verb"
)

func newDiscover(env *Env) *urfave.Command {
	var in blackboard.Discovery
	return &urfave.Command{
		Name: "discover", Category: "agents", ArgsUsage: "TEXT", Usage: "record something found that is not part of the task (coder, code_reviewer, human)",
		Description: "Adds to discovered; changes no task. An immediate discovery wakes the planner, the others are in its next prompts until they are\n" +
			"converted or deferred." +
			examples("liza discover 'the retry helper swallows errors' --task task-4 --severity high --urgency immediate",
				"liza discover 'docs/api.md is out of date' --task task-4 --recommend 'regenerate it'") + exitsText(0, 1, 2, 3, 4, 5, 6),
		Flags: []urfave.Flag{
			text("task", "`ID`: task during which it was found (required)", &in.During),
			&urfave.StringFlag{Name: "severity", Value: "low", Usage: "`S`: critical, high, medium or low", Destination: &in.Severity},
			&urfave.StringFlag{Name: "urgency", Value: "deferred", Usage: "`U`: immediate or deferred", Destination: &in.Urgency},
			text("recommend", "`T`: what should be done", &in.Recommendation),
		},
		Action: env.do(func(ctx context.Context, args []string) error {
			if in.During == "" {
				return usagef("liza help discover", "discover needs --task")
			}
			in.Description = args[0]
			d, err := env.Service(ctx)
			if err != nil {
				return err
			}
			done, err := d.Discover(ctx, in)
			if err != nil {
				return err
			}
			return env.Print(done, "recorded as %s\n", done.ID)
		}),
	}
}

func newConvert(env *Env) *urfave.Command {
	var task string
	return &urfave.Command{
		Name: "convert", Category: "agents", ArgsUsage: "DISC", Usage: "say which task came of a discovery (planner, human)",
		Description: "Sets converted_to_task. The task may be an old or a new one; make it with add-task first." +
			examples("liza convert disc-1 --task task-9", "liza convert disc-2 --task task-4 --json") + exitsText(0, 1, 2, 3, 4, 5, 6),
		Flags: []urfave.Flag{text("task", "`ID`: the task (required)", &task)},
		Action: env.do(func(ctx context.Context, args []string) error {
			if task == "" {
				return usagef("liza help convert", "convert needs --task")
			}
			d, err := env.Service(ctx)
			if err != nil {
				return err
			}
			done, err := d.Convert(ctx, args[0], task)
			if err != nil {
				return err
			}
			return env.Print(done, "%s is %s now%s\n", done.ID, done.Task, already(done))
		}),
	}
}

func newDefer(env *Env) *urfave.Command {
	var reason string
	return &urfave.Command{
		Name: "defer", Category: "agents", ArgsUsage: "DISC", Usage: "put a discovery off (planner, human)",
		Description: "Keeps it, with the reason; it is in every planner's prompt and goes on into the next sprint." +
			examples("liza defer disc-1 --reason 'cosmetic; next sprint'", "liza --as planner-1 defer disc-2 --reason 'needs a spec first'") + exitsText(0, 1, 2, 3, 4, 5, 6),
		Flags: []urfave.Flag{text("reason", "`T`: why (required)", &reason)},
		Action: env.do(func(ctx context.Context, args []string) error {
			if reason == "" {
				return usagef("liza help defer", "defer needs --reason")
			}
			d, err := env.Service(ctx)
			if err != nil {
				return err
			}
			done, err := d.Defer(ctx, args[0], reason)
			if err != nil {
				return err
			}
			return env.Print(done, "%s is deferred%s\n", done.ID, already(done))
		}),
	}
}

func already(d verb.Discovered) string {
	if d.Already {
		return " (already done)"
	}
	return ""
}

func newSpecChange(env *Env) *urfave.Command {
	var spec, change, task string
	return &urfave.Command{
		Name: "spec-change", Category: "people", Usage: "record that a spec was changed",
		Description: "Adds to spec_changes, with the hash of the file. The planner is woken; open tasks of that spec have the change in their next prompts and\n" +
			"go on; a reviewer is told when the spec is another than at the claim." +
			examples("liza spec-change --spec specs/vision.md#name --change 'names may contain spaces'", "liza spec-change --spec specs/api.md --change 'v2 only' --task task-3") +
			exitsText(0, 1, 2, 3, 4, 5),
		Flags: []urfave.Flag{
			text("spec", "`P[#a]`: the spec file, and where in it (required)", &spec),
			text("change", "`T`: what changed (required)", &change),
			text("task", "`ID`: task that made it necessary", &task),
		},
		Action: env.do(func(ctx context.Context, _ []string) error {
			switch {
			case spec == "":
				return usagef("liza help spec-change", "spec-change needs --spec")
			case change == "":
				return usagef("liza help spec-change", "spec-change needs --change")
			}
			d, err := env.Service(ctx)
			if err != nil {
				return err
			}
			done, err := d.SpecChange(ctx, spec, change, task)
			if err != nil {
				return err
			}
			switch {
			case done.Already:
				return env.Print(done, "already done: this change of %s is recorded\n", done.Spec)
			case len(done.Affected) == 0:
				return env.Print(done, "recorded; no open task has that spec\n")
			}
			return env.Print(done, "recorded; in the next prompts of %s\n", strings.Join(done.Affected, ", "))
		}),
	}
}

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
