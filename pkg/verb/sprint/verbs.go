package sprint

import (
	"context"

	"liza/pkg/verb/verb"
)

// Verbs are the verbs of a service and those of its sprint as methods, for who takes them as one.
type Verbs struct {
	*verb.Service
	verb.Agents
	verb.Reviews
	verb.Merges
}

// VerbsOf returns the verbs of a service and those of its sprint.
func VerbsOf(v *verb.Service) Verbs { return Verbs{v, v.Agents, v.Reviews, v.Merges} }

func (v Verbs) Pause(ctx context.Context, reason string) (Sprint, error) {
	return Pause(ctx, v.Service, reason)
}

func (v Verbs) Resume(ctx context.Context, decision, note string) (Sprint, error) {
	return Resume(ctx, v.Service, decision, note)
}

func (v Verbs) Abort(ctx context.Context, reason string, goal bool) (Sprint, error) {
	return Abort(ctx, v.Service, reason, goal)
}
