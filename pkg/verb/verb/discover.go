package verb

import (
	"context"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/verb/board"
)

// Discovered is the result of a verb on a discovery.
type Discovered struct {
	ID      string `json:"id"`
	Task    string `json:"task,omitempty"`
	Already bool   `json:"already_done,omitempty"`
}

// Discover records something that was found during a task and is not part of it.
func (v *Service) Discover(ctx context.Context, x blackboard.Discovery) (Discovered, error) {
	if err := v.Board.Clean(field("the text", &x.Description), field("--recommend", &x.Recommendation)); err != nil {
		return Discovered{}, err
	}
	out := Discovered{Task: x.During}
	err := v.Board.Update(ctx, "discover", func(s *blackboard.State, a transition.Actor) error {
		found := x
		if err := transition.Discover(s, &found, a, v.Board.Now()); err != nil {
			return err
		}
		out.ID = found.ID
		return nil
	})
	return out, err
}

// Convert says which task came of a discovery.
func (v *Service) Convert(ctx context.Context, id, task string) (Discovered, error) {
	return v.onDiscovery(ctx, "convert", Discovered{ID: id, Task: task}, func(s *blackboard.State, a transition.Actor) error {
		return transition.ConvertDiscovery(s, id, task, a, v.Board.Now())
	})
}

// Defer puts a discovery off.
func (v *Service) Defer(ctx context.Context, id, reason string) (Discovered, error) {
	if err := v.Board.Clean(field("--reason", &reason)); err != nil {
		return Discovered{}, err
	}
	return v.onDiscovery(ctx, "defer", Discovered{ID: id}, func(s *blackboard.State, a transition.Actor) error {
		return transition.DeferDiscovery(s, id, reason, a, v.Board.Now())
	})
}

func (v *Service) onDiscovery(ctx context.Context, op string, out Discovered, change func(*blackboard.State, transition.Actor) error) (Discovered, error) {
	err := v.Board.Update(ctx, op, change)
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
func (v *Service) SpecChange(ctx context.Context, spec, change, task string) (SpecChanged, error) {
	out := SpecChanged{Spec: spec, Affected: []string{}}
	if err := v.Board.Clean(field("--spec", &spec), field("--change", &change)); err != nil {
		return out, err
	}
	if out.Hash = v.Board.SpecHash(spec); out.Hash == "" && spec != "" && !v.Board.NoSpecFiles {
		return out, board.WrongUsage("liza help spec-change", "there is no spec file '%s'", spec)
	}
	err := v.Board.Update(ctx, "spec-change", func(s *blackboard.State, a transition.Actor) error {
		affected, err := transition.ChangeSpec(s, &blackboard.SpecChange{Spec: spec, Change: change, Hash: out.Hash}, task, a, v.Board.Now())
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
