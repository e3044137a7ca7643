package cli

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/board/transition"
	"liza/pkg/face/verbs"
)

// serve runs a tree of commands and returns the exit code.
func (e *Env) serve(ctx context.Context, app *urfave.Command, args []string) (code int) {
	defer e.mask()()
	defer func() {
		if r := recover(); r != nil {
			code = e.fail(bug(r))
		}
	}()
	if e.System.Late == nil {
		e.System.Late = new(sync.WaitGroup)
	}
	defer e.System.Close()
	defer e.System.Late.Wait()
	var help helpSwitch
	app.Flags = append(app.Flags, helpFlag(&help))
	app.Reader, app.Writer, app.ErrWriter = e.System.Stdin, e.System.Stdout, e.System.Stderr
	app.HideHelp, app.HideVersion = true, true
	app.ExitErrHandler = func(context.Context, *urfave.Command, error) {}
	err := app.Walk(func(c *urfave.Command) error {
		e.wrap(c, &help)
		return nil
	})
	if err == nil {
		err = app.Run(ctx, args)
		e.tellNotes(ctx)
	}
	if err == nil {
		return 0
	}
	if _, ok := errors.AsType[*usageError](err); ok && wantsJSON(args) {
		e.JSON = true // the option may be behind the one that was wrong
	}
	e.System.Unsaved(err)
	return e.fail(err)
}

func helpFlag(help *helpSwitch) urfave.Flag {
	return &urfave.GenericFlag{Name: "help", Aliases: []string{"h"}, Usage: "print the help of a command", Value: help}
}

// helpSwitch is the option --help. It is not a bool, because the library would print its own
// help for one of that name.
type helpSwitch struct{ on bool }

// IsBoolFlag tells the parser that no value follows.
func (h *helpSwitch) IsBoolFlag() bool { return true }

// Set is called when the option is given.
func (h *helpSwitch) Set(string) error { h.on = true; return nil }

// Get is for the library, which must not find a bool.
func (h *helpSwitch) Get() any { return "" }

func (h *helpSwitch) String() string { return "" }

// wrap gives a command what all have in common: --help, checks of the arguments and of the
// global options, and usage errors in our words.
func (e *Env) wrap(c *urfave.Command, help *helpSwitch) {
	action := c.Action
	if list := c.Command("list"); action == nil && list != nil {
		action = list.Action // a group alone lists what it is about
	}
	c.DisableSliceFlagSeparator = true // texts have commas
	c.OnUsageError = func(_ context.Context, c *urfave.Command, err error, _ bool) error { return usageErrorOf(c, err) }
	c.Action = func(ctx context.Context, c *urfave.Command) error {
		switch {
		case help.on && c.Root() == c:
			if name := c.Args().First(); name != "" {
				return unknownCommand(c, name)
			}
			return helpPages{e}.overview(c)
		case help.on:
			return helpPages{e}.helpOf(c)
		case e.System.LogFormat != "" && e.System.LogFormat != "text" && e.System.LogFormat != "json":
			return usagef(helpCommand(c), "--log-format '%s' must be text or json", e.System.LogFormat)
		case len(c.Commands) > 0 && c.Root() != c && c.Args().Present():
			return unknownCommand(c, c.Args().First())
		case action == nil:
			return usagef(helpCommand(c), "%s needs one of its commands: %s", c.FullName(), strings.Join(names(c.Commands), ", "))
		}
		if e.inside != nil && c.Root() != c {
			if err := e.inside.admits(e, c); err != nil {
				return err
			}
			var end func()
			ctx, end = e.inside.life(ctx, c)
			defer end()
		}
		if len(c.Commands) == 0 {
			if err := checkArguments(c); err != nil {
				return err
			}
		}
		if callers[pathOf(c)] == verbs.Gated {
			if err := e.personOnly(ctx, "use liza "+pathOf(c)); err != nil {
				return err
			}
		}
		return action(ctx, c)
	}
}

// bug turns a panic into an error that says where it came from.
func bug(r any) error {
	where := "an unknown place"
	lines := strings.Split(string(debug.Stack()), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "panic(") {
			for _, l := range lines[i+1:] {
				file := strings.TrimPrefix(l, "\t")
				if file != l && !strings.HasPrefix(file, "runtime/") && !strings.Contains(file, "/runtime/") { // without a path when it was built with -trimpath
					where, _, _ = strings.Cut(file, " ")
					break
				}
			}
			break
		}
	}
	return &transition.Refusal{Exit: transition.ExitFailure, Next: "liza validate",
		Message: fmt.Sprintf("this is a bug in liza %s: %v at %s; nothing half done is left on the board", version, r, where)}
}

func (e *Env) serveLiza(ctx context.Context, args []string) int {
	return e.serve(ctx, e.tree(e), append([]string{"liza"}, args...))
}
