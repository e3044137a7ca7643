package upkeep

import (
	"context"
	"slices"
	"strings"

	"liza/pkg/blackboard"
	"liza/pkg/project"
	"liza/pkg/prose"
)

// Examine looks at everything that a team needs, and at what crashes left. It changes nothing; with checks it runs the
// checks of reviews and merges on the head of the integration branch, where that has not been done.
func (x *Doctor) Examine(ctx context.Context, checks bool) error {
	return x.all(ctx, x.git, x.identity, x.habits, x.spec, x.board, x.refusedCommits, x.journal, x.locks, x.snapshots, x.disk, x.clock, x.control, x.programs, x.inWorktrees, x.quorum, x.train, x.processes, x.baseChecks(checks), x.unverified)
}

// Preflight is the short form at the start of a team: what would spoil the sprint and can be seen without starting
// anything, in some tens of milliseconds. It returns only what is wrong.
func (x *Doctor) Preflight(ctx context.Context) []Finding {
	_ = x.all(ctx, x.identity, x.spec, x.behind, x.redChecks, x.unverified, x.inWorktrees, x.quorum, x.train, x.disk) // an interrupted start ends by itself
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
