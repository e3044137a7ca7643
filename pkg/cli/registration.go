package cli

import (
	"cmp"
	"context"
	"errors"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/transition"
	"liza/pkg/verb"
)

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
