package simulate

import (
	"context"
	"fmt"

	"liza/pkg/blackboard"
	"liza/pkg/role"
	"liza/pkg/transition"
	"liza/pkg/verb"
)

// NextStep is what a task waits for.
type NextStep struct {
	Task   string            `json:"task"`
	Status blackboard.Status `json:"status,omitempty"` // "" for the planner
	Kind   role.Kind         `json:"kind,omitempty"`   // of the agent; "" when none is needed
	Merge  bool              `json:"merge,omitempty"`  // it is merged
}

// Step says which run the status of a task calls for (specs/roles-and-knowledge.md#7.4); PlannerRuns
// stands for the planner. A status that waits for somebody else is refused.
func Step(ctx context.Context, service *verb.Service, task string) (NextStep, error) {
	d := simulator{service}
	out := NextStep{Task: task}
	if task == verb.PlannerRuns {
		out.Kind = role.Planner
		return out, nil
	}
	s, err := d.View(ctx)
	if err != nil {
		return out, err
	}
	t := s.Task(task)
	if t == nil {
		if err := d.Known(ctx, task); err != nil {
			return out, err
		}
		return out, transition.Refuse(transition.ExitRefused, "liza show "+task, "task %s is archived: there is nothing left to do", task)
	}
	out.Status = t.Status
	live, _ := s.ClaimLiveness(t, d.Now(), d.Facts())
	switch {
	case t.Status == blackboard.Unclaimed, t.Status == blackboard.Rejected, t.Status == blackboard.IntegrationFailed,
		t.Status == blackboard.Claimed && live == blackboard.Expired:
		out.Kind = role.Coder
	case t.Status == blackboard.ReadyForReview:
		out.Kind = role.Reviewer
	case t.Status == blackboard.Approved:
		out.Merge = true
	case t.Status == blackboard.Claimed:
		return out, transition.Refuse(transition.ExitRefused, "liza release "+task+" --reason T", "task %s is claimed by %s", task, t.AssignedTo)
	default:
		return out, transition.Refuse(transition.ExitRefused, wayOn(t), "task %s is %s: no run can be started for it", task, t.Status)
	}
	return out, nil
}

// wayOn is the command that helps a task which waits for somebody else.
func wayOn(t *blackboard.Task) string {
	switch {
	case t.Status == blackboard.Draft:
		return "liza finalize " + t.ID
	case t.Status == blackboard.Blocked && t.Halt != nil:
		return "liza resubmit " + t.ID
	case t.Status == blackboard.Blocked:
		return fmt.Sprintf("liza unblock %s --reason T", t.ID)
	}
	return "liza show " + t.ID
}
