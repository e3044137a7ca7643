package cli

import (
	"context"
	"fmt"
	"strings"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/verb"
)

type claimOptions struct{ env *Env }

func newClaim(env *Env) *urfave.Command {
	o := &claimOptions{env: env}
	return &urfave.Command{
		Name: "claim", Aliases: []string{"claim-task"}, Category: "plumbing", ArgsUsage: "[ID]", Usage: "claim the named or the best claimable task, with its worktree",
		Description: "The task becomes CLAIMED by the caller, and .worktrees/ID is made on branch task/ID. Without ID exit 7 when nothing is claimable, with the\n" +
			"reason; a named task that cannot be claimed is exit 4." +
			examples("liza --as coder-1 claim", "liza claim task-3 --as coder-1 --json") + exitsText(0, 1, 2, 3, 4, 5, 6, 7),
		Action: env.do(o.claim),
	}
}

func newClaimReview(env *Env) *urfave.Command {
	o := &claimOptions{env: env}
	return &urfave.Command{
		Name: "claim-review", Category: "plumbing", ArgsUsage: "[ID]", Usage: "claim the named or the next review",
		Description: "The caller alone may judge the task until the lease ends; its status stays READY_FOR_REVIEW." +
			examples("liza --as code-reviewer-1 claim-review", "liza claim-review task-3 --as code-reviewer-1") + exitsText(0, 1, 2, 3, 4, 5, 6, 7),
		Action: env.do(o.review),
	}
}

func (o *claimOptions) claim(ctx context.Context, args []string) error {
	return o.do(ctx, args, "claim", "coder-1", (*verb.Service).Claim)
}

func (o *claimOptions) review(ctx context.Context, args []string) error {
	return o.do(ctx, args, "claim-review", "code-reviewer-1", (*verb.Service).ClaimReview)
}

func (o *claimOptions) do(ctx context.Context, args []string, command, who string, claim func(*verb.Service, context.Context, string) (verb.Claimed, error)) error {
	id := strings.Join(args, "")
	d, err := o.env.Service(ctx)
	if err != nil {
		return err
	}
	c, err := claim(d, ctx, id)
	if err != nil {
		return forAnAgent(ctx, d, err, command, who)
	}
	if !o.env.JSON {
		o.env.Notices(c.Warnings)
	}
	return o.env.Print(c, "%s", claimText(c))
}

func claimText(c verb.Claimed) string {
	var b strings.Builder
	for _, line := range [][2]string{
		{"task", c.Task}, {"agent", c.Agent}, {"worktree", c.Worktree}, {"base", c.BaseCommit}, {"commit", c.Commit}, {"lease", string(c.Lease)},
	} {
		if line[1] != "" {
			fmt.Fprintf(&b, "%-9s %s\n", line[0], line[1])
		}
	}
	return b.String()
}
