package upkeep

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"liza/pkg/agent"
	"liza/pkg/blackboard"
	"liza/pkg/project"
	"liza/pkg/prose"
	"liza/pkg/verb"
)

// Severities of a Finding.
const (
	SeverityOK      = "ok"
	SeverityInfo    = "info"
	SeverityWarning = "warning"
	SeverityError   = "error"
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

	Found []Finding
}

// Add adds a finding.
func (x *Doctor) Add(check, severity, subject, next, evidence, format string, args ...any) {
	x.Found = append(x.Found, Finding{Check: check, Severity: severity, Subject: subject, Next: next, Evidence: evidence, Message: fmt.Sprintf(format, args...)})
}

// Examine looks at everything that a team needs, and at what crashes left. It changes nothing; with checks it runs the
// checks of reviews and merges on the head of the integration branch, where that has not been done.
func (x *Doctor) Examine(ctx context.Context, checks bool) error {
	return x.all(ctx, x.git, x.identity, x.spec, x.board, x.journal, x.locks, x.snapshots, x.disk, x.clock, x.control, x.programs, x.inWorktrees, x.quorum, x.processes, x.baseChecks(checks))
}

// Preflight is the short form at the start of a team: what would spoil the sprint and can be seen without starting
// anything, in some tens of milliseconds. It returns only what is wrong.
func (x *Doctor) Preflight(ctx context.Context) []Finding {
	_ = x.all(ctx, x.identity, x.spec, x.behind, x.redChecks, x.inWorktrees, x.quorum, x.disk) // an interrupted start ends by itself
	return slices.DeleteFunc(x.Found, func(f Finding) bool { return f.Severity != SeverityWarning && f.Severity != SeverityError })
}

func (x *Doctor) all(ctx context.Context, looks ...func(context.Context, *project.Project)) error {
	for _, look := range looks {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		look(ctx, x.Project)
	}
	return nil
}

// board sums up what `liza validate` would say, and what crashes left.
func (x *Doctor) board(ctx context.Context, p *project.Project) {
	if x.State == nil {
		return
	}
	if in := BoardOf(x.Service); in != nil {
		v, err := in.Validate(ctx)
		if err == nil && !v.unreadable {
			x.violations(v)
		} else if err != nil && ctx.Err() == nil {
			x.Add("state", SeverityError, "state.yaml", "liza validate", "", "cannot validate: %v", err)
		}
	}
	x.Found = append(x.Found, examine(ctx, x.Service, x.State)...)
}

func (x *Doctor) violations(v Validated) {
	say := func(severity string, n int, what string) {
		i := slices.IndexFunc(v.Violations, func(x blackboard.Violation) bool {
			return (x.Severity == blackboard.SeverityWarning) == (severity == SeverityWarning)
		})
		first := strings.TrimSpace(ViolationLine(v.Violations[i]))
		x.Add("state", severity, "state.yaml", "liza validate", first, "the board breaks %s", prose.Count(n, what))
	}
	if v.Errors > 0 {
		say(SeverityError, v.Errors, "rule")
	}
	if v.Warnings > 0 {
		say(SeverityWarning, v.Warnings, "recommendation")
	}
	if v.Errors+v.Warnings == 0 {
		x.Add("state", SeverityOK, "state.yaml", "", "", "revision %d is valid", x.State.Revision)
	}
}
