package landing

import (
	"context"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/verb/plan"
)

// makeTask creates a task, with the request that it is for in the same write: both or neither.
func (r *landing) makeTask(ctx context.Context, t blackboard.Task, q *blackboard.Request) error {
	t.Description, t.Title = r.Service.Board.Secrets.Mask(t.Description), r.Service.Board.Secrets.Mask(t.Title)
	if err := r.Service.Board.CleanTask(&t); err != nil {
		return err
	}
	in := r.Service.Board.Input()
	return r.Service.Board.Update(ctx, "land", func(s *blackboard.State, a transition.Actor) error {
		own := t
		if s.Goal != nil {
			own.SpecRef, own.Plan = s.Goal.SpecRef, s.Goal.PlanID
		}
		plan.FillKind(s, &own)
		if err := transition.Create(s, &own, false, a, in, r.Service.Board.Now()); err != nil {
			return err
		}
		if q != nil {
			transition.PutRequest(s, *q, r.Service.Board.Now())
		}
		return nil
	})
}
