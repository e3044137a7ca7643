package supervisor

import (
	"cmp"
	"errors"
	"fmt"

	"liza/pkg/base/prose"
	"liza/pkg/base/safefile"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
)

func exitOf(err error) transition.Exit {
	var r *transition.Refusal
	if errors.As(err, &r) {
		return r.Exit
	}
	return 0
}

func isLost(err error) bool { return exitOf(err) == transition.ExitLeaseLost }

func isRefused(err error) bool { return exitOf(err) == transition.ExitRefused }

func isNothing(err error) bool { return exitOf(err) == transition.ExitNothing }

// A panicError is a mistake in Liza that showed itself in one member of a team. It ends what that member is at and
// nothing else.
type panicError struct {
	value any
	log   string // where the stack is
}

func (e *panicError) Error() string {
	text := fmt.Sprintf("a mistake in Liza: %v", e.value)
	if e.log != "" {
		text += " (see " + e.log + ")"
	}
	return text
}

// GaveUp is why a supervisor ended by itself: what it was at work on, why, and what a person can do.
type GaveUp struct {
	Task  string // "" when it was about none
	Why   string
	Next  string         // "" when nothing better than a look at the board is known
	Extra map[string]any // for the journal

	cause error // nil: none
}

// gaveUp is a GaveUp because of cause, after "why: " where there is a why.
func gaveUp(why string, cause error) *GaveUp {
	if why != "" {
		why += ": "
	}
	return &GaveUp{Why: why + cause.Error(), cause: cause}
}

func (g *GaveUp) Error() string {
	text := ErrGaveUp.Error()
	if g.Task != "" {
		text += " on " + g.Task
	}
	return text + ": " + g.Why
}

func (g *GaveUp) Unwrap() error { return g.cause }

// next is the command that helps: its own, else that of the cause, else a look at the board.
func (g *GaveUp) next() string { return cmp.Or(g.helps(), "liza status") }

// helps is the command that helps, "" when none is known.
func (g *GaveUp) helps() string {
	return cmp.Or(safefile.Helps(g.cause), g.Next, transition.NextOf(g.cause))
}

// withNext is the text of err with the command that helps, where one is known.
func withNext(err error) string {
	g, _ := errors.AsType[*GaveUp](err)
	if g == nil {
		g = &GaveUp{cause: err}
	}
	return err.Error() + prose.After("; next: ", g.helps())
}

// Is makes every GaveUp an ErrGaveUp.
func (g *GaveUp) Is(target error) bool { return target == ErrGaveUp }

// A limitError says which limit stopped a run: one of its task, or one of the sprint or day.
type limitError struct {
	task   *blackboard.Halt
	sprint *transition.Overspent
}

func (e *limitError) Error() string {
	if e.task != nil {
		return fmt.Sprintf("the %s limit is reached: %s of %d", e.task.Kind, e.task.Value, e.task.Limit)
	}
	return e.sprint.String()
}
