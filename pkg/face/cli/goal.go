package cli

import (
	"context"
	"fmt"
	"strings"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/base/prose"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/face/dashboard"
	"liza/pkg/run/exitcmd"
	"liza/pkg/verb/sprint"
)

type goalOptions struct {
	env  *Env
	list bool
	in   sprint.GoalInput
}

func newGoal(env *Env) *urfave.Command {
	o := &goalOptions{env: env}
	return &urfave.Command{
		Name: "goal", Category: "start", ArgsUsage: "[TEXT]", Usage: "show the goal, or make the next one",
		Description: "Without TEXT it shows the present goal and changes nothing. With TEXT it makes the next goal: the present one goes into .liza/archive with its\n" +
			"tasks and stays visible (--list, `liza show`, `liza log`, `liza report --sprint`); facts, discoveries and notes stay; a new sprint begins, whose figures\n" +
			"and costs begin at zero, and `liza run` plans it. It is refused while tasks of the present goal are open, unless --abandon-open gives them up." +
			examples("liza goal 'A greeting in French' --spec specs/french.md", "liza goal --list --json") + exitsText(0, 1, 2, 3, 4, 5),
		Flags: []urfave.Flag{
			text("spec", "`FILE` that says what is to be built; without it that of the present goal", &o.in.Spec),
			flag("abandon-open", "give up the open tasks of the present goal; their work is saved", &o.in.AbandonOpen),
			text("reason", "`T` why they are given up", &o.in.Reason),
			flag("list", "list all goals, the oldest first", &o.list),
		},
		Action: env.do(o.run),
	}
}

func (o *goalOptions) run(ctx context.Context, args []string) error {
	if len(args) == 0 && (o.in.Spec != "" || o.in.AbandonOpen || o.in.Reason != "") {
		return usagef("liza help goal", "--spec, --abandon-open and --reason are for the next goal: give its text")
	}
	if o.list && len(args) > 0 {
		return usagef("liza goal --list", "--list takes no text")
	}
	if len(args) == 0 {
		return o.show(ctx)
	}
	d, err := o.env.System.Service(ctx)
	if err != nil {
		return err
	}
	o.in.Text = args[0]
	done, err := sprint.NextGoal(ctx, d, o.in)
	if err != nil {
		return err
	}
	var b strings.Builder
	if len(done.Abandoned) > 0 {
		fmt.Fprintf(&b, "abandoned: %s\n", strings.Join(done.Abandoned, ", "))
	}
	fmt.Fprintf(&b, "%s begins with %s; %s (%s) and %s are in %s\n", done.Goal, done.Sprint, done.Before, done.Status, prose.Count(len(done.Archived), "task"), done.File)
	next := "liza run"
	if len(done.Warnings) > 0 {
		fmt.Fprintf(&b, "warning: %s\n", strings.Join(done.Warnings, "; "))
		next = "liza sync, then liza run"
	}
	fmt.Fprintf(&b, "next: %s\n", next)
	return o.env.Print(done, "%s", b.String())
}

func (o *goalOptions) show(ctx context.Context) error {
	d, err := o.env.System.Reader(ctx)
	if err != nil {
		return err
	}
	goals, err := sprint.Goals(ctx, d)
	if err != nil {
		return err
	}
	var b strings.Builder
	if o.list {
		for _, g := range goals {
			fmt.Fprintf(&b, "%-17s %-12s %-9s %-10s %s\n", g.ID, g.Status, prose.Count(g.Tasks, "task"), strings.Join(g.Sprints, ","), headline(g.Description))
		}
		return o.env.Print(map[string]any{"goals": goals}, "%s", b.String())
	}
	if len(goals) == 0 || !goals[len(goals)-1].Present {
		return &transition.Refusal{Exit: transition.ExitInvalid, Next: "liza validate", Message: "the state has no goal"}
	}
	g := goals[len(goals)-1]
	fmt.Fprintf(&b, "%s  %s\n%s\nspec %s, %s, %s\n", g.ID, g.Status, g.Description, g.SpecRef, prose.Count(g.Tasks, "task"), strings.Join(g.Sprints, ", "))
	if g.Status != blackboard.InProgress {
		b.WriteString("next: liza goal \"TEXT\"\n")
	}
	return o.env.Print(g, "%s", b.String())
}

// headline is the first line of a text.
func headline(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}

type planOptions struct{ env *Env }

func newPlan(env *Env) *urfave.Command {
	o := &planOptions{env: env}
	return &urfave.Command{
		Name: "plan", Category: "agents", Usage: "apply a whole plan (planner, human)",
		Description: "A plan is a file, or standard input." + examples("liza plan apply plan.yaml", "liza plan apply - < plan.json") + exitsText(0, 1, 2, 3, 4, 5, 6, 7),
		Commands: []*urfave.Command{
			{
				Name: "apply", ArgsUsage: "FILE|-", Usage: "put a whole plan on the board, all or nothing",
				Description: "FILE is JSON or YAML: {goal, tasks: [{id, description, done_when, scope, spec_ref, depends_on …}], decisions}. All problems are named at once.\n" +
					"A person's plan that does not end with a notifying msg task gets one. The same plan again is exit 7." +
					examples("liza plan apply plan.yaml", "liza plan apply - < plan.json") + exitsText(0, 1, 2, 3, 4, 5, 6, 7),
				Action: env.do(o.apply),
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
	if done.Said {
		line = "the plan is recorded: it counts when this run has ended by itself and its answer agrees; end the run now"
	}
	if done.Plan != "" {
		line = done.Plan + " is on the board: " + strings.Join(done.Tasks, ", ")
	}
	return o.env.Print(done, "%s\n", line)
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
