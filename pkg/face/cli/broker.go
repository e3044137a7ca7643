package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/board/transition"
	"liza/pkg/face/verbs"
	"liza/pkg/run/broker"
)

// brokerVariable names the socket to which a command inside the run of an agent goes.
const brokerVariable = "LIZA_BROKER"

// withoutBoard are the commands that need nothing of the project: inside a run, too, they are carried
// out where they are called, and their files are those that are seen there. A supervisor refuses them.
var withoutBoard = []string{"completion", "demo", "help", "__man", "replay", "scripted-agent", "version"}

// overBroker carries out a command over the socket of the run in which it is called; false when there
// is none, or the command needs none.
func (e *Env) overBroker(args []string) (code int, over bool) {
	socket, name := e.System.Get(brokerVariable), commandIn(args)
	if socket == "" || name == "" || slices.Contains(withoutBoard, name) {
		return 0, false
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if e.System.Signals != nil {
		signals, forget := e.System.Signals()
		defer forget()
		go func() {
			select {
			case <-signals:
				cancel()
			case <-ctx.Done():
			}
		}()
	}
	client := broker.Client{Socket: socket, Stdin: e.System.Stdin, Stdout: e.System.Stdout, Stderr: e.System.Stderr, Open: func(name string) (io.ReadCloser, error) {
		f, err := e.openFile(name)
		if err != nil {
			return nil, errors.New(errText(err))
		}
		return f, nil
	}}
	request := broker.Request{Args: args, Dir: e.System.Dir, Terminal: e.Terminal}
	code, err := client.Do(ctx, request)
	if errors.Is(err, broker.ErrCut) && slices.Contains(repeatable, name) { // another supervisor goes on with the run, perhaps
		if again, failed := client.Do(ctx, request); failed == nil {
			code, err = again, nil
		}
	}
	if err != nil {
		e.JSON = wantsJSON(args)
		return e.fail(noBroker(err)), true
	}
	return code, true
}

// repeatable are the commands of agents that may be given again when it is not known whether they were carried out
// (specs/protocol.md#0.7), and those with which they look around.
var repeatable = []string{"submit", "submit-for-review", "verdict", "submit-verdict", "block", "intent", "handoff", "heartbeat", "show", "status", "diff", "log"}

// noBroker is what a command says to which nobody has answered.
func noBroker(err error) error {
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, broker.ErrGone):
		return &transition.Refusal{Exit: transition.ExitLeaseLost, Next: "end this run; a person: liza status",
			Message: "cannot reach the supervisor of this run: it has ended, or the run is over. Nothing was changed"}
	case errors.Is(err, broker.ErrCut):
		return &transition.Refusal{Exit: transition.ExitLeaseLost, Next: "end this run; a person: liza status",
			Message: "the supervisor of this run ended before it answered. What was asked for is done whole or not at all"}
	}
	return fmt.Errorf("cannot send the command to the supervisor of this run: %w", err)
}

// commandIn is the name of the command in a command line, "" for none.
func commandIn(args []string) string {
	for i := 0; i < len(args); i++ {
		option, dashed := strings.CutPrefix(args[i], "-")
		if !dashed {
			return args[i]
		}
		switch strings.TrimPrefix(option, "-") {
		case "C", "as", "log-format":
			i++ // its value
		}
	}
	return ""
}

// admits refuses what cannot come out of a run: what is for people, and what needs a terminal or a place
// of its own. It looks at nothing but the table of callers, so that no option and no variable helps.
func (i *insideRun) admits(e *Env, c *urfave.Command) error {
	who := callers[pathOf(c)]
	if who == 0 && len(c.Commands) > 0 {
		who = verbs.Everyone // a group alone shows what it is about
	}
	name, _, _ := strings.Cut(pathOf(c), " ")
	switch {
	case slices.Contains(withoutBoard, name): // liza never sends it: here its files would be those of the supervisor
		return &transition.Refusal{Guard: "G03", Exit: transition.ExitRefused, Next: "liza " + name + ", called as a program",
			Message: fmt.Sprintf("liza %s is carried out inside the run, not by its supervisor", name)}
	case e.System.As != "":
		return &transition.Refusal{Guard: "G04", Exit: transition.ExitRefused, Next: "liza help agents",
			Message: fmt.Sprintf("%s may not use --as: an agent acts for itself only", i.Run.Agent)}
	case who == verbs.Outside:
		return &transition.Refusal{Guard: "G03", Exit: transition.ExitRefused, Next: "liza help agents",
			Message: fmt.Sprintf("liza %s is not possible inside a run: it needs a terminal or a place of its own", pathOf(c))}
	case who != verbs.Everyone && who != verbs.ByVerb:
		return i.forPeople(pathOf(c))
	}
	if e.System.Root == "" {
		return nil
	}
	if rel, err := filepath.Rel(i.Run.Root, e.path(e.System.Root)); err != nil || !filepath.IsLocal(rel) {
		return &transition.Refusal{Guard: "G04", Exit: transition.ExitRefused, Next: "liza status",
			Message: fmt.Sprintf("%s works in %s, and its commands act there only", i.Run.Agent, i.Run.Root)}
	}
	return nil
}

func (i *insideRun) forPeople(command string) error {
	return &transition.Refusal{Guard: "G03", Exit: transition.ExitRefused, Next: "liza status",
		Message: fmt.Sprintf("%s may not use liza %s; human may", i.Run.Agent, command)}
}

// life is the context of a command that came out of a run. What only looks ends when the one who called
// it has gone; what changes the board comes to its end, unless the run is over.
func (i *insideRun) life(ctx context.Context, c *urfave.Command) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	if callers[pathOf(c)] == verbs.ByVerb || c.Name == "mcp" { // which ends with its stdin
		return ctx, cancel
	}
	go func() {
		select {
		case <-i.call.Gone:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}
