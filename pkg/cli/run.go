package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/blackboard"
	"liza/pkg/supervisor"
	"liza/pkg/transition"
)

type runOptions struct {
	env                         *Env
	cli, model, scenario, until string
	planners, coders, reviewers int
	timeout                     time.Duration
	plain, quiet                bool // quiet: without a look at the machine
}

func newRun(env *Env) *urfave.Command {
	o := &runOptions{env: env}
	return &urfave.Command{
		Name: "run", Category: "people",
		Usage: "run the whole team until the goal is complete",
		Description: "Starts planners, coders and reviewers in one process. They claim tasks, work in worktrees under .worktrees/, review, and merge approved\n" +
			"work into the integration branch. Your checkout is not touched. On a terminal a block at the bottom\n" +
			"says what each agent does and what waits for you. The first Ctrl-C lets running agents finish, the second stops them." +
			examples("liza run --cli claude", "liza run --coders 3 --until sprint --timeout 2h") + exitsText(0, 1, 2, 3, 5, 7, 130),
		Flags: []urfave.Flag{
			&urfave.StringFlag{Name: "cli", Usage: "agent program", DefaultText: "agents.default", Destination: &o.cli},
			&urfave.StringFlag{Name: "model", Usage: "model of the agent program", Destination: &o.model},
			&urfave.IntFlag{Name: "planners", Value: 1, Usage: "number of planners", Destination: &o.planners},
			&urfave.IntFlag{Name: "coders", Value: 2, Usage: "number of coders", Destination: &o.coders},
			&urfave.IntFlag{Name: "reviewers", Value: 1, Usage: "number of reviewers", Destination: &o.reviewers},
			&urfave.StringFlag{Name: "until", Value: "goal", Usage: "goal, sprint or idle", Destination: &o.until},
			&urfave.DurationFlag{Name: "timeout", Usage: "end after this time; 0 means no limit", Destination: &o.timeout},
			&urfave.BoolFlag{Name: "plain", Usage: "plain lines without colour and without the live block", Destination: &o.plain},
			&urfave.StringFlag{Name: "scenario", Usage: "scenario of the scripted agent (sets --cli scripted)", Destination: &o.scenario},
		},
		Action: func(ctx context.Context, c *urfave.Command) error { return o.run(ctx, c.IsSet) },
	}
}

func (o *runOptions) run(ctx context.Context, given func(string) bool) error {
	if o.until != "goal" && o.until != "sprint" && o.until != "idle" {
		return usagef("liza help run", "--until '%s' must be goal, sprint or idle", o.until)
	}
	if o.planners < 0 || o.coders < 0 || o.reviewers < 0 || o.planners+o.coders+o.reviewers == 0 {
		return usagef("liza help run", "the team is empty: give at least one planner, coder or reviewer")
	}
	c, err := o.env.readyFactory(ctx, o.cli, o.model, o.scenario)
	if err != nil {
		return err
	}
	c.service.Held.Memory = true
	s, err := c.service.View(ctx)
	if err != nil {
		return err
	}
	over := s.Goal != nil && s.Goal.Status == blackboard.Completed
	if cfg := c.service.Config().Land; over && (cfg.Forge == "none" || !cfg.Auto || s.AllLanded()) {
		return &transition.Refusal{Exit: transition.ExitNothing, Next: `liza goal "TEXT", or liza add-task`, Message: "nothing to do: the goal is COMPLETED"}
	}
	if s.Goal == nil || s.Goal.Status != blackboard.InProgress && !over {
		return &transition.Refusal{Exit: transition.ExitNothing, Next: "liza add-task, or liza note TEXT", Message: fmt.Sprintf("nothing to do: the goal is %s", goalStatus(s))}
	}
	c.screen = o.env.newScreen()
	c.screen.colour = c.screen.colour && !o.plain
	c.screen.calm = map[string]bool{}
	if err := c.sayLevel(ctx); err != nil {
		return err
	}
	if !o.quiet {
		c.preflight(ctx, s, o.reviewers)
	}
	if err := c.greet(ctx, s); err != nil {
		return err
	}
	landing, err := c.landing(ctx)
	if err != nil {
		return err
	}
	began := o.env.Now()
	if o.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, o.timeout, errTimeout)
		defer cancel()
	}
	ctx, forget := c.whileThere(ctx)
	defer forget()
	soft, hard, done := o.env.interrupts(ctx, func(text string) {
		c.screen.line(supervisor.Line{Time: o.env.Now(), Agent: "liza", Text: text, Warning: true})
	})
	unwatch := o.env.watchBeside(ctx, c)
	delivered := o.env.deliverBeside(ctx, c.service)
	exported := o.env.exportBeside(c.service.Project, c.liza)
	guarded := c.guardSettings(ctx)
	quiet := func() {}
	if !o.plain && o.env.canLive() {
		quiet = c.goLive(hard)
	}
	returned := c.returnBeside(soft)
	err = o.withLanding(ctx, soft, hard, c, landing, over, given)
	returned()
	quiet()
	guarded()
	done()
	unwatch()
	delivered()
	exported()
	if err := c.gone(ctx, nil); err != nil {
		return err
	}
	return o.finish(context.WithoutCancel(ctx), ctx, c, began, err)
}

func goalStatus(s *blackboard.State) string {
	if s.Goal == nil {
		return "missing"
	}
	return s.Goal.Status
}

func (o *runOptions) team(c *factory, given func(string) bool) *supervisor.Team {
	team := &supervisor.Team{Service: c.service, Until: o.until}
	for role, n := range map[blackboard.Role]int{blackboard.RolePlanner: o.planners, blackboard.RoleCoder: o.coders, blackboard.RoleReviewer: o.reviewers} {
		for range n {
			m := c.supervisor(role)
			m.Team = true
			team.Members = append(team.Members, m)
		}
	}
	asked := given("planners") || given("coders") || given("reviewers")
	slots := &supervisor.Slots{Limit: func() int {
		cfg := c.service.Config()
		if !cfg.IsSet("orchestration.max_concurrent_agents") && asked {
			return max(cfg.Orchestration.MaxConcurrentAgents, len(team.Members))
		}
		return cfg.Orchestration.MaxConcurrentAgents
	}}
	for _, m := range team.Members {
		m.Slots = slots
	}
	return team
}

// finish turns the end of the team into exit code and last line.
func (o *runOptions) finish(ctx, limited context.Context, c *factory, began time.Time, err error) error {
	r := c.summary(ctx, began)
	done := r.Status == blackboard.Completed
	switch {
	case errors.Is(context.Cause(limited), errTimeout):
		err = fmt.Errorf("the goal is not complete: %w", errTimeout)
	case errors.Is(err, supervisor.ErrIdle) && o.until == "idle":
		err = nil
		done = true
	case err == nil && r.Status == blackboard.Completed && r.Unverified != "":
		err = &transition.Refusal{Exit: transition.ExitFailure, Next: "liza check", Message: "the goal is COMPLETED, " + r.Unverified + ": their checks were red before and after"}
	case err == nil && !done, errors.Is(err, supervisor.ErrAborted) && c.service.Control() == "":
		err = &transition.Refusal{Exit: 130, Next: "liza run", Message: "stopped before the goal was complete"}
	}
	text := r.String() + "\n" + builtText(r.Built, r.titles) + r.cost + openText(r.Open)
	if err != nil {
		if !o.env.JSON {
			fmt.Fprint(o.env.Stdout, text)
		}
		return err
	}
	if r.Status == blackboard.Completed {
		text += "next: liza goal \"TEXT\", for what comes after\n"
	}
	return o.env.Print(r, "%s", text)
}

// withLanding runs a team, and again while the forge makes work for it. A goal that is over was interrupted while it landed.
func (o *runOptions) withLanding(ctx, soft, hard context.Context, c *factory, l *teamLanding, over bool, given func(string) bool) error {
	if l == nil {
		return o.team(c, given).Run(soft, hard)
	}
	for ; ; over = false {
		if !over {
			l.begin(ctx)
			stop := l.beside(soft)
			err := o.team(c, given).Run(soft, hard)
			stop()
			if err != nil || soft.Err() != nil {
				return err
			}
		}
		s, err := c.service.View(ctx)
		if err != nil || s.Goal == nil || s.Goal.Status != blackboard.Completed {
			return err
		}
		if again, err := l.finish(soft); err != nil || !again {
			return err
		}
	}
}

// errTimeout is the cause with which --timeout ends a run.
var errTimeout = errors.New("the time given with --timeout is over")
