// Package cli has the commands of `liza` and `liza-agent`: what they are called, how they
// read their arguments, how they print, and with which exit code they end. A command is an
// options struct, a constructor and a run function in one file; it calls one verb (or
// reads one view) and shows what came of it. Rules of the board live elsewhere.
//
// Everything from outside comes in through Env. Errors return to one place, Env.fail.
package cli

import (
	"context"

	urfave "github.com/urfave/cli/v3"
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
