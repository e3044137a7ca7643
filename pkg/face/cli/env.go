package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	urfave "github.com/urfave/cli/v3"

	"liza/pkg/run/broker"
	"liza/pkg/team/assembly"
)

// Env is what a command gets: everything that comes from outside, and the options of its terminal.
type Env struct {
	System        assembly.Environment // what comes from outside
	Terminal      bool                 // stdout is a terminal
	StdinTerminal bool
	JSON          bool // of the global options

	reached *forges // see forges

	tree   func(*Env) *urfave.Command    // all commands of liza: what comes out of a run goes through them as well
	direct struct{ out, errs io.Writer } // streams that are not masked, for programs of their own
	inside *insideRun                    // the command came out of a run, over its broker
}

// mask lets no secret get to the terminal. The function that it returns writes what is held
// back because it might have been the beginning of one.
func (e *Env) mask() (flush func()) {
	e.direct.out, e.direct.errs = e.System.Stdout, e.System.Stderr
	out, errs := e.System.Secrets().Writer(e.System.Stdout), e.System.Secrets().Writer(e.System.Stderr)
	e.System.Stdout, e.System.Stderr = out, errs
	return func() {
		_ = out.Close() // there is nobody left to tell
		_ = errs.Close()
		e.System.Stdout, e.System.Stderr = e.direct.out, e.direct.errs
	}
}

// Print shows the result of a command: one JSON object with --json, else the text.
func (e *Env) Print(result any, format string, args ...any) error {
	if e.JSON {
		return e.printJSON(map[string]any{"ok": true, "result": result})
	}
	_, err := fmt.Fprintf(e.System.Stdout, format, args...)
	return err
}

func (e *Env) printJSON(v any) error {
	enc := json.NewEncoder(e.System.Stdout)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// Notices shows warnings that belong to a result, on stderr.
func (e *Env) Notices(list []string) {
	for _, n := range list {
		e.System.Log().Warn(n)
	}
}

// errDone ends a command whose exit code is not 0 although its output is complete.
type errDone struct{ code int }

func (e *errDone) Error() string { return fmt.Sprintf("exit code %d", e.code) }

// usageError is a mistake on the command line.
type usageError struct{ message, next string }

func (e *usageError) Error() string { return e.message }

func usagef(next, format string, args ...any) error {
	return &usageError{message: fmt.Sprintf(format, args...), next: next}
}

// printRaw prints JSON as it is, or with --json inside the usual object.
func (e *Env) printRaw(key string, v any) error {
	if e.JSON {
		return e.printJSON(map[string]any{"ok": true, "result": map[string]any{key: v}})
	}
	return writeJSON(e.System.Stdout, v)
}

func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// insideRun is the run out of which a command came over its broker.
type insideRun struct {
	*assembly.Within
	call *broker.Call
}

// version is stamped by the linker (-X liza/pkg/face/cli.version=…).
var version = "dev"

// Std is the environment of a real process.
func Std() *Env {
	e := &Env{System: assembly.FromSystem(version), Terminal: isTerminal(os.Stdout), StdinTerminal: isTerminal(os.Stdin)}
	e.System.FindProcesses()
	return e
}
