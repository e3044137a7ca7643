package cli

import (
	"context"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/verb"
)

func newStop(env *Env) *urfave.Command {
	var in verb.AgentOrder
	return &urfave.Command{
		Name: "stop", Category: "people", ArgsUsage: "AGENT", Usage: "end the run of one agent; it takes no work until restart",
		Description: "Within a second the agent's program is ended as by a limit: what it has written is kept, the claim goes back to the board, and others may take\n" +
			"it. The agent stays registered and takes nothing until `liza restart`, also after its supervisor began again, and on any host." +
			examples("liza stop coder-2", "liza stop coder-2 --reason 'it rewrites the parser'") + exitsText(0, 1, 2, 3, 4, 5),
		Flags: []urfave.Flag{text("reason", "`T` why, for those who look", &in.Reason)},
		Action: env.onService(func(ctx context.Context, d *verb.Service, args []string) error {
			in.Agent = args[0]
			done, err := d.StopAgent(ctx, in)
			if err != nil {
				return err
			}
			what := "takes no work"
			if done.Task != "" {
				what = "its run ends, and " + done.Task + " goes back to the board with its work"
			}
			return env.Print(done, "%s is stopped: %s\nnext: liza restart %s\n", done.Agent, what, done.Agent)
		}),
	}
}

func newRestart(env *Env) *urfave.Command {
	var in verb.AgentOrder
	return &urfave.Command{
		Name: "restart", Category: "people", ArgsUsage: "AGENT", Usage: "let a stopped agent work again, or begin its run again",
		Description: "A stopped agent takes work again. One that is at work is stopped as by `liza stop` and goes on at once, with a new run.\n" +
			"--task sends a coder to another task: it begins with that one, and others leave it to this coder." +
			examples("liza restart coder-2", "liza restart coder-2 --task task-7 --reason 'this one first'") + exitsText(0, 1, 2, 3, 4, 5, 7),
		Flags: []urfave.Flag{
			text("task", "`ID`: what a coder begins with", &in.Task),
			text("reason", "`T` why, for the log", &in.Reason),
		},
		Action: env.onService(func(ctx context.Context, d *verb.Service, args []string) error {
			in.Agent = args[0]
			done, err := d.RestartAgent(ctx, in)
			if err != nil {
				return err
			}
			what := "takes work again"
			switch {
			case done.Next != "":
				what = "begins with " + done.Next
			case done.Task != "":
				what = "its run ends and a new one begins"
			}
			return env.Print(done, "%s is restarted: %s\nnext: liza show %s\n", done.Agent, what, done.Agent)
		}),
	}
}
