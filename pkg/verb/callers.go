package verb

import (
	"cmp"
	"fmt"

	"liza/pkg/blackboard"
	"liza/pkg/plan"
	"liza/pkg/policy"
	"liza/pkg/skill"
	"liza/pkg/transition"
)

// CallerRole is what a person may ask for now: admin or user (specs/roles-and-knowledge.md#9.7). Without
// a list of callers everybody is admin; with one, a caller who is not on it is user.
func (d *Service) CallerRole(name string) string {
	callers := d.Config().Policy.Callers
	if len(callers) == 0 {
		return "admin"
	}
	if role := callers[name]; role != "" {
		return role
	}
	return "user"
}

// AdminOnly refuses what only callers with the role admin may do (specs/roles-and-knowledge.md#9.7);
// what completes "ada may not …".
func (d *Service) AdminOnly(what string) error {
	name := cmp.Or(d.Caller.Person, blackboard.Human)
	if d.CallerRole(name) == "admin" {
		return nil
	}
	return Refuse("liza config show policy.callers", "%s may not %s: that takes the role admin (policy.callers), and %s is user", name, what, name)
}

// callerOf is the person behind a request, with the role of now: who gives it himself, else
// whose words the planner answers, else who started the planner.
func (d *Service) callerOf(s *blackboard.State, human bool) blackboard.Caller {
	name := d.Caller.Person
	if c := transition.RequestCaller(s); c != nil && !human {
		name = c.Name
	}
	return blackboard.Caller{Name: cmp.Or(name, "human"), Role: d.CallerRole(name)}
}

// MayStart says why a task must not be started now: the list of callers is looked at again
// before each start. "" when it may.
func (d *Service) MayStart(s *blackboard.State, t *blackboard.Task, kind blackboard.TaskKind) string {
	c := transition.CallerOf(s, t)
	if c == nil {
		return ""
	}
	now := blackboard.Caller{Name: c.Name, Role: d.CallerRole(c.Name)}
	if plan.MayUse(d.Config(), now, kind) {
		return ""
	}
	return fmt.Sprintf("tasks of kind %s may not be done for %s, whose role is user now (policy.user_kinds)", kind, c.Name)
}

// MayRun is nil for a command that may be started in the worktree of a task; a
// *policy.Denial says which part of it may not (specs/roles-and-knowledge.md#9.4).
func (d *Service) MayRun(task, command string) error {
	cfg := d.Config().Policy
	l := policy.List{Deny: cfg.Deny, Allow: cfg.Allow, AllowSudo: cfg.AllowSudo}
	return l.Check(command, policy.Place{Worktree: d.Repo.WorktreePath(task), Home: d.Home})
}

// Skills are the skills of the project as their folders are now.
func (d *Service) Skills() skill.Library { return skill.Load(d.Project.Skills()) }
