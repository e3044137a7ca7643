package cli

import (
	"context"
	"fmt"
	"strings"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/agent"
	"liza/pkg/dashboard"
	"liza/pkg/prompt"
	"liza/pkg/supervisor"
	"liza/pkg/verb"
)

type previewOptions struct {
	env      *Env
	role     string
	detailed bool
}

func newPreview(env *Env) *urfave.Command {
	o := &previewOptions{env: env}
	return &urfave.Command{
		Name: "preview", Category: "people", ArgsUsage: "TASK", Usage: "the exact prompt that the next run on a task would be given",
		Description: "Prints the bytes that the next agent would get, for the lowest free id; TASK may be _planner. With --detailed each section is listed on\n" +
			"stderr, with its size, what was cut, and where it comes from. Changes nothing." +
			examples("liza preview task-3", "liza preview task-3 --role refactor --detailed") + exitsText(0, 1, 2, 3, 4, 7),
		Flags: []urfave.Flag{
			text("role", "`R`: role in the place of the one that would be used", &o.role),
			flag("detailed", "list the sections on stderr", &o.detailed),
		},
		Action: env.onReader(o.run),
	}
}

// previewed is the result of `liza preview`.
type previewed struct {
	Task     string           `json:"task"`
	Kind     string           `json:"kind"`
	Agent    string           `json:"agent"`
	Role     string           `json:"role"`
	Rule     string           `json:"rule"`
	Hash     string           `json:"hash"`
	Program  string           `json:"program"`
	Model    string           `json:"model"`
	Bytes    int              `json:"bytes"`
	Over     bool             `json:"over_budget"`
	Cuts     []string         `json:"cuts"`
	Files    []string         `json:"files"`
	Sections []prompt.Section `json:"sections"`
	Warnings []string         `json:"warnings,omitempty"`
	Prompt   string           `json:"prompt"`
}

func (o *previewOptions) run(ctx context.Context, d *verb.Service, args []string) error {
	if d.Repo == nil { // a prompt cannot be gathered without git
		var err error
		if d, err = o.env.Service(ctx); err != nil {
			return err
		}
	}
	p, err := supervisor.Preview(ctx, d, adapters(d), args[0], o.role)
	if err != nil {
		return err
	}
	if o.detailed && !o.env.JSON {
		o.details(p)
	}
	if !o.env.JSON {
		o.env.Notices(p.Warnings)
	}
	shown := p.Text
	if o.env.Terminal {
		lines := strings.Split(shown, "\n")
		for i, line := range lines {
			lines[i] = dashboard.Visible(line)
		}
		shown = strings.Join(lines, "\n")
	}
	return o.env.Print(previewed{Task: args[0], Kind: string(p.Kind), Agent: p.Agent, Role: p.Role.Role.Name, Rule: p.Role.Rule, Hash: p.Role.Role.Hash, Program: p.Program, Model: p.Model,
		Bytes: len(p.Text), Over: p.Over, Cuts: list(p.Cuts), Files: list(p.Files), Sections: p.Sections, Warnings: p.Warnings, Prompt: p.Text}, "%s", shown)
}

// adapters finds agent programs for who only wants to know their names.
func adapters(d *verb.Service) func(name string) (agent.Adapter, error) {
	return func(name string) (agent.Adapter, error) {
		return agent.Lookup(name, agent.Options{Custom: programs(d.Config()), Root: d.Project.Root})
	}
}

// list is an empty list, not null, in JSON.
func list(texts []string) []string { return append([]string{}, texts...) }

func (o *previewOptions) details(p supervisor.Previewed) {
	out := o.env.Stderr
	fmt.Fprintf(out, "%s for %s, role %s (%s, %s), %d bytes\n", p.Kind, p.Agent, p.Role.Role.Name, p.Role.Rule, p.Role.Role.Hash, len(p.Text))
	fmt.Fprintf(out, "%7s %7s  %-20s %s\n", "bytes", "cut", "section", "from")
	for _, s := range p.Sections {
		cut := "-"
		if s.Cut > 0 {
			cut = fmt.Sprint(s.Cut)
		}
		fmt.Fprintf(out, "%7d %7s  %-20s %s\n", s.Bytes, cut, s.Name, s.From)
	}
	for _, f := range p.Files {
		fmt.Fprintf(out, "file %s\n", f)
	}
}
