package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"liza/pkg/blackboard"
	"liza/pkg/exitcmd"
	"liza/pkg/transition"
)

// build checks the plan's form and makes its tasks, the closing message included.
func (b *planBuild) build() []*blackboard.Task {
	p, cfg := b.plan, b.Config
	b.problems = p.FormProblems()
	if strings.TrimSpace(p.Goal) == "" && len(p.Tasks) > 0 {
		b.bad("goal: is missing")
	}
	b.atMost("goal", p.Goal, "Plan.goal")
	b.atMost("reason", p.Reason, "Plan.reason")
	if len(p.Tasks) == 0 && len(p.Decisions) == 0 {
		b.bad("tasks: is empty; a plan has tasks or decisions")
	}
	if most := cfg.Limits.MaxPlanTasks; most > 0 && len(p.Tasks) > most {
		b.bad("tasks: has %d items; %d is the limit (limits.max_plan_tasks)", len(p.Tasks), most)
	}
	if most := exitcmd.LimitOf("Plan.decisions").Items; len(p.Decisions) > most {
		b.bad("decisions: has %d items; %d is the limit", len(p.Decisions), most)
	}
	if l := exitcmd.LimitOf("Plan.order"); p.Order != "" && !l.Has(p.Order) {
		b.bad("order: '%s' must be %s", p.Order, l.Listed())
	}
	b.decisionForms()
	var tasks []*blackboard.Task
	used := map[string]int{}
	for i := range p.Tasks {
		t := b.task(i, &p.Tasks[i])
		if at, twice := used[strings.ToLower(t.ID)]; twice {
			b.bad("tasks[%d].id: '%s' is that of tasks[%d] too", i, t.ID, at)
		}
		if old := b.state.Task(t.ID); old != nil {
			b.bad("tasks[%d].id: task %s exists (%s)", i, t.ID, old.Status)
		}
		used[strings.ToLower(t.ID)] = i
		tasks = append(tasks, t)
	}
	tasks = b.closing(tasks)
	b.order(tasks)
	for i, t := range tasks[:min(len(tasks), len(p.Tasks))] {
		n := item{b, i, &p.Tasks[i]}
		if !p.Tasks[i].Draft {
			n.gates(t)
		}
		n.dependencies(t, tasks)
	}
	if cycle := cycleAmong(tasks); cycle != "" {
		b.bad("tasks: their depends_on make a dependency cycle: %s", cycle)
	}
	return tasks
}

// closing adds the message that ends a plan, where the configuration asks for it.
func (b *planBuild) closing(tasks []*blackboard.Task) []*blackboard.Task {
	if len(tasks) == 0 {
		return tasks
	}
	last := tasks[len(tasks)-1]
	mode := b.Config.Plan.FinalMsg
	if mode == "require" && (b.Human || b.Scripted) {
		mode = "append"
	}
	switch {
	case mode == "off":
		return tasks
	case last.KindOf() == blackboard.MessageTask && last.Notify:
		last.AfterPlan = b.plan.Tasks[len(tasks)-1].DependsOn == nil
		return tasks
	case mode == "require":
		b.bad("tasks: the last one must be of kind msg with notify: true")
		return tasks
	}
	id := "final-msg"
	taken := func(id string) bool { _, known := b.state.StatusOf(id); return known } // by a task of an earlier goal too
	for n := 2; taken(id) || slices.ContainsFunc(tasks, func(t *blackboard.Task) bool { return t.ID == id }); n++ {
		id = fmt.Sprintf("final-msg-%d", n)
	}
	one := 1
	msg := &blackboard.Task{ID: id, Kind: blackboard.MessageTask, Description: "Tell the user what was done for: " + b.plan.Goal, Notify: true, AfterPlan: true, Priority: &one}
	FillKind(b.state, msg)
	b.warnings = append(b.warnings, "the plan does not end with a message to the user: "+id+" was added")
	return append(tasks, msg)
}

// order sets the dependencies: those given, or, in a sequential plan, the item before.
func (b *planBuild) order(tasks []*blackboard.Task) {
	if b.plan.Order == "" {
		b.plan.Order = "sequential"
		if slices.ContainsFunc(b.plan.Tasks, func(t exitcmd.PlanTask) bool { return t.DependsOn != nil }) {
			b.plan.Order = "graph"
		} else if n := len(b.plan.Tasks); n > 2 || n == 2 && !tasks[1].AfterPlan {
			b.warnings = append(b.warnings, fmt.Sprintf("no task has depends_on: the %d tasks are done one after the other; order: graph lets them begin at once", n))
		}
	}
	for i := range b.plan.Tasks {
		given := b.plan.Tasks[i].DependsOn
		switch {
		case given != nil:
			tasks[i].DependsOn = *given
		case b.plan.Order == "sequential" && i > 0 && !tasks[i].AfterPlan:
			tasks[i].DependsOn = blackboard.List{tasks[i-1].ID}
		}
	}
}

// dependencies checks that what the item waits for is there, and will ever be MERGED.
func (b item) dependencies(t *blackboard.Task, tasks []*blackboard.Task) {
	for _, id := range t.DependsOn {
		if slices.ContainsFunc(tasks, func(o *blackboard.Task) bool { return o.ID == id }) {
			continue
		}
		if why := transition.DependencyProblem(b.state, id); why != "" {
			b.bad("depends_on", "%s", why)
		}
	}
}

// cycleAmong names the tasks of a cycle, "" for none.
func cycleAmong(tasks []*blackboard.Task) string {
	for pending := tasks; len(pending) > 0; {
		rest := slices.DeleteFunc(slices.Clone(pending), func(t *blackboard.Task) bool { return !waitsForAny(t, pending) })
		if len(rest) == len(pending) {
			return ids(rest)
		}
		pending = rest
	}
	return ""
}

// enter creates plan record and tasks. A task is created after what it depends on, and
// is on the board in the plan's order.
func (b *planBuild) enter(s *blackboard.State, a transition.Actor, tasks []*blackboard.Task, in transition.Input, now time.Time) {
	begin := s.TaskCount()
	for pending := tasks; len(pending) > 0; {
		var rest []*blackboard.Task
		for _, t := range pending {
			if waitsForAny(t, pending) {
				rest = append(rest, t)
				continue
			}
			t.Plan = b.record.ID
			if err := transition.Create(s, t, b.isDraft(t.ID), a, in, now); err != nil {
				b.bad("%s: %v", t.ID, err)
			}
		}
		pending = rest
	}
	if len(b.problems) > 0 {
		return
	}
	s.SetTasks(append(s.TaskList()[:begin], tasks...), nil)
	for _, t := range tasks {
		b.record.Tasks = append(b.record.Tasks, t.ID)
	}
}

func (b *planBuild) isDraft(id string) bool {
	return slices.ContainsFunc(b.plan.Tasks, func(t exitcmd.PlanTask) bool { return t.ID == id && t.Draft })
}

func waitsForAny(t *blackboard.Task, pending []*blackboard.Task) bool {
	for _, d := range t.DependsOn {
		for _, p := range pending {
			if p.ID == d {
				return true
			}
		}
	}
	return false
}

func ids(tasks []*blackboard.Task) string {
	var out []string
	for _, t := range tasks {
		out = append(out, t.ID)
	}
	return strings.Join(out, ", ")
}
