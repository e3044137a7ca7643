package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/verb/verb"
	"liza/pkg/verb/worktree"
)

type worktreeOptions struct{ env *Env }

func newWorktree(env *Env) *urfave.Command {
	o := &worktreeOptions{env: env}
	return &urfave.Command{
		Name: "worktree", Category: "plumbing", Usage: "list, make again or remove the worktrees of tasks",
		Commands: []*urfave.Command{
			{
				Name: "list", Usage: "list the worktrees of tasks",
				Description: "Task, status, branch, and how many paths are not committed. Changes nothing." +
					examples("liza worktree list", "liza worktree list --json") + exitsText(0, 1, 2, 3),
				Action: env.onService(o.list),
			},
			{
				Name: "create", ArgsUsage: "ID", Usage: "make the worktree of a claimed task again",
				Description: worktreeCreate(),
				Action:      env.onService(o.create),
			},
			{
				Name: "remove", ArgsUsage: "ID", Usage: "remove a worktree and its branch, if nothing is lost",
				Description: worktreeRemove(),
				Action:      env.onService(o.remove),
			},
		},
	}
}

func worktreeCreate() string {
	return "For a worktree that was removed by hand: it is attached to the branch again, or made from the newest recorded commit." +
		examples("liza worktree create task-3", "liza wt-create task-3") + exitsText(0, 1, 2, 3, 4, 5)
}

func worktreeRemove() string {
	return "Refuses while the task needs it, and when work is neither merged nor saved under refs/liza/attic/." +
		examples("liza worktree remove task-3", "liza wt-delete task-3") + exitsText(0, 1, 2, 3, 4, 5)
}

// newWorktreeAliases are the long names that are at the top (specs/cli.md#1).
func newWorktreeAliases(env *Env) []*urfave.Command {
	o := &worktreeOptions{env: env}
	return []*urfave.Command{
		{Name: "wt-create", Hidden: true, ArgsUsage: "ID", Usage: "same as `liza worktree create`", Description: worktreeCreate(), Action: env.onService(o.create)},
		{Name: "wt-delete", Hidden: true, ArgsUsage: "ID", Usage: "same as `liza worktree remove`", Description: worktreeRemove(), Action: env.onService(o.remove)},
	}
}

func (o *worktreeOptions) list(ctx context.Context, d *verb.Service, _ []string) error {
	all, err := d.Worktrees.List(ctx)
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, w := range all {
		dirt := "clean"
		if w.Dirty > 0 {
			dirt = fmt.Sprintf("%d not committed", w.Dirty)
		}
		fmt.Fprintf(&b, "%-16s %-18s %-24s %.9s  %s\n", w.Task, cmp.Or(string(w.Status), "no such task"), w.Path, w.Head, dirt)
	}
	if len(all) == 0 {
		b.WriteString("no task has a worktree\n")
	}
	return o.env.Print(map[string]any{"worktrees": all}, "%s", b.String())
}

func (o *worktreeOptions) create(ctx context.Context, d *verb.Service, args []string) error {
	w, err := d.Worktrees.Create(ctx, args[0])
	return o.show(w, err, "%s is at %s on %s\n", w.Task, w.Path, w.Branch)
}

func (o *worktreeOptions) remove(ctx context.Context, d *verb.Service, args []string) error {
	err := d.Worktrees.Remove(ctx, args[0])
	return o.show(worktree.Listed{Task: args[0], Path: ".worktrees/" + args[0]}, err, "the worktree and the branch of %s are gone\n", args[0])
}

func (o *worktreeOptions) show(w worktree.Listed, err error, format string, args ...any) error {
	if err != nil {
		return err
	}
	return o.env.Print(w, format, args...)
}
