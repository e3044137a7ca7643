package cli

import (
	"context"
	"strings"

	urfave "github.com/urfave/cli/v3"
)

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
