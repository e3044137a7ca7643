package verb

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"liza/pkg/blackboard"
)

// planBuild turns a plan into tasks and collects every problem on the way.
type planBuild struct {
	desk     *Desk
	state    *blackboard.State
	plan     *Plan
	byHuman  bool
	record   *blackboard.Plan
	problems []string
}

func (b *planBuild) bad(format string, args ...any) {
	b.problems = append(b.problems, fmt.Sprintf(format, args...))
}

// build checks the plan's form and makes its tasks, the closing message included.
func (b *planBuild) build() []*blackboard.Task {
	p, cfg := b.plan, b.desk.Config()
	if strings.TrimSpace(p.Goal) == "" && len(p.Tasks) > 0 {
		b.bad("goal: is missing")
	}
	if len(p.Goal) > 2000 {
		b.bad("goal: has %d bytes; 2,000 is the limit", len(p.Goal))
	}
	if len(p.Tasks) == 0 && len(p.Decisions) == 0 {
		b.bad("tasks: is empty; a plan has tasks or decisions")
	}
	if most := cfg.Limits.MaxPlanTasks; most > 0 && len(p.Tasks) > most {
		b.bad("tasks: has %d items; %d is the limit (limits.max_plan_tasks)", len(p.Tasks), most)
	}
	switch p.Order {
	case "", "sequential", "graph":
	default:
		b.bad("order: '%s' must be sequential or graph", p.Order)
	}
	var tasks []*blackboard.Task
	used := map[string]int{}
	for i := range p.Tasks {
		t := b.task(i, &p.Tasks[i])
		if at, twice := used[strings.ToLower(t.ID)]; twice {
			b.bad("tasks[%d].id: '%s' is that of tasks[%d] too", i, t.ID, at)
		}
		used[strings.ToLower(t.ID)] = i
		tasks = append(tasks, t)
	}
	tasks = b.closing(tasks)
	b.order(tasks)
	for i, t := range tasks {
		for _, gap := range t.Gates() {
			if i >= len(p.Tasks) || !p.Tasks[i].Draft {
				b.bad("tasks[%d] (%s): %s", i, t.ID, gap)
			}
		}
	}
	return tasks
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func (b *planBuild) task(i int, x *PlanTask) *blackboard.Task {
	if x.Detail != "" && x.Description != "" && x.Detail != x.Description {
		b.bad("tasks[%d]: detail and description differ", i)
	}
	if x.Expect != "" && x.DoneWhen != "" && x.Expect != x.DoneWhen {
		b.bad("tasks[%d]: expect and done_when differ", i)
	}
	kind, typ := x.Kind, x.Type
	if slices.Contains(blackboard.Kinds, typ) { // Kiso's form
		if kind != "" && kind != typ {
			b.bad("tasks[%d]: kind '%s' and type '%s' differ", i, kind, typ)
		}
		kind, typ = typ, ""
	}
	if kind == "code" {
		kind = ""
	}
	t := &blackboard.Task{ID: first(x.ID, b.freeID(i)), Kind: kind, Type: typ, Title: x.Title, Description: first(x.Detail, x.Description),
		DoneWhen: first(x.Expect, x.DoneWhen), AcceptanceCriteria: x.AcceptanceCriteria, Scope: x.Scope, SpecRef: x.SpecRef, Files: x.Files,
		Priority: x.Priority, Role: x.Role, ModelRole: x.Model, Command: x.Command, Skill: x.Skill, Args: x.Args, Notify: x.Notify,
		Writes: x.Writes, TimeoutSeconds: x.TimeoutSeconds, Secrets: x.Secrets, LegacyTests: x.LegacyTests}
	if x.Review != nil {
		t.ReviewRequired = *x.Review
		if t.KindOf() == "code" && !*x.Review {
			b.bad("tasks[%d].review: a code task is always reviewed", i)
		}
		if *x.Review && t.DoneWhen == "" {
			b.bad("tasks[%d].expect: is required with review", i)
		}
	}
	if t.KindOf() == "code" {
		t.ReviewRequired = false // it is always reviewed
	}
	if t.KindOf() == "skill" {
		b.bad("tasks[%d].kind: no skill is installed", i)
	}
	if !slices.Contains(blackboard.Kinds, t.KindOf()) {
		b.bad("tasks[%d].kind: '%s' must be code, exec, msg or skill", i, t.Kind)
	}
	if why := b.desk.newRoleProblem(t); why != "" {
		b.bad("tasks[%d].%s", i, why)
	}
	limits := blackboard.Settings{}
	for k, v := range x.Limits {
		switch k {
		case "max_iterations":
			t.MaxIterations = v
		case "max_review_cycles":
			t.MaxReviewCycles = v
		default:
			limits[k] = v
		}
	}
	if len(limits) > 0 {
		t.Limits = limits
	}
	if t.Priority == nil {
		one := 1
		t.Priority = &one
	}
	fillKind(b.state, t)
	return t
}

// freeID is task-N above every number in use, for the i-th item of the plan.
func (b *planBuild) freeID(i int) string {
	highest := 0
	note := func(id string) {
		var n int
		if _, err := fmt.Sscanf(id, "task-%d", &n); err == nil {
			highest = max(highest, n)
		}
	}
	for _, t := range b.state.Tasks {
		note(t.ID)
	}
	for _, t := range b.plan.Tasks {
		note(t.ID)
	}
	return fmt.Sprintf("task-%d", highest+1+i)
}

// closing adds the message that ends a plan, where the configuration asks for it.
func (b *planBuild) closing(tasks []*blackboard.Task) []*blackboard.Task {
	if len(tasks) == 0 {
		return tasks
	}
	last := tasks[len(tasks)-1]
	mode := b.desk.Config().Plan.FinalMsg
	if mode == "require" && (b.byHuman || b.desk.Scripted) {
		mode = "append"
	}
	switch {
	case mode == "off":
		return tasks
	case last.KindOf() == "msg" && last.Notify:
		last.AfterPlan = b.plan.Tasks[len(tasks)-1].DependsOn == nil
		return tasks
	case mode == "require":
		b.bad("tasks: the last one must be of kind msg with notify: true")
		return tasks
	}
	id := "final-msg"
	for n := 2; b.state.Task(id) != nil || slices.ContainsFunc(tasks, func(t *blackboard.Task) bool { return t.ID == id }); n++ {
		id = fmt.Sprintf("final-msg-%d", n)
	}
	one := 1
	msg := &blackboard.Task{ID: id, Kind: "msg", Description: "Tell the user what was done for: " + b.plan.Goal, Notify: true, AfterPlan: true, Priority: &one}
	fillKind(b.state, msg)
	return append(tasks, msg)
}

// order sets the dependencies: those given, or, in a sequential plan, the item before.
func (b *planBuild) order(tasks []*blackboard.Task) {
	sequential := b.plan.Order == "sequential"
	if b.plan.Order == "" {
		sequential = !slices.ContainsFunc(b.plan.Tasks, func(t PlanTask) bool { return t.DependsOn != nil })
	}
	for i := range b.plan.Tasks {
		given := b.plan.Tasks[i].DependsOn
		switch {
		case given != nil:
			tasks[i].DependsOn = *given
		case sequential && i > 0 && !tasks[i].AfterPlan:
			tasks[i].DependsOn = blackboard.List{tasks[i-1].ID}
		}
	}
}

// enter creates plan record and tasks. A task is created after what it depends on, and
// stands on the board in the plan's order.
func (b *planBuild) enter(s *blackboard.State, a blackboard.Actor, tasks []*blackboard.Task, hash string, in blackboard.Input, now timeT) {
	b.record = &blackboard.Plan{ID: fmt.Sprintf("plan-%d", len(s.Plans)+1), Goal: b.plan.Goal, By: a.ID, Status: "running",
		Created: blackboard.TimeOf(now), Order: b.plan.Order, Hash: hash}
	pending := slices.Clone(tasks)
	begin := len(s.Tasks)
	for len(pending) > 0 {
		rest := pending[:0:0]
		for _, t := range pending {
			if waitsForAny(t, pending) {
				rest = append(rest, t)
				continue
			}
			t.Plan = b.record.ID
			if err := s.Create(t, b.isDraft(t.ID), a, in, now); err != nil {
				b.bad("%s: %v", t.ID, err)
			}
		}
		if len(rest) == len(pending) {
			b.bad("dependency cycle among %s", ids(rest))
			return
		}
		pending = rest
	}
	if len(b.problems) > 0 {
		return
	}
	copy(s.Tasks[begin:], tasks)
	for _, t := range tasks {
		b.record.Tasks = append(b.record.Tasks, t.ID)
	}
	s.EnterPlan(b.record, b.record.ID+": "+ids(tasks), a, now)
}

func (b *planBuild) isDraft(id string) bool {
	return slices.ContainsFunc(b.plan.Tasks, func(t PlanTask) bool { return t.ID == id && t.Draft })
}

func waitsForAny(t *blackboard.Task, pending []*blackboard.Task) bool {
	for _, d := range t.DependsOn {
		for _, p := range pending {
			if p != t && p.ID == d {
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

// decide carries out the plan's decisions and supersedes, each as the verb of its name.
func (b *planBuild) decide(s *blackboard.State, a blackboard.Actor, in blackboard.Input, attics map[string]saved, now timeT) error {
	decisions := slices.Clone(b.plan.Decisions)
	superseded := map[string][]string{}
	var order []string
	for i, t := range b.plan.Tasks {
		for _, old := range t.Supersedes {
			if superseded[old] == nil {
				order = append(order, old)
			}
			superseded[old] = append(superseded[old], first(t.ID, b.record.Tasks[i]))
		}
	}
	for _, old := range order {
		decisions = append(decisions, Decision{Task: old, Do: "supersede", By: superseded[old], Reason: first(b.plan.Reason, "replaced by a new plan")})
	}
	for i, x := range decisions {
		in := in
		in.Reason, in.RootCause, in.By = x.Reason, x.RootCause, x.By
		if w, ok := attics[x.Task]; ok {
			in.Attic, in.SaveError = w.attic, w.problem
		}
		if err := b.decision(s, a, x, in, now); err != nil {
			if _, refused := err.(*blackboard.Refusal); refused {
				return planError("decisions[%d] (%s %s): %v", i, x.Do, first(x.Task, x.Discovery), err)
			}
			return err
		}
	}
	return nil
}

func (b *planBuild) decision(s *blackboard.State, a blackboard.Actor, x Decision, in blackboard.Input, now timeT) error {
	if x.Discovery != "" {
		return decideDiscovery(s, a, x, now)
	}
	switch x.Do {
	case "unblock":
		open := 0
		for _, q := range s.Questions {
			if q.Task == x.Task && q.Status == "open" && open < len(x.Answers) {
				q.Status, q.Answer, q.By, q.AnsweredAt = "answered", x.Answers[open], a.ID, blackboard.TimeOf(now)
				open++
			}
		}
		return s.Unblock(x.Task, a, in, now)
	case "supersede":
		return s.Supersede(x.Task, a, in, now)
	case "abandon":
		_, err := s.Abandon(x.Task, a, in, now)
		return err
	case "finalize":
		return s.Finalize([]string{x.Task}, a, in, now)
	}
	return planError("do: '%s' must be unblock, supersede, abandon or finalize", x.Do)
}

// shape describes which keys a decoded JSON value may have.
type shape struct {
	fields map[string]*shape // of an object; nil for an open one
	item   *shape            // of a list
}

// shapeOf derives the shape from a Go type's json tags.
func shapeOf(v any) *shape { return typeShape(reflect.TypeOf(v)) }

func typeShape(t reflect.Type) *shape {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Slice:
		return &shape{item: typeShape(t.Elem())}
	case reflect.Struct:
		s := &shape{fields: map[string]*shape{}}
		for i := range t.NumField() {
			name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
			if name != "" && name != "-" {
				s.fields[name] = typeShape(t.Field(i).Type)
			}
		}
		return s
	}
	return &shape{}
}

func unknownKeys(v any, s *shape, path string) []string {
	var out []string
	switch v := v.(type) {
	case []any:
		for i, x := range v {
			if s != nil && s.item != nil {
				out = append(out, unknownKeys(x, s.item, fmt.Sprintf("%s[%d]", path, i))...)
			}
		}
	case map[string]any:
		if s == nil || s.fields == nil {
			return nil
		}
		known := sortedKeys(s.fields)
		for _, k := range sortedKeys(v) {
			sub, ok := s.fields[k]
			switch {
			case ok:
				out = append(out, unknownKeys(v[k], sub, path+"."+k)...)
			case !strings.HasPrefix(k, "x_"):
				text := fmt.Sprintf("%s: unknown key '%s'", path, k)
				if near := blackboard.Nearest(k, known); near != "" {
					text += fmt.Sprintf("; nearest: %s", near)
				}
				out = append(out, text)
			}
		}
	}
	return out
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func kindName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Int:
		return "an integer"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "a list"
	case reflect.Map, reflect.Struct:
		return "an object"
	}
	return "a text"
}
