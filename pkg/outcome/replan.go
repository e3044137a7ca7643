package outcome

import (
	"context"
	"errors"

	"liza/pkg/blackboard"
	"liza/pkg/sprint"
	"liza/pkg/transition"
	"liza/pkg/verb"
)

// StopReplan ends a chain of plans: people have to look (specs/roles-and-knowledge.md#5.9).
func StopReplan(ctx context.Context, d *verb.Service, due transition.Trigger, why string) error {
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
	return checkpointAnyway(ctx, d, "replan stopped: "+why)
}

// checkpointAnyway is a checkpoint for people; a sprint that has one, or is over, keeps it.
func checkpointAnyway(ctx context.Context, d *verb.Service, message string) error {
	var refusal *transition.Refusal
	if _, err := sprint.SystemCheckpoint(ctx, d, message); err != nil && (!errors.As(err, &refusal) || refusal.Exit != transition.ExitRefused) {
		return err
	}
	return nil
}
