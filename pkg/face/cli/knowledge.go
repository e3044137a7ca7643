package cli

import (
	"context"
	"fmt"
	"strings"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/base/prose"
	"liza/pkg/board/blackboard"
	"liza/pkg/verb/verb"
)

type factsOptions struct {
	env      *Env
	all      bool
	category string
}

func newFacts(env *Env) *urfave.Command {
	o := &factsOptions{env: env}
	return &urfave.Command{
		Name: "facts", Category: "people", Usage: "what is known about the project, for every prompt",
		Description: "Facts come from reviewers, planners and people, and outlive sprints and goals. Each passes a filter: it is one lasting statement of 15\n" +
			"to 500 characters, not about one run, and not known yet. With facts.review what reviewers learn waits for facts approve." +
			examples("liza facts list --all", "liza facts add 'Tests run with make test, never with go test alone'"),
		Commands: []*urfave.Command{
			{Name: "list", Usage: "list the active facts",
				Description: "One line a fact: id, category, source, content. Changes nothing." + examples("liza facts list", "liza facts list --all --json") + exitsText(0, 1, 2, 3),
				Flags:       []urfave.Flag{flag("all", "also those that wait for approval, and archived ones", &o.all)},
				Action:      env.onReader(o.list)},
			{Name: "add", ArgsUsage: "TEXT", Usage: "add a fact (planner, human)",
				Description: "It is in the prompts of planners, coders and messengers from now on. A text that is not a fact is refused with the rule (exit 2), one that is\n" +
					"known already with exit 7." + examples("liza facts add 'Python 3.8 is the oldest version'", "liza facts add 'Answers are in German' --category user") + exitsText(0, 1, 2, 3, 4, 5, 7),
				Flags: []urfave.Flag{&urfave.StringFlag{Name: "category", Value: "project",
					Usage: "`C`: " + strings.Join(blackboard.FactCategories, ", "), Destination: &o.category}},
				Action: env.onService(o.add)},
			{Name: "rm", ArgsUsage: "ID…", Usage: "move facts to the archive (human)",
				Description: "All or none. They stay in .liza/archive/facts.jsonl, and are not learned again." + examples("liza facts rm fact-3", "liza facts rm fact-3 fact-7") + exitsText(0, 1, 2, 3, 4, 5),
				Action:      env.onService(o.remove)},
			{Name: "approve", ArgsUsage: "ID…", Usage: "let prompts have facts that wait (human)",
				Description: "All or none. With facts.review in the configuration, what reviewers learn waits for this." + examples("liza facts approve fact-3", "liza facts approve fact-3 fact-7") + exitsText(0, 1, 2, 3, 4, 5),
				Action:      env.onService(o.approve)},
		},
	}
}

func (o *factsOptions) list(ctx context.Context, d *verb.Service, _ []string) error {
	facts, err := d.KnownFacts(ctx, o.all)
	if err != nil {
		return err
	}
	if len(facts) == 0 {
		return o.env.Print(map[string]any{"facts": facts}, "no facts\n")
	}
	var rows [][]string
	for _, f := range facts {
		row := []string{f.ID, dash(f.Category), dash(f.Source), prose.OneLine(f.Content, listWidth)}
		if o.all {
			row = append([]string{f.ID, f.Status}, row[1:]...)
		}
		rows = append(rows, row)
	}
	return o.env.Print(map[string]any{"facts": facts}, "%s", columns(rows))
}

func (o *factsOptions) add(ctx context.Context, d *verb.Service, args []string) error {
	f, err := d.AddFact(ctx, args[0], o.category)
	if err != nil {
		return err
	}
	return o.env.Print(f, "known as %s\n", f.ID)
}

func (o *factsOptions) remove(ctx context.Context, d *verb.Service, ids []string) error {
	if err := d.RemoveFacts(ctx, ids); err != nil {
		return err
	}
	return o.env.Print(map[string]any{"archived": ids}, "%s archived\n", strings.Join(ids, ", "))
}

func (o *factsOptions) approve(ctx context.Context, d *verb.Service, ids []string) error {
	already, err := d.ApproveFacts(ctx, ids)
	if err != nil {
		return err
	}
	word := "approved"
	if already {
		word = "approved already"
	}
	return o.env.Print(map[string]any{"approved": ids, "already_done": already}, "%s\n", fmt.Sprintf("%s %s", strings.Join(ids, ", "), word))
}
