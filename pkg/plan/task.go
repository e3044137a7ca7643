package plan

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"liza/pkg/blackboard"
	"liza/pkg/config"
	"liza/pkg/exitcmd"
	"liza/pkg/policy"
	"liza/pkg/transition"
)

// TaskLimits are the limits that a task may have for itself (specs/roles-and-knowledge.md#8.1).
var TaskLimits = []string{"max_iterations", "max_review_cycles", "max_agent_runs", "max_review_retries", "max_parse_retries",
	"max_handoffs", "task_crashes", "cost_cents", "time_minutes", "tokens"}

// Doubts are warnings that stop nothing: a vague phrase beside something concrete.
func Doubts(t *blackboard.Task) []string {
	if why := blackboard.DoubtDoneWhen(t.DoneWhen); why != "" && (t.ChangesFiles() || t.ReviewRequired) {
		return []string{t.ID + ": done_when: " + why}
	}
	return nil
}

// FillKind gives tasks of other kinds than code what every reader of Liza v1 expects
// (specs/roles-and-knowledge.md#3.3). What is reviewed says itself how one sees that it is done, and
// what changes files says where.
func FillKind(s *blackboard.State, t *blackboard.Task) {
	if t.KindOf() == blackboard.CodeTask {
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
		if t.KindOf() == blackboard.MessageTask {
			t.DoneWhen = "message delivered"
		}
	}
	if t.Scope == "" && !t.Writes {
		t.Scope = "no code changes"
	}
	if t.KindOf() == blackboard.ExecTask && t.Command == "" {
		t.Command = t.Description
	}
}

// TaskProblem says what is wrong with the kind of a single new task: its skill and
// arguments, its command, its caller (specs/roles-and-knowledge.md#3.3).
func (r *Rules) TaskProblem(s *blackboard.State, t *blackboard.Task) error {
	b := &planBuild{Rules: r, state: s}
	x := exitcmd.PlanTask{Command: t.Command, Skill: t.Skill, Args: t.Args, Secrets: t.Secrets, Writes: t.Writes}
	n := item{b, 0, &x}
	n.kind(t)
	n.texts(t)
	if t.KindOf() == blackboard.ExecTask {
		if err := r.MayRun(t.ID, cmp.Or(t.Command, t.Description)); err != nil {
			b.bad("command: %v", err)
			var denied *policy.Denial
			if errors.As(err, &denied) {
				b.bad("%s", denied.Hint())
			}
		}
	}
	if len(b.problems) == 0 {
		return nil
	}
	return transition.Refuse(transition.ExitUsage, "liza help add-task", "%s", strings.ReplaceAll(strings.Join(b.problems, "; "), "tasks[0].", ""))
}

// MayUse reports whether tasks of that kind may be done for the caller.
func MayUse(cfg *config.Config, c blackboard.Caller, kind blackboard.TaskKind) bool {
	return c.Role != "user" || slices.Contains(cfg.Policy.UserKinds, string(kind))
}
