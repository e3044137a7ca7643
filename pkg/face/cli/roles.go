package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
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
		Name: "roles", Category: "teach", Usage: "roles of agents: list, show, validate, compare, reset, resolve",
		Commands: []*urfave.Command{
			{
				Name: "list", Usage: "all roles, built-in and of the project",
				Description: "Name, kind, types of tasks, source, model, adapter (agent program) and state of each role. Files of .liza/roles/ replace or extend built-in roles.\n" +
					"Changes nothing." + examples("liza roles list", "liza roles list --json") + exitsText(0, 1, 2, 3),
				Action: env.do(o.list),
			},
			{
				Name: "show", ArgsUsage: "NAME", Usage: "one role with all that it inherits",
				Description: "The effective role as a role file; comments say where each value comes from. NAME may be an alias (Worker, reviewer …). Changes nothing." +
					examples("liza roles show fix", "liza roles show review --raw > .liza/roles/review.yaml") + exitsText(0, 1, 2, 3, 4),
				Flags:  []urfave.Flag{flag("raw", "the file as it is", &o.raw)},
				Action: env.do(o.show),
			},
			{
				Name: "validate", ArgsUsage: "[FILE…]", Usage: "what is wrong with role files",
				Description: "Looks at .liza/roles/, or at FILE… as if they were there: keys, bases, templates (rendered on sample data), context that the kind may not\n" +
					"have. Each finding has file, line, role and key; the last line is VALID or INVALID. Changes nothing." +
					examples("liza roles validate", "liza roles validate draft.yaml") + exitsText(0, 1, 2, 3),
				Action: env.do(o.validate),
			},
			{
				Name: "diff", ArgsUsage: "NAME", Usage: "what the project changed in a built-in role",
				Description: "A unified difference between the built-in role and the effective one. Exit 7 when the project has no file for it. Changes nothing." +
					examples("liza roles diff implement", "liza roles diff review | less") + exitsText(0, 1, 2, 3, 4, 7),
				Action: env.do(o.diff),
			},
			{
				Name: "reset", ArgsUsage: "NAME", Usage: "back to the built-in role",
				Description: "Moves the project's file to .liza/archive/roles/. Refused for a role that has no built-in one, and for a file with several roles." +
					examples("liza roles reset implement", "liza roles reset review --json") + exitsText(0, 1, 2, 3, 4, 7),
				Action: env.onService(o.reset),
			},
			{
				Name: "resolve", ArgsUsage: "TASK", Usage: "which role, model and program the next coder run on a task has",
				Description: "Role, rule that chose it (override, type, default), kind, source, model, adapter (agent program) and hash. Exit 4 when the role cannot be used. Changes nothing." +
					examples("liza roles resolve task-3", "liza roles resolve task-3 --json") + exitsText(0, 1, 2, 3, 4),
				Action: env.do(o.resolve),
			},
		},
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

// roleRow is one line of `liza roles list`.
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

func (o *rolesOptions) list(ctx context.Context, _ []string) error {
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

func (o *rolesOptions) validate(ctx context.Context, files []string) error {
	if len(files) > 0 {
		if err := o.env.ownFile(files[0]); err != nil {
			return err
		}
	}
	d, l, err := o.taskArchive(ctx)
	if err != nil && len(files) == 0 {
		return err
	}
	var findings []role.Diagnostic
	if len(files) > 0 {
		dir := ""
		if d != nil {
			dir = d.Board.Project.Roles()
		}
		l = role.LoadWith(dir, files)
	}
	findings = append(findings, l.Findings()...)
	if d != nil {
		findings = slices.Concat(findings, unknownPrograms(d, l), l.Contradictions(d.Board.Roles().Settings()))
	}
	return o.verdict(findings, files)
}

// unknownPrograms are the roles whose cli is not an agent program: they can be used with --cli only.
func unknownPrograms(d *verb.Service, l *role.Library) (list []role.Diagnostic) {
	known := isProgram(d)
	for _, e := range l.Entries() {
		if e.Role == nil || e.Role.CLI == "" || known(e.Role.CLI) {
			continue
		}
		at := e.Role.Origins["cli"]
		list = append(list, role.Diagnostic{Level: role.Warning, File: at.File, Line: at.Line, Role: e.Name, Key: "cli",
			Reason: fmt.Sprintf("there is no agent program %s: neither a built-in one, nor one of agents in .liza/config.yaml", e.Role.CLI)})
	}
	return list
}

func (o *rolesOptions) verdict(findings []role.Diagnostic, files []string) error {
	var b strings.Builder
	failed := false
	shown := []role.Diagnostic{}
	for _, f := range findings {
		if len(files) > 0 && !slices.Contains(files, f.File) {
			continue // what is elsewhere is not asked for
		}
		failed = failed || f.Level == role.Error
		shown = append(shown, f)
		fmt.Fprintf(&b, "%-7s %s\n", strings.ToUpper(string(f.Level)), f)
	}
	last := "VALID"
	if failed {
		last = "INVALID"
	}
	b.WriteString(last + "\n")
	result := map[string]any{"valid": !failed, "findings": shown}
	if !failed {
		return o.env.Print(result, "%s", b.String())
	}
	if o.env.JSON {
		return o.env.failWith(report{code: 3, message: "a role file has errors", next: "liza roles validate"}, result)
	}
	fmt.Fprint(o.env.System.Stdout, b.String())
	return &errDone{3}
}

func (o *rolesOptions) diff(ctx context.Context, args []string) error {
	_, l, err := o.taskArchive(ctx)
	if err != nil {
		return err
	}
	e, err := o.entry(l, args[0])
	switch {
	case err != nil:
		return err
	case e.File == "":
		return &transition.Refusal{Exit: transition.ExitNothing, Next: "liza roles show " + e.Name, Message: fmt.Sprintf("the project has no file for the role %s: it is the built-in one", e.Name)}
	case e.Role == nil:
		return board.RoleRefusal(nil, e.Broken)
	}
	diff, ok := l.Diff(e.Role)
	if !ok {
		return &transition.Refusal{Exit: transition.ExitRefused, Next: "liza roles show " + e.Name, Message: fmt.Sprintf("there is no built-in role %s to compare with", e.Name)}
	}
	return o.env.Print(map[string]any{"name": e.Name, "file": e.File, "diff": diff}, "%s", diff)
}

func (o *rolesOptions) reset(ctx context.Context, d *verb.Service, args []string) error {
	if err := d.Board.AdminOnly("reset roles"); err != nil {
		return err
	}
	l := d.Board.Roles().Library()
	e, err := o.entry(l, args[0])
	if err != nil {
		return err
	}
	if err := resettable(l, e); err != nil {
		return err
	}
	from := filepath.Join(d.Board.Project.Roles(), filepath.Base(e.File))
	to := filepath.Join(d.Board.Project.ArchiveDir(), "roles", fmt.Sprintf("%s.%s", filepath.Base(e.File), o.env.System.Now().UTC().Format("20060102T150405Z")))
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return fmt.Errorf("cannot make the archive of roles: %v", err)
	}
	if _, err := os.Lstat(to); !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("cannot move %s: %s is there already", e.File, to)
	}
	if err := os.Rename(from, to); err != nil {
		return fmt.Errorf("cannot move %s: %v", e.File, errText(err))
	}
	shown, err := filepath.Rel(d.Board.Project.Root, to)
	if err != nil {
		shown = to
	}
	now := "the built-in role again"
	if left, _ := d.Board.Roles().Library().Entry(e.Name); left != nil && left.File != "" {
		now = "that of " + left.File
	}
	return o.env.Print(map[string]any{"name": e.Name, "moved": e.File, "to": shown}, "%s is %s; %s is now %s\n", e.Name, now, e.File, shown)
}

// resettable says why a role cannot become the built-in one again.
func resettable(l *role.Library, e *role.Entry) error {
	refuse := func(exit transition.Exit, next, format string, args ...any) error {
		return &transition.Refusal{Exit: exit, Next: next, Message: fmt.Sprintf(format, args...)}
	}
	builtin, _ := role.Builtin().Entry(e.Name)
	switch {
	case e.File == "":
		return refuse(transition.ExitNothing, "liza roles show "+e.Name, "%s is the built-in role already", e.Name)
	case builtin == nil:
		return refuse(transition.ExitRefused, "rm "+e.File, "there is no built-in role %s", e.Name)
	}
	for _, other := range l.Defines(e.File) {
		if other != e.Name {
			return refuse(transition.ExitRefused, "edit "+e.File, "%s has the role %s too: take %s out of it by hand", e.File, other, e.Name)
		}
	}
	return nil
}

// resolvedRole is the result of `liza roles resolve`.
type resolvedRole struct {
	Task    string `json:"task"`
	Role    string `json:"role"`
	Rule    string `json:"rule"`
	Kind    string `json:"kind"`
	Source  string `json:"source"`
	File    string `json:"file,omitempty"`
	Model   string `json:"model"`
	Adapter string `json:"adapter"`
	Hash    string `json:"hash"`
}

func (o *rolesOptions) resolve(ctx context.Context, args []string) error {
	d, s, _, err := o.env.lookAt(ctx)
	if err != nil {
		return err
	}
	t := s.Task(args[0])
	if t == nil {
		return notThere(s, args[0])
	}
	kind := role.Coder
	switch t.KindOf() {
	case blackboard.MessageTask:
		kind = role.Messenger
	case blackboard.ExecTask, blackboard.SkillTask:
		return &transition.Refusal{Exit: transition.ExitRefused, Next: "liza show " + t.ID, Message: fmt.Sprintf("task %s is of kind %s: the supervisor runs it itself, without a role", t.ID, t.KindOf())}
	}
	used, err := d.Board.Roles().Of(kind, t)
	if err != nil {
		return err
	}
	r := resolvedRole{Task: t.ID, Role: used.Role.Name, Rule: used.Rule, Kind: string(kind), Source: used.Role.Source, File: used.Role.File, Hash: used.Role.Hash}
	r.Adapter, r.Model = d.Board.Roles().Library().Program(used.Role, t, d.Board.Roles().Settings(), "", "", isProgram(d))
	r.Model = cmp.Or(r.Model, role.Default)
	return o.env.Print(r, "role     %s\nrule     %s\nkind     %s\nsource   %s\nmodel    %s\nadapter  %s\nhash     %s\n",
		r.Role, r.Rule, r.Kind, strings.TrimSpace(r.Source+" "+r.File), r.Model, r.Adapter, r.Hash)
}
