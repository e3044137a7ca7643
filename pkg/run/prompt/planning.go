package prompt

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
)

// planning has the board with the triggers that woke the planner, for the reason of the run, the content of the board, and
// the earlier attempts after a failure.
type planning struct {
	state    *blackboard.State
	triggers []transition.Trigger
}

func planningOf(in *Input) planning { return planning{in.State, in.Triggers} }

// planned makes a section's text of the planning.
func planned(text func(planning) string) func(*Input) string {
	return func(in *Input) string { return text(planningOf(in)) }
}

// first reports whether no plan was made before.
func (p planning) first() bool {
	return slices.ContainsFunc(p.triggers, func(t transition.Trigger) bool { return t.Kind == transition.TriggerInitialPlanning })
}

// again reports whether the planner has to find another way for failed work.
func (p planning) again() bool { return slices.ContainsFunc(p.triggers, replans) }

// replans reports whether a trigger asks for another way to the goal.
func replans(t transition.Trigger) bool {
	return t.Kind == transition.TriggerReplan || t.Kind == transition.TriggerHypothesisExhausted
}

// meaning has the planner's duty for each trigger (specs/protocol.md#13.1).
var meaning = []struct {
	kind transition.TriggerKind
	text string
}{
	{transition.TriggerInitialPlanning, "No task exists yet: make the plan."},
	{transition.TriggerReplan, "A reviewer says that the approach is wrong. Make a new plan that reaches the goal another way, with a `reason`; it replaces what is unfinished."},
	{transition.TriggerBlockedTasks, "Decide about each: unblock, supersede or abandon. One with kind halt can only be superseded or abandoned by you."},
	{transition.TriggerHypothesisExhausted, "Coders failed these tasks: log `hypothesis_exhaustion`, then supersede or abandon each with its root cause. They cannot be unblocked."},
	{transition.TriggerIntegrationFailed, "A coder takes these up by itself; supersede one only when it cannot work."},
	{transition.TriggerImmediateDiscovery, "Convert each into a task, or defer it with a reason."},
	{transition.TriggerHumanNote, "A person wrote: see the new message."},
	{transition.TriggerSpecChanged, "The spec changed: see whether tasks have to change with it."},
	{transition.TriggerSystemAmbiguity, "An agent found the rules unclear: make the tasks that it concerns say what holds; what only a person can decide, ask."},
	{transition.TriggerDraftsPending, "Drafts wait: complete what their gates miss and finalize them, or abandon them. Of an imported one make tasks that supersede it: its source is told when they are merged."},
	{transition.TriggerReviewStuck, "A review got stuck and is on hold: supersede or abandon the task, or leave it to people."},
}

// wake names the triggers, the first of which named the run.
func (p planning) wake() string {
	var l lines
	for _, t := range p.triggers {
		text := ""
		for _, m := range meaning {
			if m.kind == t.Kind {
				text = " " + m.text
			}
		}
		l.add("- %s (%s):%s", t.Kind, strings.Join(t.IDs, ", "), text)
	}
	return l.String()
}

// causes describes each task and discovery that the triggers name.
func (p planning) causes() string {
	var l lines
	told := map[string]bool{}
	for _, trigger := range p.triggers {
		for _, id := range trigger.IDs {
			if told[id] {
				continue
			}
			told[id] = true
			if t := p.state.Task(id); t != nil {
				p.causeOf(&l, t)
			}
			for _, d := range p.state.Discovered {
				if d != nil && d.ID == id {
					l.add("- %s (%s, during %s): %s%s", d.ID, cmp.Or(d.Severity, "low"), cmp.Or(d.During, "no task"), oneLine(d.Description, 500), after("; recommended: ", oneLine(d.Recommendation, 500)))
				}
			}
		}
	}
	for _, c := range p.state.SpecChanges {
		if p.wokenBy(transition.ID(c)) {
			l.add("- spec changed: %s", oneLine(c.Spec+": "+c.Change, 500))
		}
	}
	for _, a := range p.state.Anomalies {
		if a != nil && (a.Type == blackboard.AnomalySystemAmbiguity || a.Type == blackboard.AnomalySpecGap) {
			l.add("- anomaly %s %s of %s%s%s", a.ID, a.Type, cmp.Or(a.Task, "no task"), after(": ", detail(a, "question")), after(": ", detail(a, "gap")))
		}
	}
	return l.String()
}

func detail(a *blackboard.Anomaly, key string) string {
	if v, ok := a.Details[key]; ok {
		return oneLine(fmt.Sprint(v), 500)
	}
	return ""
}

// maxImported is how much of the texts of imported drafts a planner gets, all together and of one at least.
const maxImported, minImported = 16000, 300

func (p planning) causeOf(l *lines, t *blackboard.Task) {
	l.add("- %s (%s%s, iteration %d, %d rejections): %s", t.ID, t.Status, after(" ", string(t.BlockedKind)), t.Iteration, t.ReviewCyclesTotal, t.TitleText())
	if t.Status == blackboard.Draft && p.state.ImportOf(t.ID) != nil {
		if room := max(minImported, maxImported/len(p.state.Imports)); len(t.Description) > room {
			l.named("  description", firstBytes(t.Description, room)+"… (all of it: $LIZA_BIN show "+t.ID+")")
		} else {
			l.named("  description", t.Description)
		}
	}
	if t.Status == blackboard.Blocked {
		l.named("  reason", oneLine(t.BlockedReason, 1000))
	}
	if h := t.LastEntry(blackboard.HistoryIntegrationFailed); h != nil && t.Status == blackboard.IntegrationFailed {
		l.named("  reason", oneLine(h.Reason, 500))
		l.named("  files", strings.Join(h.Files, ", "))
		l.named("  log", h.Log)
	}
	if t.Hold != nil {
		l.named("  on hold by "+t.Hold.By, oneLine(t.Hold.Reason, 500))
	}
	l.named("  failed by", strings.Join(t.FailedBy, ", "))
	for _, a := range t.Attempted {
		l.named("  attempted", oneLine(a, 500))
	}
	for _, q := range p.state.Questions {
		if q.Task == t.ID && q.Status != blackboard.QuestionExpired {
			l.add("  question %s (%s): %s%s", q.ID, q.Status, oneLine(q.Text, 500), after(" — answer: ", oneLine(q.Answer, 500)))
		}
	}
	if n := len(t.Attempts); n > 0 && t.Attempts[n-1] != nil {
		l.named("  last attempt", oneLine(t.Attempts[n-1].Outcome+after(": ", t.Attempts[n-1].Summary), 500))
	}
}

// mostTaken is the most ids of the archive in a planner's prompt; a plan with another one is refused by name.
const mostTaken = 100

// board lists every task, by status: finished and archived ones by id only.
func (p planning) board() string {
	var l lines
	if taken := p.state.ArchivedIDs(); len(taken) > mostTaken {
		l.named("Taken ids", fmt.Sprintf("%s and %d more of archived tasks; a new task needs another id", strings.Join(taken[len(taken)-mostTaken:], ", "), len(taken)-mostTaken))
	} else if len(taken) > 0 {
		l.named("Taken ids", strings.Join(taken, ", ")+" (archived tasks; a new task needs another id)")
	}
	if p.state.TaskCount() == 0 {
		return l.String()
	}
	n := map[blackboard.Status]int{}
	over := map[blackboard.Status][]string{}
	var open lines
	for t := range p.state.Tasks() {
		n[t.Status]++
		if t.Status.Terminal() {
			over[t.Status] = append(over[t.Status], t.ID)
			continue
		}
		open.add("- %s %s: %s%s%s", t.ID, t.Status, t.TitleText(), after("; after ", strings.Join(t.DependsOn, ", ")), iterations(t))
	}
	var counts []string
	for _, st := range blackboard.Statuses {
		if n[st] > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", n[st], st))
		}
	}
	l.add("%s", strings.Join(counts, ", "))
	if rest := open.String(); rest != "" {
		l.add("%s", rest)
	}
	for _, st := range blackboard.Statuses {
		l.named(string(st), strings.Join(over[st], ", "))
	}
	for _, d := range p.state.Discovered {
		if d != nil && d.ConvertedToTask == "" && !p.wokenBy(d.ID) {
			l.add("- discovery %s (%s)%s: %s%s", d.ID, cmp.Or(d.Severity, "low"), deferred(d), oneLine(d.Description, 200), after("; recommended: ", oneLine(d.Recommendation, 200)))
		}
	}
	return l.String()
}

// wokenBy reports whether a trigger of this run names the id: the causes tell of it.
func (p planning) wokenBy(id string) bool {
	return slices.ContainsFunc(p.triggers, func(t transition.Trigger) bool { return slices.Contains(t.IDs, id) })
}

func iterations(t *blackboard.Task) string {
	if t.Iteration < 2 {
		return ""
	}
	return fmt.Sprintf("; iteration %d", t.Iteration)
}

func deferred(d *blackboard.Discovery) string {
	if d.Deferred == nil {
		return ""
	}
	return " deferred, " + oneLine(d.Deferred.Reason, 100)
}

// The four blocks of a replan (specs/roles-and-knowledge.md#5.8).

// chain are the plans of the chain of the plan in force, oldest first.
func (p planning) chain() []*blackboard.Plan {
	if p.state.Goal == nil {
		return nil
	}
	now := transition.Plan(p.state, p.state.Goal.PlanID)
	if now == nil {
		return nil
	}
	root := cmp.Or(now.Root, now.ID)
	var list []*blackboard.Plan
	for _, plan := range p.state.Plans {
		if plan != nil && cmp.Or(plan.Root, plan.ID) == root {
			list = append(list, plan)
		}
	}
	return list
}

func (p planning) inChain(t *blackboard.Task) bool {
	for _, plan := range p.chain() {
		if t.Plan == plan.ID || plan.Tasks.Has(t.ID) {
			return true
		}
	}
	return false
}

func (p planning) completed() string {
	var l lines
	for t := range p.state.Tasks() {
		if t.Status == blackboard.Merged && p.inChain(t) {
			l.add("- %s: %s%s", t.ID, oneLine(t.Description, 500), after(" → ", result(t, 500)))
		}
	}
	return l.String()
}

// result returns the result of a task: its output, else its last summary.
func result(t *blackboard.Task, n int) string {
	if t.Output != nil && t.Output.Text != "" {
		return oneLine(t.Output.Text, n)
	}
	text, _ := t.LastSummary()
	return oneLine(text, n)
}

func (p planning) remaining() string {
	var l lines
	for t := range p.state.Tasks() {
		if t.Status.Terminal() || !p.inChain(t) || p.failed(t) {
			continue
		}
		work := ""
		switch t.Status {
		case blackboard.Claimed, blackboard.ReadyForReview, blackboard.Approved:
			work = ", in work"
		}
		l.add("- %s (%s%s): %s", t.ID, t.Status, work, oneLine(t.Description, 300))
	}
	return l.String()
}

// failed reports whether the task is one that the replan is about.
func (p planning) failed(t *blackboard.Task) bool {
	return slices.ContainsFunc(p.triggers, func(trigger transition.Trigger) bool {
		return replans(trigger) && slices.Contains(trigger.IDs, t.ID)
	})
}

func (p planning) failure() string {
	var l lines
	for t := range p.state.Tasks() {
		if !p.failed(t) {
			continue
		}
		l.add("%s: %s", t.ID, oneLine(t.Description, 500))
		l.named("done when", oneLine(t.DoneWhen, 500))
		reason := t.BlockedReason
		if t.Review != nil && t.Review.Reason != "" {
			reason = t.Review.Reason
		}
		l.named("reason", oneLine(reason, 1000))
		l.named("result", result(t, 2000))
	}
	return l.String()
}

func (p planning) replanHistory() string {
	var l lines
	for _, plan := range p.chain() {
		if plan.Failure == nil && len(plan.Tried) == 0 {
			continue
		}
		why := ""
		if plan.Failure != nil {
			why = fmt.Sprintf("; failed at %s: %s", cmp.Or(plan.Failure.Task, "planning"), oneLine(plan.Failure.Reason, 300))
		}
		l.add("- %s: %s%s", plan.ID, oneLine(plan.Goal, 200), why)
		if len(plan.Tried) > 0 {
			l.add("  tried: %s", oneLine(strings.Join(plan.Tried, "; "), 500))
		}
	}
	return l.String()
}
