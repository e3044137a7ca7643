package audit

import (
	"slices"
	"strings"

	"liza/pkg/blackboard"
)

// A write checks what it changed, and what that relates to, without revisiting the rest:
// the rules give the same answer there as if everything had been checked.

// mostChanged is how many changed ids are looked for one by one.
const mostChanged = 20

// narrow picks the tasks that the changes of facts.Changed concern: those themselves, the
// tasks that name them, and the tasks of agents that hold them or are changed. ok is false
// when everything has to be checked.
func (v *validation) narrow() (ok bool) {
	if len(v.facts.Changed) > mostChanged {
		return false
	}
	near := fewIDs{} // ids of tasks and agents
	status := false  // whether the tasks that depend on a changed one have to look again
	for id := range v.facts.Changed {
		if strings.HasPrefix(id, "#") {
			return false // it has no id
		}
		near.add(id)
		is, was := v.s.Find(id), v.prev.Find(id)
		for _, t := range [...]*blackboard.Task{is, was} {
			if t != nil {
				near.add(t.AssignedTo, t.ReviewingBy, t.ApprovedBy)
			}
		}
		v.newIDs = v.newIDs || (is == nil) != (was == nil)
		if is != nil && was != nil {
			status = status || is.Status != was.Status && (is.Status.Terminal() || was.Status.Terminal())
			v.newLinks = v.newLinks || !slices.Equal(is.DependsOn, was.DependsOn)
		}
	}
	v.newIDs = v.newIDs || v.s.TaskCount() != v.prev.TaskCount()
	v.newLinks = v.newLinks || v.newIDs
	for t := range v.s.Tasks() {
		if v.newLinks {
			v.all = append(v.all, t)
		}
		if near.has(t.ID) || t.Status == blackboard.Claimed && near.has(t.AssignedTo) || t.ReviewingBy != "" && near.has(t.ReviewingBy) ||
			(status || v.newIDs) && near.hasOf(t.DependsOn) || v.newIDs && (near.hasOf(t.Supersedes) || near.hasOf(t.SupersededBy)) {
			v.tasks = append(v.tasks, t)
		}
	}
	if v.newIDs {
		v.countIDs()
	}
	return true
}

// fewIDs are ids; a list is quicker than a map for them.
type fewIDs struct{ list []string }

func (n *fewIDs) add(ids ...string) {
	for _, id := range ids {
		if id != "" && !n.has(id) {
			n.list = append(n.list, id)
		}
	}
}

func (n *fewIDs) has(id string) bool { return slices.Contains(n.list, id) }

func (n *fewIDs) hasOf(ids blackboard.List) bool { return slices.ContainsFunc(ids, n.has) }

// countIDs finds the ids that are there twice.
func (v *validation) countIDs() {
	seen := make(map[string]bool, len(v.all))
	for _, t := range v.all {
		v.repeated[t.ID] = v.repeated[t.ID] || seen[t.ID]
		seen[t.ID] = true
	}
}

// sameScope reports whether sprint.scope is what it was.
func (v *validation) sameScope() bool {
	was := v.prev.Sprint
	if was == nil || was.Scope == nil {
		return false
	}
	is := v.s.Sprint
	return slices.Equal(is.Scope.Planned, was.Scope.Planned) && slices.Equal(is.Scope.Stretch, was.Scope.Stretch)
}
