package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/blackboard"
	"liza/pkg/config"
	"liza/pkg/prose"
	"liza/pkg/store"
	"liza/pkg/store/postgres"
	"liza/pkg/supervisor"
	"liza/pkg/upkeep"
)

type doctorOptions struct {
	env    *Env
	checks bool
	cli    string
}

func newDoctor(env *Env) *urfave.Command {
	o := &doctorOptions{env: env}
	return &urfave.Command{
		Name: "doctor", Category: "people", Usage: "look at everything that a team needs, and at what crashes left",
		Description: "git, the repository and who commits in it, the spec, the integration branch against its base, whether the checks are green where merges are checked, agent programs (also as a worktree has them) and\n" +
			"their versions, disk and file system, clock, locks, board and journal, snapshots, configuration;\n" +
			"the sandbox of agent programs: the level that this machine reaches, what it refuses when it is tried, and what your own settings of the\n" +
			"program name (keys, servers, hooks, MCP servers) that its runs do not get;\n" +
			"dead registrations, programs without a supervisor, stale claims, interrupted merges, worktrees without a task. Each with what the next\n" +
			"recovery does about it: every supervisor recovers by itself. Changes nothing. Exit code 1 when there is an error; warnings are allowed." +
			examples("liza doctor", "liza doctor --checks", "liza doctor --cli codex", "liza doctor --json") + exitsText(0, 1, 2),
		Flags: []urfave.Flag{
			&urfave.BoolFlag{Name: "checks", Usage: "run the checks of reviews and merges on the head of the integration branch to their end, where that has not been done; without it each is tried once, for 30 seconds in all", Destination: &o.checks},
			&urfave.StringFlag{Name: "cli", Usage: "agent program `NAME` to look at in the place of agents.default", DefaultText: "agents.default", Destination: &o.cli},
		},
		Action: env.do(env.slow("looking at the machine and the project", o.run)),
	}
}

// examined is the result of `liza doctor`.
type examined struct {
	Errors   int              `json:"errors"`
	Warnings int              `json:"warnings"`
	Findings []upkeep.Finding `json:"findings"`
}

func (o *doctorOptions) run(ctx context.Context, _ []string) error {
	if o.checks && o.env.inside != nil { // it runs commands
		return o.env.inside.forPeople("doctor --checks")
	}
	p, err := o.env.Find(ctx)
	if err != nil {
		return err
	}
	x := &upkeep.Doctor{Project: p, CLI: o.cli, Now: o.env.Now, Explain: sentence,
		Say: func(text string) { o.env.Log().Info(text) }, Try: o.env.inside == nil}
	o.env.openConfig(x)
	o.env.openBoard(ctx, x)
	if x.Service != nil {
		x.Programs = programs(x.Service.Config())
	}
	if err := x.Examine(ctx, o.checks); err != nil {
		return err
	}
	if x.Service != nil {
		o.env.examineWall(ctx, x)
	}
	return o.show(x.Found)
}

func (o *doctorOptions) show(found []upkeep.Finding) error {
	v := examined{Findings: found}
	var b strings.Builder
	for _, f := range found {
		switch f.Severity {
		case upkeep.SeverityError:
			v.Errors++
		case upkeep.SeverityWarning:
			v.Warnings++
		}
		fmt.Fprintf(&b, "%-8s%-13s %s: %s", f.Severity, f.Check, f.Subject, strings.Join(strings.Fields(f.Message), " "))
		if f.Evidence != "" {
			fmt.Fprintf(&b, " (%s)", prose.OneLine(f.Evidence, listWidth))
		}
		b.WriteString(nextText(f.Next) + "\n")
	}
	total := fmt.Sprintf("%s, %s", prose.Count(v.Errors, "error"), prose.Count(v.Warnings, "warning"))
	fmt.Fprintf(&b, "%s\n", total)
	if v.Errors == 0 {
		return o.env.Print(v, "%s", b.String())
	}
	next := found[slices.IndexFunc(found, func(f upkeep.Finding) bool { return f.Severity == upkeep.SeverityError })].Next
	if o.env.JSON {
		return o.env.failWith(report{code: 1, message: "the project is not well: " + total, next: cmp.Or(next, "liza status")}, v)
	}
	fmt.Fprint(o.env.Stdout, b.String())
	return &errDone{1}
}

// openConfig says what is wrong with the configuration. A file that cannot be used stops every
// command that writes; a reader takes the defaults.
func (e *Env) openConfig(x *upkeep.Doctor) {
	_, warnings, err := config.Load(x.Project.Liza, e.Environ)
	if err != nil {
		r := explain(err)
		x.Add("config", upkeep.SeverityError, "configuration", r.next, "", "%s; nothing can be changed until that is put right", r.message)
	}
	for _, w := range warnings {
		x.Add("config", upkeep.SeverityWarning, "configuration", "edit .liza/config.yaml", "", "%s", w)
	}
	if err == nil && len(warnings) == 0 {
		x.Add("config", upkeep.SeverityOK, "configuration", "", "", "valid")
	}
}

// openBoard opens the project as far as that goes, and finds the last valid state.
func (e *Env) openBoard(ctx context.Context, x *upkeep.Doctor) {
	quiet := *e
	quiet.Stderr = nowhere{} // warnings are findings here
	d, err := quiet.openAt(ctx, x.Project, true)
	if err != nil {
		r := explain(err)
		x.Add("state", upkeep.SeverityError, "state.yaml", r.next, "", "%s", r.message)
		return
	}
	x.Service = d
	if x.State, err = d.View(ctx); err == nil {
		examineShared(ctx, x)
		for _, h := range e.hiddenSettings(x.Project, d.Config(), x.State) {
			x.Add("config", upkeep.SeverityWarning, h.key, h.next, "", "%s", h.message)
		}
		return
	}
	r := explain(err)
	if _, away := errors.AsType[*postgres.UnreachableError](err); away {
		if at, err := addressOf(d); err == nil {
			r.next = "psql '" + at.URL + "' -c 'SELECT 1'"
		}
	}
	x.Add("state", upkeep.SeverityError, "state.yaml", r.next, "", "%s; nothing is written until it is put right", r.message)
	if kept, ok := d.Store.(store.Recoverer); ok {
		if last, lost := kept.LastValid(ctx); lost == nil {
			x.State = last
			x.Add("state", upkeep.SeverityInfo, "state.yaml", "liza restore --list", "", "what follows is about the last valid state, revision %d", last.Revision)
		}
	}
}

// examineShared looks whether a host of a board in a database works by the same settings, roles and instructions as those that
// joined with it.
func examineShared(ctx context.Context, x *upkeep.Doctor) {
	board, ok := x.Service.Store.(store.Shared)
	if !ok {
		return
	}
	var names []string
	news, err := board.Since(ctx, math.MaxInt64, 0)
	if err == nil {
		names, err = differing(x.Project.Liza, news.Files)
	}
	switch {
	case err != nil:
		r := explain(err)
		x.Add("store", upkeep.SeverityError, "board", r.next, "", "%s", r.message)
	case len(names) > 0:
		x.Add("store", upkeep.SeverityWarning, "board", "", "", "this host works by other texts than the board has: %s", strings.Join(names, ", "))
	default:
		x.Add("store", upkeep.SeverityOK, "board", "", "", "settings, roles and instructions are those of the board")
	}
}

// nowhere takes what nobody wants to read.
type nowhere struct{}

func (nowhere) Write(p []byte) (int, error) { return len(p), nil }

// preflight says at the start of a team what is wrong; nothing of it keeps the team from its work.
func (c *factory) preflight(ctx context.Context, s *blackboard.State, reviewers int) {
	x := &upkeep.Doctor{Project: c.service.Project, Service: c.service, State: s, Programs: programs(c.service.Config()), Reviewers: reviewers, CLI: c.cli, Now: c.env.Now, Explain: sentence, Try: true}
	found := x.Preflight(ctx)
	x.Found = nil
	c.env.examineSettings(ctx, x)
	for _, f := range append(found, x.Found...) {
		c.screen.line(supervisor.Line{Time: c.env.Now(), Agent: "preflight", Warning: true, Text: fmt.Sprintf("%s: %s%s", f.Check, prose.OneLine(f.Message, listWidth), nextText(f.Next))})
	}
}

// sentence is what is said about an error, and the command that helps.
func sentence(err error) (message, next string) {
	r := explain(err)
	return r.message, r.next
}
