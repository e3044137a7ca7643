package verb

import (
	"context"

	"liza/pkg/blackboard"
	"liza/pkg/transition"
)

// NoteAnomaly records an anomaly that Liza itself saw.
func (d *Service) NoteAnomaly(ctx context.Context, task string, kind blackboard.AnomalyKind, what string) error {
	return d.Update(ctx, "anomaly", func(s *blackboard.State, _ transition.Actor) error {
		transition.AddAnomaly(s, task, blackboard.System, kind, blackboard.Settings{"what": what}, d.Now())
		return nil
	})
}

// Warn writes a warning; that it could not be written stops nothing.
func (d *Service) Warn(ctx context.Context, task string, action blackboard.Action, detail string) {
	err := d.Update(ctx, "warning", func(s *blackboard.State, a transition.Actor) error {
		s.Record(blackboard.Entry{Timestamp: blackboard.TimeOf(d.Now()), Agent: a.ID, Action: action, Task: task, Detail: detail, Extra: map[string]any{"level": "warning"}})
		return nil
	})
	if err != nil {
		d.Progressf("cannot record %s: %v", action, err)
	}
}
