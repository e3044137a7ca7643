package supervisor

import (
	"cmp"
	"errors"
	"fmt"

	"liza/pkg/base/prose"
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
func (g *GaveUp) next() string {
	return cmp.Or(g.Next, transition.NextOf(g.cause), "liza status")
}

// withNext is the text of err with the command that helps, where it gave up and names one.
func withNext(err error) string {
	if g, ok := errors.AsType[*GaveUp](err); ok {
		return err.Error() + prose.After("; next: ", g.Next)
	}
	return err.Error()
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
