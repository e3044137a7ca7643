package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/base/prose"
	"liza/pkg/code/merge"
	"liza/pkg/verb/verb"
)

type integrationOptions struct {
	env    *Env
	reason string
}

func newIntegration(env *Env) *urfave.Command {
	o := &integrationOptions{env: env}
	reason := func() []urfave.Flag {
		return []urfave.Flag{text("reason", "`T` why, for the journal", &o.reason)}
	}
	return &urfave.Command{
		Name: "integration", Category: "people", Usage: "show the state of the integration branch, and decide about a tip that Liza did not make",
		Description: "Alone it shows where the branch is, where Liza left it, how far it is behind its base branch, and whose merged work it lacks; that changes\n" +
			"nothing. When somebody else moved the branch, merges wait until a person accepts or restores." +
			examples("liza integration", "liza integration accept --reason 'my own fix'", "liza integration restore") + exitsText(0, 1, 2, 3, 4, 5, 7),
		Commands: []*urfave.Command{{
			Name: "accept", Usage: "the branch is right where it is",
			Description: "Remembers the tip as it is. What Liza had left there is saved under refs/liza/attic when the branch does not contain it; merged work that is\n" +
				"missing is named, and `liza merge --again TASK` brings it back." +
				examples("liza integration accept", "liza integration accept --reason 'my own fix' --json") + exitsText(0, 1, 2, 3, 4, 5, 7),
			Flags: reason(), Action: env.do(o.accept),
		}, {
			Name: "restore", Usage: "put the branch back to where Liza left it",
			Description: "The branch moves by compare-and-swap; the tip at which it was is saved under refs/liza/attic first. A branch that was deleted is made again." +
				examples("liza integration restore", "liza integration restore --reason 'not reviewed' --json") + exitsText(0, 1, 2, 3, 4, 5, 7),
			Flags: reason(), Action: env.do(o.restore),
		}},
		Action: env.do(o.show),
	}
}

func (o *integrationOptions) show(ctx context.Context, _ []string) error {
	d, err := o.env.gitReader(ctx)
	if err != nil {
		return err
	}
	b, err := d.Integration(ctx)
	if err != nil {
		return err
	}
	return o.env.Print(b, "%s", branchText(b))
}

func (o *integrationOptions) accept(ctx context.Context, _ []string) error {
	return o.decide(ctx, (*verb.Service).AcceptIntegration)
}

func (o *integrationOptions) restore(ctx context.Context, _ []string) error {
	return o.decide(ctx, (*verb.Service).RestoreIntegration)
}

func (o *integrationOptions) decide(ctx context.Context, verb func(*verb.Service, context.Context, string) (verb.Branch, error)) error {
	d, err := o.env.Service(ctx)
	if err != nil {
		return err
	}
	b, err := verb(d, ctx, o.reason)
	if err != nil {
		return err
	}
	return o.env.Print(b, "%s", branchText(b))
}

func branchText(b verb.Branch) string {
	var t strings.Builder
	switch {
	case b.Moved:
		fmt.Fprintf(&t, "%s; merges wait\n", b.Text)
	case b.Tip == "":
		fmt.Fprintf(&t, "%s does not exist\n", b.Branch)
	case b.Known == "":
		fmt.Fprintf(&t, "%s is at %.9s; the board does not remember where Liza left it\n", b.Branch, b.Tip)
	default:
		fmt.Fprintf(&t, "%s is at %.9s, where Liza left it\n", b.Branch, b.Tip)
	}
	if b.Saved != "" {
		fmt.Fprintf(&t, "the other tip is saved as %s\n", b.Saved)
	}
	if b.Base != "" && b.Behind > 0 {
		fmt.Fprintf(&t, "%s; liza sync merges them\n", b.Lag)
	} else if b.Base != "" {
		fmt.Fprintf(&t, "it has everything of its base branch %s\n", b.Base)
	}
	if len(b.Lost) > 0 {
		fmt.Fprintf(&t, "merged, but not on it: %s\n", strings.Join(b.Lost, ", "))
	}
	if len(b.Ahead) > 0 {
		fmt.Fprintf(&t, "merged there, but not on the board: %s; if the board is from a backup, accept, then liza abandon those that need no second try\n", strings.Join(b.Ahead, ", "))
	}
	switch {
	case b.Moved:
		fmt.Fprintf(&t, "next: %s\n", b.Next)
	case len(b.Lost) > 0:
		fmt.Fprintf(&t, "next: liza merge --again %s\n", b.Lost[0])
	}
	return t.String()
}

func newSync(env *Env) *urfave.Command {
	var (
		from string
		dry  bool
	)
	return &urfave.Command{
		Name: "sync", Category: "people", Usage: "merge the base branch into the integration branch",
		Description: "The base branch is the one that the integration branch was cut from (base_ref); boards that do not record it use the branch that is checked\n" +
			"out. The merge goes through the integration checks, as approved work does; a conflict or a failing check moves nothing. Tasks that are open keep\n" +
			"their base, as after any merge. Your checkout is not touched. A branch of a remote (origin/main) is fetched first." +
			examples("liza sync", "liza sync --from origin/main --dry-run --json") + exitsText(0, 1, 2, 3, 4, 5),
		Flags: []urfave.Flag{
			text("from", "`REF` to merge instead of the base branch", &from),
			flag("dry-run", "say what would be merged, and whether it conflicts; runs no checks and moves nothing", &dry),
		},
		Action: env.onService(func(ctx context.Context, d *verb.Service, _ []string) error {
			defer env.progress("merging and checking")()
			r, err := d.Sync(ctx, from, dry)
			if err != nil {
				return env.failMove(err)
			}
			guess := ""
			if r.Guessed {
				guess = fmt.Sprintf("base_ref is not set: %s, which is checked out, is taken as the base branch\n", r.From)
			}
			switch r.Status {
			case merge.SyncDone:
				return env.Print(r, "%s%s of %s merged: %s is at %.9s%s\n", guess, prose.Count(r.Commits, "commit"), r.From, r.Branch, r.Commit, notVerified(r.Unverified))
			case merge.SyncWould:
				return env.Print(r, "%s%s of %s would be merged into %s without a conflict\nnext: liza sync\n", guess, prose.Count(r.Commits, "commit"), r.From, r.Branch)
			}
			return env.Print(r, "%snothing to do: %s has everything of %s\n", guess, r.Branch, r.From)
		}),
	}
}

// failMove shows why the branch was not moved, in JSON with the files or the log beside the error.
func (e *Env) failMove(err error) error {
	if x, ok := errors.AsType[*merge.MoveError](err); ok && e.JSON {
		return e.failWith(explain(err), x)
	}
	return err
}

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
	all, err := d.Worktrees(ctx)
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
	w, err := d.CreateWorktree(ctx, args[0])
	return o.show(w, err, "%s is at %s on %s\n", w.Task, w.Path, w.Branch)
}

func (o *worktreeOptions) remove(ctx context.Context, d *verb.Service, args []string) error {
	err := d.RemoveWorktree(ctx, args[0])
	return o.show(verb.TaskWorktree{Task: args[0], Path: ".worktrees/" + args[0]}, err, "the worktree and the branch of %s are gone\n", args[0])
}

func (o *worktreeOptions) show(w verb.TaskWorktree, err error, format string, args ...any) error {
	if err != nil {
		return err
	}
	return o.env.Print(w, format, args...)
}
