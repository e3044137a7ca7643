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

	"liza/pkg/project"
	"liza/pkg/prose"
	"liza/pkg/upkeep"
	"liza/pkg/verb"
)

type restoreOptions struct {
	env  *Env
	list bool
	all  bool
}

// snapshotLine is one line of `liza restore --list`.
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
		Name: "restore", Category: "people", ArgsUsage: "[REV]", Usage: "list the snapshots of the state, or put one back",
		Description: "Puts the state of revision REV back as a new revision. What it replaces is a snapshot too; a file that is not a valid state is kept beside\n" +
			"them. Works when state.yaml is damaged or missing. Stop the team first (liza pause): agents lose what the old state does not have." +
			examples("liza restore --list", "liza restore 41") + exitsText(0, 1, 2, 3, 4, 5),
		Flags: []urfave.Flag{
			flag("list", "list some twenty snapshots, the newest first (also without REV)", &o.list),
			flag("all", "list every revision that can be put back", &o.all),
		},
		Action: env.do(env.slow("restoring", o.run)),
	}
}

func (o *restoreOptions) run(ctx context.Context, args []string) error {
	if o.list || o.all || len(args) == 0 {
		return o.show(ctx)
	}
	revision, err := strconv.Atoi(args[0])
	if err != nil || revision < 1 {
		return usagef("liza restore --list", "revision '%s' must be a number of 1 or more", args[0])
	}
	d, lost, err := o.service(ctx, false)
	if err == nil && lost {
		if _, err = upkeep.Content(ctx, d, revision); err == nil {
			err = d.Project.Revive()
		}
	}
	if err != nil {
		return err
	}
	done, err := upkeep.Restore(ctx, d, revision)
	if err != nil {
		return err
	}
	kept := ""
	if done.Kept != "" {
		if rel, err := filepath.Rel(o.env.Dir, done.Kept); err == nil && filepath.IsLocal(rel) {
			done.Kept = rel
		}
		kept = "; the text that was in the file is kept as " + done.Kept
	}
	return o.env.Print(done, "revision %d is back, as revision %d%s\n", done.From, done.Revision, kept)
}

// service opens the project, also one whose .liza was removed.
func (o *restoreOptions) service(ctx context.Context, tolerant bool) (d *verb.Service, lost bool, err error) {
	p, err := o.env.Find(ctx)
	if errors.Is(err, project.ErrNotInitialised) {
		if at, missing := project.At(cmp.Or(o.env.root(), o.env.Dir)); missing == nil && at.Lost() {
			p, lost, err = at, true, nil
		}
	}
	if err != nil {
		return nil, false, err
	}
	d, err = o.env.openAt(ctx, p, tolerant)
	return d, lost, err
}

func (o *restoreOptions) show(ctx context.Context) error {
	d, _, err := o.service(ctx, true)
	if err != nil {
		return err
	}
	list, err := upkeep.Snapshots(ctx, d, o.all)
	if err != nil {
		return err
	}
	lines := make([]snapshotLine, 0, len(list))
	var b strings.Builder
	for _, s := range list {
		line := snapshotLine{Revision: s.Revision, At: s.At}
		if line.Tasks, line.Problem, err = upkeep.Whole(ctx, d, s.Revision); err != nil {
			line.Problem = "it cannot be read"
		}
		line.Valid = line.Problem == ""
		lines = append(lines, line)
		fmt.Fprintf(&b, "%8d  %s  %s ago, %s, %s\n", s.Revision, s.At.Format(time.RFC3339), o.env.Now().Sub(s.At).Round(time.Second), prose.Count(line.Tasks, "task"), cmp.Or(line.Problem, "valid"))
	}
	if len(list) == 0 {
		b.WriteString("no snapshots yet\n")
	} else {
		b.WriteString("next: liza restore REV\n")
	}
	return o.env.Print(lines, "%s", b.String())
}
