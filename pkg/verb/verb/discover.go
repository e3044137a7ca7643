package verb

import (
	"context"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
)

// Discovered is the result of a verb on a discovery.
type Discovered struct {
	ID      string `json:"id"`
	Task    string `json:"task,omitempty"`
	Already bool   `json:"already_done,omitempty"`
}

// Discover records something that was found during a task and is not part of it.
func (d *Service) Discover(ctx context.Context, x blackboard.Discovery) (Discovered, error) {
	if err := d.Clean(field("the text", &x.Description), field("--recommend", &x.Recommendation)); err != nil {
		return Discovered{}, err
	}
	out := Discovered{Task: x.During}
	err := d.Update(ctx, "discover", func(s *blackboard.State, a transition.Actor) error {
		found := x
		if err := transition.Discover(s, &found, a, d.Now()); err != nil {
			return err
		}
		out.ID = found.ID
		return nil
	})
	return out, err
}

// Convert says which task came of a discovery.
func (d *Service) Convert(ctx context.Context, id, task string) (Discovered, error) {
	return d.onDiscovery(ctx, "convert", Discovered{ID: id, Task: task}, func(s *blackboard.State, a transition.Actor) error {
		return transition.ConvertDiscovery(s, id, task, a, d.Now())
	})
}

// Defer puts a discovery off.
func (d *Service) Defer(ctx context.Context, id, reason string) (Discovered, error) {
	if err := d.Clean(field("--reason", &reason)); err != nil {
		return Discovered{}, err
	}
	return d.onDiscovery(ctx, "defer", Discovered{ID: id}, func(s *blackboard.State, a transition.Actor) error {
		return transition.DeferDiscovery(s, id, reason, a, d.Now())
	})
}

func (d *Service) onDiscovery(ctx context.Context, op string, out Discovered, change func(*blackboard.State, transition.Actor) error) (Discovered, error) {
	err := d.Update(ctx, op, change)
	if transition.IsAlreadyDone(err) {
		out.Already, err = true, nil
	}
	return out, err
}

// SpecChanged is the result of SpecChange.
type SpecChanged struct {
	Spec     string   `json:"spec"`
	Hash     string   `json:"hash,omitempty"`
	Affected []string `json:"affected"` // tasks that have it in their next prompt
	Already  bool     `json:"already_done,omitempty"`
}

// SpecChange records that a spec was changed, with the hash of what it says now.
func (d *Service) SpecChange(ctx context.Context, spec, change, task string) (SpecChanged, error) {
	out := SpecChanged{Spec: spec, Affected: []string{}}
	if err := d.Clean(field("--spec", &spec), field("--change", &change)); err != nil {
		return out, err
	}
	if out.Hash = d.SpecHash(spec); out.Hash == "" && spec != "" && !d.NoSpecFiles {
		return out, WrongUsage("liza help spec-change", "there is no spec file '%s'", spec)
	}
	err := d.Update(ctx, "spec-change", func(s *blackboard.State, a transition.Actor) error {
		affected, err := transition.ChangeSpec(s, &blackboard.SpecChange{Spec: spec, Change: change, Hash: out.Hash}, task, a, d.Now())
		if err == nil {
			out.Affected = append([]string{}, affected...)
		}
		return err
	})
	if transition.IsAlreadyDone(err) {
		out.Already, err = true, nil
	}
	return out, err
}
