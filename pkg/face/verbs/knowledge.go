package verbs

import (
	"cmp"
	"context"
	"strings"

	"liza/pkg/base/prose"
	"liza/pkg/verb/verb"
)

// knowledge are the verbs about facts of the project.
var knowledge = []*Verb{
	group(Verb{
		Name: "facts", Group: "teach", Usage: "what is known about the project, for every prompt",
		Help: "Facts come from reviewers, planners and people, and outlive sprints and goals. Each passes a filter: it is one lasting statement of 15\n" +
			"to 500 characters, not about one run, and not known yet. With facts.review what reviewers learn waits for facts approve.",
		Examples: []string{"liza facts list --all", "liza facts add 'Tests run with make test, never with go test alone'"},
	}),
	declare(Verb{
		Name: "facts list", Who: Everyone, Reads: true, Usage: "list the active facts",
		Help: "One line a fact: id, category, source, content. Changes nothing.", Examples: []string{"liza facts list", "liza facts list --all --json"}, Exits: []int{0, 1, 2, 3},
	}, func(ctx context.Context, service *verb.Service, in factList) (knownFacts, error) {
		facts, err := service.Knowledge.KnownFacts(ctx, in.All)
		return knownFacts{facts}, err
	}, factsText),
	declare(Verb{
		Name: "facts add", Who: ByVerb, By: "planner, human", Usage: "add a fact",
		Help: "It is in the prompts of planners, coders and messengers from now on. A text that is not a fact is refused with the rule (exit 2), one that is\n" +
			"known already with exit 7.", Examples: []string{"liza facts add 'Python 3.8 is the oldest version'", "liza facts add 'Answers are in German' --category user"}, Exits: append(ofPeople, 7),
	}, func(ctx context.Context, service *verb.Service, in newFact) (verb.Fact, error) {
		return service.Knowledge.AddFact(ctx, in.Text, in.Category)
	}, func(_ newFact, f verb.Fact) Text { return line("known as %s", f.ID) }),
	declare(Verb{
		Name: "facts rm", Who: People, By: "human", Usage: "move facts to the archive",
		Help: "All or none. They stay in .liza/archive/facts.jsonl, and are not learned again.", Examples: []string{"liza facts rm fact-3", "liza facts rm fact-3 fact-7"}, Exits: ofPeople,
	}, func(ctx context.Context, service *verb.Service, in factIDs) (archivedFacts, error) {
		return archivedFacts{in.Facts}, service.Knowledge.RemoveFacts(ctx, in.Facts)
	}, func(in factIDs, _ archivedFacts) Text { return line("%s archived", strings.Join(in.Facts, ", ")) }),
	declare(Verb{
		Name: "facts approve", Who: People, By: "human", Usage: "let prompts have facts that wait",
		Help: "All or none. With facts.review in the configuration, what reviewers learn waits for this.", Examples: []string{"liza facts approve fact-3", "liza facts approve fact-3 fact-7"}, Exits: ofPeople,
	}, func(ctx context.Context, service *verb.Service, in factIDs) (approvedFacts, error) {
		done, err := service.Knowledge.ApproveFacts(ctx, in.Facts)
		return approvedFacts{Approved: in.Facts, Already: done}, err
	}, func(in factIDs, done approvedFacts) Text {
		word := "approved"
		if done.Already {
			word = "approved already"
		}
		return line("%s %s", strings.Join(in.Facts, ", "), word)
	}),
	declare(Verb{
		Name: "spec-change", Group: "teach", Who: ByVerb, Usage: "record that a spec was changed",
		Help: "Adds to spec_changes, with the hash of the file. The planner is woken; open tasks of that spec have the change in their next prompts and\n" +
			"go on; a reviewer is told when the spec is another than at the claim.",
		Examples: []string{"liza spec-change --spec specs/vision.md#name --change 'names may contain spaces'", "liza spec-change --spec specs/api.md --change 'v2 only' --task task-3"}, Exits: ofPeople,
	}, func(ctx context.Context, service *verb.Service, in specChange) (verb.SpecChanged, error) {
		err := cmp.Or(needs("spec-change", "spec", in.Spec), needs("spec-change", "change", in.Change))
		if err != nil {
			return verb.SpecChanged{}, err
		}
		return service.SpecChange(ctx, in.Spec, in.Change, in.Task)
	}, func(_ specChange, done verb.SpecChanged) Text {
		switch {
		case done.Already:
			return line("already done: this change of %s is recorded", done.Spec)
		case len(done.Affected) == 0:
			return line("recorded; no open task has that spec")
		}
		return line("recorded; in the next prompts of %s", strings.Join(done.Affected, ", "))
	}),
}

type factList struct {
	All bool `json:"all,omitempty" help:"also those that wait for approval, and archived ones"`
}

type newFact struct {
	Text     string `json:"text" arg:"TEXT" help:"the fact"`
	Category string `json:"category,omitempty" word:"C" values:"project,user,tool,general" default:"project" help:"project, user, tool, general"`
}

type factIDs struct {
	Facts []string `json:"facts" arg:"ID…" help:"ids of facts"`
}

type specChange struct {
	Spec   string `json:"spec" word:"P[#a]" help:"the spec file, and where in it"`
	Change string `json:"change" help:"what changed"`
	Task   string `json:"task,omitempty" word:"ID" help:"task that made it necessary"`
}

type (
	knownFacts struct {
		Facts []verb.Fact `json:"facts"`
	}
	archivedFacts struct {
		Archived []string `json:"archived"`
	}
	approvedFacts struct {
		Approved []string `json:"approved"`
		Already  bool     `json:"already_done"`
	}
)

func factsText(in factList, known knownFacts) Text {
	if len(known.Facts) == 0 {
		return line("no facts")
	}
	var rows [][]string
	for _, f := range known.Facts {
		row := []string{f.ID, cmp.Or(f.Category, "-"), cmp.Or(f.Source, "-"), prose.OneLine(f.Content, 200)}
		if in.All {
			row = append([]string{f.ID, f.Status}, row[1:]...)
		}
		rows = append(rows, row)
	}
	return Text{Body: prose.Columns(rows)}
}
