package cli

import (
	"fmt"

	"liza/pkg/verb"
)

// showDone prints the result of a verb that changes one task.
func (e *Env) showDone(done verb.Done, err error, format string, args ...any) error {
	return e.showResult(done, done, err, format, args...)
}

// showResult is showDone for a result that says more than Done.
func (e *Env) showResult(result any, done verb.Done, err error, format string, args ...any) error {
	if err != nil {
		return err
	}
	if !e.JSON {
		e.Notices(done.Notices)
	}
	line := fmt.Sprintf(format, args...)
	if done.Already {
		line = fmt.Sprintf("already done: %s is %s", done.Task, done.Status)
	}
	if done.Attic != "" {
		line += "; its work is kept as " + done.Attic
	}
	return e.Print(result, "%s\n", line)
}
