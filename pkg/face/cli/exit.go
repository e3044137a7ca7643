package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"liza/pkg/base/safefile"
	"liza/pkg/board/config"
	"liza/pkg/board/seal"
	"liza/pkg/board/store"
	"liza/pkg/board/transition"
	"liza/pkg/code/git"
	"liza/pkg/code/merge"
	"liza/pkg/code/project"
	"liza/pkg/team/supervisor"
)

// exitKind is one line of the table of exit codes (specs/decisions.md#D19).
type exitKind struct {
	Code  int
	Name  string // error.code in JSON
	Means string
}

// exits is the table behind help texts and specs/exit-codes.md.
var exits = []exitKind{
	{0, "ok", "done"},
	{1, "failure", "failure: git, a file, a program, a check or a merge conflict"},
	{2, "usage", "usage: a wrong or missing option or text"},
	{3, "invalid", "the state is invalid, or would become so"},
	{4, "refused", "refused: wrong status, role or identity"},
	{5, "locked", "locked by another process for too long; the message says by whom"},
	{6, "lease_lost", "the claim or registration was lost to somebody else"},
	{7, "nothing", "nothing to do; the message says what it waits for"},
	{8, "unreachable", "the database of the board cannot be reached; nothing was written"},
	{9, "uncertain", "the connection to the database was lost during a write; the message says that it may have been made"},
	{130, "interrupted", "interrupted by a person, or by ABORT"},
}

func exitName(code int) string {
	for _, x := range exits {
		if x.Code == code {
			return x.Name
		}
	}
	return "failure"
}

// report is what a failed command says: exit code, sentence, and the command that helps.
type report struct {
	code          int
	message, next string
}

// explain turns an error into its report. It is the one place that does (guideline 20).
func explain(err error) report {
	r := report{code: 1, message: strings.TrimSpace(err.Error())}
	if x, ok := errors.AsType[*transition.Refusal](err); ok {
		r.code, r.next = int(x.Exit), x.Next
	} else if x, ok := errors.AsType[*usageError](err); ok {
		r.code, r.next = 2, x.next
	} else if x, ok := errors.AsType[*project.Error](err); ok {
		r.next = x.Next
		if errors.Is(err, project.ErrInitialised) {
			r.code = 4
		}
	} else if _, ok := errors.AsType[*store.MovedError](err); ok {
		r.code = 4
	} else if _, ok := errors.AsType[*store.LockedError](err); ok {
		r.code, r.next = 5, "liza status"
	} else if _, ok := errors.AsType[*safefile.HeldError](err); ok {
		r.code, r.next = 5, "liza status"
	} else if _, ok := errors.AsType[*store.WentBackError](err); ok {
		r.code = 3
	} else if _, ok := errors.AsType[*store.ConflictError](err); ok {
		r.code = 3
	} else if _, ok := errors.AsType[*store.InvalidError](err); ok {
		r.code = 3
	} else if _, ok := errors.AsType[*seal.NoKeyError](err); ok {
		r.code = 4
	} else if _, ok := errors.AsType[*store.VersionError](err); ok {
		r.code, r.next = 3, "liza version"
	} else if _, ok := errors.AsType[*config.KeyError](err); ok {
		r.code, r.next = 2, "liza config --all"
	} else if x, ok := errors.AsType[*config.ValueError](err); ok {
		r.code, r.next = 3, "edit "+cmp.Or(x.File, ".liza/config.yaml")
		switch x.Variable {
		case "":
		case config.CommandLine:
			r.next = "liza config " + x.Key
		default:
			r.next = "unset " + x.Variable
		}
	} else if x, ok := errors.AsType[*config.FileError](err); ok {
		r.code, r.next = 3, "edit "+cmp.Or(x.File, ".liza/config.yaml")
	} else if x, ok := errors.AsType[*merge.FailedError](err); ok {
		r.next = "liza show " + x.Result.Task
	} else if x, ok := errors.AsType[*merge.MoveError](err); ok {
		r.next = `liza tell planner "TEXT", with which the planner makes a task of it`
		if x.Log != "" {
			r.next = "cat " + x.Log
		}
	} else if _, ok := errors.AsType[*git.UnsavedError](err); ok {
		r.next = "git status"
	} else if code, next := explainDatabase(err); code > 0 {
		r.code, r.next = code, next
	}
	switch {
	case errors.Is(err, supervisor.ErrAborted) || errors.Is(err, context.Canceled):
		r.code = 130
		r.next = cmp.Or(r.next, "liza status")
	case errors.Is(err, supervisor.ErrIdle):
		r.code = 7
	case errors.Is(err, git.ErrLocked):
		r.code = 5
	case errors.Is(err, git.ErrVersion):
		r.next = "git --version"
	}
	if g, ok := errors.AsType[*supervisor.GaveUp](err); ok {
		r.next = cmp.Or(r.next, g.Next)
	}
	r.next = cmp.Or(safefile.Helps(err), r.next, transition.NextOf(err), "liza status")
	r.message = strings.TrimSuffix(r.message, "; next: "+r.next) // it is said once
	return r
}

// fail shows an error and returns the exit code.
func (e *Env) fail(err error) int {
	if x, ok := errors.AsType[*errDone](err); ok {
		return x.code
	}
	r := explain(err)
	if e.JSON {
		_ = e.printJSON(map[string]any{"ok": false, "error": map[string]any{"code": exitName(r.code), "message": r.message, "next": r.next}})
		return r.code
	}
	e.tell(r)
	return r.code
}

// tell writes an error where diagnostics go.
func (e *Env) tell(r report) {
	e.System.Log().Error(r.message, "code", exitName(r.code), "next", r.next)
}

// exitsText is the part of a help text that lists the exit codes of a command.
func exitsText(codes ...int) string {
	var parts []string
	for _, c := range codes {
		parts = append(parts, fmt.Sprintf("%d %s", c, exitName(c)))
	}
	return exitsHead + strings.Join(parts, " · ")
}

// examples is the part of a help text that shows calls.
func examples(lines ...string) string {
	return examplesHead + "\n   " + strings.Join(lines, "\n   ")
}

// The heads of the last two parts of a command's description.
const (
	examplesHead = "\n\nExamples:"
	exitsHead    = "\n\nExit codes: "
)

// explainOffline is explain for those who are shown the copy while the database cannot be reached: only what needs the
// database fails.
func explainOffline(err error) report {
	r := explain(err)
	if r.code == unreachable {
		r.message = "this needs the database, and nothing was changed: " + r.message
	}
	return r
}
