package plan

import (
	"cmp"
	"errors"
	"strings"

	"liza/pkg/blackboard"
	"liza/pkg/exitcmd"
	"liza/pkg/policy"
	"liza/pkg/transition"
)

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
