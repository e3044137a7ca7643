package cli

import (
	"context"
	"os"

	"liza/pkg/agent"
	"liza/pkg/sandbox"
	"liza/pkg/store/postgres"
)

// helper runs either program as one of the processes of a run, its reaper or the launcher inside its wall, which are
// commands of nobody's. They come before everything else, because each run waits for them.
func helper(args []string) (code int, ok bool) {
	if agent.IsReaper(args) {
		return agent.Reap(), true
	}
	if inside, ok := sandbox.Entered(args); ok {
		return sandbox.Enter(inside), true
	}
	if sandbox.Attempted(args, os.Stdout, postgres.TryOpen) {
		return 0, true
	}
	return 0, false
}

// Liza is the program liza.
func Liza(args []string, env *Env) int {
	if code, ok := helper(args); ok {
		return code
	}
	env.tree = lizaCommand
	env.collectRarely()
	if code, over := env.overBroker(args); over {
		return code
	}
	return env.serveLiza(context.Background(), args)
}

// Agent is the program liza-agent: the supervisor of one agent terminal (specs/cli.md#5).
func Agent(args []string, env *Env) int {
	if code, ok := helper(args); ok {
		return code
	}
	env.tree = lizaCommand
	return env.serve(context.Background(), agentCommand(env, &agentOptions{env: env}), append([]string{"liza-agent"}, args...))
}
