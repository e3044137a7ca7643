package verb

import (
	"context"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/run/exitcmd"
	"liza/pkg/verb/plan"
)

// ApplyPlan puts a whole plan on the board, all or nothing (specs/roles-and-knowledge.md#3.5). The
// same plan again is exit 7; an invalid one exit 2 with every problem.
func (v *Service) ApplyPlan(ctx context.Context, p *exitcmd.Plan) (plan.Applied, error) {
	hash, err := p.Hash()
	if err != nil {
		return plan.Applied{}, err
	}
	var warnings []string
	if len(p.FormProblems()) == 0 { // else the rehearsal refuses it, with all that is wrong
		if warnings, err = v.Board.Vault().KeepSecrets(ctx, p); err != nil {
			return plan.Applied{}, err
		}
	}
	said, err := v.say(ctx, "plan", exitcmd.Completed, SaidPlan{p, v.Board.NoSpecFiles}, func(s *blackboard.State, a transition.Actor) error {
		_, err := v.planRules(s, a).Apply(s, a, p, hash, nil, v.Board.Now())
		return err
	})
	if said || err != nil {
		return plan.Applied{Said: said, Warnings: warnings}, err
	}
	attics, err := v.saveForPlan(ctx, p, hash)
	if err != nil {
		return plan.Applied{}, err
	}
	v.Board.Failpoint("plan.saved")
	var out plan.Applied
	err = v.Board.Update(ctx, "plan", func(s *blackboard.State, a transition.Actor) (err error) {
		out, err = v.planRules(s, a).Apply(s, a, p, hash, attics, v.Board.Now())
		return err
	})
	if err != nil {
		return out, err
	}
	v.Board.Failpoint("plan.applied")
	out.Warnings = append(out.Warnings, warnings...)
	for task := range attics {
		if err := v.Worktrees.Drop(ctx, task); err != nil {
			out.Warnings = append(out.Warnings, err.Error())
		}
	}
	return out, nil
}

// SaidPlan is a plan that a run has applied by the verb.
type SaidPlan struct {
	Plan        *exitcmd.Plan
	NoSpecFiles bool
}

// saveForPlan saves the work of what the plan drops, once the plan has passed on a copy.
func (v *Service) saveForPlan(ctx context.Context, p *exitcmd.Plan, hash string) (map[string]plan.Saved, error) {
	id, err := v.Board.Identify()
	if err != nil {
		return nil, err
	}
	s, err := v.Board.View(ctx)
	if err != nil {
		return nil, err
	}
	a := id.Actor(s)
	dropped := plan.Dropped(p, s, v.partyOf(s, a))
	copied := s.Clone()
	if _, err := v.planRules(copied, a).Apply(copied, id.Actor(copied), p, hash, nil, v.Board.Now()); err != nil {
		return nil, err
	}
	out := map[string]plan.Saved{}
	for _, task := range dropped {
		ref, problem := v.Worktrees.Save(ctx, task, "plan")
		out[task] = plan.Saved{Attic: ref, Problem: problem}
	}
	return out, nil
}

// planRules is what a plan, or a single new task, of the caller has to keep to.
func (v *Service) planRules(s *blackboard.State, a transition.Actor) *plan.Rules {
	human := v.partyOf(s, a)&transition.ByHuman != 0
	return &plan.Rules{Config: v.Board.Config(), Input: v.Board.Input(), Human: human, Caller: v.Board.CallerOf(s, human), Scripted: v.Board.Scripted,
		Skills: v.Board.Skills, MayRun: v.Board.MayRun, RoleProblem: v.Board.Roles().NewProblem, Clean: v.Board.CleanTask}
}

// partyOf is what the caller is, 0 when that cannot be told.
func (v *Service) partyOf(s *blackboard.State, a transition.Actor) transition.Party {
	party, err := transition.Identify(s, a, v.Board.Now())
	if err != nil {
		return 0
	}
	return party
}
