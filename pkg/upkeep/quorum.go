package upkeep

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"liza/pkg/agent"
	"liza/pkg/blackboard"
	"liza/pkg/merge"
	"liza/pkg/project"
	"liza/pkg/role"
)

// quorum looks whether the team can meet the rules of review.quorum. Without rules it costs nothing.
func (x *Doctor) quorum(context.Context, *project.Project) {
	if x.Service == nil || len(x.Service.Config().Review.Quorum) == 0 {
		return
	}
	registered, programs := 0, x.reviewerPrograms()
	if x.State != nil {
		for _, a := range x.State.Agents {
			if a == nil || a.Role != blackboard.RoleReviewer {
				continue
			}
			if registered++; a.CLI != "" && !slices.Contains(programs, a.CLI) {
				programs = append(programs, a.CLI)
			}
		}
	}
	reviewers := max(registered, x.Reviewers)
	if x.Reviewers == 0 && registered == 0 {
		reviewers = 1 // what liza run starts
	}
	disabled := x.Service.Config().Review.Disabled()
	for _, r := range x.Service.Config().Review.Quorum {
		what := (&blackboard.Quorum{Reviewers: r.Reviewers, Programs: r.Programs, Paths: r.Paths}).Describe()
		subject := strings.Join(r.Paths, ", ")
		switch {
		case r.Reviewers < 2:
		case disabled:
			x.Add("quorum", SeverityWarning, subject, "liza config set review.mode normal", "", "review.quorum asks for %s, and in review.mode disabled nobody but you approves", what)
		case reviewers < r.Reviewers:
			x.Add("quorum", SeverityWarning, subject, fmt.Sprintf("liza run --reviewers %d", r.Reviewers), "",
				"review.quorum asks for %s, and this team has %d: such a change waits for another one, or for you (liza approve-merge)", what, reviewers)
		case r.Programs == blackboard.ProgramsDifferent && len(programs) < r.Reviewers:
			x.Add("quorum", SeverityWarning, subject, "edit agents.fallback in .liza/config.yaml", "",
				"review.quorum asks for %s, and reviewers run %s: such a change waits for another one, or for you (liza approve-merge)", what, strings.Join(programs, " and "))
		}
	}
}

// train looks whether the checks of a train can run side by side.
func (x *Doctor) train(context.Context, *project.Project) {
	if x.Service == nil {
		return
	}
	if m := x.Service.Config().Merge; m.Train > 1 && merge.CheckSlots(m.Slots) == 1 {
		x.Add("train", SeverityWarning, "merge.slots", fmt.Sprintf("liza config set merge.slots %d", min(m.Train, 4)), "",
			"merge.train is %d, but its checks run one at a time (merge.slots), so it merges no faster than without", m.Train)
	}
}

// reviewerPrograms are the programs that a reviewer may run.
func (x *Doctor) reviewerPrograms() []string {
	d := x.Service
	known := func(name string) bool {
		_, err := agent.Lookup(name, agent.Options{Custom: x.Programs, Root: d.Project.Root})
		return err == nil
	}
	r, err := d.Roles().Resolve(role.Reviewer, nil, d.RoleSettings())
	if err != nil {
		return nil // told otherwise
	}
	program, _ := d.Roles().Program(r.Role, nil, d.RoleSettings(), x.CLI, "", known)
	programs := []string{program}
	fallback := d.Config().Agents.Fallback
	names := fallback.For(r.Role.Name)
	if names == nil {
		names = fallback.For(string(role.Reviewer))
	}
	for _, name := range names {
		if known(name) && !slices.Contains(programs, name) {
			programs = append(programs, name)
		}
	}
	return programs
}
