package cli

import (
	"context"
	"fmt"
	"strings"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/base/prose"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/verb/sprint"
	"liza/pkg/verb/verb"
)

type goalOptions struct {
	env  *Env
	list bool
	in   sprint.GoalInput
}

func newGoal(env *Env) *urfave.Command {
	o := &goalOptions{env: env}
	return &urfave.Command{
		Name: "goal", Category: "people", ArgsUsage: "[TEXT]", Usage: "show the goal, or make the next one",
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
	d, err := o.env.Service(ctx)
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
	d, err := o.env.Reader(ctx)
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

type sprintOptions struct {
	env     *Env
	planned string
}

func newSprint(env *Env) *urfave.Command {
	o := &sprintOptions{env: env}
	return &urfave.Command{
		Name: "sprint", Category: "people", Usage: "start the next sprint",
		Description: "A sprint ends by itself when every task is terminal, or by `liza abort`." + examples("liza sprint next", "liza report") + exitsText(0, 1, 2, 3, 4, 5),
		Commands: []*urfave.Command{{
			Name: "next", Usage: "close the sprint that has ended and start the next one",
			Description: "Needs a sprint that is COMPLETED or ABORTED, and that nobody works. Its terminal tasks, its figures and decisions go to .liza/archive; open\n" +
				"tasks go on in the next sprint, and so do facts, discoveries and notes. Figures and costs begin at zero. A COMPLETED goal opens again." +
				examples("liza sprint next", "liza sprint next --planned task-4,task-7") + exitsText(0, 1, 2, 3, 4, 5),
			Flags:  []urfave.Flag{text("planned", "`IDS` of open tasks that are the plan; the other open ones are stretch", &o.planned)},
			Action: env.onService(o.next),
		}},
	}
}

func (o *sprintOptions) next(ctx context.Context, d *verb.Service, _ []string) error {
	done, err := sprint.Next(ctx, d, commaList(o.planned))
	if err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s starts; %s and %s are in %s\n", done.Sprint, done.Before, prose.Count(len(done.Archived), "task"), done.File)
	if n := len(done.Planned) + len(done.Stretch); n > 0 {
		fmt.Fprintf(&b, "on go %s: planned %s", prose.Count(n, "open task"), orNone(done.Planned))
		if len(done.Stretch) > 0 {
			fmt.Fprintf(&b, "; stretch %s", strings.Join(done.Stretch, ", "))
		}
		b.WriteString("\n")
	}
	if s, err := d.View(ctx); err == nil {
		if lag, err := d.Behind(ctx, s); err == nil && lag.Behind > 0 {
			fmt.Fprintf(&b, "%s; liza sync merges them\n", lag)
		}
	}
	b.WriteString("next: liza run\n")
	return o.env.Print(done, "%s", b.String())
}

func orNone(ids []string) string {
	if len(ids) == 0 {
		return "none"
	}
	return strings.Join(ids, ", ")
}
