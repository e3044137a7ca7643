package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/board/blackboard"
	"liza/pkg/face/dashboard"
	"liza/pkg/verb/integration"
	"liza/pkg/verb/verb"
)

type statusOptions struct {
	env  *Env
	view string
}

func newStatus(env *Env) *urfave.Command {
	o := &statusOptions{env: env}
	return &urfave.Command{
		Name: "status", Category: "look", Usage: "show the board on one screen",
		Description: "Goal, sprint, counts, tasks, agents, what waits for a person, and whose work would conflict if it were merged now. Changes nothing. When state.yaml is damaged or forged, the last valid state is\n" +
			"shown and the exit code is 3." +
			examples("liza status", "liza status --view kiso --json") + exitsText(0, 1, 2, 3),
		Flags:  []urfave.Flag{viewFlag(&o.view)},
		Action: env.do(o.run),
	}
}

func viewFlag(to *string) urfave.Flag {
	return &urfave.StringFlag{Name: "view", Value: "liza", Usage: "`NAMES` to use: " + strings.Join(dashboard.Views, ", "), Destination: to}
}

func checkView(view string) error {
	if !slices.Contains(dashboard.Views, view) {
		return usagef("liza help status", "--view '%s' must be one of %s", view, strings.Join(dashboard.Views, ", "))
	}
	return nil
}

func (o *statusOptions) run(ctx context.Context, _ []string) error {
	env := o.env
	if err := checkView(o.view); err != nil {
		return err
	}
	d, s, stale, err := env.lookAt(ctx)
	if err != nil {
		return err
	}
	facts := viewFacts(d, s, o.view)
	for _, c := range radar(ctx, d, s, "") {
		facts.Warnings = append(facts.Warnings, c.String())
	}
	facts.GaveUp = gaveUp(d)
	facts.Doing = sourceOf(d, o.view).DoingOn(s)
	branchFacts(ctx, d, s, &facts)
	if stale != nil {
		if r := explain(stale); r.code != unreachable {
			facts.Wrong = []string{r.message}
		}
	}
	v := dashboard.Build(s, facts)
	text := dashboard.Text(v, env.terminal().width(), env.terminal().colour())
	if stale == nil && len(v.Wrong) > 0 {
		r := report{code: 3, message: "the board is invalid: " + strings.Join(v.Wrong, "; "), next: "liza validate"}
		if env.JSON {
			return env.failWith(r, v)
		}
		fmt.Fprint(env.System.Stdout, text)
		env.tell(r)
		return &errDone{r.code}
	}
	return env.showStale(stale, v, text)
}

// radarTime is how long a command that shows something looks for conflicts.
const radarTime = 200 * time.Millisecond

func radar(ctx context.Context, d *verb.Service, s *blackboard.State, id string) []integration.Clash {
	ctx, cancel := context.WithTimeout(ctx, radarTime)
	defer cancel()
	return d.Integration.Radar(ctx, s, id)
}

// branchFacts gives the state of the integration branch; what cannot be found out is left out.
func branchFacts(ctx context.Context, d *verb.Service, s *blackboard.State, f *dashboard.Facts) {
	if d.Board.Repo == nil {
		return
	}
	tip, err := integration.IntegrationTip(ctx, d.Board.Repo, s, d.Board.Remote(), d.Board.Store.View)
	if err != nil {
		return
	}
	f.Tip = &tip
	if lag, err := d.Integration.Behind(ctx, s); err == nil && lag.Behind > 0 {
		f.Warnings = append(f.Warnings, lag.String()+"; liza sync merges them")
	}
}

func newGraph(env *Env) *urfave.Command {
	var format string
	return &urfave.Command{
		Name: "graph", Category: "look", Usage: "draw the task graph",
		Description: "Tasks with their dependencies and statuses. Changes nothing." +
			examples("liza graph", "liza graph --format mermaid > graph.mmd") + exitsText(0, 1, 2, 3),
		Flags: []urfave.Flag{
			&urfave.StringFlag{Name: "format", Value: "text", Usage: "`F`: " + strings.Join(dashboard.GraphFormats, ", "), Destination: &format},
		},
		Action: env.do(func(ctx context.Context, _ []string) error {
			if !slices.Contains(dashboard.GraphFormats, format) {
				return usagef("liza help graph", "--format '%s' must be one of %s", format, strings.Join(dashboard.GraphFormats, ", "))
			}
			s, stale, err := env.look(ctx)
			if err != nil {
				return err
			}
			drawn := dashboard.Graph(s, format)
			if !strings.HasSuffix(drawn, "\n") {
				drawn = fmt.Sprintln(drawn)
			}
			return env.showStale(stale, map[string]string{"format": format, "graph": drawn}, drawn)
		}),
	}
}
