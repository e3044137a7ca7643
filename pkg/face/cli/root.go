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
	"strings"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/board/store/postgres"
	"liza/pkg/run/agent"
	"liza/pkg/run/sandbox"
	"liza/pkg/verb/verb"
)

// lizaCommand is the tree of all commands.
func lizaCommand(env *Env) *urfave.Command {
	app := &urfave.Command{
		Name: "liza", Usage: "a supervisor of coding agents that work on one git repository",
		Flags: []urfave.Flag{
			text("C", "`DIR` project folder instead of the current one", &env.Root),
			flag("json", "print exactly one JSON object on stdout", &env.JSON),
			text("as", "`AGENT_ID` a person acts for this agent", &env.As),
			&urfave.StringFlag{Name: "log-format", Value: "text", Usage: "`FORMAT` of diagnostics on stderr: text or json", Destination: &env.LogFormat},
			&urfave.BoolFlag{Name: "version", Usage: "print the version", Local: true},
		},
		Commands: []*urfave.Command{
			newInit(env), newJoin(env), newRun(env), newStatus(env), newShow(env), newDiff(env), newOutput(env), newAttach(env), newLog(env), newValidate(env), newGraph(env), newWatch(env), newTop(env), newReport(env), newMetrics(env), newServe(env),
			newPause(env), newResume(env), newAbort(env), newCheckpoint(env), newAnalyze(env), newAck(env), newNote(env), newComment(env), newFacts(env), newSpecChange(env), newQuestions(env), newAnswer(env), newExplain(env),
			newEdit(env), newRestore(env), newStore(env), newSeal(env), newUsage(env), newStop(env), newRestart(env), newHold(env), newUnhold(env), newApproveMerge(env), newRejectMerge(env), newRelease(env), newResubmit(env),
			newGoal(env), newSprint(env), newIntegration(env), newSync(env), newLand(env), newImport(env), newArchive(env), newGC(env), newUninit(env), newDoctor(env), newCheck(env), newSandbox(env), newConfig(env), newRoles(env), newPreview(env), newHistory(env), newStep(env), newPoststep(env), newRestep(env), newRerun(env), newReplay(env), newDemo(env), newMCP(env), newVersion(env), newCompletion(env), newComplete(env),

			newAddTask(env), newFinalize(env), newPlan(env), newIntent(env), newSubmit(env), newVerdict(env),
			newBlock(env), newUnblock(env), newSupersede(env), newAbandon(env), newHandoff(env), newDiscover(env), newConvert(env), newDefer(env), newAnomaly(env),

			newClaim(env), newClaimReview(env), newMerge(env), newHeartbeat(env), newRegister(env), newUnregister(env),
			newWorktree(env), newScriptedAgent(env), newMan(env),
		},
	}
	app.Commands = append(app.Commands, newWorktreeAliases(env)...)
	app.Commands = append(app.Commands, newHelp(env, app))
	app.Action = func(_ context.Context, c *urfave.Command) error {
		if c.Bool("version") {
			return env.printVersion()
		}
		if name := c.Args().First(); name != "" {
			return unknownCommand(c, name)
		}
		return env.overview(app)
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

// do makes the action of a command from its run function, which gets the positional
// arguments. The first signal ends its context; the second one ends the program.
func (e *Env) do(run func(ctx context.Context, args []string) error) urfave.ActionFunc {
	return func(ctx context.Context, c *urfave.Command) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		if e.Signals != nil {
			signals, forget := e.Signals()
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
	return e.onProject(e.Service, run)
}

// onReader is do for a command that only reads.
func (e *Env) onReader(run func(ctx context.Context, d *verb.Service, args []string) error) urfave.ActionFunc {
	return e.onProject(e.Reader, run)
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

// who may use a command.
type who int

const (
	everyone who = iota + 1 // it shows something, or makes something outside of the project
	byVerb                  // the rules of the board say who, within the write
	people                  // people only; its verb sees to that
	gated                   // people only, and nothing behind it looks at who calls: wrap does
	outside                 // everyone, but not from inside a run: it needs a terminal, or a place of its own
)

// callers has every command. A new one has to be entered: who may use it is a decision.
var callers = map[string]who{
	"__complete": everyone, "completion": everyone, "config get": everyone, "config list": everyone, "config schema": everyone, "config show": everyone, "config validate": everyone, "attach": outside, "demo": outside, "diff": everyone,
	"doctor": everyone, "explain": everyone, "facts list": everyone, "graph": everyone, "help": everyone, "history": everyone, "init": outside, "join": outside,
	"log": everyone, "man": everyone, "mcp": everyone, "metrics": everyone, "output": people, "plan show": everyone, "preview": everyone, "questions": everyone, "replay": everyone,
	"report": everyone, "roles diff": everyone, "roles list": everyone, "roles resolve": everyone, "roles show": everyone, "roles validate": everyone,
	"sandbox exec": outside, "sandbox explain": everyone, "scripted-agent": everyone, "show": everyone, "store list": everyone, "store roles": everyone, "status": everyone, "top": outside, "usage": everyone, "validate": everyone, // --fix: people
	"version": everyone, "watch": everyone, "worktree list": everyone,

	"abandon": byVerb, "add-task": byVerb, "anomaly": byVerb, "block": byVerb, "claim": byVerb, "claim-review": byVerb, "convert": byVerb,
	"defer": byVerb, "discover": byVerb, "facts add": byVerb, "finalize": byVerb, "handoff": byVerb, "heartbeat": byVerb, "intent": byVerb,
	"merge": byVerb, "plan apply": byVerb, "register": byVerb, "release": byVerb, "spec-change": byVerb, "submit": byVerb, "supersede": byVerb,
	"unblock": byVerb, "unregister": byVerb, "verdict": byVerb,

	"abort": people, "ack": people, "analyze": people, "answer": people, "approve-merge": people, "archive": people, "checkpoint": people, "comment": people,
	"edit": people, "facts approve": people, "goal": people, "facts rm": people, "gc": people, "hold": people, "note": people, "pause": people, "poststep": people,
	"reject-merge": people, "rerun": people, "restep": people, "restart": people, "restore": people, "resubmit": people, "resume": people, "seal": people, "sprint next": people, "stop": people,
	"unhold": people, "uninit": people,

	"check": gated, "config set": gated, "integration accept": gated, "integration restore": gated, "land": gated, "import": gated, "roles reset": gated, "run": gated, "serve": gated, "step": gated, "store move": gated, "store upgrade": gated, "sync": gated, "worktree create": gated, "worktree remove": gated,
	"wt-create": gated, "wt-delete": gated,
}

// pathOf is what a command is called behind the name of the program.
func pathOf(c *urfave.Command) string {
	_, path, _ := strings.Cut(c.FullName(), " ")
	return path
}

// personOnly refuses an agent, also one that hides who it is; what completes "coder-1 may not …".
// Without a project there is nothing to protect, and the command says what is missing.
func (e *Env) personOnly(ctx context.Context, what string) error {
	p, err := e.Find(ctx)
	if err != nil {
		return nil
	}
	d, err := e.openAt(ctx, p, true)
	if err != nil {
		return err
	}
	return d.PersonOnly(ctx, what)
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
