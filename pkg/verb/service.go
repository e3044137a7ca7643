package verb

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"liza/pkg/blackboard"
	"liza/pkg/store"
	"liza/pkg/transition"
)

// Update changes the state as the caller. change may run more than once.
func (d *Service) Update(ctx context.Context, op string, change func(*blackboard.State, transition.Actor) error) error {
	id, err := d.Identify()
	if err != nil {
		return err
	}
	return d.updateAs(ctx, op, id, change)
}

func (d *Service) updateAs(ctx context.Context, op string, id identity, change func(*blackboard.State, transition.Actor) error) error {
	return d.updateOp(ctx, store.Op{Name: op}, id, change)
}

// UpdateAhead is Update with something that must be on disk before the change is.
func (d *Service) UpdateAhead(ctx context.Context, op string, ahead func([]store.Gone) error, change func(*blackboard.State, transition.Actor) error) error {
	id, err := d.Identify()
	if err != nil {
		return err
	}
	return d.updateOp(ctx, store.Op{Name: op, Ahead: ahead}, id, change)
}

func (d *Service) updateOp(ctx context.Context, op store.Op, id identity, change func(*blackboard.State, transition.Actor) error) error {
	if op.Agent = id.caller.AgentID + id.caller.As; op.Agent == "" {
		op.Agent = blackboard.Human
	}
	d.loadSecrets()
	var over []string // secrets that end with the goal
	if d.keepsSecrets() {
		ahead := op.Ahead
		op.Ahead = func(gone []store.Gone) error {
			if ahead != nil {
				if err := ahead(gone); err != nil {
					return err
				}
			}
			return d.forgetSecrets(over)
		}
	}
	take := takeover{service: d}
	return take.try(ctx, func() error {
		return d.watched().Update(ctx, op, func(s *blackboard.State) error {
			d.Prepare(s)
			before := registrations(s)
			if err := change(s, id.Actor(s)); err != nil {
				return err
			}
			d.nameRun(s.Entries())
			if d.keepsSecrets() {
				over = endSecrets(s)
			}
			return take.replaced(before, s)
		})
	})
}

// nameRun puts the correlation id into journal entries that have none.
func (d *Service) nameRun(entries []blackboard.Entry) {
	if d.Run == nil || d.Run() == "" {
		return
	}
	for i, e := range entries {
		if e.Extra["run"] != nil {
			continue
		}
		extra := map[string]any{"run": d.Run()}
		maps.Copy(extra, e.Extra)
		entries[i].Extra = extra
	}
}

// Event carries out one Event on a task and reports its new status.
func (d *Service) Event(ctx context.Context, op, task string, change func(*blackboard.State, transition.Actor) error) (Done, error) {
	done := Done{Task: task}
	err := d.Update(ctx, op, func(s *blackboard.State, a transition.Actor) error {
		if err := change(s, a); err != nil {
			return err
		}
		done.Status = s.Task(task).Status
		return nil
	})
	return d.already(ctx, done, err)
}

// already turns a repetition (specs/protocol.md#0.7) into success.
func (d *Service) already(ctx context.Context, done Done, err error) (Done, error) {
	if !errors.Is(err, transition.ErrAlreadyDone) {
		return done, err
	}
	done.Already = true
	s, err := d.View(ctx)
	if err != nil {
		return done, err
	}
	if t := s.Task(done.Task); t != nil {
		done.Status = t.Status
	}
	return done, nil
}

// Input has the facts that every event may need.
func (d *Service) Input() transition.Input {
	cfg := d.Config()
	in := transition.Input{
		Shared:      d.Shared(),
		Control:     d.ControlOn(nil),
		HumanReview: cfg.Plan.HumanReview,
		MinFreeMB:   cfg.Policy.MinFreeMB,
		ReviewMode:  blackboard.ReviewMode(cfg.Review.Mode),
		AutoMerge:   cfg.Review.AutoMerge,
		Proceed:     cfg.Limits.OnReviewDepth == "proceed",
	}
	seen := map[string]bool{} // many tasks have the same one
	in.SpecExists = func(path string) bool {
		if there, known := seen[path]; known {
			return there
		}
		seen[path] = d.SpecExists(path)
		return seen[path]
	}
	if d.Proc.FreeMB != nil {
		in.FreeMB = d.Proc.FreeMB(d.Project.Root)
	}
	if d.NoSpecFiles {
		in.SpecExists = nil
	}
	return in
}

// mayTake is May for tasks of that state.
func (d *Service) mayTake(s *blackboard.State) func(*blackboard.Task) string {
	if d.May == nil {
		return nil
	}
	return func(t *blackboard.Task) string { return d.May(s, t) }
}

// IntegrationHead is what new work is based on: the tip of the integration branch, and where somebody moved
// that, the tip at which Liza left it. Work on commits that nobody has decided about would bring them
// back with its own merge; work on the known tip can go on whatever the person decides.
func (d *Service) IntegrationHead(ctx context.Context, s *blackboard.State) (string, error) {
	branch := s.IntegrationBranch()
	head, err := d.branchTip(ctx, s)
	if s.ForeignTip(head) {
		if there, err := d.Repo.CommitExists(ctx, s.Tip()); err == nil && there {
			return s.Tip(), nil
		}
		return "", Refuse(blackboard.DecideTip(head), "%s", blackboard.MovedText(s, head))
	}
	if err != nil {
		return "", &transition.Refusal{Guard: "G63", Exit: transition.ExitRefused, Next: "git branch " + branch + " COMMIT",
			Message: fmt.Sprintf("the integration branch %s does not exist", branch)}
	}
	return head, nil
}
