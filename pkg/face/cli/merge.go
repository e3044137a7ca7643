package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/base/prose"
	"liza/pkg/board/blackboard"
	"liza/pkg/code/merge"
	"liza/pkg/verb/verb"
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

type mergeGateOptions struct {
	env *Env
	in  verb.MergeDecision
}

func newApproveMerge(env *Env) *urfave.Command {
	o := &mergeGateOptions{env: env}
	return &urfave.Command{
		Name: "approve-merge", Category: "people", ArgsUsage: "ID", Usage: "release the merge of work that waits for a person",
		Description: "For APPROVED work in review.mode strict or normal; in mode disabled, and where review.quorum asks for more reviewers, it approves what is READY_FOR_REVIEW. Any supervisor then merges it." +
			examples("liza approve-merge task-3", "liza approve-merge task-3 --override --reason 'the warning is about a fixture'") + exitsText(0, 1, 2, 3, 4, 5),
		Flags: []urfave.Flag{
			flag("override", "in spite of warnings, in mode strict; needs --reason", &o.in.Override),
			text("reason", "`T` why", &o.in.Reason),
		},
		Action: env.do(o.approve),
	}
}

func newRejectMerge(env *Env) *urfave.Command {
	o := &mergeGateOptions{env: env}
	return &urfave.Command{
		Name: "reject-merge", Category: "people", ArgsUsage: "ID", Usage: "send work that waits for a person back to its coder",
		Description: "The task becomes REJECTED with your reason as the point to fix; it counts as a review cycle. Your comments (liza comment) are points to fix as well, and\n" +
			"with them no other reason is needed." +
			examples("liza reject-merge task-3 --reason 'cli.py:12: the flag must stay'", "liza show task-3") + exitsText(0, 1, 2, 3, 4, 5),
		Flags:  []urfave.Flag{text("reason", "`T` file, defect and fix; not needed with open comments", &o.in.Reason)},
		Action: env.do(o.reject),
	}
}

func (o *mergeGateOptions) approve(ctx context.Context, args []string) error {
	o.in.Task = args[0]
	d, err := o.env.Service(ctx)
	if err != nil {
		return err
	}
	done, err := d.ApproveMerge(ctx, o.in)
	return o.env.showDone(done, err, "%s is %s and may be merged", done.Task, done.Status)
}

func (o *mergeGateOptions) reject(ctx context.Context, args []string) error {
	o.in.Task = args[0]
	d, err := o.env.Service(ctx)
	if err != nil {
		return err
	}
	done, err := d.RejectMerge(ctx, o.in)
	return o.env.showDone(done, err, "%s is %s", done.Task, done.Status)
}

func newAnalyze(env *Env) *urfave.Command {
	return &urfave.Command{
		Name: "analyze", Category: "people", Usage: "let the circuit breaker look for patterns in the anomalies now",
		Description: "The circuit breaker looks by itself after each anomaly; this looks once more and notes it in its history. A pattern stops the sprint at a\n" +
			"checkpoint and is described in .liza/circuit_breaker_report.md. `liza ack` goes on." +
			examples("liza analyze", "liza analyze --json") + exitsText(0, 1, 2, 3, 4, 5),
		Action: env.onService(func(ctx context.Context, d *verb.Service, _ []string) error {
			seen, err := d.Analyze(ctx)
			if err != nil {
				return err
			}
			return env.Print(seen, "%s", analysisText(seen))
		}),
	}
}

func analysisText(seen verb.Seen) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d anomalies of this sprint", seen.Status, seen.Looked)
	if len(seen.Patterns) == 0 {
		b.WriteString(", no new pattern")
	}
	b.WriteString("\n")
	for _, p := range seen.Patterns {
		fmt.Fprintf(&b, "%s  %s  %s", p.Severity, p.Pattern, strings.Join(p.Anomalies, ", "))
		if len(p.Tasks) > 0 {
			fmt.Fprintf(&b, " of %s", strings.Join(p.Tasks, ", "))
		}
		fmt.Fprintf(&b, "\n   %s\n", p.Rule)
	}
	if seen.Status == blackboard.BreakerTripped {
		fmt.Fprintf(&b, "report: %s\nnext: liza ack\n", seen.Report)
	}
	return b.String()
}
