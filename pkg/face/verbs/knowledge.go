package verbs

import (
	"cmp"
	"context"
	"strings"

	"liza/pkg/base/prose"
	"liza/pkg/verb/board"
	"liza/pkg/verb/verb"
)

// knowledge are the verbs about facts of the project.
var knowledge = []*Verb{
	declare(Verb{
		Name: "facts", Group: "teach", Who: ByVerb, Usage: "list what is known about the project, or change it",
		Help: "Facts are in every prompt. They come from reviewers, planners and people, and outlive sprints and goals. Each passes a filter: it is one lasting statement of 15\n" +
			"to 500 characters, not about one run, and not known yet. A text that is not a fact is refused with the rule (exit 2), one that is known already with exit 7.\n" +
			"Without an option it lists: one line a fact, with id, category, source and content. Facts that are removed stay in .liza/archive/facts.jsonl, and are\n" +
			"not learned again. With facts.review what reviewers learn waits for liza approve.",
		Examples: []string{"liza facts --all", "liza facts --add 'Tests run with make test, never with go test alone'", "liza facts --rm fact-3 --rm fact-7"}, Exits: append(ofPeople, 7),
	}, knowWhat, factsText),
	declare(Verb{
		Name: "spec-change", Hidden: true, Group: "teach", Who: ByVerb, Usage: "record that a spec was changed",
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

type knowing struct {
	All      bool     `json:"all,omitempty" help:"list also those that wait for approval, and archived ones"`
	Add      string   `json:"add,omitempty" word:"TEXT" help:"add this fact (planner, human)"`
	Category string   `json:"category,omitempty" word:"C" values:"project,user,tool,general" default:"project" help:"of the fact to add: project, user, tool, general"`
	Remove   []string `json:"rm,omitempty" word:"ID" help:"move this fact to the archive (human)"`
}

// Reads reports that nothing is changed.
func (k knowing) Reads() bool { return k.Add == "" && k.Remove == nil }

// knowWhat lists facts, or adds or removes some.
func knowWhat(ctx context.Context, service *verb.Service, in knowing) (any, error) {
	switch {
	case in.Add != "" && in.Remove != nil:
		return nil, board.WrongUsage("liza help facts", "--add and --rm exclude each other")
	case in.Add != "":
		f, err := service.Knowledge.AddFact(ctx, in.Add, in.Category)
		if err != nil {
			return nil, err
		}
		return f, nil
	case in.Remove != nil:
		return archivedFacts{in.Remove}, service.Knowledge.RemoveFacts(ctx, in.Remove)
	}
	facts, err := service.Knowledge.KnownFacts(ctx, in.All)
	return knownFacts{facts}, err
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

func factsApproved(done approvedFacts) Text {
	word := "approved"
	if done.Already {
		word = "approved already"
	}
	return line("%s %s", strings.Join(done.Approved, ", "), word)
}

func factsText(in knowing, result any) Text {
	switch done := result.(type) {
	case verb.Fact:
		return line("known as %s", done.ID)
	case archivedFacts:
		return line("%s archived", strings.Join(done.Archived, ", "))
	}
	known, _ := result.(knownFacts)
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
