package supervisor

import (
	"context"

	"liza/pkg/prompt"
	"liza/pkg/role"
	"liza/pkg/verb"
)

// Preview is the prompt of a run that has not begun.
type Preview struct {
	prompt.Prompt
	Kind     role.Kind
	Agent    string
	Role     role.Resolved
	Program  string
	Model    string
	Warnings []string
}

// Preview is what the next run on a task would be given, byte for byte; _planner stands
// for the planner. roleName replaces the role ("": the one that would be used) and must fit
// the kind of the run. Nothing is written (roles-and-knowledge 2.8).
func (s *Supervisor) Preview(ctx context.Context, task, roleName string) (Preview, error) {
	st, err := s.Desk.View(ctx)
	if err != nil {
		return Preview{}, err
	}
	r, err := s.Desk.Rehearse(ctx, task, triggerFacts(s.Desk, st))
	if err != nil {
		return Preview{}, err
	}
	as := *s
	as.ID, as.role = r.Agent, roleName
	b, err := as.brief(ctx, r.Kind, r.State, r.Task, nil, r.Due)
	if err != nil {
		return Preview{}, verb.RoleRefusal(r.Task, err)
	}
	p := Preview{Prompt: b.Prompt, Kind: r.Kind, Agent: r.Agent, Role: b.role, Program: b.program, Model: b.model, Warnings: b.warnings}
	if r.Warning != "" {
		p.Warnings = append(p.Warnings, "the run could not begin now: "+r.Warning)
	}
	return p, nil
}
