package cli

import (
	"context"
	"fmt"
	"strings"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/role"
	"liza/pkg/simulate"
)

type poststepOptions struct {
	env           *Env
	as            string
	file, text    *string
	empty, dryRun bool
}

// given is the value of an option that may be given with an empty text.
type given struct{ to **string }

func (g given) String() string { return "" }
func (g given) Set(s string) error {
	*g.to = &s
	return nil
}
func (g given) Get() any { return "" }

func newPoststep(env *Env) *urfave.Command {
	o := &poststepOptions{env: env}
	return &urfave.Command{
		Name: "poststep", Category: "people", ArgsUsage: "TASK", Usage: "apply an answer as if a run of an agent had given it",
		Description: "The task is claimed for the lowest free agent, the answer is read and applied exactly as at the end of a run, recorded as simulated, and the\n" +
			"agent leaves. Here --as names a role: planner, coder or code_reviewer; the planner's TASK is _planner. What would be asked for again counts\n" +
			"as the last answer. Answers of earlier runs: liza history TASK --n K --raw." +
			examples("liza poststep task-3 --as coder --response-file answer.json", `liza poststep task-3 --as code_reviewer --response-string '{"action":"STUCK", …}' --dry-run`) + exitsText(0, 1, 2, 3, 4, 5, 7),
		Flags: []urfave.Flag{
			text("as", "`ROLE` whose answer it is", &o.as),
			&urfave.GenericFlag{Name: "response-file", Usage: "`F`: file with the answer; - is stdin", Value: given{&o.file}},
			&urfave.GenericFlag{Name: "response-string", Usage: "`S`: the answer", Value: given{&o.text}},
			flag("empty-commit", "make an empty commit when the coder's worktree has no new one", &o.empty),
			flag("dry-run", "say what would happen, and change nothing", &o.dryRun),
		},
		Action: env.do(o.run),
	}
}

func (o *poststepOptions) run(ctx context.Context, args []string) error {
	in, err := o.input(args[0])
	if err != nil {
		return err
	}
	d, err := o.env.Service(ctx)
	if err != nil {
		return err
	}
	do := simulate.Poststep
	if o.dryRun {
		do = simulate.RehearsePoststep
	}
	done, err := do(ctx, d, in)
	if err != nil {
		return err
	}
	if !o.env.JSON {
		o.env.Notices(done.Warnings)
	}
	return o.env.Print(done, "%s", poststepText(done))
}

func (o *poststepOptions) input(task string) (simulate.PoststepInput, error) {
	in := simulate.PoststepInput{Task: task, EmptyCommit: o.empty}
	kind, known := role.KindOf(o.as)
	switch {
	case o.as == "":
		return in, usagef("liza help poststep", "poststep needs --as ROLE: planner, coder or code_reviewer")
	case !known || kind != role.Planner && kind != role.Coder && kind != role.Reviewer:
		return in, usagef("liza help poststep", "--as '%s' must be planner, coder or code_reviewer: after poststep it names a role", o.as)
	case (o.file == nil) == (o.text == nil):
		return in, usagef("liza help poststep", "poststep needs exactly one of --response-file and --response-string")
	}
	in.Kind = kind
	if o.text != nil {
		in.Response = *o.text
		return in, nil
	}
	data, err := o.env.readText(*o.file)
	if err != nil {
		return in, fmt.Errorf("%v; next: ls", err)
	}
	in.Response = string(data)
	return in, nil
}

func poststepText(p simulate.Poststepped) string {
	var b strings.Builder
	line := func(key, format string, args ...any) { fmt.Fprintf(&b, "%-9s %s\n", key, fmt.Sprintf(format, args...)) }
	line("before", "%s", p.StatusBefore)
	line("event", "%s", p.Event)
	line("after", "%s", p.StatusAfter)
	if p.Released {
		line("released", "the claim of %s still held and was given back", p.Agent)
	}
	if p.Action != "" {
		line("answer", "%s: %s", p.Action, p.Summary)
	}
	if p.Problem != "" {
		line("problem", "%s", p.Problem)
	}
	if len(p.EvidenceFiles) > 0 {
		line("evidence", "%s", strings.Join(p.EvidenceFiles, ", "))
	}
	switch {
	case p.DryRun:
		line("dry run", "nothing was changed")
	case p.Sequence > 0:
		line("recorded", "as interaction %d of %s", p.Sequence, p.Task)
	}
	return b.String()
}
