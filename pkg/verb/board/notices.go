package board

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"liza/pkg/base/notify"
	"liza/pkg/board/blackboard"
)

// Outbox is where notifications go (specs/roles-and-knowledge.md#9.1).
func (b *Session) Outbox() notify.Outbox {
	return notify.Outbox{Path: b.Project.Notifications(), Mask: b.Secrets.Mask}
}

// priorState is what a board was like before a change, for what it has to tell people.
type priorState struct {
	tasks       []*blackboard.Task
	entries     int
	questions   int
	anomalies   int
	checkpoints int
	goal, cb    string
}

func priorStateOf(s *blackboard.State) priorState {
	g := priorState{tasks: s.TaskList(), entries: len(s.Entries()), questions: len(s.Questions), anomalies: len(s.Anomalies)}
	if s.Goal != nil {
		g.goal = s.Goal.Status
	}
	if s.CircuitBreaker != nil {
		g.cb = s.CircuitBreaker.Status
	}
	if s.Sprint != nil {
		g.checkpoints = len(s.Sprint.Checkpoints)
	}
	return g
}

// told are the notifications that a change gives rise to.
func (g priorState) told(s *blackboard.State) []notify.Message {
	var out []notify.Message
	for i, t := range s.TaskList() {
		if i < len(g.tasks) && g.tasks[i] == t {
			continue
		}
		out = append(out, g.ofTask(s, t)...)
	}
	for _, q := range s.Questions[min(g.questions, len(s.Questions)):] {
		if q.Status == blackboard.QuestionOpen {
			m := notify.New("question", q.ID, q.Text)
			m.Task = q.Task
			out = append(out, m)
		}
	}
	for _, a := range s.Anomalies[min(g.anomalies, len(s.Anomalies)):] {
		event := map[blackboard.AnomalyKind]string{blackboard.AnomalyReviewStuck: "review_stuck", blackboard.AnomalyPlanningFailed: "planning_failed", blackboard.AnomalyReplanLoop: "replan_stopped", blackboard.AnomalyPolicyDenied: "policy_denied"}[a.Type]
		if event == "" {
			continue
		}
		m := notify.New(event, a.ID, fmt.Sprint(a.Details["what"]))
		m.Task = a.Task
		out = append(out, m)
	}
	for _, e := range s.Entries()[min(g.entries, len(s.Entries())):] {
		if e.Action == blackboard.ActionLimitWarning {
			m := notify.New("limit_warning", fmt.Sprintf("%v#%d", e.Extra["limit"], s.Revision), e.Detail)
			m.Task = e.Task
			out = append(out, m)
		}
	}
	out = append(out, g.ofSprint(s)...)
	for i := range out {
		if s.Goal != nil {
			out[i].Goal = s.Goal.ID
		}
		if s.Sprint != nil {
			out[i].Sprint = s.Sprint.ID
		}
		if t := s.Task(out[i].Task); t != nil {
			out[i].Plan, out[i].Type = t.Plan, string(t.KindOf())
		}
	}
	return out
}

// ofTask are those about a task that changed.
func (g priorState) ofTask(s *blackboard.State, t *blackboard.Task) []notify.Message {
	var was blackboard.Task
	if i := slices.IndexFunc(g.tasks, func(o *blackboard.Task) bool { return o != nil && o.ID == t.ID }); i >= 0 {
		was = *g.tasks[i]
	}
	subject := fmt.Sprintf("%s#%d", t.Status, len(t.History))
	var out []notify.Message
	add := func(event, content string) {
		m := notify.New(event, subject, content)
		m.Task = t.ID
		out = append(out, m)
	}
	if t.Status != was.Status {
		switch {
		case t.Status == blackboard.Blocked && t.Halt != nil:
			add("halted", t.BlockedReason)
		case t.Status == blackboard.Blocked && t.BlockedKind == blackboard.BlockedForReplan:
			add("replan", t.BlockedReason)
		case t.Status == blackboard.Blocked:
			add("blocked", strings.Join(append([]string{t.BlockedReason}, t.BlockedQuestions...), "\n"))
		case t.Status == blackboard.IntegrationFailed:
			add("integration_failed", lastReason(t))
		case t.Status == blackboard.Merged && t.Notify:
			content := t.TitleText()
			if t.Output != nil {
				content = t.Output.Text
			}
			add("output", content)
			out[len(out)-1].Final = lastNotifying(s, t)
		}
	}
	waits := func(t *blackboard.Task) bool {
		return t.MergeApproval != nil && t.MergeApproval.Required && t.MergeApproval.Decision == ""
	}
	if waits(t) && !waits(&was) {
		add("merge_approval", "the approved work of "+t.ID+" waits for a person: liza approve "+t.ID)
	}
	return out
}

func lastReason(t *blackboard.Task) string {
	for _, h := range slices.Backward(t.History) {
		if h != nil && h.Reason != "" {
			return h.Reason
		}
	}
	return "the work does not fit to the integration branch"
}

// lastNotifying reports whether no other task of the plan will notify people any more (3.7).
func lastNotifying(s *blackboard.State, t *blackboard.Task) bool {
	return !slices.ContainsFunc(s.TaskList(), func(o *blackboard.Task) bool {
		return o.ID != t.ID && o.Plan == t.Plan && o.Notify && !o.Status.Terminal()
	})
}

// ofSprint are those about sprint, circuit breaker and goal.
func (g priorState) ofSprint(s *blackboard.State) []notify.Message {
	var out []notify.Message
	if s.Sprint != nil && len(s.Sprint.Checkpoints) > g.checkpoints {
		c := s.Sprint.Checkpoints[len(s.Sprint.Checkpoints)-1]
		out = append(out, notify.New("checkpoint", fmt.Sprintf("%s#%d", s.Sprint.ID, c.N), c.Message))
	}
	if cb := s.CircuitBreaker; cb != nil && cb.Status == blackboard.BreakerTripped && g.cb != cb.Status && cb.CurrentTrigger != nil {
		out = append(out, notify.New("breaker", string(cb.CurrentTrigger.Timestamp), cb.CurrentTrigger.Pattern))
	}
	if s.Goal == nil || s.Goal.Status == g.goal {
		return out
	}
	switch s.Goal.Status {
	case blackboard.Completed:
		out = append(out, notify.New("goal_completed", s.Goal.ID+" "+string(s.Goal.CompletedAt), s.Goal.Description))
	case blackboard.Aborted:
		out = append(out, notify.New("goal_aborted", s.Goal.ID+fmt.Sprint("#", s.Revision), s.Goal.Description))
	}
	return out
}

// raise puts notifications into the outbox. That it cannot be written stops nothing.
func raise(ctx context.Context, b *Session, messages []notify.Message) {
	if len(messages) == 0 || b.Rehearsal {
		return
	}
	if err := b.Outbox().Put(ctx, b.Now(), messages...); err != nil {
		b.Progressf("%v", err)
	}
}

// Notify raises something that no change of the board shows: what concerns the programs and
// the configuration. subject tells it from others of the same event.
func (b *Session) Notify(ctx context.Context, event, task, subject, content string) {
	m := notify.New(event, subject, content)
	m.Task = task
	if s, err := b.View(ctx); err == nil && s.Goal != nil && s.Sprint != nil {
		m.Goal, m.Sprint = s.Goal.ID, s.Sprint.ID
	}
	raise(ctx, b, []notify.Message{m})
}
