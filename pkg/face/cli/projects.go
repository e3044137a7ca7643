package cli

import (
	"context"
	"path/filepath"
	"time"

	"liza/pkg/base/prose"
	"liza/pkg/board/transition"
	"liza/pkg/face/dashboard"
)

// everywhere prints a line for each project of this person.
func (o *statusOptions) everywhere(ctx context.Context) error {
	if o.env.inside != nil {
		return &transition.Refusal{Guard: "G03", Exit: transition.ExitRefused, Next: "liza status", Message: "inside a run there is this project alone"}
	}
	list := o.env.projects(ctx)
	var rows [][]string
	for _, p := range list {
		rows = append(rows, p.Cells())
	}
	if len(list) == 0 {
		return o.env.Print(map[string]any{"projects": list}, "no project yet\nnext: liza init GOAL\n")
	}
	return o.env.Print(map[string]any{"projects": list}, "%s", prose.Columns(rows))
}

// lookTime is how long the board of one project may keep the others waiting.
const lookTime = 2 * time.Second

// projects looks at all projects of this person.
func (e *Env) projects(ctx context.Context) []dashboard.Project {
	list := []dashboard.Project{}
	for _, root := range e.System.Projects() {
		p, err := e.projectAt(ctx, root)
		if err != nil {
			p = dashboard.Project{Root: root, Name: filepath.Base(root), Status: "cannot be shown: " + headline(explain(err).message)}
		}
		list = append(list, p)
	}
	return list
}

func (e *Env) projectAt(ctx context.Context, root string) (dashboard.Project, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	system := e.System.In(root)
	defer system.Close()
	d, err := system.Reader(ctx)
	if err != nil {
		return dashboard.Project{}, err
	}
	v, err := sourceOf(d).View(ctx)
	return dashboard.ProjectOf(root, v), err
}
