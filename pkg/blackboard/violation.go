package blackboard

import "fmt"

// Severities of a Violation.
const (
	SeverityError   = "error"
	SeverityWarning = "warning"
)

// A Violation is one thing in a state that breaks a rule of specs/protocol.md#9.
type Violation struct {
	Rule     string `json:"rule"`
	Severity string `json:"severity"` // SeverityError or SeverityWarning

	// OnWrite tells that a write is refused which would create or keep the
	// violation in what it touches (column W).
	OnWrite bool `json:"on_write"`

	// Fixable tells that Repair may be able to repair it (mark F).
	Fixable bool `json:"fixable,omitempty"`

	// Subjects are the ids of the tasks and agents, and the names of the sections,
	// that the violation concerns. An id that is named but does not exist is one
	// of them, so that a write which removes the entry is seen to create it.
	Subjects []string `json:"subjects,omitempty"`

	// Path is where in state.yaml it is: "tasks[task-3].priority",
	// "agents[coder-1].role", "config.lease_duration". An entry without a usable id
	// is named by its position, counted from 1: "tasks[#2].id". Path is empty for
	// what is not in the file.
	Path string `json:"path,omitempty"`

	Line    int    `json:"line,omitempty"` // filled in by who knows the file
	Column  int    `json:"column,omitempty"`
	Message string `json:"message"`
}

// String is one line for people: line, rule, severity when it is a warning, message.
func (v Violation) String() string {
	text := v.Rule + " " + v.Message
	if v.Severity == SeverityWarning {
		text = v.Rule + " warning: " + v.Message
	}
	if v.Line > 0 {
		return fmt.Sprintf("line %d: %s", v.Line, text)
	}
	return text
}

// Concerns adds subjects that the violation does not name yet.
func (v *Violation) Concerns(subjects ...string) *Violation {
	for _, subject := range subjects {
		if subject != "" && !List(v.Subjects).Has(subject) {
			v.Subjects = append(v.Subjects, subject)
		}
	}
	return v
}

// Lenient makes a warning of the violation when mild holds.
func (v *Violation) Lenient(mild bool) *Violation {
	if mild {
		v.Severity = SeverityWarning
	}
	return v
}
