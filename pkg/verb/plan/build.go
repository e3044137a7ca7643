// Package plan turns a planner's answer into tasks: what is wrong with it, all at once, or the tasks, the record and
// what becomes of the tasks that it decides about. It is pure: it changes the state that it is given and looks at
// nothing but the rules of the project.
package plan

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
	"liza/pkg/run/exitcmd"
	"liza/pkg/run/policy"
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
	b.renameArchived()
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

// renameArchived gives tasks of the plan whose ids the archive has other ones: a planner does not know what is not on the board any more.
func (b *planBuild) renameArchived() {
	known := map[string]bool{}
	for t := range b.state.Tasks() {
		known[strings.ToLower(t.ID)] = true
	}
	for i := range b.plan.Tasks {
		known[strings.ToLower(b.plan.Tasks[i].ID)] = true
	}
	archived := map[string]bool{}
	for _, id := range b.state.ArchivedIDs() {
		archived[strings.ToLower(id)] = true
	}
	renamed := map[string]string{}
	for i := range b.plan.Tasks {
		old := b.plan.Tasks[i].ID
		if old == "" || !archived[strings.ToLower(old)] || renamed[old] != "" {
			continue
		}
		id := old
		for n := 2; known[strings.ToLower(id)] || archived[strings.ToLower(id)]; n++ {
			id = fmt.Sprintf("%s-%d", old, n)
		}
		known[strings.ToLower(id)], renamed[old] = true, id
		b.warnings = append(b.warnings, fmt.Sprintf("task %s of the plan is %s: the archive has a task %s", old, id, old))
	}
	rename := func(ids []string, but string) []string {
		out := slices.Clone(ids)
		for i, id := range ids {
			if now := renamed[id]; now != "" && id != but {
				out[i] = now
			}
		}
		return out
	}
	b.plan.Tasks, b.plan.Decisions = slices.Clone(b.plan.Tasks), slices.Clone(b.plan.Decisions) // a plan that was only tried stays as it was
	for i := range b.plan.Tasks {
		t := &b.plan.Tasks[i]
		if t.DependsOn != nil {
			list := rename(*t.DependsOn, t.ID) // what waits for its own name waits for the archived one
			t.DependsOn = &list
		}
		t.ID = cmp.Or(renamed[t.ID], t.ID)
	}
	for i := range b.plan.Decisions {
		b.plan.Decisions[i].By = rename(b.plan.Decisions[i].By, "")
	}
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
	begin, attempts := s.TaskCount(), map[*blackboard.Task][]*blackboard.Task{}
	for pending := tasks; len(pending) > 0; {
		var rest []*blackboard.Task
		for _, t := range pending {
			if waitsForAny(t, pending) {
				rest = append(rest, t)
				continue
			}
			t.Plan = b.record.ID
			x := exitcmd.PlanTask{}
			if i := slices.Index(tasks, t); i < len(b.plan.Tasks) {
				x = b.plan.Tasks[i]
			}
			made, err := transition.CreateAttempts(s, t, x.Attempts, x.CLI, b.isDraft(t.ID), a, in, now)
			if attempts[t] = made; err != nil {
				b.bad("%s: %v", t.ID, err)
			}
			b.warnings = append(b.warnings, AttemptsCost(s, t, x.Attempts)...)
		}
		pending = rest
	}
	if len(b.problems) > 0 {
		return
	}
	all := s.TaskList()[:begin]
	for _, t := range tasks {
		all = append(all, attempts[t]...)
	}
	s.SetTasks(all, nil)
	for _, t := range all[begin:] {
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

// Applied is the result of a plan.
type Applied struct {
	Plan     string   `json:"plan"`
	Tasks    []string `json:"tasks"`
	Warnings []string `json:"warnings,omitempty"`
	Said     bool     `json:"recorded,omitempty"` // by a run, whose end applies it
}

// Apply puts a plan on the board, all or nothing. attics has what was saved of the work that it drops.
func (r *Rules) Apply(s *blackboard.State, a transition.Actor, p *exitcmd.Plan, hash string, attics map[string]Saved, now time.Time) (Applied, error) {
	var out Applied
	party, err := transition.Identify(s, a, now)
	if err != nil {
		return out, err
	}
	if party&(transition.ByHuman|transition.ByPlanner|transition.SPlanner) == 0 {
		return out, &transition.Refusal{Guard: "G03", Exit: transition.ExitRefused, Next: "liza status", Message: a.ID + " may not apply a plan; planner or human may"}
	}
	for _, old := range s.Plans {
		if old.Hash == hash && old.Status == "running" && len(p.FormProblems()) == 0 {
			return out, transition.Refuse(transition.ExitNothing, "liza status", "the plan is already applied as %s", old.ID)
		}
	}
	own := *p // it is applied to a copy first, and its order is set on the way
	b := &planBuild{Rules: r, state: s, plan: &own}
	again := replanOf(s, party)
	tasks := b.build()
	again.check(b, tasks)
	if len(b.problems) > 0 {
		return out, b.refusal()
	}
	if len(tasks) > 0 {
		b.record = b.newRecord(a, hash, again, now)
		b.enter(s, a, tasks, r.Input, now)
		if len(b.problems) > 0 {
			return out, b.refusal()
		}
		out.Plan, out.Warnings = b.record.ID, b.warnings
		again.enter(s, b.record, now)
		transition.EnterPlan(s, b.record, again.event(), b.record.ID+": "+ids(tasks), a, now)
		b.answerNotes()
	}
	for _, t := range tasks {
		out.Tasks = append(out.Tasks, t.ID)
	}
	for _, name := range slices.Sorted(maps.Keys(p.Secrets)) {
		if !slices.Contains(s.Secrets, name) {
			s.Secrets = append(s.Secrets, name)
		}
	}
	if err := b.decide(s, a, r.Input, attics, now); err != nil {
		return out, err
	}
	return out, again.supersede(b, a, r.Input, attics, now)
}

// Dropped lists the tasks whose worktree the plan gives up: those that it decides about, and
// what it replaces as the answer to a replan.
func Dropped(p *exitcmd.Plan, s *blackboard.State, party transition.Party) []string {
	set := map[string]bool{}
	for _, x := range p.Decisions {
		if x.Task != "" && x.Do != exitcmd.DoFinalize {
			set[x.Task] = true
		}
	}
	for _, t := range p.Tasks {
		for _, id := range t.Supersedes {
			set[id] = true
		}
	}
	for _, t := range replanOf(s, party).replaced(s) {
		set[t] = true
	}
	return slices.Sorted(maps.Keys(set))
}

// Decided lists what the plan's decisions are about.
func Decided(p *exitcmd.Plan) []string {
	var ids []string
	for _, x := range p.Decisions {
		ids = append(ids, cmp.Or(x.Task, x.Discovery))
	}
	return ids
}

func (b *planBuild) refusal() error {
	err := exitcmd.InvalidPlan(exitcmd.NotApplied+"%s%s", exitcmd.AllOf(b.problems), exampleFor(b.problems))
	if b.circular {
		return &CircularError{Refusal: err.(*transition.Refusal)}
	}
	return err
}

// newRecord is what the board keeps of the plan.
func (b *planBuild) newRecord(a transition.Actor, hash string, r *replan, now time.Time) *blackboard.Plan {
	p := &blackboard.Plan{ID: fmt.Sprintf("plan-%d", len(b.state.Plans)+1), Goal: b.plan.Goal, By: a.ID, Status: "running", Caller: &b.Caller,
		Request: b.request(), Created: blackboard.TimeOf(now), Order: b.plan.Order, Hash: hash, ParseAttempts: b.plan.Answers}
	if parent := r.parent(b.state); parent != nil {
		p.Parent, p.Root = parent.ID, cmp.Or(parent.Root, parent.ID)
	}
	return p
}

// request is what the user said: the goal at first, afterwards the notes that no planner has
// seen, else what the plan before was for.
func (b *planBuild) request() string {
	s := b.state
	var words []string
	for _, n := range transition.UnseenNotes(s) {
		words = append(words, n.Message)
	}
	text := strings.Join(words, "\n")
	switch {
	case s.Goal == nil:
	case s.Goal.PlanID == "":
		text = strings.TrimSpace(s.Goal.Description + "\n" + text)
	case text == "":
		if p := transition.Plan(s, s.Goal.PlanID); p != nil {
			text = p.Request
		}
	}
	if most := exitcmd.LimitOf("Plan.goal").Most; len(text) > most {
		text = strings.ToValidUTF8(text[:most], "")
	}
	return text
}

// answerNotes says in the notes that the planner was given which plan answers them.
func (b *planBuild) answerNotes() {
	if b.Human {
		return // the planner has yet to see them
	}
	for _, n := range transition.UnseenNotes(b.state) {
		n.Plan, n.Outcome = b.record.ID, "planned"
	}
}

// decide carries out the plan's decisions and supersedes, each as the verb of its name.
func (b *planBuild) decide(s *blackboard.State, a transition.Actor, in transition.Input, attics map[string]Saved, now time.Time) error {
	decisions := slices.Clone(b.plan.Decisions)
	superseded := map[string][]string{}
	var order []string
	for i, t := range b.plan.Tasks {
		for _, old := range t.Supersedes {
			if superseded[old] == nil {
				order = append(order, old)
			}
			superseded[old] = append(superseded[old], cmp.Or(t.ID, b.record.Tasks[i]))
		}
	}
	for _, old := range order {
		decisions = append(decisions, exitcmd.Decision{Task: old, Do: exitcmd.DoSupersede, By: superseded[old], Reason: cmp.Or(b.plan.Reason, "replaced by a new plan")})
	}
	for i, x := range decisions {
		in := in
		in.Reason, in.RootCause, in.By = x.Reason, x.RootCause, x.By
		if w, ok := attics[x.Task]; ok {
			in.Attic, in.SaveError = w.Attic, w.Problem
		}
		if err := b.decision(s, a, x, in, now); err != nil {
			if _, refused := err.(*transition.Refusal); refused {
				return exitcmd.InvalidPlan("%s (%s %s): %v", b.placeOf(i, x), x.Do, cmp.Or(x.Task, x.Discovery), err)
			}
			return err
		}
	}
	return nil
}

// placeOf names where in the plan the i-th decision is: the last ones are those of the
// tasks that supersede others.
func (b *planBuild) placeOf(i int, x exitcmd.Decision) string {
	if i < len(b.plan.Decisions) {
		return fmt.Sprintf("decisions[%d]", i)
	}
	at := slices.IndexFunc(b.plan.Tasks, func(t exitcmd.PlanTask) bool { return slices.Contains(t.Supersedes, x.Task) })
	return fmt.Sprintf("tasks[%d].supersedes", at)
}

func (b *planBuild) decision(s *blackboard.State, a transition.Actor, x exitcmd.Decision, in transition.Input, now time.Time) error {
	if x.Discovery != "" {
		return decideDiscovery(s, a, x, now)
	}
	switch x.Do {
	case exitcmd.DoUnblock:
		open := 0
		for _, q := range s.Questions {
			if q.Task == x.Task && q.Status == blackboard.QuestionOpen && open < len(x.Answers) {
				q.Status, q.Answer, q.By, q.AnsweredAt = blackboard.QuestionAnswered, x.Answers[open], a.ID, blackboard.TimeOf(now)
				open++
			}
		}
		return transition.Unblock(s, x.Task, a, in, now)
	case exitcmd.DoSupersede:
		return transition.Supersede(s, x.Task, a, in, now)
	case exitcmd.DoAbandon:
		_, err := transition.Abandon(s, x.Task, a, in, now)
		return err
	case exitcmd.DoFinalize:
		return transition.Finalize(s, []string{x.Task}, a, in, now)
	}
	return exitcmd.InvalidPlan("do: '%s' must be unblock, supersede, abandon or finalize", x.Do)
}

// decisionForms checks the form of the decisions; whether each is possible is found out when
// it is carried out.
func (b *planBuild) decisionForms() {
	for i, x := range b.plan.Decisions {
		bad := func(key, format string, args ...any) {
			b.bad("decisions[%d].%s: %s", i, key, fmt.Sprintf(format, args...))
		}
		if x.Discovery != "" { // decideDiscovery looks at its form
			continue
		}
		if x.Task == "" {
			bad("task", "name a task or a discovery")
			continue
		}
		words := []string{exitcmd.DoUnblock, exitcmd.DoSupersede, exitcmd.DoAbandon, exitcmd.DoFinalize}
		if !slices.Contains(words, x.Do) {
			bad("do", "'%s' must be one of %s", x.Do, strings.Join(words, ", "))
			continue
		}
		if strings.TrimSpace(x.Reason) == "" && x.Do != exitcmd.DoFinalize {
			bad("reason", "is missing")
		}
		if len(x.By) == 0 && x.Do == exitcmd.DoSupersede {
			bad("by", "is missing: name what takes its place")
		}
		b.atMost(fmt.Sprintf("decisions[%d].reason", i), x.Reason, "Decision.reason")
	}
}

// decideDiscovery carries out a plan's decision about a discovery. What it is converted to
// may be a task of the same plan.
func decideDiscovery(s *blackboard.State, a transition.Actor, x exitcmd.Decision, now time.Time) error {
	var err error
	switch {
	case x.Task != "":
		return exitcmd.InvalidPlan("it names the task %s too; decide about one of them", x.Task)
	case x.Do == exitcmd.DoConvert && len(x.By) != 1:
		return exitcmd.InvalidPlan("by: must name one task, has %d", len(x.By))
	case x.Do == exitcmd.DoConvert:
		err = transition.ConvertDiscovery(s, x.Discovery, x.By[0], a, now)
	case x.Do == exitcmd.DoDefer:
		err = transition.DeferDiscovery(s, x.Discovery, x.Reason, a, now)
	default:
		return exitcmd.InvalidPlan("do: '%s' must be convert or defer for a discovery", x.Do)
	}
	if transition.IsAlreadyDone(err) {
		return nil
	}
	return err
}

// AttemptsCost says what several attempts at a task may cost.
func AttemptsCost(s *blackboard.State, t *blackboard.Task, n int) []string {
	if n < 2 {
		return nil
	}
	text := fmt.Sprintf("%s: %d attempts, up to %d times the cost", t.ID, n, n)
	if limit := transition.LimitOf(s, t, "cost_cents"); limit > 0 {
		text += fmt.Sprintf(": at most %s for each, %s for all", blackboard.Amount(limit).Dollars(), blackboard.Amount(n*limit).Dollars())
	}
	return []string{text}
}
