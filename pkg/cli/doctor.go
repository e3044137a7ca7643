package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/blackboard"
	"liza/pkg/blackboard/audit"
	"liza/pkg/config"
	"liza/pkg/project"
	"liza/pkg/prose"
	"liza/pkg/store"
	"liza/pkg/upkeep"
	"liza/pkg/verb"
)

type doctorOptions struct {
	env    *Env
	checks bool
}

func newDoctor(env *Env) *urfave.Command {
	o := &doctorOptions{env: env}
	return &urfave.Command{
		Name: "doctor", Category: "people", Usage: "look at everything that a team needs, and at what crashes left",
		Description: "git, the repository and who commits in it, the spec, the integration branch against its base, what is known of the checks on it, agent programs (also as a worktree has them) and\n" +
			"their versions, disk and file system, clock, locks, board and journal, snapshots, configuration;\n" +
			"dead registrations, programs without a supervisor, stale claims, interrupted merges, worktrees without a task. Each with what the next\n" +
			"recovery does about it: every supervisor recovers by itself. Changes nothing. Exit code 1 when there is an error; warnings are allowed." +
			examples("liza doctor", "liza doctor --checks", "liza doctor --json") + exitsText(0, 1),
		Flags: []urfave.Flag{
			&urfave.BoolFlag{Name: "checks", Usage: "run the checks of reviews and merges on the head of the integration branch, where that has not been done", Destination: &o.checks},
		},
		Action: env.do(o.run),
	}
}

// examined is the result of `liza doctor`.
type examined struct {
	Errors   int              `json:"errors"`
	Warnings int              `json:"warnings"`
	Findings []upkeep.Finding `json:"findings"`
}

// A doctor is one examination.
type doctor struct {
	env   *Env
	desk  *verb.Desk
	state *blackboard.State // the last valid one; nil when there is none
	found []upkeep.Finding
}

func (o *doctorOptions) run(ctx context.Context, _ []string) error {
	p, err := o.env.Find(ctx)
	if err != nil {
		return err
	}
	x := &doctor{env: o.env}
	for _, look := range []func(context.Context, *project.Project){
		x.config, x.open, x.git, x.identity, x.spec, x.board, x.journal, x.locks, x.snapshots, x.disk, x.clock, x.control, x.programs, x.inWorktrees, x.processes, x.baseChecks(o.checks),
	} {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		look(ctx, p)
	}
	return o.show(x.found)
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

func (x *doctor) add(check, severity, subject, next, evidence, format string, args ...any) {
	x.found = append(x.found, upkeep.Finding{Check: check, Severity: severity, Subject: subject, Next: next, Evidence: evidence, Message: fmt.Sprintf(format, args...)})
}

// config says what is wrong with the configuration. A file that cannot be used stops every
// command that writes; a reader takes the defaults.
func (x *doctor) config(_ context.Context, p *project.Project) {
	_, warnings, err := config.Load(p.Liza, x.env.Environ)
	if err != nil {
		r := explain(err)
		x.add("config", upkeep.SeverityError, "configuration", r.next, "", "%s; nothing can be changed until that is put right", r.message)
	}
	for _, w := range warnings {
		x.add("config", upkeep.SeverityWarning, "configuration", "edit .liza/config.yaml", "", "%s", w)
	}
	if err == nil && len(warnings) == 0 {
		x.add("config", upkeep.SeverityOK, "configuration", "", "", "valid")
	}
}

// open opens the project as far as that goes, and finds the last valid state.
func (x *doctor) open(ctx context.Context, p *project.Project) {
	quiet := *x.env
	quiet.Stderr = nowhere{} // warnings are findings here
	d, err := quiet.openAt(ctx, p, true)
	if err != nil {
		r := explain(err)
		x.add("state", upkeep.SeverityError, "state.yaml", r.next, "", "%s", r.message)
		return
	}
	x.desk = d
	if x.state, err = d.View(ctx); err == nil {
		for _, h := range x.env.hiddenSettings(p, d.Config(), x.state) {
			x.add("config", upkeep.SeverityWarning, h.key, h.next, "", "%s", h.message)
		}
		return
	}
	r := explain(err)
	x.add("state", upkeep.SeverityError, "state.yaml", r.next, "", "%s; nothing is written until it is put right", r.message)
	if file, ok := d.Store.(*store.File); ok {
		if last, lost := file.LastValid(ctx); lost == nil {
			x.state = last
			x.add("state", upkeep.SeverityInfo, "state.yaml", "liza restore --list", "", "what follows is about the last valid state, revision %d", last.Revision)
		}
	}
}

// nowhere takes what nobody wants to read.
type nowhere struct{}

func (nowhere) Write(p []byte) (int, error) { return len(p), nil }

// board sums up what `liza validate` would say, and what crashes left.
func (x *doctor) board(ctx context.Context, p *project.Project) {
	if x.state == nil {
		return
	}
	if file, ok := x.desk.Store.(*store.File); ok {
		in := &place{name: ".liza/state.yaml", root: p.Root, store: file, project: p, repo: x.desk.Repo}
		i, err := file.Inspect(ctx)
		if err == nil {
			var facts audit.Facts
			if facts, err = x.env.validationFacts(ctx, in, i, false); err == nil {
				x.violations(in.result(i.Locate(audit.Validate(i.State, i.Previous, facts))))
			}
		}
		if err != nil && ctx.Err() == nil {
			if _, invalid := asError[*store.InvalidError](err); !invalid { // that was told
				x.add("state", upkeep.SeverityError, "state.yaml", "liza validate", "", "cannot validate: %v", err)
			}
		}
	}
	x.found = append(x.found, upkeep.Examine(ctx, x.desk, x.state)...)
}

func (x *doctor) violations(v validated) {
	say := func(severity string, n int, what string) {
		i := slices.IndexFunc(v.Violations, func(x blackboard.Violation) bool {
			return (x.Severity == blackboard.SeverityWarning) == (severity == upkeep.SeverityWarning)
		})
		first := strings.TrimSpace(violationLine(v.Violations[i]))
		x.add("state", severity, "state.yaml", "liza validate", first, "the board breaks %s", prose.Count(n, what))
	}
	if v.Errors > 0 {
		say(upkeep.SeverityError, v.Errors, "rule")
	}
	if v.Warnings > 0 {
		say(upkeep.SeverityWarning, v.Warnings, "recommendation")
	}
	if v.Errors+v.Warnings == 0 {
		x.add("state", upkeep.SeverityOK, "state.yaml", "", "", "revision %d is valid", x.state.Revision)
	}
}
