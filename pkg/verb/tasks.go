package verb

import (
	"cmp"
	"context"

	"liza/pkg/blackboard"
	"liza/pkg/plan"
	"liza/pkg/transition"
)

// NewTask describes a task to create (specs/cli.md#3, add-task).
type NewTask struct {
	Task    blackboard.Task
	Stretch bool
	Draft   bool
	Fill    bool // an id and a spec_ref that are left out become the next free number and the spec of the goal
}

// SetLimits gives the task limits of its own. Two of them are fields of the task, the
// others are in its limits.
func (n *NewTask) SetLimits(limits map[string]int) {
	for k, v := range limits {
		switch k {
		case "max_iterations":
			n.Task.MaxIterations = v
		case "max_review_cycles":
			n.Task.MaxReviewCycles = v
		default:
			if n.Task.Limits == nil {
				n.Task.Limits = blackboard.Settings{}
			}
			n.Task.Limits[k] = v
		}
	}
}

// AddTask creates a task, UNCLAIMED or DRAFT; it is validated before anything is written.
func (d *Service) AddTask(ctx context.Context, n NewTask) (Done, error) {
	if err := d.CleanTask(&n.Task); err != nil {
		return Done{}, err
	}
	if n.Fill {
		s, err := d.View(ctx)
		if err != nil {
			return Done{}, err
		}
		n.Task.ID = cmp.Or(n.Task.ID, plan.FreeID(s))
		if s.Goal != nil {
			n.Task.SpecRef = cmp.Or(n.Task.SpecRef, s.Goal.SpecRef)
		}
	}
	in := d.Input()
	in.RoleProblem = d.newRoleProblem(&n.Task)
	var doubts []string
	done, err := d.Event(ctx, "add-task", n.Task.ID, func(s *blackboard.State, a transition.Actor) error {
		t := n.Task
		if err := d.planRules(s, a).TaskProblem(s, &t); err != nil {
			return err
		}
		plan.FillKind(s, &t)
		if s.Goal != nil && t.Plan == "" {
			t.Plan = s.Goal.PlanID
		}
		if n.Stretch && s.Sprint != nil {
			if s.Sprint.Scope == nil {
				s.Sprint.Scope = &blackboard.SprintScope{}
			}
			s.Sprint.Scope.Stretch = append(s.Sprint.Scope.Stretch, t.ID)
		}
		doubts = plan.Doubts(&t)
		return transition.Create(s, &t, n.Draft, a, in, d.Now())
	})
	if err == nil {
		done.Notices = append(done.Notices, doubts...)
	}
	return done, err
}

// Finalized is the result of Finalize.
type Finalized struct {
	Tasks    []string `json:"tasks"`
	Warnings []string `json:"warnings,omitempty"`
}

// Finalize turns drafts into claimable tasks, all or none.
func (d *Service) Finalize(ctx context.Context, ids []string) (Finalized, error) {
	if len(ids) == 0 {
		return Finalized{}, WrongUsage("liza help finalize", "finalize needs the id of a draft")
	}
	out := Finalized{Tasks: ids}
	err := d.Update(ctx, "finalize", func(s *blackboard.State, a transition.Actor) error {
		out.Warnings = nil
		if err := transition.Finalize(s, ids, a, d.Input(), d.Now()); err != nil {
			return err
		}
		for _, id := range ids {
			out.Warnings = append(out.Warnings, plan.Doubts(s.Task(id))...)
		}
		return nil
	})
	return out, err
}

// TaskEdit names what a person changes of a task; what is nil or empty stays.
type TaskEdit struct {
	Task                                string
	Priority                            *int
	Title, Description, DoneWhen, Scope string
}

// EditTask changes priority, title or texts of a task that is not terminal.
func (d *Service) EditTask(ctx context.Context, e TaskEdit) (Done, error) {
	err := d.Clean(Text{"--title", &e.Title}, Text{"--description", &e.Description}, Text{"--done", &e.DoneWhen}, Text{"--scope", &e.Scope})
	if err != nil {
		return Done{Task: e.Task}, err
	}
	var busy, doubts []string
	done, err := d.Event(ctx, "edit", e.Task, func(s *blackboard.State, a transition.Actor) error {
		if err := d.OnlyPerson(s, a, "edit a task"); err != nil {
			return err
		}
		err := transition.EditTask(s, e.Task, transition.TaskEdit{Priority: e.Priority, Title: e.Title, Description: e.Description, DoneWhen: e.DoneWhen, Scope: e.Scope}, a, d.Now())
		if err == nil {
			err = d.planRules(s, a).TaskProblem(s, s.Task(e.Task))
		}
		if err == nil {
			busy, doubts = atWork(s, e.Task, "works without the change; next: liza restart"), plan.Doubts(s.Task(e.Task))
		}
		return err
	})
	if err == nil {
		done.Notices = append(append(done.Notices, doubts...), busy...)
	}
	return done, err
}

// atWork says of each agent whose program runs on a task what that means, and the command that takes the agent.
func atWork(s *blackboard.State, task, what string) (list []string) {
	for _, id := range s.AgentIDs() {
		if c := s.Agents[id].Child; c != nil && c.Task == task {
			list = append(list, id+" "+what+" "+id)
		}
	}
	return list
}

// Hold keeps everybody from picking the task; its status stays.
func (d *Service) Hold(ctx context.Context, id, reason string) (Done, error) {
	if err := d.Clean(Text{"--reason", &reason}); err != nil {
		return Done{Task: id}, err
	}
	var busy []string
	done, err := d.Event(ctx, "hold", id, func(s *blackboard.State, a transition.Actor) error {
		busy = atWork(s, id, "goes on with its run; next: liza stop")
		return transition.HoldTask(s, id, a, transition.Input{Reason: reason}, d.Now())
	})
	done.Notices = append(done.Notices, busy...)
	return done, err
}

// Unhold ends a hold.
func (d *Service) Unhold(ctx context.Context, id string) (Done, error) {
	return d.Event(ctx, "unhold", id, func(s *blackboard.State, a transition.Actor) error {
		return transition.UnholdTask(s, id, a, transition.Input{}, d.Now())
	})
}
