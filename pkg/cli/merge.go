package cli

import (
	"context"
	"fmt"
	"strings"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/blackboard"
	"liza/pkg/merge"
)

type mergeOptions struct{ env *Env }

func newMerge(env *Env) *urfave.Command {
	o := &mergeOptions{env: env}
	return &urfave.Command{
		Name: "merge", Aliases: []string{"wt-merge"}, Category: "plumbing", ArgsUsage: "[ID]", Usage: "merge approved work into the integration branch",
		Description: "APPROVED becomes MERGED. The merge is made without any checkout, checked in a throw-away worktree, and then the branch moves at once. A conflict\n" +
			"or a failing check leaves the branch as it was: INTEGRATION_FAILED, exit 1. Your checkout is never touched. Without ID: all, oldest approval first." +
			examples("liza merge", "liza merge task-3 --json") + exitsText(0, 1, 4, 5, 7),
		Action: env.do(o.run),
	}
}

func (o *mergeOptions) run(ctx context.Context, args []string) error {
	d, err := o.env.Desk(ctx)
	if err != nil {
		return err
	}
	results, err := d.Merge(ctx, strings.Join(args, ""))
	_, failed := asError[*merge.FailedError](err)
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

func mergeLine(r merge.Result) string {
	line := fmt.Sprintf("%s is %s", r.Task, r.Status)
	switch {
	case r.Already:
		line = fmt.Sprintf("already done: %s is %s", r.Task, r.Status)
	case r.Status == blackboard.Merged:
		line += fmt.Sprintf(" at %.9s", r.MergeCommit)
		if r.Drift > 0 {
			line += fmt.Sprintf(" (%s on the branch since its base)", plural(r.Drift, "commit"))
		}
	case r.Reason != "":
		line += ": " + r.Reason
	}
	if len(r.Files) > 0 {
		line += " in " + strings.Join(r.Files, ", ")
	}
	if r.Log != "" {
		line += ", see " + r.Log
	}
	return line
}
