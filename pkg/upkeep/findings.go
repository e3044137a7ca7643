package upkeep

import (
	"fmt"
	"time"

	"liza/pkg/agent"
	"liza/pkg/blackboard"
	"liza/pkg/project"
	"liza/pkg/verb"
)

// Finding is one thing that `liza doctor` looked at.
type Finding struct {
	Check    string `json:"check"` // git, registration, claim, …
	Severity string `json:"severity"`
	Subject  string `json:"subject"`
	Message  string `json:"message"`            // what is so, and what recovery would do about it
	Evidence string `json:"evidence,omitempty"` // how that is known
	Next     string `json:"next,omitempty"`
}

// A Doctor is one examination of a project. The caller opens what can be opened, and adds what it finds then.
type Doctor struct {
	Project   *project.Project
	Service   *verb.Service          // nil when the project cannot be opened
	State     *blackboard.State      // the last valid one; nil when there is none
	Programs  map[string]agent.Entry // of the project's own settings
	Reviewers int                    // of the team that starts; 0: none does
	CLI       string                 // the program that was named for it, "" for none
	Now       func() time.Time
	Explain   func(error) (message, next string)
	Say       func(text string) // what takes long
	Try       bool              // the checks of which nothing is known are tried, within verb.TryTime

	Found []Finding
}

// Add adds a finding.
func (x *Doctor) Add(check, severity, subject, next, evidence, format string, args ...any) {
	x.Found = append(x.Found, Finding{Check: check, Severity: severity, Subject: subject, Next: next, Evidence: evidence, Message: fmt.Sprintf(format, args...)})
}

// Severities of a Finding.
const (
	SeverityOK      = "ok"
	SeverityInfo    = "info"
	SeverityWarning = "warning"
	SeverityError   = "error"
)
