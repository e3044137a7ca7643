package verb

import (
	"context"
	"errors"

	"liza/pkg/blackboard"
	"liza/pkg/transition"
)

// StopReplan ends a chain of plans: people have to look (specs/roles-and-knowledge.md#5.9).
func (d *Service) StopReplan(ctx context.Context, due transition.Trigger, why string) error {
	err := d.Update(ctx, "replan stopped", func(s *blackboard.State, _ transition.Actor) error {
		var p *blackboard.Plan
		for _, id := range due.IDs {
			if t := s.Task(id); t != nil && p == nil {
				p = transition.Plan(s, t.Plan)
			}
		}
		transition.StopReplanning(s, p, why, due, d.Now())
		return nil
	})
	if err != nil {
		return err
	}
	return d.checkpointAnyway(ctx, "replan stopped: "+why)
}

// checkpointAnyway is a checkpoint for people; a sprint that has one, or is over, keeps it.
func (d *Service) checkpointAnyway(ctx context.Context, message string) error {
	var refusal *transition.Refusal
	if _, err := d.SystemCheckpoint(ctx, message); err != nil && (!errors.As(err, &refusal) || refusal.Exit != transition.ExitRefused) {
		return err
	}
	return nil
}
