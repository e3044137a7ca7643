package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/base/prose"
	"liza/pkg/team/findings"
	"liza/pkg/team/maintain"
	"liza/pkg/verb/checks"
	"liza/pkg/verb/verb"
)

type checkOptions struct{ env *Env }

func newCheck(env *Env) *urfave.Command {
	o := &checkOptions{env: env}
	return &urfave.Command{
		Name: "check", Category: "start", ArgsUsage: "[TASK]", Usage: "run the checks where and how merges are checked",
		Description: "Runs the commands of reviews and merges, the same way and in the same place: in a throw-away worktree below .worktrees, contained, after worktree.setup, with the caches of\n" +
			"merges. With TASK on the work of that task merged with the integration branch, else on the branch as it is; what that gives is remembered, and replaces what was known.\n" +
			"Says what your checkout has that the worktree has not: that is why a check can be red there and green in your checkout. No branch moves. Exit code 1 when a check is red or cannot run." +
			examples("liza check", "liza check task-3", "liza check --json") + exitsText(0, 1, 2, 3, 4, 5),
		Action: env.onService(func(ctx context.Context, d *verb.Service, args []string) error {
			defer env.progress("checking")()
			return o.run(ctx, d, strings.Join(args, ""))
		}),
	}
}

func (o *checkOptions) run(ctx context.Context, d *verb.Service, task string) error {
	s, err := d.Board.View(ctx)
	if err != nil {
		return err
	}
	done, err := d.Checks.CheckNow(ctx, s, task)
	if err != nil {
		return err
	}
	what := "integration branch " + s.IntegrationBranch()
	if task != "" {
		what = task + " merged with " + s.IntegrationBranch()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s at %.9s, checked out in a folder of its own below %s\n", what, done.Commit, filepath.Dir(d.Board.Rel(d.Board.Project.Worktree("x"))))
	if len(done.Ends) == 0 {
		b.WriteString("no command of a check is configured, and none was detected; next: edit review.checks in .liza/config.yaml\n")
	}
	red, unable, next := 0, 0, ""
	for _, c := range done.Ends {
		fmt.Fprintf(&b, "%-17s %q: %s\n", c.Check, c.Command, c.Text())
		switch {
		case !c.End.Ran():
			unable++
			next = cmp.Or(next, c.End.Next)
		case c.End.Failed:
			red++
		default:
			continue
		}
		for line := range strings.Lines(c.Tail) {
			b.WriteString("    " + line)
		}
		if _, err := os.Lstat(c.End.Log); err == nil { // what could not be started has none
			fmt.Fprintf(&b, "\n    log: %s\n", d.Board.Rel(c.End.Log))
		}
	}
	if red+unable == 0 {
		return o.env.Print(done, "%s", b.String())
	}
	if next == "" {
		next = "liza sandbox exec --here -- bash"
		if task != "" {
			next = "liza sandbox exec --here --task " + task + " -- bash"
		}
	}
	if len(done.Lacks) > 0 {
		b.WriteString("Your checkout has, and the worktree has not:\n")
		for _, l := range done.Lacks {
			b.WriteString("    " + l + "\n")
		}
	}
	r := report{code: 1, message: fmt.Sprintf("%d of %d checks are red", red, len(done.Ends)), next: next}
	switch {
	case red == 0:
		r.message = fmt.Sprintf("%d of %d checks cannot run", unable, len(done.Ends))
	case unable > 0:
		r.message += fmt.Sprintf(", %d cannot run", unable)
	}
	if o.env.JSON {
		return o.env.failWith(r, done)
	}
	fmt.Fprintf(o.env.System.Stdout, "%s%s%s\n", b.String(), r.message, nextText(r.next))
	return &errDone{1}
}

// why is the last line that a red check printed, and the command that shows all of it.
func why(r *checks.BaseResult) string {
	if !r.End.Failed && r.End.Ran() {
		return ""
	}
	text := ""
	if last := prose.LastLine(r.Tail); last != "" {
		text = " (" + prose.OneLine(last, 200) + ")"
	}
	return text + "; next: " + cmp.Or(r.End.Next, "liza check")
}

// tryProject tries the checks of a new project once, and says a line of each, and how Liza's commits differ from the person's.
func (e *Env) tryProject(ctx context.Context, root string) (lines []string, differ []findings.Finding) {
	from := *e
	from.System.Dir, from.System.Root = root, ""
	d, err := from.System.Service(ctx)
	defer func() { e.System.CloseAfter(&from.System) }()
	if err != nil {
		e.System.Log().Warn("cannot try the checks: "+err.Error(), "next", "liza check")
		return nil, nil
	}
	s, err := d.Board.View(ctx)
	if err == nil {
		var list []checks.BaseCheck
		list, _, err = d.Checks.TryChecks(ctx, s)
		for _, c := range list {
			switch {
			case c.Cut:
				lines = append(lines, fmt.Sprintf("%q did not end within %s; next: liza check", c.Command, checks.TryTime))
			case c.Late:
				lines = append(lines, fmt.Sprintf("%q was not begun within %s; next: liza check", c.Command, checks.TryTime))
			case c.Result != nil:
				lines = append(lines, fmt.Sprintf("%q: %s", c.Command, checks.CheckEnd{End: c.Result.End}.Text())+why(c.Result))
			}
		}
	}
	if err != nil && ctx.Err() == nil {
		e.System.Log().Warn("cannot try the checks: "+err.Error(), "next", "liza check")
	}
	if differ, err = maintain.Unlike(ctx, d.Board.Repo, d.Board.Config().Git.Sign); err == nil {
		if kept, err := verb.SettingsKept(ctx, d.Board.Project, d.Board.Repo); err == nil && !kept {
			differ = append(differ, findings.Finding{Check: "settings", Text: ".liza/config.yaml is not committed: git clean -fdx would take it away", Next: verb.KeepSettings})
		}
	}
	return slices.Compact(lines), differ
}
