package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/base/prose"
	"liza/pkg/base/safefile"
	"liza/pkg/board/seal"
	"liza/pkg/board/transition"
	"liza/pkg/code/project"
	"liza/pkg/team/maintain"
	"liza/pkg/verb/sprint"
	"liza/pkg/verb/verb"
)

type restoreOptions struct {
	env *Env
	all bool
}

// snapshotLine is one line of `liza restore`.
type snapshotLine struct {
	Revision int       `json:"revision"`
	At       time.Time `json:"at"`
	Tasks    int       `json:"tasks"`
	Valid    bool      `json:"valid"`
	Problem  string    `json:"problem,omitempty"`
}

func newRestore(env *Env) *urfave.Command {
	o := &restoreOptions{env: env}
	return &urfave.Command{
		Name: "restore", Category: "repair", ArgsUsage: "[REV]", Usage: "list the snapshots of the state, or put one back",
		Description: "Without REV it lists snapshots, the newest first. Puts the state of revision REV back as a new revision. What it replaces is a snapshot too; a file that is not a valid state is kept beside\n" +
			"them. Works when state.yaml is damaged or missing. Stop the team first (liza pause): agents lose what the old state does not have." +
			examples("liza restore", "liza restore 41") + exitsText(0, 1, 2, 3, 4, 5),
		Flags: []urfave.Flag{
			flag("all", "list every revision that can be put back, not some twenty", &o.all),
		},
		Action: env.do(env.slow("restoring", o.run)),
	}
}

func (o *restoreOptions) run(ctx context.Context, args []string) error {
	if o.all || len(args) == 0 {
		return o.show(ctx)
	}
	revision, err := strconv.Atoi(args[0])
	if err != nil || revision < 1 {
		return usagef("liza restore", "revision '%s' must be a number of 1 or more", args[0])
	}
	d, lost, err := o.service(ctx, false)
	if err == nil && lost {
		if _, err = maintain.Content(ctx, d, revision); err == nil {
			err = d.Board.Project.Revive()
		}
	}
	if err != nil {
		return err
	}
	done, err := maintain.Restore(ctx, d, revision)
	if err != nil {
		return err
	}
	kept := ""
	if done.Kept != "" {
		if rel, err := filepath.Rel(o.env.System.Dir, done.Kept); err == nil && filepath.IsLocal(rel) {
			done.Kept = rel
		}
		kept = "; the text that was in the file is kept as " + done.Kept
	}
	return o.env.Print(done, "revision %d is back, as revision %d%s\n", done.From, done.Revision, kept)
}

// service opens the project, also one whose .liza was removed.
func (o *restoreOptions) service(ctx context.Context, tolerant bool) (d *verb.Service, lost bool, err error) {
	p, err := o.env.System.Find(ctx)
	if errors.Is(err, project.ErrNotInitialised) {
		if at, missing := project.At(cmp.Or(o.env.System.Named(), o.env.System.Dir)); missing == nil && at.Lost() {
			p, lost, err = at, true, nil
		}
	}
	if err != nil {
		return nil, false, err
	}
	d, err = o.env.System.OpenAt(ctx, p, tolerant)
	return d, lost, err
}

func (o *restoreOptions) show(ctx context.Context) error {
	d, _, err := o.service(ctx, true)
	if err != nil {
		return err
	}
	list, err := maintain.Snapshots(ctx, d, o.all)
	if err != nil {
		return err
	}
	lines := make([]snapshotLine, 0, len(list))
	var b strings.Builder
	for _, s := range list {
		line := snapshotLine{Revision: s.Revision, At: s.At}
		if line.Tasks, line.Problem, err = maintain.Whole(ctx, d, s.Revision); err != nil {
			line.Problem = "it cannot be read"
		}
		line.Valid = line.Problem == ""
		lines = append(lines, line)
		fmt.Fprintf(&b, "%8d  %s  %s ago, %s, %s\n", s.Revision, s.At.Format(time.RFC3339), o.env.System.Now().Sub(s.At).Round(time.Second), prose.Count(line.Tasks, "task"), cmp.Or(line.Problem, "valid"))
	}
	if len(list) == 0 {
		b.WriteString("no snapshots yet\n")
	} else {
		b.WriteString("next: liza restore REV\n")
	}
	return o.env.Print(lines, "%s", b.String())
}

func newGC(env *Env) *urfave.Command {
	var (
		dryRun, attic bool
		older         string
	)
	return &urfave.Command{
		Name: "gc", Category: "repair", Usage: "remove what is left over, if nothing is lost",
		Description: "Removes worktrees, branches and merge candidates of tasks that ended or that no board has, when all that they hold is merged or saved under\n" +
			"refs/liza/attic; prompts and outputs from before the last sprint; old histories (history.retention_days); temporary files. Everything else\n" +
			"is kept, and listed with the reason. Tasks that ended long ago and that no open one needs go to .liza/archive, byte for byte: they count as what they were,\n" +
			"and `liza show`, `liza log` and `liza report` have them. Saved work itself is removed with --attic alone, of tasks that ended, and only when it is old enough." +
			examples("liza gc --dry-run", "liza gc --older 0s", "liza gc --attic --older 30d") + exitsText(0, 1, 2, 3, 4, 5),
		Flags: []urfave.Flag{
			flag("dry-run", "only say what would be removed, and what kept", &dryRun),
			flag("attic", "remove saved work of tasks that ended as well; needs --older", &attic),
			&urfave.StringFlag{Name: "older", Usage: "`AGE` of tasks to archive since they ended, and with --attic of saved work, such as 12h or 30d", DefaultText: "7d for tasks", Destination: &older},
		},
		Action: env.do(env.slow("looking for what can be removed", func(ctx context.Context, _ []string) error {
			in := maintain.CollectInput{DryRun: dryRun, Attic: attic}
			if attic && older == "" {
				return usagef("liza gc --attic --older 30d", "--attic needs --older: saved work is removed only when it is old enough")
			}
			age, ok := ageText(cmp.Or(older, "7d"))
			if !ok {
				return usagef("liza help gc", "--older '%s' must be an age such as 90m, 12h or 30d", older)
			}
			in.Older = age
			d, err := env.System.Service(ctx)
			if err != nil {
				return err
			}
			done, err := maintain.CollectGarbage(ctx, d, in)
			if err != nil {
				return err
			}
			if done.Archived, err = archive(ctx, d, in); err != nil {
				return err
			}
			return env.Print(done, "%s", collectedText(done))
		})),
	}
}

// archive moves tasks that ended long ago off the board.
func archive(ctx context.Context, d *verb.Service, in maintain.CollectInput) ([]string, error) {
	if in.DryRun {
		s, err := d.Board.View(ctx)
		if err != nil {
			return nil, err
		}
		return transition.Archivable(s, d.Board.Now().Add(-in.Older)), nil
	}
	done, err := sprint.Archive(ctx, d, in.Older)
	if refused, ok := errors.AsType[*transition.Refusal](err); ok && refused.Exit == transition.ExitNothing {
		err = nil
	}
	return done.Tasks, err
}

func collectedText(c maintain.Collected) string {
	word := "removed"
	if c.DryRun {
		word = "would remove"
	}
	var b strings.Builder
	for _, g := range c.Removed {
		fmt.Fprintf(&b, "%-12s %-9s %s: %s\n", word, g.Kind, g.Name, g.Why)
	}
	for _, g := range c.Kept {
		fmt.Fprintf(&b, "%-12s %-9s %s: %s%s\n", "kept", g.Kind, g.Name, prose.OneLine(g.Why, listWidth), nextText(g.Next))
	}
	if len(c.Archived) > 0 {
		verb := "archived"
		if c.DryRun {
			verb = "would archive"
		}
		fmt.Fprintf(&b, "%s %s\n", verb, strings.Join(c.Archived, ", "))
	}
	fmt.Fprintf(&b, "%s %d, kept %d\n", word, len(c.Removed), len(c.Kept))
	return b.String()
}

func nextText(command string) string {
	if command == "" {
		return ""
	}
	return "; next: " + command
}

// exportKey writes the key of approvals for another machine that becomes a host of the board.
func (e *Env) exportKey(ctx context.Context, d *verb.Service, file string) error {
	if err := d.Board.PersonOnly(ctx, "export the key of approvals"); err != nil {
		return err
	}
	k, err := (seal.Ring{Folder: e.System.Keys(), GitDir: d.Board.Project.GitDir}).Key()
	if err != nil {
		return err
	}
	if k == nil {
		return &transition.Refusal{Exit: transition.ExitRefused, Next: "liza status", Message: "this project has no key of approvals here"}
	}
	if file == "-" {
		_, err := fmt.Fprintln(e.System.Stdout, k.Secret())
		return err
	}
	return safefile.Replace(e.path(file), []byte(k.Secret()+"\n"), 0o600)
}
