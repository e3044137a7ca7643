package cli

import (
	"context"
	"slices"
	"strings"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/board/transition"
	"liza/pkg/verb/sprint"
	"liza/pkg/verb/verb"
)

type controlOptions struct {
	env              *Env
	reason, decision string
	goal             bool
}

func newPause(env *Env) *urfave.Command {
	o := &controlOptions{env: env}
	return &urfave.Command{
		Name: "pause", Category: "people", Usage: "let nothing new start; what runs goes on",
		Description: "Makes .liza/PAUSE. Within a second no supervisor claims, reviews, plans or merges any more; running agents go on.\n" +
			"On a board in a database the pause is on the board and holds on all hosts; touch .liza/PAUSE stops one of them." +
			examples("liza pause --reason 'lunch'", "liza resume") + exitsText(0, 1, 2, 3, 4, 5),
		Flags:  []urfave.Flag{text("reason", "`T` why, for those who wait", &o.reason)},
		Action: env.onService(o.pause),
	}
}

func newResume(env *Env) *urfave.Command {
	o := &controlOptions{env: env}
	return &urfave.Command{
		Name: "resume", Category: "people", Usage: "end a pause, a checkpoint or an abort",
		Description: "Removes the control files and sets the sprint IN_PROGRESS. At a checkpoint the decision is stored; REPLAN and PIVOT wake the planner\n" +
			"with the note, STOP gives the goal up." +
			examples("liza resume", "liza resume --decision REPLAN --note 'Drop Windows'") + exitsText(0, 1, 2, 3, 4, 5, 7),
		Flags: []urfave.Flag{
			&urfave.StringFlag{Name: "decision", Value: "CONTINUE", Usage: "`D`: " + strings.Join(transition.Decisions, ", "), Destination: &o.decision},
			text("note", "`T` for the planner and the log", &o.reason),
		},
		Action: env.do(o.resume),
	}
}

func newAbort(env *Env) *urfave.Command {
	o := &controlOptions{env: env}
	return &urfave.Command{
		Name: "abort", Category: "people", Usage: "stop all agents now",
		Description: "Makes .liza/ABORT: within a second agents are stopped, claims released, supervisors end. Work is kept. With --goal the goal is given up too.\n" +
			"On a board in a database it is on the board and holds on all hosts; touch .liza/ABORT stops one of them." +
			examples("liza abort --reason 'wrong spec'", "liza abort --goal --reason 'not needed any more'") + exitsText(0, 1, 2, 3, 4, 5),
		Flags: []urfave.Flag{
			flag("goal", "give the goal up as well", &o.goal),
			text("reason", "`T` why", &o.reason),
		},
		Action: env.onService(o.abort),
	}
}

func newCheckpoint(env *Env) *urfave.Command {
	o := &controlOptions{env: env}
	return &urfave.Command{
		Name: "checkpoint", Category: "people", Usage: "stop for people to look and decide",
		Description: "Like pause, and the sprint is at a CHECKPOINT: a summary is written to .liza/sprint_summary.md. `liza resume` goes on." +
			examples("liza checkpoint --message 'half time'", "liza resume --decision CONTINUE") + exitsText(0, 1, 2, 3, 4, 5),
		Flags:  []urfave.Flag{text("message", "`T` what it is about", &o.reason)},
		Action: env.onService(o.checkpoint),
	}
}

func (o *controlOptions) pause(ctx context.Context, d *verb.Service, _ []string) error {
	done, err := sprint.Pause(ctx, d, o.reason)
	return o.show(done, err, "paused: nothing new starts\nnext: liza resume\n")
}

func (o *controlOptions) resume(ctx context.Context, _ []string) error {
	if !slices.Contains(transition.Decisions, o.decision) {
		return usagef("liza help resume", "--decision '%s' must be one of %s", o.decision, strings.Join(transition.Decisions, ", "))
	}
	d, err := o.env.Service(ctx)
	if err != nil {
		return err
	}
	done, err := sprint.Resume(ctx, d, o.decision, o.reason)
	if o.decision == "STOP" {
		return o.show(done, err, "the goal is given up\n")
	}
	return o.show(done, err, "resumed\n")
}

func (o *controlOptions) abort(ctx context.Context, d *verb.Service, _ []string) error {
	done, err := sprint.Abort(ctx, d, o.reason, o.goal)
	return o.show(done, err, "aborted: agents are stopped, claims released, work is kept\nnext: liza resume\n")
}

func (o *controlOptions) checkpoint(ctx context.Context, d *verb.Service, _ []string) error {
	done, err := sprint.Checkpoint(ctx, d, o.reason)
	return o.show(done, err, "at a checkpoint; the summary is "+done.File+"\nnext: liza resume --decision CONTINUE\n")
}

func (o *controlOptions) show(done sprint.Sprint, err error, text string) error {
	if err != nil {
		return err
	}
	return o.env.Print(done, "%s", text)
}

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
