package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/board/blackboard"
	"liza/pkg/run/agent"
	"liza/pkg/team/supervisor"
)

type agentOptions struct {
	env                      *Env
	cli, model, id, scenario string
	role, task               string
	once, interactive        bool
	attach                   bool // go on with the claim of the agent id
}

func agentCommand(env *Env, o *agentOptions) *urfave.Command {
	return &urfave.Command{
		Name: "liza-agent", Usage: "supervise one agent: planner, coder or code-reviewer", ArgsUsage: "ROLE [TASK]",
		Description: "Registers, waits for work, claims it, prepares worktree and prompt, runs the agent program, keeps the lease, applies the outcome,\n" +
			"and goes on until the role has no more work. Start one in each terminal, in any order." +
			examples("liza-agent coder", "liza-agent --cli claude --once code-reviewer") + exitsText(0, 1, 2, 3, 4, 5, 7, 130),
		Flags: []urfave.Flag{
			&urfave.StringFlag{Name: "C", Usage: "project folder", Destination: &env.System.Root},
			&urfave.StringFlag{Name: "cli", Usage: "agent program", DefaultText: "agents.default", Destination: &o.cli},
			&urfave.StringFlag{Name: "id", Usage: "agent id", DefaultText: "LIZA_AGENT_ID, else the lowest free number", Destination: &o.id},
			&urfave.StringFlag{Name: "model", Usage: "model of the agent program", Destination: &o.model},
			&urfave.BoolFlag{Name: "once", Usage: "one unit of work", Destination: &o.once},
			&urfave.BoolFlag{Name: "interactive", Aliases: []string{"i"}, Usage: "open the agent program interactively with the prompt ready", Destination: &o.interactive},
			&urfave.StringFlag{Name: "scenario", Usage: "scenario of the scripted agent (sets --cli scripted)", Destination: &o.scenario},
			&urfave.BoolFlag{Name: "json", Usage: "print the result as JSON; steps go to stderr", Destination: &env.JSON},
			&urfave.StringFlag{Name: "log-format", Usage: "diagnostics on stderr: text or json", Destination: &env.System.LogFormat},
		},
		Action: func(ctx context.Context, c *urfave.Command) error {
			o.role, o.task = c.Args().Get(0), c.Args().Get(1)
			if c.Args().Len() > 2 {
				return usagef("liza-agent --help", "liza-agent takes a role and at most one task, not %d arguments", c.Args().Len())
			}
			return o.run(ctx)
		},
	}
}

func (o *agentOptions) run(ctx context.Context) error {
	role, ok := blackboard.ParseRole(o.role)
	if !ok {
		return unknownRole(o.role)
	}
	if role == blackboard.RolePlanner && o.task != "" {
		return usagef("liza-agent planner", "a planner plans for the whole board: it takes no task, here '%s'", o.task)
	}
	if o.interactive && (!o.env.StdinTerminal || !o.env.Terminal) {
		return usagef("liza-agent "+strings.TrimSuffix(role.IDPrefix(), "-"), "-i needs a terminal: stdin or stdout is none")
	}
	id, err := o.agentID(role)
	if err != nil {
		return err
	}
	c, err := readyFactory(ctx, o.env, o.cli, o.model, o.scenario)
	if err != nil {
		return err
	}
	c.screen = o.env.newScreen()
	if err := c.sayLevel(ctx); err != nil {
		return err
	}
	s := c.supervisor(role)
	s.ID, s.Task, s.Once, s.Attach = id, o.task, o.once, o.attach
	if o.interactive {
		if s.Interactive, err = o.terminal(c); err != nil {
			return err
		}
	}
	if o.task != "" {
		s.Once = true
	}
	began := o.env.System.Now()
	ctx, forget := c.whileThere(ctx)
	defer forget()
	soft, hard, done := o.env.interrupts(ctx, func(text string) {
		c.screen.line(supervisor.Line{Time: o.env.System.Now(), Agent: s.ID, Text: text, Warning: true})
	})
	delivered := o.env.System.DeliverBeside(ctx, c.service)
	exported := o.env.exportBeside(c.service.Board.Project, c.liza)
	guarded := c.guardSettings(ctx)
	err = s.Run(soft, hard)
	guarded()
	done()
	delivered()
	exported()
	if err := c.gone(ctx, err); err != nil {
		return err
	}
	if soft.Err() != nil && !errors.Is(ctx.Err(), context.Canceled) && o.env.JSON {
		return o.env.Print(c.summary(ctx, began), "")
	}
	if o.env.JSON {
		return o.env.Print(c.summary(ctx, began), "")
	}
	return nil
}

// agentRoles are the roles by their names, and what else people call them.
var agentRoles = map[string]string{
	"planner": "planner", "plan": "planner", "architect": "planner", "coder": "coder", "code": "coder", "developer": "coder", "worker": "coder", "implementer": "coder",
	"code-reviewer": "code-reviewer", "reviewer": "code-reviewer", "review": "code-reviewer", "supervisor": "code-reviewer",
}

// unknownRole names the role that may have been meant.
func unknownRole(role string) error {
	if role == "" {
		return usagef("liza-agent coder", "liza-agent needs a role: planner, coder or code-reviewer")
	}
	message, next := fmt.Sprintf("role '%s' is unknown: it must be planner, coder or code-reviewer", role), "liza-agent --help"
	if near := agentRoles[blackboard.Nearest(role, slices.Sorted(maps.Keys(agentRoles)))]; near != "" {
		message, next = message+"; did you mean "+near+"?", "liza-agent "+near
	}
	return usagef(next, "%s", message)
}

// terminal is this one, for programs that can be opened in it. While one has it, steps wait
// to be shown.
func (o *agentOptions) terminal(c *factory) (*agent.Terminal, error) {
	name := cmp.Or(o.cli, c.service.Board.Config().Agents.Default)
	adapter, err := c.adapter(name)
	if err == nil {
		_, err = adapter.Interactive(agent.Spec{PromptFile: "prompt"})
	}
	if err != nil {
		return nil, usagef("liza-agent "+o.role, "-i is not possible: %v", err)
	}
	in, isFile := o.env.System.Stdin.(*os.File)
	out, isFileToo := o.env.direct.out.(*os.File) // it must not be behind the masking
	if !isFile || !isFileToo {
		return nil, usagef("liza-agent "+o.role, "-i needs a terminal: stdin or stdout is none")
	}
	errs, isFile := o.env.direct.errs.(*os.File)
	if !isFile {
		errs = out
	}
	return &agent.Terminal{In: in, Out: out, Err: errs, Lent: c.screen.hold}, nil
}

// agentID is the id that was asked for; a malformed or contradicting one ends the program
// before anything is written (specs/decisions.md#D4).
func (o *agentOptions) agentID(role blackboard.Role) (string, error) {
	id, from, fix := o.id, "--id", "liza-agent --help"
	if id == "" {
		id, from, fix = o.env.System.Get("LIZA_AGENT_ID"), "LIZA_AGENT_ID", "unset LIZA_AGENT_ID"
	}
	if id == "" {
		return "", nil
	}
	has, _, ok := blackboard.ParseAgentID(id)
	switch {
	case !ok:
		return "", usagef(fix, "%s '%s' is malformed: it must match ^(coder|code-reviewer|planner)-[0-9]+$", from, id)
	case has != role:
		return "", usagef(fmt.Sprintf("liza-agent %s", strings.TrimSuffix(has.IDPrefix(), "-")), "%s '%s' is that of a %s, not of a %s", from, id, has, role)
	}
	return id, nil
}
