package store

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"liza/pkg/base/safefile"
	"liza/pkg/base/yamldoc"
	"liza/pkg/board/blackboard"
)

// A LockedError is returned when the lock was not free in time. It names the holder.
type LockedError struct{ Held *safefile.HeldError }

func (e *LockedError) Error() string { return e.Held.Error() }

// Unwrap returns the error of the lock.
func (e *LockedError) Unwrap() error { return e.Held }

// An InvalidError is returned for an unreadable state, and for a write with violations in the parts that it touches. Nothing
// was written.
type InvalidError struct {
	Path       string
	Violations []blackboard.Violation // at least one; with lines if they are in the file
	Err        error                  // why the file cannot be read; nil for a refused write
}

func (e *InvalidError) Error() string {
	var lines []string
	for i, v := range e.Violations {
		if i == len(e.Violations)-1 {
			v.Next = "" // Next names it
		}
		lines = append(lines, v.String())
	}
	what := "is not valid"
	if e.Err == nil {
		what = "would not be valid"
	}
	if more := len(lines) - mostLines; more > 0 {
		lines = append(lines[:mostLines], fmt.Sprintf("and %d more; liza validate names all", more))
	}
	return fmt.Sprintf("%s %s: %s", short(e.Path), what, strings.Join(lines, "\n"))
}

// mostLines is how many violations a message has.
const mostLines = 10

// Unwrap returns the cause: a *yamldoc.SyntaxError, or the error of the file system.
func (e *InvalidError) Unwrap() error { return e.Err }

// Next returns the next command for a person.
func (e *InvalidError) Next() string {
	if last := e.Violations[len(e.Violations)-1]; last.Next != "" {
		return last.Next
	}
	if errors.Is(e.Err, ErrCut) {
		return "liza restore"
	}
	return "liza validate"
}

// A VersionError is returned for a file whose format this program does not know (B07).
type VersionError struct {
	Path    string
	Version string // "" when it is missing
}

func (e *VersionError) Error() string {
	if e.Version == "" {
		return short(e.Path) + ": version is missing; this program reads 1"
	}
	return fmt.Sprintf("%s: version is %s; this program reads 1", short(e.Path), e.Version)
}

// A WentBackError is returned when an older state was put over a newer one (B06). Nothing was written; both are kept.
type WentBackError struct {
	Path                string
	Revision, Committed int                // revisions of the file, and of Liza's last write
	Person, Liza        string             // copies of the file and of the last state; "" if there is none
	Conflicts           []yamldoc.Conflict // values that both changed, if known
}

func (e *WentBackError) Error() string {
	text := fmt.Sprintf("%s went back: revision %d is older than %d", short(e.Path), e.Revision, e.Committed)
	for _, c := range e.Conflicts {
		text += ";\n" + conflictText(c)
	}
	switch {
	case e.Person != "" && e.Liza != "":
		return fmt.Sprintf("%s; both are kept as %s and %s", text, e.Person, e.Liza)
	case e.Person != "":
		return fmt.Sprintf("%s; the file is kept as %s, of the newer one there is no snapshot", text, e.Person)
	}
	return text
}

// Next returns the next command for a person.
func (e *WentBackError) Next() string { return "liza restore" }

// short is the file as people know it: .liza/state.yaml.
func short(path string) string {
	return filepath.Join(filepath.Base(filepath.Dir(path)), filepath.Base(path))
}

// conflictText returns the place of a conflict and the value of each side.
func conflictText(c yamldoc.Conflict) string {
	return fmt.Sprintf("%s: your edit says %s, the newer state %s, before it was %s", c.Path, sideText(c.Mine), sideText(c.Theirs), sideText(c.Base))
}

func sideText(s yamldoc.Side) string {
	value := s.Value
	if s.Absent {
		value = "nothing"
	}
	if s.Line == 0 {
		return value
	}
	return fmt.Sprintf("%s (line %d, column %d)", value, s.Line, s.Column)
}
