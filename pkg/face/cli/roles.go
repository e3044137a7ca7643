package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/run/role"
	"liza/pkg/verb/board"
	"liza/pkg/verb/verb"
)

type rolesOptions struct {
	env *Env
	raw bool
}

func newRoles(env *Env) *urfave.Command {
	o := &rolesOptions{env: env}
	return &urfave.Command{
		Name: "roles", Category: "teach", ArgsUsage: "[NAME]", Usage: "list the roles of agents, or show one",
		Description: "Without NAME: name, kind, types of tasks, source, model, adapter (agent program) and state of each role. With NAME: that role with all that it\n" +
			"inherits, as a role file; comments say where each value comes from. NAME may be an alias (Worker, reviewer …). Files of .liza/roles/ replace or\n" +
			"extend built-in roles; `liza doctor` says what is wrong with them. Changes nothing." +
			examples("liza roles", "liza roles review --raw > .liza/roles/review.yaml") + exitsText(0, 1, 2, 3, 4),
		Flags: []urfave.Flag{flag("raw", "the file of the role as it is", &o.raw)},
		Action: env.do(func(ctx context.Context, args []string) error {
			if len(args) > 0 {
				return o.show(ctx, args)
			}
			if o.raw {
				return usagef("liza roles", "--raw needs the NAME of a role")
			}
			return o.list(ctx)
		}),
	}
}

// taskArchive reads the roles of the project.
func (o *rolesOptions) taskArchive(ctx context.Context) (*verb.Service, *role.Library, error) {
	d, err := o.env.System.Reader(ctx)
	if err != nil {
		return nil, nil, err
	}
	return d, d.Board.Roles().Library(), nil
}

// roleRow is one line of `liza roles`.
type roleRow struct {
	Name    string   `json:"name"`
	Kind    string   `json:"kind,omitempty"`
	Types   []string `json:"types"`
	Source  string   `json:"source"`
	File    string   `json:"file,omitempty"`
	Model   string   `json:"model,omitempty"`
	Adapter string   `json:"adapter,omitempty"`
	Hash    string   `json:"hash,omitempty"`
	State   string   `json:"state"` // ok, or "unusable: why"
}

func (o *rolesOptions) list(ctx context.Context) error {
	d, l, err := o.taskArchive(ctx)
	if err != nil {
		return err
	}
	rows := []roleRow{}
	for _, e := range l.Entries() {
		r := roleRow{Name: e.Name, Source: e.Source, File: e.File, Types: []string{}, State: "ok"}
		if e.Role == nil {
			r.State = "unusable: " + e.Broken.Why
		} else {
			r.Kind, r.Types, r.Hash = string(e.Role.Kind), list(e.Role.Types), e.Role.Hash
			r.Adapter, r.Model = l.Program(e.Role, nil, d.Board.Roles().Settings(), "", "", isProgram(d))
			r.Model = cmp.Or(r.Model, role.Default)
		}
		rows = append(rows, r)
	}
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tKIND\tTYPES\tSOURCE\tMODEL\tADAPTER\tSTATE")
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.Name, cmp.Or(r.Kind, "-"), cmp.Or(strings.Join(r.Types, ","), "-"), r.Source, cmp.Or(r.Model, "-"), cmp.Or(r.Adapter, "-"), r.State)
	}
	w.Flush()
	return o.env.Print(rows, "%s", b.String())
}

func isProgram(d *verb.Service) func(string) bool {
	find := adapters(d)
	return func(name string) bool {
		_, err := find(name)
		return err == nil
	}
}

// entry finds a role by name, alias, or name without regard to case.
func (o *rolesOptions) entry(l *role.Library, name string) (*role.Entry, error) {
	if e, ok := l.Entry(name); ok {
		return e, nil
	}
	_, err := l.Get(name)
	return nil, board.RoleRefusal(nil, err)
}

func (o *rolesOptions) show(ctx context.Context, args []string) error {
	_, l, err := o.taskArchive(ctx)
	if err != nil {
		return err
	}
	e, err := o.entry(l, args[0])
	if err != nil {
		return err
	}
	if o.raw {
		return o.env.Print(map[string]any{"name": e.Name, "file": e.File, "raw": string(l.Raw(e))}, "%s", l.Raw(e))
	}
	if e.Role == nil {
		return board.RoleRefusal(nil, e.Broken)
	}
	origins := map[string]string{}
	for key, from := range e.Role.Origins {
		origins[key] = from.String()
	}
	result := map[string]any{"name": e.Name, "source": e.Source, "file": e.File, "hash": e.Role.Hash, "kind": e.Role.Kind, "origins": origins, "yaml": e.Role.YAML(false)}
	return o.env.Print(result, "# %s, hash %s\n%s", e.Source, e.Role.Hash, e.Role.YAML(true))
}
