package verb

import (
	"context"

	"liza/pkg/blackboard"
	"liza/pkg/project"
	"liza/pkg/store"
	"liza/pkg/transition"
)

// Acknowledged is the result of an acknowledgement.
type Acknowledged struct {
	Watermark string `json:"watermark,omitempty"` // the newest anomaly
	Sprint    string `json:"sprint,omitempty"`
}

// Ack acknowledges what tripped the circuit breaker and lets work go on; with keep the
// checkpoint stays (specs/protocol.md#5.4, C04).
func (d *Service) Ack(ctx context.Context, note string, keep bool) (Acknowledged, error) {
	var out Acknowledged
	if err := d.Clean(Text{"--note", &note}); err != nil {
		return out, err
	}
	release := false
	err := d.UpdateAhead(ctx, "ack", func([]store.Gone) error {
		if !release {
			return nil
		}
		return d.Project.Clear(project.Checkpoint)
	}, func(s *blackboard.State, a transition.Actor) error {
		release = !keep && s.Sprint != nil && s.Sprint.Status == blackboard.AtCheckpoint
		if err := transition.AcknowledgeBreaker(s, note, keep, a, d.Now()); err != nil {
			return err
		}
		out.Watermark = s.CircuitBreaker.Watermark
		if s.Sprint != nil {
			out.Sprint = s.Sprint.Status
		}
		return nil
	})
	return out, err
}
