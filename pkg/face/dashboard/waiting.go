package dashboard

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"liza/pkg/base/prose"
	"liza/pkg/board/blackboard"
	"liza/pkg/board/transition"
)

// waiting lists what only a person can move: what stops everything first, then by task.
func (b builder) waiting() []Waiting {
	list := append(b.stops(), b.branch()...)
	for _, q := range b.s.Questions {
		if q != nil && q.Task == "" && q.Status == blackboard.QuestionOpen {
			list = append(list, Waiting{Kind: "question", Text: cmp.Or(q.Agent, "the planner") + " asks", Questions: []Question{question(q)}, Next: answer(q)})
		}
	}
	var drafts []string
	for t := range b.s.Tasks() {
		if t.Status.Terminal() {
			continue
		}
		if t.Status == blackboard.Draft {
			drafts = append(drafts, t.ID)
		}
		if w, ok := b.waitingTask(t); ok {
			list = append(list, w)
		}
	}
	if b.f.HumanReview && len(drafts) > 0 {
		list = append(list, Waiting{Kind: "draft", Text: fmt.Sprintf("%d planned tasks wait for your review: %s", len(drafts), prose.Few(drafts, mostNamed)),
			Next: "liza finalize " + strings.Join(drafts, " ")})
	}
	return list
}

// stops are the control files, the circuit breaker, and a sprint that is not under way.
func (b builder) stops() []Waiting {
	list := []Waiting{}
	cb, resume := b.s.CircuitBreaker, "liza resume"
	tripped := cb != nil && cb.Status == blackboard.BreakerTripped
	if tripped {
		resume = "liza ack" // nothing is resumed before that
	}
	for _, c := range b.f.Control {
		what := map[string]string{"PAUSE": "paused", "CHECKPOINT": "at a checkpoint", "ABORT": "aborted"}[c.Name]
		text := cmp.Or(what, c.Name)
		if !c.Since.IsZero() {
			text += " since " + string(blackboard.TimeOf(c.Since))
		}
		if c.Reason != "" {
			text += ": " + c.Reason
		}
		list = append(list, Waiting{Kind: "control", Text: text, Next: resume})
	}
	if sp := b.s.Sprint; sp != nil && len(b.f.Control) == 0 && (sp.Status == blackboard.AtCheckpoint || sp.Status == blackboard.Aborted) {
		list = append(list, Waiting{Kind: "control", Text: "the sprint is " + sp.Status, Next: resume})
	}
	if tripped {
		text := "the circuit breaker was triggered"
		if cb.CurrentTrigger != nil {
			text += ": " + cb.CurrentTrigger.Pattern
		}
		list = append(list, Waiting{Kind: "breaker", Text: text, Next: "liza ack"})
	}
	return list
}

// branch is what a person decides about the integration branch, and about the goal that is over.
func (b builder) branch() []Waiting {
	var list []Waiting
	tip := b.f.Tip
	if i := b.s.Integration; tip == nil && i != nil && i.Moved != nil {
		tip = &i.Moved.Tip
	}
	if tip != nil && b.s.ForeignTip(*tip) {
		list = append(list, Waiting{Kind: "integration", Text: blackboard.MovedText(b.s, *tip) + "; merges wait", Next: blackboard.DecideTip(*tip)})
	}
	for _, q := range b.s.Questions {
		if q != nil && q.Kind == blackboard.QuestionUnverified && q.Status == blackboard.QuestionAnswered && q.Answer == blackboard.AnswerStop {
			list = append(list, Waiting{Kind: "integration", Text: fmt.Sprintf("merges wait until the check %q passes: %s said %s", q.Check, q.By, q.Answer), Next: "liza answer " + q.ID + " '" + blackboard.AnswerGoOn + "'"})
		}
	}
	if g := b.s.Goal; g != nil && g.Status == blackboard.Completed {
		list = append(list, Waiting{Kind: "goal", Text: "the goal is complete; the work is on " + b.s.IntegrationBranch(), Next: `liza goal "TEXT"`})
	}
	return list
}

// waitingTask is what a person can do about one task.
func (b builder) waitingTask(t *blackboard.Task) (Waiting, bool) {
	w := Waiting{Task: t.ID}
	switch {
	case t.Status == blackboard.Blocked:
		w.Kind, w.Text = "blocked", fmt.Sprintf("blocked (%s): %s", t.BlockedFor().Words(), prose.OneLine(t.BlockedReason, reasonInLists))
		w.Questions = b.questionsOf(t)
		w.Next = unblocks(t, w.Questions)
	case waitsForMerge(t):
		w.Kind, w.Text, w.Next = "merge_approval", "approved by "+cmp.Or(t.ApprovedBy, "a reviewer")+", waits for your approval of the merge", "liza approve-merge "+t.ID
		if n := len(b.s.OpenComments(t)); n > 0 {
			w.Text, w.Next = w.Text+"; "+prose.Count(n, "comment")+" on it open", "liza reject-merge "+t.ID
		}
	case t.Status == blackboard.ReadyForReview && b.f.ReviewMode == blackboard.ReviewDisabled:
		w.Kind, w.Text, w.Next = "merge_approval", "submitted; review.mode is disabled, so you decide", "liza approve-merge "+t.ID
	case t.Hold == nil && b.s.NobodyLeft(t) != "":
		w.Kind, w.Text, w.Next = "merge_approval", t.ApprovalsText()+"; "+b.s.NobodyLeft(t)+", so you decide", "liza approve-merge "+t.ID
	case t.Hold != nil:
		w.Kind, w.Text, w.Next = "hold", fmt.Sprintf("on hold by %s: %s", cmp.Or(t.Hold.By, "somebody"), t.Hold.Reason), "liza unhold "+t.ID
	default:
		return w, false
	}
	return w, true
}

// questionsOf are the open questions of a task; those of a state that has no section
// questions are on the task.
func (b builder) questionsOf(t *blackboard.Task) []Question {
	var list []Question
	known := false
	for _, q := range b.s.Questions {
		if q.Task != t.ID {
			continue
		}
		known = true
		if q.Status == blackboard.QuestionOpen {
			list = append(list, question(q))
		}
	}
	if !known {
		for _, text := range t.BlockedQuestions {
			list = append(list, Question{Text: text, Next: unblock(t.ID)})
		}
	}
	return list
}

func question(q *blackboard.Question) Question {
	text := q.Text
	if len(q.Options) > 0 {
		text += " [" + strings.Join(q.Options, " / ") + "]"
	}
	return Question{ID: q.ID, Text: text, Next: answer(q)}
}

// answer is the command that answers a question, with its choices.
func answer(q *blackboard.Question) string {
	return fmt.Sprintf("liza answer %s %q", q.ID, cmp.Or(strings.Join(q.Options, " | "), "TEXT"))
}

func unblock(id string) string { return fmt.Sprintf("liza unblock %s --reason \"TEXT\"", id) }

// unblocks is the one command that helps a blocked task most.
func unblocks(t *blackboard.Task, open []Question) string {
	switch {
	case t.Exhausted():
		return fmt.Sprintf("liza supersede %s --by ID --reason \"TEXT\" --root-cause \"TEXT\"", t.ID)
	case t.Halt != nil && t.BlockedKind != blackboard.BlockedByIterations:
		return "liza resubmit " + t.ID + " --limit " + limitOf(t.Halt)
	case len(open) > 0 && open[0].ID != "" && (t.BlockedKind == blackboard.BlockedByQuestion || t.BlockedKind == blackboard.BlockedStuck || t.BlockedKind == ""):
		return open[0].Next
	}
	return unblock(t.ID)
}

func limitOf(h *blackboard.Halt) string {
	enough := 2 * max(h.Limit, int(math.Ceil(float64(h.Value))))
	switch h.Kind {
	case "cost":
		return fmt.Sprintf("cost_cents=%d", enough)
	case "time":
		return fmt.Sprintf("time_minutes=%d", enough)
	}
	return fmt.Sprintf("max_agent_runs=%d", enough)
}

// warnings are what is odd but stops nothing.
func (b builder) warnings() []string {
	var list []string
	add := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	list = b.gone()
	for _, name := range slices.Sorted(maps.Keys(b.s.Programs)) {
		p := b.s.Programs[name]
		if p == nil {
			continue
		}
		if until, ok := p.PausedUntil.At(); ok && until.After(b.f.Now) {
			add("%s is not started before %s%s", name, p.PausedUntil, after(": ", p.Reason))
		}
	}
	for _, i := range b.s.Imports {
		if i != nil && i.Asks != "" {
			add("%s", plain(i.Question()))
		}
	}
	for _, kind := range b.suppressed() {
		add("the planner was woken for %s again and again without effect; liza note TEXT wakes it once more", kind)
	}
	for _, d := range b.s.Discovered {
		if d != nil && d.Urgency == "immediate" && d.ConvertedToTask == "" && d.Deferred == nil {
			add("%s (%s, found during %s) is not decided: %s; liza convert %s --task ID, or liza defer %s --reason \"TEXT\"", d.ID, cmp.Or(d.Severity, "low"),
				cmp.Or(d.During, "no task"), d.Description, d.ID, d.ID)
		}
	}
	for _, a := range transition.Ambiguities(b.s) {
		add("%s: %s found the rules unclear: %s; liza note TEXT", a.ID, cmp.Or(a.Reporter, "somebody"), transition.Unclear(a))
	}
	if sp := b.s.Sprint; sp != nil {
		if m := sp.Metrics; m != nil && m.ReviewVerdictCount >= 5 && m.ReviewVerdictApprovalRatePercent != nil && *m.ReviewVerdictApprovalRatePercent > 95 {
			add("reviewers approved %d %% of %d submissions: look whether they read", *m.ReviewVerdictApprovalRatePercent, m.ReviewVerdictCount)
		}
		if tl := sp.Timeline; tl != nil && sp.Status == blackboard.InProgress {
			if at, ok := tl.Deadline.At(); ok && b.f.Now.After(at) {
				add("the sprint's deadline %s has passed", tl.Deadline)
			}
		}
	}
	if len(b.s.Agents) == 0 && b.s.Goal != nil && b.s.Goal.Status == blackboard.InProgress {
		add("no agent is at work; liza run, or liza-agent ROLE")
	}
	return list
}

// gone says of agents that are not alive why, and what they hold; those that went together are one warning.
func (b builder) gone() (list []string) {
	together := map[string][]string{}
	var order []string
	for _, id := range b.agentIDs() {
		live, why := b.s.Liveness(id, b.f.Now, b.f.Process)
		if live == blackboard.Alive {
			continue
		}
		key := fmt.Sprintf("(%s): %s", live, why)
		if live == blackboard.Expired {
			key = "(expired): " // each has its own time
		}
		if together[key] == nil {
			order = append(order, key)
		}
		together[key] = append(together[key], id)
	}
	for _, key := range order {
		ids := together[key]
		live, why := b.s.Liveness(ids[0], b.f.Now, b.f.Process)
		if len(ids) == 1 {
			list = append(list, fmt.Sprintf("%s (%s): %s%s", ids[0], live, why, b.holding(b.s.Agents[ids[0]], live)))
			continue
		}
		if live == blackboard.Expired {
			why = "their leases have run out"
		}
		var held []string
		for _, id := range ids {
			if task := b.s.Agents[id].CurrentTask; task != "" && !slices.Contains(held, task) {
				held = append(held, task)
			}
		}
		text := fmt.Sprintf("%s (%s): %s", prose.Few(ids, mostNamed), live, why)
		if len(held) > 0 {
			text += "; they hold " + prose.Few(held, mostNamed)
		}
		if live == blackboard.Dead || live == blackboard.Expired {
			text += "; liza run goes on with the work"
		}
		list = append(list, text)
	}
	return list
}

// mostNamed is how many ids one line has.
const mostNamed = 5

// reasonInLists is how many characters of a reason a list has; liza show has all of it.
const reasonInLists = 160

// holding is what an agent that may be gone holds, and who can go on with it.
func (b builder) holding(a *blackboard.Agent, live blackboard.Liveness) string {
	t := b.s.Task(a.CurrentTask)
	if t == nil {
		return after("; it holds ", a.CurrentTask)
	}
	next := fmt.Sprintf("liza release %s --reason \"TEXT\"", t.ID)
	if role := strings.TrimSuffix(a.Role.IDPrefix(), "-"); live == blackboard.Dead || live == blackboard.Expired {
		next = "liza-agent " + role + " takes it over, or " + next
	}
	return "; it holds " + t.ID + "; " + next
}

// suppressed are the kinds of true triggers that do not wake the planner any more.
func (b builder) suppressed() []string {
	if b.s.Planner == nil {
		return nil
	}
	var list []string
	for _, t := range transition.Triggers(b.s, transition.TriggerFacts{HumanReview: b.f.HumanReview}, b.f.Now) {
		r := b.s.Planner.Triggers[string(t.Kind)]
		if r != nil && r.Suppressed && (r.Fingerprint == t.Fingerprint || t.Kind == transition.TriggerInitialPlanning) {
			list = append(list, string(t.Kind))
		}
	}
	return list
}

// after is mark and text, or nothing.
func after(mark, text string) string {
	if text == "" {
		return ""
	}
	return mark + text
}

// wrong lists the statuses that Liza does not know: with one of them, nothing else that is shown
// can be relied on. The rest is what `liza validate` is for.
func (b builder) wrong() []string {
	var list []string
	add := func(what, status string, known []string) {
		text := fmt.Sprintf("%s has the unknown status '%s'", what, status)
		if near := blackboard.Nearest(status, known); near != "" {
			text += "; nearest: " + near
		}
		list = append(list, text)
	}
	var statuses []string
	for _, s := range blackboard.Statuses {
		statuses = append(statuses, string(s))
	}
	for t := range b.s.Tasks() {
		if !t.Status.Known() {
			add("task "+t.ID, string(t.Status), statuses)
		}
	}
	goals := []string{blackboard.InProgress, blackboard.Completed, blackboard.Aborted}
	if g := b.s.Goal; g != nil && g.Status != "" && !slices.Contains(goals, g.Status) {
		add("the goal", g.Status, goals)
	}
	sprints := append(goals, blackboard.AtCheckpoint)
	if sp := b.s.Sprint; sp != nil && sp.Status != "" && !slices.Contains(sprints, sp.Status) {
		add("the sprint", sp.Status, sprints)
	}
	return list
}

// gaveUp leaves out what is settled: the goal is reached, or the task is done.
func (b builder) gaveUp() []GaveUp {
	list := []GaveUp{}
	if b.s.Goal == nil || b.s.Goal.Status != blackboard.InProgress {
		return list
	}
	for _, g := range b.f.GaveUp {
		if t := b.s.Task(g.Task); t == nil && g.Task != "" || t != nil && t.Status.Terminal() {
			continue
		}
		list = append(list, g)
	}
	return list
}

// crashes tells of tasks whose last run ended by a crash. A blocked one says so itself.
func (b builder) crashes() []string {
	var list []string
	for t := range b.s.Tasks() {
		if t.Status.Terminal() || t.Status == blackboard.Blocked || len(t.Attempts) == 0 {
			continue
		}
		n := 0
		for _, a := range slices.Backward(t.Attempts) {
			if a == nil || a.Outcome != crashed {
				break
			}
			n++
		}
		if n == 0 {
			continue
		}
		last := t.Attempts[len(t.Attempts)-1]
		times := "the last run"
		if n > 1 {
			times = fmt.Sprintf("the last %d runs", n)
		}
		list = append(list, fmt.Sprintf("%s: %s crashed (%s): %s; liza show %s", t.ID, times, cmp.Or(last.Agent, "an agent"), cmp.Or(strings.TrimSpace(last.Summary), "without a word"), t.ID))
	}
	return list
}

// crashed is the outcome of an attempt whose program ended by itself without an answer.
const crashed = "crashed"
