package cli

import (
	"context"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/verb"
)

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
