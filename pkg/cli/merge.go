package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/blackboard"
	"liza/pkg/merge"
	"liza/pkg/prose"
	"liza/pkg/verb"
)

type mergeOptions struct {
	env   *Env
	again bool
}

func newMerge(env *Env) *urfave.Command {
	o := &mergeOptions{env: env}
	return &urfave.Command{
		Name: "merge", Aliases: []string{"wt-merge"}, Category: "plumbing", ArgsUsage: "[ID]", Usage: "merge approved work into the integration branch",
		Description: "APPROVED becomes MERGED. The merge is made without any checkout, checked in a throw-away worktree, and then the branch moves at once. A conflict\n" +
			"or a failing check leaves the branch as it was: INTEGRATION_FAILED, exit 1. Your checkout is never touched. Without ID: all, oldest approval first, or in trains (merge.train).\n" +
			"Merges wait while the branch is where Liza did not put it (liza integration). With --again, a person merges MERGED work once more that the\n" +
			"branch has lost; it is refused when the branch has it." +
			examples("liza merge", "liza merge task-3 --json", "liza merge --again task-3") + exitsText(0, 1, 2, 3, 4, 5, 7),
		Flags: []urfave.Flag{flag("again", "merge MERGED work again that the integration branch has lost", &o.again)},
		Action: env.onService(func(ctx context.Context, d *verb.Service, args []string) error {
			defer env.progress("merging and checking")()
			return o.run(ctx, d, args)
		}),
	}
}

func (o *mergeOptions) run(ctx context.Context, d *verb.Service, args []string) error {
	if o.again {
		return o.runAgain(ctx, d, strings.Join(args, ""))
	}
	results, err := d.Merge(ctx, strings.Join(args, ""))
	_, failed := errors.AsType[*merge.FailedError](err)
	if err != nil && !failed && (len(args) > 0 || len(results) == 0) {
		return err // nothing was merged that could be shown
	}
	list := map[string]any{"merges": results}
	if err != nil && o.env.JSON {
		return o.env.failWith(explain(err), list)
	}
	var b strings.Builder
	for _, r := range results {
		b.WriteString(mergeLine(r) + "\n")
	}
	if printed := o.env.Print(list, "%s", b.String()); printed != nil {
		return printed
	}
	return err
}

func (o *mergeOptions) runAgain(ctx context.Context, d *verb.Service, id string) error {
	if id == "" {
		return usagef("liza integration", "--again needs the id of a task")
	}
	r, err := d.MergeAgain(ctx, id)
	if err != nil {
		return o.env.failMove(err)
	}
	return o.env.Print(r, "%s is merged again, at %.9s%s\n", r.Task, r.MergeCommit, notVerified(r.Unverified))
}

// notVerified says which checks of a merge are red before and after, "" for none.
func notVerified(checks []string) string {
	if len(checks) == 0 {
		return ""
	}
	return ", not verified: red before and after: " + strings.Join(checks, "; ")
}

func mergeLine(r merge.Result) string {
	line := fmt.Sprintf("%s is %s", r.Task, r.Status)
	switch {
	case r.Already:
		line = fmt.Sprintf("already done: %s is %s", r.Task, r.Status)
	case r.Status == blackboard.Merged:
		line += fmt.Sprintf(" at %.9s", r.MergeCommit) + notVerified(r.Unverified)
		if r.Drift > 0 {
			line += fmt.Sprintf(" (%s on the branch since its base)", prose.Count(r.Drift, "commit"))
		}
	case r.Reason != "":
		line += ": " + r.Why()
	}
	if len(r.Files) > 0 {
		line += " in " + strings.Join(r.Files, ", ")
	}
	if r.Log != "" {
		line += ", see " + r.Log
	}
	return line
}
