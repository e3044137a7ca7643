// Package cli has the commands of `liza` and `liza-agent`: what they are called, how they
// read their arguments, how they print, and with which exit code they end. A command is an
// options struct, a constructor and a run function in one file; it calls one verb (or
// reads one view) and shows what came of it. Rules of the board live elsewhere.
//
// Everything from outside comes in through Env. Errors return to one place, Env.fail.
package cli

import (
	"context"
	"os"
	"runtime"
	"slices"
	"strings"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/board/store/postgres"
	"liza/pkg/face/verbs"
	"liza/pkg/run/agent"
	"liza/pkg/run/sandbox"
	"liza/pkg/run/service"
	"liza/pkg/verb/verb"
)

// lizaCommand is the tree of all commands.
func lizaCommand(env *Env) *urfave.Command {
	app := &urfave.Command{
		Name: "liza", Usage: "a supervisor of coding agents that work on one git repository",
		Flags: []urfave.Flag{
			text("C", "`DIR` project folder instead of the current one", &env.System.Root),
			flag("json", "print exactly one JSON object on stdout", &env.JSON),
			text("as", "`AGENT_ID` a person acts for this agent", &env.System.As),
			&urfave.StringFlag{Name: "log-format", Value: "text", Usage: "`FORMAT` of diagnostics on stderr: text or json", Destination: &env.System.LogFormat},
			&urfave.BoolFlag{Name: "version", Usage: "print the version", Local: true},
		},
	}
	app.Commands = slices.Concat([]*urfave.Command{ // the help has them in this order, in the group of each
		newHelp(env, app), newInit(env), newRun(env), newDemo(env), newGoal(env), newDoctor(env), newCheck(env), newSandbox(env), newConfig(env),
		newStatus(env), newShow(env), newDiff(env), newOutput(env), newAttach(env), newOpen(env), newLog(env), newWatch(env), newTop(env), newServe(env), newReport(env), newUsage(env), newValidate(env),
		newPoststep(env), newMCP(env), newVersion(env), newCompletion(env),
	}, env.verbCommands(), []*urfave.Command{
		newPlan(env), newImport(env), newLand(env), newRoles(env), newRestore(env), newStore(env), newGC(env), newUninit(env),
		newReplay(env),
		newComplete(env), newScriptedAgent(env), newMan(env),
	})
	newEdit(env, app.Command("edit"))
	app.Action = func(_ context.Context, c *urfave.Command) error {
		if c.Bool("version") {
			return env.printVersion()
		}
		if name := c.Args().First(); name != "" {
			return unknownCommand(c, name)
		}
		return helpPages{env}.overview(app)
	}
	return app
}

// helper runs either program as one of the processes of a run, its reaper or the launcher inside its wall, which are
// commands of nobody's. They come before everything else, because each run waits for them.
func helper(args []string) (code int, ok bool) {
	if agent.IsReaper(args) {
		return agent.Reap(), true
	}
	if inside, ok := sandbox.Entered(args); ok {
		return sandbox.Enter(inside), true
	}
	if inside, ok := service.Attended(args); ok {
		return service.Attend(inside), true
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
	env.System.CollectRarely()
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

// do makes the action of a command from its run function, which gets the positional
// arguments. The first signal ends its context; the second one ends the program.
func (e *Env) do(run func(ctx context.Context, args []string) error) urfave.ActionFunc {
	return func(ctx context.Context, c *urfave.Command) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		if e.System.Signals != nil {
			signals, forget := e.System.Signals()
			defer forget()
			go func() {
				select {
				case <-signals:
					forget()
					cancel()
				case <-ctx.Done():
				}
			}()
		}
		return run(ctx, c.Args().Slice())
	}
}

// onService is do for a command that may change the project.
func (e *Env) onService(run func(ctx context.Context, d *verb.Service, args []string) error) urfave.ActionFunc {
	return e.onProject(e.System.Service, run)
}

// onReader is do for a command that only reads.
func (e *Env) onReader(run func(ctx context.Context, d *verb.Service, args []string) error) urfave.ActionFunc {
	return e.onProject(e.System.Reader, run)
}

func (e *Env) onProject(open func(context.Context) (*verb.Service, error), run func(ctx context.Context, d *verb.Service, args []string) error) urfave.ActionFunc {
	return e.do(func(ctx context.Context, args []string) error {
		d, err := open(ctx)
		if err != nil {
			return err
		}
		return run(ctx, d, args)
	})
}

// callers has every command and who may use it: that of a verb from its declaration, the others from this table. A new one has
// to be entered: who may use it is a decision.
var callers = withVerbs(map[string]verbs.Who{
	"__complete": verbs.Everyone, "__man": verbs.Everyone, "completion": verbs.Everyone, "config": verbs.Everyone,
	"diff": verbs.Everyone, "doctor": verbs.Everyone,
	"help": verbs.Everyone, "log": verbs.Everyone, "mcp": verbs.Everyone,
	"replay": verbs.Everyone, "report": verbs.Everyone, "roles": verbs.Everyone, "sandbox explain": verbs.Everyone,
	"scripted-agent": verbs.Everyone, "show": verbs.Everyone, "status": verbs.Everyone, "usage": verbs.Everyone, "validate": verbs.Everyone, "version": verbs.Everyone, "watch": verbs.Everyone,

	"plan apply": verbs.ByVerb,

	"gc": verbs.People, "goal": verbs.People, "output": verbs.People, "poststep": verbs.People,
	"restore": verbs.People, "store key": verbs.People, "uninit": verbs.People,

	"check": verbs.Gated, "import": verbs.Gated, "land": verbs.Gated, "open": verbs.Gated, "run": verbs.Gated, "serve": verbs.Gated,
	"store move": verbs.Gated, "store upgrade": verbs.Gated,

	"attach": verbs.Outside, "demo": verbs.Outside, "init": verbs.Outside, "sandbox exec": verbs.Outside, "top": verbs.Outside,
})

func withVerbs(table map[string]verbs.Who) map[string]verbs.Who {
	for _, v := range verbs.All() {
		if v.Who != 0 && v.Of == "" {
			table[v.Name] = v.Who
		}
	}
	return table
}

// pathOf is what a command is called behind the name of the program.
func pathOf(c *urfave.Command) string {
	_, path, _ := strings.Cut(c.FullName(), " ")
	return path
}

// personOnly refuses an agent, also one that hides who it is; what completes "coder-1 may not …".
// Without a project there is nothing to protect, and the command says what is missing.
func (e *Env) personOnly(ctx context.Context, what string) error {
	p, err := e.System.Find(ctx)
	if err != nil {
		return nil
	}
	d, err := e.System.OpenAt(ctx, p, true)
	if err != nil {
		return err
	}
	return d.Board.PersonOnly(ctx, what)
}

func newVersion(env *Env) *urfave.Command {
	return &urfave.Command{
		Name: "version", Category: "plumbing", Usage: "print the version",
		Description: "Changes nothing and needs no project." + examples("liza version", "liza version --json") + exitsText(0, 1, 2),
		Action:      func(context.Context, *urfave.Command) error { return env.printVersion() },
	}
}

func (e *Env) printVersion() error {
	result := map[string]string{"version": version, "go": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH}
	return e.Print(result, "liza %s (%s, %s)\n", version, result["go"], result["platform"])
}
