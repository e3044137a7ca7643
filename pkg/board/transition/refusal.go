package transition

import (
	"errors"
	"fmt"

	"liza/pkg/board/blackboard"
)

// Exit is the class of a refusal; its value is the exit code of specs/protocol.md#0.6.
type Exit int

// The classes that rules can refuse with.
const (
	ExitFailure   Exit = 1
	ExitUsage     Exit = 2
	ExitInvalid   Exit = 3
	ExitRefused   Exit = 4
	ExitLeaseLost Exit = 6
	ExitNothing   Exit = 7
)

// ErrAlreadyDone is returned for a repetition of the event that is the latest of its
// task and still holds (specs/protocol.md#0.7): nothing changes, and the caller reports success.
var ErrAlreadyDone = errors.New("already done")

// IsAlreadyDone reports whether err says that the event has happened already.
func IsAlreadyDone(err error) bool { return errors.Is(err, ErrAlreadyDone) }

// Refusal says why an event is not allowed. The state is unchanged.
type Refusal struct {
	Guard   string // the guard of specs/protocol.md#4.2 that refused, "G31"
	Exit    Exit
	Message string // one sentence
	Next    string // the one command that helps, without "next: "
	Unsaved string // the task whose work could not be saved, where that is why
}

func (r *Refusal) Error() string { return r.Message }

// Advice is the refusal with the command that helps, as an agent is told.
func (r *Refusal) Advice() string {
	if r.Next == "" {
		return r.Message
	}
	return r.Message + " (next: " + r.Next + ")"
}

// Refuse is a refusal by no guard of the state: of what a command was given, or of what was found elsewhere.
func Refuse(exit Exit, next, format string, args ...any) error {
	return refuse("", exit, next, format, args...)
}

func refuse(guard string, exit Exit, next, format string, args ...any) *Refusal {
	return &Refusal{Guard: guard, Exit: exit, Next: next, Message: fmt.Sprintf(format, args...)}
}

func unknownTask(s *blackboard.State, id string) error {
	if a, ok := s.ArchivedTasks()[id]; ok {
		return refuse("G05", ExitRefused, "liza show "+id, "task '%s' is archived (%s)", id, a.Status)
	}
	var ids []string
	for t := range s.Tasks() {
		ids = append(ids, t.ID)
	}
	return refuse("G05", ExitRefused, "liza status", "no task '%s'%s", id, didYouMean(id, ids))
}

// didYouMean ends a refusal with the known id that is nearest to id, "" when none is near.
func didYouMean(id string, known []string) string {
	if near := blackboard.Nearest(id, known); near != "" {
		return "; did you mean '" + near + "'?"
	}
	return ""
}
