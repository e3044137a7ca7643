package transition

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"liza/pkg/blackboard"
)

var noHumanReview = Guard{"G03", "with plan.human_review, only a person finalizes", func(m *move) error {
	if m.in.HumanReview && m.party&ByHuman == 0 {
		return m.no("G03", ExitRefused, "a planner may not finalize %s: with plan.human_review a person does", m.task.ID)
	}
	return nil
}}

var idAllowed = Guard{"G10", "the id may name a task", func(m *move) error {
	if !blackboard.ValidTaskID(m.task.ID) {
		return refuse("G10", ExitUsage, "liza help add-task", "task id '%s' is not allowed: it must match %s, without '..', not ending in '.' or '.lock'", m.task.ID, blackboard.TaskIDPattern())
	}
	return nil
}}

var idNew = Guard{"G11", "the id is new, without regard to case, also in the archive", func(m *move) error {
	for t := range m.state.Tasks() {
		if strings.EqualFold(t.ID, m.task.ID) {
			return refuse("G11", ExitRefused, "liza show "+t.ID, "task %s exists (%s)", t.ID, t.Status)
		}
	}
	archived := m.state.ArchivedTasks()
	for _, id := range slices.Sorted(maps.Keys(archived)) {
		if strings.EqualFold(id, m.task.ID) {
			return refuse("G11", ExitRefused, "liza show "+id, "task %s exists in the archive (%s)", id, archived[id].Status)
		}
	}
	return nil
}}

var gatesPass = Guard{"G12", "the gates pass: description, spec_ref, done_when, scope, tests included", func(m *move) error {
	missing := m.task.Gates()
	if len(missing) == 0 {
		return nil
	}
	if m.rule.Event == EvCreate {
		return refuse("G12", ExitUsage, "liza help add-task", "cannot create %s: %s", m.task.ID, strings.Join(missing, "; "))
	}
	return refuse("G12", ExitRefused, "liza show "+m.task.ID, "%s: %s", m.task.ID, strings.Join(missing, "; "))
}}

var specExists = Guard{"G13", "the spec file exists", func(m *move) error {
	path, _, _ := strings.Cut(m.task.SpecRef, "#")
	if m.in.SpecExists == nil || path == "" || m.in.SpecExists(path) {
		return nil
	}
	next := "liza help " + commandOf(m.rule.Event)
	if m.rule.Event == EvClaim || m.rule.Event == EvClaimReview {
		next = "liza edit"
	}
	return m.refuseNext(next, "G13", ExitInvalid, "the spec file %s of %s does not exist in the project", path, m.task.ID)
}}

var dependenciesExist = Guard{"G14", "every dependency exists, and they make no cycle", func(m *move) error {
	for _, d := range m.task.DependsOn {
		if _, ok := statusOf(m.state, d, m.in); !ok && d != m.task.ID {
			return refuse("G14", ExitInvalid, "liza status", "depends_on of %s: no task '%s'", m.task.ID, d)
		}
	}
	if cycle := cycleThrough(m.state, m.task.ID, m.task.DependsOn, nil); cycle != nil {
		return refuse("G14", ExitInvalid, "liza graph", "dependency cycle: %s", strings.Join(cycle, " → "))
	}
	return nil
}}

var dependenciesWanted = Guard{"G15", "no dependency is ABANDONED or SUPERSEDED", func(m *move) error {
	for _, d := range m.task.DependsOn {
		if st, _ := statusOf(m.state, d, m.in); st == blackboard.Superseded || st == blackboard.Abandoned {
			return refuse("G15", ExitInvalid, "liza graph", "%s", DependencyProblem(m.state, d))
		}
	}
	return nil
}}

// DependencyProblem says why nothing can depend on the task of that id, "" when it can.
func DependencyProblem(s *blackboard.State, id string) string {
	switch st, ok := s.StatusOf(id); {
	case !ok:
		return fmt.Sprintf("no task '%s'", id)
	case st == blackboard.Abandoned:
		return fmt.Sprintf("task %s is ABANDONED; nothing can depend on it", id)
	case st == blackboard.Superseded:
		by := "another task"
		if t := s.Find(id); t != nil && len(t.SupersededBy) > 0 {
			by = strings.Join(t.SupersededBy, ", ")
		}
		return fmt.Sprintf("task %s is SUPERSEDED by %s; depend on those", id, by)
	}
	return ""
}

var fieldsKnown = Guard{"G16", "priority is 0 or more, the kind is known, and the role can be used", func(m *move) error {
	if p := m.task.Priority; p != nil && *p < 0 {
		return refuse("G16", ExitUsage, "liza help add-task", "priority must be an integer of 0 or more, not %d", *p)
	}
	if k := m.task.Kind; k != "" && !blackboard.List(blackboard.Kinds).Has(string(k)) {
		return refuse("G16", ExitUsage, "liza help add-task", "kind '%s' is unknown: it must be %s", k, blackboard.OrList(blackboard.Kinds))
	}
	if m.in.RoleProblem != "" {
		return refuse("G16", ExitUsage, "liza roles list", "%s", m.in.RoleProblem)
	}
	return nil
}}
