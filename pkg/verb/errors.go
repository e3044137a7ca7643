package verb

import (
	"fmt"

	"liza/pkg/transition"
)

// Refuse is a refusal by no guard of the state (exit 4): of what was found elsewhere.
func Refuse(next, format string, args ...any) error {
	return &transition.Refusal{Exit: transition.ExitRefused, Next: next, Message: fmt.Sprintf(format, args...)}
}

// Fail says that something could not be done (exit 1), and what helps.
func Fail(next, format string, args ...any) error {
	return &transition.Refusal{Exit: transition.ExitFailure, Next: next, Message: fmt.Sprintf(format, args...)}
}

func shortSHA(s string) string {
	if len(s) > 9 {
		return s[:9]
	}
	return s
}

// WrongUsage refuses what a command was given (exit 2).
func WrongUsage(next, format string, args ...any) error {
	return &transition.Refusal{Exit: transition.ExitUsage, Next: next, Message: fmt.Sprintf(format, args...)}
}

// NothingToDo says that there is nothing to do now, and what the caller waits for (exit 7).
func NothingToDo(why string) error {
	return &transition.Refusal{Exit: transition.ExitNothing, Next: "liza status", Message: why}
}
