package supervisor

import (
	"context"
	"strings"

	"liza/pkg/agent"
	"liza/pkg/prompt"
	"liza/pkg/role"
	"liza/pkg/simulate"
	"liza/pkg/verb"
)

// Previewed is the prompt of a run that has not begun.
type Previewed struct {
	prompt.Prompt
	Kind     role.Kind
	Agent    string
	Role     role.Resolved
	Program  string
	Model    string
	Warnings []string
}

// Preview is what the next run on a task would be given, byte for byte; _planner is
// for the planner. roleName replaces the role ("": the one that would be used) and must fit
// the kind of the run. Nothing is written (specs/roles-and-knowledge.md#2.8).
func Preview(ctx context.Context, service *verb.Service, adapter func(name string) (agent.Adapter, error), task, roleName string) (Previewed, error) {
	st, err := service.View(ctx)
	if err != nil {
		return Previewed{}, err
	}
	r, err := simulate.Rehearse(ctx, service, task, triggerFacts(service, st))
	if err != nil {
		return Previewed{}, err
	}
	var open []string
	if r.Kind == role.Reviewer {
		if open, err = service.ForeseeChecks(ctx, r.State, r.Task); err != nil {
			return Previewed{}, err
		}
	}
	s := &Supervisor{Service: service, Adapter: adapter, ID: r.Agent, role: roleName}
	b, err := s.brief(ctx, r.Kind, r.State, r.Task, nil, r.Due)
	if err != nil {
		return Previewed{}, verb.RoleRefusal(r.Task, err)
	}
	p := Previewed{Prompt: b.Prompt, Kind: r.Kind, Agent: r.Agent, Role: b.role, Program: b.program, Model: b.model, Warnings: b.warnings}
	if len(open) > 0 {
		p.Warnings = append(p.Warnings, "the run will be told what these checks find, which have not been run yet: "+strings.Join(open, ", "))
	}
	if r.Warning != "" {
		p.Warnings = append(p.Warnings, "the run could not begin now: "+r.Warning)
	}
	return p, nil
}
