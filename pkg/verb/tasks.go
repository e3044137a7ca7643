package verb

import (
	"context"

	"liza/pkg/blackboard"
)

// NewTask describes a task to create (cli 3, add-task).
type NewTask struct {
	Task    blackboard.Task
	Stretch bool
	Draft   bool
}

// TaskLimits are the limits that a task may have for itself (roles-and-knowledge 8.1).
var TaskLimits = []string{"max_iterations", "max_review_cycles", "max_agent_runs", "max_review_retries", "max_parse_retries",
	"max_handoffs", "task_crashes", "cost_cents", "time_minutes", "tokens"}

// SetLimits gives the task limits of its own. Two of them are fields of the task, the
// others stand in its limits.
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
func (d *Desk) AddTask(ctx context.Context, n NewTask) (Done, error) {
	if err := d.cleanTask(&n.Task); err != nil {
		return Done{}, err
	}
	in := d.Input()
	in.RoleProblem = d.newRoleProblem(&n.Task)
	var doubts []string
	done, err := d.Event(ctx, "add-task", n.Task.ID, func(s *blackboard.State, a blackboard.Actor) error {
		t := n.Task
		if err := d.newTaskProblem(s, &t, d.partyOf(s, a)&blackboard.ByHuman != 0); err != nil {
			return err
		}
		fillKind(s, &t)
		if s.Goal != nil && t.Plan == "" {
			t.Plan = s.Goal.PlanID
		}
		if n.Stretch && s.Sprint != nil {
			if s.Sprint.Scope == nil {
				s.Sprint.Scope = &blackboard.SprintScope{}
			}
			s.Sprint.Scope.Stretch = append(s.Sprint.Scope.Stretch, t.ID)
		}
		doubts = doubtsAbout(&t)
		return s.Create(&t, n.Draft, a, in, d.Now())
	})
	if err == nil {
		done.Notices = append(done.Notices, doubts...)
	}
	return done, err
}

// doubtsAbout are warnings that stop nothing: a vague phrase beside something concrete.
func doubtsAbout(t *blackboard.Task) []string {
	if why := blackboard.DoubtDoneWhen(t.DoneWhen); why != "" && (t.ChangesFiles() || t.ReviewRequired) {
		return []string{t.ID + ": done_when: " + why}
	}
	return nil
}

// fillKind gives tasks of other kinds than code what every reader of Liza v1 expects
// (roles-and-knowledge 3.3). What is reviewed says itself how one sees that it is done, and
// what changes files says where.
func fillKind(s *blackboard.State, t *blackboard.Task) {
	if t.KindOf() == "code" {
		return
	}
	if t.Description == "" && t.Skill != "" {
		t.Description = "skill " + t.Skill
	}
	if t.SpecRef == "" && s.Goal != nil {
		t.SpecRef = s.Goal.SpecRef
	}
	if t.Writes {
		t.ReviewRequired = true
	}
	if t.DoneWhen == "" && !t.ReviewRequired {
		t.DoneWhen = "exit code 0"
		if t.KindOf() == "msg" {
			t.DoneWhen = "message delivered"
		}
	}
	if t.Scope == "" && !t.Writes {
		t.Scope = "no code changes"
	}
	if t.KindOf() == "exec" && t.Command == "" {
		t.Command = t.Description
	}
}

// Finalized is the result of Finalize.
type Finalized struct {
	Tasks    []string `json:"tasks"`
	Warnings []string `json:"warnings,omitempty"`
}

// Finalize turns drafts into claimable tasks, all or none.
func (d *Desk) Finalize(ctx context.Context, ids []string) (Finalized, error) {
	if len(ids) == 0 {
		return Finalized{}, usage("liza help finalize", "finalize needs the id of a draft")
	}
	out := Finalized{Tasks: ids}
	err := d.Update(ctx, "finalize", func(s *blackboard.State, a blackboard.Actor) error {
		out.Warnings = nil
		if err := s.Finalize(ids, a, d.Input(), d.Now()); err != nil {
			return err
		}
		for _, id := range ids {
			out.Warnings = append(out.Warnings, doubtsAbout(s.Task(id))...)
		}
		return nil
	})
	return out, err
}

// Hold keeps everybody from picking the task; its status stays.
func (d *Desk) Hold(ctx context.Context, id, reason string) (Done, error) {
	if err := d.clean(text{"--reason", &reason}); err != nil {
		return Done{Task: id}, err
	}
	return d.Event(ctx, "hold", id, func(s *blackboard.State, a blackboard.Actor) error {
		return s.HoldTask(id, a, blackboard.Input{Reason: reason}, d.Now())
	})
}

// Unhold ends a hold.
func (d *Desk) Unhold(ctx context.Context, id string) (Done, error) {
	return d.Event(ctx, "unhold", id, func(s *blackboard.State, a blackboard.Actor) error {
		return s.UnholdTask(id, a, blackboard.Input{}, d.Now())
	})
}
