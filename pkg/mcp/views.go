package mcp

import (
	"context"

	"liza/pkg/blackboard"
	"liza/pkg/dashboard"
	"liza/pkg/history"
	"liza/pkg/transition"
)

// views are the read views as tools, for programs that read no resources.
func views() []tool {
	return []tool{
		takes(tool{name: "status", reads: true, about: "The board on one screen: goal, sprint, counts, tasks, agents, and what waits for a person."},
			func(ctx context.Context, o Options, _ struct{}) (any, error) { return o.board(ctx) }),
		takes(tool{name: "show", reads: true, about: "One task, agent, question, plan or discovery, whole."},
			func(ctx context.Context, o Options, in showArgs) (any, error) { return o.entry(ctx, in.ID) }),
		takes(tool{name: "log", reads: true, about: "What happened: the newest entries of the journal, oldest first."},
			func(_ context.Context, o Options, in logArgs) (any, error) {
				f := history.Filter{Last: newest, Task: in.Task, Agent: in.Agent, Action: blackboard.Action(in.Action)}
				if in.Last != nil {
					f.Last = *in.Last
				}
				return o.log(f)
			}),
		takes(tool{name: "questions", reads: true, about: "The open questions of agents, oldest first."},
			func(ctx context.Context, o Options, _ struct{}) (any, error) { return o.questions(ctx) }),
	}
}

// newest is how many entries of the journal are shown when nobody says how many.
const newest = 50

type showArgs struct {
	ID string `json:"id" jsonschema:"id of what to show"`
}

type logArgs struct {
	Last   *int   `json:"last,omitempty" jsonschema:"how many entries; 0 is all; left out: 50"`
	Task   string `json:"task,omitempty" jsonschema:"entries of this task only"`
	Agent  string `json:"agent,omitempty" jsonschema:"entries by this agent, by human or by system only"`
	Action string `json:"action,omitempty" jsonschema:"entries of this action only, such as claimed or merged"`
}

func (o Options) board(ctx context.Context) (dashboard.View, error) {
	s, err := o.Service.View(ctx)
	if err != nil {
		return dashboard.View{}, err
	}
	return dashboard.Build(s, o.Facts(s)), nil
}

// entry is what `liza show ID --json` has as its result.
func (o Options) entry(ctx context.Context, id string) (map[string]any, error) {
	s, err := o.Service.View(ctx)
	if err != nil {
		return nil, err
	}
	if entry, what, ok := dashboard.Find(s, id); ok {
		return map[string]any{"kind": what, what: dashboard.Plain(entry)}, nil
	}
	t, sprint, err := o.Service.ArchivedTask(id)
	switch {
	case err != nil:
		return nil, err
	case t == nil:
		return nil, &transition.Refusal{Guard: "G05", Exit: transition.ExitRefused, Next: "liza status", Message: "nothing on the board has the id '" + id + "'"}
	}
	return map[string]any{"kind": "task", "task": dashboard.Plain(t), "archived": sprint}, nil
}

func (o Options) log(f history.Filter) (map[string]any, error) {
	if f.Last < 0 {
		return nil, usage("liza help log", "last must not be negative")
	}
	entries, err := history.Journal{Path: o.Service.Project.Journal()}.Read(f)
	if err != nil {
		return nil, err
	}
	list := []any{}
	for _, e := range entries {
		list = append(list, dashboard.Plain(e))
	}
	return map[string]any{"entries": list}, nil
}

func (o Options) questions(ctx context.Context) (map[string]any, error) {
	s, err := o.Service.View(ctx)
	if err != nil {
		return nil, err
	}
	open := []*blackboard.Question{}
	for _, q := range s.Questions {
		if q != nil && q.Status == blackboard.QuestionOpen {
			open = append(open, q)
		}
	}
	return map[string]any{"questions": dashboard.Plain(open)}, nil
}
