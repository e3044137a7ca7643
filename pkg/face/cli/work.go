package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/verb/verb"
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

type registrationOptions struct {
	env   *Env
	force bool
}

func newRegister(env *Env) *urfave.Command {
	o := &registrationOptions{env: env}
	return &urfave.Command{
		Name: "register", Category: "plumbing", Usage: "enter an agent on the board and print its token",
		Description: "Adds agents.ID with a lease of 300 s, which heartbeats extend. What is printed can be evaluated by a shell; the token is in no file." +
			examples("liza --as coder-1 register", "eval \"$(liza --as coder-1 register)\"") + exitsText(0, 1, 2, 3, 4, 5),
		Action: env.onService(o.register),
	}
}

func newUnregister(env *Env) *urfave.Command {
	o := &registrationOptions{env: env}
	return &urfave.Command{
		Name: "unregister", Category: "plumbing", Usage: "remove an agent from the board",
		Description: "Removes agents.ID. An agent that holds a task or a review has to release it first, and a live supervisor's entry is refused. With --force\n" +
			"both are done all the same: what it holds is released, and its work is kept." +
			examples("liza --as coder-1 unregister", "liza --as coder-1 unregister --force") + exitsText(0, 1, 2, 3, 4, 5, 6),
		Flags:  []urfave.Flag{flag("force", "in spite of a live lease and of what it holds", &o.force)},
		Action: env.onService(o.unregister),
	}
}

func newHeartbeat(env *Env) *urfave.Command {
	o := &registrationOptions{env: env}
	return &urfave.Command{
		Name: "heartbeat", Category: "plumbing", Usage: "extend the caller's leases",
		Description: "Moves the lease of the agent, and of what it has claimed, to lease_duration from now. No log entry." +
			examples("liza heartbeat", "liza --as coder-1 heartbeat") + exitsText(0, 1, 2, 3, 4, 5, 6),
		Action: env.onService(o.heartbeat),
	}
}

// agentID is the agent that the command is about.
func (o *registrationOptions) agentID(c verb.Caller, command string) (string, error) {
	if id := cmp.Or(c.As, c.AgentID); id != "" {
		return id, nil
	}
	return "", usagef("liza --as coder-1 "+command, "%s needs to know for which agent: give --as AGENT_ID", command)
}

func (o *registrationOptions) register(ctx context.Context, d *verb.Service, _ []string) error {
	id, err := o.agentID(d.Caller, "register")
	if err != nil {
		return err
	}
	r, err := d.Register(ctx, verb.RegisterInput{ID: id})
	if err != nil {
		return err
	}
	return o.env.Print(r, "export LIZA_AGENT_ID=%s\nexport LIZA_AGENT_TOKEN=%s\n# registered until %s\n", r.Agent, r.Token, r.Lease)
}

func (o *registrationOptions) unregister(ctx context.Context, d *verb.Service, _ []string) error {
	id, err := o.agentID(d.Caller, "unregister")
	if err != nil {
		return err
	}
	if err := d.Unregister(ctx, id, o.force); err != nil {
		return err
	}
	return o.env.Print(map[string]string{"agent": id}, "%s is no longer registered\n", id)
}

func (o *registrationOptions) heartbeat(ctx context.Context, d *verb.Service, _ []string) error {
	beat, err := d.Heartbeat(ctx)
	if err != nil {
		return forAnAgent(ctx, d, err, "heartbeat", "coder-1")
	}
	return o.env.Print(beat, "%s has its lease until %s\n", beat.Agent, beat.Lease)
}

// forAnAgent helps a person who forgot to say for which agent: whatever refused, the
// command that would do is named. A process inside of an agent is told so.
func forAnAgent(ctx context.Context, d *verb.Service, err error, command, who string) error {
	_, refused := errors.AsType[*transition.Refusal](err)
	if !refused || d.Caller.As != "" || d.Caller.AgentID != "" || d.InRun(ctx) {
		return err
	}
	return &transition.Refusal{Guard: "G03", Exit: transition.ExitRefused, Next: "liza --as " + who + " " + command,
		Message: command + " is for agents; a person says with --as for which one"}
}

// showDone prints the result of a verb that changes one task.
func (e *Env) showDone(done verb.Done, err error, format string, args ...any) error {
	return e.showResult(done, done, err, format, args...)
}

// showResult is showDone for a result that says more than Done.
func (e *Env) showResult(result any, done verb.Done, err error, format string, args ...any) error {
	if err != nil {
		return err
	}
	if !e.JSON {
		e.Notices(done.Notices)
	}
	line := fmt.Sprintf(format, args...)
	if done.Already {
		line = fmt.Sprintf("already done: %s is %s", done.Task, done.Status)
	}
	if done.Attic != "" {
		line += "; its work is kept as " + done.Attic
	}
	return e.Print(result, "%s\n", line)
}

func newIntent(env *Env) *urfave.Command {
	var (
		intent, validation        string
		assumptions, risks, files []string
	)
	return &urfave.Command{
		Name: "intent", Category: "agents", ArgsUsage: "ID", Usage: "record what will be done, before it is done (coder)",
		Description: "Adds a checkpoint to the task's history; the reviewer compares. Do it before the first commit." +
			examples("liza intent task-3 --intent 'Add --name' --validation 'python -m pytest'",
				"liza intent task-3 --intent 'Add --name' --validation 'make test' --risk 'argparse on 3.8' --file cli.py") + exitsText(0, 1, 2, 3, 4, 5, 6),
		Flags: []urfave.Flag{
			text("intent", "`T`: what will be done (required)", &intent),
			text("validation", "`T`: how it will be checked (required)", &validation),
			texts("assumption", "`T`: what is taken for granted", &assumptions),
			texts("risk", "`T`: what may go wrong", &risks),
			texts("file", "`P`: file that will be changed", &files),
		},
		Action: env.onService(func(ctx context.Context, d *verb.Service, args []string) error {
			done, err := d.Intent(ctx, args[0], blackboard.Intent{Intent: intent, Validation: validation, Assumptions: assumptions, Risks: risks, FilesToModify: files})
			return env.showDone(done, err, "the intent for %s is recorded", done.Task)
		}),
	}
}

func newSubmit(env *Env) *urfave.Command {
	var in verb.SubmitInput
	return &urfave.Command{
		Name: "submit", Aliases: []string{"submit-for-review"}, Category: "agents", ArgsUsage: "ID", Usage: "hand in a claimed task for review (coder)",
		Description: "CLAIMED becomes READY_FOR_REVIEW and the lease ends. The worktree must be clean, the commit its HEAD and more than its base, and code must\n" +
			"come with tests. All that is missing is named at once." +
			examples("liza submit task-3 --summary 'Added --name with tests'", "liza submit task-3 --commit 4f2a91c --no-tests 'only comments changed'") + exitsText(0, 1, 2, 3, 4, 5, 6),
		Flags: []urfave.Flag{
			&urfave.StringFlag{Name: "commit", Usage: "`SHA`: commit to review", DefaultText: "HEAD of the worktree", Destination: &in.Commit},
			text("summary", "`T`: what was done, for the reviewer", &in.Summary),
			text("no-tests", "`REASON` why there are no tests; the reviewer judges it", &in.NoTests),
			texts("evidence", "`P`: file that shows it", &in.Evidence),
		},
		Action: env.do(func(ctx context.Context, args []string) error {
			in.Task = args[0]
			d, err := env.Service(ctx)
			if err != nil {
				return err
			}
			done, err := d.Submit(ctx, in)
			if done.Commit == "" {
				return env.showResult(done, done.Done, err, "%s is %s", done.Task, done.Status)
			}
			return env.showResult(done, done.Done, err, "%s is %s at %.9s", done.Task, done.Status, done.Commit)
		}),
	}
}

func newBlock(env *Env) *urfave.Command {
	var in verb.BlockInput
	return &urfave.Command{
		Name: "block", Aliases: []string{"mark-blocked"}, Category: "agents", ArgsUsage: "ID", Usage: "stop a task with questions (coder, human)",
		Description: "CLAIMED becomes BLOCKED and the questions are put to people; a person may also block what nobody works on. With --attempted the coder counts\n" +
			"as failed on the task. Work in the worktree is kept." +
			examples("liza block task-3 --reason 'the spec names two formats' --question 'ISO 8601 or RFC 2822?'",
				"liza block task-3 --reason 'tests hang' --question 'Is Redis needed?' --attempted 'mocked the client'") + exitsText(0, 1, 2, 3, 4, 5, 6),
		Flags: []urfave.Flag{
			text("reason", "`T`: what keeps the task from going on (required)", &in.Reason),
			texts("question", "`T`: 1 to 3 questions (required)", &in.Questions),
			texts("attempted", "`T`: what was tried", &in.Attempted),
		},
		Action: env.do(func(ctx context.Context, args []string) error {
			in.Task, in.ByVerb = args[0], true
			d, err := env.Service(ctx)
			if err != nil {
				return err
			}
			done, err := d.Block(ctx, in)
			return env.showDone(done, err, "%s is %s", done.Task, done.Status)
		}),
	}
}

func newHandoff(env *Env) *urfave.Command {
	var (
		h            blackboard.Handoff
		files, steps []string
	)
	return &urfave.Command{
		Name: "handoff", Category: "agents", ArgsUsage: "ID", Usage: "pass half-done work on to the next run (coder, code_reviewer)",
		Description: "For an agent whose context is nearly full: commit, hand off, end. The next run on the same claim begins with the handoff in its prompt." +
			examples("liza handoff task-3 --summary 'parser done' --next-action 'write writer.go'",
				"liza handoff task-3 --summary 'half reviewed' --next-action 'look at cli.py' --file cli.py") + exitsText(0, 1, 2, 3, 4, 5, 6),
		Flags: []urfave.Flag{
			text("summary", "`T`: what is done (required)", &h.Summary),
			text("next-action", "`T`: what comes next (required)", &h.NextAction),
			text("approach", "`T`: how", &h.Approach),
			text("blockers", "`T`: what is in the way", &h.Blockers),
			texts("file", "`P`: file that was changed", &files),
			texts("step", "`T`: next steps, in order", &steps),
		},
		Action: env.do(func(ctx context.Context, args []string) error {
			h.FilesModified, h.NextSteps = files, steps
			d, err := env.Service(ctx)
			if err != nil {
				return err
			}
			done, err := d.Handoff(ctx, args[0], h)
			return env.showDone(done, err, "%s is handed off; end this run now", done.Task)
		}),
	}
}

func newResubmit(env *Env) *urfave.Command {
	var limits []string
	return &urfave.Command{
		Name: "resubmit", Category: "people", ArgsUsage: "ID", Usage: "let a task go on that a limit has stopped",
		Description: "BLOCKED by a limit becomes UNCLAIMED with the limits given; counters and worktree are kept, so the next\n" +
			"coder goes on where the last one was stopped. Refused while a limit is still reached." +
			examples("liza resubmit task-3 --limit cost_cents=2000", "liza resubmit task-3 --limit max_iterations=20") + exitsText(0, 1, 2, 3, 4, 5),
		Flags: []urfave.Flag{texts("limit", "`k=v` new limit of this task, such as cost_cents=2000", &limits)},
		Action: env.do(func(ctx context.Context, args []string) error {
			given, err := limitsOf(limits)
			if err != nil {
				return err
			}
			limits := blackboard.Settings{}
			for k, n := range given {
				limits[k] = n
			}
			d, err := env.Service(ctx)
			if err != nil {
				return err
			}
			done, err := d.Resubmit(ctx, args[0], limits)
			return env.showDone(done, err, "%s goes on (%s)", done.Task, done.Status)
		}),
	}
}
