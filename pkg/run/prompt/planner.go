package prompt

import (
	"cmp"
	"fmt"
	"sort"
	"strings"
	"time"

	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
)

// What a planner gets: the message, why it runs, the board, and after a failure what was
// tried before.

// news are the notes without a task that no planner run has seen.
func (in *Input) news() []*blackboard.Note {
	var list []*blackboard.Note
	for _, n := range in.State.HumanNotes {
		if n.For == "" && len(n.SeenBy) == 0 {
			list = append(list, n)
		}
	}
	return list
}

// caller says whose request it is (specs/roles-and-knowledge.md#9.7), and which secrets there are.
func (in *Input) caller() string {
	name, caller := in.callerOf()
	var l lines
	l.add("The request comes from %s, whose role is %s.", name, caller)
	l.named("Secrets that are known, by name", strings.Join(in.State.Secrets, ", "))
	return l.String()
}

func (in *Input) callerOf() (name, caller string) {
	if _, plan := in.goalOf(); plan != nil && plan.Caller != nil {
		name, caller = plan.Caller.Name, plan.Caller.Role
	}
	for _, n := range in.news() {
		if n.By != "" {
			name, caller = n.By, n.CallerRole
		}
	}
	return cmp.Or(name, "a person"), cmp.Or(caller, "admin")
}

// newMessage is the goal on the first planning, and the new notes.
func (in *Input) newMessage() string {
	var l lines
	if in.firstPlanning() && in.State.Goal != nil {
		l.add("%s", strings.TrimSpace(in.State.Goal.Description))
	}
	for _, n := range in.news() {
		l.add("- %s%s: %s", n.ID, after(" by ", n.By), strings.TrimSpace(n.Message))
	}
	for _, q := range in.State.Questions {
		if q.Task == "" && q.Status == blackboard.QuestionAnswered && q.Kind != blackboard.QuestionUnverified {
			l.add("- you asked: %s\n  answer%s: %s", oneLine(q.Text, 500), after(" by ", q.By), strings.TrimSpace(q.Answer))
		}
	}
	return l.String()
}

// messages are the conversation so far: notes without a task that were seen, and the texts
// that were delivered, oldest first.
func (in *Input) messages() string {
	type message struct {
		at   time.Time
		text string
	}
	var all []message
	through, summarized := in.summarizedThrough()
	raw := map[*blackboard.Note]bool{}
	for _, e := range transition.RawEntries(in.State) {
		raw[e.Note] = true
	}
	add := func(at blackboard.Time, text string) {
		t, _ := at.At()
		all = append(all, message{t, text})
	}
	for _, n := range in.State.HumanNotes {
		if n != nil && n.For == "" && (in.Kind != Planner || len(n.SeenBy) > 0) && (!summarized || raw[n]) {
			add(n.Timestamp, "- "+cmp.Or(n.By, "a person")+": "+strings.TrimSpace(n.Message))
		}
	}
	for t := range in.State.Tasks() {
		if t.KindOf() == blackboard.MessageTask && t.Status == blackboard.Merged && t.Output != nil {
			at := blackboard.Time("")
			if h := t.LastEntry(blackboard.HistoryMerged); h != nil {
				at = h.Time
			}
			if t, ok := at.At(); summarized && (!ok || !t.After(through)) {
				continue
			}
			add(at, "- told the user: "+strings.TrimSpace(t.Output.Text))
		}
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].at.Before(all[j].at) })
	if most := count(in.Messages, 10); len(all) > most {
		all = all[len(all)-most:]
	}
	var l lines
	for _, m := range all {
		l.add("%s", m.text)
	}
	return l.String()
}

func (in *Input) summarizedThrough() (time.Time, bool) {
	if in.State.Goal == nil {
		return time.Time{}, false
	}
	return in.State.Goal.SummarizedThrough.At()
}

// meaning says what the planner has to do about a trigger (specs/protocol.md#13.1).
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
func (in *Input) wake() string {
	var l lines
	for _, t := range in.Triggers {
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

// causes tells of each task and discovery that the triggers name what is known.
func (in *Input) causes() string {
	var l lines
	told := map[string]bool{}
	for _, trigger := range in.Triggers {
		for _, id := range trigger.IDs {
			if told[id] {
				continue
			}
			told[id] = true
			if t := in.State.Task(id); t != nil {
				in.causeOf(&l, t)
			}
			for _, d := range in.State.Discovered {
				if d != nil && d.ID == id {
					l.add("- %s (%s, during %s): %s%s", d.ID, cmp.Or(d.Severity, "low"), cmp.Or(d.During, "no task"), oneLine(d.Description, 500), after("; recommended: ", oneLine(d.Recommendation, 500)))
				}
			}
		}
	}
	for _, c := range in.State.SpecChanges {
		if in.wokenBy(transition.ID(c)) {
			l.add("- spec changed: %s", oneLine(c.Spec+": "+c.Change, 500))
		}
	}
	for _, a := range in.State.Anomalies {
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

func (in *Input) causeOf(l *lines, t *blackboard.Task) {
	l.add("- %s (%s%s, iteration %d, %d rejections): %s", t.ID, t.Status, after(" ", string(t.BlockedKind)), t.Iteration, t.ReviewCyclesTotal, t.TitleText())
	if t.Status == blackboard.Draft && in.State.ImportOf(t.ID) != nil {
		if room := max(minImported, maxImported/len(in.State.Imports)); len(t.Description) > room {
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
	for _, q := range in.State.Questions {
		if q.Task == t.ID && q.Status != blackboard.QuestionExpired {
			l.add("  question %s (%s): %s%s", q.ID, q.Status, oneLine(q.Text, 500), after(" — answer: ", oneLine(q.Answer, 500)))
		}
	}
	if n := len(t.Attempts); n > 0 && t.Attempts[n-1] != nil {
		l.named("  last attempt", oneLine(t.Attempts[n-1].Outcome+after(": ", t.Attempts[n-1].Summary), 500))
	}
}

// mostTaken is how many ids of the archive a planner is told; a plan with another one is refused by name.
const mostTaken = 100

// board is every task, by status: what is over, here or in the archive, as ids only.
func (in *Input) board() string {
	var l lines
	if taken := in.State.ArchivedIDs(); len(taken) > mostTaken {
		l.named("Taken ids", fmt.Sprintf("%s and %d more of archived tasks; a new task needs another id", strings.Join(taken[len(taken)-mostTaken:], ", "), len(taken)-mostTaken))
	} else if len(taken) > 0 {
		l.named("Taken ids", strings.Join(taken, ", ")+" (archived tasks; a new task needs another id)")
	}
	if in.State.TaskCount() == 0 {
		return l.String()
	}
	n := map[blackboard.Status]int{}
	over := map[blackboard.Status][]string{}
	var open lines
	for t := range in.State.Tasks() {
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
	for _, d := range in.State.Discovered {
		if d != nil && d.ConvertedToTask == "" && !in.wokenBy(d.ID) {
			l.add("- discovery %s (%s)%s: %s%s", d.ID, cmp.Or(d.Severity, "low"), deferred(d), oneLine(d.Description, 200), after("; recommended: ", oneLine(d.Recommendation, 200)))
		}
	}
	return l.String()
}

// wokenBy reports whether a trigger of this run names the id: the causes tell of it.
func (in *Input) wokenBy(id string) bool {
	for _, t := range in.Triggers {
		for _, named := range t.IDs {
			if named == id {
				return true
			}
		}
	}
	return false
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
func (in *Input) chain() []*blackboard.Plan {
	if in.State.Goal == nil {
		return nil
	}
	now := transition.Plan(in.State, in.State.Goal.PlanID)
	if now == nil {
		return nil
	}
	root := cmp.Or(now.Root, now.ID)
	var list []*blackboard.Plan
	for _, p := range in.State.Plans {
		if p != nil && cmp.Or(p.Root, p.ID) == root {
			list = append(list, p)
		}
	}
	return list
}

func (in *Input) inChain(t *blackboard.Task) bool {
	for _, p := range in.chain() {
		if t.Plan == p.ID || p.Tasks.Has(t.ID) {
			return true
		}
	}
	return false
}

func (in *Input) completed() string {
	var l lines
	for t := range in.State.Tasks() {
		if t.Status == blackboard.Merged && in.inChain(t) {
			l.add("- %s: %s%s", t.ID, oneLine(t.Description, 500), after(" → ", result(t, 500)))
		}
	}
	return l.String()
}

// result is what came out of a task: its output, else its last summary.
func result(t *blackboard.Task, n int) string {
	if t.Output != nil && t.Output.Text != "" {
		return oneLine(t.Output.Text, n)
	}
	text, _ := t.LastSummary()
	return oneLine(text, n)
}

func (in *Input) remaining() string {
	var l lines
	for t := range in.State.Tasks() {
		if t.Status.Terminal() || !in.inChain(t) || in.failed(t) {
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
func (in *Input) failed(t *blackboard.Task) bool {
	for _, trigger := range in.Triggers {
		if trigger.Kind != transition.TriggerReplan && trigger.Kind != transition.TriggerHypothesisExhausted {
			continue
		}
		for _, id := range trigger.IDs {
			if id == t.ID {
				return true
			}
		}
	}
	return false
}

func (in *Input) failure() string {
	var l lines
	for t := range in.State.Tasks() {
		if !in.failed(t) {
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

func (in *Input) replanHistory() string {
	var l lines
	for _, p := range in.chain() {
		if p.Failure == nil && len(p.Tried) == 0 {
			continue
		}
		why := ""
		if p.Failure != nil {
			why = fmt.Sprintf("; failed at %s: %s", cmp.Or(p.Failure.Task, "planning"), oneLine(p.Failure.Reason, 300))
		}
		l.add("- %s: %s%s", p.ID, oneLine(p.Goal, 200), why)
		if len(p.Tried) > 0 {
			l.add("  tried: %s", oneLine(strings.Join(p.Tried, "; "), 500))
		}
	}
	return l.String()
}
