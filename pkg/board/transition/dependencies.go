package transition

import (
	"fmt"
	"strings"

	"liza/pkg/board/blackboard"
)

var dependenciesExist = Guard{"G14", "every dependency exists, and they make no cycle", func(m *move) error {
	for _, d := range m.task.DependsOn {
		if _, ok := statusOf(m.state, d, m.in); !ok && d != m.task.ID {
			return refuse("G14", ExitInvalid, "liza status", "depends_on of %s: no task '%s'", m.task.ID, d)
		}
	}
	if cycle := cycleThrough(m.state, m.task.ID, m.task.DependsOn, nil); cycle != nil {
		return refuse("G14", ExitInvalid, "liza status --graph", "dependency cycle: %s", strings.Join(cycle, " → "))
	}
	return nil
}}

var dependenciesWanted = Guard{"G15", "no dependency is ABANDONED or SUPERSEDED", func(m *move) error {
	for _, d := range m.task.DependsOn {
		if st, _ := statusOf(m.state, d, m.in); st == blackboard.Superseded || st == blackboard.Abandoned {
			return refuse("G15", ExitInvalid, "liza status --graph", "%s", DependencyProblem(m.state, d))
		}
	}
	return nil
}}

var dependenciesMerged = Guard{"G20", "all dependencies are MERGED; with after_plan, every other task of the plan is terminal", func(m *move) error {
	if waits := waitsFor(m.state, m.task, m.in); len(waits) > 0 {
		return m.no("G20", ExitRefused, "task %s waits for %s", m.task.ID, strings.Join(waits, ", "))
	}
	return nil
}}

var dependenciesLeft = Guard{"G79", "no dependency is ABANDONED or SUPERSEDED", func(m *move) error {
	deps := m.task.DependsOn
	if m.in.DependsOn != nil {
		deps = m.in.DependsOn
	}
	for _, d := range deps {
		st, ok := statusOf(m.state, d, m.in)
		if !ok {
			return m.no("G14", ExitInvalid, "depends_on of %s: no task '%s'", m.task.ID, d)
		}
		if st == blackboard.Abandoned || st == blackboard.Superseded {
			return m.refuseNext(fmt.Sprintf("liza retry %s --reason T --depends ID,…", m.task.ID), "G79", ExitRefused,
				"task %s depends on %s, which is %s; name its dependencies again with --depends", m.task.ID, d, st)
		}
	}
	if cycle := cycleThrough(m.state, m.task.ID, deps, nil); cycle != nil {
		return m.refuseNext("liza status --graph", "G14", ExitInvalid, "dependency cycle: %s", strings.Join(cycle, " → "))
	}
	return nil
}}

// DependencyProblem returns why no task can depend on task id, or "" if one can.
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

// waitsFor lists the tasks that keep t from being claimable, with their status: "a (CLAIMED)".
func waitsFor(s *blackboard.State, t *blackboard.Task, in Input) []string {
	var waits []string
	for _, d := range t.DependsOn {
		switch st, ok := statusOf(s, d, in); {
		case !ok:
			waits = append(waits, d+" (missing)")
		case st != blackboard.Merged:
			waits = append(waits, fmt.Sprintf("%s (%s)", d, st))
		}
	}
	if !t.AfterPlan || len(waits) > 0 {
		return waits
	}
	for o := range s.Tasks() {
		if o != t && t.Plan != "" && o.Plan == t.Plan && !o.Status.Terminal() {
			waits = append(waits, fmt.Sprintf("%s (%s)", o.ID, o.Status))
		}
	}
	return waits
}

// statusOf is the status of a task on the board or in the archive.
func statusOf(s *blackboard.State, id string, in Input) (blackboard.Status, bool) {
	if t := in.index.find(id); t != nil {
		return t.Status, true
	}
	return s.StatusOf(id)
}

// taskIndex has the tasks of a state by id. It is made when the first one is asked for: most tasks depend on nothing.
type taskIndex struct {
	state *blackboard.State
	byID  map[string]*blackboard.Task
}

// find returns nil for a task that is not there, or without an index.
func (x *taskIndex) find(id string) *blackboard.Task {
	if x == nil {
		return nil
	}
	if x.byID == nil {
		x.byID = make(map[string]*blackboard.Task, x.state.TaskCount())
		for t := range x.state.Tasks() {
			if x.byID[t.ID] == nil {
				x.byID[t.ID] = t
			}
		}
	}
	return x.byID[id]
}

// indexed is the input for looking at many tasks.
func indexed(s *blackboard.State, in Input) Input {
	in.index = &taskIndex{state: s}
	return in
}

// cycleThrough returns a dependency cycle that goes through id when it depends on deps,
// or nil. replace, if given, stands in for each dependency (a supersede under way).
func cycleThrough(s *blackboard.State, id string, deps []string, replace func(string) []string) []string {
	if len(deps) == 0 {
		return nil
	}
	seen, tasks := map[string]bool{}, make(map[string]*blackboard.Task, s.TaskCount())
	for t := range s.Tasks() {
		tasks[t.ID] = t
	}
	var walk func(at string, path []string) []string
	walk = func(at string, path []string) []string {
		path = append(path, at)
		if at == id {
			return path
		}
		if seen[at] {
			return nil
		}
		seen[at] = true
		t := tasks[at]
		if t == nil || t.Status.Terminal() {
			return nil
		}
		next := []string(t.DependsOn)
		if replace != nil {
			next = replaceAll(next, replace)
		}
		for _, d := range next {
			if c := walk(d, path); c != nil {
				return c
			}
		}
		return nil
	}
	for _, d := range deps {
		if c := walk(d, []string{id}); c != nil {
			return c
		}
	}
	return nil
}

// replaceAll maps a list in place and drops duplicates.
func replaceAll(list []string, replace func(string) []string) blackboard.List {
	var out blackboard.List
	for _, x := range list {
		for _, y := range replace(x) {
			if !out.Has(y) {
				out = append(out, y)
			}
		}
	}
	return out
}
