package cli

import (
	"context"
	"strings"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/face/dashboard"
	"liza/pkg/run/exitcmd"
)

type planOptions struct {
	env         *Env
	noSpecFiles bool
}

func newPlan(env *Env) *urfave.Command {
	o := &planOptions{env: env}
	return &urfave.Command{
		Name: "plan", Category: "agents", Usage: "apply a whole plan, or show one (planner, human)",
		Commands: []*urfave.Command{
			{
				Name: "apply", ArgsUsage: "FILE|-", Usage: "put a whole plan on the board, all or nothing",
				Description: "FILE is JSON or YAML: {goal, tasks: [{id, description, done_when, scope, spec_ref, depends_on …}], decisions}. All problems are named at once.\n" +
					"A person's plan that does not end with a notifying msg task gets one. The same plan again is exit 7." +
					examples("liza plan apply plan.yaml", "liza plan apply - < plan.json") + exitsText(0, 1, 2, 3, 4, 5, 6, 7),
				Flags:  []urfave.Flag{flag("no-spec-files", "do not look for spec files", &o.noSpecFiles)},
				Action: env.do(o.apply),
			},
			{
				Name: "show", ArgsUsage: "[ID]", Usage: "show the plan in force, or the one named",
				Description: "Goal, request, status, tasks with their statuses, and the plans before it. Changes nothing." +
					examples("liza plan show", "liza plan show plan-1 --json") + exitsText(0, 1, 2, 3, 4, 7),
				Action: env.do(o.show),
			},
		},
	}
}

func (o *planOptions) apply(ctx context.Context, args []string) error {
	data, err := o.env.readText(args[0])
	if err != nil {
		return err
	}
	p, err := exitcmd.ParsePlan(data)
	if err != nil {
		return err
	}
	d, err := o.env.System.Service(ctx)
	if err != nil {
		return err
	}
	d.Board.NoSpecFiles = d.Board.NoSpecFiles || o.noSpecFiles
	if len(p.Secrets) > 0 && d.Board.Caller.AgentID == "" {
		if err := d.Board.AdminOnly("give secrets"); err != nil {
			return err
		}
	}
	done, err := d.ApplyPlan(ctx, p)
	if err != nil {
		return err
	}
	if !o.env.JSON {
		o.env.Notices(done.Warnings)
	}
	line := "the decisions are carried out"
	if done.Plan != "" {
		line = done.Plan + " is on the board: " + strings.Join(done.Tasks, ", ")
	}
	return o.env.Print(done, "%s\n", line)
}

func (o *planOptions) show(ctx context.Context, args []string) error {
	s, stale, err := o.env.look(ctx)
	if err != nil {
		return err
	}
	id := ""
	if len(args) > 0 {
		id = args[0]
	}
	body := dashboard.PlanText(s, id)
	switch {
	case body == "" && id != "":
		return notThere(s, id)
	case body == "":
		return &transition.Refusal{Exit: transition.ExitNothing, Next: "liza plan apply FILE", Message: "there is no plan yet"}
	}
	return o.env.showStale(stale, planResult(s, id), body)
}

func planResult(s *blackboard.State, id string) map[string]any {
	if id == "" && s.Goal != nil {
		id = s.Goal.PlanID
	}
	result := map[string]any{"plan": dashboard.Plain(transition.Plan(s, id))}
	tasks := []any{}
	for t := range s.Tasks() {
		if t.Plan == id {
			tasks = append(tasks, map[string]any{"id": t.ID, "title": t.TitleText(), "status": t.Status})
		}
	}
	result["tasks"] = tasks
	return result
}
